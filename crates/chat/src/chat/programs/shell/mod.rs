//! Runs `!command` in the user's shell; shows its output and attaches it to the next message. The agent's
//! events are also shown meanwhile.

mod interactive;
mod needs_terminal;
mod own;
mod process;

use std::process::ExitStatus;
use std::time::Duration;

use agentx::runtime::SharingFact;
use agentx::tools::{RemainingProcess, own_command_mark};
use agentx::types::{CommandRan, ContentPart, Envelope, RuntimeEvent};
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, ChildStdout};
use tokio::time::{Instant, sleep, sleep_until};

use crate::chat::slash::{self, Slash};
use crate::chat::{Chat, ChatFlow};
use crate::error::ChatError;
use crate::exit::exit_words::is_exit;
use crate::render::answers::is_nearly_answer;
use crate::render::conversation;
use crate::render::style::AnsiStyle;
use crate::render::table::cut;
use crate::render::units;
use crate::terminal::TerminalInput;
use agentx_terminal::{EditOutcome, LONGEST_KEPT};
pub(in crate::chat) use own::ShellCommand;
use process::{ShellProcessGroup, begin, instead_of};

/// Maximum running time of such a command.
const LONGEST: Duration = Duration::from_secs(600);
/// Maximum length of a line of it that is shown.
const LONGEST_LINE: usize = 2_000;
/// Time limit for reading the output after the command has ended: a process that it left may keep the output
/// open.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// The time between two updates of the row with the running time.
const TICK: Duration = Duration::from_secs(1);

/// The note for a person who wants their own editor meanwhile.
const LATER: &str = "the editor is available after the command has ended";

/// The way in which a command ended.
enum ShellEnd {
    By(ExitStatus),
    Stopped,
    TookTooLong,
}

impl ShellEnd {
    /// Describes the end for the agent and for the screen.
    fn describe(self, style: AnsiStyle) -> (String, String) {
        match self {
            Self::Stopped => ("stopped".to_owned(), style.warn("■ stopped")),
            Self::TookTooLong => {
                let end = format!("stopped after {} s", LONGEST.as_secs());
                (end.clone(), style.warn(&format!("■ {end}")))
            }
            Self::By(status) => {
                let end = status
                    .code()
                    .map_or_else(|| status.to_string(), |code| format!("exit {code}"));
                (end.clone(), style.dim(&end))
            }
        }
    }
}

