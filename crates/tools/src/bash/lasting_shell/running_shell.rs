//! A shell that stays: its process, its terminal, and the task that reads what it shows.

use std::sync::Arc;
use std::time::{Duration, Instant};

use agentx_runtime::ToolContext;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use pty_process::OwnedReadPty;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::screen::ShellScreen;
use super::script;
use super::shell_pipe::{ShellPipe, with_proxy};
use super::terminal::ShellTerminal;
use super::typed_line::TypedLine;
use crate::bash::command::Shell;
use crate::bash::command_end::CommandEnd;
use crate::bash::command_sandbox::CommandSandbox;
use crate::bash::group::ProcessGroup;
use crate::bash::options::BashOptions;
use crate::bash::process_mark::ProcessMark;
use crate::failure::ToolFailure;

/// The time that a shell may take to start.
const STARTING: Duration = Duration::from_secs(20);
/// The time to wait for a shell that does not read its next line.
const LINE: Duration = Duration::from_secs(5);
/// The time to wait for a killed process: one that hangs in the kernel does not die.
const DYING: Duration = Duration::from_millis(400);
/// The size of the buffer for output.
const BUFFER: usize = 64 << 10;

/// A shell that runs. Dropping it kills all of its processes at once.
pub(super) struct RunningShell {
    pub(super) screen: Arc<ShellScreen>,
    terminal: ShellTerminal,
    lines: ChildStdin,
    group: Arc<ProcessGroup>,
    sandbox: Option<CommandSandbox>,
    /// The field `sandbox` in the details of calls, if nothing holds the shell although the settings ask for
    /// it.
    unheld: Option<Value>,
    /// Ends the shell.
    stop: CancellationToken,
    reading: JoinHandle<()>,
    /// The number of the last command, its line, and when it began.
    number: u64,
    line: String,
    began: Instant,
}

impl RunningShell {
    /// Starts a shell in the workspace of the call, with the environment and the sandbox of commands.
    pub(super) async fn start(
        shell: &Shell,
        options: &BashOptions,
        context: &ToolContext,
    ) -> Result<Self, ToolFailure> {
        if shell.name() != "bash" {
            return Err(ToolFailure::failed(
                "The tool shell needs bash, which is not in PATH.",
            ));
        }
        if let Some(records) = &options.records {
            records.prepare();
        }
        let mark = ProcessMark::of_lasting_shell(&context.session_id);
        let (command, sandbox) = shell.on_terminal(&context.workspace, options, &mark)?;
        let failed =
            |error: std::io::Error| ToolFailure::failed(format!("The shell could not be started: {error}."));
        let opened = ShellTerminal::open().map_err(failed)?;
        let ShellPipe { lines, theirs, way } = ShellPipe::open(sandbox.as_ref()).map_err(failed)?;
        let child = pty_process::Command::from(command)
            .stdin(theirs)
            .spawn(opened.inside)
            .map_err(|error| failed(std::io::Error::other(error)))?;
        let sandbox = with_proxy(sandbox, way, options, context).map_err(failed)?;
        let leader = child.id().and_then(|id| i32::try_from(id).ok());
        let Some(leader) = leader.map(Pid::from_raw) else {
            return Err(ToolFailure::failed("The shell could not be started."));
        };
        let recorded = options
            .records
            .as_ref()
            .and_then(|records| records.begin(leader, &mark));
        let group = ProcessGroup::new(leader, mark, recorded);
        let word = script::secret_word();
        let screen = Arc::new(ShellScreen::new(&word, options.backlog_bytes));
        let stop = CancellationToken::new();
        let watched = WatchedShell {
            child,
            leader,
            output: opened.output,
            screen: Arc::clone(&screen),
            group: Arc::clone(&group),
            stop: stop.clone(),
            options: options.clone(),
        };
        let mut started = Self {
            screen,
            terminal: opened.terminal,
            lines,
            group,
            unheld: options.unheld(&context.workspace).filter(|_| sandbox.is_none()),
            sandbox,
            stop,
            reading: tokio::spawn(watched.attend()),
            number: 0,
            line: String::new(),
            began: Instant::now(),
        };
        started.set_up(&word).await?;
        Ok(started)
    }

    /// Waits for the first prompt.
    async fn set_up(&mut self, word: &str) -> Result<(), ToolFailure> {
        let written = self.send(&script::set_up(word)).await;
        let ready = tokio::time::timeout(STARTING, self.screen.rest()).await;
        if written.is_ok() && ready.is_ok() && !self.screen.is_over() {
            self.screen.clear();
            return Ok(());
        }
        let said = self.screen.take().output;
        Err(ToolFailure::failed(format!(
            "The shell did not start.\n{}",
            said.trim()
        )))
    }

    /// Begins a command. No other one may run.
    pub(super) async fn begin(&mut self, line: &str) -> std::io::Result<()> {
        self.number += 1;
        self.line = line.to_owned();
        self.began = Instant::now();
        self.terminal.reset();
        self.screen.begin(self.number);
        if let Some(sandbox) = &self.sandbox {
            sandbox.forget_refused_hosts();
        }
        let line = script::command(self.number, line);
        self.send(&line).await
    }

