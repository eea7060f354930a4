//! Decodes a complete answer of Chat Completions.

use agentx_types::EnvironmentEvent;

use super::stream::CompletionState;
use super::wire::CompletionChunk;
use crate::error;
use crate::event_stream::EventAnswer as _;
use crate::stream_context::StreamContext;
use crate::stream_error::StreamError;

/// Decodes a complete answer that was not streamed, and adds its events to `out`: the same ones as a stream
/// gives.
///
/// `choices[0].message` has the answer:
///
/// ```text
/// {"id":"c1","model":"m","choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}],"usage":{…}}
/// ```
///
/// # Errors
/// Returns [`StreamError::Provider`] if the body is an error of the provider, and [`StreamError::Malformed`]
/// if it is not an answer of this API.
pub fn decode_body(
    context: StreamContext,
    body: &[u8],
    out: &mut Vec<EnvironmentEvent>,
) -> Result<(), StreamError> {
    let text = String::from_utf8_lossy(body);
    let mut chunk = CompletionChunk::parse(&text)?;
    if let Some(error) = chunk.error() {
        return Err(error);
    }
    let Some(message) = chunk
        .choices
        .as_mut()
        .and_then(|choices| choices.first_mut()?.message.take())
    else {
        return if error::Extracted::is_error(&text) {
            Err(StreamError::Provider(error::from_stream(&text)))
        } else {
            Err(StreamError::malformed("no message", &text))
        };
    };
    let mut answer = CompletionState::new(context);
    answer.begin(&chunk, out);
    answer.delta(message, out);
    answer.note(&chunk);
    let closed = answer.close(out);
    closed.inspect_err(|_| answer.give_up(out))
}
