//! What a runtime answers: how a session stands, which models there are, what a replay found.

use agentx_agent::approval::Question;
use agentx_types::{
    AgentConfig, ApprovalDecision, CondensedRange, ModelSpec, NanoUsd, RequestedCall, Rule, RunId, RunStatus,
    SessionId, ToolCallId, Usage, WindowFill,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Sharing;

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
    /// How many of `queued`, from the first, join the run that is under way; each of the others begins its own.
    #[serde(default)]
    pub joining: usize,
    /// Whether `queued` is held back until a person says something: the session was closed while they waited.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
    /// Tokens of all model calls.
    pub usage: Usage,
    /// Money of all model calls.
    pub cost: NanoUsd,
    /// Tokens that the last model call filled the window with.
    pub context_tokens: u64,
    /// Pictures in the conversation: a model that takes none is only told of them.
    #[serde(default)]
    pub pictures: usize,
    /// Who drives it, and who else may do what in it.
    #[serde(default)]
    pub sharing: Sharing,
    /// What the program that opened it has changed about its tools, until somebody says something.
    #[serde(default, skip_serializing_if = "ToolsChange::is_nothing")]
    pub tools_change: ToolsChange,
}

/// The tools that an agent lost or got back when its session was resumed, because the program now offers others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ToolsChange {
    /// The names of those that it no longer has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<String>,
    /// The names of those that it has again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub back: Vec<String>,
}

impl ToolsChange {
    /// Whether there is none.
    pub fn is_nothing(&self) -> bool {
        self.gone.is_empty() && self.back.is_empty()
    }
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
    /// Whether the settings of the server would ask too: then only its operator allows the call in the session of a member, and
    /// nobody with the role `drive` does in a session of the operator.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_server: bool,
    /// The answers of whoever asked a server for the state that count; absent where all do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<Vec<ApprovalDecision>>,
}

impl PendingApproval {
    /// Of a call that waits, and what is asked about it.
    pub(crate) fn of(call: &RequestedCall, question: &Question) -> Self {
        Self {
            tool_call_id: call.tool_call_id.clone(),
            name: call.name.clone(),
            input: call.input.clone(),
            reason: question.reason.clone(),
            suggested: question.suggested.clone(),
            by_server: question.by_server,
            answers: None,
        }
    }
}

/// The file that a call which waits for a decision would change, as it is now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileInQuestion {
    /// Where it is, as the call names it; absent where the call changes no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Where it really is, if a link on the way leads elsewhere: below the workspace, else from the root on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leads_to: Option<String>,
    /// What is in it; absent where there is no file, or it is not shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Why it is not shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<String>,
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
    /// What is condensed in it, and what has been since, the latest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub condensed: Vec<CondensedRange>,
    /// What fills the window by now, with what has come since that request. An older server does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill: Option<WindowFill>,
}
