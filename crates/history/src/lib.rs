//! What is read out of the logs of sessions.
//!
//! A session as people read it ([`transcript`]), what it did to files and how its branches differ ([`SessionHistory`],
//! [`branches_of`]), its figures ([`stats_of`]), what another rule would have decided ([`try_rule`]), and the session as one
//! document ([`portable`]). It is all made of facts and [`agentx_runtime::Runtime`] alone, so it is the same for a session here
//! and one of a server.

mod plain;
pub mod portable;
mod rewind;
mod stats;
pub mod transcript;
mod trial;

pub use plain::plain_json;
pub use portable::{export, import};
pub use rewind::*;
pub use stats::{SessionStats, ToolCount, stats_of};
pub use trial::{ChangedCall, RuleTrial, TrialReport, try_rule};
