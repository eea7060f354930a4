//! The one way in: what a front end can ask of a runtime, wherever that runtime is. What it wants is in [`wishes`] and
//! [`agents`], what it is told in [`answers`] and [`error`].

mod agents;
mod answers;
mod error;
mod wishes;

use std::future::ready;
use std::sync::Arc;

use agentx_agent::Backlog;
use agentx_types::{
    AgentConfig, BlobId, ConfigChange, InputMode, LeftRunning, MessageId, OwnerId, SessionId, ToolCallId,
    ToolSpec,
};

use agentx_session::SessionState;

use crate::{
    BoxFuture, LogError, Note, RestorePlan, RestoreReport, RestoreWish, SearchHit, SessionExport,
    SessionInfo, SessionQuery, StoredSize, UsageQuery, UsageRow, VerifyReport,
};

pub use agents::*;
pub use answers::*;
pub use error::RuntimeError;
pub use wishes::*;

/// What a runtime says that has the facts and not the files.
const NO_FILES: &str = "puts no files back; conversations go back all the same";

/// What a front end can ask of a runtime. The local and the remote one are the same to it.
pub trait Runtime: Send + Sync {
    /// Whose sessions these are.
    fn owner(&self) -> &OwnerId;

    /// Opens a session to write it.
    ///
    /// # Errors
    /// See [`RuntimeError`].
    fn open(&self, request: OpenRequest) -> BoxFuture<'_, Result<Arc<dyn Session>, RuntimeError>>;

    /// Opens a new session with an agent that a file describes where the runtime is.
    ///
    /// # Errors
    /// As [`Runtime::agent`] and [`Runtime::open`].
    fn open_named(&self, agent: NamedAgent) -> BoxFuture<'_, Result<Arc<dyn Session>, RuntimeError>>;

    /// Follows a session without writing it, from after `after_seq`; it ends at the last event unless `follow` is set.
    ///
    /// # Errors
    /// See [`RuntimeError`].
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
    /// See [`RuntimeError`].
    fn sessions(&self, query: SessionQuery) -> BoxFuture<'_, Result<Vec<SessionInfo>, RuntimeError>>;

    /// What lists show of one session.
    ///
    /// # Errors
    /// Where there is none.
    fn info(&self, session: &SessionId) -> BoxFuture<'_, Result<SessionInfo, RuntimeError>>;

    /// The one session whose id begins with `prefix`.
    ///
    /// # Errors
    /// Where there is none, or more than one.
    fn resolve(&self, prefix: &str) -> BoxFuture<'_, Result<SessionId, RuntimeError>>;

    /// A new session that has everything of another up to `at_seq` (default: its last event).
    ///
    /// # Errors
    /// See [`RuntimeError`].
    fn fork(
        &self,
        session: &SessionId,
        at_seq: Option<u64>,
    ) -> BoxFuture<'_, Result<SessionId, RuntimeError>>;

    /// Gives a session a title without anything else happening in it.
    ///
    /// # Errors
    /// Where there is none, or another process writes it.
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
    /// Where the session has no such blob.
    fn blob(&self, session: &SessionId, blob: &BlobId) -> BoxFuture<'_, Result<Vec<u8>, RuntimeError>>;

