//! The end of runs before their answer: interrupts, limits, errors.
//!
//! A stop has three parts: running work is cancelled and waiting calls are answered
//! ([`begin_stop`](ReactAgent::begin_stop)); the cancelled work reports its end; and when nothing is open,
//! the stop is recorded (`Report`) and the run ends ([`proceed`](ReactAgent::proceed)). Between the first and
//! the last the status is `stopping`, and nothing new begins.

use agentx_types::{
    ActionBody, AttemptFailed, Cancel, Envelope, EnvironmentEvent, ErrorOccurred, INPUT_TOO_LARGE,
    RequestPart, RunStatus, StateOutput, ToolStatus, since,
};

use super::ReactAgent;
use crate::ledger::CallStage;
use crate::run_lifecycle::{RefusedRequest, RunStep, StopCause, StopConsequence, StopRecord};

/// The message to the model about a call that was stopped before its end.
pub(super) const STOPPED: &str = "The run was stopped before this call ended.";

/// The message to the model about a call that waited for approval when the run was stopped.
const NOT_RUN: &str = "Not run: the run was stopped before anybody allowed this call.";

/// The reason for an agent that is stopped together with the one that made it.
const BY_PARENT: &str = "the agent that made it was stopped";

impl ReactAgent {
    /// Handles a failed attempt of the model call in progress, and records the part that its server refused.
    ///
    /// If another attempt is to follow, checks whether the run may still pay for it, because a broken answer
    /// costs like a whole one (from version 5 of the rules on).
    pub(super) fn on_attempt_failed(
        &mut self,
        fact: &Envelope<EnvironmentEvent>,
        failed: &AttemptFailed,
        step: &mut RunStep<'_>,
    ) {
        if !self.lifecycle.answers_model_call(fact.cause.as_ref()) {
            return;
        }
        let refused = failed.refused.map(|part| RefusedRequest {
            part,
            longest_answer: failed.longest_answer.map(u64::from),
            most_media: failed.most_media,
            repeated: part == RequestPart::Unknown
                && failed.status == Some(500)
                && self.config.rules_version >= since::REPEATED_REFUSALS_ARE_REPAIRED,
            no_thinking: failed.no_thinking,
            tools: match part {
                RequestPart::Tools => self.conversation.tools_named(&failed.message, &self.config),
                _ => Vec::new(),
            },
            place: failed.refused_place.clone(),
        });
        if let Some(run) = self.lifecycle.active() {
            run.pending.refused = refused;
            run.pending.retry_at = failed.retry_in_ms.map(|ms| step.at.after_millis(ms));
        }
        if let Some(overflow) = &failed.overflow
            && !self.refused_by_other_model()
        {
            self.learn_of_overflow(overflow);
        }
        if failed.retry_in_ms.is_some()
            && self.config.rules_version >= since::LIMITS_BETWEEN_ATTEMPTS
            && let Some(cause) = self.lifecycle.used_up(&self.config.limits, step)
        {
            return self.begin_stop(cause, step);
        }
        self.leave_unavailable_model(failed, step);
    }

    /// Handles an error. One of the model call that was in progress ends its answer too; any other ends the
    /// run that it names.
    ///
    /// Before an error of the model ends the run, the machine tries each remedy once: a shorter answer that
    /// fits into the rest of the window, a summary, less of the conversation, another form of the request,
    /// another model.
    pub(super) fn on_error(
        &mut self,
        fact: &Envelope<EnvironmentEvent>,
        error: &ErrorOccurred,
        step: &mut RunStep<'_>,
    ) {
        let from_model = self.lifecycle.answers_model_call(fact.cause.as_ref());
        if from_model {
            if error.code == "content_filter" {
                self.note_declined(step.seq);
            }
            self.cut_off(step);
            if self.ask_the_chosen_model(error, step) {
                return;
            }
            if error.code == "context_window" || self.note_too_large_text(error) {
                let cause = StopCause::error(RunStatus::Failed, &error.code, &error.message).on_record();
                let is_window = error.code == "context_window";
                if (is_window && self.retry_with_shorter_answer(step))
                    || self.continue_after_overflow(&cause, step)
                    || self.ask_for_shorter_answer(false, step)
                {
                    return;
                }
            }
            if self.ask_in_another_form(step) || self.fall_back(&error.code, &error.message, step) {
                return;
            }
        }
        let explained = from_model.then(|| self.explain_overflow(error)).flatten();
        let error = explained.as_ref().unwrap_or(error);
        let follows = self.lifecycle.failed(fact, error, from_model);
        self.follow(follows, step);
    }

    /// The error of a model that could not read the latest message, with that reason: condensing does not
    /// help then.
    fn explain_overflow(&self, error: &ErrorOccurred) -> Option<ErrorOccurred> {
        let is_full = ["context_window", "too_large"].contains(&error.code.as_str());
        let is_said = self.config.rules_version >= since::LARGE_INPUTS_ARE_NAMED;
        let is_input = is_full && is_said && self.conversation.has_oversized_input(&self.config);
        is_input.then(|| ErrorOccurred {
            message: format!("{}; {INPUT_TOO_LARGE}", error.message),
            ..error.clone()
        })
    }

