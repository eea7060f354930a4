//! Starts the helper, gives it a document, and limits its time and output.

use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use agentx_tools::DocumentReader;
use tokio_util::sync::CancellationToken;

use super::helper::can_be_helper;
use super::{DocumentFormat, DocumentText, HELPER, HelperAnswer};

/// The time for one document.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The longest answer, in bytes: JSON of the longest text.
const MAX_ANSWER: u64 = 32 << 20;
/// The time between two looks at whether to stop.
const LOOK: Duration = Duration::from_millis(50);

/// Reads each document in a separate process.
#[derive(Clone, Debug)]
pub struct DocumentHelper {
    program: PathBuf,
}

impl DocumentHelper {
    /// The helper is `program`, whose `main` begins with
    /// [`act_as_document_helper`](crate::act_as_document_helper).
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
        }
    }

    /// The helper is this very program; `None` if its `main` did not begin with
    /// [`act_as_document_helper`](crate::act_as_document_helper), or it is built without the feature
    /// `documents`.
    pub fn of_this_program() -> Option<Self> {
        if !can_be_helper() {
            return None;
        }
        // On Linux the helper stays the same when the program's file is replaced meanwhile.
        let own = PathBuf::from("/proc/self/exe");
        let program = if own.exists() {
            Some(own)
        } else {
            std::env::current_exe().ok()
        };
        program.map(Self::new)
    }

    /// Reads a document, which came from `address`. Blocks until it is read, `stop` is cancelled, or the time
    /// is up; the process has ended then.
    ///
    /// # Errors
    /// Returns the reason why it cannot be read, which continues a sentence about the document.
    pub fn read(
        &self,
        format: DocumentFormat,
        bytes: Vec<u8>,
        address: Option<&str>,
        stop: &CancellationToken,
    ) -> Result<DocumentText, String> {
        let mut child = Command::new(&self.program)
            .arg(HELPER)
            .arg(format.word())
            .args(address)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("its helper cannot be started: {error}"))?;
        let exchange = Exchange::begin(&mut child, bytes);
        let answer = wait(&exchange.answer, stop);
        // Nothing is left running, whatever happened. A process that has ended is only collected.
        let _ = child.kill();
        let ended_as = child.wait();
        exchange.end();
        let status = ended_as.map_err(|error| format!("its helper was lost: {error}"))?;
        match serde_json::from_slice(&answer?) {
            Ok(HelperAnswer::Document(document)) => Ok(document),
            Ok(HelperAnswer::Refused(why)) => Err(why),
            Err(_) => Err(ended(status)),
        }
    }
}

impl DocumentReader for DocumentHelper {
    fn pdf_text(&self, bytes: Vec<u8>, stop: &CancellationToken) -> Result<String, String> {
        let read = self.read(DocumentFormat::Pdf, bytes, None, stop)?;
        let note = if read.is_cut {
            "\n[the rest is left out]"
        } else {
            ""
        };
        Ok(read.text + note)
    }
}

/// Writes the document and reads the answer, each on a thread, because the helper may do neither.
struct Exchange {
    answer: Receiver<Vec<u8>>,
    threads: Vec<JoinHandle<()>>,
}

impl Exchange {
    fn begin(child: &mut Child, bytes: Vec<u8>) -> Self {
        let (sender, answer) = channel();
        let mut threads = Vec::new();
        if let Some(mut input) = child.stdin.take() {
            // A helper that ends early reads no more; its answer says why.
            threads.extend(start(move || {
                let _ = input.write_all(&bytes);
            }));
        }
        if let Some(output) = child.stdout.take() {
            threads.extend(start(move || {
                let mut answer = Vec::new();
                let whole = output.take(MAX_ANSWER).read_to_end(&mut answer);
                let _ = sender.send(whole.map(|_| answer).unwrap_or_default());
            }));
        }
        Self { answer, threads }
    }

    /// Ends the threads of a process that has ended: its pipes are closed.
    fn end(self) {
        for thread in self.threads {
            let _ = thread.join();
        }
    }
}

/// Starts a thread. If that fails, the channel closes, which ends the wait for the answer.
fn start(work: impl FnOnce() + Send + 'static) -> Option<JoinHandle<()>> {
    std::thread::Builder::new().spawn(work).ok()
}

fn wait(answer: &Receiver<Vec<u8>>, stop: &CancellationToken) -> Result<Vec<u8>, String> {
    let until = Instant::now() + TIMEOUT;
    loop {
        match answer.recv_timeout(LOOK) {
            Ok(answer) => return Ok(answer),
            Err(RecvTimeoutError::Disconnected) => return Ok(Vec::new()),
            Err(RecvTimeoutError::Timeout) if stop.is_cancelled() => return Err("it was stopped".to_owned()),
            Err(RecvTimeoutError::Timeout) if Instant::now() >= until => {
                return Err(format!("reading it takes longer than {TIMEOUT:?}"));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// The reason why a helper ended without an answer.
fn ended(status: ExitStatus) -> String {
    if status.success() {
        return "its helper gave no whole answer".to_owned();
    }
    "it needs more memory or time than a document may, or is broken".to_owned()
}
