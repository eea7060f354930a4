//! Checks the documents: README and docs/ show what the program does, their tables match the code, their
//! links have targets. Blocks marked `console` are run, line by line, and their output is compared.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "docs/changelog.rs"]
mod changelog;
#[path = "docs/commands.rs"]
mod commands;
#[path = "docs/connection.rs"]
mod connection;
#[path = "docs/console.rs"]
mod console;
#[path = "docs/library.rs"]
mod library;
#[path = "docs/links.rs"]
mod links;
#[path = "docs/markdown.rs"]
mod markdown;
#[path = "docs/named_tests.rs"]
mod named_tests;
#[path = "docs/protocol.rs"]
mod protocol;
#[path = "docs/questions.rs"]
mod questions;
#[path = "docs/settings.rs"]
mod settings;

/// Fails with everything that is wrong, a line each.
#[track_caller]
fn none(wrong: &[String], rule: &str) {
    assert!(wrong.is_empty(), "{rule}:\n  {}", wrong.join("\n  "));
}
