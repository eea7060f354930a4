//! Every error, with an example. docs/ERRORS.md is made from this list:
//! `UPDATE_DOCS=1 cargo test -p agentx-chat catalogue` writes it again.

mod examples;

use std::collections::BTreeSet;

use agentx::config::ConfigError;
use agentx::identity::KeyringError;
use agentx::runtime::{LogError, RuntimeError};

use crate::error::ChatError;
use crate::exit::Exit;
use crate::exit::run_failure::{ANSWER_NEEDED, NEEDED, WAITS, exit_of, hint_after_run};

pub(crate) use examples::all;

/// The text of the page before its tables.
const HEAD: &str = "# Errors

This page is generated: `UPDATE_DOCS=1 cargo test -p agentx-chat catalogue` updates it.

An error is a line `error: …` on standard error, often one `hint: …` that says what to do, and an
[exit code](CLI.md#exit-codes). In a [result object](PROTOCOL.md#the-result-of-a-headless-run), the field
`error` has `kind`, `message` and `hint`. Kinds are stable; the texts after them are examples.

## Commands
";

/// The text before the table of runs.
const RUNS: &str = "
## Runs

The failures of a run after its start. The message is from the model's server or the runtime; the kind is the
code of the failure.
";

/// The names of all variants, those inside others too.
const EVERY: &[&str] = &[
    "ambiguous",
    "bad_agent",
    "bad_tool",
    "body",
    "busy",
    "changed",
    "closed_output",
    "closed_terminal",
    "config_edit",
    "config_file",
    "config_mistakes",
    "config_no_home",
    "corrupt",
    "damaged",
    "data_dir",
    "denied",
    "directory",
    "diverged",
    "exists",
    "fenced",
    "file",
    "full",
    "gone",
    "in_use",
    "input",
    "key",
    "keyring_busy",
    "keyring_damaged",
    "keyring_exists",
    "keyring_file",
    "keyring_foreign_directory",
    "keyring_foreign_file",
    "keyring_open_directory",
    "keyring_readable",
    "keyring_writable",
    "listen",
    "locked",
    "missing_key",
    "no_model",
    "newer",
    "no_blob",
    "no_identity",
    "no_session",
    "nobody_asked",
    "not_found",
    "refused",
    "remote",
    "run",
    "store",
    "unavailable",
    "unknown_agent",
    "unknown_model",
    "unknown_model_there",
    "unreachable",
    "usage",
    "went_back",
];

/// Codes with which a run can fail.
const CODES: &[&str] = &[
    "missing_key",
    "bad_address",
    "bad_key",
    "unauthorized",
    "forbidden",
    "billing",
    "not_found",
    "bad_request",
    "conflict",
    "too_large",
    "context_window",
    "rate_limited",
    "overloaded",
    "server_error",
    "timeout",
    "connection_failed",
    "connection_lost",
    "proxy_login",
    "tls",
    "redirected",
    "other_server",
    "stream_broken",
    "bad_response",
    "bad_generation",
    "content_filter",
    "empty_pause",
    "endless_pause",
    "answer_cut_off",
    "empty_answer",
    "stuck",
    "day_limit",
    "disk_full",
    "storage",
];

/// Returns the name of the variant. A new variant needs a name here, an entry in [`EVERY`] and an example.
fn name_of(error: &ChatError) -> &'static str {
    match error {
        ChatError::Usage { .. } => "usage",
        ChatError::BadTool { .. } => "bad_tool",
        ChatError::Config(ConfigError::Mistakes(_)) => "config_mistakes",
        ChatError::Config(ConfigError::File { .. }) => "config_file",
        ChatError::Config(ConfigError::NoHome) => "config_no_home",
        ChatError::Config(ConfigError::Edit { .. }) => "config_edit",
        ChatError::Keyring(error) => match error {
            KeyringError::File { .. } => "keyring_file",
            KeyringError::Readable { .. } => "keyring_readable",
            KeyringError::Writable { .. } => "keyring_writable",
            KeyringError::OpenDirectory { .. } => "keyring_open_directory",
            KeyringError::ForeignFile { .. } => "keyring_foreign_file",
            KeyringError::ForeignDirectory { .. } => "keyring_foreign_directory",
            KeyringError::Damaged { .. } => "keyring_damaged",
            KeyringError::Exists { .. } => "keyring_exists",
            KeyringError::Busy { .. } => "keyring_busy",
            KeyringError::Key(_) => "key",
        },
        ChatError::NoIdentity { .. } => "no_identity",
        ChatError::Runtime(error) => name_there(error),
        ChatError::UnknownModel { .. } => "unknown_model",
        ChatError::MissingKey { .. } => "missing_key",
        ChatError::NoModel => "no_model",
        ChatError::NoSession { .. } | ChatError::NobodyDrives => "no_session",
        ChatError::InUse { .. } => "in_use",
        ChatError::Run { .. } | ChatError::Unanswered { .. } => "run",
        ChatError::NobodyAsked { .. } => "nobody_asked",
        ChatError::Body { .. } => "body",
        ChatError::Damaged { .. } => "damaged",
        ChatError::Changed { .. } => "changed",
        ChatError::Diverged { .. } => "diverged",
        ChatError::File { .. } => "file",
        ChatError::Directory { .. } => "directory",
        ChatError::DataDir { .. } => "data_dir",
        ChatError::Listen { .. } => "listen",
        ChatError::Input { .. } => "input",
        ChatError::ClosedOutput => "closed_output",
        ChatError::ClosedTerminal => "closed_terminal",
    }
}

