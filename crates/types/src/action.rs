//! Actions that an agent requests: plain data. An effector performs an action on the environment and answers
//! with events whose `cause` is the action's id.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    ActionId, ActionKind, AgentConfig, AgentStateId, AnswerSchema, AssessRisk, BuildContext, Condense,
    ContentPart, EnvironmentEvent, FallbackAsked, MessageId, ModelRequest, NestedDecision, ProposeMemories,
    RecordedEffects, RunId, ScriptValues, SharedSet, Timer, Timestamp, ToolCallId, ToolStatus, UserMessage,
};

/// An action with its context.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Action {
    /// Events that answer it carry this as their `cause`.
    pub action_id: ActionId,
    /// The agent that requested it.
    pub agent_state_id: AgentStateId,
    /// The run that it belongs to.
    pub run_id: Option<RunId>,
    /// The requested action.
    pub body: ActionBody,
}

/// The kinds of actions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionBody {
    /// Ask the model. Answered by `stream_start` … `stream_end`.
    CallModel(CallModel),
    /// Ask a model for a summary of a range of the conversation. Answered by one `context_condensed` or
    /// `condensing_failed`.
    Condense(Condense),
    /// Build the context of a source for a run. Answered by one `context_built`.
    BuildContext(BuildContext),
    /// Assess the risk of a call. Answered by one `risk_assessed`.
    AssessRisk(AssessRisk),
    /// Have a model propose what to remember of a part of the conversation. Answered by one
    /// `memories_proposed`.
    ProposeMemories(ProposeMemories),
    /// Run a tool. Answered by one `tool_result`.
    CallTool(CallTool),
    /// Answer a tool call without running anything. Answered by one `tool_result`.
    AnswerCall(AnswerCall),
    /// Hold an answer against its schema. Answered by one `answer_checked`.
    CheckAnswer(CheckAnswer),
    /// Wake the agent later. Answered by one `timer_fired`.
    StartTimer(StartTimer),
    /// Stop a running action. Answered by the cancelled action's own terminal event.
    Cancel(Cancel),
    /// Tells a running tool whether its nested call is allowed. It has no terminal event.
    DecideInnerCall(DecideInnerCall),
    /// Records why the run ends, or that another model continues it. Answered by one `interrupted`, `error`
    /// or `fallback_asked`.
    Report(Report),
    /// Make another agent. Answered by one `agent_spawned`.
    SpawnAgent(SpawnAgent),
    /// Send an input to another agent. Answered by one `user_message`.
    SendInput(SendInput),
    /// Stop another agent. Answered by one `interrupt_requested`.
    InterruptAgent(InterruptAgent),
    /// End another agent. Answered by one `agent_closed`.
    CloseAgent(CloseAgent),
}

impl ActionBody {
    /// The kind of this action.
    pub fn kind(&self) -> ActionKind {
        match self {
            Self::CallModel(_) => ActionKind::CallModel,
            Self::Condense(_) => ActionKind::Condense,
            Self::BuildContext(_) => ActionKind::BuildContext,
            Self::AssessRisk(_) => ActionKind::AssessRisk,
            Self::ProposeMemories(_) => ActionKind::ProposeMemories,
            Self::CallTool(_) => ActionKind::CallTool,
            Self::AnswerCall(_) => ActionKind::AnswerCall,
            Self::CheckAnswer(_) => ActionKind::CheckAnswer,
            Self::StartTimer(_) => ActionKind::StartTimer,
            Self::Cancel(_) => ActionKind::Cancel,
            Self::DecideInnerCall(_) => ActionKind::DecideInnerCall,
            Self::Report(_) => ActionKind::Report,
            Self::SpawnAgent(_) => ActionKind::SpawnAgent,
            Self::SendInput(_) => ActionKind::SendInput,
            Self::InterruptAgent(_) => ActionKind::InterruptAgent,
            Self::CloseAgent(_) => ActionKind::CloseAgent,
        }
    }
}

/// Ask the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallModel {
    /// The whole request.
    pub request: Arc<ModelRequest>,
    /// Ids that the answer must not use: the session has them already, even if the request no longer does.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub taken: Arc<UsedIds>,
}

/// Ids of calls that models chose, or that replace such ids. Small servers choose the same ids repeatedly; a
/// session uses each id once.
///
/// Every request carries them while the session adds to them, so they are in a set with cheap clones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsedIds {
    /// Ids of tool calls, including unfinished ones.
    pub calls: SharedSet<ToolCallId>,
    /// Ids of answers.
    pub messages: SharedSet<MessageId>,
}

impl UsedIds {
    /// Returns whether the event introduces a new id.
    pub fn is_news(&self, event: &EnvironmentEvent) -> bool {
        match event {
            EnvironmentEvent::StreamStart(start) => !self.messages.contains(&start.message_id),
            EnvironmentEvent::ToolCallStart(call) => !self.calls.contains(&call.tool_call_id),
            EnvironmentEvent::ToolCall(call) => !self.calls.contains(&call.tool_call_id),
            _ => false,
        }
    }

