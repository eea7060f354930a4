//! Writes to stdout and stderr on threads, because a write to a pipe without a reader blocks forever.
//!
//! Once signals are handled, one thread per stream writes the output of all other threads. Callers do not
//! wait for single chunks: a model's answer has thousands of them, and a thread switch for each took a
//! quarter of a run's time. [`WAITING`] bounds the unwritten bytes. A failed write is reported by the next
//! one, or by [`finish`]. Output to one stream waits for earlier output to the other, so that both appear in
//! order on one terminal. Once the program was asked to stop, a wait lasts for [`PATIENCE`] at most and the
//! rest is not written.

use std::fs::File;
use std::io::{self, Write};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::terminal::stop_request;

/// Maximum time for a write after the program was asked to stop.
const PATIENCE: Duration = Duration::from_secs(2);
/// Maximum number of bytes that may wait to be written before the next write waits for them.
const WAITING: usize = 64 * 1024;

/// The state of standard output.
static OUT: Output = Output::new();
/// The state of standard error.
static ERR: Output = Output::new();

/// Returns a writer to standard output. It is not cut at line ends: text that is painted together is written
/// together.
pub(crate) fn standard_output() -> StreamWriter {
    StreamWriter::new(&OUT, OutputStream::Out)
}

/// Returns a writer to standard error.
pub(crate) fn standard_error() -> StreamWriter {
    StreamWriter::new(&ERR, OutputStream::Err)
}

/// Waits until everything is written to both streams, and says why something could not be.
///
/// # Errors
/// Returns the error of a write to standard output. An error of standard error could not be shown anywhere.
pub(crate) fn finish() -> io::Result<()> {
    let written = OUT.finish();
    let _ = ERR.finish();
    written
}

/// Wakes threads that wait for a write, so that they check again whether they may wait any longer.
pub(crate) fn wake_writers() {
    OUT.changed.notify_all();
    ERR.changed.notify_all();
}

#[derive(Clone, Copy)]
enum OutputStream {
    Out,
    Err,
}

/// Returns the stream with its own descriptor, because a write holds the lock of the standard library's
/// streams. If the descriptor was closed, returns the standard library's stream, which ignores the error.
fn own(stream: OutputStream) -> Box<dyn Write + Send> {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd as _;
        let own = match stream {
            OutputStream::Out => io::stdout().as_fd().try_clone_to_owned(),
            OutputStream::Err => io::stderr().as_fd().try_clone_to_owned(),
        };
        if let Ok(own) = own {
            return Box::new(File::from(own));
        }
    }
    match stream {
        OutputStream::Out => Box::new(io::stdout()),
        OutputStream::Err => Box::new(io::stderr()),
    }
}

/// The state that writers share with the thread that does the writing.
struct Output {
    work: Mutex<OutputWork>,
    changed: Condvar,
}

struct OutputWork {
    /// Whether the thread is running.
    is_started: bool,
    /// The bytes that wait to be written.
    waiting: Vec<u8>,
    /// Whether the thread is writing.
    is_busy: bool,
    /// Whether the caller stopped waiting for it; reset when it has written something.
    is_given_up: bool,
    /// The error of a failed write, for the next writer.
    error: Option<io::Error>,
}

impl Output {
    const fn new() -> Self {
        Self {
            work: Mutex::new(OutputWork {
                is_started: false,
                waiting: Vec::new(),
                is_busy: false,
                is_given_up: false,
                error: None,
            }),
            changed: Condvar::new(),
        }
    }

    fn work(&self) -> MutexGuard<'_, OutputWork> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes bytes to the thread. If too many bytes wait already, waits for room. If the wait is given up,
    /// the bytes are not written.
    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let (mut work, has_room) = self.wait(|work| work.waiting.len() < WAITING || work.error.is_some());
        if let Some(error) = work.error.take() {
            return Err(error);
        }
        if has_room {
            work.waiting.extend_from_slice(bytes);
            drop(work);
            self.changed.notify_all();
        }
        Ok(())
    }

    /// Waits until everything is written, or until waiting is over.
    fn finish(&self) -> io::Result<()> {
        let (mut work, _) = self.wait(OutputWork::is_idle);
        work.error.take().map_or(Ok(()), Err)
    }

    /// Waits for a condition. Returns `false` if the program was asked to stop and the condition did not come
    /// true in time.
    fn wait(&self, is_so: impl Fn(&OutputWork) -> bool) -> (MutexGuard<'_, OutputWork>, bool) {
        let mut work = self.work();
        let mut until = None;
        while !is_so(&work) {
            if !stop_request::is_pending() {
                until = None;
                work = self.changed.wait(work).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let now = Instant::now();
            let left = until.get_or_insert(now + PATIENCE).saturating_duration_since(now);
            if work.is_given_up || left.is_zero() {
                work.is_given_up = true;
                return (work, false);
            }
            let waited = self.changed.wait_timeout(work, left);
            work = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        (work, true)
    }

    /// Writes the waiting bytes for as long as the process lives.
    fn serve(&self, mut stream: Box<dyn Write + Send>) {
        let mut bytes = Vec::new();
        loop {
            let mut work = self.work();
            while work.waiting.is_empty() {
                work = self.changed.wait(work).unwrap_or_else(PoisonError::into_inner);
            }
            std::mem::swap(&mut bytes, &mut work.waiting);
            work.is_busy = true;
            drop(work);
            let result = stream.write_all(&bytes).and_then(|()| stream.flush());
            bytes.clear();
            let mut work = self.work();
            (work.is_busy, work.is_given_up) = (false, false);
            work.error = result.err().or_else(|| work.error.take());
            drop(work);
            self.changed.notify_all();
        }
    }
}

impl OutputWork {
    /// Returns whether everything is written.
    fn is_idle(&self) -> bool {
        self.waiting.is_empty() && !self.is_busy
    }
}

/// A writer of standard output or standard error.
pub(crate) struct StreamWriter {
    output: &'static Output,
    kind: OutputStream,
    /// The stream, until the thread has it.
    stream: Option<Box<dyn Write + Send>>,
}

impl StreamWriter {
    fn new(output: &'static Output, kind: OutputStream) -> Self {
        Self {
            output,
            kind,
            stream: Some(own(kind)),
        }
    }

    /// Lets a thread write from now on. If no thread can be started, this one continues.
    fn hand_over(&mut self) {
        let mut work = self.output.work();
        let Some(stream) = self.stream.take().filter(|_| !work.is_started) else {
            return;
        };
        let output = self.output;
        let started = std::thread::Builder::new()
            .name("output".into())
            .spawn(move || output.serve(stream));
        work.is_started = started.is_ok();
        if started.is_err() {
            self.stream = Some(own(self.kind));
        }
    }
}

impl Write for StreamWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if stop_request::are_signals_heard() {
            self.hand_over();
        }
        match &mut self.stream {
            Some(stream) => stream.write(bytes),
            None => {
                let other = match self.kind {
                    OutputStream::Out => &ERR,
                    OutputStream::Err => &OUT,
                };
                let _ = other.wait(OutputWork::is_idle);
                self.output.write(bytes).map(|()| bytes.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.as_mut().map_or(Ok(()), |stream| stream.flush())
    }
}
