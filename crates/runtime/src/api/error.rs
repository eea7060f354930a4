//! The errors of a runtime.

use agentx_types::SessionId;

use crate::log_error::LogError;

/// An error that a runtime returns.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// The session log returned an error.
    #[error(transparent)]
    Log(#[from] LogError),
    /// An id that fits more than one session.
    #[error("{prefix:?} fits {}: {}", count_in_words(.ids.len()), .ids.join(", "))]
    Ambiguous {
        /// The requested prefix.
        prefix: String,
        /// Some of the matching ids.
        ids: Vec<String>,
    },
    /// The model is not known.
    #[error("unknown model {model:?}{}", suggestion(.nearest))]
    UnknownModel {
        /// The requested model.
        model: String,
        /// The nearest names.
        nearest: Vec<String>,
    },
    /// No file describes an agent of this name.
    #[error("there is no agent {agent:?}{}", suggestion(.nearest))]
    UnknownAgent {
        /// The requested agent.
        agent: String,
        /// The nearest names.
        nearest: Vec<String>,
    },
    /// The files of an agent have errors, or name something that does not exist.
    #[error("{what}")]
    BadAgent {
        /// The name of the agent.
        agent: String,
        /// A description of the error.
        what: String,
    },
    /// Something that the model needs is missing.
    #[error("model {model}: {what}")]
    Unavailable {
        /// The name of the model.
        model: String,
        /// The missing part, and the place to put it.
        what: String,
    },
    /// The request was refused; the text gives the person the reason: the state of the session, the request
    /// itself, or this machine. Reasons that a program has to distinguish have their own variants.
    #[error("{0}")]
    Refused(String),
    /// The person may not do this, because somebody else drives or because they may only read.
    #[error("{0}")]
    Denied(String),
    /// The server that has the session cannot be reached.
    #[error("cannot reach {endpoint}: {what}")]
    Unreachable {
        /// The address of the server.
        endpoint: String,
        /// The cause, as text.
        what: String,
    },
    /// Another answer of a server, or an error with its own code for programs.
    #[error("{detail}")]
    Remote {
        /// The code for programs; it is stable.
        code: String,
        /// The message for people.
        detail: String,
    },
    /// The log of a session lost events that a follower has seen: its machine lost power, or an old copy
    /// replaced it.
    #[error(
        "the log of session {session} went back: its event {seq} differs from the one seen before, or no \
         longer exists. New events do not follow those already shown"
    )]
    WentBack {
        /// The session.
        session: SessionId,
        /// The event that is another one now, or missing.
        seq: u64,
    },
    /// The session has ended. If its log failed, the log's error is returned instead.
    #[error("session {session} cannot continue: {why}")]
    Gone {
        /// The session that has ended.
        session: SessionId,
        /// The reason.
        why: String,
    },
}

impl RuntimeError {
    /// Makes the error of a session that is there but cannot be read to its end: its log or the connection
    /// failed on the way.
    pub fn unreadable(session: &SessionId, why: String) -> Self {
        Self::Gone {
            session: session.clone(),
            why,
        }
    }

    /// Makes the error of a request whose idempotency key belongs to another one, which `earlier` names.
    pub fn key_reused(earlier: &str) -> Self {
        Self::Remote {
            code: "key_reused".into(),
            detail: format!("{earlier}: a new request needs a new key"),
        }
    }

    /// Makes the error of a server that does not offer this to remote clients.
    pub fn not_offered(what: &str) -> Self {
        Self::Remote {
            code: "not_offered".into(),
            detail: format!("the server {what}"),
        }
    }
}

/// Maximum number of sessions that a log names for an ambiguous prefix.
const NAMED: usize = 10;

fn count_in_words(named: usize) -> String {
    match named {
        NAMED.. => "many sessions, among them".into(),
        _ => format!("{named} sessions"),
    }
}

fn suggestion(names: &[String]) -> String {
    if names.is_empty() {
        String::new()
    } else {
        format!("; did you mean {}?", names.join(", "))
    }
}
