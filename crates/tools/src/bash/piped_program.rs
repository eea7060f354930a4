//! A program that this process talks to through pipes while both run, such as an MCP server.
//!
//! It is marked and ended like a command, with its process group and the processes that left the group. It
//! also ends when this process is killed (`kill -9`): a small shell waits at the end of a pipe that only this
//! process holds open, and kills the group when the pipe breaks. A program that reacts to the end of its
//! input ends by itself at that moment.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use agentx_types::{SessionId, ToolCallId};
use nix::unistd::Pid;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use super::group::ProcessGroup;
use super::process_mark::{MARK, ProcessMark};

/// The placeholder for the session in the mark of such a program, which has none.
const NO_SESSION: &str = "program";

/// Waits until the pipe has a line, which means that all is well, or breaks. It ignores the signals by which
/// a terminal ends this program, because it has to outlive it.
const WATCH: &str = r#"trap "" HUP INT TERM; read -r _ || kill -s KILL -- "-$1""#;

/// The time to wait for a killed process: one that hangs in the kernel does not die.
const DYING: Duration = Duration::from_millis(400);

/// The program to start.
#[derive(Clone, Copy)]
pub struct PipedCommand<'a> {
    /// The name in the mark that its processes carry.
    pub name: &'a str,
    /// The program: a path, or a name in `PATH`.
    pub program: &'a str,
    /// The arguments.
    pub arguments: &'a [String],
    /// The directory that it starts in.
    pub directory: &'a Path,
    /// All of its environment but the mark.
    pub environment: &'a [(OsString, OsString)],
}

/// The three pipes of a program.
#[derive(Debug)]
pub struct ProgramPipes {
    /// The program's standard input. As a rule the program ends when this is dropped.
    pub stdin: ChildStdin,
    /// The program's standard output.
    pub stdout: ChildStdout,
    /// The program's standard error.
    pub stderr: ChildStderr,
}

/// A program that runs. Dropping it kills all of its processes at once.
pub struct PipedProgram {
    child: Child,
    group: Arc<ProcessGroup>,
    /// Sends the watcher its line.
    watched: Option<File>,
}

impl PipedProgram {
    /// Starts a program in a process group of its own. Must be called inside a tokio runtime.
    ///
    /// # Errors
    /// Returns an error if the program or its directory does not exist, or if the program or its watcher
    /// cannot be started.
    pub fn start(command: &PipedCommand<'_>) -> std::io::Result<(Self, ProgramPipes)> {
        let mark = ProcessMark::new(&SessionId::new(NO_SESSION), &ToolCallId::new(command.name));
        let mut child = Command::new(command.program)
            .args(command.arguments)
            .current_dir(command.directory)
            .env_clear()
            .envs(command.environment.iter().map(|(name, value)| (name, value)))
            .env(MARK, mark.to_string())
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let leader = child.id().and_then(|id| i32::try_from(id).ok());
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(leader), (Some(stdin), Some(stdout), Some(stderr))) = (leader, pipes) else {
            return Err(std::io::Error::other("it ended before it could be talked to"));
        };
        let group = ProcessGroup::new(Pid::from_raw(leader), mark, None);
        let program = Self {
            child,
            group,
            watched: Some(watch(leader)?),
        };
        let pipes = ProgramPipes {
            stdin,
            stdout,
            stderr,
        };
        Ok((program, pipes))
    }

    /// Returns how the program ended, if it ends within `patience`.
    pub async fn ended_within(&mut self, patience: Duration) -> Option<ExitStatus> {
        let ended = tokio::time::timeout(patience, self.child.wait()).await;
        let status = ended.ok()?.ok()?;
        self.group.lost_leader();
        Some(status)
    }

    /// Waits for its end for at most `patience` (most programs end with their input), then sends SIGTERM,
    /// waits as long again, and kills the rest. Drop its pipes before.
    pub async fn stop(mut self, patience: Duration) {
        let mut known = Vec::new();
        for asks in [false, true] {
            if asks {
                known = self.group.ask();
            }
            if tokio::time::timeout(patience, self.child.wait()).await.is_ok() {
                self.group.lost_leader();
                break;
            }
        }
        if self.group.has_members() {
            self.group.kill(&known).await;
            if tokio::time::timeout(DYING, self.child.wait()).await.is_ok() {
                self.group.lost_leader();
            }
        }
        if !self.group.has_members() {
            self.group.mark_ended();
        }
    }
}