fn name_there(error: &RuntimeError) -> &'static str {
    match error {
        RuntimeError::Log(error) => match error {
            LogError::NotFound(_) => "not_found",
            LogError::NoBlob(_) => "no_blob",
            LogError::Exists(_) => "exists",
            LogError::Busy { .. } => "busy",
            LogError::Fenced { .. } => "fenced",
            LogError::Corrupt { .. } => "corrupt",
            LogError::Newer { .. } => "newer",
            LogError::Full { .. } => "full",
            LogError::Locked { .. } => "locked",
            // Also the errors of later versions, until they are named here.
            _ => "store",
        },
        RuntimeError::Ambiguous { .. } => "ambiguous",
        RuntimeError::UnknownModel { .. } => "unknown_model_there",
        RuntimeError::UnknownAgent { .. } => "unknown_agent",
        RuntimeError::BadAgent { .. } => "bad_agent",
        RuntimeError::Unavailable { .. } => "unavailable",
        RuntimeError::Refused(_) => "refused",
        RuntimeError::Denied(_) => "denied",
        RuntimeError::Unreachable { .. } => "unreachable",
        RuntimeError::Remote { .. } => "remote",
        RuntimeError::WentBack { .. } => "went_back",
        RuntimeError::Gone { .. } => "gone",
    }
}

/// A cell of a table.
fn cell(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(crate::render::clean::visible).collect();
    lines.join("; ").replace('|', "\\|").replace('<', "&lt;")
}

fn page() -> String {
    let mut text =
        format!("{HEAD}\n| kind | exit | says, for example | what to do |\n| --- | --- | --- | --- |\n");
    for error in all()
        .iter()
        .filter(|error| !matches!(error, ChatError::Run { .. }))
    {
        text.push_str(&format!(
            "| `{}` | {} | {} | {} |\n",
            error.kind(),
            error.exit().code(),
            cell(&error.to_string()),
            cell(&error.hint().unwrap_or_default())
        ));
    }
    text.push_str(&format!(
        "{RUNS}\n| kind | exit | what to do |\n| --- | --- | --- |\n"
    ));
    for code in CODES {
        let exit = exit_of(code);
        let hint = hint_after_run(exit, code, "").unwrap_or_default();
        text.push_str(&format!("| `{code}` | {} | {} |\n", exit.code(), cell(&hint)));
    }
    for (exit, code) in [
        (Exit::Denied, NEEDED),
        (Exit::Denied, ANSWER_NEEDED),
        (Exit::Waits, WAITS),
    ] {
        let hint = hint_after_run(exit, code, "").unwrap_or_default();
        text.push_str(&format!("| `{code}` | {} | {} |\n", exit.code(), cell(&hint)));
    }
    for (exit, words) in [
        (Exit::Limit, "a limit of the run"),
        (Exit::Denied, "an approval that nobody could give"),
        (Exit::Failed, "anything else"),
    ] {
        let hint = hint_after_run(exit, "", "").unwrap_or_default();
        text.push_str(&format!("| {words} | {} | {} |\n", exit.code(), cell(&hint)));
    }
    text
}

#[test]
fn every_error_has_an_example() {
    let named: BTreeSet<&str> = all().iter().map(name_of).collect();
    assert_eq!(named, EVERY.iter().copied().collect());
    for code in CODES {
        assert_ne!(exit_of(code), Exit::Failed, "{code}");
    }
}

#[test]
fn the_page_of_errors_is_made_from_the_code() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ERRORS.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        assert!(std::fs::write(path, page()).is_ok(), "{path}");
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        written == page(),
        "docs/ERRORS.md differs from the code: UPDATE_DOCS=1 updates it\n{}",
        page()
    );
}
