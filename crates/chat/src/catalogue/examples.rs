//! An example of every error.

use std::net::SocketAddr;

use agentx::config::{ConfigError, ConfigMistake, MistakeLocation, SettingOrigin};
use agentx::identity::{KeyError, KeyringError, PublicKey};
use agentx::runtime::{LogError, RuntimeError};
use agentx::types::{BlobId, SessionId};

use crate::error::ChatError;
use crate::exit::Exit;

/// Returns an error of every kind, in the order of the page.
pub(crate) fn all() -> Vec<ChatError> {
    [settings(), keys(), logs(), runtimes(), runs(), files()]
        .into_iter()
        .flatten()
        .collect()
}

fn session() -> SessionId {
    SessionId::new("ses_1")
}

/// A mistake in a value, wherever it was given.
fn mistake(at: MistakeLocation, key: &str) -> ChatError {
    let what = "expected a time with a unit such as `90s`, found \"10\"".into();
    ChatError::Config(ConfigError::Mistakes(vec![ConfigMistake {
        at,
        key: key.into(),
        what,
        nearest: Some("10s".into()),
    }]))
}

/// Returns the errors of settings, which occur before anything is done.
fn settings() -> Vec<ChatError> {
    vec![
        ChatError::usage("a command is missing", "agentx sandbox run -- COMMAND"),
        mistake(MistakeLocation::Flag("--timeout".into()), "limits.timeout"),
        mistake(MistakeLocation::Flag("config set".into()), "limits.timeout"),
        mistake(MistakeLocation::Env("AGENTX_TIMEOUT".into()), "limits.timeout"),
        ChatError::BadTool {
            name: "weather".into(),
            mistakes: vec![
                ".agentx/tools/weather.yaml:3:1: unknown key `endpont`; did you mean `endpoint`?".into(),
            ],
        },
        ChatError::Config(ConfigError::NoHome),
        ChatError::Config(ConfigError::File {
            path: "config.yaml".into(),
            what: "permission denied".into(),
        }),
        ChatError::Config(ConfigError::Edit {
            path: "config.yaml".into(),
            what: "the list of rules is written in a form that cannot be extended".into(),
            text: "add {effect: allow, tool: \"bash\"} to the list `rules`".into(),
        }),
        ChatError::UnknownModel {
            name: "x".into(),
            nearest: Vec::new(),
            origin: SettingOrigin::Default,
        },
        ChatError::UnknownModel {
            name: "sonet".into(),
            nearest: vec!["sonnet".into()],
            origin: SettingOrigin::Flag("--model".into()),
        },
        ChatError::MissingKey {
            model: "opus".into(),
            provider: "anthropic".into(),
            variable: "ANTHROPIC_API_KEY".into(),
            why: None,
            user_file: "config.yaml".into(),
        },
        ChatError::NoModel,
    ]
}

