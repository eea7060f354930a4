//! The vocabulary of AgentX, as types.
//!
//! Everything that more than one crate uses is here: [ids](SessionId), the four kinds of events
//! ([`EnvironmentEvent`], [`RuntimeEvent`], [`AgentOutput`], [`UiEvent`]), the [`Envelope`] around an event,
//! [messages](Message), [actions](Action) and the resolved [configuration](AgentConfig) of an agent, and the
//! one [`Assembler`] that makes a message from a stream. The crate is pure: plain data, no I/O, no clock, no
//! randomness.
//!
//! ```
//! use agentx_types::{EventDraft, EnvironmentEvent, SessionId, Source, TextChunk, Timestamp};
//!
//! let draft = EventDraft::<EnvironmentEvent>::new(Source::Environment, None, TextChunk { text: "你好".into() });
//! let envelope = draft.into_envelope(SessionId::new("ses_1"), 17, Timestamp(1_763_629_200_123_456));
//! let frame = serde_json::to_string(&envelope).unwrap();
//! assert_eq!(
//!     frame,
//!     r#"{"seq":17,"at":1763629200123456,"source":"environment","session_id":"ses_1","event":"text_chunk","payload":{"text":"你好"}}"#
//! );
//! ```

mod action;
mod action_kind;
mod agent_defaults;
mod agents;
mod answer_schema;
mod approval_mode;
mod argument_header;
mod asked;
mod assembler;
mod attempt;
mod author_tags;
mod build_context;
mod built_context;
mod call_steps;
mod condensing;
mod config;
mod content;
mod control_characters;
mod copies;
pub mod envelope;
mod environment;
mod folder_id;
mod guard;
mod hex;
mod host_name;
mod ids;
mod invisible;
mod learning;
mod medium;
mod message_content;
mod model;
mod model_request;
mod newer;
mod outcome;
mod output;
mod people;
mod person_requests;
mod picture;
mod picture_limits;
mod progress;
mod public_address;
mod redaction;
mod reminders;
mod request_part;
mod restored_files;
mod rfc3339;
mod run_event;
mod runtime_event;
#[cfg(feature = "schema")]
pub mod schema;
mod script_values;
mod scripted;
mod security;
mod serialization;
mod shared_set;
mod shell_word;
pub mod since;
mod stuck;
mod suggestions;
mod takeover;
mod text_origin;
mod time;
mod time_words;
mod tool_search;
pub mod topic;
mod ui_event;
mod usage;
mod vocabulary;
mod window;
pub mod wire;

pub use action::*;
pub use action_kind::{ActionKind, Timer};
pub use agents::*;
pub use answer_schema::*;
pub use approval_mode::*;
pub use argument_header::{ARGUMENT_HEADER, ArgumentHeader, argument_headers};
pub use asked::*;
pub use assembler::{AssembledAnswer, Assembler, RequestedCall, WAS_THINKING};
pub use attempt::*;
pub use author_tags::*;
pub use build_context::*;
pub use built_context::*;
pub use call_steps::*;
pub use condensing::*;
pub use config::*;
pub use content::*;
pub use control_characters::is_control_or_bidi;
pub use copies::*;
pub use envelope::{Envelope, EventDraft, Source};
pub use environment::*;
pub use folder_id::{CurrentFolder, FolderId};
pub use guard::*;
pub use hex::hex;
pub use host_name::host_name;
pub use ids::*;
pub use invisible::{is_invisible, without_invisible};
pub use learning::*;
pub use medium::Medium;
pub use model::*;
pub use model_request::{EARLIER_MESSAGES, ModelRequest};
pub use newer::from_newer_json;
pub use outcome::*;
pub use output::*;
pub use people::*;
pub use person_requests::*;
pub use picture::{Picture, PictureError};
pub use picture_limits::PictureLimits;
pub use public_address::{embedded_ipv4, is_public_address, is_public_name};
pub use redaction::*;
pub use reminders::*;
pub use request_part::RequestPart;
pub use restored_files::*;
pub use run_event::*;
pub use runtime_event::*;
#[cfg(feature = "schema")]
pub use schema::protocol_schema;
pub use script_values::*;
pub use scripted::{SCRIPTED_MODEL, ScriptedAnswer};
pub use security::*;
pub use serialization::{is_default, json_len};
pub use shared_set::SharedSet;
pub use shell_word::shell_word;
pub use stuck::*;
pub use suggestions::nearest;
pub use takeover::*;
pub use text_origin::TextOrigin;
pub use time::{Timestamp, UtcTime};
pub use time_words::show_time;
pub use tool_search::ToolSearch;
pub use ui_event::*;
pub use usage::{LongPrices, NanoUsd, Prices, Usage};
#[cfg(feature = "schema")]
pub use vocabulary::Payloads;
pub use vocabulary::{DecodedEvent, UnknownEvent, Unreadable, Vocabulary};
pub use window::*;
