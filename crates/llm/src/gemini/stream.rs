//! Decodes the answer of Gemini as it streams.

use agentx_types::EnvironmentEvent;

use super::state::GeminiState;
use crate::event_stream::EventStream;
use crate::stream::{StreamContext, StreamError};

/// Decodes one stream of Gemini; see [`StreamDecoder`](crate::StreamDecoder) for the order of calls.
///
/// The answer ends with the bytes, and is complete if a `finishReason` came before: no event is marked as the
/// last.
///
/// ```
/// use agentx_llm::StreamContext;
/// use agentx_llm::gemini::GeminiDecoder;
/// use agentx_types::EnvironmentEvent;
///
/// let mut decoder = GeminiDecoder::new(StreamContext::new("msg_1", 1));
/// let mut events = Vec::new();
/// let hi = br#"data: {"candidates":[{"content":{"parts":[{"text":"Hi"}]}}],"modelVersion":"m"}"#;
/// let end = br#"data: {"candidates":[{"finishReason":"STOP"}]}"#;
/// for event in [&hi[..], &end[..]] {
///     decoder.push(event, &mut events)?;
///     decoder.push(b"\r\n\r\n", &mut events)?;
/// }
/// assert!(!decoder.is_done(), "more may come");
/// decoder.finish(&mut events)?;
/// assert!(matches!(events.last(), Some(EnvironmentEvent::StreamEnd(_))));
/// # Ok::<(), agentx_llm::StreamError>(())
/// ```
#[derive(Clone, Debug)]
pub struct GeminiDecoder(EventStream<GeminiState>);

impl GeminiDecoder {
    /// Returns a decoder for one stream.
    pub fn new(context: StreamContext) -> Self {
        Self(EventStream::new(GeminiState::new(context)))
    }

    /// Decodes the next bytes of the body and appends the events to `out`.
    ///
    /// The bytes may be cut anywhere, also inside a character.
    ///
    /// # Errors
    /// Returns [`StreamError::Provider`] if the server reports an error or blocked the prompt,
    /// [`StreamError::Malformed`] if an event is not JSON, and the errors of the limits: the length of a
    /// line, of an event and of the arguments of tool calls. After an error, `out` has everything that was
    /// decoded before it, and the decoder ignores further bytes.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<EnvironmentEvent>) -> Result<(), StreamError> {
        self.0.push(bytes, out)
    }

    /// Ends the stream: the server has closed the connection.
    ///
    /// # Errors
    /// Returns an error if the answer is not complete, with a description of the first bytes if they were no
    /// event stream, or if the model could not complete a call.
    pub fn finish(&mut self, out: &mut Vec<EnvironmentEvent>) -> Result<(), StreamError> {
        self.0.finish(out)
    }

    /// Returns whether the answer is complete: `stream_end` is among the events.
    pub fn is_done(&self) -> bool {
        self.0.is_done()
    }

    /// Returns whether the answer has its stop reason: at most its usage follows, and
    /// [`finish`](Self::finish) completes it.
    pub fn has_stop_reason(&self) -> bool {
        self.0.has_stop_reason()
    }
}
