//! What both versions of logs have in common: the steps of a conversation. The readers of V0 and V1 make
//! items of events; the recorder makes facts of items.

use agentx_types::{ContentPart, Source, Timestamp, ToolStatus, Usage};
use serde_json::Value;

use crate::json;
use crate::time;

/// One step of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LogItem {
    /// When it happened; `None` if the log does not say so.
    pub(crate) at: Option<Timestamp>,
    /// The events of the log that it is made of, by their ids.
    pub(crate) events: Vec<String>,
    /// The action or observation, as a step of a session.
    pub(crate) step: LogStep,
}

impl LogItem {
    /// A step of one event, with its time and its id.
    pub(crate) fn new(event: &Value, step: LogStep) -> Self {
        Self {
            at: time::read(json::text(event, "timestamp")),
            events: json::id(event, "id").into_iter().collect(),
            step,
        }
    }
}

/// What happened in a conversation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LogStep {
    /// Somebody or something gives the agent an input.
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
    /// The words.
    pub(crate) text: String,
    /// The calls, in their order.
    pub(crate) calls: Vec<LoggedCall>,
    /// The tokens and the cost, if the log has them.
    pub(crate) usage: Option<Usage>,
}

/// A call in an answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LoggedCall {
    /// The id as the log has it, by which its outcome is found.
    pub(crate) id: String,
    /// The tool.
    pub(crate) name: String,
    /// The arguments: an object.
    pub(crate) input: Value,
    /// For a call that ends the run: the text of its result if the log has no observation of it.
    pub(crate) ends: Option<String>,
    /// For a call that gives work to another agent: its name and its task.
    pub(crate) delegate: Option<(String, String)>,
}

/// What became of a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LoggedOutcome {
    /// The id of the call as the log has it.
    pub(crate) call: String,
    /// The tool, for a call that the log does not have.
    pub(crate) name: String,
    /// The arguments, as far as the outcome tells them, for such a call.
    pub(crate) input: Value,
    /// The text and pictures for the model.
    pub(crate) content: Vec<ContentPart>,
    /// How it ended.
    pub(crate) status: ToolStatus,
    /// Everything else that the log says about it.
    pub(crate) details: Value,
}

/// What a log says about the agent, before its first step.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LogSetting {
    /// The name of the agent.
    pub(crate) agent: String,
    /// The model.
    pub(crate) model: String,
    /// The tokens that fit into a call, if the log says so.
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