impl Drop for PipedProgram {
    fn drop(&mut self) {
        self.group.kill_once(&[]);
        if let Some(mut watched) = self.watched.take() {
            // A watcher that is gone has nothing to do.
            let _ = watched.write_all(b"\n");
        }
    }
}

/// Starts the watcher of a process group.
fn watch(leader: i32) -> std::io::Result<File> {
    let mut watcher = Command::new("/bin/sh")
        .args(["-c", WATCH, "agentx-watch"])
        .arg(leader.to_string())
        .current_dir("/")
        .env_clear()
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let pipe = watcher.stdin.take();
    let pipe = pipe.ok_or_else(|| std::io::Error::other("the watcher has no pipe"))?;
    // The runtime reaps the watcher when it has ended.
    Ok(File::from(pipe.into_owned_fd()?))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    fn started(line: &str) -> (PipedProgram, ProgramPipes) {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let arguments = ["-c".to_owned(), line.to_owned()];
        let command = PipedCommand {
            name: "made up",
            program: "sh",
            arguments: &arguments,
            directory: Path::new("/"),
            environment: &[("PATH".into(), path)],
        };
        PipedProgram::start(&command).unwrap()
    }

    /// Ends when all writers of the pipe are gone, so it waits for the end of every process that has it.
    async fn rest_of(mut pipe: ChildStdout) -> String {
        let mut said = String::new();
        pipe.read_to_string(&mut said).await.unwrap();
        said
    }

    #[tokio::test]
    async fn a_program_is_talked_to_and_ends_with_its_input() {
        let (mut program, mut pipes) =
            started("read -r word; echo \"heard $word\"; echo \"${AGENTX_CALL%%/*}\"; cat");
        assert!(program.ended_within(Duration::ZERO).await.is_none());
        pipes.stdin.write_all(b"this\n").await.unwrap();
        drop(pipes.stdin);
        assert_eq!(rest_of(pipes.stdout).await, "heard this\nprogram\n");
        program.stop(Duration::from_secs(60)).await;
    }

    #[tokio::test]
    async fn what_does_not_end_is_killed_with_what_it_started() {
        for stops in [true, false] {
            let (program, mut pipes) =
                started("trap '' TERM; sleep 1000 & echo up; while :; do sleep 1000; done");
            let mut up = [0; 3];
            pipes.stdout.read_exact(&mut up).await.unwrap();
            if stops {
                program.stop(Duration::from_millis(1)).await;
            } else {
                drop(program);
            }
            assert_eq!(rest_of(pipes.stdout).await, "");
        }
    }

    #[tokio::test]
    async fn a_broken_pipe_kills_the_group() {
        let (mut program, mut pipes) = started("sleep 1000 & echo up; sleep 1000");
        let mut up = [0; 3];
        pipes.stdout.read_exact(&mut up).await.unwrap();
        // As if this process had been killed: the pipe breaks, without the word that all is well.
        drop(program.watched.take());
        assert_eq!(rest_of(pipes.stdout).await, "");
        program.stop(Duration::from_secs(60)).await;
    }

    #[tokio::test]
    async fn a_missing_program_is_an_error() {
        let command = PipedCommand {
            name: "none",
            program: "/made/up",
            arguments: &[],
            directory: Path::new("/"),
            environment: &[],
        };
        assert!(PipedProgram::start(&command).is_err());
    }
}
