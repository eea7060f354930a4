//! Amazon Bedrock, sans-IO: the place of a request ([`invoke_path`], [`converse_path`], [`region_of`]), its
//! signature (`sign`, with the feature `bedrock`), and the frames of its answer ([`BedrockDecoder`]).
//! Anthropic's models speak their own protocol inside the frames; `anthropic::build` makes the body. The
//! others speak Converse ([`bedrock_converse`](crate::bedrock_converse)).

mod answer;
mod credentials;
mod frames;
mod place;
#[cfg(feature = "bedrock")]
mod sigv4;

pub use answer::BedrockDecoder;
pub(crate) use answer::{exception_error, frame_error};
pub use credentials::AwsCredentials;
pub use frames::{EventStreamFrame, FrameDecoder, FrameError, FrameKind};
pub use place::{base_url, converse_path, invoke_path, is_region, region_of};
#[cfg(feature = "bedrock")]
pub use sigv4::{SignedHeaders, SigningRequest, sign};

/// The version of the Messages API at Bedrock: `anthropic_version` in the body.
pub const VERSION: &str = "bedrock-2023-05-31";
