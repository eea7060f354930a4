//! What every runtime shares.
//!
//! The traits ([`Environment`], [`Effector`], [`Tool`], [`SessionLog`], [`Runtime`]) and the one fold by which live, resume,
//! replay, mirror and fork are the same thing.

mod api;
mod effect;
mod log;
pub mod receptors;
mod tool;

pub use api::*;
pub use effect::{BoxFuture, Effector, Environment, EventSink};
pub use log::*;
pub use tool::{Tool, ToolContext, ToolOutcome, ToolOutputSink};