    /// The file that a call which waits for a decision would change, as it is now: whoever decides has to see what would
    /// change. `open` is the session where it is open in this program.
    ///
    /// # Errors
    /// Where no decision is awaited for this call.
    fn file_in_question(
        &self,
        session: &SessionId,
        open: Option<Arc<dyn Session>>,
        call: &ToolCallId,
    ) -> BoxFuture<'_, Result<FileInQuestion, RuntimeError>> {
        let _ = (session, open, call);
        Box::pin(ready(Err(RuntimeError::not_offered("does not show files"))))
    }

    /// What putting files back to how they were before an event of a session would do, as they are now.
    ///
    /// # Errors
    /// Where the session cannot be read, or its files are not within reach.
    fn plan_restore(
        &self,
        session: &SessionId,
        to_seq: u64,
    ) -> BoxFuture<'_, Result<RestorePlan, RuntimeError>> {
        let _ = (session, to_seq);
        Box::pin(ready(Err(RuntimeError::not_offered(NO_FILES))))
    }

    /// Puts files back to how they were before an event, and puts that on record in the session, so that it can be taken back.
    /// `open` is the session where it is open in this program.
    ///
    /// # Errors
    /// Where another process writes the session, what is replaced cannot be kept, or nothing can be put on record.
    fn restore(
        &self,
        session: &SessionId,
        open: Option<Arc<dyn Session>>,
        wish: RestoreWish,
    ) -> BoxFuture<'_, Result<RestoreReport, RuntimeError>> {
        let _ = (session, open, wish);
        Box::pin(ready(Err(RuntimeError::not_offered(NO_FILES))))
    }

    /// Takes in a session that was exported elsewhere: the facts as they were, under the same id, checked.
    ///
    /// # Errors
    /// Where the id is taken, or the export is not what it was.
    fn import(&self, export: SessionExport) -> BoxFuture<'_, Result<VerifyReport, RuntimeError>> {
        let _ = export;
        Box::pin(ready(Err(RuntimeError::not_offered("takes no sessions in"))))
    }

    /// What was spent, added up.
    ///
    /// # Errors
    /// See [`RuntimeError`].
    fn usage(&self, query: UsageQuery) -> BoxFuture<'_, Result<Vec<UsageRow>, RuntimeError>> {
        let _ = query;
        Box::pin(ready(Err(RuntimeError::not_offered(
            "does not tell what was spent",
        ))))
    }

    /// What is stored of a session, or of all; `None` where that is not told.
    ///
    /// # Errors
    /// See [`RuntimeError`].
    fn stored(&self, session: Option<&SessionId>) -> BoxFuture<'_, Result<Option<StoredSize>, RuntimeError>> {
        let _ = session;
        Box::pin(ready(Ok(None)))
    }

    /// Removes what nothing refers to any more. Returns how many bytes that was; where it was nothing, by how much the store became
    /// smaller all the same.
    ///
    /// # Errors
    /// See [`RuntimeError`].
    fn collect_garbage(&self) -> BoxFuture<'_, Result<u64, RuntimeError>> {
        Box::pin(ready(Err(RuntimeError::not_offered("cleans up by itself"))))
    }

    /// Commands of a session that still run although the program that ran them was killed. Whoever opens the session next ends them.
    ///
    /// # Errors
    /// See [`RuntimeError`].
    fn left_running(&self, session: &SessionId) -> BoxFuture<'_, Result<Vec<LeftRunning>, RuntimeError>> {
        let _ = session;
        Box::pin(ready(Ok(Vec::new())))
    }

    /// Ends a command that runs in the background of a session, by its name there (`job_1`), because a person wants it; the session's
    /// log says how it ended. Returns whether it ran.
    ///
    /// # Errors
    /// See [`RuntimeError`].
    fn stop_job(&self, session: &SessionId, job: &str) -> BoxFuture<'_, Result<bool, RuntimeError>> {
        let _ = (session, job);
        Box::pin(ready(Err(RuntimeError::not_offered(
            "does not end single commands in the background",
        ))))
    }

    /// Deletes a session, and ends what a killed program left running for it.
    ///
    /// # Errors
    /// See [`RuntimeError`].
    fn delete(&self, session: &SessionId) -> BoxFuture<'_, Result<(), RuntimeError>>;

    /// Checks every stored byte of a session.
    ///
    /// # Errors
    /// See [`RuntimeError`].
    fn verify(&self, session: &SessionId) -> BoxFuture<'_, Result<VerifyReport, RuntimeError>>;

    /// Derives everything of a session again, without any model, and compares it with what was live.
    ///
    /// # Errors
    /// See [`RuntimeError`].
    fn replay(&self, session: &SessionId) -> BoxFuture<'_, Result<ReplayReport, RuntimeError>>;

    /// The exact request of the last model call at or before `at_seq`, as sent, without any key.
    ///
    /// # Errors
    /// Where no model was called until then.
    fn context(
        &self,
        session: &SessionId,
        at_seq: Option<u64>,
    ) -> BoxFuture<'_, Result<ContextView, RuntimeError>>;

    /// Full-text search over messages.
    ///
    /// # Errors
    /// See [`RuntimeError`].
    fn search(&self, words: &str, limit: usize) -> BoxFuture<'_, Result<Vec<SearchHit>, RuntimeError>>;

    /// The models that it knows.
    fn models(&self) -> Vec<ModelInfo>;

    /// The tools that it offers.
    fn tools(&self) -> Vec<ToolSpec>;

    /// The agents that files describe where it is, by name.
    ///
    /// # Errors
    /// Where it cannot be reached.
    fn agents(&self) -> BoxFuture<'_, Result<Vec<AgentInfo>, RuntimeError>>;

    /// An agent that a file describes, as a session would be opened with it.
    ///
    /// # Errors
    /// [`RuntimeError::UnknownAgent`] where there is none, [`RuntimeError::BadAgent`] where its files have mistakes.
    fn agent(&self, wanted: &NamedAgent) -> BoxFuture<'_, Result<AgentConfig, RuntimeError>>;
}

/// A session that this runtime writes.
pub trait Session: Send + Sync {
    /// Its id.
    fn id(&self) -> &SessionId;

    /// How it stands now.
    fn state(&self) -> BoxFuture<'_, Result<SessionState, RuntimeError>>;