/// Returns the errors of identities and people.
fn keys() -> Vec<ChatError> {
    let keyring = ChatError::Keyring;
    vec![
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
        keyring(KeyringError::OpenDirectory {
            path: "/data".into(),
            mode: 0o777,
        }),
        keyring(KeyringError::ForeignFile {
            path: "/data/identity".into(),
            owner: 1000,
        }),
        keyring(KeyringError::ForeignDirectory {
            path: "/data".into(),
            owner: 1000,
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
        keyring(KeyringError::Key(KeyError::WrongPassphrase)),
        keyring(KeyringError::Key(KeyError::TooManyRounds {
            rounds: 1 << 31,
            most: 10_000,
        })),
        ChatError::NoIdentity {
            path: "/data/identity".into(),
        },
        ChatError::NoSession {
            workspace: "/ws".into(),
        },
        ChatError::NobodyDrives,
    ]
}

/// Returns the errors of the session log.
fn logs() -> Vec<ChatError> {
    let log = |error| ChatError::Runtime(RuntimeError::Log(error));
    vec![
        log(LogError::NotFound("ses_1".into())),
        log(LogError::NoBlob(BlobId::new("b3_1"))),
        log(LogError::Exists(session())),
        log(LogError::Busy {
            session: session(),
            process: 42,
            server: None,
        }),
        log(LogError::Busy {
            session: session(),
            process: 42,
            server: Some("http://127.0.0.1:5200".into()),
        }),
        ChatError::InUse {
            message: "session ses_1 is open in another AgentX (process 42); nothing was taken out".into(),
        },
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
        log(LogError::Locked {
            path: "sessions.db".into(),
        }),
        log(LogError::Store {
            path: "sessions.db".into(),
            what: "disk I/O error".into(),
        }),
    ]
}

/// Returns the errors of a runtime, here or on a server.
fn runtimes() -> Vec<ChatError> {
    vec![
        ChatError::Runtime(RuntimeError::Ambiguous {
            prefix: "a".into(),
            ids: vec!["ses_a1".into(), "ses_a2".into()],
        }),
        ChatError::Runtime(RuntimeError::UnknownModel {
            model: "x".into(),
            nearest: vec!["y".into()],
        }),
        ChatError::Runtime(RuntimeError::UnknownAgent {
            agent: "reviewr".into(),
            nearest: vec!["reviewer".into()],
        }),
        ChatError::Runtime(RuntimeError::BadAgent {
            agent: "reviewer".into(),
            what: ".agentx/agents/reviewer.yaml:3:1: unknown key `tool`".into(),
        }),
        ChatError::Runtime(RuntimeError::Unavailable {
            model: "x".into(),
            what: "set X_KEY".into(),
        }),
        ChatError::Runtime(RuntimeError::Refused("it is already decided".into())),
        ChatError::Runtime(RuntimeError::Denied("ada-1f2e (own_1) drives".into())),
        ChatError::Runtime(RuntimeError::Unreachable {
            endpoint: "http://127.0.0.1:5200".into(),
            what: "connection refused".into(),
        }),
        ChatError::Runtime(RuntimeError::Unreachable {
            endpoint: "https://127.0.0.1:5200".into(),
            what: "invalid peer certificate: UnknownIssuer".into(),
        }),
        ChatError::Runtime(RuntimeError::Remote {
            code: "unknown_person".into(),
            detail: "nobody here knows this key".into(),
        }),
        ChatError::Runtime(RuntimeError::Remote {
            code: "too_big".into(),
            detail: "the body has more than 16 MiB".into(),
        }),
        ChatError::Runtime(RuntimeError::not_offered("does not import sessions")),
        ChatError::Runtime(RuntimeError::Remote {
            code: "store_lost".into(),
            detail: "the server's data was removed or replaced while it was running: it can no longer save anything and must be restarted".into(),
        }),
        ChatError::Runtime(RuntimeError::WentBack {
            session: session(),
            seq: 99,
        }),
        ChatError::Runtime(RuntimeError::Gone {
            session: session(),
            why: "the disk is full".into(),
        }),
    ]
}

/// Returns the errors of runs and of checks.
fn runs() -> Vec<ChatError> {
    let run = |exit, code: &str, message: &str| ChatError::Run {
        exit,
        code: code.into(),
        message: message.into(),
    };
    vec![
        run(Exit::Failed, "failed", "it went wrong"),
        run(Exit::Credentials, "unauthorized", "invalid x-api-key"),
        run(Exit::Provider, "overloaded", "try again later"),
        run(Exit::Limit, "iteration_limit", "50 rounds are used up"),
        ChatError::NobodyAsked {
            calls: 1,
            allow: "agentx approvals add allow bash 'touch x' --here".into(),
        },
        run(
            Exit::Denied,
            "operator_needed",
            "bash still waits for the server's operator, who did not answer within 10m 0s; `agentx --connect https://agents.example run --session ses_1` shows the outcome",
        ),
        run(Exit::Interrupted, "interrupted", "the run was stopped"),
        ChatError::Damaged {
            session: "ses_1".into(),
            problems: vec!["event 18: the hash is another one".into()],
            good_events: 17,
        },
        ChatError::Changed {
            anchor: "anchor.json".into(),
            problems: vec!["ses_1: an event from 17 to 20 was changed".into()],
        },
        ChatError::Diverged {
            session: "ses_1".into(),
            first: 17,
            last: 20,
        },
    ]
}

/// Returns the errors of files and directories.
fn files() -> Vec<ChatError> {
    vec![
        ChatError::File {
            path: "file".into(),
            what: "permission denied".into(),
        },
        ChatError::Directory {
            path: "nowhere".into(),
            what: "no such directory".into(),
        },
        ChatError::DataDir {
            path: "/data".into(),
            what: "read-only file system".into(),
        },
        ChatError::Listen {
            address: SocketAddr::from(([127, 0, 0, 1], 5200)),
            what: "Address already in use (os error 98)".into(),
        },
        ChatError::Input {
            what: "id_ed25519: this is not the passphrase of the key".into(),
        },
        ChatError::Input {
            what: "key\u{1b}[2J.pem: the key is not usable".into(),
        },
        ChatError::Body {
            code: "bad_response".into(),
            message: "the answer is not an event stream: hello".into(),
        },
        ChatError::ClosedOutput,
        ChatError::ClosedTerminal,
    ]
}
