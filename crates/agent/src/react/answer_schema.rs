//! An answer that has to fit a schema: the run ends only with one that does.
//!
//! This machine does not validate. It requests a verdict with `CheckAnswer`, and the verdict is a fact
//! (`answer_checked`), so a replay ends in the same way even if a later validator judges otherwise. If an
//! answer does not fit, the model gets the validator's messages and is called again, at most as often as the
//! schema allows and within the limits of the run. A schema that cannot be used ends the run at once. Tool
//! calls before the last answer are not checked.
//!
//! ```text
//! last answer ─▶ CheckAnswer ─▶ answer_checked ─┬─ fits ─────────▶ the run ends
//!                                               └─ does not fit ─▶ message ─▶ call_model, or the run fails
//! ```

use std::sync::Arc;

use agentx_types::{
    ActionBody, AnswerChecked, AnswerSchema, CheckAnswer, ContentPart, Envelope, EnvironmentEvent,
    MAX_ANSWER_REPAIRS, Message, MessageId, Role, RunStatus,
};

use super::ReactAgent;
use super::cut_off::SETTING;
use crate::run_lifecycle::{PendingCheck, RunStep, StopCause};

impl ReactAgent {
    /// Ends the run with the last answer, after a check if the run has a schema. `reason` says why the answer
    /// may be incomplete.
    pub(super) fn end_with_answer(&mut self, reason: Option<String>, step: &mut RunStep<'_>) {
        let Some(schema) = self.answer_schema() else {
            return self.finish_run(RunStatus::Completed, reason, step);
        };
        let Some(run) = self.lifecycle.active() else {
            return;
        };
        run.checked_answers = run.checked_answers.saturating_add(1);
        self.request_check(schema, reason, step);
    }

    fn request_check(&mut self, schema: Arc<AnswerSchema>, reason: Option<String>, step: &mut RunStep<'_>) {
        let Some(run) = self.lifecycle.active() else {
            return;
        };
        let check = CheckAnswer {
            text: run.last_text.clone(),
            answer_schema: schema,
            attempt: run.checked_answers,
        };
        let action_id = step.request_action(&run.id, ActionBody::CheckAnswer(check));
        run.pending.check = Some(PendingCheck { action_id, reason });
    }

    /// Requests again a verdict that was requested from another process.
    pub(super) fn request_check_again(&mut self, step: &mut RunStep<'_>) {
        let schema = self.answer_schema();
        let Some(run) = self.lifecycle.active() else {
            return;
        };
        if let (Some(check), Some(schema)) = (run.pending.check.take(), schema) {
            self.request_check(schema, check.reason, step);
        }
    }

    /// The schema of the run's answer: that of its input, otherwise that of the agent.
    pub(super) fn answer_schema(&self) -> Option<Arc<AnswerSchema>> {
        let of_run = self.run().and_then(|run| run.answer_schema.clone());
        of_run.or_else(|| self.config.answer_schema.clone())
    }

    /// Applies the verdict about an answer: the run ends, the model is called again, or the run fails.
    ///
    /// A schema that cannot be used fails the run before anything else: no answer would ever fit, and each
    /// attempt would be paid for. Such a schema comes from an older log, because a new one is refused with
    /// its request.
    pub(super) fn on_answer_checked(
        &mut self,
        fact: &Envelope<EnvironmentEvent>,
        checked: &AnswerChecked,
        step: &mut RunStep<'_>,
    ) {
        let repairs = self
            .answer_schema()
            .map_or(0, |schema| schema.repairs.min(MAX_ANSWER_REPAIRS));
        let reached = self.reached_limit();
        let Some(run) = self.lifecycle.active() else {
            return;
        };
        let awaited = run.pending.check.as_ref();
        let is_awaited = awaited.is_some_and(|check| Some(&check.action_id) == fact.cause.as_ref());
        if !is_awaited || run.pending.stop.is_some() {
            return;
        }
        let reason = run.pending.check.take().and_then(|check| check.reason);
        if checked.invalid_schema {
            let what = checked.problems.join("; ");
            let message = format!("the schema of the answer cannot be used: {what}");
            let cause = StopCause::error(RunStatus::Failed, "answer_schema", &message);
            return self.begin_stop(cause, step);
        }
        if checked.problems.is_empty() && self.lifecycle.inputs.has_steering() {
            return self.call_model(step);
        } else if checked.problems.is_empty() {
            return self.finish_run(RunStatus::Completed, reason, step);
        }
        let cut_off = self
            .lifecycle
            .active()
            .and_then(|run| run.pending.cut_off.clone());
        let problems = match &cut_off {
            Some(place) => format!("the answer was cut off {place}; {SETTING}"),
            None => checked.problems.join("\n- "),
        };
        if checked.attempt > repairs {
            let message = format!(
                "no answer fits the schema, after {} of at most {} attempts:\n- {problems}",
                checked.attempt,
                repairs.saturating_add(1)
            );
            let cause = StopCause::error(RunStatus::Failed, "answer_schema", &message);
            return self.begin_stop(cause, step);
        }
        let Some(run) = self.lifecycle.active() else {
            return;
        };
        if let Some(limit) = reached {
            return self.begin_stop(StopCause::limit(&limit), step);
        }
        // A round like that of a tool: the model is answered.
        run.iterations = run.iterations.saturating_add(1);
        let text = retry_text(cut_off.as_deref(), &problems);
        let message = Message {
            message_id: MessageId::with_suffix(format_args!("answer_{}", step.seq)),
            role: Role::User,
            content: vec![ContentPart::text(text)],
            by: None,
        };
        self.say(Arc::new(message), step);
        self.call_model(step);
    }
}

/// Returns the words with which the model is asked for another answer. `cut_off` says where the last one was
/// cut off, if it was: then its mistakes follow from the cut, and a shorter answer helps.
fn retry_text(cut_off: Option<&str>, problems: &str) -> String {
    match cut_off {
        Some(place) => format!(
            "[The answer was cut off {place}, so it does not fit the JSON Schema that it has to fit. Answer again with \
             one JSON value that fits and is short enough, and nothing else.]"
        ),
        None => format!(
            "[The answer does not fit the JSON Schema that it has to fit:\n- {problems}\nAnswer again with one JSON \
             value that fits, and nothing else.]"
        ),
    }
}
