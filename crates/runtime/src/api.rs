//! The one way in: what a front end can ask of a runtime, wherever that runtime is.

use std::sync::Arc;

use agentx_types::{
    AgentConfig, ApprovalDecision, ConfigChange, ContentPart, Envelope, EnvironmentEvent, InputMode,
    ModelSpec, NanoUsd, OwnerId, Rule, RunId, RunStatus, RuntimeEvent, SessionId, ToolCallId, ToolSpec,
    Usage,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{BoxFuture, LogError, Note, SearchHit, SessionInfo, SessionQuery, Sharing, VerifyReport};

/// What a front end can ask of a runtime. The local and the remote one are the same to it.
pub trait Runtime: Send + Sync {
    /// Whose sessions these are.
    fn owner(&self) -> &OwnerId;

    /// Opens a session to write it.
    ///
    /// # Errors
    /// See [`RuntimeError`].
    fn open(&self, request: OpenRequest) -> BoxFuture<'_, Result<Arc<dyn Session>, RuntimeError>>;

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

    /// Deletes a session.
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

    /// The `seq` of the input that came with this key. A session that is not written here cannot tell.
    ///
    /// # Errors
    /// Where the session cannot go on.
    fn input_with_key(&self, key: &str) -> BoxFuture<'_, Result<Option<u64>, RuntimeError>> {
        let _ = key;
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Stops what runs; the session goes on.
    ///
    /// # Errors
    /// Where it could not be committed.
    fn interrupt(&self, reason: Option<String>) -> BoxFuture<'_, Result<u64, RuntimeError>>;

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

    /// Stops what runs, commits what is under way and gives the session back. It can be opened again.
    fn close(&self) -> BoxFuture<'_, ()>;

    /// Gives the session back as it stands, as a death of this process would; a question that was asked stays asked.
    fn suspend(&self) -> BoxFuture<'_, ()> {
        self.close()
    }
}

/// How to open a session.
#[derive(Clone, Debug)]
pub enum OpenRequest {
    /// A new one, with this agent.
    New(Box<AgentConfig>),
    /// One that exists, with these changes of its agent.
    Resume(SessionId, Vec<ConfigChange>),
}

/// Which events a subscriber gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum View {
    /// The facts.
    Environment,
    /// What they mean.
    #[default]
    Runtime,
}

/// What a subscriber gets.
#[derive(Clone, Debug)]
pub enum Delivery {
    /// A fact.
    Environment(Arc<Envelope<EnvironmentEvent>>),
    /// What it means.
    Runtime(Arc<Envelope<RuntimeEvent>>),
    /// All that was there when the subscription began has been delivered, up to this `seq`.
    CaughtUp(u64),
    /// The subscriber was too slow, or the session cannot go on; it can subscribe again from the last `seq` that it has.
    CutOff(String),
}

/// A stream of deliveries.
pub struct Subscription {
    /// Where they come from; ends when the session is closed.
    pub deliveries: tokio::sync::mpsc::Receiver<Delivery>,
}

impl Subscription {
    /// The next delivery; `None` at the end.
    pub async fn next(&mut self) -> Option<Delivery> {
        self.deliveries.recv().await
    }
}

/// Something that a person says.
#[derive(Clone, Debug, Default)]
pub struct UserInput {
    /// What.
    pub content: Vec<ContentPart>,
    /// When it is looked at.
    pub mode: InputMode,
    /// A second input with the same key is the same input.
    pub idempotency_key: Option<String>,
}

/// A person's decision about a tool call.
#[derive(Clone, Debug)]
pub struct ApprovalInput {
    /// Which call.
    pub tool_call_id: ToolCallId,
    /// What was decided.
    pub decision: ApprovalDecision,
    /// A word to the model.
    pub note: Option<String>,
    /// For `session` and `always`: the rule to keep; by default the one that was suggested.
    pub rule: Option<Rule>,
    /// Who decided, where several people may.
    pub by: Option<OwnerId>,
}

