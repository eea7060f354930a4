//! Decodes a complete answer of Responses.

use agentx_types::EnvironmentEvent;

use super::stream::ResponseState;
use super::wire::ResponseWire;
use crate::error;
use crate::stream_context::StreamContext;
use crate::stream_error::StreamError;

/// Decodes a complete answer that was not streamed, and adds its events to `out`: the same ones as a stream
/// gives.
///
/// `output` has the answer:
///
/// ```text
/// {"id":"resp_1","model":"m","status":"completed","output":[{"type":"message","content":[…]}],"usage":{…}}
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
    let response = ResponseWire::parse(&text)?;
    if response.output.is_none() && response.error().is_none() {
        return if error::Extracted::is_error(&text) {
            Err(StreamError::Provider(error::from_stream(&text)))
        } else {
            Err(StreamError::malformed("no output", &text))
        };
    }
    ResponseState::new(context).close(&response, out)
}