    /// Executes the consequence of a fact that stops runs.
    pub(super) fn follow(&mut self, follows: StopConsequence, step: &mut RunStep<'_>) {
        match follows {
            StopConsequence::Nothing => {}
            StopConsequence::GoOn => self.proceed(step),
            StopConsequence::Stop(cause) => self.begin_stop(cause, step),
            StopConsequence::Leave(reason) => self.leave(reason, step),
        }
    }

    /// Ends the agent, and with it those in the background. Called once no run is in progress.
    pub(super) fn leave(&mut self, reason: String, step: &mut RunStep<'_>) {
        self.close_children(&reason, step);
        step.state(StateOutput::Closed { reason });
    }

    /// Stops all running work, including background agents. The first cause counts: stopping a run twice has
    /// no effect.
    ///
    /// Calls that wait for a person are answered as interrupted; running calls, the model call and the
    /// summary are cancelled, and report their own end. Even if no run is in progress, agents in the
    /// background and a summary are stopped.
    pub(super) fn begin_stop(&mut self, cause: StopCause, step: &mut RunStep<'_>) {
        if self.lifecycle.active().is_none() {
            self.interrupt_children(BY_PARENT, step);
            return self.cancel_condensing(step);
        }
        let Some(run) = self.lifecycle.active().filter(|run| run.pending.stop.is_none()) else {
            return;
        };
        let on_record = cause.record == StopRecord::Made;
        let why = because_stopped(&cause);
        run.pending.stop = Some(cause);
        // Its outcome no longer matters.
        run.pending.check = None;
        let contexts = std::mem::take(&mut run.pending.context);
        let run_id = run.id.clone();
        let mut running = Vec::from_iter(run.pending.model_call.clone());
        running.extend(contexts.into_iter().map(|open| open.action_id));
        running.extend(self.condensing().cloned());
        if !(on_record && running.is_empty() && self.ledger.is_settled()) {
            self.lifecycle.set_status(RunStatus::Stopping, step);
        }
        let not_run = if self.config.rules_version >= since::REFUSALS_SAY_WHY {
            NOT_RUN
        } else {
            STOPPED
        };
        running.extend(self.nested_assessments());
        self.drop_nested_calls(true, step);
        for index in 0..self.ledger.entries().len() {
            match &self.ledger.entries()[index].stage {
                CallStage::Assessing(call) => {
                    running.extend(call.awaited.iter().map(|awaited| awaited.action_id.clone()));
                    self.answer_open(index, ToolStatus::Interrupted, not_run.to_owned(), step);
                }
                CallStage::AwaitingApproval(_) => match self.told_outcome(index) {
                    Some(told) => self.answer_open(index, ToolStatus::Unknown, told, step),
                    None => self.answer_open(index, ToolStatus::Interrupted, not_run.to_owned(), step),
                },
                CallStage::Waiting { action_id, .. } => {
                    running.push(action_id.clone());
                    self.answer_open(index, ToolStatus::Interrupted, STOPPED.to_owned(), step);
                }
                CallStage::Running { action_id, .. } => running.push(action_id.clone()),
                CallStage::Answering { .. } | CallStage::Delegated { .. } | CallStage::Resolved { .. } => {}
            }
        }
        for action_id in running {
            step.request_action(&run_id, ActionBody::Cancel(Cancel { action_id }));
        }
        self.note_pause(step);
        self.interrupt_children(&why, step);
        self.proceed(step);
    }

    /// Continues once nothing is open: with the report of a stop, the end of the run, or the next model call.
    ///
    /// It is safe to call after any change. It does nothing during a model call or a summary, or while a call
    /// has no result or a context is awaited.
    pub(super) fn proceed(&mut self, step: &mut RunStep<'_>) {
        let Some(run) = self.lifecycle.active() else {
            return;
        };
        let waits = run.pending.check.is_some() || !run.pending.context.is_empty();
        if waits && run.pending.stop.is_none() {
            return;
        }
        if run.pending.model_call.is_some() || self.condensing().is_some() || !self.ledger.is_settled() {
            return;
        }
        if !self.ledger.is_empty() {
            self.close_round(step);
        }
        let Some(run) = self.lifecycle.active() else {
            return;
        };
        if let Some(cause) = run.pending.stop.clone() {
            if let Some((status, reason)) = self.lifecycle.end_stopped(cause, step) {
                self.finish_run(status, Some(reason), step);
            }
        } else if run.pending.quit {
            self.finish_run(RunStatus::Completed, None, step);
        } else {
            self.call_model(step);
        }
    }
}

/// Returns the reason why background agents are stopped with the run of the agent that made them.
pub(super) fn because_stopped(cause: &StopCause) -> String {
    format!("the agent that made it was stopped: {}", cause.message)
}
