//! Handles an answer of the model once it is complete.
//!
//! | it ended with | and has calls | then |
//! | --- | --- | --- |
//! | any reason, while the run is being stopped | any | the calls are answered as interrupted, and the stop continues |
//! | `refusal` | yes | they are answered as refused, and the run fails (from version 2 of the rules on) |
//! | any other | yes | they are taken up, unless a limit is reached; for cut-off calls see [`super::cut_off`] |
//! | `pause_turn` | no | the model is asked to continue, eight times in a row at most (from version 9 on) |
//! | `context_window` | no | less is sent, or the run fails: [`super::overflow`] |
//! | `refusal` | no | a fallback is asked, or the run fails with `content_filter` (from version 7 on) |
//! | `max_tokens`, `end_turn`, `stop_sequence`, others | no | the run is completed; its reason says if the answer may be incomplete |
//!
//! An input that joins the run comes before its end: then the model is called again.

use agentx_types::{
    ActionBody, AnswerCall, AssembledAnswer, ContentPart, InvalidInput, Message, RequestedCall, RunStatus,
    StopReason, ToolCallId, ToolStatus, Usage, since,
};
use serde_json::Value;

use super::ReactAgent;
use super::stop::because_stopped;
use crate::ledger::CallStage;
use crate::run_lifecycle::{RunStep, StopCause};

/// Maximum number of consecutive paused answers; after them the model is not asked to continue. A provider
/// pauses a turn after several calls of its own tools (ten at Anthropic), so a normal turn needs no more.
const PAUSES: u32 = 8;

/// The reason of a run that failed because the model declined to answer.
const DECLINED: &str = "the model declined to answer";

impl ReactAgent {
    /// Processes an answer that is complete and paid for, when no model call is in progress any more.
    ///
    /// `reason` is the reason of its end, `word` the provider's own term for it. The message always joins the
    /// conversation first, because a result without the message that made the call could not be sent back.
    pub(super) fn on_answer(
        &mut self,
        answer: AssembledAnswer,
        reason: StopReason,
        word: Option<&str>,
        step: &mut RunStep<'_>,
    ) {
        let AssembledAnswer {
            mut message,
            mut calls,
            usage,
        } = answer;
        let said_something = message.is_some();
        let cut_off = self.cut_off_at(reason, usage);
        if reason != StopReason::ContextWindow {
            self.note_fitting_request();
        }
        if reason == StopReason::Refusal {
            if calls.is_empty() && self.fall_back("content_filter", DECLINED, step) {
                return;
            }
            self.note_declined(step.seq);
        } else {
            self.conversation.note_answered();
        }
        self.count_pauses(reason, calls.is_empty());
        if calls.is_empty() {
            self.watch_answer(message.as_ref());
        }
        if let Some(message) = &mut message {
            self.tidy(message, &mut calls, step.seq);
        }
        if let Some(message) = message {
            self.add_answer(message, false, step);
        }
        let Some(run) = self.lifecycle.active() else {
            return;
        };
        if run.pending.stop.is_some() {
            // It was being stopped, and the model was faster: its calls are answered, not run.
            self.refuse(
                calls,
                ToolStatus::Interrupted,
                "the run was stopped before this call began",
                step,
            );
            self.proceed(step);
        } else if !calls.is_empty()
            && reason == StopReason::Refusal
            && self.config.rules_version >= since::DECLINED_CALLS_ARE_NOT_RUN
        {
            self.decline(calls, step);
        } else if !calls.is_empty() {
            self.take_calls(calls, cut_off.as_deref(), step);
        } else {
            if let Some(run) = self.lifecycle.active() {
                run.pending.cut_answers = 0;
                run.pending.cut_off = cut_off;
            }
            let word = word.filter(|_| self.config.rules_version >= since::UNKNOWN_ENDS_ARE_SAID);
            self.continue_or_end(reason, word, said_something, usage, step);
        }
    }

    /// Counts the pauses in a row of a model, and drops the text of the answer before unless this one
    /// continues it.
    fn count_pauses(&mut self, reason: StopReason, has_no_calls: bool) {
        let Some(run) = self.lifecycle.active() else {
            return;
        };
        let is_paused = reason == StopReason::PauseTurn && has_no_calls;
        // An answer after a pause continues the one before it.
        let is_another = run.pending.pauses == 0 && reason != StopReason::ContextWindow;
        if is_another && self.config.rules_version >= since::LAST_ANSWER_ALONE {
            run.last_text.clear();
        }
        run.pending.pauses = if is_paused {
            run.pending.pauses.saturating_add(1)
        } else {
            0
        };
    }

