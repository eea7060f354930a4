//! Handles the model's answer piece by piece, as it arrives.
//!
//! A model call has one action and perhaps several streams: an attempt that breaks off (`stream_end` with
//! `broken`) is followed by another `stream_start` under the same action, by an `error`, or by a new writer.
//! The partial answer of an attempt is set aside (`pending.partial`) until one of these says whether it
//! counts; tokens are paid for in any case.
//!
//! ```text
//! stream_start ─ pieces ─ stream_end(broken) ─┬─ stream_start …      the partial is dropped
//!                                             └─ error, new writer   the partial is kept as it is
//! usage                                          an attempt without an answer: only paid, the partial stays
//! stream_start ─ pieces ─ stream_end(reason) ─── on_answer
//! ```
//!
//! Facts that answer another action than the one in progress are ignored.

use std::sync::Arc;

use agentx_types::{
    Api, AssembledAnswer, ContentPart, Envelope, EnvironmentEvent, Message, MessageOutput, StopReason,
    StreamEnd, StreamOutput, Usage, since,
};

use super::ReactAgent;
use crate::run_lifecycle::{RunStep, StopCause};

impl ReactAgent {
    /// Handles a piece of the answer. The assembler always gets it; the outputs are only for readers.
    pub(super) fn on_stream(&mut self, fact: &Envelope<EnvironmentEvent>, step: &mut RunStep<'_>) {
        if !self.lifecycle.answers_model_call(fact.cause.as_ref()) {
            return;
        }
        if matches!(fact.event, EnvironmentEvent::StreamStart(_)) {
            // An attempt that broke off without an end still has its cost.
            let cut_off = self.lifecycle.assembler.finish_partial();
            self.pay(cut_off.usage, step);
            self.learn_from_count(cut_off.usage, step);
        } else if !self.lifecycle.assembler.is_open() {
            return self.pay_for_lost_attempt(&fact.event, step);
        }
        self.lifecycle.assembler.feed(&fact.event);
        match &fact.event {
            EnvironmentEvent::StreamStart(start) => {
                if let Some(run) = self.lifecycle.active() {
                    run.pending.partial = None;
                    run.pending.retry_at = None;
                }
                step.stream(StreamOutput::MessageStart {
                    message_id: start.message_id.clone(),
                });
            }
            EnvironmentEvent::ModelFellBack(fallback) => self.lifecycle.fell_back(fallback),
            EnvironmentEvent::TextChunk(chunk) if step.is_heard() => step.stream(StreamOutput::TextDelta {
                text: chunk.text.clone(),
            }),
            EnvironmentEvent::ThinkingChunk(chunk) if step.is_heard() => {
                step.stream(StreamOutput::ThinkingDelta {
                    text: chunk.text.clone(),
                })
            }
            EnvironmentEvent::ToolCallStart(call) => {
                step.stream(StreamOutput::ToolUseStart {
                    tool_call_id: call.tool_call_id.clone(),
                    name: call.name.clone(),
                });
            }
            EnvironmentEvent::ToolCallChunk(chunk) => {
                step.stream(StreamOutput::InputJsonDelta {
                    tool_call_id: chunk.tool_call_id.clone(),
                    json: chunk.json.clone(),
                });
            }
            EnvironmentEvent::ToolCall(call) => {
                step.stream(StreamOutput::ToolUseStop {
                    tool_call_id: call.tool_call_id.clone(),
                    input: call.input.clone(),
                });
            }
            _ => {}
        }
    }

    /// Handles the end of a stream. Its reason shows whether the answer has ended too, or only this attempt.
    pub(super) fn on_stream_end(
        &mut self,
        fact: &Envelope<EnvironmentEvent>,
        end: &StreamEnd,
        step: &mut RunStep<'_>,
    ) {
        if !self.lifecycle.stream_ended(fact, end.stop_reason, step) {
            return;
        }
        match end.stop_reason {
            // The call is still in progress: another attempt or an error follows.
            StopReason::Broken => self.set_aside(step),
            StopReason::Interrupted => {
                self.cut_off(step);
                self.begin_stop(StopCause::interrupt("the model call was stopped"), step);
                self.proceed(step);
            }
            reason => {
                self.unsign_behind_blanks();
                let mut answer = self.lifecycle.assembler.finish();
                self.note_answered(reason, step);
                if self.costs_nothing(&answer, reason) {
                    answer.usage = Usage::default();
                }
                self.pay(answer.usage, step);
                self.learn_from_count(answer.usage, step);
                if let Some(run) = self.lifecycle.active() {
                    run.pending.model_call = None;
                    run.pending.partial = None;
                }
                self.on_answer(answer, reason, end.raw.as_deref(), step);
            }
        }
    }

