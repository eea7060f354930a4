//! Keeps secrets out of facts, requests to models and blobs.
//!
//! A runtime with a [`Redactor`] replaces secrets at the three places through which everything passes: facts
//! before they are numbered ([`FactRedactor`]), blobs before they are stored ([`RedactingLog`]), and requests
//! before a model's environment gets them ([`RedactingModels`]). Everything else is derived from these: read
//! models, screens, mirrors and exports. A runtime without a redactor does none of this.

mod checked_messages;
mod content;
mod copied;
mod event;
mod facts;
mod log;
mod models;
mod recorded;
mod recorded_text;
mod values;

pub use log::RedactingLog;
pub use models::{RedactingModels, redact_request};

pub use content::redact_outcome;
pub use facts::{FactRedactor, RedactedFacts};
pub use recorded_text::{RecordedText, is_piece, recorded_texts};

pub(crate) use content::redact_input;
pub(crate) use copied::{check_copied, is_replacement};
pub(crate) use event::redact_event;
pub(crate) use recorded::{ReplacedFacts, replaced_facts};
