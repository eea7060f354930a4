//! Writing to a terminal or a pipe that perhaps nobody reads: such a write lasts for ever, and with it would everything else of the
//! program, also its end.
//!
//! From the moment on when signals are listened for, a thread of its own writes what the others give it. They wait for it, as if
//! they wrote themselves, until the program was told to stop; then they wait for [`PATIENCE`] and leave the rest unwritten.

use std::fs::File;
use std::io::{self, Write};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::signals;

/// How long a write may take when the program was told to stop.
const PATIENCE: Duration = Duration::from_secs(2);

/// Standard output.
static OUT: Output = Output::new();
/// Standard error.
static ERR: Output = Output::new();

/// Standard output. It is not cut at line ends: what is painted together is written together.
pub(crate) fn standard_output() -> Writer {
    Writer::new(&OUT, Stream::Out)
}

/// Standard error.
pub(crate) fn standard_error() -> Writer {
    Writer::new(&ERR, Stream::Err)
}

/// Whoever waits for a write looks again whether it may wait any longer.
pub(crate) fn told_to_stop() {
    OUT.changed.notify_all();
    ERR.changed.notify_all();
}

#[derive(Clone, Copy)]
enum Stream {
    Out,
    Err,
}

/// The stream under a descriptor of its own, because those of the standard library have a lock that a write keeps. Where it was closed
/// there is nothing to write to, which is for the standard library to swallow.
fn own(stream: Stream) -> Box<dyn Write + Send> {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd as _;
        let own = match stream {
            Stream::Out => io::stdout().as_fd().try_clone_to_owned(),
            Stream::Err => io::stderr().as_fd().try_clone_to_owned(),
        };
        if let Ok(own) = own {
            return Box::new(File::from(own));
        }
    }
    match stream {
        Stream::Out => Box::new(io::stdout()),
        Stream::Err => Box::new(io::stderr()),
    }
}

/// What stands between those who write and the thread that does it.
struct Output {
    work: Mutex<Work>,
    changed: Condvar,
}

#[derive(Default)]
struct Work {
    /// Whether the thread runs.
    is_started: bool,
    /// What it is to write.
    given: Option<Vec<u8>>,
    /// Whether it writes.
    is_busy: bool,
    /// How many writes it was given, and how many it has done.
    begun: u64,
    done: u64,
    /// What came of the last one, for whoever still waits.
    result: Option<io::Result<()>>,
}

impl Output {
    const fn new() -> Self {
        Self {
            work: Mutex::new(Work {
                is_started: false,
                given: None,
                is_busy: false,
                begun: 0,
                done: 0,
                result: None,
            }),
            changed: Condvar::new(),
        }
    }

    fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the thread something to write, and waits until it has, or until waiting is over; then it is left unwritten.
    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let mut work = self.work();
        while work.is_busy {
            // An earlier write was given up: this one would not be read either.
            if signals::is_told_to_stop() {
                return Ok(());
            }
            work = self.changed.wait(work).unwrap_or_else(PoisonError::into_inner);
        }
        work.result = None;
        work.given = Some(bytes.to_vec());
        work.is_busy = true;
        work.begun += 1;
        let own = work.begun;
        self.changed.notify_all();
        let mut until = None;
        loop {
            if work.done >= own {
                return work.result.take().unwrap_or(Ok(()));
            }
            if !signals::is_told_to_stop() {
                until = None;
                work = self.changed.wait(work).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let now = Instant::now();
            let left = until.get_or_insert(now + PATIENCE).saturating_duration_since(now);
            if left.is_zero() {
                return Ok(());
            }
            let waited = self.changed.wait_timeout(work, left);
            work = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Writes what it is given, for as long as the process lives.
    fn serve(&self, mut stream: Box<dyn Write + Send>) {
        loop {
            let mut work = self.work();
            let bytes = loop {
                match work.given.take() {
                    Some(bytes) => break bytes,
                    None => work = self.changed.wait(work).unwrap_or_else(PoisonError::into_inner),
                }
            };
            drop(work);
            let result = stream.write_all(&bytes).and_then(|()| stream.flush());
            let mut work = self.work();
            (work.result, work.is_busy) = (Some(result), false);
            work.done += 1;
            drop(work);
            self.changed.notify_all();
        }
    }
}

/// One of the two streams.
pub(crate) struct Writer {
    output: &'static Output,
    kind: Stream,
    /// Until the thread has it.
    stream: Option<Box<dyn Write + Send>>,
}

impl Writer {
    fn new(output: &'static Output, kind: Stream) -> Self {
        Self {
            output,
            kind,
            stream: Some(own(kind)),
        }
    }

    /// Lets a thread write from here on. Where there can be none, this one goes on.
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

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if signals::are_heard() {
            self.hand_over();
        }
        match &mut self.stream {
            Some(stream) => stream.write(bytes),
            None => self.output.write(bytes).map(|()| bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.as_mut().map_or(Ok(()), |stream| stream.flush())
    }
}
