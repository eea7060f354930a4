//! The steps of a conversation, which both versions of logs have in common. The readers of V0 and V1 turn
//! events into items; the recorder turns items into facts.

use agentx_types::{ContentPart, Source, Timestamp, ToolStatus, Usage};
use serde_json::Value;

use crate::json;
use crate::time;

/// One step of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LogItem {
    /// The time of the step; `None` if the log does not have it.
    pub(crate) at: Option<Timestamp>,
    /// The ids of the log's events that form this step.
    pub(crate) events: Vec<String>,
    /// The action or observation, as a step of a session.
    pub(crate) step: LogStep,
}

impl LogItem {
    /// Creates a step from one event, with its time and id.
    pub(crate) fn new(event: &Value, step: LogStep) -> Self {
        Self {
            at: time::read(json::text(event, "timestamp")),
            events: json::id(event, "id").into_iter().collect(),
            step,
        }
    }
}

/// An action or an observation of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LogStep {
    /// The agent gets an input.
    Input {
        content: Vec<ContentPart>,
        source: Source,
    },
    /// The model answers.
    Answer(LoggedAnswer),
    /// A call has an outcome.
    Outcome(LoggedOutcome),
    /// A person ran a command outside the conversation.
    Command {
        command: String,
        output: String,
        how: String,
    },
    /// A part of the conversation is replaced by a summary.
    Condensed { forgotten: Vec<String>, summary: String },
    /// The run is stopped.
    Stop { reason: String, source: Source },
    /// The run fails.
    Failure { code: String, message: String },
}

/// An answer of the model.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LoggedAnswer {
    /// The provider's id of the answer, if the log has one.
    pub(crate) message_id: Option<String>,
    /// The model, if the log names it.
    pub(crate) model: Option<String>,
    /// The reasoning.
    pub(crate) thinking: String,
    /// The text.
    pub(crate) text: String,
    /// The calls, in order.
    pub(crate) calls: Vec<LoggedCall>,
    /// The tokens and the cost, if the log has them.
    pub(crate) usage: Option<Usage>,
}

/// A call in an answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LoggedCall {
    /// The call's id in the log, by which its outcome is found.
    pub(crate) id: String,
    /// The tool.
    pub(crate) name: String,
    /// The arguments: an object.
    pub(crate) input: Value,
    /// For a call that ends the run: its result if the log has no observation of it.
    pub(crate) ends: Option<String>,
    /// For a call that delegates to another agent: the agent's name and the task.
    pub(crate) delegate: Option<(String, String)>,
}

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LoggedOutcome {
    /// The call's id in the log.
    pub(crate) call: String,
    /// The tool, in case the log lacks the call.
    pub(crate) name: String,
    /// The arguments, as far as the outcome shows them, in case the log lacks the call.
    pub(crate) input: Value,
    /// The text and pictures that the model reads.
    pub(crate) content: Vec<ContentPart>,
    /// The status of the call.
    pub(crate) status: ToolStatus,
    /// Everything else that the log records about it.
    pub(crate) details: Value,
}

/// The description of the agent in a log, before its first step.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LogSetting {
    /// The name of the agent.
    pub(crate) agent: String,
    /// The model.
    pub(crate) model: String,
    /// The context window of the model in tokens, if the log has it.
    pub(crate) context_window: Option<u64>,
    /// The system prompt.
    pub(crate) system_prompt: String,
    /// The tools that the log describes: name, description, schema.
    pub(crate) tools: Vec<(String, String, Value)>,
    /// The directory that the agent worked in.
    pub(crate) directory: String,
    /// The title.
    pub(crate) title: String,
}
