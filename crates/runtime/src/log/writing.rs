//! The parameters for writing to a session log: the beginning of a log, the right to append, and a batch of
//! facts. Each has a constructor, so that custom logs and programs that fill one still compile when a
//! field is added.

use std::fmt;

use agentx_session::{Digest, Fact, Projection};
use agentx_types::{OwnerId, SessionId, Timestamp};

/// The beginning of a log.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NewLog {
    /// The id of the session.
    pub session_id: SessionId,
    /// The person who owns the session.
    pub owner: OwnerId,
    /// The time of its creation.
    pub at: Timestamp,
    /// The directory that its agent works in.
    pub workspace: String,
    /// For a fork: which session, and the last event that both have.
    pub parent: Option<(SessionId, u64)>,
}

impl NewLog {
    /// Describes an empty log of this owner, created at `at`, whose agent works in the directory `workspace`.
    pub fn new(
        session_id: impl Into<SessionId>,
        owner: impl Into<OwnerId>,
        at: Timestamp,
        workspace: impl Into<String>,
    ) -> Self {
        Self {
            session_id: session_id.into(),
            owner: owner.into(),
            at,
            workspace: workspace.into(),
            parent: None,
        }
    }

    /// Has the log begin with the events of `parent` up to `at_seq`.
    #[must_use]
    pub fn with_parent(mut self, parent: SessionId, at_seq: u64) -> Self {
        self.parent = Some((parent, at_seq));
        self
    }
}

/// The right to append to one session, until it is dropped.
#[non_exhaustive]
pub struct Writer {
    /// The id of the session.
    pub session_id: SessionId,
    /// Counts the writers of this session, from 1.
    pub epoch: u64,
    /// The `seq` of its last event; 0 if there is none.
    pub last_seq: u64,
    /// Releases the lock when dropped.
    pub guard: Box<dyn Send + Sync>,
}

impl Writer {
    /// The writer with this epoch of a session whose last event is `last_seq`. Dropping `guard` releases the
    /// lock.
    pub fn new(
        session_id: impl Into<SessionId>,
        epoch: u64,
        last_seq: u64,
        guard: impl Send + Sync + 'static,
    ) -> Self {
        Self {
            session_id: session_id.into(),
            epoch,
            last_seq,
            guard: Box::new(guard),
        }
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer")
            .field("session_id", &self.session_id)
            .field("epoch", &self.epoch)
            .field("last_seq", &self.last_seq)
            .finish_non_exhaustive()
    }
}

/// A batch of facts that are committed together.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Batch {
    /// The facts, with dense `seq`.
    pub facts: Vec<Fact>,
    /// The digest of all events derived in this session up to and including this batch.
    pub derived: Digest,
    /// Changes of the read models that follow from these facts.
    pub projections: Vec<Projection>,
}

impl Batch {
    /// Creates a batch of these facts, with the digest of everything derived up to and including the last of
    /// them, and without changes of read models.
    pub fn new(facts: Vec<Fact>, derived: Digest) -> Self {
        Self {
            facts,
            derived,
            projections: Vec::new(),
        }
    }

    /// Adds changes of the read models; they are committed with the facts.
    #[must_use]
    pub fn with_projections(mut self, projections: Vec<Projection>) -> Self {
        self.projections = projections;
        self
    }
}