impl Chat<'_> {
    /// Runs the command behind `!` in a line, if there is one.
    pub(in crate::chat) async fn own_command(
        &mut self,
        line: &str,
        command: &str,
    ) -> Result<ChatFlow, ChatError> {
        self.display.echo(line);
        // A kill may come while it runs, and it must not run twice.
        self.keep_draft_at_once().await;
        if let Some(command) = needs_terminal::wanting_terminal(command) {
            return self.lend_to_command(command).await;
        }
        if let Some(instead) = instead_of(command) {
            self.display
                .transcript
                .print_notice(&format!("not run: {instead}"));
            return Ok(ChatFlow::Continue);
        }
        self.paint()?;
        self.shell(command).await
    }

    /// Runs a command and shows its output.
    async fn shell(&mut self, command: &str) -> Result<ChatFlow, ChatError> {
        let mark = self.command_mark().await;
        let mut child = match begin(command, self.settings, mark) {
            Ok(child) => child,
            Err(error) => {
                let what = format!("  it could not be run: {error}");
                return self.display.print_line(&self.display.style().bad(&what));
            }
        };
        let leader = child.id();
        let mut group = ShellProcessGroup(leader);
        self.programs.running = Some(ShellCommand::new(command, Instant::now()));
        let ended = self.read_until_end(&mut child).await;
        let mut left = None;
        if matches!(ended, Ok(ShellEnd::By(_))) {
            // Processes in the background are meant to continue.
            group.0 = None;
            left = leader.and_then(RemainingProcess::of);
        }
        drop(group);
        let left = left.map(|left| self.programs.jobs.left_running(command, left, units::now()));
        let Some(own) = self.programs.running.take() else {
            return Ok(ChatFlow::Continue);
        };
        let mut waited = Vec::new();
        if matches!(ended, Ok(ShellEnd::Stopped)) {
            // Waiting messages come back to the person, as when a run is stopped.
            waited = self.composer.inputs.take_lines();
            self.composer.bring_lines_back(&waited);
        }
        let style = self.display.style();
        for line in own.shown() {
            let line = style.dim(&format!("  │ {}", cut(&line, LONGEST_LINE)));
            self.display.transcript.print_notice(&line);
        }
        let (end, shown) = ended?.describe(style);
        self.keep_for_agent(command, own.output_text(), end).await;
        let (corner, note) = (
            style.dim("  └ "),
            style.dim(" · sent to the agent with your next message"),
        );
        self.display.print_line(&format!("{corner}{shown}{note}"))?;
        if let Some(job) = left {
            let note =
                format!("  · {job} continues in the background until you leave; /jobs stop {job} ends it");
            self.display.transcript.print_notice(&style.dim(&note));
        }
        self.note_withheld_variables(command);
        if self.leaving.is_some() && !waited.is_empty() {
            self.display
                .transcript
                .print_notice(&style.warn(&not_sent(&waited)));
        }
        Ok(ChatFlow::Continue)
    }

    /// The mark of the session for a command, by which the command is found again if this program is killed.
    /// The session begins with the command, so that its output is recorded immediately.
    async fn command_mark(&mut self) -> Option<(&'static str, String)> {
        match self.session().await {
            Ok(session) => Some(own_command_mark(session.id())),
            Err(error) => {
                tracing::debug!(%error, "a command without a session");
                None
            }
        }
    }

    /// Says, once, which variables a command of the user did not get.
    fn note_withheld_variables(&mut self, command: &str) {
        if let Some(note) = self.programs.withheld.note_own_command(command) {
            let note = self.display.style().dim(&format!("  · {note}"));
            self.display.transcript.print_notice(&note);
        }
    }

    /// Records the result of a command, so that the agent reads it with the next message, even if the person
    /// leaves the chat before. If the session cannot record it, the result is attached to the next message.
    async fn keep_for_agent(&mut self, command: &str, output: String, how: String) {
        let ran = CommandRan {
            command: command.to_owned(),
            output,
            how,
            by: None,
        };
        if let Some(session) = self.connection.session()
            && !self.connection.is_router()
        {
            let (session, note) = (session.clone(), SharingFact::Ran(ran.clone()));
            match self.wait_for(async { session.record_sharing(note).await }).await {
                Ok(seq) => {
                    self.programs.recorded = Some(seq);
                    return;
                }
                Err(error) => tracing::debug!(%error, "the command is not in the log"),
            }
        }
        let CommandRan {
            command, output, how, ..
        } = ran;
        self.composer.shared.push(ContentPart::text(format!(
            "\n\n<ran_by_the_person command=\"{command}\">\n{output}\n{how}\n</ran_by_the_person>",
        )));
    }

    /// Shows a command that was run in this session before, or elsewhere.
    pub(in crate::chat) fn tell_of_command(&mut self, envelope: &Envelope<RuntimeEvent>) {
        if let RuntimeEvent::CommandFinished(ran) = &envelope.event
            && self.programs.recorded != Some(envelope.seq)
        {
            let told = conversation::ran(ran, self.connection.company.names(), self.display.style());
            self.display.transcript.aside(&told);
        }
    }

    /// Reads the output of the command until it ends. The chat continues meanwhile, and sent lines wait.
    async fn read_until_end(&mut self, child: &mut Child) -> Result<ShellEnd, ChatError> {
        let (mut out, mut status) = (child.stdout.take(), None);
        let (mut buffer, mut until) = (vec![0; 8 << 10], Instant::now() + LONGEST);
        self.paint()?;
        loop {
            let (keys, listens) = (self.takes_keys(), self.display.listens());
            tokio::select! {
                biased;
                exit = self.signals.next() => {
                    self.after_signal(exit);
                    return Ok(ShellEnd::Stopped);
                }
                input = self.composer.inputs.newest(), if keys => match input {
                    input if self.composer.is_stop(&input) => return Ok(ShellEnd::Stopped),
                    input => if let ChatFlow::Leave(exit) = self.meanwhile(input).await? {
                        self.leaving = Some(exit);
                        return Ok(ShellEnd::Stopped);
                    },
                },
                ended = child.wait(), if status.is_none() => {
                    status = Some(ended?);
                    until = Instant::now() + LAST_WORDS;
                }
                delivery = self.connection.site.next_delivery(), if listens => {
                    self.deliveries(delivery?).await?;
                }
                () = self.display.pace.rested(), if !listens => continue,
                // Last, because a flood of output is always ready.
                read = read(&mut out, &mut buffer), if out.is_some() => match read {
                    0 => out = None,
                    bytes => self.programs.running.iter_mut().for_each(|own| own.push(&buffer[..bytes])),
                },
                () = sleep_until(until) => {}
                () = sleep(TICK) => {}
            }
            self.give_line_to_question();
            self.keep_draft().await;
            let is_late = Instant::now() >= until;
            match status {
                Some(status) if out.is_none() || is_late => return Ok(ShellEnd::By(status)),
                None if is_late => return Ok(ShellEnd::TookTooLong),
                _ => self.paint_in_time()?,
            }
        }
    }

    /// Returns whether the chat reads typed input: on a terminal, as long as there is room for waiting lines.
    fn takes_keys(&self) -> bool {
        self.display.has_editor() && self.composer.inputs.has_room()
    }

    /// Takes input while the command runs: it goes into the line, and answers a question. A message waits
    /// until the command has ended, because the output of the command goes along.
    async fn meanwhile(&mut self, input: TerminalInput) -> Result<ChatFlow, ChatError> {
        self.display.pace.hurry();
        if matches!(input, TerminalInput::Key(_) | TerminalInput::Paste(_)) {
            self.approvals.attention.typed(Instant::now());
        }
        self.display.set_hint("");
        let edited = match &input {
            TerminalInput::Key(key) if self.decides_at_once(key) => return self.decide_at_once(key).await,
            TerminalInput::Key(key) if self.composer.takes_line_back(key) => {
                let line = self.composer.inputs.take_last_line();
                self.composer.bring_lines_back(line.as_slice());
                return Ok(ChatFlow::Continue);
            }
            TerminalInput::Key(key) => self.key(*key).await,
            TerminalInput::Paste(text) => self.composer.editor.paste(text),
            TerminalInput::Resize(columns, rows) => {
                self.display.resize(*columns, *rows);
                return Ok(ChatFlow::Continue);
            }
            _ => {
                self.composer.inputs.keep(input);
                return Ok(ChatFlow::Continue);
            }
        };
        match edited {
            EditOutcome::Submit(line) => return self.sent_meanwhile(line).await,
            EditOutcome::Leave => return Ok(self.leave()),
            EditOutcome::Complete => self.complete().await,
            EditOutcome::Elsewhere => {
                self.display.set_hint(LATER);
            }
            // These wait, too.
            EditOutcome::Steer | EditOutcome::Clear | EditOutcome::Suspend => {
                self.composer.inputs.keep(input)
            }
            _ => {}
        }
        Ok(ChatFlow::Continue)
    }

    /// Takes a line that is sent while the command runs. An answer, a request to leave and a command that
    /// only shows something take effect immediately, other lines wait. The line is already in the history, so
    /// that it is not lost if the program ends first.
    async fn sent_meanwhile(&mut self, line: String) -> Result<ChatFlow, ChatError> {
        if let Some(answer) = self.reply_of(&line).filter(|_| self.asks_in_line()) {
            self.line_was_sent();
            return self.answer(answer).await;
        }
        if line.trim().is_empty() {
            return Ok(ChatFlow::Continue);
        }
        if is_nearly_answer(&line) && self.asks_in_line() {
            let note = self.approvals.answers.wrong(&line);
            self.display.transcript.print_notice(&note);
            return Ok(ChatFlow::Continue);
        }
        if is_exit(&line) {
            return Ok(self.leave());
        }
        self.composer.editor.remember(&line);
        match slash::parse(&line) {
            Some(Ok(Slash::Quit)) => return Ok(self.leave()),
            Some(Ok(command)) if command.only_shows() => {
                self.display.echo(&line);
                self.command(command).await;
            }
            _ => self.composer.inputs.keep(TerminalInput::Waited(line)),
        }
        Ok(ChatFlow::Continue)
    }
}

/// Describes the lines that waited for a command and are not sent, because the chat ends.
fn not_sent(lines: &[String]) -> String {
    let (was, them) = if lines.len() == 1 {
        ("was", "it")
    } else {
        ("were", "them")
    };
    let messages = units::counted(lines.len(), "message");
    // A text that is too long is not written down.
    if lines.iter().all(|line| line.len() <= LONGEST_KEPT) {
        format!("· {messages} {was} not sent; press ↑ in the next chat to get {them} back")
    } else {
        format!("· {messages} {was} not sent")
    }
}

/// Reads the available output; returns 0 at its end.
async fn read(out: &mut Option<ChildStdout>, buffer: &mut [u8]) -> usize {
    match out {
        Some(out) => out.read(buffer).await.unwrap_or(0),
        None => 0,
    }
}
