//! An answer that comes as server-sent events: the part that all protocols share, from the bytes to the end
//! of the answer. A protocol is an [`EventAnswer`].

use agentx_types::EnvironmentEvent;

use crate::emitter::Emitter;
use crate::error::{self, Extracted};
use crate::sse::SseDecoder;
use crate::stream_error::StreamError;
use crate::stream_head::Head;

/// The state of an answer that is read event by event.
pub(crate) trait EventAnswer {
    /// Returns the emitter of the answer.
    fn emitter(&self) -> &Emitter;

    /// Decodes one event: its name, which may be empty, and its data.
    fn event(&mut self, name: &str, data: &str, out: &mut Vec<EnvironmentEvent>) -> Result<(), StreamError>;

    /// Returns whether the answer has its stop reason, so that only its usage or a mark of its end may
    /// follow.
    fn has_stop_reason(&self) -> bool {
        false
    }

    /// Completes an answer whose bytes have ended, if it is complete.
    ///
    /// Returns an error if the answer reports a failure.
    fn complete(&mut self, _out: &mut Vec<EnvironmentEvent>) -> Result<(), StreamError> {
        Ok(())
    }

    /// Abandons the answer: emits the events that were held back, and nothing after that.
    fn give_up(&mut self, out: &mut Vec<EnvironmentEvent>);
}

/// A stream of events that is decoded as its bytes come.
#[derive(Clone, Debug)]
pub(crate) struct EventStream<A> {
    sse: SseDecoder,
    head: Head,
    tail: Tail,
    answer: A,
}

impl<A: EventAnswer> EventStream<A> {
    pub(crate) fn new(answer: A) -> Self {
        Self {
            sse: SseDecoder::default(),
            head: Head::default(),
            tail: Tail::default(),
            answer,
        }
    }

    /// Decodes the next bytes. After the end of the answer, and after an error, further bytes are ignored.
    pub(crate) fn push(&mut self, bytes: &[u8], out: &mut Vec<EnvironmentEvent>) -> Result<(), StreamError> {
        if self.is_done() {
            return Ok(());
        }
        self.head.note(bytes);
        self.tail.note(bytes);
        let (answer, head) = (&mut self.answer, &mut self.head);
        let result = self.sse.push(bytes, |event| {
            head.event();
            answer.event(event.event, event.data, out)
        });
        if self.is_done() {
            // Errors after the end do not matter.
            return Ok(());
        }
        result.inspect_err(|_| self.answer.give_up(out))
    }

    /// Ends the stream: the server has closed the connection.
    pub(crate) fn finish(&mut self, out: &mut Vec<EnvironmentEvent>) -> Result<(), StreamError> {
        if self.is_done() {
            return Ok(());
        }
        let (answer, head) = (&mut self.answer, &mut self.head);
        let result = self.sse.finish(|event| {
            head.event();
            // The end of the bytes may have cut this event: then it never came.
            match answer.event(event.event, event.data, out) {
                Err(StreamError::Malformed { .. }) => Ok(()),
                result => result,
            }
        });
        let result = result.and_then(|()| self.answer.complete(out));
        if self.is_done() {
            return result;
        }
        self.answer.give_up(out);
        let broken = || self.tail.error().unwrap_or_else(|| self.head.broken());
        result
            .and_then(|()| self.answer.emitter().check())
            .and_then(|()| Err(broken()))
    }

    /// Returns whether the answer has its stop reason.
    pub(crate) fn has_stop_reason(&self) -> bool {
        self.is_done() || self.answer.has_stop_reason()
    }

    /// Returns whether nothing more follows: `stream_end` was emitted, or the stream was given up.
    pub(crate) fn is_done(&self) -> bool {
        self.answer.emitter().ended()
    }
}

/// The last bytes of a stream, for an error that was written to it without the form of an event: Gemini ends
/// a begun answer with the lines `{"error": {"code": 503, …}}`
/// (<https://github.com/theopenco/llmgateway/issues/3616>).
#[derive(Clone, Debug, Default)]
struct Tail(Vec<u8>);

impl Tail {
    const KEPT: usize = 8 * 1024;

    fn note(&mut self, bytes: &[u8]) {
        let bytes = &bytes[bytes.len().saturating_sub(Self::KEPT)..];
        let room = Self::KEPT - bytes.len();
        self.0.drain(..self.0.len().saturating_sub(room));
        self.0.extend_from_slice(bytes);
    }

    /// Returns the error that the last lines are.
    fn error(&self) -> Option<StreamError> {
        let text = String::from_utf8_lossy(&self.0);
        let starts = text.match_indices('{').map(|(at, _)| at);
        let mut begun = starts.filter(|at| *at == 0 || text[..*at].ends_with('\n'));
        let error = begun.find_map(|at| Some(text[at..].trim()).filter(|text| Extracted::is_error(text)))?;
        Some(StreamError::Provider(error::from_stream(error)))
    }
}
