//! Every error that there is, with an example of each. docs/ERRORS.md is made of it: `UPDATE_DOCS=1 cargo test -p agentx-cli
//! catalogue` writes it anew.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use agentx::config::{At, ConfigError, Mistake, Origin};
use agentx::identity::{KeyError, KeyringError, PublicKey};
use agentx::runtime::{LogError, RuntimeError};
use agentx::types::{BlobId, SessionId};

use crate::error::CliError;
use crate::exit::Exit;
use crate::failure::{exit_of, hint_after_run};

/// What the page says before its tables.
const HEAD: &str = "# Errors

Made from the code: `UPDATE_DOCS=1 cargo test -p agentx-cli catalogue` writes it anew.

An error is a line `error: …` on standard error, often one `hint: …` that says what to do, and an [exit code](CLI.md#exit-codes). Where a [result](PROTOCOL.md#the-result-of-a-headless-run)
is wanted, its field `error` has the same as `kind`, `message` and `hint`. Kinds are stable; the words after them are examples.

## Commands
";

/// What stands before the table of runs.
const RUNS: &str = "
## Runs

How a run can fail that had begun. The message is what the model's server or the runtime said; the kind is the code of the failure.
";

/// The names of all variants, those inside others too.
const EVERY: &[&str] = &[
    "ambiguous",
    "bad_agent",
    "busy",
    "closed_output",
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
    "input",
    "key",
    "keyring_busy",
    "keyring_damaged",
    "keyring_exists",
    "keyring_file",
    "keyring_readable",
    "keyring_writable",
    "listen",
    "missing_key",
    "newer",
    "no_blob",
    "no_identity",
    "no_session",
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
];

/// Codes with which a run can fail.
const CODES: &[&str] = &[
    "missing_key",
    "unauthorized",
    "forbidden",
    "billing",
    "not_found",
    "bad_request",
    "too_large",
    "context_window",
    "rate_limited",
    "overloaded",
    "server_error",
    "timeout",
    "connection_failed",
    "connection_lost",
    "tls",
    "redirected",
    "stream_broken",
    "bad_response",
    "bad_generation",
    "content_filter",
    "disk_full",
    "storage",
];

#[allow(clippy::too_many_lines, reason = "a list of examples")]
pub(crate) fn all() -> Vec<CliError> {
    let session = || SessionId::new("ses_1");
    let log = |error| CliError::Runtime(RuntimeError::Log(error));
    let keyring = CliError::Keyring;
    let mistake = |at, key: &str| {
        let what = "expected a time with a unit such as `90s`, found \"10\"".into();
        CliError::Config(ConfigError::Mistakes(vec![Mistake {
            at,
            key: key.into(),
            what,
            nearest: Some("10s".into()),
        }]))
    };
    let run = |exit, code: &str, message: &str| CliError::Run {
        exit,
        code: code.into(),
        message: message.into(),
    };
    vec![
        CliError::usage("a mistake", "how to do it"),
        mistake(At::Flag("--timeout".into()), "limits.timeout"),
        mistake(At::Flag("config set".into()), "limits.timeout"),
        mistake(At::Env("AGENTX_TIMEOUT".into()), "limits.timeout"),
        CliError::Config(ConfigError::NoHome),
        CliError::Config(ConfigError::File {
            path: "config.yaml".into(),
            what: "permission denied".into(),
        }),
        CliError::Config(ConfigError::Edit {
            path: "config.yaml".into(),
            what: "the list of rules is written in a way that cannot be added to".into(),
            text: "rules:\n  - {effect: allow, tool: \"bash\"}\n".into(),
        }),
        CliError::UnknownModel {
            name: "x".into(),
            nearest: Vec::new(),
            origin: Origin::Default,
        },
        CliError::UnknownModel {
            name: "sonet".into(),
            nearest: vec!["sonnet".into()],
            origin: Origin::Flag("--model".into()),
        },
        CliError::MissingKey {
            model: "opus".into(),
            variable: "ANTHROPIC_API_KEY".into(),
            user_file: "config.yaml".into(),
        },
        keyring(KeyringError::File {
            path: "/data/identity".into(),
            what: "permission denied".into(),
        }),
        keyring(KeyringError::Readable {
            path: "/data/identity".into(),
            mode: 0o644,
        }),
        keyring(KeyringError::Writable {
            path: "/data/people.json".into(),
            mode: 0o666,
        }),
        keyring(KeyringError::Damaged {
            path: "/data/people.json".into(),
            line: 3,
            what: "expected `,`".into(),
        }),
        keyring(KeyringError::Exists {
            path: "/data/identity".into(),
            key: PublicKey::from_bytes([7; 32]),
        }),
        keyring(KeyringError::Busy {
            path: "/data/keyring.lock".into(),
        }),
        keyring(KeyringError::Key(KeyError::Encrypted)),
        CliError::NoIdentity {
            path: "/data/identity".into(),
        },
        CliError::NoSession {
            workspace: "/ws".into(),
        },
        log(LogError::NotFound("ses_1".into())),
        log(LogError::NoBlob(BlobId::new("b3_1"))),
        log(LogError::Exists(session())),
        log(LogError::Busy {
            session: session(),
            process: 42,
        }),
        log(LogError::Fenced {
            session: session(),
            epoch: 3,
        }),
        log(LogError::Corrupt {
            session: session(),
            seq: 17,
            what: "the hash is another one".into(),
        }),
        log(LogError::Newer {
            path: "sessions.db".into(),
            found: 9,
            known: 1,
        }),
        log(LogError::Full {
            path: "sessions.db".into(),
        }),
        log(LogError::Store {
            path: "sessions.db".into(),
            what: "disk I/O error".into(),
        }),
        CliError::Runtime(RuntimeError::Ambiguous {
            prefix: "a".into(),
            ids: vec!["ses_a1".into(), "ses_a2".into()],
        }),
        CliError::Runtime(RuntimeError::UnknownModel {
            model: "x".into(),
            nearest: vec!["y".into()],
        }),
        CliError::Runtime(RuntimeError::UnknownAgent {
            agent: "reviewr".into(),
            nearest: vec!["reviewer".into()],
        }),
        CliError::Runtime(RuntimeError::BadAgent {
            agent: "reviewer".into(),
            what: ".agentx/agents/reviewer.yaml:3:1: unknown key `tool`".into(),
        }),
        CliError::Runtime(RuntimeError::Unavailable {
            model: "x".into(),
            what: "set X_KEY".into(),
        }),
        CliError::Runtime(RuntimeError::Refused("it is already decided".into())),
        CliError::Runtime(RuntimeError::Denied("ada-1f2e (own_1) drives".into())),
        CliError::Runtime(RuntimeError::Unreachable {
            endpoint: "http://127.0.0.1:5200".into(),
            what: "connection refused".into(),
        }),
        CliError::Runtime(RuntimeError::Unreachable {
            endpoint: "https://127.0.0.1:5200".into(),
            what: "invalid peer certificate: UnknownIssuer".into(),
        }),
        CliError::Runtime(RuntimeError::Remote {
            code: "unknown_person".into(),
            detail: "nobody here knows this key".into(),
        }),
        CliError::Runtime(RuntimeError::Remote {
            code: "too_big".into(),
            detail: "the body has more than 16 MiB".into(),
        }),
        CliError::Runtime(RuntimeError::not_offered("takes no sessions in")),
        CliError::Runtime(RuntimeError::Gone {
            session: session(),
            why: "the disk is full".into(),
        }),
        run(Exit::Failed, "failed", "it went wrong"),
        run(Exit::Credentials, "unauthorized", "invalid x-api-key"),
        run(Exit::Provider, "overloaded", "try again later"),
        run(Exit::Limit, "iteration_limit", "50 rounds are used up"),
        run(
            Exit::Denied,
            "approval_needed",
            "1 call was refused because nobody could be asked",
        ),
        run(Exit::Interrupted, "interrupted", "the run was stopped"),
        CliError::Damaged {
            session: "ses_1".into(),
            problems: vec!["event 18: the hash is another one".into()],
            good_events: 17,
        },
        CliError::Diverged {
            session: "ses_1".into(),
            first: 17,
            last: 20,
        },
        CliError::File {
            path: "file".into(),
            what: "permission denied".into(),
        },
        CliError::Directory {
            path: "nowhere".into(),
            what: "no such directory".into(),
        },
        CliError::DataDir {
            path: "/data".into(),
            what: "read-only file system".into(),
        },
        CliError::Listen {
            address: SocketAddr::from(([127, 0, 0, 1], 5200)),
            what: "Address already in use (os error 98)".into(),
        },
        CliError::Input {
            what: "not what it should be".into(),
        },
        CliError::Input {
            what: "signs \u{1b}[2J that drive a terminal are shown".into(),
        },
        CliError::ClosedOutput,
    ]
}

/// Which variant it is. A new one has no name here until somebody gives it one, an entry in [`EVERY`] and an example.
fn name_of(error: &CliError) -> &'static str {
    match error {
        CliError::Usage { .. } => "usage",
        CliError::Config(ConfigError::Mistakes(_)) => "config_mistakes",
        CliError::Config(ConfigError::File { .. }) => "config_file",
        CliError::Config(ConfigError::NoHome) => "config_no_home",
        CliError::Config(ConfigError::Edit { .. }) => "config_edit",
        CliError::Keyring(error) => match error {
            KeyringError::File { .. } => "keyring_file",
            KeyringError::Readable { .. } => "keyring_readable",
            KeyringError::Writable { .. } => "keyring_writable",
            KeyringError::Damaged { .. } => "keyring_damaged",
            KeyringError::Exists { .. } => "keyring_exists",
            KeyringError::Busy { .. } => "keyring_busy",
            KeyringError::Key(_) => "key",
        },
        CliError::NoIdentity { .. } => "no_identity",
        CliError::Runtime(error) => name_there(error),
        CliError::UnknownModel { .. } => "unknown_model",
        CliError::MissingKey { .. } => "missing_key",
        CliError::NoSession { .. } => "no_session",
        CliError::Run { .. } => "run",
        CliError::Damaged { .. } => "damaged",
        CliError::Diverged { .. } => "diverged",
        CliError::File { .. } => "file",
        CliError::Directory { .. } => "directory",
        CliError::DataDir { .. } => "data_dir",
        CliError::Listen { .. } => "listen",
        CliError::Input { .. } => "input",
        CliError::ClosedOutput => "closed_output",
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
            LogError::Store { .. } => "store",
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
        .filter(|error| !matches!(error, CliError::Run { .. }))
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
        let hint = hint_after_run(exit, code).unwrap_or_default();
        text.push_str(&format!("| `{code}` | {} | {} |\n", exit.code(), cell(&hint)));
    }
    for (exit, words) in [
        (Exit::Limit, "a limit of the run"),
        (Exit::Denied, "an approval that nobody could give"),
        (Exit::Failed, "anything else"),
    ] {
        let hint = hint_after_run(exit, "").unwrap_or_default();
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
        "docs/ERRORS.md is not what the code says: UPDATE_DOCS=1 writes it anew\n{}",
        page()
    );
}
