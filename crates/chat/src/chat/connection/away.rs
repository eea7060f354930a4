//! A chat whose server is away: commands that do not need the server work, and the others say that it is away
//! instead of waiting.
//!
//! Messages wait for the server, in the order in which they were typed. Meanwhile, typed text goes into the
//! line as always, so that later commands also work.

use crossterm::event::KeyEvent;

use crate::chat::Chat;
use crate::chat::commands::copy::CopiedPart;
use crate::chat::slash::{self, QueueCommand, Slash, WheelCommand};
use crate::error::ChatError;
use crate::exit::Exit;
use crate::exit::exit_words::is_exit;
use crate::terminal::TerminalInput;
use crate::terminal::line_filter::without_value;
use agentx_terminal::EditOutcome;

/// The notice about a command that only the server can answer.
const AWAY: &str = "the server is away; try again when it is connected again";

impl Chat<'_> {
    /// Answers a command while the server is away: runs a command that does not need the server, otherwise
    /// says that it is away.
    pub(in crate::chat) fn answer_while_away(&mut self, command: &Slash) -> Result<String, ChatError> {
        Ok(match command {
            Slash::Help(about) => self.help(about.as_deref()),
            Slash::Todo => self.display.todo_list(),
            Slash::Who => self.list_participants(),
            Slash::Wheel(WheelCommand::Know) => self.wheel_notice(),
            Slash::Jobs(None) => self.list_work(),
            Slash::Queue(QueueCommand::List) if !self.status.queue.is_empty() => {
                let names = self.connection.company.names();
                self.status.queue.list(names, self.display.width())
            }
            Slash::Queue(QueueCommand::List) => "nothing is queued".to_owned(),
            Slash::Config(shown) => self.configuration(*shown),
            Slash::Copy(block) => match self.display.last_answer.clone() {
                Some(answer) => self.copy_part(CopiedPart::of(answer, *block)?)?,
                None => AWAY.to_owned(),
            },
            _ => AWAY.to_owned(),
        })
    }

    /// Handles a key or text while the server is away and something is waited for there. Returns it if it has
    /// to wait.
    pub(in crate::chat) fn typed_while_away(
        &mut self,
        input: TerminalInput,
    ) -> Result<Option<TerminalInput>, ChatError> {
        let is_in_order = self.composer.inputs.keeps_only_lines()
            && self.status.question().is_none()
            && self.composer.asking.is_none();
        if !self.connection.company.is_cut_off() || !is_in_order {
            return Ok(Some(input));
        }
        let edited = match &input {
            TerminalInput::Key(key) => self.key_while_away(key),
            TerminalInput::Paste(text) => self.composer.editor.paste(text),
            _ => return Ok(Some(input)),
        };
        match edited {
            EditOutcome::Submit(line) => self.line_while_away(line)?,
            EditOutcome::Nothing | EditOutcome::Changed => {}
            _ => return Ok(Some(input)),
        }
        self.paint()?;
        Ok(None)
    }

    /// A key goes to the line; ↑ on an empty line takes back the last message that waits.
    fn key_while_away(&mut self, key: &KeyEvent) -> EditOutcome {
        // Its caller has seen that no question is open.
        self.composer.editor.set_answering(false);
        if !self.composer.takes_line_back(key) {
            return self.composer.editor.key(*key);
        }
        let line = self.composer.inputs.take_last_line();
        self.composer.bring_lines_back(line.as_slice());
        EditOutcome::Changed
    }

    /// A command is answered, and a message waits for the server.
    fn line_while_away(&mut self, line: String) -> Result<(), ChatError> {
        if line.trim().is_empty() {
            return Ok(());
        }
        let command = slash::parse(&line);
        if is_exit(&line) || command == Some(Ok(Slash::Quit)) {
            self.leaving = Some(Exit::Ok);
            return Ok(());
        }
        let command = command.filter(|command| command.is_ok() || !self.is_prompt_command(&line));
        let Some(command) = command else {
            self.composer.inputs.keep(TerminalInput::Waited(line));
            return Ok(());
        };
        let shown = without_value(&line);
        self.composer.editor.remember(shown);
        self.display.echo(shown);
        let answer = match command {
            Ok(command) => self.answer_while_away(&command),
            Err(what) => Ok(slash::prompt_commands::with_similar(&line, &what, self.settings)),
        };
        match answer {
            Ok(text) => self.display.transcript.print_notice(&text),
            Err(error) => self.complain(&error),
        }
        Ok(())
    }
}
