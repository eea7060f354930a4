//! A server that is a program: it is started with its own variables, and its output is counted before it is
//! parsed, so that a program that floods, or prints anything but MCP messages, loses only its own connection.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use agentx_config::McpValue;
use agentx_tools::{PipedCommand, PipedProgram, ProgramEnvironment, ProgramPipes};
use tokio::io::{AsyncRead, AsyncReadExt as _, ReadBuf};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::failure::McpFailure;
use crate::hidden::HiddenValues;
use crate::limits::{BYTES_BETWEEN_CALLS, LINES_BETWEEN_CALLS, MESSAGE_BYTES, PATIENCE, STDERR_BYTES};
use crate::server_tool::cut;

/// Maximum number of bytes of an invalid line that an error shows.
const SHOWN_LINE: usize = 200;

/// A program that runs, and its pipes.
pub(crate) struct StartedProgram {
    pub(crate) program: PipedProgram,
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: CountedOutput<ChildStdout>,
    pub(crate) said: Arc<ProgramOutput>,
    pub(crate) stderr: JoinHandle<()>,
}

/// Starts the program of a server.
pub(crate) fn start(
    name: &str,
    command: &str,
    arguments: &[String],
    directory: &Path,
    mut variables: Vec<(OsString, OsString)>,
) -> Result<StartedProgram, McpFailure> {
    // Programs that believe `PWD` start in the same directory as the others.
    variables.retain(|(name, _)| name != "PWD" && name != "OLDPWD");
    variables.push(("PWD".into(), directory.into()));
    let command_line = PipedCommand {
        name,
        program: command,
        arguments,
        directory,
        environment: &variables,
    };
    let (program, pipes) = PipedProgram::start(&command_line).map_err(|error| {
        let what = match error.kind() {
            io::ErrorKind::NotFound if !directory.is_dir() => {
                format!("{} is not a directory", directory.display())
            }
            io::ErrorKind::NotFound => format!("the program {command} does not exist"),
            _ => format!("{command}: {error}"),
        };
        McpFailure::Start(what)
    })?;
    let said = Arc::new(ProgramOutput::default());
    let ProgramPipes {
        stdin,
        stdout,
        stderr,
    } = pipes;
    let kept = said.clone();
    Ok(StartedProgram {
        program,
        stdin,
        stdout: CountedOutput::new(stdout, said.clone()),
        said,
        stderr: tokio::spawn(async move { kept.keep(stderr).await }),
    })
}

/// Returns the environment of a server's program: that of all programs, and the server's own variables.
/// Python would change the folder of a folder's server with its caches, and any change of it has to be
/// accepted.
pub(crate) fn environment(
    usual: &ProgramEnvironment,
    own: &[McpValue],
    of_folder: bool,
) -> Vec<(OsString, OsString)> {
    let named = |name: &OsString| own.iter().any(|value| name.to_str() == Some(&value.name));
    let no_caches = of_folder.then(|| (OsString::from("PYTHONDONTWRITEBYTECODE"), OsString::from("1")));
    let usual = usual.variables().filter(|(name, _)| !named(name));
    let own = own.iter().filter_map(|value| {
        let text = value.value.as_ref()?.expose();
        Some((OsString::from(&value.name), OsString::from(text)))
    });
    usual.chain(no_caches).chain(own).collect()
}

/// The program's output outside the protocol, for errors.
#[derive(Debug, Default)]
pub(crate) struct ProgramOutput {
    notes: Mutex<OutputNotes>,
    /// Fires when standard error is closed.
    silent: CancellationToken,
}

#[derive(Debug, Default)]
struct OutputNotes {
    /// The end of its standard error.
    stderr: Vec<u8>,
    /// The first line on standard output that is not an MCP message.
    odd_line: Option<String>,
    /// The reason why its output is not read any more.
    refused: Option<String>,
    /// The bytes and lines since the last call began.
    bytes: u64,
    lines: u64,
}

impl ProgramOutput {
    /// Begins a call: output of the program is counted from now on.
    pub(crate) fn call_begins(&self) {
        let mut notes = self.lock();
        (notes.bytes, notes.lines) = (0, 0);
    }

    /// Waits briefly until the standard error of a program that has ended is read completely.
    pub(crate) async fn settle(&self) {
        // A child process may still hold the pipe.
        let _ = tokio::time::timeout(PATIENCE, self.silent.cancelled()).await;
    }

    /// Returns an explanation to append to an error; empty if there is none.
    pub(crate) fn explanation(&self, hidden: &HiddenValues) -> String {
        let notes = self.lock();
        let mut text = String::new();
        if let Some(refused) = &notes.refused {
            text.push_str(&format!("; {refused}"));
        }
        if let Some(line) = &notes.odd_line {
            text.push_str(&format!(
                "; its standard output is not MCP: {:?}",
                hidden.removed_from_cut(line)
            ));
        }
        let stderr = String::from_utf8_lossy(&notes.stderr);
        let stderr = hidden.removed_from_cut(&stderr);
        let stderr = stderr.trim();
        if !stderr.is_empty() {
            text.push_str(&format!("; its standard error: {stderr}"));
        }
        text
    }

