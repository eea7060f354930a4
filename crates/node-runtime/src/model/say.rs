//! The events that a call says on its own account, beside those that its decoder makes.

use agentx_types::{AttemptFailed, EnvironmentEvent, ErrorOccurred, StopReason, StreamEnd};

use super::failure::Failure;

/// The stream broke off, or was interrupted.
pub(super) fn stream_end(stop_reason: StopReason) -> EnvironmentEvent {
    StreamEnd {
        stop_reason,
        raw: None,
    }
    .into()
}

/// Attempt number `attempt` failed; the next one follows in `retry_in_ms`, or none does.
pub(super) fn attempt_failed(attempt: u32, failure: &Failure, retry_in_ms: Option<u64>) -> EnvironmentEvent {
    AttemptFailed {
        attempt,
        code: failure.code.to_owned(),
        message: failure.message.clone(),
        status: failure.status,
        retry_in_ms,
        overflow: failure.overflow,
        refused: failure.refused,
    }
    .into()
}

/// The call came to nothing.
pub(super) fn error(failure: &Failure, remark: Option<String>) -> EnvironmentEvent {
    let message = match remark {
        Some(remark) => format!("{} ({remark})", failure.message),
        None => failure.message.clone(),
    };
    ErrorOccurred {
        code: failure.code.to_owned(),
        message,
        recoverable: true,
    }
    .into()
}
