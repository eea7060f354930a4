//! The runtime that acts: its sessions, effectors and environments.
//!
//! It is made of parts ([`NodeParts`]) that know no configuration and no database. Features add more: `http`
//! model environments over HTTP, `tools` the support for the built-in tools, and `settings`, which includes
//! both, creates the parts from configuration files, with sessions in SQLite.
//!
//! # How the parts work together
//!
//! ```text
//!    front end or server                      reactors that come and go (`attach`)
//!           │ Runtime                                   │ serve tools, models; hear events
//!           ▼                                           ▼
//!    ┌─ NodeRuntime ──────────── bus of requests and committed events ─────────────┐
//!    │  driver of each open session                                               │
//!    │     call_model ──► ModelRouter ──► model::ModelEffector   (HTTP)            │
//!    │                              └──► scripted::ScriptedEnvironment (offline)   │
//!    │     condense   ──► Condenser   ──► ModelRouter                              │
//!    │     call_tool  ──► ToolEffector ──► Toolbox                                 │
//!    │     every fact ──► SessionLog  (committed before anybody hears it)          │
//!    └─────────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! - [`NodeParts`] are chosen once. [`NodeRuntime::new`] joins them; nothing is opened or sent before the
//!   first session.
//! - A session is opened by one process at a time, the holder of its lease in the log. Others follow it by
//!   reading the log.
//! - Effectors never write to the log. They emit events into a sink, and the driver commits them.
//!
//! # Features
//!
//! | feature | brings | needs |
//! | --- | --- | --- |
//! | `http` | [`model`]: endpoints, attempts, retries | `reqwest`, `rustls` |
//! | `gzip` | answers that a gateway packs unasked | `flate2` |
//! | `http2` | HTTP/2 with keep-alive pings | |
//! | `tools` | `plan_restore` and `restore` of files | the built-in tools |
//! | `settings` (default) | [`NodeRuntime::from_settings`], sessions in SQLite | all of the above |
//!
//! # After a crash
//!
//! Only the log outlives the process. Opening a session folds it: a run that was in progress continues. A
//! tool call that never started, or whose tool is idempotent, is run again; one that had started is answered
//! as `unknown`. Commands that it left running are ended before anything else ([`COMMANDS`] names them). An
//! interrupted model call is repeated, and its partial answer stays on record.

#[cfg(feature = "http")]
pub mod model;
pub mod scripted;

mod agents;
#[cfg(feature = "settings")]
mod analyzer_program;
#[cfg(feature = "settings")]
mod analyzer_server;
mod analyzers;
mod attached_reactors;
mod attaching;
mod blobs;
#[cfg(feature = "settings")]
mod browser;
mod client_blobs;
#[cfg(feature = "settings")]
mod command_sandbox;
#[cfg(feature = "settings")]
mod context_services;
#[cfg(feature = "settings")]
mod data_dir;
#[cfg(feature = "settings")]
mod databases;
#[cfg(feature = "settings")]
mod day_limit;
#[cfg(feature = "settings")]
mod folder_instructions;
mod forking;
#[cfg(feature = "settings")]
mod from_settings;
mod front_end;
mod ids;
mod inline_media;
#[cfg(feature = "settings")]
mod known_secrets;
mod known_waits;
#[cfg(feature = "settings")]
mod local_owner;
#[cfg(feature = "settings")]
mod marked_secrets;
#[cfg(feature = "settings")]
mod memory;
mod model_router;
#[cfg(not(feature = "tools"))]
mod no_rewind;
mod node;
mod node_parts;
mod offline_session;
mod pending_change;
mod preview_links;
mod replay;
#[cfg(feature = "tools")]
mod rewind;
mod server_support;
mod session_inspection;
#[cfg(feature = "settings")]
mod skill_tool;
mod tool_effector;
mod tool_server;
mod try_tool;
mod waits;

#[cfg(feature = "settings")]
pub use agentx_sqlite_log::{Examined, FORMAT as DATABASE_FORMAT, examine as examine_database};
#[cfg(feature = "settings")]
pub use browser::browser_program;
pub use client_blobs::{BlobCounter, ClientBlobs};
#[cfg(feature = "settings")]
pub use command_sandbox::{command_sandbox, masked_credentials};
#[cfg(feature = "settings")]
pub use data_dir::make_data_dir;
#[cfg(feature = "settings")]
pub use from_settings::{built_in_tools, open_log, program_environment};
#[cfg(feature = "settings")]
pub use known_secrets::{known_secrets, redactor};
#[cfg(feature = "settings")]
pub use marked_secrets::{MARKED_SECRETS, MarkedSecret, marked_secrets, marked_text};
#[cfg(feature = "settings")]
pub use memory::open_memories;
pub use node::NodeRuntime;
pub use node_parts::{AnalyzerServices, ContextServices, KeptBytes, LearnerOf, NodeParts, WireOptionsOf};
pub use preview_links::DiskPreview;
pub use scripted::scripted_model;
pub use tool_effector::ToolEffector;
pub use tool_server::ToolServer;

/// The name of the database in a data directory: one SQLite file with all sessions of the directory, beside
/// its `-wal` and `-shm` while a program has it open.
pub const DATABASE: &str = "sessions.db";
/// The directory in a data directory in which programs record their running commands, one file for each
/// process.
///
/// A process that continues a session of a killed program reads that program's file, and removes it once none
/// of its commands is alive.
pub const COMMANDS: &str = "commands";