    /// Decides what follows an answer without calls: another model call, or the end of the run.
    /// `said_something` is false for an empty answer.
    fn continue_or_end(
        &mut self,
        reason: StopReason,
        word: Option<&str>,
        said_something: bool,
        usage: Usage,
        step: &mut RunStep<'_>,
    ) {
        let unknown = unknown_end(reason, word);
        let declined =
            declined_because(word.filter(|_| self.config.rules_version >= since::REFUSALS_ARE_EXPLAINED));
        let why = match reason {
            StopReason::PauseTurn if said_something => return self.resume_after_pause(step),
            StopReason::PauseTurn => {
                let message = "the model paused without a word";
                return self.fail("empty_pause", message, step);
            }
            StopReason::ContextWindow => return self.on_full_window(said_something, usage, step),
            StopReason::MaxTokens => Some("the answer reached its longest length"),
            StopReason::Refusal => Some(declined.as_str()),
            _ => unknown.as_deref(),
        };
        self.leave_out_declined();
        if self.lifecycle.inputs.has_steering() {
            self.resume_after_steering(step);
        } else if let (StopReason::Refusal, Some(why), since::DECLINED_RUNS_FAIL..) =
            (reason, why, self.config.rules_version)
        {
            // No program may take a refusal for an answer.
            self.fail("content_filter", why, step);
        } else {
            self.end_with_answer(why.map(str::to_owned), step);
        }
    }

    /// Stops the run because it cannot continue. `code` is stable, for programs.
    fn fail(&mut self, code: &str, message: &str, step: &mut RunStep<'_>) {
        self.begin_stop(StopCause::error(RunStatus::Failed, code, message), step);
    }

    /// Asks the model to continue after a pause. No tool caused this call, so it counts as a round; otherwise
    /// it could continue forever.
    fn resume_after_pause(&mut self, step: &mut RunStep<'_>) {
        let reached = self.reached_limit();
        let Some(run) = self.lifecycle.active() else {
            return;
        };
        if run.pending.pauses >= PAUSES && self.config.rules_version >= since::PAUSES_END {
            let message = format!("the model paused its answer {PAUSES} times in a row and never ended it");
            return self.fail("endless_pause", &message, step);
        }
        if let Some(limit) = reached {
            self.begin_stop(StopCause::limit(&limit), step);
            return;
        }
        run.iterations = run.iterations.saturating_add(1);
        self.call_model(step);
    }

    /// Calls the model again because of further inputs of a person. This does not count as a round of tools.
    fn resume_after_steering(&mut self, step: &mut RunStep<'_>) {
        self.call_model(step);
    }

    /// Normalizes the calls of an answer so that they can be sent back, in the message and in `calls` alike.
    ///
    /// Each call gets a unique id in the conversation, because some servers name every call `call_0`: an
    /// empty or taken id becomes `{id}_{seq}_{index}`. Arguments that are not an object become an empty
    /// object, and the call is marked as invalid, because providers accept objects only.
    fn tidy(&mut self, message: &mut Message, calls: &mut [RequestedCall], seq: u64) {
        let mut taken: Vec<ToolCallId> = Vec::new();
        let parts = message.content.iter_mut().filter_map(|part| match part {
            ContentPart::ToolCall(part) => Some(part),
            _ => None,
        });
        for (index, (part, call)) in parts.zip(calls).enumerate() {
            let mut is_free = |id: &ToolCallId| {
                !id.as_str().is_empty() && !taken.contains(id) && !self.conversation.has_call(id)
            };
            if !is_free(&call.tool_call_id) {
                let stem = call.tool_call_id.as_str();
                let stem = if stem.is_empty() { "call" } else { stem };
                let mut id = ToolCallId::new(format!("{stem}_{seq}_{index}"));
                while !is_free(&id) {
                    id = ToolCallId::new(format!("{id}_"));
                }
                part.tool_call_id = id.clone();
                call.tool_call_id = id;
            }
            taken.push(call.tool_call_id.clone());
            if !call.input.is_object() {
                let raw = call.input.to_string();
                let error = "the arguments are not an object".to_owned();
                call.invalid
                    .get_or_insert_with(|| Box::new(InvalidInput { raw, error }));
                call.input = Value::Object(Default::default());
                part.input = call.input.clone();
            }
        }
    }

    /// Decides about each call, in the model's order.
    ///
    /// All of them run at once, if they may. If a limit is reached none does: all wait for a person, or are
    /// answered, because a provider refuses a conversation with a call that has no result. The last call is
    /// not whole if the answer was cut off in it, at the place `cut_off`.
    pub(super) fn take_up(
        &mut self,
        mut calls: Vec<RequestedCall>,
        cut_off: Option<&str>,
        step: &mut RunStep<'_>,
    ) {
        if self.asks_at_limit(&calls, cut_off, step) {
            return self.hold_at_limit(calls, step);
        }
        let own = self.reached_limit().map(|limit| StopCause::limit(&limit));
        let Some(run) = self.lifecycle.active() else {
            return;
        };
        if let Some(cause) = own.or_else(|| step.used_up_above()) {
            let text = format!("not run: {}", cause.message);
            let why = because_stopped(&cause);
            run.pending.stop = Some(cause);
            self.refuse(calls, ToolStatus::Refused, &text, step);
            self.lifecycle.set_status(RunStatus::Stopping, step);
            self.interrupt_background(&why, step);
            return;
        }
        let cut = cut_off.and_then(|place| Some((calls.pop()?, place)));
        for call in calls {
            self.decide_call(call, step);
        }
        if let Some((call, place)) = cut {
            self.answer_cut_call(call, place, step);
        }
        self.update_waiting_status(step);
    }

