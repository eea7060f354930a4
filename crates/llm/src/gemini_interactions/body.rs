//! Decodes a complete answer of the Interactions API.

use agentx_types::EnvironmentEvent;

use super::stream::InteractionState;
use super::wire::{InteractionWire, parse};
use crate::error;
use crate::stream_context::StreamContext;
use crate::stream_error::StreamError;

/// Decodes a complete answer that was not streamed.
///
/// # Errors
/// Returns an error if the body is an error, or not an answer of this API.
///
/// ```text
/// {"id":"v1_1","status":"completed","steps":[{"type":"model_output","content":[…]}],"usage":{…}}
/// ```
pub fn decode_body(
    context: StreamContext,
    body: &[u8],
    out: &mut Vec<EnvironmentEvent>,
) -> Result<(), StreamError> {
    let text = String::from_utf8_lossy(body);
    let is_list = text.trim_start().starts_with('[');
    let interaction: InteractionWire<'_> = if is_list {
        InteractionWire::default()
    } else {
        parse(&text)?
    };
    if interaction.status.is_none() {
        return if is_list || error::Extracted::is_error(&text) {
            Err(StreamError::Provider(error::from_stream(&text)))
        } else {
            Err(StreamError::malformed("no status", &text))
        };
    }
    InteractionState::new(context).close(&interaction, out)
}
