//! Errors between a program and its agent.

use agentx_runtime::{LogError, PendingApproval, RuntimeError};
use agentx_tools::DuplicateTool;
use agentx_types::RunStatus;

/// Errors between a program and its agent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// The configuration has mistakes.
    #[cfg(feature = "config")]
    #[error(transparent)]
    Config(#[from] agentx_config::ConfigError),
    /// No model is named.
    #[error(
        "no model is named: `.model(\"provider/model\")` names one and `.api_key(..)` its key, `.model(\"scripted\")` the offline demo, and \
         `.from_user_config()` takes the person's settings"
    )]
    NoModel,
    /// Conflicting builder options.
    #[error("{0}")]
    Setup(String),
    /// Two tools have one name.
    #[error(transparent)]
    Tool(#[from] DuplicateTool),
    /// Sessions cannot be stored.
    #[error("cannot keep sessions: {0}")]
    Storage(#[source] std::io::Error),
    /// An input or output error of the program itself, for `?` in a function that also asks an agent. The
    /// library never returns it.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// An error of the runtime: an unknown model, a missing key, a missing session, …
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// The run waits for a decision: [`approve`](crate::AgentHandle::approve) or
    /// [`deny`](crate::AgentHandle::deny), then [`answer`](crate::AgentHandle::answer). It continues waiting
    /// even after this process has ended.
    #[error("{}", undecided(.calls))]
    ApprovalRequired {
        /// The calls to decide about.
        calls: Vec<PendingApproval>,
    },
    /// The answer fits the schema of the requested type, but cannot be deserialized.
    #[error("the answer does not fit the requested type: {reason}")]
    Unreadable {
        /// The error of the deserializer.
        reason: String,
        /// The text of the answer.
        text: String,
    },
    /// The run ended without an answer.
    #[error("the run is {}{}", name(*.status), reason.as_deref().map(|why| format!(": {why}")).unwrap_or_default())]
    Ended {
        /// The outcome.
        status: RunStatus,
        /// The reason.
        reason: Option<String>,
        /// The text until then.
        text: String,
    },
}

impl From<LogError> for AgentError {
    fn from(error: LogError) -> Self {
        Self::Runtime(error.into())
    }
}

fn undecided(calls: &[PendingApproval]) -> String {
    let calls: Vec<String> = calls
        .iter()
        .map(|call| format!("{} {}", call.name, call.input))
        .collect();
    format!("waiting for a decision: {}", calls.join(", "))
}

fn name(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Interrupted => "interrupted",
        RunStatus::TimedOut => "timed out",
        RunStatus::Completed => "completed",
        _ => "failed",
    }
}
