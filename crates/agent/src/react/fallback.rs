//! Calls another model, within a run, if the agent's own is down, limited or declines.
//!
//! `config.fallbacks` lists the other models. Each is used at most once in a run, in order; the next run
//! begins with the agent's own model again, because the problem may have passed. A model that declined a
//! message would decline it again: if a fallback answered it, later runs use that fallback as long as the
//! message is in the conversation, and report that. While a fallback is in use, it is in `config.model`, so
//! everything that depends on the model (window, prices, opaque parts of its predecessor) follows as if a
//! person had chosen it.
//!
//! ```text
//! error, refusal, second failed attempt ─▶ Report(Fallback) ─▶ fallback_asked ─▶ call_model
//! ```
//!
//! Invariant: the switch is a fact before the other model is called, and is reported (`context_changed`).

use std::sync::Arc;

use agentx_types::{
    ActionBody, Api, AttemptFailed, Cancel, ContextChange, Envelope, EnvironmentEvent, FallbackAsked,
    MessageId, ModelSpec, Report, RunStatus, StateOutput, since,
};
use serde::{Deserialize, Serialize};

use super::ReactAgent;
use crate::run_lifecycle::RunStep;

/// Number of failed attempts after which a model that is down or limited is left for a fallback. Without one
/// it is retried for as long as `model_calls.max_retry_time` allows.
const ATTEMPTS: u32 = 2;
/// Longest pause, in milliseconds, that a server may ask for before the first fallback is called instead.
const LONGEST_PAUSE_MS: u64 = 10_000;

/// The codes of failures that another model may avoid.
///
/// Failures of the request itself (`bad_request`, `context_window`, `too_large`) and those that a person has
/// to see (`other_server`, `bad_address`) are not among them.
const CODES: [&str; 15] = [
    "rate_limited",
    "overloaded",
    "server_error",
    "timeout",
    "connection_failed",
    "connection_lost",
    "stream_broken",
    "bad_response",
    "bad_generation",
    "billing",
    "content_filter",
    "unauthorized",
    "forbidden",
    "not_found",
    "missing_key",
];

/// The fallback that is called instead of the agent's own model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct FallbackInUse {
    /// The agent's own model, with its learned window.
    own: Box<ModelSpec>,
    /// The index of the fallback in `config.fallbacks`.
    index: usize,
    /// The first message of the turn that another model declined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    declined: Option<MessageId>,
}

impl ReactAgent {
    /// Requests a call of the next fallback, after the model call in progress has ended without an answer for
    /// the reason `code`. `false` if there is none, or if another model would not help.
    ///
    /// No model is called while the run is being stopped, a summary is awaited or calls are open.
    pub(super) fn fall_back(&mut self, code: &str, message: &str, step: &mut RunStep<'_>) -> bool {
        let Some((_, next)) = self.next_fallback().filter(|_| CODES.contains(&code)) else {
            return false;
        };
        let to = next.reference();
        if self.condensing().is_some() || !self.ledger.is_empty() {
            return false;
        }
        let Some(run) = self.lifecycle.active().filter(|run| run.pending.stop.is_none()) else {
            return false;
        };
        let from = run.pending.model.as_ref().unwrap_or(&self.config.model);
        let asked = FallbackAsked {
            from: from.reference(),
            to,
            code: code.to_owned(),
            message: message.to_owned(),
        };
        let action = step.request_action(&run.id, ActionBody::Report(Report::Fallback(asked)));
        run.pending.fallback = Some(action);
        true
    }

    /// If there is a fallback, leaves a model that is down or limited: after its second failed attempt, or at
    /// once if it requests a long pause. The call is abandoned: its later events are ignored.
    pub(super) fn leave_unavailable_model(&mut self, failed: &AttemptFailed, step: &mut RunStep<'_>) {
        let Some(pause) = failed.retry_in_ms else {
            return;
        };
        if failed.attempt < ATTEMPTS && pause <= LONGEST_PAUSE_MS {
            return;
        }
        let call = self
            .lifecycle
            .active()
            .and_then(|run| run.pending.model_call.clone());
        let Some(call) = call.filter(|_| self.fall_back(&failed.code, &failed.message, step)) else {
            return;
        };
        if let Some(run) = self.lifecycle.active() {
            run.pending.partial = None;
            run.pending.model_call = None;
            step.request_action(&run.id, ActionBody::Cancel(Cancel { action_id: call }));
        }
    }

