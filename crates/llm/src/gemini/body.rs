//! Decodes a complete answer of Gemini.

use agentx_types::EnvironmentEvent;
use serde_json::value::RawValue;

use super::state::GeminiState;
use crate::error;
use crate::stream_context::StreamContext;
use crate::stream_error::StreamError;

/// Decodes a complete answer that was not streamed.
///
/// # Errors
/// Returns an error if the body is an error, or not an answer of this API.
///
/// The body is one chunk, or a list of all chunks: a stream that was requested without `alt=sse`.
///
/// ```text
/// {"candidates":[{"content":{"parts":[{"text":"Hi"}]},"finishReason":"STOP"}],"usageMetadata":{…}}
/// ```
pub fn decode_body(
    context: StreamContext,
    body: &[u8],
    out: &mut Vec<EnvironmentEvent>,
) -> Result<(), StreamError> {
    let text = String::from_utf8_lossy(body);
    let chunks = if text.trim_start().starts_with('[') {
        let chunks: Vec<&RawValue> =
            serde_json::from_str(&text).map_err(|error| StreamError::malformed(error, &text))?;
        chunks.into_iter().map(RawValue::get).collect()
    } else {
        vec![&*text]
    };
    let mut state = GeminiState::new(context);
    for chunk in chunks {
        state.chunk(chunk, out)?;
    }
    if state.is_finished() {
        return state.close(out);
    }
    if error::Extracted::is_error(&text) {
        return Err(StreamError::Provider(error::from_stream(&text)));
    }
    Err(StreamError::malformed("no finishReason", &text))
}
