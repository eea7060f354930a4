//! The object at the end of every machine-readable output, also after a failure.

use agentx::runtime::SessionState;
use agentx::types::{ModelSpec, NanoUsd, RunId, RunStatus, SessionId, StopReason, Usage};
use serde_json::{Value, json};

use crate::error::ChatError;
use crate::exit::Exit;

/// The result of a headless run.
#[derive(Debug, Default)]
pub struct RunResult {
    /// The session; `None` if none was opened.
    pub session_id: Option<SessionId>,
    /// The run; `None` if none began.
    pub run_id: Option<RunId>,
    /// The status at the end of the run; `None` if none began.
    pub status: Option<RunStatus>,
    /// The last answer, as far as it came.
    pub text: String,
    /// The value of the answer, if it had to fit a JSON Schema and does.
    pub answer: Option<Value>,
    /// The model that gave it, as its server names it; `None` if none answered or the server named none.
    pub model: Option<String>,
    /// The reason why the last answer ended.
    pub stop_reason: Option<StopReason>,
    /// The tokens that the run used.
    pub usage: Usage,
    /// Tokens of its answers, for a run that did not report its own and whose session is gone.
    pub answered: Usage,
    /// The cost of the run.
    pub cost: NanoUsd,
    /// Whether the prices of the model are unknown.
    pub has_no_price: bool,
    /// The number of model calls.
    pub model_calls: u32,
    /// The time from the start of the run to its end, in milliseconds.
    pub duration_ms: u64,
    /// Whether every call ran without a question, unless a rule denied it.
    pub asks_nobody: bool,
    /// The commands of the run that still run in the background at its end. They end with a program that runs
    /// the session itself, and continue at a server.
    pub jobs: Vec<String>,
    /// The reason of the failure.
    pub error: Option<ChatError>,
    /// The HTTP status of the model server, if its answer is the reason of the failure.
    pub http_status: Option<u16>,
}

impl RunResult {
    /// A run that never began.
    pub fn failed(error: ChatError) -> Self {
        Self {
            error: Some(error),
            ..Self::default()
        }
    }

    /// Returns the result of a run that did not end in this session.
    ///
    /// # Errors
    /// Returns an error if the reader of the output is gone, and so no result.
    pub fn failed_in(session: &SessionId, error: ChatError) -> Result<Self, ChatError> {
        match error {
            ChatError::ClosedOutput => Err(ChatError::ClosedOutput),
            error => Ok(Self {
                session_id: Some(session.clone()),
                ..Self::failed(error)
            }),
        }
    }

    /// Returns the exit code of the program.
    pub fn exit(&self) -> Exit {
        self.error.as_ref().map_or(Exit::Ok, ChatError::exit)
    }

    /// Fills in the cost of a run that did not report it: the difference of the session's sums.
    pub fn fill_cost(&mut self, before: &SessionState, after: &SessionState) {
        if self.model_calls > 0 && self.usage != Usage::default() {
            return;
        }
        let less = |after: u64, before: u64| after.saturating_sub(before);
        self.usage = Usage {
            input_tokens: less(after.usage.input_tokens, before.usage.input_tokens),
            output_tokens: less(after.usage.output_tokens, before.usage.output_tokens),
            cache_read_tokens: less(after.usage.cache_read_tokens, before.usage.cache_read_tokens),
            cache_write_tokens: less(after.usage.cache_write_tokens, before.usage.cache_write_tokens),
            cache_write_1h_tokens: less(
                after.usage.cache_write_1h_tokens,
                before.usage.cache_write_1h_tokens,
            ),
            reasoning_tokens: less(after.usage.reasoning_tokens, before.usage.reasoning_tokens),
            estimated_tokens: less(after.usage.estimated_tokens, before.usage.estimated_tokens),
            reported_cost: NanoUsd(less(after.usage.reported_cost.0, before.usage.reported_cost.0)),
            unpriced_tokens: less(after.usage.unpriced_tokens, before.usage.unpriced_tokens),
        };
        self.cost = NanoUsd(less(after.cost.0, before.cost.0));
    }

    /// Fills in the cost of a run that did not report it and whose session cannot say it: that of its
    /// answers, at the prices of this model.
    pub fn fill_cost_of_answers(&mut self, model: &ModelSpec) {
        if self.usage == Usage::default() {
            self.usage = model.prices.marked(self.answered);
            self.cost = model.prices.cost(&self.usage);
        }
    }

    /// Returns the cost in dollars; `None` if tokens were used and their price is not known.
    fn cost_usd(&self) -> Option<f64> {
        let has_no_price = self.has_no_price || self.usage.is_unpriced();
        let is_unknown = has_no_price && self.cost == NanoUsd(0) && self.usage != Usage::default();
        (!is_unknown).then(|| self.cost.as_usd())
    }

    /// Returns the result as the JSON object that docs/PROTOCOL.md describes; its hint names `server`, the
    /// address of the server.
    pub fn to_json(&self, server: Option<&str>) -> Value {
        let status = match self.status {
            Some(status) => json!(status),
            None => json!("failed"),
        };
        let mut object = json!({
            "type": "result",
            "status": status,
            "session_id": self.session_id,
            "run_id": self.run_id,
            "text": self.text,
            "usage": self.usage,
            "cost_usd": self.cost_usd(),
            "model_calls": self.model_calls,
            "duration_ms": self.duration_ms,
            "exit_code": self.exit().code(),
        });
        if let Some(model) = &self.model {
            object["model"] = json!(model);
        }
        // Only an incomplete answer has it.
        if let Some(why @ (StopReason::MaxTokens | StopReason::Refusal | StopReason::Other)) =
            self.stop_reason
        {
            object["stop_reason"] = json!(why);
        }
        if self.usage.is_unpriced() && self.cost > NanoUsd(0) {
            object["cost_is_incomplete"] = json!(true);
        }
        if let Some(answer) = &self.answer {
            object["answer"] = answer.clone();
        }
        if !self.jobs.is_empty() {
            object["jobs"] = json!(self.jobs);
        }
        if self.asks_nobody {
            object["approval"] = json!("auto");
        }
        if let Some(error) = &self.error {
            object["error"] = error.to_json(server);
            if let Some(status) = self.http_status {
                object["error"]["status"] = json!(status);
            }
        }
        object
    }
}
