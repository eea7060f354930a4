//! What every runtime shares.
//!
//! The traits ([`Environment`], [`Effector`], [`Tool`], [`SessionLog`], [`Runtime`]) and the one fold by which live, resume,
//! replay, mirror and fork are the same thing.

mod actions;
mod api;
mod blob_store;
mod blobs;
mod clock;
mod condenser;
mod driver;
mod effect;
mod folding;
mod follow;
mod inner;
mod jot;
mod journal;
mod listener;
mod log;
mod log_error;
mod overheard;
mod places;
mod plain;
mod portable;
mod problem;
mod rewind;
mod rows;
mod ruling;
mod session;
mod sight;
mod spending;
mod stats;
pub mod streams;
mod system_bus;
mod tool;
pub mod transcript;
mod trial;
mod values;

pub use actions::{ActionRequest, Actions};
pub use agentx_agent::approval::{Judgement, Verdict, describe, judge};
pub use agentx_agent::linked::LineNames;
pub use agentx_agent::places::PlaceRules;
pub use agentx_agent::walks::Walk;
pub use agentx_agent::{
    AGENTS, Backlog, DELEGATE, apply, arguments, delegation_tools, grade, hold_to, nearest,
};
pub use agentx_session::{
    Derived, DerivedDigest, Digest, Note, PendingApproval, Projection, RunState, SessionFold, SessionState,
    Sharing, ToolsChange, UiProjection, as_offered, bridge, receptors,
};
pub use api::*;
pub use blob_store::BlobStore;
pub use blobs::{SessionBlobs, blobs_of, has_blob};
pub use clock::{Clock, SystemClock};
pub use condenser::Condenser;
pub use driver::{DriverParts, DriverStatus, SessionIds, StandingRules, halt_sessions, open_session};
pub use effect::{BoxFuture, Effector, Environment, EventSink, Said, Taken};
pub use folding::fold_until;
pub use follow::watch_log;
pub use inner::{Pause, Pauses};
pub use jot::Jotter;
pub use journal::{Also, Begun, Journal};
pub use listener::{Hearing, Listener};
pub use log::*;
pub use log_error::LogError;
pub use overheard::Overheard;
pub use places::{Place, Places};
pub use plain::plain_json;
pub use portable::{EXPORT_VERSION, ExportedBlob, SessionExport, export, import};
pub use rewind::*;
pub use rows::{Adoption, LogPart, LogPlace, LogRow, LogRows};
pub use ruling::{Ruling, always_asked, names_a_tool, refused_by_the_tool, still_asked, with_pattern};
pub use session::LocalSession;
pub use sight::{cannot_see, takes_no_pictures};
pub use spending::{Since, SpendCause, StoredSize, UsageBy, UsageQuery, UsageRow};
pub use stats::{SessionStats, ToolCount, stats_of};
pub use system_bus::{AgentEvent, AgentEventBus, SystemBus, SystemEvent};
pub use tool::{Tool, ToolContext, ToolOutcome, ToolOutputSink};
pub use trial::{ChangedCall, Decided, RuleTrial, TrialReport, try_rule};
pub use values::RequestValues;
