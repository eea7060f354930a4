//! Attempts to call a model that failed and are repeated. A screen has a live row that counts them, and one
//! line is printed when the model answers or the run ends, so that an outage does not fill the scrollback.

use agentx::types::{ContextChange, ErrorRaised, RuntimeEvent, StopReason};

use super::super::table::cut;
use super::super::units;
use super::{SHORTEST_REASON, TranscriptRenderer};
use crate::exit::http_status::{counts_attempts, unnamed_status, with_status};

/// The number of columns from which a live row also says when the last attempt is made.
const WIDE: usize = 60;

/// An error of a run, cleaned for the terminal.
#[derive(Debug)]
pub(super) struct ShownFailure {
    pub(super) code: String,
    pub(super) message: String,
    /// The HTTP status, if a model server answered with one.
    pub(super) status: Option<u16>,
}

/// The failed attempts of a model call that is still tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FailedAttempts {
    count: u32,
    /// The reason of the latest one.
    message: String,
    /// Its HTTP status, if a server answered.
    status: Option<u16>,
    /// The time after which no attempt follows, counted from the first.
    gives_up_in_ms: Option<u64>,
}

impl FailedAttempts {
    /// Describes them while more may follow.
    fn describe_so_far(&self, width: usize) -> String {
        let until = self.gives_up_in_ms.filter(|_| width >= WIDE);
        let until = until.map(|most| format!(", giving up after {}", units::short_limit(most)));
        let until = until.unwrap_or_default();
        let rest = format!("; attempt {} failed{until}", self.count);
        let room = width.saturating_sub(rest.chars().count() + 3).max(width / 3);
        let reason = cut_beside_status(&self.message, self.status, room);
        cut(&format!("… {reason}{rest}"), width)
    }

    /// Describes them when no more follow.
    fn describe_total(&self, width: usize) -> String {
        let rest = format!("; {} failed", units::counted(self.count, "attempt"));
        let room = width.saturating_sub(rest.len() + 3).max(SHORTEST_REASON);
        let reason = with_status(&cut(&self.message, room), self.status);
        format!("… {reason}{rest}")
    }
}

/// Returns whether an event shows that the attempts are over: something was printed, or the run continues or
/// ends in another way.
pub(super) fn ends_attempts(event: &RuntimeEvent) -> bool {
    match event {
        RuntimeEvent::TextDelta(_)
        | RuntimeEvent::ToolCallRequested(_)
        | RuntimeEvent::ContextChanged(_)
        | RuntimeEvent::ApprovalRequested(_)
        | RuntimeEvent::LoopDetected(_)
        | RuntimeEvent::RunFinished(_) => true,
        RuntimeEvent::MessageStop(stop) => stop.stop_reason != StopReason::Broken,
        _ => false,
    }
}

/// Returns whether the line that is printed for an event counts the attempts too.
fn is_counted_by(event: &RuntimeEvent, failure: Option<&ShownFailure>) -> bool {
    matches!(event, RuntimeEvent::RunFinished(_))
        && failure.is_some_and(|failure| counts_attempts(&failure.message))
}

/// Returns whether the request is sent in another form after an event. The runtime counts the attempts of
/// both.
fn is_sent_otherwise(event: &RuntimeEvent) -> bool {
    matches!(
        event,
        RuntimeEvent::ContextChanged(changed) if matches!(changed.change, ContextChange::Repaired(_))
    )
}

/// Returns a message with its HTTP status in a row of limited width, or the status alone if both do not fit.
fn cut_beside_status(message: &str, status: Option<u16>, room: usize) -> String {
    let Some(words) = unnamed_status(message, status) else {
        return cut(message, room);
    };
    match room.checked_sub(words.len() + 3) {
        Some(room) if room >= SHORTEST_MESSAGE => format!("{} ({words})", cut(message, room)),
        _ => words,
    }
}

/// The number of columns below which a message beside its status says nothing.
const SHORTEST_MESSAGE: usize = 12;

impl TranscriptRenderer {
    /// Counts an attempt that failed with this message and will be repeated.
    pub(super) fn attempt_failed(&mut self, message: String, error: &ErrorRaised) {
        let before = self.problems.failed_in_other_forms;
        let count = self
            .problems
            .attempts
            .as_ref()
            .map_or(before, |failed| failed.count);
        self.problems.attempts = Some(FailedAttempts {
            count: count.saturating_add(1),
            message,
            status: error.status,
            gives_up_in_ms: error.gives_up_in_ms,
        });
    }

    /// Notes a failure that is not repeated. The last attempt and the error that it leads to are one failure,
    /// and only the attempt has the HTTP status.
    pub(super) fn last_attempt_failed(&mut self, message: String, error: &ErrorRaised) {
        let before = self.problems.failure.take();
        if before.is_none()
            && let Some(attempts) = &mut self.problems.attempts
        {
            attempts.count = attempts.count.saturating_add(1);
        }
        let before = before.filter(|before| before.code == error.code);
        self.problems.failure = Some(ShownFailure {
            code: error.code.clone(),
            message,
            status: error.status.or(before.and_then(|before| before.status)),
        });
    }

    /// Prints a line about the attempts that failed, if any did and the next line does not count them.
    pub(super) fn end_attempts(&mut self, event: &RuntimeEvent) {
        // The failure is told, or remedied, by what follows.
        let failure = self.problems.failure.take();
        let failed = self.problems.attempts.take();
        let count = failed.as_ref().map_or(0, |failed| failed.count);
        if let Some(failed) = failed
            && !is_counted_by(event, failure.as_ref())
        {
            let line = self.style.warn(&failed.describe_total(self.width));
            self.aside(&line);
        }
        self.problems.failure = failure;
        self.problems.failed_in_other_forms = if is_sent_otherwise(event) { count } else { 0 };
    }

    /// Returns the live row about attempts that failed so far.
    pub(super) fn attempts_row(&self) -> Option<String> {
        let failed = self.problems.attempts.as_ref()?;
        Some(
            self.style
                .warn(&failed.describe_so_far(self.width.saturating_sub(1))),
        )
    }
}
