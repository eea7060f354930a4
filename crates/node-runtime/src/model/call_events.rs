//! The events that a call itself emits, besides those of its decoder.
//!
//! They are facts: each is committed in this form, and a program that reads the log years later sees the same
//! code and text. So messages are scrubbed of secrets before they arrive here.
//!
//! A stream that breaks off always has a beginning and an end in the log: the decoder's own, or those added
//! here. So the fold never waits for an answer that cannot come.

use std::time::Duration;

use agentx_types::{
    AttemptFailed, EnvironmentEvent, ErrorOccurred, MessageId, StopReason, StreamEnd, StreamStart,
};

use super::failure::AttemptFailure;

/// An answer begins that its server has not announced.
pub(super) fn stream_start(message_id: MessageId, model: &str, attempt: u32) -> EnvironmentEvent {
    StreamStart {
        message_id,
        model: model.to_owned(),
        attempt,
    }
    .into()
}

/// The stream broke off, or was interrupted.
pub(super) fn stream_end(stop_reason: StopReason) -> EnvironmentEvent {
    StreamEnd {
        stop_reason,
        raw: None,
    }
    .into()
}

/// Returns whether an event has content of an answer, other than its begin, its end, or its cost.
pub(super) fn is_of_an_answer(event: &EnvironmentEvent) -> bool {
    !matches!(
        event,
        EnvironmentEvent::StreamStart(_)
            | EnvironmentEvent::StreamEnd(_)
            | EnvironmentEvent::UsageReport(_)
            | EnvironmentEvent::ModelFellBack(_)
    )
}

/// Attempt number `attempt` failed; the next one follows in `retry_in`, or none does. The server is waited
/// for within `gives_up_in`.
pub(super) fn attempt_failed(
    attempt: u32,
    failure: &AttemptFailure,
    retry_in: Option<Duration>,
    gives_up_in: Option<Duration>,
) -> AttemptFailed {
    let millis = |time: Duration| u64::try_from(time.as_millis()).ok();
    AttemptFailed {
        attempt,
        code: failure.code.to_owned(),
        message: failure.message.clone(),
        status: failure.status,
        retry_in_ms: retry_in.and_then(millis),
        gives_up_in_ms: gives_up_in.and_then(|time| u32::try_from(time.as_millis()).ok()),
        overflow: failure.overflow.clone(),
        refused: failure.refused,
        longest_answer: failure
            .longest_answer
            .and_then(|tokens| u32::try_from(tokens).ok()),
        most_media: failure.most_media,
        no_thinking: false,
        refused_place: None,
    }
}

/// The call failed.
pub(super) fn error(failure: &AttemptFailure, remark: Option<String>) -> EnvironmentEvent {
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
