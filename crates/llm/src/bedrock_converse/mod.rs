//! Amazon Bedrock's Converse API, sans-IO: one form of messages, tools and streams for the models of all
//! vendors there. [`build`] makes the body of a request, and [`ConverseDecoder`] reads a streamed answer.
//! [`bedrock`](crate::bedrock) has the place and the signature of a request, and the frames of an answer.
//!
//! Anthropic's models have their own protocol at Bedrock, which can do more. `cache.rs` places cache points,
//! `reasoning.rs` has the settings of reasoning, and `family.rs` knows which models take them.

mod body;
mod cache;
mod decoder;
mod family;
mod messages;
mod reasoning;
mod request;
mod state;
mod wire;

pub use body::decode_body;
pub use decoder::ConverseDecoder;
pub use request::build;

/// The name of the API in data that goes back to it.
pub(crate) const API: &str = "bedrock-converse";
/// The longest name of a tool
/// (<https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolSpecification.html>).
const LONGEST_NAME: usize = 64;
/// The key of the token with which a model recognizes its reasoning.
const SIGNATURE: &str = "signature";
