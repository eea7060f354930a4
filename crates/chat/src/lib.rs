//! A chat with agents in a terminal, as a library: the chat itself, the transcript of a session, the picker
//! of sessions, the viewer that goes through a session step by step, and the console that they write to.
//!
//! A front end works at a [`place::Place`], which has a `dyn Runtime` and knows whether it is a server's. The
//! program that is built on this crate makes the runtime, reads the settings and parses its command line;
//! [`session_opening::CommandLineOverrides`] is the part of that which a session takes over.
//!
//! The folders of the crate. The last column has the modules of a private folder, or of one with parts that
//! other crates need, that are public under a name of their own.
//!
//! | folder | what is in it | public as |
//! | --- | --- | --- |
//! | [`attach`] | the files that a message names with `@` | |
//! | `catalogue` | every error, with an example; for tests | |
//! | [`chat`] | the chat: one loop over the session, the person and the system | |
//! | `command_line` | numbers in command lines, and lines that failed or were refused | [`failure`], [`numbers`], [`other_programs`], [`refused_line`] |
//! | [`doctor`] | checks of this machine, the configuration and the stored data | |
//! | [`exit`] | exit codes and hints of errors | [`run_failure`] |
//! | [`folder`] | the question whether a folder is trusted | [`untrusted_files`] |
//! | [`headless`] | one prompt and one answer, without a person who types | |
//! | `mcp` | the MCP servers of a person | [`mcp_changes`], [`mcp_login`], [`mcp_servers`], [`mcp_tokens`] |
//! | [`memory`] | the memories of a person, as they see and change them | |
//! | [`models`] | the available models, and what the others lack | [`default_model`], [`model_facts`], [`other_server`], [`provider_keys`], [`refreshed_models`] |
//! | [`picker`] | the list of sessions from which a person chooses one | |
//! | [`place`] | the runtime of this process, or a server | [`connection_watch`], [`follow`], [`server_patience`] |
//! | [`render`] | renders events and data as text | |
//! | [`rules`] | approval rules: shown, tested and removed | |
//! | [`secrets`] | values that a person marked as secret: marked, listed, forgotten | |
//! | [`session_opening`] | opens a session, or continues one | [`mod@new_agent`] |
//! | `session_status` | the status of a session, as a fold of its events | |
//! | `sessions` | stored sessions: found, read, changed, exported and imported | [`anchors`], [`branches`], [`cache_why`], [`export`], [`import`], [`redacting`], [`secret_scan`], [`seen_notes`], [`sessions_here`], [`spending`], [`stored_sessions`] |
//! | [`show`] | a session that is over or goes on elsewhere, whole or step by step | |
//! | [`terminal`] | standard output and error, signals, and the terminal in raw mode | [`console`], [`passphrase`], [`signals`] |
//! | `testing` | helpers for the tests of this crate | |
//! | `tools` | tools, and what serves them, outside of a session | [`command_sandbox`], [`exec_server`], [`file_arguments`], [`parameter_names`], [`reactor_list`], [`sandbox_arguments`], [`script_output`] |
//! | [`waits`] | sessions that wait for a time, and prompts that are run at set times | |
//!
//! Files beside them: [`agent_list`] shows agents, [`chat_opening`] opens a chat at a place and prints the
//! farewell, [`spectator`] shows a session that somebody else drives, [`mcp_serving`] is `agentx mcp serve`,
//! [`demo`] answers if no model is connected, [`configuration`] has notes about settings, [`named_file`]
//! opens files of a command line, `pending_change` finds the change that a call would make, [`run_result`]
//! has the result of a run as programs read it, [`error`] has the errors of the front end, and [`unwritten`]
//! those of files and streams that cannot be written.

pub mod agent_list;
pub mod attach;
pub mod browser;
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
mod mcp_tasks;
pub mod memory;
pub mod models;
pub mod named_file;
mod pending_change;
pub mod picker;
pub mod place;
pub mod render;
pub mod rules;
pub mod run_result;
pub mod secrets;
pub mod served;
pub mod session_opening;
mod session_status;
mod sessions;
pub mod show;
pub mod slash_names;
pub mod spectator;
pub mod terminal;
#[cfg(test)]
mod testing;
mod tools;
pub mod unwritten;
pub mod waits;

pub use command_line::{failure, numbers, other_programs, refused_line};
pub use exit::run_failure;
pub use folder::untrusted_files;
pub use mcp::{changes as mcp_changes, login as mcp_login, servers as mcp_servers, tokens as mcp_tokens};
pub use models::{default_model, model_facts, other_server, provider_keys, refreshed_models};
pub use place::{connection_watch, follow, server_patience};
pub use session_opening::new_agent;
pub use sessions::{
    anchors, branches, cache_why, export, import, redacting, secret_scan, seen_notes, sessions_here,
    spending, stored_sessions,
};
pub use terminal::{console, passphrase, signals};
pub use tools::{
    command_sandbox, exec_server, file_arguments, parameter_names, reactor_list, sandbox_arguments,
    script_output,
};
