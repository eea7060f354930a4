//! Gemini: `POST /v1beta/models/MODEL:streamGenerateContent?alt=sse`, as at Google AI and Vertex AI.
//!
//! # Requests
//!
//! | in the conversation | in the body |
//! | --- | --- |
//! | system prompts | `systemInstruction`, a part each |
//! | text of a person | a part `text` of the role `user` |
//! | pictures, sounds, PDFs | a part `inlineData`, or `fileData` of an address |
//! | text of the model | a part `text` of the role `model`, with its signature if it had one |
//! | reasoning of the model | a part `text` with `thought`, if it was signed, to the same model only |
//! | call of a tool | a part `functionCall`, with its signature if it had one |
//! | result of a tool | a part `functionResponse` of the role `user` |
//!
//! Signatures (`thoughtSignature`) go back unchanged on the same part, and only to the same model. Gemini 3
//! and later refuse a step whose first call has none: calls of another model get the placeholder that Google
//! documents for them (<https://ai.google.dev/gemini-api/docs/thought-signatures>).
//!
//! Google AI accepts ids of calls, Vertex AI refuses them ([`GeminiOptions::call_ids`]); there the order
//! assigns results to calls.
//!
//! # Streams
//!
//! A stream is a sequence of server-sent events without names, each a whole `GenerateContentResponse`:
//!
//! ```text
//! data: {"candidates":[{"content":{"role":"model","parts":[{"text":"Hi"}]}}],"responseId":"r_1","modelVersion":"m"}
//! data: {"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":1}}
//! ```
//!
//! | in a chunk | becomes |
//! | --- | --- |
//! | the first of all | `stream_start` |
//! | a part `text` | `text_chunk`, with `thought` `thinking_chunk` |
//! | a part `functionCall` | `tool_call_start`, `tool_call` |
//! | `thoughtSignature` of a part | a `provider_part`, attached to the event of the part |
//! | any other part | a `provider_part` with the part |
//! | `finishReason` and the end of the bytes | `usage`, `stream_end` |
//! | `promptFeedback.blockReason`, `error` | an error |
//!
//! No event marks the end of the stream: it ends with the bytes, and is complete if a `finishReason` came.
//! `usageMetadata` is cumulative, so the last one counts. Unknown fields are ignored.

mod body;
mod contents;
mod family;
mod openapi_schema;
mod partial_args;
mod request;
mod schema;
mod state;
pub(crate) mod unfinished;
mod usage;
mod wire;

pub use crate::wire_options::gemini::{GeminiOptions, GeminiThinking};
pub use body::decode_body;
pub(crate) use contents::function_name;
pub use request::build;
pub(crate) use request::{level_of, thinking_of};
pub(crate) use schema::parameters;
pub(crate) use state::GeminiState;
pub(crate) use usage::tokens;

/// The name under which data of this API is kept in [`ProviderData`](agentx_types::ProviderData).
pub const API: &str = "gemini";

/// The field of a part that holds its signature.
const SIGNATURE: &str = "thoughtSignature";
/// The offset, in bytes, of the server's signed part in the text of the recorded part; absent if it is 0. The
/// unsigned chunks before it are recorded in the same part, so that a front end shows one text.
const SIGNED_FROM: &str = "signed_from";
