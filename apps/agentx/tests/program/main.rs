//! The program as its users start it: commands, chats in a terminal, servers. One binary, because each one
//! links the whole runtime.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot start fails")]

mod anchors;
mod another_folder;
mod approvals;
mod azure;
mod background;
mod broken_answers;
mod broken_files;
mod browser;
mod built_in_agents;
mod cache_why;
mod chat;
mod claude_files;
mod clouds;
mod config;
mod converse;
mod damaged;
mod data_directory;
mod databases;
mod day_limit;
mod debug;
mod elsewhere;
mod ends;
mod environment;
mod errors;
mod examples;
mod exec_server;
mod files_along;
mod first_hour;
mod full_disk;
mod full_queue;
mod gemini;
mod gone_on_with;
mod help;
mod identity;
#[cfg(unix)]
mod imported;
mod instructions;
mod judging;
mod left_behind;
mod left_queued;
mod limit_question;
#[cfg(unix)]
mod mcp;
mod mcp_login;
#[cfg(unix)]
mod mcp_questions;
mod mcp_token;
mod memory;
mod misnamed;
mod mistakes;
mod model_lists;
mod names_of_people;
mod newcomer;
mod only_a_person;
mod openhands;
mod other_programs;
mod other_server;
mod own_commands;
mod own_server;
mod picker;
mod plan_mode;
mod planted;
mod prompt_files;
mod provider;
mod reading;
mod redaction;
mod remote;
mod remote_agents;
mod remote_chat;
mod replaced;
mod responses;
mod rewind;
mod run;
mod sandbox;
#[cfg(unix)]
mod secret_scan;
mod session_changes;
mod sessions;
mod shared_limits;
mod show;
mod signals;
mod slash_commands;
mod thief;
mod trust;
mod typed_answer;
mod unknown_outcome;
mod upkeep;
mod waiting_questions;
mod waits;
mod watch;
mod web_pages;
mod webhooks;
mod writing;

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/logins.rs"]
mod logins;
#[cfg(unix)]
#[path = "../common/models.rs"]
mod models;
#[cfg(unix)]
#[path = "../common/pty.rs"]
mod pty;
#[cfg(unix)]
#[path = "../common/serving.rs"]
mod serving;
#[cfg(unix)]
#[path = "../../../../crates/chat/src/testing/terminal.rs"]
#[allow(dead_code, reason = "the tests of the screen use more of it")]
mod terminal;
