//! Decodes a complete answer of the Messages API.

use agentx_types::EnvironmentEvent;

use super::stream::MessageState;
use super::wire::{BlockDelta, MessageBody, MessageStart};
use crate::error;
use crate::stream_context::StreamContext;
use crate::stream_error::StreamError;

/// Decodes a complete answer that was not streamed, and adds its events to `out`: the same ones as a stream
/// gives.
///
/// The body is the message itself, with the blocks in `content`:
///
/// ```text
/// {"type":"message","id":"msg_1","model":"m","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn"}
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
    let body: MessageBody<'_> =
        serde_json::from_str(&text).map_err(|error| StreamError::malformed(&error, &text))?;
    if body.kind.as_deref() == Some("error") {
        return Err(StreamError::Provider(error::from_stream(&text)));
    }
    let Some(content) = body.content else {
        return Err(StreamError::malformed("no content", &text));
    };
    let mut answer = MessageState::new(context);
    answer.start(
        &MessageStart {
            id: body.id,
            model: body.model,
            usage: None,
        },
        out,
    );
    for block in content {
        answer.block_start(block, out);
        answer.block_stop(out);
    }
    let delta = BlockDelta {
        stop_reason: body.stop_reason,
        stop_sequence: body.stop_sequence,
        stop_details: body.stop_details,
        ..BlockDelta::default()
    };
    answer.message_delta(&delta, body.usage, out);
    answer.stop(out);
    answer.emitter.check()
}