    /// Reads all of standard error and keeps the end of it.
    async fn keep(&self, mut stderr: ChildStderr) {
        let mut buffer = [0; 4096];
        while let Ok(read @ 1..) = stderr.read(&mut buffer).await {
            let kept = &mut self.lock().stderr;
            kept.extend_from_slice(&buffer[..read]);
            let more = kept.len().saturating_sub(STDERR_BYTES);
            kept.drain(..more);
        }
        self.silent.cancel();
    }

    fn lock(&self) -> MutexGuard<'_, OutputNotes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The output of a program, which ends when it exceeds a limit.
pub(crate) struct CountedOutput<R> {
    inner: R,
    said: Arc<ProgramOutput>,
    /// The bytes of the current line.
    line: usize,
    /// The beginning of the current line, if it is not an MCP message.
    odd: Option<Vec<u8>>,
}

impl<R> CountedOutput<R> {
    fn new(inner: R, said: Arc<ProgramOutput>) -> Self {
        Self {
            inner,
            said,
            line: 0,
            odd: None,
        }
    }

    fn count(&mut self, bytes: &[u8]) -> io::Result<()> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.line == 0 && !matches!(piece.first(), Some(b'{' | b'[' | b'\n' | b'\r')) {
                self.odd = Some(Vec::new());
            }
            if let Some(odd) = &mut self.odd {
                let room = SHOWN_LINE.saturating_sub(odd.len());
                odd.extend_from_slice(&piece[..piece.len().min(room)]);
            }
            self.line += piece.len();
            let is_whole = piece.ends_with(b"\n");
            if let Some(odd) = self.odd.take_if(|odd| is_whole || odd.len() >= SHOWN_LINE) {
                let text = cut(String::from_utf8_lossy(&odd).trim_end(), SHOWN_LINE);
                self.said.lock().odd_line.get_or_insert(text);
            }
            if self.line > MESSAGE_BYTES {
                return Err(self.refuse(format!("it said more than {MESSAGE_BYTES} bytes in one message")));
            }
            if is_whole {
                self.line = 0;
            }
        }
        let mut notes = self.said.lock();
        notes.bytes += bytes.len() as u64;
        notes.lines += bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        let is_flood = notes.bytes > BYTES_BETWEEN_CALLS || notes.lines > LINES_BETWEEN_CALLS;
        drop(notes);
        if is_flood {
            let why = format!(
                "it said more than {BYTES_BETWEEN_CALLS} bytes or {LINES_BETWEEN_CALLS} lines since its last call"
            );
            return Err(self.refuse(why));
        }
        Ok(())
    }

    fn refuse(&self, why: String) -> io::Error {
        self.said.lock().refused = Some(why.clone());
        io::Error::other(why)
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for CountedOutput<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        let this = &mut *self;
        let counted = this.count(&buffer.filled()[before..]);
        if counted.is_err() {
            // After an error, the reader assumes that nothing was read.
            buffer.set_filled(before);
        }
        Poll::Ready(counted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(bytes: Vec<u8>) -> (io::Result<usize>, Arc<ProgramOutput>) {
        let said = Arc::new(ProgramOutput::default());
        let mut output = CountedOutput::new(io::Cursor::new(bytes), said.clone());
        let read = output.read_to_end(&mut Vec::new()).await;
        (read, said)
    }

    #[tokio::test]
    async fn a_line_without_an_end_is_refused() {
        let (read, said) = read(vec![b'{'; MESSAGE_BYTES + 1]).await;
        assert!(read.is_err());
        assert!(
            said.explanation(&HiddenValues::default())
                .contains("in one message"),
            "{}",
            said.explanation(&HiddenValues::default())
        );
    }

    #[tokio::test]
    async fn a_flood_is_refused_and_what_is_no_protocol_is_shown() {
        let line = b"hello\n{\"a\": 1}\n\n".to_vec();
        let (whole, said) = read(line.clone()).await;
        assert_eq!(whole.unwrap(), line.len());
        assert_eq!(
            said.explanation(&HiddenValues::default()),
            "; its standard output is not MCP: \"hello\""
        );
        let many = line.repeat(usize::try_from(LINES_BETWEEN_CALLS).unwrap());
        let (flooded, said) = read(many).await;
        assert!(flooded.is_err());
        assert!(
            said.explanation(&HiddenValues::default())
                .contains("since its last call"),
            "{}",
            said.explanation(&HiddenValues::default())
        );
    }

    /// Any change of the folder of a folder's server has to be accepted, so Python leaves no caches in it.
    #[test]
    fn servers_of_a_folder_leave_no_caches_of_python() {
        let usual = ProgramEnvironment::default();
        let sets = |own: &[McpValue], of_folder| {
            let variables = environment(&usual, own, of_folder).into_iter();
            let mut values = variables.filter(|(name, _)| name == "PYTHONDONTWRITEBYTECODE");
            values.next_back().map(|(_, value)| value)
        };
        assert_eq!(sets(&[], true), Some("1".into()));
        let own = McpValue {
            name: "PYTHONDONTWRITEBYTECODE".into(),
            from: Vec::new(),
            value: Some(agentx_config::Secret::new("x")),
        };
        assert_eq!(sets(&[own], true), Some("x".into()), "the entry decides");
    }
}
