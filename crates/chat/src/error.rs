//! The errors of the front end for people and programs: a kind, a message, a hint, an exit code.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::exit::config_error::{config_hint, is_typed};
use crate::exit::in_use::{IN_USE, listen_hint};
use crate::exit::run_failure::{hint_after_run, hint_without_answer};
use crate::exit::runtime_error::{runtime_exit, runtime_hint, runtime_kind, unlisted_model};
use crate::exit::{Exit, keyring_error};
use agentx::config::{ConfigError, SettingOrigin, in_place_of_key};
use agentx::identity::KeyringError;
use agentx::runtime::{LogError, RuntimeError};
use serde_json::{Value, json};

pub use crate::exit::runtime_error::operator_only_error;
use crate::render::units::counted;

/// The error of a command.
#[derive(Debug)]
#[expect(missing_docs, reason = "each variant says what its fields hold")]
pub enum ChatError {
    /// The command line is invalid.
    Usage { message: String, hint: String },
    /// The configuration has mistakes.
    Config(ConfigError),
    /// The file of the named tool has mistakes, each with its place.
    BadTool { name: String, mistakes: Vec<String> },
    /// The files with the identity and the trusted people have errors.
    Keyring(KeyringError),
    /// No identity has been created yet.
    NoIdentity { path: String },
    /// The runtime returned an error.
    Runtime(RuntimeError),
    /// The model is unknown; `origin` is the source of its name.
    UnknownModel {
        name: String,
        nearest: Vec<String>,
        origin: SettingOrigin,
    },
    /// The API key of the model is missing.
    MissingKey {
        model: String,
        provider: String,
        variable: String,
        /// The reason why the cloud credentials that were found cannot replace the key.
        why: Option<String>,
        user_file: PathBuf,
    },
    /// No model is connected, and a command needs one.
    NoModel,
    /// There is no session to continue.
    NoSession { workspace: String },
    /// No session is being driven now.
    NobodyDrives,
    /// Another process has the session open, and what was asked for needs it closed.
    InUse { message: String },
    /// A run failed; `message` is from the model or the runtime.
    Run {
        exit: Exit,
        code: String,
        message: String,
    },
    /// A run failed before the model said or did anything, so there is nothing to continue.
    Unanswered {
        exit: Exit,
        code: String,
        message: String,
    },
    /// Calls of a run were refused because nobody could be asked; the command that allows the first of them.
    NobodyAsked { calls: u32, allow: String },
    /// A response body that is not what its API promises, or that says that the request failed.
    Body { code: String, message: String },
    /// The stored bytes of a session are damaged.
    Damaged {
        session: String,
        problems: Vec<String>,
        good_events: u64,
    },
    /// Sessions lost or changed events since an anchor was written.
    Changed { anchor: String, problems: Vec<String> },
    /// A replay of a session derived something else than the live session did.
    Diverged { session: String, first: u64, last: u64 },
    /// A file or a stream that cannot be read or written.
    File { path: String, what: String },
    /// A named directory in which AgentX cannot work.
    Directory { path: String, what: String },
    /// The data directory cannot be created.
    DataDir { path: String, what: String },
    /// An address cannot be listened at.
    Listen { address: SocketAddr, what: String },
    /// The input of the person is not valid.
    Input { what: String },
    /// The reader has closed the output.
    ClosedOutput,
    /// The terminal that is written to was closed.
    ClosedTerminal,
}

