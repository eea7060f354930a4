//! Why a call came to nothing, as the model reads it. Tools return it with `?`; the adapter makes an outcome of it.

use agentx_runtime::ToolOutcome;
use agentx_types::ToolStatus;

/// Why a call came to nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolFailure {
    /// In one word.
    pub status: ToolStatus,
    /// What the model is told: what was attempted, on what, and what to do instead.
    pub text: String,
}

impl ToolFailure {
    /// The call made sense, and did not work.
    pub fn failed(text: impl Into<String>) -> Self {
        Self {
            status: ToolStatus::Failed,
            text: text.into(),
        }
    }

    /// The arguments made no sense.
    pub fn invalid(text: impl Into<String>) -> Self {
        Self {
            status: ToolStatus::Invalid,
            text: text.into(),
        }
    }

    /// The call is not allowed to do that.
    pub fn denied(text: impl Into<String>) -> Self {
        Self {
            status: ToolStatus::Denied,
            text: text.into(),
        }
    }

    /// The call was stopped from outside before it was done.
    pub fn interrupted() -> Self {
        Self {
            status: ToolStatus::Interrupted,
            text: "The call was interrupted.".into(),
        }
    }
}

impl From<ToolFailure> for ToolOutcome {
    fn from(failure: ToolFailure) -> Self {
        Self::failed(failure.status, failure.text)
    }
}
