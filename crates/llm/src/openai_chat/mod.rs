//! OpenAI Chat Completions: `POST /chat/completions`, as at OpenAI and at the servers compatible with it.
//!
//! # Requests
//!
//! | in the conversation | in the body |
//! | --- | --- |
//! | system prompts | one `system` message, joined by blank lines |
//! | text of a person | a `user` message with a text |
//! | text with media | a `user` message with a list of parts: `text`, `image_url`, `input_audio`, `file` |
//! | answer of the model | an `assistant` message: `content`, `tool_calls`, and its reasoning if the server wants it |
//! | result of a tool | a `tool` message with `tool_call_id` and a text |
//! | media in a result | a `user` message after the results, because `tool` messages take only text |
//!
//! Requests are stable: the same conversation gives the same bytes, so that providers find the beginning of a
//! request in their cache. [`ChatOptions`] describes how a server differs from OpenAI.
//!
//! ```
//! use agentx_llm::NoBlobs;
//! use agentx_llm::openai_chat::{ChatOptions, build};
//! use agentx_types::ModelRequest;
//!
//! # fn example(request: &ModelRequest) {
//! let body = build(request, &ChatOptions::default(), &NoBlobs);
//! let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
//! assert_eq!(body["stream"], true);
//! # }
//! ```
//!
//! # Streams
//!
//! A stream is a sequence of server-sent events, each with one `chat.completion.chunk`:
//!
//! ```text
//! data: {"id":"c1","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"Hi"}}]}
//! data: {"id":"c1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"t1","function":{"name":"read"}}]}}]}
//! data: {"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}
//! data: {"id":"c1","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4}}
//! data: [DONE]
//! ```
//!
//! | in a chunk | becomes |
//! | --- | --- |
//! | the first `id` and `model` | `stream_start` |
//! | `delta.content`, `delta.refusal` | `text_chunk` |
//! | `delta.reasoning_content`, `delta.reasoning`, text between `<think>` tags | `thinking_chunk` |
//! | `delta.reasoning_details` | one `provider_part`, at the end |
//! | `delta.tool_calls`, `delta.function_call` | `tool_call_start`, `tool_call_chunk`, and `tool_call` at the end |
//! | `usage`, `x_groq.usage` | `usage`, at the end |
//! | `finish_reason` with `[DONE]` or the end of the bytes | `stream_end` |
//!
//! Only the choice with index 0 is read, because a request never asks for more. Unknown fields are ignored.

mod alternating_roles;
mod amounts;
mod body;
mod cache;
mod claude_names;
mod cost;
mod finish;
mod media;
mod reasoning;
mod request;
mod sent_reasoning;
mod signature;
mod stream;
mod think_tags;
mod tools;
mod usage;
mod wire;

pub use crate::wire_options::chat::{
    ChatOptions, Effort, EffortWithTools, MaxTokensField, ReasoningEcho, ThinkingParam,
};
pub use body::decode_body;
pub(crate) use cache::key as cache_key;
pub(crate) use claude_names::is_claude;
pub use request::build;
pub(crate) use stream::CompletionState;
pub(crate) use usage::usage;
pub(crate) use wire::UsageWire;

/// The name under which data of this API is kept in [`ProviderData`](agentx_types::ProviderData).
pub const API: &str = "openai-chat";
/// The data that Gemini attaches to a tool call and needs back with it
/// (<https://ai.google.dev/gemini-api/docs/thought-signatures>).
const EXTRA: &str = "extra_content";
