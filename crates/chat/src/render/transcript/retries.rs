//! Attempts to call a model that failed and are repeated. A screen has a live row that counts them, and one
//! line is printed when the model answers or the run ends, so that an outage does not fill the scrollback.

use agentx::types::{ErrorRaised, RuntimeEvent, StopReason};

use super::super::table::cut;
use super::super::units;
use super::{SHORTEST_REASON, TranscriptRenderer};

/// The number of columns from which a live row also says when the last attempt is made.
const WIDE: usize = 60;

/// The failed attempts of a model call that is still tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FailedAttempts {
    count: u32,
    /// The reason of the latest one.
    message: String,
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
        cut(&format!("… {}{rest}", cut(&self.message, room)), width)
    }

    /// Describes them when no more follow.
    fn describe_total(&self, width: usize) -> String {
        let rest = format!("; {} failed", units::counted(self.count, "attempt"));
        let room = width.saturating_sub(rest.len() + 3).max(SHORTEST_REASON);
        format!("… {}{rest}", cut(&self.message, room))
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

impl TranscriptRenderer {
    /// Counts an attempt that failed with this message and will be repeated.
    pub(super) fn attempt_failed(&mut self, message: String, error: &ErrorRaised) {
        let count = self.problems.attempts.as_ref().map_or(0, |failed| failed.count);
        self.problems.attempts = Some(FailedAttempts {
            count: count.saturating_add(1),
            message,
            gives_up_in_ms: error.gives_up_in_ms,
        });
    }

    /// Prints a line about the attempts that failed, if any did.
    pub(super) fn end_attempts(&mut self) {
        if let Some(failed) = self.problems.attempts.take() {
            let line = self.style.warn(&failed.describe_total(self.width));
            self.aside(&line);
        }
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
