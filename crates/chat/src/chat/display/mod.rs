//! The output of a chat: the console, the screen or lines on it, and the renderers that fill them.

pub mod appearance;
pub mod drawing;
pub(super) mod frame_pacer;
pub(super) mod hanging_indent;
pub(super) mod hidden_secrets;
pub(super) mod input_layout;
pub(super) mod printed_question;
pub(super) mod prompt;
pub mod screen;
pub(super) mod status_row;
pub(super) mod status_updates;
pub(super) mod title;
pub mod welcome;

use agentx::config::{Settings, ThinkingDisplay};
use agentx::types::RuntimeEvent;
use tokio::time::Instant;

use super::{ChatFlow, ChatInterface};
use crate::chat::connection::participants::ParticipantsUpdate;
use crate::chat::display::frame_pacer::Pace;
use crate::chat::display::hidden_secrets::HiddenSecrets;
use crate::chat::display::prompt::Prompt;
use crate::chat::display::status_row::StatusRow;
use crate::chat::display::title::TerminalTitle;
use crate::error::ChatError;
use crate::render::agents::LiveAgents;
use crate::render::answers::REFUSE_OR_STOP;
use crate::render::clean::visible;
use crate::render::conversation::{self, SpokenWords};
use crate::render::line_fold::KEY_FOR_MORE;
use crate::render::person_names::PersonNames;
use crate::render::rewind_list::ListLook;
use crate::render::style::AnsiStyle;
use crate::render::table::cut;
use crate::render::transcript::{TextPiece, TranscriptRenderer};
use crate::render::units::{self, counted};
use crate::terminal;
use crate::terminal::console::Console;

/// The height of a screen on which rows are scarce.
const SMALL: usize = 24;

/// The output of a chat.
pub(crate) struct Display<'a> {
    pub(super) console: &'a mut Console,
    pub(super) face: ChatInterface,
    pub(super) transcript: TranscriptRenderer,
    /// The agents beside the one that people talk to.
    pub(super) cast: LiveAgents,
    /// The row above the line, as the person wants to read it.
    pub(super) status_row: StatusRow,
    /// The open queries to the terminal about itself.
    pub(super) queries: TerminalQueries,
    /// The line that has not ended, if only complete ones are printed.
    pub(super) spoken: String,
    pub(super) prompt: Prompt,
    pub(super) pace: Pace,
    pub(super) title: TerminalTitle,
    /// The last answer with words, for `/copy` while the server is away.
    pub(super) last_answer: Option<String>,
    /// The secrets that are not drawn.
    pub(super) hidden: HiddenSecrets,
}

/// The times of queries that the terminal has not answered; `None` for a query that was not made or is
/// answered.
#[derive(Debug, Default)]
pub(super) struct TerminalQueries {
    /// The time of the query for its background.
    pub(super) background: Option<Instant>,
    /// The time of the query for its name.
    pub(super) name: Option<Instant>,
}

impl<'a> Display<'a> {
    /// A display on which nothing was shown yet.
    pub(super) fn new(
        console: &'a mut Console,
        face: ChatInterface,
        settings: &Settings,
        status_row: StatusRow,
    ) -> Self {
        let (transcript, cast) = voices(console, &face, settings.chat.thinking);
        let has_title = settings.chat.title && terminal::title::is_supported();
        Self {
            console,
            face,
            transcript,
            cast,
            status_row,
            queries: TerminalQueries::default(),
            spoken: String::new(),
            prompt: Prompt::default(),
            pace: Pace::default(),
            title: TerminalTitle::new(has_title, &settings.workspace),
            last_answer: None,
            hidden: HiddenSecrets::of(settings),
        }
    }

    /// Begins another session below the old output, and forgets everything about the session before.
    pub(super) fn begin_session(&mut self, settings: &Settings) {
        let (mut transcript, cast) = voices(self.console, &self.face, settings.chat.thinking);
        self.title.forget(&settings.workspace);
        self.last_answer = None;
        self.cast.end_lines(&mut self.transcript);
        transcript.take_over(&mut self.transcript);
        (self.transcript, self.cast) = (transcript, cast);
    }

    /// Keeps the words of an answer of the agent that people talk to.
    pub(super) fn remember_answer(&mut self, event: &RuntimeEvent) {
        if let RuntimeEvent::AssistantMessageAdded(added) = event {
            let words = added.message.text();
            self.last_answer = Some(words)
                .filter(|words| !words.trim().is_empty())
                .or(self.last_answer.take());
        }
    }

