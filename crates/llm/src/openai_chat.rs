//! OpenAI Chat Completions: `POST /chat/completions`, as OpenAI speaks it and as the servers compatible with it do.

mod alternating_roles;
mod cache;
mod cost;
mod finish;
mod media;
mod options;
mod reasoning;
mod request;
mod signature;
mod stream;
mod think_tags;
mod tools;
mod usage;
mod wire;

pub use options::{ChatOptions, Effort, EffortWithTools, MaxTokensField, ReasoningEcho, ThinkingParam};
pub use request::build;
pub(crate) use request::is_claude;
pub use stream::{ChatDecoder, decode_body};

/// The name under which data of this API is kept in [`ProviderData`](agentx_types::ProviderData).
pub const API: &str = "openai-chat";
/// What Gemini attaches to a tool call and wants back with it (<https://ai.google.dev/gemini-api/docs/thought-signatures>).
const EXTRA: &str = "extra_content";
