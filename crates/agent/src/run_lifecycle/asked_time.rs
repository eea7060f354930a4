//! The time in which a run waits for the answer of a person. It counts against the limit of the run, but not
//! for the duration in the turn's response, because nobody worked in it.

use agentx_types::{RunStatus, Timestamp};

use super::{Run, RunLifecycle, RunStep};

impl RunLifecycle {
    /// Notes that the run waits for a person, if that is its status.
    pub(crate) fn note_waiting(&mut self, step: &RunStep<'_>) {
        if let Some(run) = self.active()
            && run.status == RunStatus::AwaitingApproval
            && run.asked_at.is_none()
        {
            run.asked_at = Some(step.at);
        }
    }
}

impl Run {
    /// Notes that the run does not wait for a person any more.
    pub(super) fn end_waiting(&mut self, at: Timestamp) {
        if let Some(since) = self.asked_at.take() {
            self.asked_ms = self.asked_ms.saturating_add(at.millis_since(since));
        }
    }

    /// Leaves out the time in which no program was there, because that does not count anyway: from `gone` to
    /// `back`.
    pub(super) fn skip_waiting(&mut self, gone: Timestamp, back: Timestamp) {
        if self.asked_at.is_some() {
            self.end_waiting(gone);
            self.asked_at = Some(back);
        }
    }

    /// Milliseconds until `at` in which it was worked on: a program was there, and the run did not wait for a
    /// person. It has to wait no longer.
    pub(super) fn worked_ms(&self, at: Timestamp) -> u64 {
        self.used_ms(at).saturating_sub(self.asked_ms)
    }
}
