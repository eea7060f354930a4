//! The runtime that acts: model environments over HTTP, tools, sessions in SQLite.

pub mod model;
pub mod scripted;

mod agents;
mod compose;
mod here;
mod ids;
mod in_question;
mod look;
mod model_router;
mod node;
mod replay;
mod rewind;
mod serve;
mod tool_effector;
mod try_tool;

pub use agentx_sqlite_log::{Examined, FORMAT as DATABASE_FORMAT, examine as examine_database};
pub use compose::{DATABASE, built_in_tools, open_log, program_environment};
pub use in_question::Shown;
pub use node::{NodeParts, NodeRuntime, WireOptionsOf};
pub use tool_effector::ToolEffector;
