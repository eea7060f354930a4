//! The parameters of a redaction: facts that replace stored ones, because a text in them has to be removed,
//! and the changes that depend on them. Called by [`redact_session`](crate::redact_session) and by mirrors.

use agentx_session::{Fact, Projection};
use agentx_types::{BlobId, RedactedSegment, SessionId};

use crate::log::writing::Batch;

/// The changes that a redaction would make.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RedactionPlan {
    /// The segments that would be stored anew.
    pub segments: Vec<RedactedSegment>,
    /// The sessions that have events of these segments: the one that is redacted, sessions that it shares
    /// events with, and their forks. Deleted ones are left out.
    pub sessions: Vec<SessionId>,
}

/// Facts that replace stored ones.
#[derive(Clone, Debug)]
pub struct Redaction {
    /// The session in which the facts are read.
    pub session_id: SessionId,
    /// The facts as they are stored from now on: only their events differ from the stored ones.
    pub facts: Vec<Fact>,
    /// Blobs that go although facts still name them: bytes that are of use only unchanged.
    pub dropped: Vec<BlobId>,
    /// The changes in each session.
    pub sessions: Vec<RedactedSession>,
}

/// The changes of one session.
#[derive(Clone, Debug)]
pub struct RedactedSession {
    /// The session.
    pub session_id: SessionId,
    /// The epoch of its writer, who holds the lock.
    pub epoch: u64,
    /// The fact that records the redaction. A mirror has it already.
    pub record: Option<Batch>,
    /// Messages with their present words.
    pub messages: Vec<Projection>,
    /// The title, if it changes.
    pub title: Option<String>,
}
