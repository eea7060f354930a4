//! Reads the output of a command as it comes. Standard output and standard error share a pipe, because two
//! pipes lose the order in which lines were written. Every step is cancel-safe, so that reading continues
//! while other events of the command are awaited.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use agentx_types::OutputChannel;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::time::Instant;

use super::background_job::BackgroundJob;
use super::capture::Capture;
use super::events::OutputEvents;
use crate::text::Decoder;

/// The destination of output in addition to the events.
pub(super) enum OutputDestination {
    Nothing,
    Call(Capture),
    Job(Arc<BackgroundJob>),
}

impl OutputDestination {
    fn push(&mut self, output: &str) {
        match self {
            Self::Nothing => {}
            Self::Call(capture) => capture.push(output),
            Self::Job(job) => job.push(output),
        }
    }
}

/// The reading end of the pipe.
struct OutputPipe {
    reader: Option<Receiver>,
    buffer: Box<[u8]>,
    decoder: Decoder,
}

impl OutputPipe {
    /// The capacity of a pipe.
    const BUFFER: usize = 64 << 10;

    fn new(reader: Receiver) -> Self {
        let buffer = vec![0; Self::BUFFER].into_boxed_slice();
        Self {
            reader: Some(reader),
            buffer,
            decoder: Decoder::default(),
        }
    }

    /// Reads more bytes and returns their number; never resolves after the end.
    async fn read(&mut self) -> usize {
        match &mut self.reader {
            // A pipe that cannot be read is treated as closed.
            Some(reader) => reader.read(&mut self.buffer).await.unwrap_or(0),
            None => std::future::pending().await,
        }
    }

    /// Decodes the bytes that came; none means that the pipe was closed.
    fn take(&mut self, bytes: usize, text: &mut String) {
        text.clear();
        if bytes == 0 {
            self.reader = None;
            self.decoder.finish(text);
        } else {
            self.decoder.push(&self.buffer[..bytes], text);
        }
    }
}

/// Reads both channels of a command.
pub(super) struct OutputPump {
    pipe: OutputPipe,
    text: String,
    total: u64,
    record: OutputDestination,
    events: OutputEvents,
}

impl OutputPump {
    pub(super) fn new(output: Receiver, record: OutputDestination, events: OutputEvents) -> Self {
        Self {
            pipe: OutputPipe::new(output),
            text: String::new(),
            total: 0,
            record,
            events,
        }
    }

    /// Redirects the output from now on, without further events. Returns the earlier destination.
    pub(super) fn redirect(&mut self, record: OutputDestination) -> OutputDestination {
        self.events = OutputEvents::none();
        std::mem::replace(&mut self.record, record)
    }

    /// Returns whether both channels are closed.
    pub(super) fn is_at_end(&self) -> bool {
        self.pipe.reader.is_none()
    }

    /// Reads until `until` is done; `None` if more than `most` bytes came before.
    pub(super) async fn drive<F: Future>(&mut self, most: u64, until: F) -> Option<F::Output> {
        let mut until = pin!(until);
        while self.total <= most {
            tokio::select! {
                biased;
                done = &mut until => return Some(done),
                () = self.step() => {}
            }
        }
        None
    }

    /// Reads until both channels are closed or more than `most` bytes have come.
    pub(super) async fn exhaust(&mut self, most: u64) {
        while !self.is_at_end() && self.total <= most {
            self.step().await;
        }
    }

    /// Reads the rest for a bounded time; then emits everything that is collected.
    pub(super) async fn drain(&mut self, most: u64, time: Duration) {
        // Later output belongs to processes that were left running.
        let _ = tokio::time::timeout(time, self.exhaust(most)).await;
        self.events.flush().await;
    }

    /// Takes the next piece of output, or emits output that has waited long enough.
    async fn step(&mut self) {
        if self.events.is_full() {
            self.events.flush().await;
        }
        let due = self.events.due();
        tokio::select! {
            biased;
            () = sleep_until_due(due) => self.events.flush().await,
            bytes = self.pipe.read() => {
                self.pipe.take(bytes, &mut self.text);
                self.keep(bytes);
            }
        }
    }

    fn keep(&mut self, bytes: usize) {
        self.total += bytes as u64;
        self.record.push(&self.text);
        self.events.push(OutputChannel::Stdout, &self.text);
    }
}

async fn sleep_until_due(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}
