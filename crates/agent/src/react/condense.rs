//! Decides when the conversation is condensed: before a model call for which it is too full, if a person
//! requests it, and once after a model has reported that its window is full.
//!
//! The run waits for a summary as for a model's answer. It continues with any outcome; a conversation that
//! could not be condensed stays complete, and its window moves on. `crate::conversation` selects the messages
//! of a summary, `crate::summary` makes the request.
//!
//! ```text
//! call_model ── due ──▶ condense (action) ──▶ context_condensed ──▶ call_model
//! condense_requested ──┘        └──────────▶ condensing_failed ──▶ call_model, and 8 rounds of rest
//! ```
//!
//! Invariant: at most one summary is in progress. It is an action (`condense`) that the condenser of the
//! runtime answers with one `context_condensed` or one `condensing_failed`; an answer to an action that is no
//! longer awaited is ignored.

use agentx_types::{
    ActionBody, ActionId, Cancel, Condense, CondensedRange, CondensingFailed, ContextChange,
    ContextCondensed, ContextRange, ContextRestored, Envelope, EnvironmentEvent, OwnerId, StateOutput, since,
};
use serde::{Deserialize, Serialize};

use super::ReactAgent;
use crate::conversation::Part;
use crate::run_lifecycle::{RunStep, StopCause};
use crate::summary;

/// The number of decisions of persons that a summary carries, the latest ones.
const DECISIONS: usize = 40;

/// The number of model calls without a request for a summary after one failed: its model may be away for
/// long.
const ROUNDS_TO_REST: u32 = 8;

/// The state of condensing: the one in progress, the requested one, and the result of the last one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct CondenseState {
    /// The summary that is awaited.
    pub(super) under_way: Option<OpenCondensing>,
    /// A person's request for a summary that could not be sent yet, because a run is in progress.
    pub(super) wanted: Option<SummaryWish>,
    /// Whether the last summary was made because a model reported a full window, and no model has answered
    /// since: then a second one is not tried.
    pub(super) after_overflow: bool,
    /// The lesson of the last model call that did not fit: `Some(true)` if less can be sent now,
    /// `Some(false)` if nothing was learned, `None` if no call failed in this way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) learned: Option<bool>,
    /// The remaining model calls without a request for a summary, while the conversation fits: the last one
    /// failed.
    #[serde(default, skip_serializing_if = "agentx_types::is_default")]
    pub(super) rounds_to_rest: u32,
    /// Whether the last summary failed. Until one succeeds, the run does not wait for its model.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    failed: bool,
    /// The decisions of persons about calls, with the `seq` of each: summaries repeat them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) decisions: Vec<(u64, String)>,
}

/// The awaited summary, and the reason for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct OpenCondensing {
    /// The action that brings it.
    action_id: ActionId,
    /// The reason for it, which decides the next step after its success or failure.
    why: Why,
}

/// A person's request for a summary.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct SummaryWish {
    /// The points that the summary should dwell on, if the person named any.
    pub(super) instructions: Option<String>,
    /// The person who requests it, if that is not the owner of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) by: Option<OwnerId>,
}

/// The reason for a summary.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Why {
    /// The window is nearly full.
    Full,
    /// A person requested it.
    Wanted(SummaryWish),
    /// A model reported a full window; the run ends with this cause if the summary fails and less cannot be
    /// sent.
    Overflow(StopCause),
    /// The settings require it at this number of messages or results; no model writes it.
    Counted,
}

impl ReactAgent {
    /// The action that brings the summary which is awaited; `None` if none is.
    pub fn condensing(&self) -> Option<&ActionId> {
        self.condenser
            .under_way
            .as_ref()
            .map(|under_way| &under_way.action_id)
    }

    /// The summaries in the conversation, with the events that each replaces, the latest last.
    pub fn condensed(&self) -> Vec<CondensedRange> {
        self.conversation.condensed()
    }

    /// Shortens what the next request has without a summary: old pictures, new results that are too long, and
    /// the number of earlier messages if the configuration bounds it. Only `call_model` calls it.
    pub(super) fn shorten_requests(&mut self) {
        self.conversation.leave_out_old_pictures(&self.config);
        self.conversation.shorten_new_results(&self.config);
        let input = self.lifecycle.active().map(|run| run.input_id.clone());
        self.conversation.keep_latest(&self.config, input.as_ref());
    }

