//! Output as events: collected for a moment, cut to a size, and limited to what a session should hold.

use std::collections::VecDeque;
use std::time::Duration;

use agentx_runtime::ToolOutputSink;
use agentx_types::OutputChannel;
use tokio::time::Instant;

use crate::bash::options::BashOptions;
use crate::text;

/// Turns output into events.
pub(super) struct OutputEvents {
    sink: Option<ToolOutputSink>,
    waiting: VecDeque<(OutputChannel, String)>,
    due: Option<Instant>,
    /// Bytes that may still become events.
    room: usize,
    chunk_bytes: usize,
    chunk_delay: Duration,
}

impl OutputEvents {
    pub(super) fn new(sink: ToolOutputSink, options: &BashOptions) -> Self {
        Self {
            sink: Some(sink),
            waiting: VecDeque::new(),
            due: None,
            room: options.event_bytes,
            chunk_bytes: options.chunk_bytes.max(4),
            chunk_delay: options.chunk_delay,
        }
    }

    /// Creates the sink of a job: no output may follow the result of the call that started it.
    pub(super) fn none() -> Self {
        Self {
            sink: None,
            waiting: VecDeque::new(),
            due: None,
            room: 0,
            chunk_bytes: 4,
            chunk_delay: Duration::ZERO,
        }
    }

    /// Takes output.
    pub(super) fn push(&mut self, channel: OutputChannel, output: &str) {
        if self.sink.is_none() || self.room == 0 || output.is_empty() {
            return;
        }
        let mut rest = &output[..text::floor_char(output, self.room)];
        while !rest.is_empty() {
            let most = self.chunk_bytes;
            let chunk = self.open_chunk(channel);
            let (now, later) = rest.split_at(text::floor_char(rest, most - chunk.len()));
            chunk.push_str(now);
            self.room -= now.len();
            rest = later;
            if now.is_empty() {
                // The next character does not fit into the rest of this chunk.
                self.waiting.push_back((channel, String::new()));
            }
        }
        if self.room < 4 {
            self.room = 0;
            let is_open = |(_, text): &(_, String)| !text.ends_with('\n');
            let begins = if self.waiting.back().is_some_and(is_open) {
                "\n"
            } else {
                ""
            };
            let note = format!("{begins}[there is more output; it is kept, and not shown while it runs]\n");
            self.waiting.push_back((OutputChannel::Progress, note));
        }
        self.due.get_or_insert_with(|| Instant::now() + self.chunk_delay);
    }

    /// Returns whether a chunk is full, so that waiting for more makes no sense.
    pub(super) fn is_full(&self) -> bool {
        self.waiting.len() > 1
            || self
                .waiting
                .front()
                .is_some_and(|(_, text)| text.len() >= self.chunk_bytes)
    }

    /// Returns when the collected output has to become an event.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Emits the collected output. Cancel-safe: output that was not emitted stays collected.
    pub(super) async fn flush(&mut self) {
        let Some(sink) = &self.sink else { return };
        while let Some((channel, text)) = self.waiting.front() {
            sink.write(*channel, text.clone()).await;
            self.waiting.pop_front();
        }
        self.due = None;
    }

    /// Returns the chunk that output of this channel joins.
    fn open_chunk(&mut self, channel: OutputChannel) -> &mut String {
        let fits = |(last, text): &(OutputChannel, String)| *last == channel && text.len() < self.chunk_bytes;
        if !self.waiting.back().is_some_and(fits) {
            self.waiting.push_back((channel, String::new()));
        }
        // A line was pushed just now if there was none.
        let last = self.waiting.len() - 1;
        &mut self.waiting[last].1
    }
}
