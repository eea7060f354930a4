//! Tools from files: scripts, requests, model calls and composites. Their effects are recorded step by step,
//! so a crash in the middle loses nothing. They can reach only what their files grant.
//!
//! [`ToolFactory::tool`] makes a [`Tool`](agentx_runtime::Tool) of a definition. Its spec is `idempotent`: a
//! call that a crash interrupted is run again, and its record keeps it from doing anything twice. [`record`]
//! explains how.

mod grants;
mod kept_values;
pub mod record;
mod secrets;
mod tools;
mod world;

pub use kept_values::{forget_values, kept_bytes, kept_values};
pub use record::{Divergence, EffectPerformer, PerformedEffect, RecordFinish, RecorderHandle, RecordingHost};
pub use secrets::Secrets;
pub use tools::{Schemas, ToolBuildError, ToolFactory};
pub use world::network::{LookupFuture, NameLookup, SystemLookup};
pub use world::{ToolFactoryParts, ToolSurroundings};