    /// Requests a summary if one is due. Returns whether the next model call has to wait for one. Only
    /// `call_model` calls it.
    pub(super) fn condense_first(&mut self, step: &mut RunStep<'_>) -> bool {
        if self.condenser.under_way.is_some() || self.condense_as_wanted(step) {
            return true;
        }
        if self.lifecycle.active().is_none() {
            return false;
        }
        if self.condense_by_count(step) {
            return true;
        }
        if self.rest_from_condensing() {
            return false;
        }
        let Some(run) = self.lifecycle.active() else {
            return false;
        };
        let input = run.input_id.clone();
        match self.conversation.part_due(&self.config, &input) {
            Some(part) => {
                self.ask_for_summary(&part, Why::Full, step);
                true
            }
            None => false,
        }
    }

    /// Passes one round of rest: a summary has failed in one of the last rounds, and the next request fits
    /// without one. `false` if it is time for a summary again.
    fn rest_from_condensing(&mut self) -> bool {
        let rests = self.condenser.rounds_to_rest > 0 && self.conversation.fits(&self.config);
        if rests {
            self.condenser.rounds_to_rest -= 1;
        }
        rests
    }

    /// Requests a summary of this part.
    ///
    /// `brief`, in the action, means not to wait long for the model: the conversation fits without a summary,
    /// or the last one failed. A summary that a person wants is never brief.
    pub(super) fn ask_for_summary(&mut self, part: &Part, why: Why, step: &mut RunStep<'_>) {
        let wish = match &why {
            Why::Wanted(wish) => wish
                .instructions
                .as_deref()
                .map(|words| (words, wish.by.as_ref())),
            Why::Full | Why::Overflow(_) | Why::Counted => None,
        };
        let request = summary::request(&self.config, part, wish);
        let may_rest = matches!(why, Why::Full) && self.config.rules_version >= since::SUMMARIES_REST;
        let brief = may_rest && (self.condenser.failed || self.conversation.fits(&self.config));
        let body = ActionBody::Condense(Condense {
            from_seq: part.range.from_seq,
            to_seq: part.range.to_seq,
            kept: part.kept.clone(),
            request: self.conversation.repaired(request).into(),
            tokens: part.range.tokens,
            brief,
            written: None,
            masked: Vec::new(),
        });
        self.await_condensing(body, part.range, why, step);
    }

    /// Requests this action, which is awaited from now on.
    pub(super) fn await_condensing(
        &mut self,
        body: ActionBody,
        range: ContextRange,
        why: Why,
        step: &mut RunStep<'_>,
    ) {
        let run_id = self.lifecycle.active().map(|run| run.id.clone());
        let action_id = step.act_in(run_id, body);
        self.condenser.under_way = Some(OpenCondensing { action_id, why });
        let change = ContextChange::Condensing(range);
        step.state(StateOutput::Context { change });
    }

    /// Adds a summary to the conversation and its cost to the bill. Ignores a summary for an action that is
    /// no longer awaited. A summary without a cause was made elsewhere, and is added.
    ///
    /// The latest 40 decisions of persons in the range are written under it, word for word. After a summary
    /// that replaces nothing, condensing pauses.
    pub(super) fn on_condensed(
        &mut self,
        fact: &Envelope<EnvironmentEvent>,
        condensed: &ContextCondensed,
        step: &mut RunStep<'_>,
    ) {
        let awaited = self.take_under_way(fact);
        if fact.cause.is_some() && awaited.is_none() {
            return;
        }
        if let Some(bill) = &condensed.bill {
            self.lifecycle.pay_for_tool(bill, step);
        }
        let in_range = |seq: &u64| (condensed.from_seq..=condensed.to_seq).contains(seq);
        let decisions = self.condenser.decisions.iter().filter(|(seq, _)| in_range(seq));
        let mut decisions: Vec<String> = decisions.map(|(_, decision)| decision.clone()).collect();
        decisions.drain(..decisions.len().saturating_sub(DECISIONS));
        self.condenser.rounds_to_rest = 0;
        self.condenser.failed = false;
        let why = awaited.as_ref().map(|awaited| &awaited.why);
        let is_counted = matches!(why, Some(Why::Counted)) || !condensed.masked.is_empty();
        if !is_counted && !matches!(why, Some(Why::Wanted(_))) {
            self.watch_condensed();
        }
        let replaced = if condensed.masked.is_empty() {
            self.conversation.condense(step.seq, condensed, &decisions)
        } else {
            self.conversation.mask(step.seq, condensed)
        };
        match replaced {
            Some(range) => {
                if condensed.masked.is_empty() {
                    self.given_items.forget(condensed.from_seq, condensed.to_seq);
                }
                if !is_counted {
                    self.conversation.judge_saving(&range, &self.config);
                }
                self.conversation.beginning_changed(&self.config);
                self.note_context();
                let change = ContextChange::Condensed(range);
                step.state(StateOutput::Context { change });
            }
            None => self.conversation.pause_condensing(),
        }
        if awaited.is_some() {
            self.resume_after_condensing(step);
        }
    }