    /// Records the id that an event gives.
    pub fn note(&mut self, event: &EnvironmentEvent) {
        match event {
            EnvironmentEvent::StreamStart(start) => self.messages.insert(start.message_id.clone()),
            EnvironmentEvent::ToolCallStart(call) => self.calls.insert(call.tool_call_id.clone()),
            EnvironmentEvent::ToolCall(call) => self.calls.insert(call.tool_call_id.clone()),
            _ => false,
        };
    }

    /// Adds everything that `other` has.
    pub fn append(&mut self, other: &Self) {
        self.calls.extend(other.calls.sorted().into_iter().cloned());
        self.messages.extend(other.messages.sorted().into_iter().cloned());
    }
}

fn nothing_recorded(effects: &Arc<RecordedEffects>) -> bool {
    effects.is_empty()
}

fn is_empty(ids: &Arc<UsedIds>) -> bool {
    ids.calls.is_empty() && ids.messages.is_empty()
}

/// Run a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallTool {
    /// The model's call that this performs.
    pub tool_call_id: ToolCallId,
    /// The tool's name.
    pub name: String,
    /// The arguments.
    pub input: Value,
    /// The directory that it works in.
    pub workspace: String,
    /// Whether it may touch files outside the workspace, because a rule or a person allowed it.
    pub outside_workspace: bool,
    /// Whether it may be repeated after a crash.
    pub idempotent: bool,
    /// The steps that the log has of the call, if it is run again after a crash.
    #[serde(default, skip_serializing_if = "nothing_recorded")]
    pub recorded: Arc<RecordedEffects>,
    /// The agent that calls, for tools that make others like it. It is known from the log, so it is not
    /// written again.
    #[serde(skip)]
    pub caller: Arc<CallingAgent>,
}

/// The agent that calls a tool, as the tool may know it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallingAgent {
    /// The configuration of the agent; `None` outside of a session.
    pub config: Option<Arc<AgentConfig>>,
    /// The values that scripts keep with it.
    pub kept: Arc<ScriptValues>,
    /// The number of agents above it: 0 for the one that people talk to.
    pub depth: u32,
    /// Whether somebody decided about this very call, so that neither a rule, a mode nor a judge let it run.
    pub approved: bool,
}

/// Answer a tool call without running anything.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnswerCall {
    /// The call.
    pub tool_call_id: ToolCallId,
    /// The reason why nothing runs.
    pub status: ToolStatus,
    /// The text for the model.
    pub content: Vec<ContentPart>,
}

/// Hold an answer against its schema.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckAnswer {
    /// The answer, as the model gave it.
    pub text: String,
    /// The schema.
    pub answer_schema: Arc<AnswerSchema>,
    /// The number of the answer in its run, from 1.
    pub attempt: u32,
}

/// Wake the agent later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartTimer {
    /// Milliseconds from now.
    pub after_ms: u64,
    /// The purpose of the timer.
    pub timer: Timer,
    /// The call that waits for it, if it is a wait of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<CallWait>,
}

/// A call of the tool `wait`: it ends at a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallWait {
    /// The call.
    pub tool_call_id: ToolCallId,
    /// The time at which it ends, also if no program is there before.
    pub due_at: Timestamp,
}

/// Stop an action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cancel {
    /// The action to cancel.
    pub action_id: ActionId,
}

/// Tell a running tool whether it may make a nested call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecideInnerCall {
    /// The action by which the tool runs.
    pub action_id: ActionId,
    /// The call that it wants to make.
    pub tool_call_id: ToolCallId,
    /// Whether it may.
    pub decision: NestedDecision,
}

/// Create another agent: a child of the requesting one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpawnAgent {
    /// The agent's id, unique in the session.
    pub agent_state_id: AgentStateId,
    /// The configuration of the agent.
    pub config: Box<AgentConfig>,
}

/// Send an input to another agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SendInput {
    /// The agent to send to.
    pub to: AgentStateId,
    /// The message.
    pub message: UserMessage,
}

/// Stops another agent's run; it can continue with its next input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterruptAgent {
    /// The agent to stop.
    pub to: AgentStateId,
    /// The reason.
    pub reason: Option<String>,
}

/// End another agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CloseAgent {
    /// The agent.
    pub agent_state_id: AgentStateId,
    /// The reason.
    pub reason: String,
}

/// Records why the run ends, or that another model continues it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    /// Stopped from outside.
    Interrupted {
        /// The cause of the interruption.
        reason: String,
    },
    /// The run cannot continue.
    Error {
        /// The stable code for programs: `iteration_limit`, `cost_limit`, …
        code: String,
        /// The message for people.
        message: String,
    },
    /// The run continues with another model.
    Fallback(FallbackAsked),
}