    /// The style of the output.
    pub(super) fn style(&self) -> AnsiStyle {
        self.console.out_style()
    }

    /// Returns the width of the terminal in columns.
    pub(super) fn width(&self) -> usize {
        self.console.terminal.width
    }

    /// Returns the size of a list of messages: as many as fit on the screen, because the newest is on top.
    pub(super) fn list_look(&self) -> ListLook {
        let rows = match &self.face {
            ChatInterface::Editor { screen, .. } => Some(screen.rows()),
            ChatInterface::Lines { .. } => None,
        };
        ListLook {
            most: ListLook::most_in(rows),
            width: self.width(),
            style: self.style(),
            now: units::now(),
        }
    }

    /// Returns whether the screen has so few rows that a question should not fill it.
    pub(super) fn is_small(&self) -> bool {
        matches!(&self.face, ChatInterface::Editor { screen, .. } if screen.rows() <= SMALL)
    }

    /// Returns whether there is a line editor.
    pub(super) fn has_editor(&self) -> bool {
        matches!(self.face, ChatInterface::Editor { .. })
    }

    /// Shows a hint in the empty input line, if there is a line editor.
    pub(super) fn set_hint(&mut self, hint: &str) {
        if let ChatInterface::Editor { screen, .. } = &mut self.face {
            screen.set_hint(hint.to_owned());
        }
    }

    /// An answer that the server rejected, with a hint.
    pub(super) fn answer_denied(&mut self, why: &str) {
        let text = format!("error: {}\nhint: {}", visible(why), REFUSE_OR_STOP);
        let text = self.style().bad(&text);
        self.transcript.print_notice(&text);
    }

    /// Returns whether the chat waits for events of the session. While words stream, it takes them a frame at
    /// a time: a wake-up for each would cost more than showing it.
    pub(super) fn listens(&self) -> bool {
        matches!(self.face, ChatInterface::Lines { .. }) || !self.pace.rests(Instant::now())
    }

    /// Returns a row with a message that the log does not have yet.
    pub(super) fn row_of_sending(&self, text: &str) -> String {
        let row = format!("  … {}", visible(text.lines().next().unwrap_or_default()));
        self.style().dim(&cut(&row, self.width()))
    }

    /// Returns the part of a growing text that may be printed: for a screen reader, only complete lines.
    pub(super) fn whole_lines(&mut self, text: String) -> String {
        if !self.console.terminal.words {
            return text;
        }
        self.spoken.push_str(&text);
        let end = self.spoken.rfind('\n').map_or(0, |at| at + 1);
        self.spoken.drain(..end).collect()
    }

    /// Takes the new output, without secrets.
    pub(super) fn take_pieces(&mut self) -> Vec<TextPiece> {
        self.hidden.hide_in_pieces(self.transcript.take())
    }

    /// Writes new output for the last time.
    pub(super) fn paint_last(&mut self) -> Result<(), ChatError> {
        let pieces = self.take_pieces();
        let is_settled = self.pace.is_settled(Instant::now());
        match &mut self.face {
            ChatInterface::Lines { .. } => {
                let text: String = pieces.into_iter().map(|piece| piece.text).collect();
                let text = self.prompt.leave(self.spoken.clone() + &text);
                self.console.out(&text)
            }
            ChatInterface::Editor { screen, .. } => {
                screen.set_settled(is_settled);
                screen.say(&pieces);
                let bytes = screen.leave();
                self.console.paint(&bytes)
            }
        }
    }

    /// Shows reasoning from now on as it comes, or as a line.
    pub(super) fn turn_thinking(&mut self) -> String {
        let (thinking, words) = match self.transcript.thinking() {
            ThinkingDisplay::Full => (
                ThinkingDisplay::Folded,
                "reasoning is now folded (Ctrl-T shows it)",
            ),
            _ => (ThinkingDisplay::Full, "reasoning is now shown (Ctrl-T folds it)"),
        };
        let style = self.style();
        self.transcript.note(&style.dim(words));
        self.transcript.set_thinking(thinking);
        self.cast.set_thinking(thinking);
        String::new()
    }

    /// The to-do list, as far as this chat has seen it.
    pub(super) fn todo_list(&self) -> String {
        let lines = self.transcript.todo_lines();
        if lines.is_empty() {
            "there is no to-do list".to_owned()
        } else {
            lines.join("\n")
        }
    }

