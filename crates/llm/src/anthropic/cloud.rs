//! The beginning of a body: Anthropic itself and the clouds that serve its models want the model, the version
//! and the stream in different places.
//!
//! | | model | version | stream | betas |
//! | --- | --- | --- | --- | --- |
//! | Anthropic | in the body | a header | in the body | a header |
//! | Amazon Bedrock | in the path | in the body | in the path | in the body |
//! | Vertex AI | in the path | in the body | in the body and the path | a header |
//!
//! So do Anthropic's own clients: <https://github.com/anthropics/anthropic-sdk-python>,
//! `src/anthropic/lib/bedrock/_client.py` and `src/anthropic/lib/vertex/_client.py`.

use agentx_types::{Api, ModelRequest};

use super::thinking;
use crate::json::{BorrowedJson, object};
use crate::wire_options::anthropic::AnthropicOptions;

/// The version of the Messages API at Amazon Bedrock.
const BEDROCK: &str = "bedrock-2023-05-31";

/// The version of the Messages API at Vertex AI.
const VERTEX: &str = "vertex-2023-10-16";

/// Returns a body with all that depends on the place, and `max_tokens`.
pub(super) fn head<'a>(
    request: &'a ModelRequest,
    options: &AnthropicOptions,
    max_tokens: u64,
) -> BorrowedJson<'a> {
    match request.model.api {
        Api::Bedrock => {
            let mut body = object! {"anthropic_version": BEDROCK, "max_tokens": max_tokens};
            if let Some(beta) = thinking::beta(request, options) {
                body.set("anthropic_beta", vec![BorrowedJson::from(beta)]);
            }
            body
        }
        Api::VertexAnthropic => {
            object! {"anthropic_version": VERTEX, "max_tokens": max_tokens, "stream": true}
        }
        _ => object! {"model": &request.model.id, "max_tokens": max_tokens, "stream": true},
    }
}
