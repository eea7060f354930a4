//! Reminders that the model sets for the person with the tool `remind_me`.
//!
//! ```text
//! call of remind_me ─▶ start_timer (due_at, in no run) ─┬─ timer_fired ─▶ a message, and a run that tells it
//!        └─▶ the call is answered at once               └─ a new writer ─┬─ not due ─▶ start_timer for the rest
//!                                                                        └─ due ─────▶ the message
//! ```
//!
//! The timer is an action like any other: `timer_fired` names it as its cause. A second one, or one of a
//! program that another one replaced, finds no reminder. So each fires once, whatever dies. A copy of the
//! session has none, because the original tells the person.

use agentx_types::{
    ActionBody, ActionId, CallWait, ContentPart, Envelope, EnvironmentEvent, Message, MessageId,
    RequestedCall, Role, StartTimer, Timer, Timestamp, ToolCallId, ToolStatus,
};
use serde::{Deserialize, Serialize};

use super::ReactAgent;
use super::waits::{EARLY_MS, millis_until};
use crate::ledger::CallStage;
use crate::run_lifecycle::{RunInput, RunStep};
use crate::tools::remind_me::{MAX_REMINDERS, reminder};

/// A reminder that is not due yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reminder {
    /// The call that set it.
    pub tool_call_id: ToolCallId,
    /// The words, one line.
    pub text: String,
    /// The time at which it is due.
    pub due_at: Timestamp,
    /// The timer.
    action_id: ActionId,
}

impl ReactAgent {
    /// The reminders that are not due yet, in the order in which they were set.
    pub fn reminders(&self) -> &[Reminder] {
        &self.reminders
    }

    /// Sets a reminder, and answers its call. An `Err` is the message to the model about its arguments.
    pub(super) fn set_reminder(
        &mut self,
        call: &RequestedCall,
        step: &mut RunStep<'_>,
    ) -> Result<CallStage, String> {
        let (text, due_at) = reminder(&call.input, step.at)?;
        if self.reminders.len() >= MAX_REMINDERS {
            let full = format!("not set: {MAX_REMINDERS} reminders of this session are not due yet.");
            return Ok(self.answer_now(call, ToolStatus::Refused, full, step));
        }
        let action_id = start(&call.tool_call_id, due_at, step);
        let said = format!(
            "Set for {} (it is {} now). You get a message then.",
            due_at.rfc3339(),
            step.at.rfc3339()
        );
        self.reminders.push(Reminder {
            tool_call_id: call.tool_call_id.clone(),
            text,
            due_at,
            action_id,
        });
        Ok(self.answer_now(call, ToolStatus::Success, said, step))
    }

    /// Handles the timer of a reminder. Returns `false` if it is of none.
    ///
    /// A timer that fires much too early is started again for the rest: the clock was set back meanwhile.
    pub(super) fn end_reminder(&mut self, fact: &Envelope<EnvironmentEvent>, step: &mut RunStep<'_>) -> bool {
        let is_it = |reminder: &Reminder| fact.cause.as_ref() == Some(&reminder.action_id);
        let Some(place) = self.reminders.iter().position(is_it) else {
            return false;
        };
        if millis_until(self.reminders[place].due_at, step.at) > EARLY_MS {
            let reminder = &mut self.reminders[place];
            reminder.action_id = start(&reminder.tool_call_id, reminder.due_at, step);
        } else {
            let reminder = self.reminders.remove(place);
            self.remind(&[reminder], step);
        }
        true
    }

    /// Another process takes over: starts the timers of reminders again, and tells those that are due.
    pub(super) fn take_up_reminders(&mut self, step: &mut RunStep<'_>) {
        let all = std::mem::take(&mut self.reminders);
        let (due, later): (Vec<_>, Vec<_>) = all.into_iter().partition(|found| found.due_at <= step.at);
        self.reminders = later;
        for reminder in &mut self.reminders {
            reminder.action_id = start(&reminder.tool_call_id, reminder.due_at, step);
        }
        self.remind(&due, step);
    }

    /// Has the model tell the person about reminders that are due: in the run in progress, or in one of its
    /// own. All of them are one message, because a fact opens at most one run.
    fn remind(&mut self, due: &[Reminder], step: &mut RunStep<'_>) {
        let Some(first) = due.first() else {
            return;
        };
        let mut text = format!(
            "[It is {} now, and reminders that the user asked for are due:",
            step.at.rfc3339()
        );
        for reminder in due {
            text.push_str(&format!(
                "\n- {} (set for {})",
                reminder.text,
                reminder.due_at.rfc3339()
            ));
        }
        text.push_str("\nTell the user, in their language, and do nothing else because of them.]");
        let message = Message {
            message_id: MessageId::with_suffix(format_args!("reminder_{}", first.tool_call_id)),
            role: Role::User,
            content: vec![ContentPart::text(text)],
            by: None,
        };
        let input = RunInput::new(message, step);
        if self.lifecycle.is_free() {
            self.start_run(input, step);
        } else {
            self.lifecycle.inputs.steer(input);
        }
    }
}

/// Starts the timer of a reminder. It belongs to no run, so it stays when the run ends.
fn start(call: &ToolCallId, due_at: Timestamp, step: &mut RunStep<'_>) -> ActionId {
    let timer = StartTimer {
        after_ms: millis_until(due_at, step.at),
        timer: Timer::Reminder,
        wait: Some(CallWait {
            tool_call_id: call.clone(),
            due_at,
        }),
    };
    step.act_in(None, ActionBody::StartTimer(timer))
}