    /// The log has the switch to a fallback: calls it.
    pub(super) fn on_fallback_asked(&mut self, fact: &Envelope<EnvironmentEvent>, step: &mut RunStep<'_>) {
        let EnvironmentEvent::FallbackAsked(asked) = &fact.event else {
            return;
        };
        let wanted = self
            .lifecycle
            .active()
            .filter(|run| fact.cause.is_some() && run.pending.fallback == fact.cause);
        let Some(run) = wanted else { return };
        run.pending.fallback = None;
        let declined = self.take_declined(&asked.code);
        let Some((index, next)) = self.next_fallback().map(|(index, next)| (index, next.clone())) else {
            return;
        };
        let change = ContextChange::FellBack {
            from: asked.from.clone(),
            to: asked.to.clone(),
            code: asked.code.clone(),
            message: asked.message.clone(),
            unpriced: next.prices.is_unknown() && next.api != Api::Scripted,
        };
        let before = self.take_model(next);
        let (own, earlier) = match self.fallback.take() {
            Some(used) => (used.own, used.declined),
            None => (Box::new(before), None),
        };
        let declined = declined.or(earlier);
        self.fallback = Some(FallbackInUse { own, index, declined });
        step.state(StateOutput::Context { change });
        self.call_model(step);
    }

    /// The message that begins the turn in progress, if it was declined: whether it is left out is for the
    /// fallback to show.
    fn take_declined(&mut self, code: &str) -> Option<MessageId> {
        if self.config.rules_version < since::FALLBACKS_STAY_FOR_DECLINED || code != "content_filter" {
            return None;
        }
        let run = self.lifecycle.active()?;
        run.pending.declined = None;
        self.conversation.begins_turn(&run.input_id).cloned()
    }

    /// Uses the agent's own model again from the next call on. Called when a run ends with `status`.
    ///
    /// A fallback that has answered a message that another model declined stays while that message is in the
    /// conversation.
    pub(super) fn return_to_own_model(&mut self, status: RunStatus) {
        let declined = self.fallback.as_ref().and_then(|used| used.declined.as_ref());
        let is_sent = declined.is_some_and(|id| self.conversation.has_message(id));
        if is_sent && status == RunStatus::Completed {
            return;
        }
        if let Some(used) = self.fallback.take() {
            self.take_model(*used.own);
        }
    }

    /// Reports at the start of a run that a fallback is used in place of the agent's own model; returns to
    /// the own model if the declined message is no longer in the conversation.
    pub(super) fn begin_with_fallback(&mut self, step: &mut RunStep<'_>) {
        self.return_to_own_model(RunStatus::Completed);
        if let Some(used) = &self.fallback {
            let change = ContextChange::FellBack {
                from: used.own.reference(),
                to: self.config.model.reference(),
                code: "content_filter".into(),
                message: "it declined a message that is still in the conversation".into(),
                unpriced: self.config.model.prices.is_unknown() && self.config.model.api != Api::Scripted,
            };
            step.state(StateOutput::Context { change });
        }
    }

    /// The agent's own model, also while a fallback is used in its place.
    pub(super) fn own_model(&self) -> &ModelSpec {
        self.fallback
            .as_ref()
            .map_or(&self.config.model, |used| &used.own)
    }

    /// The index and the model of the fallback to ask next in this run, if one is left. One that is the model
    /// in use is passed over.
    fn next_fallback(&self) -> Option<(usize, &ModelSpec)> {
        let from = self.fallback.as_ref().map_or(0, |used| used.index + 1);
        let own = self.own_model();
        let mut left = self.config.fallbacks.iter().enumerate().skip(from);
        left.find(|(_, model)| !model.is_same(own) && !model.is_same(&self.config.model))
    }

    /// Sets another model in the configuration, as if a person had chosen it; returns the one before.
    fn take_model(&mut self, model: ModelSpec) -> ModelSpec {
        let before = self.config.clone();
        let was = std::mem::replace(&mut Arc::make_mut(&mut self.config).model, model);
        self.conversation.fixed_changed(&before, &self.config);
        self.conversation.forget_window();
        self.conversation.forget_schema_form();
        was
    }
}
