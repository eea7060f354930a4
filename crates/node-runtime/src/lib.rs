//! The runtime that acts: model environments over HTTP, tools, sessions in SQLite.

pub mod model;
pub mod scripted;

mod compose;
mod ids;
mod model_router;
mod node;
mod replay;
mod tool_effector;

pub use compose::DATABASE;
pub use node::{NodeParts, NodeRuntime, WireOptionsOf};
pub use tool_effector::ToolEffector;
