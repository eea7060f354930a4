//! The reason why a call failed, as the model reads it. Tools return it with `?`; the adapter converts it to
//! an outcome.

use agentx_runtime::ToolOutcome;
use agentx_types::ToolStatus;

/// The reason why a call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolFailure {
    /// In one word.
    pub status: ToolStatus,
    /// The message to the model: what was attempted, on what, and what to do instead.
    pub text: String,
}

impl ToolFailure {
    /// Creates a failure of a valid call.
    pub fn failed(text: impl Into<String>) -> Self {
        Self {
            status: ToolStatus::Failed,
            text: text.into(),
        }
    }

    /// Creates a failure of a call with invalid arguments.
    pub fn invalid(text: impl Into<String>) -> Self {
        Self {
            status: ToolStatus::Invalid,
            text: text.into(),
        }
    }

    /// Creates a failure of a call that is not allowed.
    pub fn denied(text: impl Into<String>) -> Self {
        Self {
            status: ToolStatus::Denied,
            text: text.into(),
        }
    }

    /// Creates a failure of a call that was stopped from outside.
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