    /// The terminal has another size.
    pub(super) fn resize(&mut self, columns: usize, rows: usize) {
        if self.has_size(columns, rows) {
            return;
        }
        self.pace.note_size(Instant::now());
        self.console.terminal.width = columns;
        self.transcript.set_width(columns);
        self.cast.set_width(columns);
        if let ChatInterface::Editor { screen, .. } = &mut self.face {
            screen.resize(columns, rows);
            screen.set_settled(false);
        }
    }

    /// Takes the size that the terminal has now: in a burst of sizes, the program hears of each only when the
    /// terminal may have the next one.
    pub(super) fn measure(&mut self) {
        let is_raw = matches!(&self.face, ChatInterface::Editor { raw: Some(_), .. });
        if let Some((columns @ 1.., rows @ 1..)) = is_raw.then(crossterm::terminal::size).and_then(Result::ok)
        {
            self.resize(columns.into(), rows.into());
        }
    }

    fn has_size(&self, columns: usize, rows: usize) -> bool {
        matches!(&self.face, ChatInterface::Editor { screen, .. } if screen.has_size(columns, rows))
    }

    /// Suspends the program until the shell resumes it.
    pub(super) fn suspend(&mut self) -> Result<ChatFlow, ChatError> {
        if let ChatInterface::Editor {
            raw: Some(raw),
            screen,
        } = &mut self.face
        {
            let bytes = screen.stand_aside();
            self.console.paint(&bytes)?;
            raw.suspend()?;
        }
        Ok(ChatFlow::Continue)
    }

    /// Prints what to type instead of a line that was meant for the chat itself, and sends nothing.
    pub(super) fn not_sent_for_this(&mut self, instead: &str) -> ChatFlow {
        self.transcript.print_notice(&format!("not sent: {instead}"));
        ChatFlow::Continue
    }

    /// Prints the person's whole message, unless the terminal already did.
    pub(super) fn echo(&mut self, text: &str) {
        if matches!(self.face, ChatInterface::Lines { eager: true }) {
            return;
        }
        let said = conversation::input_text(text, self.style());
        self.transcript.print_notice(&said);
    }

    /// Prints the reason why no editor was opened.
    pub(super) fn report_no_editor(&mut self, what: &str) -> Result<ChatFlow, ChatError> {
        self.transcript.aside(&self.style().bad(what));
        Ok(ChatFlow::Continue)
    }

    /// Prints a change of the other participants, or of the connection.
    pub(super) fn tell_participants_update(&mut self, news: ParticipantsUpdate) {
        let style = self.style();
        match news {
            ParticipantsUpdate::Connection(line) => self.transcript.aside(&style.warn(&format!("· {line}"))),
            ParticipantsUpdate::People(lines) => {
                for line in lines {
                    self.transcript.note(&style.dim(&format!("· {line}")));
                }
            }
        }
    }

    /// Prints a line, after which the chat continues.
    pub(super) fn print_line(&mut self, line: &str) -> Result<ChatFlow, ChatError> {
        self.transcript.print_notice(line);
        Ok(ChatFlow::Continue)
    }

    /// Prints a person's message.
    pub(super) fn print_input(&mut self, said: &SpokenWords, names: &PersonNames) {
        let said = conversation::shortened_input(said, names, self.style());
        self.transcript.aside(&said);
    }

    /// Prints how many unanswered messages the model reads again.
    pub(super) fn tell_of_unanswered(&mut self, count: usize) {
        let messages = counted(count, "earlier message");
        let (have, them) = if count == 1 {
            ("has", "it")
        } else {
            ("have", "them")
        };
        let line =
            format!("· the model also reads {messages} that {have} no answer yet (/rewind drops {them})");
        self.transcript.note(&self.style().dim(&line));
    }
}

/// Returns the renderer of the agents of a session.
fn voices(
    console: &Console,
    face: &ChatInterface,
    thinking: ThinkingDisplay,
) -> (TranscriptRenderer, LiveAgents) {
    let (style, width) = (console.out_style(), console.terminal.width);
    let mut transcript = TranscriptRenderer::new(style, width).with_costs();
    let mut cast = LiveAgents::new(style, width);
    if let ChatInterface::Editor { screen, .. } = face {
        // A screen has room for the running calls.
        transcript = transcript.holding_calls();
        cast = cast.rendering(screen.theme(), KEY_FOR_MORE);
    }
    transcript.set_thinking(thinking);
    cast.set_thinking(thinking);
    (transcript, cast)
}
