//! The interface of a runtime for front ends, local or remote. The requests are in [`requests`] and
//! [`agents`], the answers in [`answers`] and [`error`].

mod agents;
mod answers;
mod document;
mod error;
mod problem;
mod reactors;
mod request_key;
mod requests;
mod restoring;
mod session;
mod spending;

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::Arc;

use agentx_types::{AgentConfig, BlobId, LeftRunning, OwnerId, SessionId, ToolCallId, ToolSpec};

use agentx_secrets::{Redactor, SecretSet};
use agentx_session::View;

use crate::future::BoxFuture;
use crate::session_lists::{EventsHash, SearchHit, SessionInfo, SessionQuery, SessionWaits, VerifyReport};

pub use agents::*;
pub use answers::*;
pub use document::*;
pub use error::RuntimeError;
pub use reactors::*;
pub use request_key::{RequestKey, request_hash};
pub use requests::*;
pub use restoring::*;
pub use session::*;
pub use spending::*;

/// The error text of a runtime that has the facts but not the files.
const NO_FILES: &str = "does not restore files; conversations can still be rewound";

/// The interface of a runtime for front ends. A local and a remote runtime look alike to them.
pub trait Runtime: Send + Sync {
    /// The owner of the sessions.
    fn owner(&self) -> &OwnerId;

    /// Opens a session to write it.
    ///
    /// # Errors
    /// Returns an error if the session does not exist, another process writes it, a newer version of the
    /// program wrote it, or the agent or its model cannot be used.
    fn open(&self, request: OpenRequest) -> BoxFuture<'_, Result<Arc<dyn Session>, RuntimeError>>;

    /// Opens a new session with an agent that a file on the runtime's machine describes.
    ///
    /// # Errors
    /// Returns an error for the same reasons as [`Runtime::agent`] and [`Runtime::open`].
    fn open_named(&self, agent: NamedAgent) -> BoxFuture<'_, Result<Arc<dyn Session>, RuntimeError>>;

    /// Follows a session without writing it, from after `after_seq`; it ends at the last event unless
    /// `follow` is set.
    ///
    /// # Errors
    /// Returns an error if the session does not exist or cannot be read.
    fn watch(
        &self,
        session: &SessionId,
        after_seq: u64,
        view: View,
        follow: bool,
    ) -> BoxFuture<'_, Result<Subscription, RuntimeError>>;

    /// Sessions, those with the latest event first.
    ///
    /// # Errors
    /// Returns an error if the list cannot be read.
    fn sessions(&self, query: SessionQuery) -> BoxFuture<'_, Result<Vec<SessionInfo>, RuntimeError>>;