    async fn send(&mut self, line: &str) -> std::io::Result<()> {
        let sent = tokio::time::timeout(LINE, self.lines.write_all(line.as_bytes())).await;
        sent.unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()))
    }

    /// Types into the terminal.
    pub(super) async fn press(&mut self, keys: &str) -> std::io::Result<()> {
        self.terminal.press(keys).await
    }

    /// The line that was typed into the program that runs, as far as it has not ended.
    pub(super) fn typed_line(&self) -> &TypedLine {
        self.terminal.line()
    }

    /// The command that runs, or ran last, and the time since it began.
    pub(super) fn last_command(&self) -> (&str, Duration) {
        (&self.line, self.began.elapsed())
    }

    /// The sandbox that holds the shell; `None` if nothing does.
    pub(super) fn sandbox(&self) -> Option<&CommandSandbox> {
        self.sandbox.as_ref()
    }

    /// The field `sandbox` in the details of calls, if nothing holds the shell although the settings ask for
    /// it.
    pub(super) fn unheld(&self) -> Option<&Value> {
        self.unheld.as_ref()
    }

    /// Ends the shell and everything that it started, and waits until they are gone.
    pub(super) async fn stop(mut self) {
        self.stop.cancel();
        // It takes a bounded time.
        let _ = (&mut self.reading).await;
    }
}

impl Drop for RunningShell {
    fn drop(&mut self) {
        self.stop.cancel();
        if !self.screen.is_over() {
            self.group.kill_once(&[]);
        }
    }
}

/// The parts of a shell that the task which reads its output has.
struct WatchedShell {
    child: Child,
    leader: Pid,
    output: OwnedReadPty,
    screen: Arc<ShellScreen>,
    group: Arc<ProcessGroup>,
    stop: CancellationToken,
    options: BashOptions,
}

impl WatchedShell {
    /// Reads until the shell has ended or has to be ended.
    async fn attend(self) {
        let Self {
            mut child,
            leader,
            output,
            screen,
            group,
            stop,
            options,
        } = self;
        let mut reader = OutputReader {
            output: Some(output),
            buffer: vec![0; BUFFER].into_boxed_slice(),
            screen: &screen,
            stop: &stop,
            most: options.kill_bytes,
        };
        let ended = async {
            tokio::select! {
                biased;
                status = child.wait() => status.map_or(CommandEnd::Lost, CommandEnd::Exited),
                () = stop.cancelled() => CommandEnd::Interrupted,
            }
        };
        let end = reader.read_until(ended).await;
        if end.is_exit() {
            group.lost_leader();
            reader.read_rest(options.linger).await;
        }
        let stopping = async {
            let known = group.ask();
            if !end.is_exit() {
                // An interactive shell ignores SIGTERM.
                let _ = kill(leader, Signal::SIGHUP);
                if tokio::time::timeout(options.grace, child.wait()).await.is_ok() {
                    group.lost_leader();
                }
            }
            group.kill(&known).await;
            if tokio::time::timeout(DYING, child.wait()).await.is_ok() {
                group.lost_leader();
            }
        };
        reader.read_until(stopping).await;
        if !group.has_members() {
            group.mark_ended();
        }
        screen.finish(reader.end(end));
    }
}

/// Reads a terminal onto a screen.
struct OutputReader<'a> {
    /// `None` after its end.
    output: Option<OwnedReadPty>,
    buffer: Box<[u8]>,
    screen: &'a ShellScreen,
    stop: &'a CancellationToken,
    /// Bytes of output after which the shell is ended.
    most: u64,
}

impl OutputReader<'_> {
    /// Reads until this is done.
    async fn read_until<F: Future>(&mut self, until: F) -> F::Output {
        let mut until = std::pin::pin!(until);
        loop {
            tokio::select! {
                biased;
                done = &mut until => return done,
                () = self.read() => {}
            }
        }
    }

    /// Reads the rest for at most this time.
    async fn read_rest(&mut self, time: Duration) {
        let rest = async {
            while self.output.is_some() {
                self.read().await;
            }
        };
        // Processes that were left behind may keep the terminal open.
        let _ = tokio::time::timeout(time, rest).await;
    }

    /// Reads more; never resolves after the end.
    async fn read(&mut self) {
        let Some(output) = &mut self.output else {
            return std::future::pending().await;
        };
        // A terminal that nobody has open any more cannot be read.
        let bytes = output.read(&mut self.buffer).await.unwrap_or(0);
        if bytes == 0 {
            self.output = None;
        } else if self.screen.push(&self.buffer[..bytes]) > self.most {
            self.stop.cancel();
        }
    }

    /// Returns the end of the shell: too much output is another reason than a person.
    fn end(&self, end: CommandEnd) -> CommandEnd {
        if end == CommandEnd::Interrupted && self.screen.total() > self.most {
            CommandEnd::Flooded
        } else {
            end
        }
    }
}