/// How a session stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionState {
    /// The `seq` of its last event.
    pub last_seq: u64,
    /// Its agent.
    pub config: AgentConfig,
    /// The run that is under way, or the last one.
    pub run: Option<RunState>,
    /// Calls that a person has to decide about.
    pub pending_approvals: Vec<PendingApproval>,
    /// Inputs that wait: message id and text.
    pub queued: Vec<(agentx_types::MessageId, String)>,
    /// Tokens of all model calls.
    pub usage: Usage,
    /// Money of all model calls.
    pub cost: NanoUsd,
    /// Tokens that the last model call filled the window with.
    pub context_tokens: u64,
    /// Who drives it, and who else may do what in it.
    #[serde(default)]
    pub sharing: Sharing,
}

/// Where a run stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunState {
    /// Which.
    pub run_id: RunId,
    /// Its state.
    pub status: RunStatus,
    /// How often the model was answered with tool results.
    pub iterations: u32,
}

/// A call that a person has to decide about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PendingApproval {
    /// Which call.
    pub tool_call_id: ToolCallId,
    /// Which tool.
    pub name: String,
    /// With these arguments.
    pub input: Value,
    /// Which rule or default asks.
    pub reason: String,
    /// The rule that `session` or `always` would keep.
    pub suggested: Rule,
}

/// A model that a runtime knows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelInfo {
    /// What it is.
    pub spec: ModelSpec,
    /// Shorter names for it.
    pub aliases: Vec<String>,
    /// Whether it can be asked now; else what is missing, in words.
    pub missing: Option<String>,
}

/// What a replay found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReplayReport {
    /// Which session.
    pub session_id: SessionId,
    /// How many facts were folded.
    pub facts: u64,
    /// How many RuntimeEvents were derived from them.
    pub derived: u64,
    /// The digest of what was derived, in hexadecimal.
    pub digest: String,
    /// The first batch whose derived events differ: `(first seq, last seq)`.
    pub divergence: Option<(u64, u64)>,
}

/// The request that a model got.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContextView {
    /// The event that the request follows from.
    pub seq: u64,
    /// The API that it is written for.
    pub api: agentx_types::Api,
    /// The body, to the byte.
    pub body: String,
}

/// What a runtime can answer instead.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// The log says no.
    #[error(transparent)]
    Log(#[from] LogError),
    /// An id that fits more than one session.
    #[error("{prefix:?} fits {} sessions: {}", .ids.len(), .ids.join(", "))]
    Ambiguous {
        /// What was asked for.
        prefix: String,
        /// Some of those that it fits.
        ids: Vec<String>,
    },
    /// The model is not known.
    #[error("unknown model {model:?}{}", near(.nearest))]
    UnknownModel {
        /// What was asked for.
        model: String,
        /// The nearest names.
        nearest: Vec<String>,
    },
    /// Something that the model needs is missing.
    #[error("model {model}: {what}")]
    Unavailable {
        /// Which model.
        model: String,
        /// What is missing, and where to put it.
        what: String,
    },
    /// It cannot be done as the session stands.
    #[error("{0}")]
    Refused(String),
    /// It is not theirs to do: somebody else drives, or they may only look.
    #[error("{0}")]
    Denied(String),
    /// The server that has the session cannot be reached.
    #[error("{endpoint} cannot be reached: {what}")]
    Unreachable {
        /// Where it is.
        endpoint: String,
        /// What happened.
        what: String,
    },
    /// Something else that a server answered.
    #[error("{detail}")]
    Remote {
        /// Stable, for programs.
        code: String,
        /// For people.
        detail: String,
    },
    /// The session has ended. (One that its log let down says what the log said.)
    #[error("session {session} cannot go on: {why}")]
    Gone {
        /// Which session.
        session: SessionId,
        /// Why.
        why: String,
    },
}

fn near(names: &[String]) -> String {
    if names.is_empty() {
        String::new()
    } else {
        format!("; did you mean {}?", names.join(", "))
    }
}
