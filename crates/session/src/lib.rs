//! The fold of a session: facts in, everything derived out.
//!
//! A session is a log of [`EnvironmentEvent`](agentx_types::EnvironmentEvent)s. [`SessionFold`] takes them one by one and says what
//! follows from each: what it means to the system (receptors and bridge), what agents say, what they want done, and what
//! changes in the read models. Live, resume, replay, mirror, fork and test run this code over the same facts, so the crate does no I/O,
//! reads no clock, holds no lock and builds for `wasm32-unknown-unknown`.

mod background;
pub mod bridge;
mod derived;
mod digest;
mod flows;
mod fold;
mod offered;
mod pictures;
mod projection;
pub mod receptors;
mod sharing;
mod state;
mod tree;
mod ui;

pub use derived::Derived;
pub use digest::{DerivedDigest, Digest};
pub use fold::SessionFold;
pub use offered::as_offered;
pub use projection::Projection;
pub use sharing::{Note, Sharing};
pub use state::{PendingApproval, RunState, SessionState, ToolsChange};
pub use tree::is_a_piece;
pub use ui::UiProjection;
