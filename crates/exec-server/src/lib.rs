//! A process that executes for sessions elsewhere: commands, files, searches. It is for a container or
//! another machine, where an agent may do what it should not do at home.
//!
//! [`ExecServer`] is that process. It speaks HTTP in two dialects with one key: that of OpenHands' V0 runtime
//! (`/execute_action`, `/alive`, `/list_files`, `/upload_file`, `/download_files`), and its own (`/v1/…`), in
//! which a session performs calls of tools by id, each at most once. [`RemoteTools`] is the other side: tools
//! that run at an exec server, as a reactor that is attached to a runtime.
//!
//! Whoever has the key can do what the user of the process can do; only the place of the process limits that.
#![doc = include_str!("../docs/protocol.md")]

mod action_result;
mod action_table;
mod actions;
mod admission;
mod call;
mod client;
mod exec_state;
mod kept_blobs;
mod openhands;
mod options;
mod refusal;
mod server;
mod session_records;
mod transfers;

pub use client::{ExecServerAddress, RemoteTools, RemoteToolsError};
pub use options::{ExecKey, ExecServerOptions, WeakKey};
pub use server::{ExecServer, ExecServerError};
