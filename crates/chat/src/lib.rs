//! A chat with agents in a terminal, as a library: the chat itself, the transcript of a session, the picker
//! of sessions, the viewer that goes through a session step by step, and the console that they write to.
//!
//! A front end works at a [`place::Place`], which has a `dyn Runtime` and knows whether it is a server's. The
//! program that is built on this crate makes the runtime, reads the settings and parses its command line;
//! [`session_opening::CommandLineOverrides`] is the part of that which a session takes over.
//!
//! | module | what is in it |
//! | --- | --- |
//! | [`chat_opening`] | opening a chat at a place, holding it, and the farewell |
//! | [`chat`] | the chat: one loop over the session, the person and the system |
//! | [`headless`] | one prompt and one answer, without a person who types |
//! | [`picker`] | the list of sessions from which a person chooses one |
//! | [`show`] | a session that is over or goes on elsewhere, whole or step by step |
//! | [`spectator`] | a session that somebody else drives, as it happens |
//! | [`doctor`] | what is wrong with this machine, the configuration and what is stored |
//! | [`export`] | a session as a file |
//! | [`folder`] | the question whether a folder is trusted |
//! | [`render`] | renders events as text |
//! | [`session_opening`], [`new_agent`] | opening a session, and the agent of one that is not opened yet |
//! | [`console`], [`signals`], [`terminal`] | standard output and error, signals, and the terminal in raw mode |
//! | [`error`], [`exit`], [`run_failure`] | what can go wrong, as people and programs read it |

pub mod attach;
#[cfg(test)]
mod catalogue;
pub mod chat;
pub mod chat_opening;
mod command_line;
pub mod configuration;
pub mod demo;
pub mod doctor;
pub mod error;
pub mod exit;
pub mod folder;
pub mod headless;
mod mcp;
pub mod mcp_serving;
pub mod memory;
pub mod models;
pub mod named_file;
mod pending_change;
pub mod picker;
pub mod place;
pub mod render;
pub mod rules;
pub mod session_opening;
mod session_status;
mod sessions;
pub mod show;
pub mod spectator;
pub mod terminal;
#[cfg(test)]
mod testing;
mod tools;

pub use command_line::{failure, other_programs, refused_line};
pub use exit::run_failure;
pub use folder::untrusted_files;
pub use mcp::{mcp_changes, mcp_login, mcp_servers};
pub use models::{default_model, model_facts, other_server, provider_keys, refreshed_models};
pub use place::{connection_watch, follow, server_patience};
pub use session_opening::new_agent;
pub use sessions::{
    branches, cache_why, export, import, secret_scan, seen_notes, sessions_here, spending, stored_sessions,
};
pub use terminal::{console, passphrase, signals};
pub use tools::{command_sandbox, parameter_names, reactor_list, sandbox_arguments, script_output};