    /// The sessions that wait until a known time, those first that are due first.
    ///
    /// # Errors
    /// Returns an error if they cannot be read, or the runtime does not tell.
    fn waits(&self) -> BoxFuture<'_, Result<Vec<SessionWaits>, RuntimeError>> {
        Box::pin(ready(Err(RuntimeError::not_offered(
            "does not tell what sessions wait for",
        ))))
    }

    /// Returns the row of one session in lists.
    ///
    /// # Errors
    /// Returns an error if there is none.
    fn info(&self, session: &SessionId) -> BoxFuture<'_, Result<SessionInfo, RuntimeError>>;

    /// The one session whose id begins with `prefix`, with or without `ses_`.
    ///
    /// # Errors
    /// Returns an error if there is none, more than one, or the prefix is too short to name one
    /// ([`names_session`]).
    fn resolve(&self, prefix: &str) -> BoxFuture<'_, Result<SessionId, RuntimeError>>;

    /// A new session that has everything of another up to `at_seq` (default: its last event).
    ///
    /// # Errors
    /// Returns an error if the session does not exist, `at_seq` is not one of its events, or the copy cannot
    /// be written.
    fn fork(
        &self,
        session: &SessionId,
        at_seq: Option<u64>,
    ) -> BoxFuture<'_, Result<SessionId, RuntimeError>>;

    /// Sets the title of a session. By default it opens the session, which records a new writer and settles
    /// calls that were cut off; a runtime with its own log only adds the title.
    ///
    /// # Errors
    /// Returns an error if there is none, or another process writes it.
    fn rename(&self, session: &SessionId, title: String) -> BoxFuture<'_, Result<(), RuntimeError>> {
        let resume = OpenRequest::Resume(session.clone(), Vec::new());
        Box::pin(async move {
            let session = self.open(resume).await?;
            let renamed = session.rename(title).await;
            session.close().await;
            renamed.map(drop)
        })
    }

    /// The bytes of a blob that the facts of a session were made with.
    ///
    /// # Errors
    /// Returns an error if the session has no such blob.
    fn blob(&self, session: &SessionId, blob: &BlobId) -> BoxFuture<'_, Result<Vec<u8>, RuntimeError>>;

    /// The current state of the file that a waiting call would change, so that the person who decides sees
    /// the change. `open` is the session if it is open in this program.
    ///
    /// # Errors
    /// Returns an error if no decision is awaited for this call.
    fn preview_file_change(
        &self,
        session: &SessionId,
        open: Option<Arc<dyn Session>>,
        call: &ToolCallId,
    ) -> BoxFuture<'_, Result<FileChangePreview, RuntimeError>> {
        let _ = (session, open, call);
        Box::pin(ready(Err(RuntimeError::not_offered("does not show files"))))
    }

    /// Plans how to restore files to their state before an event of a session, from their present state.
    ///
    /// # Errors
    /// Returns an error if the session cannot be read, or its files are not within reach.
    fn plan_restore(
        &self,
        session: &SessionId,
        to_seq: u64,
    ) -> BoxFuture<'_, Result<RestorePlan, RuntimeError>> {
        let _ = (session, to_seq);
        Box::pin(ready(Err(RuntimeError::not_offered(NO_FILES))))
    }

    /// Restores files to their state before an event, and records that in the session, so that it can be
    /// undone. `open` is the session if it is open in this program.
    ///
    /// # Errors
    /// Returns an error if another process writes the session, the replaced contents cannot be kept, or
    /// nothing can be recorded.
    fn restore(
        &self,
        session: &SessionId,
        open: Option<Arc<dyn Session>>,
        wish: RestoreRequest,
    ) -> BoxFuture<'_, Result<RestoreReport, RuntimeError>> {
        let _ = (session, open, wish);
        Box::pin(ready(Err(RuntimeError::not_offered(NO_FILES))))
    }

    /// Imports a session that was exported elsewhere: the same facts under the same id, checked.
    ///
    /// # Errors
    /// Returns an error if the id is taken, or the export was changed.
    fn import(&self, export: SessionExport) -> BoxFuture<'_, Result<VerifyReport, RuntimeError>> {
        let _ = export;
        Box::pin(ready(Err(RuntimeError::not_offered("does not import sessions"))))
    }

    /// Returns the sum of the spending.
    ///
    /// # Errors
    /// Returns an error if the spending cannot be read, or the runtime does not report it.
    fn usage(&self, query: UsageQuery) -> BoxFuture<'_, Result<Vec<UsageRow>, RuntimeError>> {
        let _ = query;
        Box::pin(ready(Err(RuntimeError::not_offered("does not report usage"))))
    }

    /// Returns the stored size of a session, or of all; `None` if that is not known.
    ///
    /// # Errors
    /// Returns an error if the session does not exist, or its size cannot be read.
    fn stored(&self, session: Option<&SessionId>) -> BoxFuture<'_, Result<Option<StoredSize>, RuntimeError>> {
        let _ = session;
        Box::pin(ready(Ok(None)))
    }

    /// Returns the blobs that a session names, or all sessions, with their sizes; none if the runtime does
    /// not know them.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read, or the session does not exist.
    fn blobs(
        &self,
        session: Option<&SessionId>,
    ) -> BoxFuture<'_, Result<BTreeMap<BlobId, u64>, RuntimeError>> {
        let _ = session;
        Box::pin(ready(Ok(BTreeMap::new())))
    }

    /// Removes data that nothing refers to any more. Returns the number of removed bytes; if there were none,
    /// the bytes by which the store shrank anyway.
    ///
    /// # Errors
    /// Returns an error if the store cannot be changed, or if the runtime reclaims space automatically.
    fn collect_garbage(&self) -> BoxFuture<'_, Result<u64, RuntimeError>> {
        Box::pin(ready(Err(RuntimeError::not_offered("reclaims space by itself"))))
    }

    /// Commands of a session that still run although the program that started them was killed. The next
    /// program that opens the session ends them.
    ///
    /// # Errors
    /// Returns an error if the session does not exist or cannot be read.
    fn left_running(&self, session: &SessionId) -> BoxFuture<'_, Result<Vec<LeftRunning>, RuntimeError>> {
        let _ = session;
        Box::pin(ready(Ok(Vec::new())))
    }

    /// Ends a background command of a session, by its name (`job_1`), at the request of a person; the
    /// session's log records the outcome. Returns whether it was running.
    ///
    /// # Errors
    /// Returns an error if the session does not exist, or the runtime does not stop single commands.
    fn stop_job(&self, session: &SessionId, job: &str) -> BoxFuture<'_, Result<bool, RuntimeError>> {
        let _ = (session, job);
        Box::pin(ready(Err(RuntimeError::not_offered(
            "does not stop single background commands",
        ))))
    }

    /// Deletes a session, and ends the commands that a killed program left running for it.
    ///
    /// # Errors
    /// Returns an error if the session does not exist, or a process writes it.
    fn delete(&self, session: &SessionId) -> BoxFuture<'_, Result<(), RuntimeError>>;

    /// Checks every stored byte of a session.
    ///
    /// # Errors
    /// Returns an error if the session does not exist or cannot be read. Damage is a part of the report, not
    /// an error.
    fn verify(&self, session: &SessionId) -> BoxFuture<'_, Result<VerifyReport, RuntimeError>>;

    /// Returns the hash of a session's events up to `seq`; `None` if it has no such event.
    ///
    /// # Errors
    /// Returns an error if the session does not exist or is damaged near that event, or the runtime keeps no
    /// hashes.
    fn hash_at(
        &self,
        session: &SessionId,
        seq: u64,
    ) -> BoxFuture<'_, Result<Option<EventsHash>, RuntimeError>> {
        let _ = (session, seq);
        Box::pin(ready(Err(RuntimeError::not_offered(
            "does not tell the hashes of events",
        ))))
    }

    /// Takes the secrets that `redactor` knows out of a session that nobody has open, and out of what others
    /// share with it. Its chain of hashes still verifies.
    ///
    /// # Errors
    /// Returns an error if the session does not exist, a process writes it or one that shares its events, or
    /// the runtime does not change recorded sessions.
    fn redact(
        &self,
        session: &SessionId,
        redactor: Redactor,
    ) -> BoxFuture<'_, Result<RedactionReport, RuntimeError>> {
        let _ = (session, redactor);
        Box::pin(ready(Err(RuntimeError::not_offered(
            "does not change recorded sessions",
        ))))
    }

    /// Knows these secrets from now on, in sessions that are open too. Returns whether it replaces secrets; a
    /// server knows its own.
    fn learn_secrets(&self, secrets: &SecretSet) -> bool {
        let _ = secrets;
        false
    }

    /// Derives everything of a session again, without any model, and compares it with the live session.
    ///
    /// # Errors
    /// Returns an error if the session does not exist or cannot be read. A difference is a part of the
    /// report, not an error.
    fn replay(&self, session: &SessionId) -> BoxFuture<'_, Result<ReplayReport, RuntimeError>>;

    /// The exact request of the last model call at or before `at_seq`, as sent, without any key.
    ///
    /// # Errors
    /// Returns an error if no model was called until then.
    fn context(
        &self,
        session: &SessionId,
        at_seq: Option<u64>,
    ) -> BoxFuture<'_, Result<ContextView, RuntimeError>>;

    /// Full-text search over messages.
    ///
    /// # Errors
    /// Returns an error if the messages cannot be searched.
    fn search(&self, words: &str, limit: usize) -> BoxFuture<'_, Result<Vec<SearchHit>, RuntimeError>>;

    /// The models that it knows.
    fn models(&self) -> Vec<ModelInfo>;

    /// The tools that it offers.
    fn tools(&self) -> Vec<ToolSpec>;

    /// The reactors that serve actions of sessions, in the order of attachment: the runtime's own parts, then
    /// attached ones.
    ///
    /// # Errors
    /// Returns an error if the runtime cannot be reached.
    fn reactors(&self) -> BoxFuture<'_, Result<Vec<ReactorInfo>, RuntimeError>>;

    /// The agents that files on its machine describe, by name.
    ///
    /// # Errors
    /// Returns an error if it cannot be reached.
    fn agents(&self) -> BoxFuture<'_, Result<Vec<AgentInfo>, RuntimeError>>;

    /// An agent that a file describes, as a session would be opened with it.
    ///
    /// # Errors
    /// Returns [`RuntimeError::UnknownAgent`] if no file describes the agent, and [`RuntimeError::BadAgent`]
    /// if its files have errors.
    fn agent(&self, wanted: &NamedAgent) -> BoxFuture<'_, Result<AgentConfig, RuntimeError>>;
}

/// The number of characters behind `ses_` from which the beginning of an id names a session.
const SHORTEST_PREFIX: usize = 4;

/// Returns whether `prefix`, with which this id begins, is long enough to name it: all of it, or 4 characters
/// behind `ses_`. A single letter would name the only session by accident.
pub fn names_session(prefix: &str, id: &SessionId) -> bool {
    let own = |text: &str| text.strip_prefix(SessionId::PREFIX).unwrap_or(text).to_owned();
    let (given, whole) = (own(prefix), own(id.as_str()));
    given == whole || given.chars().count() >= SHORTEST_PREFIX
}
