//! What every runtime shares.
//!
//! The traits ([`Environment`], [`Effector`], [`Tool`], [`SessionLog`], [`Runtime`]) and the one fold by which live, resume,
//! replay, mirror and fork are the same thing.

mod api;
mod blob_store;
mod blobs;
pub mod bridge;
mod clock;
mod digest;
mod driver;
mod effect;
mod flows;
mod fold;
mod follow;
mod jot;
mod journal;
mod listener;
mod log;
mod log_error;
mod places;
mod portable;
mod problem;
pub mod receptors;
mod rewind;
mod rows;
mod ruling;
mod session;
mod sharing;
mod spending;
mod stats;
pub mod streams;
mod system_bus;
mod tool;
pub mod transcript;
mod tree;
mod trial;
mod ui;
mod values;

pub use api::*;
pub use blob_store::BlobStore;
pub use blobs::{SessionBlobs, blobs_of, has_blob};
pub use clock::{Clock, SystemClock};
pub use digest::DerivedDigest;
pub use driver::{DriverParts, DriverStatus, SessionIds, fold_until, open_session};
pub use effect::{BoxFuture, Effector, Environment, EventSink, Said};
pub use fold::{Derived, SessionFold};
pub use follow::watch_log;
pub use jot::Jotter;
pub use journal::{Begun, Journal};
pub use listener::{Hearing, Listener};
pub use log::*;
pub use log_error::LogError;
pub use places::{Place, Places};
pub use portable::{EXPORT_VERSION, ExportedBlob, SessionExport, export, import};
pub use rewind::*;
pub use rows::{Adoption, LogPart, LogPlace, LogRow, LogRows};
pub use ruling::{Ruling, names_a_tool, still_asked, with_pattern};
pub use session::LocalSession;
pub use sharing::{Note, Sharing};
pub use spending::{Since, SpendCause, StoredSize, UsageBy, UsageQuery, UsageRow};
pub use stats::{SessionStats, ToolCount, stats_of};
pub use system_bus::{AgentEvent, AgentEventBus, SystemBus, SystemEvent};
pub use tool::{Tool, ToolContext, ToolOutcome, ToolOutputSink};
pub use trial::{ChangedCall, Decided, RuleTrial, TrialReport, try_rule};
pub use ui::UiProjection;
pub use values::RequestValues;
