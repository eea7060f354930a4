//! Tools from files: scripts, requests, model calls and rows of tools. What they do to the world is on record step by step, so
//! that a crash in the middle costs nothing; what they may reach is what their files grant.
//!
//! [`ToolFactory::tool`] makes a [`Tool`](agentx_runtime::Tool) of a definition. Its spec says `idempotent`: a call that a crash cut
//! off is run again, and its record, not its nature, is what keeps it from doing anything twice. How that works is told in
//! [`record`].

mod grants;
mod kept_values;
pub mod record;
mod secrets;
mod tools;
mod world;

pub use kept_values::{forget_values, kept_values};
pub use record::{Divergence, PerformedEffect, RecordFinish, RecorderHandle, RecordingHost, World};
pub use secrets::Secrets;
pub use tools::{FlowParts, Schemas, ToolFactory, ToolSurroundings, Unusable};
pub use world::network::{NameLookup, SystemLookup};
