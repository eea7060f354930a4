//! What the model says.

use std::sync::Arc;

use agentx_types::{
    ActionBody, AnswerCall, ContentPart, Envelope, EnvironmentEvent, Message, MessageOutput, RunStatus,
    StateOutput, StopReason, StreamEnd, StreamOutput, ToolStatus, Usage,
};

use super::ReactAgent;
use super::run::{Step, StopCause};
use crate::assembler::{Answer, RequestedCall};
use crate::ledger::CallStage;
use crate::limits;

impl ReactAgent {
    pub(super) fn on_stream(&mut self, fact: &Envelope<EnvironmentEvent>, step: &mut Step<'_>) {
        if !self.answers_model_call(fact.cause.as_ref()) {
            return;
        }
        self.assembler.feed(&fact.event);
        match &fact.event {
            EnvironmentEvent::StreamStart(start) => {
                if let Some(run) = self.active_run() {
                    run.pending.partial = None;
                }
                step.stream(StreamOutput::MessageStart {
                    message_id: start.message_id.clone(),
                });
            }
            EnvironmentEvent::TextChunk(chunk) => step.stream(StreamOutput::TextDelta {
                text: chunk.text.clone(),
            }),
            EnvironmentEvent::ThinkingChunk(chunk) => step.stream(StreamOutput::ThinkingDelta {
                text: chunk.text.clone(),
            }),
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

    pub(super) fn on_stream_end(
        &mut self,
        fact: &Envelope<EnvironmentEvent>,
        end: &StreamEnd,
        step: &mut Step<'_>,
    ) {
        if !self.answers_model_call(fact.cause.as_ref()) {
            return;
        }
        step.stream(StreamOutput::MessageStop {
            stop_reason: end.stop_reason,
        });
        let partial = matches!(end.stop_reason, StopReason::Broken | StopReason::Interrupted);
        let answer = if partial {
            self.assembler.finish_partial()
        } else {
            self.assembler.finish()
        };
        self.pay(answer.usage, step);
        let Some(run) = self.active_run() else { return };
        match end.stop_reason {
            // The call is still under way: another attempt or an error follows.
            StopReason::Broken => run.pending.partial = answer.message,
            StopReason::Interrupted => {
                run.pending.model_call = None;
                self.keep_partial(answer.message, step);
                self.settle(step);
            }
            reason => {
                run.pending.model_call = None;
                self.on_answer(answer, reason, step);
            }
        }
    }

    fn on_answer(&mut self, answer: Answer, reason: StopReason, step: &mut Step<'_>) {
        let Answer { message, calls, .. } = answer;
        if let Some(message) = message {
            self.add_answer(message, false, step);
        }
        let Some(run) = self.active_run() else { return };
        if run.pending.stop.is_some() {
            // It was being stopped, and the model was faster: its calls are answered, not run.
            self.refuse(
                calls,
                ToolStatus::Interrupted,
                "the run was stopped before this call began",
                step,
            );
            self.settle(step);
        } else if !calls.is_empty() {
            self.take_up(calls, step);
        } else if reason == StopReason::PauseTurn || self.inputs.has_steering() {
            self.go_on(step);
        } else if reason == StopReason::ContextWindow {
            self.stop_for(
                RunStatus::Failed,
                "context_window",
                "the context window of the model is full",
                step,
            );
        } else {
            let why = match reason {
                StopReason::MaxTokens => Some("the answer reached its longest length"),
                StopReason::Refusal => Some("the model declined to answer"),
                _ => None,
            };
            self.finish_run(RunStatus::Completed, why.map(str::to_owned), step);
        }
    }

    /// Another model call that no tool asked for: it counts as a round, so that it cannot go on for ever.
    fn go_on(&mut self, step: &mut Step<'_>) {
        let limits = self.config.limits;
        let Some(run) = self.active_run() else { return };
        if let Some(limit) = limits::reached(&limits, &run.spent()) {
            self.stop_for(RunStatus::TimedOut, limit.code, &limit.message, step);
            return;
        }
        run.iterations += 1;
        self.call_model(step);
    }

    fn take_up(&mut self, calls: Vec<RequestedCall>, step: &mut Step<'_>) {
        let limits = self.config.limits;
        let Some(run) = self.active_run() else { return };
        if let Some(limit) = limits::reached(&limits, &run.spent()) {
            run.pending.stop = Some(StopCause {
                status: RunStatus::TimedOut,
                code: limit.code.to_owned(),
                message: limit.message.clone(),
                reported: false,
            });
            self.refuse(
                calls,
                ToolStatus::Refused,
                &format!("not run: {}", limit.message),
                step,
            );
            self.set_status(RunStatus::Stopping, step);
            return;
        }
        for call in calls {
            self.decide_call(call, step);
        }
        self.update_waiting_status(step);
    }

    fn refuse(&mut self, calls: Vec<RequestedCall>, status: ToolStatus, text: &str, step: &mut Step<'_>) {
        for call in calls {
            self.answer_new(call, status, text.to_owned(), step);
        }
    }

    /// Answers a call that nothing was done for yet.
    pub(super) fn answer_new(
        &mut self,
        call: RequestedCall,
        status: ToolStatus,
        text: String,
        step: &mut Step<'_>,
    ) {
        let Some(run) = self.active_run() else { return };
        let answer = AnswerCall {
            tool_call_id: call.tool_call_id.clone(),
            status,
            content: vec![ContentPart::text(text.clone())],
        };
        let action_id = step.act(&run.id, ActionBody::AnswerCall(answer));
        self.ledger.add(
            call,
            CallStage::Answering {
                action_id,
                status,
                text,
            },
        );
    }

    /// Keeps what a stream that was cut off came to.
    pub(super) fn keep_partial(&mut self, message: Option<Message>, step: &mut Step<'_>) {
        if let Some(message) = message {
            self.add_answer(message, true, step);
        }
    }

    fn add_answer(&mut self, message: Message, partial: bool, step: &mut Step<'_>) {
        let message = Arc::new(message);
        if let Some(run) = self.active_run() {
            run.last_text = message.text();
        }
        self.conversation.push(step.seq, message.clone());
        step.message(MessageOutput::Assistant { message, partial });
    }

    fn pay(&mut self, usage: Usage, step: &mut Step<'_>) {
        if usage == Usage::default() {
            return;
        }
        let cost = self.config.model.prices.cost(&usage);
        self.totals.usage += usage;
        self.totals.cost += cost;
        self.totals.context_tokens = usage.context_tokens();
        step.state(StateOutput::Spent {
            model: self.config.model.id.clone(),
            usage,
            cost,
        });
        if let Some(run) = self.active_run() {
            run.bill.usage += usage;
            run.bill.cost += cost;
        }
    }
}