    /// The model, or a filter of its provider, declined in the middle of an answer: its calls are not run.
    ///
    /// Anthropic says that such an answer has to be discarded
    /// (<https://platform.claude.com/docs/test-and-evaluate/strengthen-guardrails/handle-streaming-refusals>).
    fn decline(&mut self, calls: Vec<RequestedCall>, step: &mut RunStep<'_>) {
        let Some(run) = self.lifecycle.active() else {
            return;
        };
        let message = "the model declined to answer, and its calls were not run";
        let cause = StopCause::error(RunStatus::Failed, "content_filter", message);
        let why = because_stopped(&cause);
        run.pending.stop = Some(cause);
        let text = "not run: the answer that asked for it was declined";
        self.refuse(calls, ToolStatus::Refused, text, step);
        self.lifecycle.set_status(RunStatus::Stopping, step);
        self.interrupt_background(&why, step);
    }

    /// Stops agents in the background with a run that a limit or a refusal ends. Before version 9 of the
    /// rules they continued.
    pub(super) fn interrupt_background(&mut self, why: &str, step: &mut RunStep<'_>) {
        if self.config.rules_version >= since::BACKGROUND_STOPS {
            self.interrupt_children(why, step);
        }
    }

    /// Records that the model, or a filter of its provider, declined to answer in the event `refusal`. The
    /// first refusal of a run counts. Before version 5 of the rules a declined turn stayed in the
    /// conversation; until version 9 only its unanswered part was left out.
    pub(super) fn note_declined(&mut self, refusal: u64) {
        let Some(run) = self
            .lifecycle
            .active()
            .filter(|run| run.pending.declined.is_none())
        else {
            return;
        };
        run.pending.declined = match self.config.rules_version {
            since::DECLINED_TURNS_REMOVED.. => Some(refusal),
            since::DECLINED_IS_LEFT_OUT.. => self.conversation.unanswered(&run.input_id),
            _ => None,
        };
    }

    /// Removes the declined turn from the conversation: it would be declined again with each later request.
    pub(super) fn leave_out_declined(&mut self) {
        let Some(run) = self.lifecycle.active() else {
            return;
        };
        let Some(seq) = run.pending.declined.take() else {
            return;
        };
        if self.config.rules_version >= since::DECLINED_TURNS_REMOVED {
            self.conversation.leave_out_turn(&run.input_id, seq, &self.config);
        } else {
            self.conversation.leave_out_from(seq);
        }
    }

    /// Answers each of these calls with the same words.
    pub(super) fn refuse(
        &mut self,
        calls: Vec<RequestedCall>,
        status: ToolStatus,
        text: &str,
        step: &mut RunStep<'_>,
    ) {
        for call in calls {
            self.answer_new(call, status, text.to_owned(), step);
        }
    }

    /// Adds a call to the ledger that is answered without being run. Does nothing if no run is in progress.
    pub(super) fn answer_new(
        &mut self,
        call: RequestedCall,
        status: ToolStatus,
        text: String,
        step: &mut RunStep<'_>,
    ) {
        if self.lifecycle.active().is_none() {
            return;
        }
        let stage = self.answer_now(&call, status, text, step);
        self.ledger.add(call, stage);
    }

    /// Answers a call at once, and returns the stage that it is in then; nothing is added to the ledger here.
    ///
    /// The answer is an action too, so that its fact has a cause and the ledger knows it for the call's one
    /// result.
    pub(super) fn answer_now(
        &self,
        call: &RequestedCall,
        status: ToolStatus,
        text: String,
        step: &mut RunStep<'_>,
    ) -> CallStage {
        let answer = AnswerCall {
            tool_call_id: call.tool_call_id.clone(),
            status,
            content: vec![ContentPart::text(text.clone())],
        };
        let run_id = self.lifecycle.run_id();
        let action_id = step.act_in(run_id, ActionBody::AnswerCall(answer));
        CallStage::Answering {
            action_id,
            status,
            text,
        }
    }
}

/// The reason of a run that failed because the model declined to answer, with the explanation of its vendor:
/// Anthropic's `stop_details` has one. At most 300 characters of it are repeated, in one line.
fn declined_because(details: Option<&str>) -> String {
    const LONGEST: usize = 300;
    let details = details.and_then(|text| serde_json::from_str::<Value>(text).ok());
    let explanation = details
        .as_ref()
        .and_then(|details| details.get("explanation")?.as_str());
    let words: Vec<&str> = explanation.unwrap_or_default().split_whitespace().collect();
    if words.is_empty() {
        return DECLINED.to_owned();
    }
    let explanation: String = words.join(" ").chars().take(LONGEST).collect();
    format!("{DECLINED}: {explanation}")
}

/// The words for an answer that ended with an unknown word: at most 80 characters of the word are repeated.
fn unknown_end(reason: StopReason, word: Option<&str>) -> Option<String> {
    const LONGEST: usize = 80;
    let word = word.filter(|_| reason == StopReason::Other)?;
    let word: String = word.chars().take(LONGEST).collect();
    Some(format!(
        "the model ended its answer with `{word}`, which AgentX does not know: it may not be whole"
    ))
}
