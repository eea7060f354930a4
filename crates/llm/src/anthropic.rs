//! Anthropic Messages: `POST /v1/messages`, version 2023-06-01.

mod block;
mod cache;
mod finish;
mod request;
mod stream;
mod thinking;
mod wire;

pub use request::{AnthropicOptions, ThinkingMode, build};
pub use stream::{AnthropicDecoder, decode_body};
pub use thinking::beta;
pub(crate) use thinking::effort;

/// The name under which data of this API is kept in [`ProviderData`](agentx_types::ProviderData).
pub const API: &str = "anthropic";

/// The value of the `anthropic-version` header.
pub const VERSION: &str = "2023-06-01";
