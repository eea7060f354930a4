//! The input of a chat: the line, its attachments, and keys that were typed ahead.

use agentx::types::ContentPart;
use agentx_terminal::Editor;
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::attachments::RefusedMessage;
use super::menu::Menu;
use crate::attach::clipboard_picture::ClipboardPictures;
use crate::attach::file_search::FileSearch;
use crate::chat::connection::server_wait::Inputs;
use crate::chat::conversation::rewinding::RewindQuestion;
use crate::render::approval;
use crate::terminal::TerminalInput;
use crate::terminal::draft::DraftKeeper;

/// The input of a chat.
pub(crate) struct Composer {
    pub(in crate::chat) editor: Editor,
    pub(in crate::chat) inputs: Inputs,
    /// Whether the input has ended.
    pub(in crate::chat) ended: bool,
    /// The content that goes to the agent with the next message.
    pub(in crate::chat) shared: Vec<ContentPart>,
    /// The message that the log does not have yet; it has its own row.
    pub(in crate::chat) sending: Option<String>,
    /// The latest message, if it was not sent because of its files.
    pub(in crate::chat) refused: Option<RefusedMessage>,
    /// Whether the message being sent attaches no files, because it is the text of a skill.
    pub(in crate::chat) attaches_nothing: bool,
    /// The text that is on its way and that nothing has accepted yet, also if it is shown in the queue.
    pub(in crate::chat) unaccepted: Option<String>,
    /// A question of the chat itself, about a rewind.
    pub(in crate::chat) asking: Option<RewindQuestion>,
    /// The list below the line.
    pub(in crate::chat) menu: Menu,
    /// The search for files for that list.
    pub(in crate::chat) files: FileSearch,
    /// The pictures that were pasted.
    pub(in crate::chat) pictures: ClipboardPictures,
    /// The file with the text that was not sent.
    pub(in crate::chat) draft: DraftKeeper,
}

impl Composer {
    /// Creates a composer with an empty line.
    pub(in crate::chat) fn new(editor: Editor, inputs: Inputs) -> Self {
        Self {
            editor,
            inputs,
            ended: false,
            shared: Vec::new(),
            sending: None,
            refused: None,
            attaches_nothing: false,
            unaccepted: None,
            asking: None,
            menu: Menu::default(),
            files: FileSearch::default(),
            pictures: ClipboardPictures::default(),
            draft: DraftKeeper::default(),
        }
    }

    /// Returns the texts that no session has yet, in the order in which they will be sent.
    pub(in crate::chat) fn unsent(&self) -> Vec<String> {
        let on_its_way = self.unaccepted.iter().chain(self.inputs.lines()).cloned();
        on_its_way.chain(self.editor.unsent()).collect()
    }

    /// Returns the place of the cursor in the first unsent text, if that is the text of the line.
    pub(in crate::chat) fn unsent_cursor(&self) -> Option<usize> {
        let is_first = self.unaccepted.is_none() && self.inputs.lines().next().is_none();
        self.editor.unsent_cursor().filter(|_| is_first)
    }

    /// Drops the answer to a settled question: it is not an answer to the next one, and not a message to the
    /// agent.
    pub(in crate::chat) fn drop_answer(&mut self) {
        if self.editor.is_stashed() && approval::parse(self.editor.text()).is_some() {
            self.editor.clear();
        }
    }

    /// Returns whether a key takes back the line that was sent last and waits.
    pub(in crate::chat) fn takes_line_back(&self, key: &KeyEvent) -> bool {
        let plain = key.modifiers.is_empty() && self.editor.text().is_empty();
        key.kind != KeyEventKind::Release
            && key.code == KeyCode::Up
            && (key.modifiers == KeyModifiers::ALT || plain)
            && self.editor.wanted().is_none()
            && self.inputs.lines().next().is_some()
    }

    /// Puts lines back into the input line, if there are any.
    pub(in crate::chat) fn bring_lines_back(&mut self, lines: &[String]) {
        if !lines.is_empty() {
            self.editor.bring_back(lines);
        }
    }

    /// Returns whether the person wants to stop waiting. Esc may have to end something in the line first.
    pub(in crate::chat) fn is_stop(&self, input: &TerminalInput) -> bool {
        let types = self.editor.is_vi() && !self.editor.is_commanded() && !self.editor.text().is_empty();
        match input {
            TerminalInput::Key(key) if key.code == KeyCode::Esc => !types && self.editor.wanted().is_none(),
            TerminalInput::Key(key) => {
                key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c')
            }
            input => *input == TerminalInput::End,
        }
    }

    /// Returns a note about where the returned text is, if the screen does not show it.
    pub(in crate::chat) fn location_notice(&self) -> String {
        let hidden = self.editor.is_stashed();
        let words = if hidden {
            "it will be in the input line after the question is answered"
        } else {
            ""
        };
        words.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use agentx_terminal::LineHistory;
    use tokio::sync::mpsc;

    use super::*;

    fn composer(is_vi: bool) -> Composer {
        let (_, inputs) = mpsc::channel(1);
        let editor = Editor::with_keys(LineHistory::default(), is_vi);
        Composer::new(editor, Inputs::new(inputs))
    }

    #[test]
    fn esc_stops_a_command_unless_it_ends_something_in_the_line_first() {
        let esc = TerminalInput::Key(KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE));
        let (mut plain, mut vi) = (composer(false), composer(true));
        assert!(plain.is_stop(&esc) && vi.is_stop(&esc) && plain.is_stop(&TerminalInput::End));
        plain.editor.paste("then");
        vi.editor.paste("then");
        assert!(plain.is_stop(&esc) && !vi.is_stop(&esc));
    }

    #[test]
    fn the_key_that_goes_up_takes_back_a_line_that_waits() {
        let up = |modifiers| KeyEvent::new(KeyCode::Up, modifiers);
        let mut composer = composer(false);
        assert!(
            !composer.takes_line_back(&up(KeyModifiers::NONE)),
            "nothing waits"
        );
        composer
            .inputs
            .keep(TerminalInput::Waited("then the docs".into()));
        assert!(composer.takes_line_back(&up(KeyModifiers::NONE)));
        composer.editor.paste("x");
        assert!(
            !composer.takes_line_back(&up(KeyModifiers::NONE))
                && composer.takes_line_back(&up(KeyModifiers::ALT))
        );
    }

    #[test]
    fn a_text_is_unsent_until_it_is_accepted() {
        let mut composer = composer(false);
        composer.unaccepted = Some("first".to_owned());
        composer.inputs.keep(TerminalInput::Waited("second".into()));
        composer.editor.paste("third");
        assert_eq!(composer.unsent(), ["first", "second", "third"]);
        composer.unaccepted = None;
        assert_eq!(composer.unsent(), ["second", "third"]);
    }

    #[test]
    fn an_answer_that_was_typed_for_a_settled_question_is_dropped() {
        let mut composer = composer(false);
        composer.editor.paste("a draft");
        composer.editor.stash();
        composer.editor.paste("y");
        composer.drop_answer();
        assert_eq!(composer.editor.text(), "");
        composer.editor.unstash();
        assert_eq!(composer.editor.text(), "a draft");
    }
}
