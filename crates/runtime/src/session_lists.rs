//! The reports of a session log on its sessions: lists, search hits, and results of checks.

use agentx_session::OpenWait;
use agentx_types::{NanoUsd, OwnerId, Role, RunStatus, SessionId, Timestamp, Usage};
use serde::{Deserialize, Serialize};

/// A session, as lists show it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SessionInfo {
    /// The id of the session.
    pub session_id: SessionId,
    /// The owner of the session.
    pub owner: OwnerId,
    /// The title shown in lists; empty until the first input.
    pub title: String,
    /// The directory that its agent works in.
    pub workspace: String,
    /// The agent's model.
    pub model: String,
    /// The status of its last run; `None` before the first.
    pub status: Option<RunStatus>,
    /// The time at which it was made.
    pub created_at: Timestamp,
    /// The time at which the last event was committed that counts as activity: a new title, other settings, a
    /// change of access, and opening or leaving it do not.
    pub updated_at: Timestamp,
    /// The `seq` of its last event.
    pub last_seq: u64,
    /// The number of messages in its conversations.
    pub messages: u64,
    /// Tokens of all its model calls.
    pub usage: Usage,
    /// Money of all its model calls.
    pub cost: NanoUsd,
    /// For a fork: which session, and the last event that both have.
    pub parent: Option<(SessionId, u64)>,
    /// The process that writes it now.
    pub writer: Option<WriterInfo>,
}

impl SessionInfo {
    /// A session that was made at `at`, in which nothing has happened yet. The fields can be set.
    pub fn new(session_id: impl Into<SessionId>, owner: impl Into<OwnerId>, at: Timestamp) -> Self {
        Self {
            session_id: session_id.into(),
            owner: owner.into(),
            title: String::new(),
            workspace: String::new(),
            model: String::new(),
            status: None,
            created_at: at,
            updated_at: at,
            last_seq: 0,
            messages: 0,
            usage: Usage::default(),
            cost: NanoUsd::default(),
            parent: None,
            writer: None,
        }
    }

    /// Sets the title.
    #[must_use]
    pub fn with_title(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Sets the directory that the agent works in.
    #[must_use]
    pub fn with_workspace(mut self, workspace: impl Into<String>) -> Self {
        self.workspace = workspace.into();
        self
    }

    /// Sets the model that the agent asks.
    #[must_use]
    pub fn with_model(mut self, model: impl Into<String>) -> Self {
        self.model = model.into();
        self
    }

    /// Sets the status of the last run.
    #[must_use]
    pub fn with_status(mut self, status: Option<RunStatus>) -> Self {
        self.status = status;
        self
    }

    /// Sets the last event, and the time at which it was committed.
    #[must_use]
    pub fn with_last_event(mut self, seq: u64, at: Timestamp) -> Self {
        self.last_seq = seq;
        self.updated_at = at;
        self
    }

    /// Sets how many messages the conversations have.
    #[must_use]
    pub fn with_messages(mut self, messages: u64) -> Self {
        self.messages = messages;
        self
    }

    /// Sets the usage and cost of the model calls.
    #[must_use]
    pub fn with_spent(mut self, usage: Usage, cost: NanoUsd) -> Self {
        self.usage = usage;
        self.cost = cost;
        self
    }

    /// Sets the parent session, whose events this one begins with, and the last shared event.
    #[must_use]
    pub fn with_parent(mut self, parent: Option<(SessionId, u64)>) -> Self {
        self.parent = parent;
        self
    }

    /// Sets the process that writes the session now.
    #[must_use]
    pub fn with_writer(mut self, writer: Option<WriterInfo>) -> Self {
        self.writer = writer;
        self
    }
}

/// The process that writes a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WriterInfo {
    /// The process id.
    pub process: u32,
    /// Counts the writers of this session.
    pub epoch: u64,
}

/// A query for a list of sessions.
#[derive(Clone, Debug)]
pub struct SessionQuery {
    /// The person whose sessions are listed.
    pub owner: OwnerId,
    /// Only the sessions of this directory.
    pub workspace: Option<String>,
    /// The maximum number of sessions to list.
    pub limit: usize,
    /// Only sessions whose last event is older than this.
    pub before: Option<Timestamp>,
}

/// A session that waits until a known time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionWaits {
    /// The session, as lists show it.
    pub session: SessionInfo,
    /// The waits of the session, the earliest first.
    pub waits: Vec<OpenWait>,
}

/// A place where searched words were found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SearchHit {
    /// The session in which they were found.
    pub session_id: SessionId,
    /// The event that completed the message.
    pub seq: u64,
    /// The role of the speaker.
    pub role: Role,
    /// The words around it.
    pub snippet: String,
}

/// The hash of all events of a session up to one of them. It does not depend on how they are stored, so it
/// stays the same while the session grows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EventsHash {
    /// The hash, in hexadecimal.
    pub hash: String,
    /// Whether a [redaction](crate::Redaction) replaced events that are stored together with the last one:
    /// the hash may have been another one before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
}

/// The findings of a check of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VerifyReport {
    /// The session that was checked.
    pub session_id: SessionId,
    /// The number of events that are good, from the first on.
    pub good_events: u64,
    /// The `seq` of the last event that is stored.
    pub last_seq: u64,
    /// The hash at the end, in hexadecimal.
    pub head: String,
    /// The problems, for people; empty if there are none.
    pub problems: Vec<String>,
    /// The number of events that a [redaction](crate::Redaction) replaced, each as its record says.
    #[serde(default, skip_serializing_if = "agentx_types::is_default")]
    pub redacted_events: u64,
}
