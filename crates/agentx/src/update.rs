//! The updates while an agent answers, and the answer.

use std::time::Duration;

use agentx_runtime::PendingApproval;
use agentx_types::{AgentStateId, NanoUsd, RunId, ToolCallId, ToolStatus, TurnResponse, Usage};
use serde_json::Value;

/// An update while an agent answers.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Update {
    /// Words of the answer, as they come.
    Text(String),
    /// Words of the reasoning, as they come.
    Thinking(String),
    /// A tool runs.
    ToolStarted {
        /// The id of the call.
        id: ToolCallId,
        /// The name of the tool.
        name: String,
        /// The arguments, as JSON.
        input: Value,
    },
    /// A tool says something while it runs.
    ToolOutput {
        /// The id of the call.
        id: ToolCallId,
        /// The text.
        text: String,
    },
    /// A call has its result.
    ToolEnded {
        /// The id of the call.
        id: ToolCallId,
        /// The name of the tool.
        name: String,
        /// The outcome.
        status: ToolStatus,
        /// The result that the model reads, as text.
        text: String,
    },
    /// A decision about a call is awaited.
    ApprovalRequired(PendingApproval),
    /// An update of an agent that this one made.
    Child {
        /// The agent.
        agent: AgentStateId,
        /// The update.
        update: Box<Self>,
    },
    /// The answer; nothing comes after it.
    Answered(Answer),
}

/// The answer to what was asked. It shows as its text.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Answer {
    /// The last answer of the model, as text.
    pub text: String,
    /// The run that it is the answer of.
    pub run_id: RunId,
    /// Tokens of all model calls of the run, read and written.
    pub usage: Usage,
    /// Money of all model calls of the run, in billionths of a US dollar; `cost.as_usd()` is in dollars. Zero
    /// if the model's price is unknown.
    pub cost: NanoUsd,
    /// Time from the input to the answer, without the time in which no program continued the run, or it
    /// waited for the answer of a person. After a crash, the time since the last event before it is left out,
    /// too, because the time of the crash is not recorded.
    pub duration: Duration,
    /// The number of model calls.
    pub model_calls: u32,
}

impl Answer {
    /// Creates an answer with this text, of this run, without usage and cost, for tests. The fields can be
    /// set.
    pub fn new(text: impl Into<String>, run_id: RunId) -> Self {
        Self {
            text: text.into(),
            run_id,
            usage: Usage::default(),
            cost: NanoUsd::default(),
            duration: Duration::ZERO,
            model_calls: 0,
        }
    }

    /// The same, which took this many tokens and this much money, in so many calls of a model.
    #[must_use]
    pub fn with_spent(mut self, usage: Usage, cost: NanoUsd, model_calls: u32) -> Self {
        self.usage = usage;
        self.cost = cost;
        self.model_calls = model_calls;
        self
    }

    /// The same, which came so long after the input.
    #[must_use]
    pub fn with_duration(mut self, duration: Duration) -> Self {
        self.duration = duration;
        self
    }

    pub(crate) fn of(turn: &TurnResponse) -> Self {
        Self {
            text: turn.text.clone(),
            run_id: turn.run_id.clone(),
            usage: turn.usage,
            cost: turn.cost,
            duration: Duration::from_millis(turn.duration_ms),
            model_calls: turn.model_calls,
        }
    }
}

impl std::fmt::Display for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}
