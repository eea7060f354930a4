//! Amazon Bedrock, sans-IO: the place of a request ([`invoke_path`], [`region_of`]), its signature (`sign`,
//! with the feature `bedrock`), and its answer ([`BedrockDecoder`]). Anthropic's models speak their own
//! protocol inside the frames of AWS; `anthropic::build` makes the body.

mod answer;
mod credentials;
mod frames;
mod place;
#[cfg(feature = "bedrock")]
mod sigv4;

pub use answer::BedrockDecoder;
pub use credentials::AwsCredentials;
pub use frames::{EventStreamFrame, FrameDecoder, FrameError, FrameKind};
pub use place::{base_url, invoke_path, is_region, region_of};
#[cfg(feature = "bedrock")]
pub use sigv4::{SignedHeaders, SigningRequest, sign};

/// The version of the Messages API at Bedrock: `anthropic_version` in the body.
pub const VERSION: &str = "bedrock-2023-05-31";
