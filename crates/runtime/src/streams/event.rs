//! The events of a stream of an agent: one kind of event for words, tools and ends alike, with the agent's
//! name and its phase.

use std::sync::Arc;

use agentx_types::{AgentStateId, ContentPart, Medium, MessageId, RunId, Timestamp, ToolCallId, ToolStatus};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use agentx_session::EventCursor;

/// The reason why a stream ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamEnd {
    /// The agent is closed.
    AgentClosed,
    /// The session was closed.
    SessionEnded,
    /// The session can no longer be read.
    Failed(String),
}

/// The phase of an agent when it emitted an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Idle: no run yet, or a router without input.
    #[default]
    #[serde(rename = "")]
    Idle,
    /// A model call of the agent is in progress.
    Thinking,
    /// Tools of the agent run, or wait for a person's decision.
    Tool,
    /// The agent waits for agents that it made.
    Agent,
    /// The last run has ended.
    Finished,
    /// The agent matches an input to a rule.
    Matching,
    /// An agent to which it gave an input works.
    Executing,
}

impl Phase {
    /// The phase as text; empty for an idle agent.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "",
            Self::Thinking => "thinking",
            Self::Tool => "tool",
            Self::Agent => "agent",
            Self::Finished => "finished",
            Self::Matching => "matching",
            Self::Executing => "executing",
        }
    }
}

/// An event of an agent's stream. Each follows from one RuntimeEvent and has its position.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StreamEvent {
    /// The fact that it follows from.
    pub seq: u64,
    /// The place of the RuntimeEvent that it follows from among those of this fact.
    pub index: u32,
    /// The time of the fact that it follows from.
    pub at: Timestamp,
    /// The name of the agent for people.
    pub agent_def: Arc<str>,
    /// The agent that emits it.
    pub agent_state_id: AgentStateId,
    /// The run to which it belongs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// The phase of the agent.
    pub phase: Phase,
    /// The event itself, flattened into this object.
    #[serde(flatten)]
    pub body: StreamBody,
}

/// The body of an event of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum StreamBody {
    /// A piece of its output, as it arrives: each piece once.
    Chunk(StreamChunk),
    /// The end of the run that answers this input.
    Eof,
    /// The agent is gone.
    Closed {
        /// The reason.
        reason: String,
    },
    /// A tool is about to run, or an agent to which work was given.
    ToolStart {
        /// The id of the call.
        tool_call_id: ToolCallId,
        /// The name of the tool.
        name: String,
        /// The arguments of the call.
        input: Value,
    },
    /// A tool succeeded.
    ToolDone(ToolEnd),
    /// A tool failed. One that never ran (denied, invalid, …) had no `tool_start`.
    ToolError {
        /// The outcome.
        status: ToolStatus,
        /// The text that the model reads, shortened.
        error: String,
        /// The call, and the text that the model reads.
        #[serde(flatten)]
        end: ToolEnd,
    },
    /// The run was stopped from outside.
    Interrupted {
        /// The reason for the stop.
        reason: String,
    },
}

/// A piece of an agent's output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StreamChunk {
    /// The medium of the piece. The output of tools has the medium `tool`.
    pub medium: Medium,
    /// The words; if a script emitted something else, its JSON text.
    pub text: String,
    /// The value that a script emitted, if it is more than words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// The answer to which the piece belongs. A repeated model call begins another answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
    /// The call whose tool emits it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<ToolCallId>,
}

/// The end of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolEnd {
    /// The id of the call.
    pub tool_call_id: ToolCallId,
    /// The name of the tool.
    pub name: String,
    /// The content that the model reads about it.
    pub result: Vec<ContentPart>,
    /// Milliseconds that it ran; 0 if it never ran.
    pub duration_ms: u64,
    /// Details of the result for people and programs, as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

impl StreamEvent {
    /// The place of the event in its session.
    pub fn place(&self) -> EventCursor {
        EventCursor {
            seq: self.seq,
            index: self.index,
        }
    }

    /// The medium that it belongs to: that of a chunk, and `tool` for events about calls. `None` for events
    /// that every stream of the agent gets: `eof`, `closed`, `interrupted`.
    pub fn medium(&self) -> Option<&Medium> {
        match &self.body {
            StreamBody::Chunk(chunk) => Some(&chunk.medium),
            StreamBody::ToolStart { .. } | StreamBody::ToolDone(_) | StreamBody::ToolError { .. } => {
                Some(&Medium::Tool)
            }
            StreamBody::Eof | StreamBody::Closed { .. } | StreamBody::Interrupted { .. } => None,
        }
    }

    /// Returns the kind as text.
    pub fn kind(&self) -> &'static str {
        match &self.body {
            StreamBody::Chunk(_) => "chunk",
            StreamBody::Eof => "eof",
            StreamBody::Closed { .. } => "closed",
            StreamBody::ToolStart { .. } => "tool_start",
            StreamBody::ToolDone(_) => "tool_done",
            StreamBody::ToolError { .. } => "tool_error",
            StreamBody::Interrupted { .. } => "interrupted",
        }
    }
}
