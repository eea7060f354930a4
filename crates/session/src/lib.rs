//! The fold of a session: facts in, everything derived out.
//!
//! A session is a log of [`EnvironmentEvent`](agentx_types::EnvironmentEvent)s. [`SessionFold`] takes them
//! one by one and says what follows from each: what it means to the system (receptors and bridge), what
//! agents say, what they want done, and what changes in the read models. [`SessionReader`] follows a session:
//! the log, then what happens, each event once. Live, resume, replay, mirror, fork and test run this code
//! over the same facts, so the crate does no I/O, reads no clock, holds no lock and builds for
//! `wasm32-unknown-unknown`.
//!
//! To read it, begin with [`SessionFold::apply`], then [`receptors`] for what facts mean, `tree.rs` for who
//! takes a fact, and [`bridge`] for what agents' words become. [`SessionReader`] stands by itself.

mod agent_round;
mod background;
pub mod bridge;
mod configured_tools;
mod derived;
mod digest;
mod fold;
mod newer;
mod pictures;
mod projection;
pub mod receptors;
mod repeats;
mod session_reader;
mod sharing;
mod state;
mod tool_fold;
mod tree;
mod ui;

pub use configured_tools::as_offered;
pub use derived::Derived;
pub use digest::{DerivedDigest, Digest};
pub use fold::SessionFold;
pub use projection::Projection;
pub use session_reader::{
    Delivery, EventCursor, Fact, Gap, LiveContent, PastRequest, ReaderStep, SessionReader, SourceItem,
    SourceStart, View,
};
pub use sharing::{Sharing, SharingFact};
pub use state::{PendingApproval, RunState, SessionState, ToolsChange, WaitingInputs};
pub use ui::UiProjection;
