//! Calls of the tool `wait`: each has a timer, and is answered when that is due.
//!
//! ```text
//! call of wait ─┬─ arguments that name no time ─▶ the result says what is wrong
//!               └─ else ─▶ start_timer (due_at) ─┬─ timer_fired ─▶ the result says that the wait is over
//!                                                ├─ a new writer ─▶ start_timer for the rest
//!                                                └─ the run is stopped ─▶ the result says so
//! ```
//!
//! The timer is an action like any other: `timer_fired` names it as its cause. A second `timer_fired`, or one
//! of a program that another one replaced, finds no call that waits for it. So a wait ends once, whatever
//! dies.

use agentx_types::{
    ActionBody, CallWait, Envelope, EnvironmentEvent, RequestedCall, StartTimer, Timer, Timestamp, ToolStatus,
};

use super::ReactAgent;
use crate::ledger::{CallStage, LedgerEntry};
use crate::run_lifecycle::RunStep;
use crate::tools::wait;

/// Milliseconds by which a timer may fire early without being started again: clocks are corrected.
pub(super) const EARLY_MS: u64 = 1_000;

impl ReactAgent {
    /// Lets a call wait. An `Err` is the message to the model about its arguments.
    pub(super) fn begin_wait(
        &self,
        call: &RequestedCall,
        step: &mut RunStep<'_>,
    ) -> Result<CallStage, String> {
        let due_at = wait::due_at(&call.input, step.at)?;
        Ok(self.start_wait(call, due_at, step))
    }

    /// Sets the timer of a call that waits until `due_at`; at once, if that is over.
    pub(super) fn start_wait(
        &self,
        call: &RequestedCall,
        due_at: Timestamp,
        step: &mut RunStep<'_>,
    ) -> CallStage {
        let timer = StartTimer {
            after_ms: millis_until(due_at, step.at),
            timer: Timer::Wait,
            wait: Some(CallWait {
                tool_call_id: call.tool_call_id.clone(),
                due_at,
            }),
        };
        let action_id = step.act_in(self.lifecycle.run_id(), ActionBody::StartTimer(timer));
        CallStage::Waiting { action_id, due_at }
    }

    /// Handles a timer that is due. Returns `false` if no call waits for it.
    ///
    /// A timer that fires much too early is started again for the rest: the clock was set back meanwhile.
    pub(super) fn end_wait(&mut self, fact: &Envelope<EnvironmentEvent>, step: &mut RunStep<'_>) -> bool {
        let waits = |entry: &LedgerEntry| match &entry.stage {
            CallStage::Waiting { action_id, .. } => fact.cause.as_ref() == Some(action_id),
            _ => false,
        };
        let Some(index) = self.ledger.entries().iter().position(waits) else {
            return false;
        };
        let entry = self.ledger.entries()[index].clone();
        let CallStage::Waiting { due_at, .. } = entry.stage else {
            return false;
        };
        if millis_until(due_at, step.at) > EARLY_MS {
            let stage = self.start_wait(&entry.call, due_at, step);
            self.ledger.entries_mut()[index].stage = stage;
            return true;
        }
        let text = format!(
            "The wait is over: it was due at {}, and it is {} now.",
            due_at.rfc3339(),
            step.at.rfc3339()
        );
        self.answer_open(index, ToolStatus::Success, text, step);
        if let Some(run) = self.lifecycle.active() {
            run.has_waited = true;
        }
        self.note_pause(step);
        true
    }

    /// Notes whether every open call of the run waits for a time: as long as they do, the time counts against
    /// no limit.
    pub(super) fn note_pause(&mut self, step: &RunStep<'_>) {
        let entries = self.ledger.entries();
        let waits = |entry: &LedgerEntry| matches!(entry.stage, CallStage::Waiting { .. });
        let is_open = |entry: &&LedgerEntry| !matches!(entry.stage, CallStage::Resolved { .. });
        let is_paused = entries.iter().any(waits) && entries.iter().filter(is_open).all(waits);
        if let Some(run) = self.lifecycle.active() {
            run.set_paused(is_paused, step.at);
        }
    }
}

/// Milliseconds until `due_at`, rounded up, so that a timer of this length is not early.
pub(super) fn millis_until(due_at: Timestamp, now: Timestamp) -> u64 {
    Timestamp(due_at.0.saturating_add(999)).millis_since(now)
}