    /// Says something to the agent. Returns the `seq` of the input once it is committed.
    ///
    /// # Errors
    /// Where it could not be committed.
    fn send(&self, input: UserInput) -> BoxFuture<'_, Result<u64, RuntimeError>>;

    /// The `seq` of this input, if it came before by its key. A session that is not written here cannot tell.
    ///
    /// # Errors
    /// `key_reused` where another input came with its key, and where the session cannot go on.
    fn sent_before<'a>(&'a self, input: &'a UserInput) -> BoxFuture<'a, Result<Option<u64>, RuntimeError>> {
        let _ = input;
        Box::pin(ready(Ok(None)))
    }

    /// How much waits for the agent, and whether an input would wait too. A session that is not written here cannot tell.
    ///
    /// # Errors
    /// Where the session cannot go on.
    fn backlog(&self) -> BoxFuture<'_, Result<(Backlog, bool), RuntimeError>> {
        Box::pin(ready(Ok(Default::default())))
    }

    /// Takes back an input that waits, or has it looked at at another time than it was sent for.
    ///
    /// # Errors
    /// Where it waits no more, or the wish could not be committed.
    fn revise(&self, input: MessageId, mode: Option<InputMode>) -> BoxFuture<'_, Result<u64, RuntimeError>>;

    /// Condenses the conversation, takes a summary out again, or has an input stay.
    ///
    /// # Errors
    /// Where there is nothing to take out, or the wish could not be committed.
    fn context(&self, wish: ContextWish) -> BoxFuture<'_, Result<u64, RuntimeError>> {
        let _ = wish;
        Box::pin(ready(Err(RuntimeError::not_offered(
            "does not condense conversations",
        ))))
    }

    /// Stops what runs; the session goes on.
    ///
    /// # Errors
    /// Where it could not be committed.
    fn interrupt(&self, reason: Option<String>) -> BoxFuture<'_, Result<u64, RuntimeError>>;

    /// Tries again at once what pauses between two attempts: an overloaded model, a server that is not there. After a run that ended
    /// without an answer, begins one that asks again what is there. Does nothing where there is neither. Returns the `seq` of the wish,
    /// or of the input that begins the run.
    ///
    /// # Errors
    /// Where the wish could not be committed.
    fn retry(&self) -> BoxFuture<'_, Result<u64, RuntimeError>> {
        Box::pin(ready(Err(RuntimeError::not_offered(
            "does not try again on request",
        ))))
    }

    /// Stops what runs, and lets nothing begin that waits: for whoever is about to leave. In a session of a server others may
    /// wait for theirs, so there it is the same as [`Session::interrupt`].
    ///
    /// # Errors
    /// Where it could not be committed.
    fn halt(&self, reason: Option<String>) -> BoxFuture<'_, Result<u64, RuntimeError>> {
        self.interrupt(reason)
    }

    /// Decides about a tool call.
    ///
    /// # Errors
    /// Where no decision is awaited for this call.
    fn approve(&self, decision: ApprovalInput) -> BoxFuture<'_, Result<u64, RuntimeError>>;

    /// Changes the agent's configuration from here on.
    ///
    /// # Errors
    /// Where it could not be committed.
    fn change(&self, change: ConfigChange) -> BoxFuture<'_, Result<u64, RuntimeError>>;

    /// Puts on record who drives, or who may do what, from here on.
    ///
    /// # Errors
    /// Where it could not be committed.
    fn note(&self, note: Note) -> BoxFuture<'_, Result<u64, RuntimeError>>;

    /// Gives the session a title.
    ///
    /// # Errors
    /// Where it could not be committed.
    fn rename(&self, title: String) -> BoxFuture<'_, Result<u64, RuntimeError>>;

    /// Everything after `after_seq`, then what happens, without a gap or a double.
    fn subscribe(&self, after_seq: u64, view: View) -> BoxFuture<'_, Result<Subscription, RuntimeError>>;

    /// Stops what runs, commits what is under way and gives the session back. It can be opened again. Inputs that wait begin nothing:
    /// they are held back until somebody says something or revises one of them.
    ///
    /// Where the log takes nothing any more, what runs is stopped all the same, but that is not on record: whoever opens the
    /// session next goes on with it. [`Session::failure`] says so afterwards.
    fn close(&self) -> BoxFuture<'_, ()>;

    /// Why the log took nothing more of this session, which ended it; `None` while it is open, where it was closed in order, and
    /// where it runs elsewhere.
    fn failure(&self) -> Option<LogError> {
        None
    }

    /// Gives the session back as it stands, as a death of this process would; a question that was asked stays asked.
    fn suspend(&self) -> BoxFuture<'_, ()> {
        self.close()
    }
}
