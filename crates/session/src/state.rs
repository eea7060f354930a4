//! The state of a session, for front ends.

use std::collections::BTreeMap;

use agentx_agent::InputBacklog;
use agentx_agent::approval::Question;
use agentx_types::{
    AgentConfig, ApprovalDecision, ApprovalRequested, AskedQuestion, NanoUsd, OwnerId, RequestedCall, Rule,
    RunId, RunStatus, Timestamp, ToolCallId, Usage,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Sharing;

/// The state of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SessionState {
    /// The `seq` of its last event.
    pub last_seq: u64,
    /// The agent's configuration.
    pub config: AgentConfig,
    /// The current run, or the last one.
    pub run: Option<RunState>,
    /// Calls that a person has to decide about.
    pub pending_approvals: Vec<PendingApproval>,
    /// Calls that a judge refused and that a person may still allow, by an approval like any other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused_calls: Vec<PendingApproval>,
    /// The waits of the session whose time is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<OpenWait>,
    /// Whether nothing happens until a wait is over, or a question of a suspended call is answered: no model
    /// is asked, no tool works, nobody has to decide about a call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_waits: bool,
    /// Inputs that wait: message id and text.
    pub queued: Vec<(agentx_types::MessageId, String)>,
    /// The people who sent queued inputs, by message id; without those of the session's owner.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub queued_by: BTreeMap<agentx_types::MessageId, OwnerId>,
    /// The number of `queued` inputs, from the first, that join the current run; each of the others begins
    /// its own.
    #[serde(default)]
    pub joining: usize,
    /// Whether the queued inputs wait until a person sends an input, because the session was closed while
    /// they were queued.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
    /// Tokens of all model calls.
    pub usage: Usage,
    /// Money of all model calls.
    pub cost: NanoUsd,
    /// Tokens that the last model call filled the window with.
    pub context_tokens: u64,
    /// The number of pictures in the conversation. A model that takes no pictures only reads that they exist.
    #[serde(default)]
    pub pictures: usize,
    /// The driver, and the roles of others.
    #[serde(default)]
    pub sharing: Sharing,
    /// The changes that the program made to its tools when it opened the session, until the next input.
    #[serde(default, skip_serializing_if = "ToolsChange::is_nothing")]
    pub tools_change: ToolsChange,
}

/// The kind of thing that a session waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WaitKind {
    /// A call of the tool `wait`.
    Call,
    /// The next attempt to ask a model that was overloaded or asked to wait.
    Retry,
    /// A run that goes on after a wait: if its program dies, nobody may be there who continues it.
    Resumed,
    /// A reminder that the model set for the person: when it is due, a run begins that tells it.
    Reminder,
    /// Something that only a newer version knows.
    Unknown,
}

/// Something that a session waits for until a known time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct OpenWait {
    /// The kind.
    pub kind: WaitKind,
    /// The time at which it is over.
    pub due_at: Timestamp,
    /// The call that waits, or that set the reminder; absent for other kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<ToolCallId>,
    /// The reason or the reminder in the words of the model; empty for other kinds.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

impl OpenWait {
    /// A wait without a call and a reason. The fields can be set.
    pub fn new(kind: WaitKind, due_at: Timestamp) -> Self {
        Self {
            kind,
            due_at,
            tool_call_id: None,
            reason: String::new(),
        }
    }
}

/// The inputs that wait for the agent that people talk to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitingInputs {
    /// The waiting inputs.
    pub backlog: InputBacklog,
    /// Whether an input that comes now would wait too.
    pub next_waits: bool,
}

/// The tools that an agent lost or got back when its session was resumed, because the program now offers
/// others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
#[non_exhaustive]
pub struct ToolsChange {
    /// The names of tools that the agent no longer has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<String>,
    /// The names of tools that it has again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub back: Vec<String>,
}

impl ToolsChange {
    /// Returns whether no tool was added or removed.
    pub fn is_nothing(&self) -> bool {
        self.gone.is_empty() && self.back.is_empty()
    }
}

/// The state of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RunState {
    /// The id of the run.
    pub run_id: RunId,
    /// The status of the run.
    pub status: RunStatus,
    /// The number of times that the model was answered with tool results.
    pub iterations: u32,
}

/// A call that a person has to decide about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PendingApproval {
    /// The id of the call.
    pub tool_call_id: ToolCallId,
    /// The name of the tool.
    pub name: String,
    /// The arguments of the call.
    pub input: Value,
    /// The rule or default that asks.
    pub reason: String,
    /// The rule that `session` or `always` would keep.
    pub suggested: Rule,
    /// Whether the settings of the server would ask too: then only the operator may allow the call in the
    /// session of a member, and nobody with the role `drive` may in a session of the operator.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_server: bool,
    /// The answers that count from the person who requested this state from a server; absent if all do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<Vec<ApprovalDecision>>,
    /// For a question to a person: the JSON Schema of the answer. The note of an approval with `once` is the
    /// answer, as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<Box<Value>>,
    /// Set if the call is a question of the model to the person: then the note of the approval is the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Box<AskedQuestion>>,
}

impl PendingApproval {
    /// The state of a call that waits, with the question about it.
    pub(crate) fn of(call: &RequestedCall, question: &Question) -> Self {
        Self {
            tool_call_id: call.tool_call_id.clone(),
            name: call.name.clone(),
            input: call.input.clone(),
            reason: question.reason.clone(),
            suggested: question.suggested.clone(),
            by_server: question.by_server,
            answers: None,
            form: question.form.clone(),
            question: question.asked.clone(),
        }
    }
}

impl From<&ApprovalRequested> for PendingApproval {
    /// The call, as the event about it names it. An event does not say who may answer.
    fn from(asked: &ApprovalRequested) -> Self {
        Self {
            tool_call_id: asked.tool_call_id.clone(),
            name: asked.name.clone(),
            input: asked.input.clone(),
            reason: asked.reason.clone(),
            suggested: asked.suggested.clone(),
            by_server: false,
            answers: None,
            form: asked.form.clone(),
            question: asked.question.clone(),
        }
    }
}