impl ChatError {
    /// A mistake on the command line.
    pub fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Usage {
            message: message.into(),
            hint: hint.into(),
        }
    }

    /// Returns the error of the runtime about an event; a mistake of the command line if the event was named
    /// with `--at`.
    pub fn about_event(error: RuntimeError, at: Option<u64>, hint: &str) -> Self {
        match (error, at) {
            (RuntimeError::Refused(message), Some(_)) => Self::usage(message, hint),
            (error, _) => Self::Runtime(error),
        }
    }

    /// Returns the error for a program without a session: if nothing could be written, no session exists to
    /// continue.
    pub fn unsaved(self) -> Self {
        match self {
            Self::Runtime(RuntimeError::Log(LogError::Full { .. } | LogError::Locked { .. })) => Self::Run {
                exit: self.exit(),
                code: self.kind().to_owned(),
                message: self.to_string().replace("nothing of the last step", "nothing"),
            },
            error => error,
        }
    }

    /// Returns the stable name of the error for programs.
    pub fn kind(&self) -> &str {
        match self {
            Self::Usage { .. } => "usage",
            Self::Config(error) if error.is_disk_full() => "disk_full",
            Self::Config(_) => "config",
            Self::BadTool { .. } => "bad_tool",
            Self::Keyring(error) => keyring_error::kind(error),
            Self::NoIdentity { .. } => "no_identity",
            Self::Runtime(error) => runtime_kind(error),
            Self::UnknownModel { .. } => "unknown_model",
            Self::MissingKey { .. } => "missing_key",
            Self::NoModel => "no_model",
            Self::NoSession { .. } | Self::NobodyDrives => "no_session",
            Self::InUse { .. } => "session_busy",
            Self::Run { code, .. } | Self::Unanswered { code, .. } | Self::Body { code, .. } => code,
            Self::NobodyAsked { .. } => "approval_needed",
            Self::Damaged { .. } => "damaged",
            Self::Changed { .. } => "changed",
            Self::Diverged { .. } => "diverged",
            Self::File { .. } => "file",
            Self::Directory { .. } => "directory",
            Self::DataDir { .. } => "storage",
            Self::Listen { .. } => "listen",
            Self::Input { .. } => "input",
            Self::ClosedOutput => "closed_output",
            Self::ClosedTerminal => "closed_terminal",
        }
    }

    /// Returns the exit code of the program.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Usage { .. } | Self::Input { .. } | Self::Directory { .. } => Exit::Usage,
            Self::Config(error) if is_typed(error) => Exit::Usage,
            Self::Config(error) if error.is_disk_full() => Exit::Storage,
            Self::Config(_) | Self::BadTool { .. } => Exit::Config,
            Self::Keyring(error) => keyring_error::exit(error),
            Self::NoIdentity { .. } => Exit::Credentials,
            Self::Runtime(error) => runtime_exit(error),
            Self::UnknownModel {
                origin: SettingOrigin::Flag(_),
                ..
            } => Exit::Usage,
            Self::UnknownModel { .. } => Exit::Config,
            Self::MissingKey { .. } | Self::NoModel => Exit::Credentials,
            Self::NoSession { .. } | Self::NobodyDrives | Self::InUse { .. } => Exit::Session,
            Self::Run { exit, .. } | Self::Unanswered { exit, .. } => *exit,
            Self::NobodyAsked { .. } => Exit::Denied,
            Self::Body { .. } => Exit::Provider,
            Self::Damaged { .. } | Self::Changed { .. } | Self::Diverged { .. } | Self::DataDir { .. } => {
                Exit::Storage
            }
            Self::File { .. } | Self::Listen { .. } => Exit::Failed,
            Self::ClosedOutput => Exit::Ok,
            Self::ClosedTerminal => Exit::HungUp,
        }
    }

    /// Returns the advice to the person.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Usage { hint, .. } => Some(hint.clone()).filter(|hint| !hint.is_empty()),
            Self::Config(error) => config_hint(error),
            Self::BadTool { .. } => Some("`agentx tools check` shows all errors".into()),
            Self::Keyring(error) => error.hint(),
            Self::NoIdentity { .. } => Some("`agentx identity new` creates one".into()),
            Self::Runtime(error) => runtime_hint(error),
            Self::UnknownModel { nearest, .. } if !nearest.is_empty() => Some(format!(
                "did you mean {}? `agentx models` lists them all",
                nearest.join(", ")
            )),
            Self::UnknownModel { name, .. } => Some(unlisted_model(name)),
            Self::MissingKey {
                provider,
                variable,
                user_file,
                ..
            } => Some(format!(
                "export {variable} and restart{}; or write `providers.{provider}.api_key: ${{MY_KEY}}` in {}",
                in_place_of_key(variable).map_or(String::new(), |ways| format!("; or {ways}")),
                user_file.display()
            )),
            Self::NoModel => Some(
                "set ANTHROPIC_API_KEY or OPENAI_API_KEY, or OPENAI_BASE_URL for your own server; `--model demo` uses the offline demo, which is a script"
                    .into(),
            ),
            Self::NobodyDrives => {
                Some("`agentx watch ID` waits until somebody drives it; `agentx resume` drives one yourself".into())
            }
            Self::InUse { .. } => Some(IN_USE.into()),
            Self::NoSession { .. } => Some(
                "`agentx sessions list` shows the sessions of all directories; `agentx` starts a new one".into(),
            ),
            Self::Run { exit, code, message } => hint_after_run(*exit, code, message),
            Self::Unanswered { exit, code, message } => hint_without_answer(*exit, code, message),
            Self::NobodyAsked { allow, .. } => Some(format!("allow it in this folder with a rule: {allow}; or run with --yes")),
            Self::Damaged {
                session, good_events, ..
            } if *good_events > 0 => Some(format!(
                "the first {good_events} events are intact: `agentx fork {session} --at {good_events}` continues from there"
            )),
            Self::Changed { .. } => {
                Some("keep both the anchor and the data directory; an earlier copy has what is missing".into())
            }
            Self::Diverged { .. } => Some(
                "nothing is lost: the stored events are intact; this version derives different results from them"
                    .into(),
            ),
            Self::DataDir { .. } => Some("choose another directory with --data or AGENTX_DATA".into()),
            Self::Directory { .. } => Some("--cwd names the directory to work in; it has to exist".into()),
            Self::Listen { address, what } => listen_hint(address, what),
            Self::Damaged { .. }
            | Self::File { .. }
            | Self::Input { .. }
            | Self::Body { .. }
            | Self::ClosedOutput
            | Self::ClosedTerminal => None,
        }
    }

    /// Returns the error as a part of a result object; its hint names the server of this address.
    pub(crate) fn to_json(&self, server: Option<&str>) -> Value {
        let mut object = json!({ "kind": self.kind(), "message": self.to_string() });
        if let Some(hint) = self.hint() {
            object["hint"] = Value::from(hint_at(&hint, server));
        }
        object
    }

    /// Returns the text that people read on standard error. If it is about a session of the server at this
    /// address, the commands of the hint name it.
    pub(crate) fn render_at(&self, server: Option<&str>) -> String {
        let mut text = String::new();
        let message = self.to_string();
        for (i, line) in message.lines().enumerate() {
            text.push_str(if i == 0 { "error: " } else { "       " });
            text.push_str(&crate::render::clean::visible(line));
            text.push('\n');
        }
        if let Some(hint) = self.hint() {
            let hint = hint_at(&hint, server);
            text.push_str(&format!("hint: {}\n", crate::render::clean::visible(&hint)));
        }
        text
    }
}

