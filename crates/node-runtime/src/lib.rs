//! The runtime that acts: its sessions, effectors and environments.
//!
//! It is made of parts ([`NodeParts`]) that know no configuration and no database. What more there is comes
//! by features: `http` brings model environments over HTTP, `tools` what the built-in tools need, and
//! `settings`, which has both, makes the parts as the configuration files say, with sessions in SQLite.

#[cfg(feature = "http")]
pub mod model;
pub mod scripted;

mod agents;
mod attached_reactors;
mod blobs;
#[cfg(feature = "settings")]
mod folder_instructions;
#[cfg(feature = "settings")]
mod from_settings;
mod front_end;
mod ids;
mod model_router;
#[cfg(not(feature = "tools"))]
mod no_rewind;
mod node;
mod pending_change;
mod replay;
#[cfg(feature = "tools")]
mod rewind;
mod server_support;
mod session_inspection;
mod tool_effector;
mod try_tool;

#[cfg(feature = "settings")]
pub use agentx_sqlite_log::{Examined, FORMAT as DATABASE_FORMAT, examine as examine_database};
#[cfg(feature = "settings")]
pub use from_settings::{built_in_tools, open_log, program_environment};
pub use node::{NodeParts, NodeRuntime, WireOptionsOf};
pub use pending_change::DiskPreview;
pub use scripted::scripted_model;
pub use tool_effector::ToolEffector;

/// The name of the database in a data directory.
pub const DATABASE: &str = "sessions.db";
/// The directory in a data directory where programs write down which commands they run.
pub const COMMANDS: &str = "commands";
