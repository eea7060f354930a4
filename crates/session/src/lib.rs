//! The fold of a session: facts in, everything derived out.
//!
//! A session is a log of [`EnvironmentEvent`](agentx_types::EnvironmentEvent)s. [`SessionFold`] takes them
//! one by one and returns everything that follows from each: its meaning to the system (receptors and
//! bridge), the outputs and actions of agents, and the changes of the read models. [`SessionReader`] follows
//! a session: first the log, then live events, each event once. Live, resume, replay, mirror, fork and test
//! run this code over the same facts, so the crate does no I/O, reads no clock, holds no lock and builds for
//! `wasm32-unknown-unknown`.
//!
//! To read it, begin with [`SessionFold::apply`], then [`receptors`] for the meaning of facts, `tree.rs` for
//! the agents that take a fact, and [`bridge`] for the meaning of agents' outputs. [`SessionReader`] is
//! independent of these.

mod agent_dispatch;
mod background;
pub mod bridge;
mod configured_tools;
mod consequence;
mod cut_off;
mod derived;
mod digest;
mod fact_permit;
mod fold;
mod newer;
mod open_calls;
mod pictures;
mod projection;
pub mod receptors;
mod repeated_requests;
mod repeats;
mod session_reader;
mod sharing;
mod state;
mod tool_fold;
mod tree;
mod ui;
mod waits;

pub use configured_tools::as_offered;
pub use consequence::consequence;
pub use derived::Derived;
pub use digest::{DerivedDigest, Digest};
pub use fact_permit::{FactPermit, settles_action};
pub use fold::SessionFold;
pub use projection::Projection;
pub use session_reader::{
    Delivery, EventCursor, Fact, Gap, LiveContent, PastRequest, ReaderStep, SessionReader, SourceItem,
    SourceStart, View,
};
pub use sharing::{Sharing, SharingFact};
pub use state::{OpenWait, PendingApproval, RunState, SessionState, ToolsChange, WaitKind, WaitingInputs};
pub use ui::UiProjection;
