//! Anthropic Messages: `POST /v1/messages`, version 2023-06-01.
//!
//! # Requests
//!
//! | in the conversation | in the body |
//! | --- | --- |
//! | system prompts | `system`: one text block each |
//! | messages of a person, results of tools | `user` turns with blocks `text`, `image`, `document`, `tool_result` |
//! | answers of the model | `assistant` turns with blocks `thinking`, `text`, `tool_use`, and the provider's own blocks |
//! | tools | `tools`: `name`, `description`, `input_schema` |
//!
//! The API requires alternating turns that begin with the user, a result for each call directly after it, and
//! no empty text. Neighbouring messages of one side are therefore joined into one turn, and blank texts left
//! out. `cache.rs` places the breakpoints of the prompt cache, and `thinking.rs` decides about reasoning.
//!
//! ```
//! use agentx_llm::NoBlobs;
//! use agentx_llm::anthropic::{AnthropicOptions, build};
//! use agentx_types::ModelRequest;
//!
//! # fn example(request: &ModelRequest) {
//! let body = build(request, &AnthropicOptions::default(), &NoBlobs);
//! let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
//! assert_eq!(body["stream"], true);
//! # }
//! ```
//!
//! # Streams
//!
//! ```text
//! event: message_start        data: {"type":"message_start","message":{"id":"msg_1","model":"m","usage":{…}}}
//! event: content_block_start  data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}
//! event: content_block_delta  data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}
//! event: content_block_stop   data: {"type":"content_block_stop","index":0}
//! event: message_delta        data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{…}}
//! event: message_stop         data: {"type":"message_stop"}
//! ```
//!
//! `message_start` becomes `stream_start`, `message_delta` becomes `usage`, and `message_stop` becomes
//! `stream_end`. The blocks in between become chunks, tool calls and provider parts; see `block.rs`. Unknown
//! events, such as `ping`, are ignored.

mod block;
mod body;
mod cache;
mod cloud;
mod finish;
mod message_turn;
mod request;
mod stream;
mod thinking;
mod wire;

pub use crate::wire_options::anthropic::{AnthropicOptions, CacheTtl, ThinkingMode};
pub use body::decode_body;
pub use request::build;
pub(crate) use stream::MessageState;
pub use thinking::beta;
pub(crate) use thinking::{SMALLEST_BUDGET, mode as thinking_mode};

/// The name under which data of this API is kept in [`ProviderData`](agentx_types::ProviderData).
pub const API: &str = "anthropic";

/// The value of the `anthropic-version` header, with which every request of this API is sent.
pub const VERSION: &str = "2023-06-01";
