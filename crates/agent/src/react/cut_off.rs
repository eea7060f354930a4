//! Answers that end at their maximum length, or because the window is full, before they are complete.
//!
//! A call that was cut off is not run. A note tells the model that its answer was cut off, and where; a note
//! about wrong arguments would make it send the same call again. After three such answers in a row the run
//! fails, because each of them costs money.

use agentx_types::{RequestedCall, RunStatus, StopReason, ToolStatus, Usage, since};

use super::ReactAgent;
use super::stop::because_stopped;
use crate::run_lifecycle::{RunStep, StopCause};
use crate::tools::arguments::argument_error;

/// Maximum number of answers in a row that are cut off in the middle of a call.
const CUT_ANSWERS: u32 = 3;

/// The setting that allows longer answers.
pub(super) const SETTING: &str = "`params.max_output_tokens` in the configuration allows longer answers";

impl ReactAgent {
    /// Returns where an answer was cut off, in words; `None` if it is complete. It is called before the
    /// answer joins the conversation, so that the length is that of the request.
    ///
    /// The length is the one that was requested. If none was, it is what the provider counted.
    pub(super) fn cut_off_at(&mut self, reason: StopReason, usage: Usage) -> Option<String> {
        if self.config.rules_version < since::CUT_OFF_IS_SAID {
            return None;
        }
        match reason {
            StopReason::MaxTokens => {
                let counted =
                    (usage.output_tokens > 0 && !usage.is_estimated()).then_some(usage.output_tokens);
                let length = self.conversation.requested_length(&self.config).or(counted);
                let of = length.map_or_else(String::new, |length| format!(" of {length} tokens"));
                Some(format!("at its maximum length{of}"))
            }
            StopReason::ContextWindow => Some("because the context window of the model is full".to_owned()),
            _ => None,
        }
    }

    /// Takes the calls of an answer, which was cut off at `place` if that is known. The complete ones are
    /// taken up; the one in the middle of which the answer ended is answered. After several such answers in a
    /// row the run fails.
    pub(super) fn take_calls(
        &mut self,
        calls: Vec<RequestedCall>,
        place: Option<&str>,
        step: &mut RunStep<'_>,
    ) {
        let place = place.filter(|_| calls.last().is_some_and(|call| self.is_incomplete(call)));
        let Some(run) = self.lifecycle.active() else {
            return;
        };
        run.pending.cut_answers = match place {
            Some(_) => run.pending.cut_answers.saturating_add(1),
            None => 0,
        };
        match place {
            Some(place) if run.pending.cut_answers >= CUT_ANSWERS => self.end_cut_run(calls, place, step),
            _ => self.take_up(calls, place, step),
        }
    }

    /// Returns whether the arguments of a call are not whole. Some servers close the brackets of a call that
    /// was cut off, so that something required is missing.
    fn is_incomplete(&self, call: &RequestedCall) -> bool {
        let own = self.own_tool(&call.name);
        let tool = own.as_ref().or_else(|| self.tool(&call.name));
        call.invalid.is_some() || tool.is_some_and(|tool| argument_error(tool, &call.input).is_some())
    }

    /// Answers the call in the middle of which an answer was cut off.
    pub(super) fn answer_cut_call(&mut self, call: RequestedCall, place: &str, step: &mut RunStep<'_>) {
        let text = format!(
            "Not run: your answer was cut off {place}, in the middle of this call. Make the call again with shorter \
             arguments; do the work in several calls, such as one for each part of a long file."
        );
        self.answer_new(call, ToolStatus::Invalid, text, step);
    }

    fn end_cut_run(&mut self, calls: Vec<RequestedCall>, place: &str, step: &mut RunStep<'_>) {
        let Some(run) = self.lifecycle.active() else {
            return;
        };
        let message = format!(
            "the answer was cut off {place} in the middle of a tool call, {CUT_ANSWERS} times in a row; {SETTING}"
        );
        let cause = StopCause::error(RunStatus::Failed, "answer_cut_off", &message);
        let why = because_stopped(&cause);
        run.pending.stop = Some(cause);
        let text = format!("not run: the answer was cut off {place}");
        self.refuse(calls, ToolStatus::Refused, &text, step);
        self.lifecycle.set_status(RunStatus::Stopping, step);
        self.interrupt_background(&why, step);
    }
}