impl fmt::Display for ChatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage { message, .. } => f.write_str(message),
            Self::Config(error) => write!(f, "{error}"),
            Self::BadTool { name, mistakes } => {
                write!(f, "the file of tool {name:?} has errors\n{}", mistakes.join("\n"))
            }
            Self::Keyring(error) => write!(f, "{error}"),
            Self::NoIdentity { path } => write!(f, "no identity has been created yet: {path} does not exist"),
            Self::Runtime(RuntimeError::UnknownModel { model, .. }) => write!(f, "unknown model `{model}`"),
            Self::Runtime(RuntimeError::Ambiguous { prefix, ids }) if ids.len() == 1 => {
                write!(
                    f,
                    "{prefix:?} is too short to name a session; it fits {}",
                    ids.join(", ")
                )
            }
            Self::Runtime(error) => write!(f, "{error}"),
            Self::UnknownModel { name, origin, .. } => match origin {
                SettingOrigin::Default => write!(f, "unknown model `{name}`"),
                origin => write!(f, "unknown model `{name}` ({origin})"),
            },
            Self::MissingKey {
                model, variable, why, ..
            } => {
                write!(f, "model {model} needs an API key, and {variable} is not set")?;
                why.as_ref().map_or(Ok(()), |why| write!(f, "; {why}"))
            }
            Self::NoModel => f.write_str("no model is connected: no API key and no server is configured"),
            Self::NobodyDrives => f.write_str("no session is active in another program"),
            Self::NoSession { workspace } => write!(f, "there is no session in {workspace} to continue"),
            Self::Run { message, .. }
            | Self::Unanswered { message, .. }
            | Self::Body { message, .. }
            | Self::InUse { message } => f.write_str(message),
            Self::NobodyAsked { calls, .. } => {
                let were = if *calls == 1 { "was" } else { "were" };
                write!(
                    f,
                    "{} {were} refused because nobody could be asked",
                    counted(*calls, "call")
                )
            }
            Self::Damaged {
                session, problems, ..
            } => {
                write!(f, "session {session} is damaged")?;
                problems.iter().try_for_each(|problem| write!(f, "\n{problem}"))
            }
            Self::Changed { anchor, problems } => {
                write!(f, "sessions differ from {anchor}")?;
                problems.iter().try_for_each(|problem| write!(f, "\n{problem}"))
            }
            Self::Diverged { session, first, last } => {
                write!(
                    f,
                    "replaying session {session} gives different results than the live run, first in events {first} to {last}"
                )
            }
            Self::File { path, what } | Self::Directory { path, what } => write!(f, "{path}: {what}"),
            Self::DataDir { path, what } => write!(f, "cannot keep sessions in {path}: {what}"),
            Self::Listen { address, what } => write!(f, "cannot listen on {address}: {what}"),
            Self::Input { what } => f.write_str(what),
            Self::ClosedOutput => f.write_str("the reader of the output is gone"),
            Self::ClosedTerminal => f.write_str("the terminal was closed"),
        }
    }
}

