//! What every runtime shares.
//!
//! The traits ([`Environment`], [`Effector`], [`Tool`], [`SessionLog`], [`Runtime`]) and the one fold by
//! which live, resume, replay, mirror and fork are the same thing.
//!
//! Its parts, in the order in which a fact comes by:
//!
//! | part | does |
//! | --- | --- |
//! | [`LocalSession`] | takes wishes of front ends |
//! | the driver ([`open_session`]) | numbers, folds, commits and publishes |
//! | [`Actions`] | hands on what agents want |
//! | an [`Effector`] | performs it, and says what happened through its [`EventSink`] |
//! | a [`Follower`] | reads it all |
//!
//! [`SystemBus`] is what reactors are given of that. This crate has no database, no HTTP client and no tools.
//! Other crates bring them behind the traits.

mod actions;
mod api;
mod blob_store;
mod blobs;
mod clock;
mod commands;
mod condenser;
mod driver;
mod effect;
mod environments;
mod folding;
mod follow;
mod future;
mod ingress;
mod inner;
mod jot;
mod journal;
mod listed;
mod listener;
mod log;
mod log_error;
mod memory;
mod observers;
mod offers;
mod opening;
mod overheard;
mod places;
mod problem;
mod rows;
mod ruling;
mod sent_again;
mod served_tool;
mod serving;
mod session;
mod sight;
pub mod streams;
mod system_bus;
mod system_events;
mod titles;
mod tool;
mod values;
mod writing;

pub use actions::{ActionRequest, Actions};
pub use agentx_agent::approval::{Judgement, Verdict, describe, judge};
pub use agentx_agent::linked::LineNames;
pub use agentx_agent::places::PlaceRules;
pub use agentx_agent::walks::Walk;
pub use agentx_agent::{
    AGENTS, Backlog, DELEGATE, apply, arguments, check_depth, delegation_tools, grade, hold_to, nearest,
};
pub use agentx_session::{
    Began, Brings, Delivery, Derived, DerivedDigest, Digest, Fact, Heard, Note, PendingApproval, Position,
    Projection, Reading, RunState, SessionFold, SessionState, Sharing, ToolsChange, UiProjection, View,
    Waiting, Wanted, as_offered, bridge, receptors,
};
pub use api::*;
pub use blob_store::{BlobStore, blob_id};
pub use blobs::{SessionBlobs, blobs_of, has_blob};
pub use clock::{Clock, SystemClock};
pub use commands::DriverStatus;
pub use condenser::Condenser;
pub use driver::{DriverParts, StandingRules, halt_sessions};
pub use effect::{Effector, EventSink, InSession, Said, Taken};
pub use environments::{Environment, ModelEnvironment, ToolEnvironment};
pub use folding::fold_until;
pub use follow::{EventSource, FollowError, Follower, Past, Subscribed, watch_log};
pub use future::BoxFuture;
pub use ingress::{BadName, Ingress, OpenSessions};
pub use inner::{Pause, Pauses};
pub use jot::{Jotter, Record};
pub use journal::{Also, Begun, Journal};
pub use listed::*;
pub use listener::{Hearing, Listener};
pub use log::*;
pub use log_error::LogError;
pub use memory::MemoryLog;
pub use observers::{RunCounts, event_logger, logs_events, run_counter};
pub use offers::ToolOffers;
pub use opening::{SessionIds, open_session};
pub use overheard::Overheard;
pub use places::{Place, Places};
pub use rows::{Adoption, LogPart, LogPlace, LogRow, LogRows};
pub use ruling::{
    Decided, Ruling, always_asked, names_a_tool, refused_by_the_tool, still_asked, with_pattern,
};
pub use sent_again::time_note;
pub use served_tool::ToolCalls;
pub use serving::{ServedBy, Serving};
pub use session::LocalSession;
pub use sight::{cannot_see, takes_no_pictures};
pub use system_bus::SystemBus;
pub use system_events::{AgentEvent, AgentEventBus, SystemEvent, SystemEvents};
pub use titles::title_from;
pub use tool::{Tool, ToolContext, ToolOutcome, ToolOutputSink};
pub use values::RequestValues;
pub use writing::{Batch, NewLog, Writer};
