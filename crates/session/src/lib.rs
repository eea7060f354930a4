//! The fold of a session: facts in, everything derived out.
//!
//! A session is a log of [`EnvironmentEvent`](agentx_types::EnvironmentEvent)s. [`SessionFold`] takes them
//! one by one and says what follows from each: what it means to the system (receptors and bridge), what
//! agents say, what they want done, and what changes in the read models. [`Reading`] follows a session: the
//! log, then what happens, each event once. Live, resume, replay, mirror, fork and test run this code over
//! the same facts, so the crate does no I/O, reads no clock, holds no lock and builds for
//! `wasm32-unknown-unknown`.
//!
//! To read it, begin with [`SessionFold::apply`], then [`receptors`] for what facts mean, `tree.rs` for who
//! takes a fact, and [`bridge`] for what agents' words become. [`Reading`] stands by itself.

mod background;
pub mod bridge;
mod derived;
mod digest;
mod flows;
mod fold;
mod newer;
mod offered;
mod pictures;
mod projection;
mod reading;
pub mod receptors;
mod round;
mod sharing;
mod state;
mod tree;
mod ui;

pub use derived::Derived;
pub use digest::{DerivedDigest, Digest};
pub use fold::SessionFold;
pub use offered::as_offered;
pub use projection::Projection;
pub use reading::{Began, Brings, Delivery, Fact, Gap, Heard, Position, Reading, Step, View, Wanted};
pub use sharing::{Note, Sharing};
pub use state::{PendingApproval, RunState, SessionState, ToolsChange, Waiting};
pub use ui::UiProjection;