impl From<ConfigError> for ChatError {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}

impl From<KeyringError> for ChatError {
    fn from(error: KeyringError) -> Self {
        Self::Keyring(error)
    }
}

impl From<RuntimeError> for ChatError {
    fn from(error: RuntimeError) -> Self {
        Self::Runtime(error)
    }
}

/// Commands about sessions. If the session is on a server, they have to name the server.
const OF_SESSIONS: [&str; 11] = [
    "run", "chat", "resume", "watch", "fork", "rewind", "diff", "show", "sessions", "replay", "context",
];

/// Returns a hint whose commands about sessions work at the server of this address.
pub(crate) fn hint_at(hint: &str, server: Option<&str>) -> String {
    let Some(server) = server else {
        return hint.to_owned();
    };
    OF_SESSIONS.iter().fold(hint.to_owned(), |hint, command| {
        hint.replace(
            &format!("`agentx {command}"),
            &format!("`agentx --connect {server} {command}"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_about_sessions_of_a_server_name_the_server() {
        let failed = ChatError::Run {
            exit: Exit::Provider,
            code: "overloaded".into(),
            message: "busy".into(),
        };
        let text = failed.render_at(Some("http://127.0.0.1:5200"));
        assert!(
            text.contains("`agentx --connect http://127.0.0.1:5200 run --last \"go on\"`")
                && text.contains("`agentx --connect http://127.0.0.1:5200 resume --last`"),
            "{text}"
        );
        let text = ChatError::NoIdentity { path: "x".into() }.render_at(Some("http://a"));
        assert!(text.contains("`agentx identity new`"), "{text}");
    }

    #[test]
    fn every_error_says_what_why_and_what_to_do() {
        let shown = |error: &ChatError| {
            format!(
                "{}(kind {}, exit {})",
                error.render_at(None),
                error.kind(),
                error.exit().code()
            )
        };
        let all: Vec<String> = crate::catalogue::all().iter().map(shown).collect();
        insta::assert_snapshot!("errors", all.join("\n\n"));
    }
}
