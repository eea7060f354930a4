//! `!command`: the person's own command, in a shell here. What it says is on the screen while it runs, and goes to the agent with the
//! next words. What the agent does meanwhile is shown, too.

mod own;

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use agentx::types::ContentPart;
use crossterm::event::{KeyCode, KeyModifiers};
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::{Instant, sleep, sleep_until};

use super::status::end_group;
use super::terminal::Input;
use super::{Chat, Face, Flow, next_delivery};
use crate::error::CliError;
use crate::exit::Exit;
use crate::render::table::cut;
pub(super) use own::Own;

/// No command of this kind takes longer.
const LONGEST: Duration = Duration::from_secs(600);
/// So long what it has said is read when it has ended: what it left behind may hold on to its output.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// How often the row moves that says since when it runs.
const TICK: Duration = Duration::from_secs(1);

/// How a command ended.
enum End {
    By(ExitStatus),
    Stopped,
    TookTooLong,
}

/// Ends what a command started, also where the chat ends first.
struct Group(Option<u32>);

impl Drop for Group {
    fn drop(&mut self) {
        end_group(self.0.take());
    }
}

impl Chat<'_> {
    /// Runs a command and shows what it says.
    pub(super) async fn shell(&mut self, command: &str) -> Result<Flow, CliError> {
        let mut child = match begin(command, &self.settings.workspace) {
            Ok(child) => child,
            Err(error) => {
                let what = format!("  it could not be run: {error}");
                return self.told(&self.console.out_style().bad(&what));
            }
        };
        let mut group = Group(child.id());
        self.own = Some(Own::new(command, Instant::now()));
        let ended = self.while_it_runs(&mut child).await;
        if matches!(ended, Ok(End::By(_))) {
            // What goes on in the background is meant to.
            group.0 = None;
        }
        drop(group);
        let Some(own) = self.own.take() else {
            return Ok(Flow::On);
        };
        let (style, room) = (
            self.console.out_style(),
            self.console.terminal.width.saturating_sub(4),
        );
        for line in own.shown() {
            self.transcript
                .in_passing(&style.dim(&format!("  │ {}", cut(&line, room))));
        }
        let (end, shown) = match ended? {
            End::Stopped => ("stopped".to_owned(), style.warn("■ stopped")),
            End::TookTooLong => {
                let end = format!("stopped after {} s", LONGEST.as_secs());
                (end.clone(), style.warn(&format!("■ {end}")))
            }
            End::By(status) => {
                let end = status
                    .code()
                    .map_or_else(|| status.to_string(), |code| format!("exit {code}"));
                (end.clone(), style.dim(&end))
            }
        };
        self.shared.push(ContentPart::text(format!(
            "\n\n<ran_by_the_person command=\"{command}\">\n{}\n{end}\n</ran_by_the_person>",
            own.said()
        )));
        let (corner, note) = (
            style.dim("  └ "),
            style.dim(" · goes to the agent with what you say next"),
        );
        self.told(&format!("{corner}{shown}{note}"))
    }

    /// Reads what it says until it ends; the chat goes on meanwhile, and what is typed waits.
    async fn while_it_runs(&mut self, child: &mut Child) -> Result<End, CliError> {
        let (mut out, mut status) = (child.stdout.take(), None);
        let (mut buffer, mut until) = (vec![0; 8 << 10], Instant::now() + LONGEST);
        self.paint()?;
        loop {
            let (keys, listens) = (self.takes_keys(), self.listens());
            tokio::select! {
                biased;
                exit = self.signals.next() => {
                    self.leaving = (exit != Exit::Interrupted).then_some(exit);
                    return Ok(End::Stopped);
                }
                input = self.inputs.newest(), if keys => match input {
                    input if stops(&input) => return Ok(End::Stopped),
                    Input::Resize(columns, rows) => self.resized(columns, rows),
                    input => self.inputs.keep(input),
                },
                ended = child.wait(), if status.is_none() => {
                    status = Some(ended?);
                    until = Instant::now() + LAST_WORDS;
                }
                delivery = next_delivery(&mut self.seat), if listens => {
                    self.deliveries(delivery?).await?;
                }
                () = self.pace.rested(), if !listens => continue,
                // Behind all others: a flood always has more.
                read = read(&mut out, &mut buffer), if out.is_some() => match read {
                    0 => out = None,
                    bytes => self.own.iter_mut().for_each(|own| own.push(&buffer[..bytes])),
                },
                () = sleep_until(until) => {}
                () = sleep(TICK) => {}
            }
            let is_late = Instant::now() >= until;
            match status {
                Some(status) if out.is_none() || is_late => return Ok(End::By(status)),
                None if is_late => return Ok(End::TookTooLong),
                _ => self.paint_in_time()?,
            }
        }
    }

    /// Whether what is typed is looked at: on a terminal, as long as what waits has room.
    fn takes_keys(&self) -> bool {
        matches!(self.face, Face::Editor { .. }) && self.inputs.has_room()
    }

    fn told(&mut self, line: &str) -> Result<Flow, CliError> {
        self.transcript.in_passing(line);
        Ok(Flow::On)
    }
}

/// Begins a command, with all that it starts in a group of its own. What it says and what goes wrong come by one way, in order.
fn begin(command: &str, place: &std::path::Path) -> std::io::Result<Child> {
    let mut process = Command::new("sh");
    process
        .args(["-c", &format!("exec 2>&1\n{command}")])
        .current_dir(place)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    #[cfg(unix)]
    process.process_group(0);
    process.spawn()
}

/// Reads what is there; 0 where no more comes.
async fn read(out: &mut Option<ChildStdout>, buffer: &mut [u8]) -> usize {
    match out {
        Some(out) => out.read(buffer).await.unwrap_or(0),
        None => 0,
    }
}

/// Whether a person does not want to wait any longer.
fn stops(input: &Input) -> bool {
    match input {
        Input::Key(key) => {
            let control = key.modifiers.contains(KeyModifiers::CONTROL);
            key.code == KeyCode::Esc || (control && key.code == KeyCode::Char('c'))
        }
        input => *input == Input::End,
    }
}