    /// Returns whether an answer is a refusal that Anthropic does not charge, because there was no text
    /// before it (its release notes of June 2, 2026, quoted in
    /// <https://usingclaude.com/en/news/updates/on-the-claude-api-you-are-no-longer-billed-for-a-r-59d414a0>).
    fn costs_nothing(&self, answer: &AssembledAnswer, reason: StopReason) -> bool {
        reason == StopReason::Refusal
            && answer.message.is_none()
            && self.config.model.provider == "anthropic"
            && self.config.rules_version >= since::EMPTY_REFUSALS_ARE_FREE
    }

    fn unsign_behind_blanks(&mut self) {
        if self.config.rules_version >= since::NOT_BEHIND_BLANKS {
            let api = Api::Anthropic.as_str();
            self.lifecycle.assembler.unsign_behind_blanks(api);
        }
    }

    /// Drops the thinking of an earlier attempt's partial answer, because messages join the conversation that
    /// it did not follow, or the beginning of requests has changed: kept behind them, its vendor would no
    /// longer take it.
    pub(super) fn unbind_partial(&mut self) {
        if self.config.rules_version < since::PARTIAL_THINKING_IS_UNBOUND {
            return;
        }
        if let Some(run) = self.lifecycle.active()
            && let Some(partial) = &mut run.pending.partial
        {
            partial
                .content
                .retain(|part| !matches!(part, ContentPart::Thinking(_)));
            if partial.content.is_empty() {
                run.pending.partial = None;
            }
        }
    }

    /// Sets aside the open stream's partial answer, until another attempt begins, and pays for it.
    ///
    /// An attempt that failed leaves the partial answer of an earlier one.
    pub(super) fn set_aside(&mut self, step: &mut RunStep<'_>) {
        self.unsign_behind_blanks();
        let answer = self.lifecycle.assembler.finish_partial();
        self.pay(answer.usage, step);
        self.learn_from_count(answer.usage, step);
        if let Some(run) = self.lifecycle.active()
            && answer.message.is_some()
        {
            run.pending.partial = answer.message;
        }
    }

    /// Ends the model call in progress without an answer, and keeps its partial answer.
    ///
    /// The conversation keeps it as a partial answer, without its calls, which would get no result.
    pub(super) fn cut_off(&mut self, step: &mut RunStep<'_>) {
        self.set_aside(step);
        let Some(run) = self.lifecycle.active() else {
            return;
        };
        run.pending.model_call = None;
        if let Some(message) = run.pending.partial.take() {
            self.add_answer(message, true, step);
        }
    }

    /// Adds an answer to the conversation, and reports it. `partial`: it broke off and will not continue.
    pub(super) fn add_answer(&mut self, message: Message, partial: bool, step: &mut RunStep<'_>) {
        let message = Arc::new(message);
        if let Some(run) = self.lifecycle.active() {
            run.last_text = message.text();
        }
        self.conversation.push(step.seq, message.clone());
        step.message(MessageOutput::Assistant { message, partial });
    }

    /// Pays for an attempt that its server took and that was lost before its answer began: a count outside of
    /// an answer says what it cost. The words of an earlier attempt still stand. From version 9 of the rules
    /// on.
    fn pay_for_lost_attempt(&mut self, event: &EnvironmentEvent, step: &mut RunStep<'_>) {
        if let EnvironmentEvent::UsageReport(report) = event
            && self.config.rules_version >= since::LOST_ATTEMPTS_COST
        {
            self.pay(report.usage, step);
        }
    }

    /// Pays for a stream, at the prices of the called model.
    fn pay(&mut self, usage: Usage, step: &mut RunStep<'_>) {
        self.lifecycle.pay(usage, &self.config, step);
    }

    /// Learns from the provider's count how it counts, and whether its window is smaller than assumed. An
    /// estimated count teaches nothing.
    fn learn_from_count(&mut self, usage: Usage, step: &mut RunStep<'_>) {
        if usage == Usage::default() || usage.is_estimated() {
            return;
        }
        if let Some(window) = self.conversation.calibrate(&usage, &self.config) {
            self.on_cut(window, step);
        }
    }
}