    /// Records that no summary came: the conversation stays complete, and the next attempt waits until it has
    /// grown much.
    ///
    /// After an overflow the run may still continue with less (from version 6 of the rules on); otherwise it
    /// ends.
    pub(super) fn on_condensing_failed(
        &mut self,
        fact: &Envelope<EnvironmentEvent>,
        failure: &CondensingFailed,
        step: &mut RunStep<'_>,
    ) {
        let Some(under_way) = self.take_under_way(fact) else {
            return;
        };
        if let Some(bill) = &failure.bill {
            self.lifecycle.pay_for_tool(bill, step);
        }
        self.conversation.pause_condensing();
        let is_counted = matches!(under_way.why, Why::Counted);
        if is_counted || self.config.rules_version >= since::SUMMARIES_REST {
            self.condenser.rounds_to_rest = ROUNDS_TO_REST;
            self.condenser.failed = true;
        }
        failed(&failure.code, &failure.message, step);
        match under_way.why {
            Why::Overflow(cause)
                if self
                    .lifecycle
                    .active()
                    .is_some_and(|run| run.pending.stop.is_none()) =>
            {
                // Without a summary less can be sent anyway.
                if self.config.rules_version < since::LESS_WITHOUT_A_SUMMARY || !self.send_less(step) {
                    self.begin_stop(cause, step);
                }
            }
            _ => self.resume_after_condensing(step),
        }
    }

    /// The summary that `fact` answers, which is awaited no longer; `None` if the fact answers another
    /// action.
    fn take_under_way(&mut self, fact: &Envelope<EnvironmentEvent>) -> Option<OpenCondensing> {
        let cause = fact.cause.as_ref()?;
        self.condenser
            .under_way
            .take_if(|under_way| under_way.action_id == *cause)
    }

    /// Continues with the run that waited: to its end if it is being stopped or has reached a limit,
    /// otherwise to the model call.
    fn resume_after_condensing(&mut self, step: &mut RunStep<'_>) {
        let Some(run) = self.lifecycle.active() else {
            // A summary that is wanted now was requested while the last one was written.
            self.condense_as_wanted(step);
            return;
        };
        if run.pending.stop.is_some() || run.pending.model_call.is_some() || !self.ledger.is_empty() {
            return self.proceed(step);
        }
        self.call_model(step);
    }

    /// Removes a summary again. One that does not exist is ignored.
    pub(super) fn on_restored(&mut self, restored: &ContextRestored, step: &mut RunStep<'_>) {
        let undone = self.conversation.restore(restored, &self.config);
        if let Some(range) = undone {
            self.conversation.beginning_changed(&self.config);
            self.note_context();
            step.state(StateOutput::Context {
                change: ContextChange::Restored(range),
            });
        }
    }

    /// Reports how full the window is now: it changes without a model call.
    fn note_context(&mut self) {
        self.lifecycle.totals.context_tokens = self.conversation.in_use(&self.config);
    }

    /// Another process takes over, and the one that wrote the summary is gone: the summary is requested again
    /// when it is next needed. A person's request stays.
    pub(super) fn recover_condensing(&mut self) {
        match self.condenser.under_way.take().map(|under_way| under_way.why) {
            Some(Why::Wanted(wanted)) => self.condenser.wanted = Some(wanted),
            Some(Why::Overflow(_)) => self.condenser.wanted = Some(SummaryWish::default()),
            Some(Why::Full | Why::Counted) | None => {}
        }
    }

    /// Forgets the summary in progress and the request for one: a fork continues without its parent's work in
    /// progress.
    pub(super) fn forget_condensing(&mut self) {
        self.condenser.under_way = None;
        self.condenser.wanted = None;
    }

    /// Stops the summary that is awaited while nothing else runs.
    pub(super) fn cancel_condensing(&mut self, step: &mut RunStep<'_>) {
        self.condenser.wanted = None;
        if let Some(under_way) = &self.condenser.under_way {
            let action_id = under_way.action_id.clone();
            step.act_in(None, ActionBody::Cancel(Cancel { action_id }));
        }
    }
}

/// Reports that a summary failed, with the reason.
pub(super) fn failed(code: &str, message: &str, step: &mut RunStep<'_>) {
    let change = ContextChange::Failed {
        code: code.to_owned(),
        message: message.to_owned(),
    };
    step.state(StateOutput::Context { change });
}
