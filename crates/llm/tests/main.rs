//! The tests of this crate as one binary, because each binary links all dependencies.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

mod answer_schema;
#[cfg(feature = "bedrock")]
mod bedrock;
mod beginnings;
mod catalog;
mod claude_rules;
mod converse;
mod delivery;
mod errors;
mod gateways;
mod gemini;
mod ids;
mod interactions;
mod made_up;
mod other_models;
mod pictures;
mod recorded_requests;
mod recordings;
mod refused_media;
mod refused_place;
mod request_bytes;
mod requests;
mod responses;
mod responses_identity;
mod sse;

mod common;
