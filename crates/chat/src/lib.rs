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
pub mod branches;
pub mod cache_why;
#[cfg(test)]
mod catalogue;
pub mod chat;
pub mod chat_opening;
mod clipboard;
mod clipboard_picture;
pub mod command_sandbox;
mod config_error;
pub mod configuration;
pub mod connection_watch;
pub mod console;
pub mod default_model;
pub mod demo;
pub mod doctor;
pub mod error;
pub mod exit;
mod exit_words;
pub mod export;
pub mod failure;
pub mod folder;
pub mod follow;
pub mod headless;
pub mod import;
mod keyring_error;
pub mod mcp_changes;
mod mcp_command_line;
pub mod mcp_login;
pub mod mcp_servers;
pub mod mcp_serving;
pub mod memory;
pub mod model_facts;
pub mod models;
pub mod named_file;
pub mod new_agent;
pub mod other_programs;
pub mod other_server;
mod output;
pub mod parameter_names;
pub mod passphrase;
mod pending_change;
pub mod picker;
pub mod place;
pub mod provider_keys;
pub mod reactor_list;
pub mod refreshed_models;
pub mod refused_line;
pub mod render;
pub mod rules;
pub mod run_failure;
mod runtime_error;
pub mod sandbox_arguments;
pub mod script_output;
pub mod secret_scan;
pub mod seen_notes;
pub mod server_patience;
pub mod session_opening;
mod session_status;
pub mod sessions_here;
pub mod show;
pub mod signals;
pub mod spectator;
pub mod spending;
mod stop_request;
pub mod stored_sessions;
pub mod terminal;
#[cfg(test)]
mod testing;
pub mod untrusted_files;
