//! Amazon Bedrock, sans-IO: the signature of a request ([`sign`]) and the frames of an answer ([`FrameDecoder`]).
//! Anthropic's models speak their own protocol inside these frames.

mod frames;
mod sigv4;

pub use frames::{Frame, FrameDecoder, FrameError, FrameKind};
pub use sigv4::{AwsCredentials, SignedHeaders, SigningRequest, invoke_path, sign};
