//! What a session log tells of its sessions: lists, places where words were found, and what a check came to.

use agentx_types::{NanoUsd, OwnerId, Role, RunStatus, SessionId, Timestamp, Usage};
use serde::{Deserialize, Serialize};

/// What lists show of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionInfo {
    /// Its id.
    pub session_id: SessionId,
    /// The owner of the session.
    pub owner: OwnerId,
    /// What people see in lists; empty until something was said.
    pub title: String,
    /// The directory that its agent works in.
    pub workspace: String,
    /// The model that is asked.
    pub model: String,
    /// The status of its last run; `None` before the first.
    pub status: Option<RunStatus>,
    /// The time at which it was made.
    pub created_at: Timestamp,
    /// The time at which its last event was committed.
    pub updated_at: Timestamp,
    /// The `seq` of its last event.
    pub last_seq: u64,
    /// How many messages its conversations have.
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

/// The process that writes a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WriterInfo {
    /// Its process id.
    pub process: u32,
    /// Counts the writers of this session.
    pub epoch: u64,
}

/// A query for a list of sessions.
#[derive(Clone, Debug)]
pub struct SessionQuery {
    /// Whose.
    pub owner: OwnerId,
    /// Only those of this directory.
    pub workspace: Option<String>,
    /// The most sessions to list.
    pub limit: usize,
    /// Only those whose last event is older than this.
    pub before: Option<Timestamp>,
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

/// What a check of a session found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VerifyReport {
    /// The session that was checked.
    pub session_id: SessionId,
    /// How many events are good, from the first on.
    pub good_events: u64,
    /// The `seq` of the last event that is stored.
    pub last_seq: u64,
    /// The hash at the end, in hexadecimal.
    pub head: String,
    /// What is wrong, in words; empty where all is well.
    pub problems: Vec<String>,
}
