//! Wire codecs of the model APIs, sans-IO: request builders, stream decoders, the model catalog.
//!
//! A shell (the node runtime) owns the sockets; this crate owns the meaning of the bytes. [`build`] turns a
//! [`ModelRequest`](agentx_types::ModelRequest) into the body of one API, [`StreamDecoder`] turns the bytes
//! of the answer into [`EnvironmentEvent`](agentx_types::EnvironmentEvent)s, in pieces of any size,
//! [`decode_error`] turns a refusal into a [`ModelError`], and the [`Catalog`] knows models, prices and
//! providers. Nothing here reads a clock, a socket or the environment: time and ids are arguments.
//!
//! ```
//! use agentx_llm::{StreamContext, StreamDecoder};
//! use agentx_types::{Api, EnvironmentEvent};
//!
//! let mut decoder = StreamDecoder::new(Api::OpenaiChat, StreamContext::new("msg_1", 1));
//! let mut events = Vec::new();
//! let bytes = br#"data: {"id":"chatcmpl-1","model":"m","choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}
//!
//! "#;
//! for piece in bytes.chunks(7) {
//!     decoder.push(piece, &mut events).unwrap();
//! }
//! decoder.finish(&mut events).unwrap();
//! assert!(matches!(events.last(), Some(EnvironmentEvent::StreamEnd(_))));
//! ```

pub mod accumulate;
mod answer_schema;
pub mod anthropic;
pub mod base64;
pub mod bedrock;
pub mod bedrock_converse;
pub mod catalog;
mod cloud;
mod emitter;
pub mod error;
mod event_stream;
pub mod gemini;
pub mod gemini_interactions;
pub mod google_auth;
mod json;
mod lenient_json;
mod media;
pub mod openai_chat;
mod openai_media;
mod openai_models;
pub mod openai_responses;
mod percent;
mod pictures;
mod refused_place;
mod request;
mod request_words;
mod root_schema;
mod schema;
mod schema_rules;
mod secret;
pub mod sse;
mod stream;
mod stream_context;
mod stream_error;
mod stream_head;
mod wire_options;

pub use accumulate::{Accumulated, AnswerRecorder};
pub use catalog::{AuthStyle, Catalog, CatalogError, ProviderEntry, origin, tools_need_responses};
pub use cloud::CloudCredentials;
pub use error::{ErrorCode, ModelError, decode_error};
pub use media::{BlobSource, NoBlobs};
pub use refused_place::named_part;
pub use request::{build, header, sends_thinking};
pub use secret::Secret;
pub use stream::{StreamDecoder, decode_body};
pub use stream_context::StreamContext;
pub use stream_error::StreamError;
pub use wire_options::WireOptions;
