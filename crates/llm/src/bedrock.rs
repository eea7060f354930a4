//! Amazon Bedrock, sans-IO: the signature of a request ([`sign`]), its body ([`body`]), and its answer
//! ([`BedrockDecoder`]). Anthropic's models speak their own protocol inside the frames of AWS.

mod answer;
mod frames;
mod sigv4;

use serde_json::{Map, Value};

pub use answer::BedrockDecoder;
pub use frames::{EventStreamFrame, FrameDecoder, FrameError, FrameKind};
pub use sigv4::{AwsCredentials, SignedHeaders, SigningRequest, invoke_path, sign};

/// The version of the Messages API at Bedrock: `anthropic_version` in the body.
pub const VERSION: &str = "bedrock-2023-05-31";

/// Returns the body for Bedrock that is made of a body of the Messages API: the model is in the path, the stream in
/// its last segment, and the version in the body. `None` if it is no JSON object.
pub fn body(messages: &[u8]) -> Option<Vec<u8>> {
    let mut body: Map<String, Value> = serde_json::from_slice(messages).ok()?;
    body.shift_remove("model");
    body.shift_remove("stream");
    body.insert("anthropic_version".to_owned(), Value::from(VERSION));
    serde_json::to_vec(&body).ok()
}
