//! Nested calls: calls by tools, such as a script with `invoke`, that may need a person's decision.
//!
//! The tool waits meanwhile, and an action tells it the decision. Such a call has no separate result here: it
//! is a step of the tool's own call, and its id begins with the id of that call.
//!
//! | step | by | action |
//! | --- | --- | --- |
//! | 1 | the tool | commits `inner_call_asked` |
//! | 2 | the agent | decides by its rules, or asks a person and decides later |
//! | 3 | the agent | tells the tool by the action `decide_inner_call` |
//! | 4 | the tool | begins the step (`effect_started`), or gets the refusal |
//!
//! A tool may also ask a person for words, as an MCP server does: `inner_call_asked` then has a `form`, the
//! JSON Schema of the answer. It is not a call, so rules and approval modes do not apply, and "always" keeps
//! no rule. It belongs to the call that triggered it: if the rules of a server ask about that call, only
//! people who may allow it may answer; a question `for_operator` is always for those who decide for the
//! operator. The answer is the note of the person's approval, and the tool reads it. If the session asks
//! nobody, the question is refused at once, so that a tool never waits for an absent person; it is also
//! refused if the session no longer asks anybody by the time of the answer.
//!
//! Invariant: a question is recorded before anybody waits for its answer, and it is settled exactly once.

use agentx_types::{
    ActionBody, AgentConfig, Approval, ApprovalDecision, ApprovalMode, DecideInnerCall, Envelope,
    EnvironmentEvent, InnerCallAsked, NestedDecision, RequestedCall, RiskVerdict, StateOutput, ToolCallId,
    ToolSpec, since,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ReactAgent;
use crate::ledger::CallStage;
use crate::permissions::approval::{self, Question, Verdict};
use crate::permissions::rule_origin::brings_web_text;
use crate::run_lifecycle::RunStep;
use crate::security::{CallAssessment, decide_nested_assessed};

/// A call that a running tool wants to make. It stays until its step has ended, so that a tool that is run
/// again after a crash gets the same decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NestedCall {
    /// The call with its id, the name of the tool and the arguments.
    pub call: RequestedCall,
    /// Whether there is a decision.
    pub stage: NestedStage,
    /// The tool to call, as the asking tool knows it; it need not be one of the agent's own.
    pub(super) tool: ToolSpec,
    /// Whether the file of the asking tool names the tool that is called: then its author vouches for it
    /// (`approval::decide_nested`).
    named: bool,
    /// Whether it is a question that only those may answer who decide for the operator of the server.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    for_operator: bool,
}

/// Whether a call that a running tool wants to make is decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum NestedStage {
    /// Analyzers assess its risk; the tool waits.
    Assessing(CallAssessment),
    /// A person has to decide; the tool waits.
    Asked(Question),
    /// Decided, and the tool has the answer. It stays until the step has ended.
    Decided(NestedDecision),
}

impl NestedCall {
    /// The question to a person about it; `None` once there is a decision.
    pub fn question(&self) -> Option<&Question> {
        match &self.stage {
            NestedStage::Asked(question) => Some(question),
            NestedStage::Assessing(_) | NestedStage::Decided(_) => None,
        }
    }

    /// Returns whether it is a question to a person, not a call.
    fn is_question(&self) -> bool {
        self.question().is_some_and(|question| question.form.is_some())
    }

    /// Returns whether it may have been made, and its result is text from the web.
    fn may_bring_web_text(&self) -> bool {
        let is_allowed = matches!(self.stage, NestedStage::Decided(NestedDecision::Allowed { .. }));
        is_allowed && brings_web_text(&self.tool)
    }

    /// Returns whether the current rules and mode allow the call.
    fn judge(&self, config: &AgentConfig) -> Verdict {
        let form = self.question().and_then(|question| question.form.as_ref());
        match form {
            Some(form) => judge_question(config, &self.tool, &self.call.input, form),
            None => {
                let verdicts = self
                    .question()
                    .map_or(&[][..], |question| question.risk.as_slice());
                self.decide_assessed(config, verdicts)
            }
        }
    }

    /// Decides about the call by the rules and these verdicts.
    pub(super) fn decide_assessed(&self, config: &AgentConfig, verdicts: &[RiskVerdict]) -> Verdict {
        decide_nested_assessed(config, &self.tool, &self.call.input, self.named, verdicts)
    }
}

/// Judges a question to a person: it is asked if and only if the session asks; no rule and no mode answers
/// it.
///
/// The call that triggered the question, not the question itself, determines who may answer it (`by_server`):
/// see `ReactAgent::came_up_by_server`.
fn judge_question(config: &AgentConfig, tool: &ToolSpec, input: &Value, form: &Value) -> Verdict {
    match config.approval {
        ApprovalMode::Ask | ApprovalMode::AcceptEdits => Verdict::Ask(Question {
            form: Some(Box::new(form.clone())),
            ..Question::new(String::new(), approval::suggested(config, tool, input))
        }),
        ApprovalMode::Auto | ApprovalMode::Deny => Verdict::Deny {
            reason: "nobody is asked in this session".to_owned(),
        },
    }
}

/// The reason why a person is asked, with the tool that wants the call.
fn why_asked(question: &Question, asked: &InnerCallAsked) -> String {
    if asked.form.is_some() {
        return format!("{} asks", asked.by);
    }
    let place = asked.place.as_ref();
    let place = place.map(|place| format!(" at {place}")).unwrap_or_default();
    format!("{}; {} calls it{place}", question.reason, asked.by)
}

/// The decision for a nested call that a person refuses.
fn refused(call: &RequestedCall, approval: &Approval) -> NestedDecision {
    let note = approval.note.as_ref();
    let note = note.map(|note| format!(" They say: {note}")).unwrap_or_default();
    NestedDecision::Refused {
        reason: format!("{} is refused: the person said no.{note}", call.name),
    }
}

impl ReactAgent {
    /// Calls that running tools want to make, in the order in which they were asked about. It includes those
    /// that are decided and not yet made.
    pub fn inner_calls(&self) -> &[NestedCall] {
        &self.inner
    }

    /// Decides about a call that a running tool wants to make: allows it, refuses it, or asks a person.
    ///
    /// A tool that is run again after a crash asks again, and the earlier decision about the same call
    /// applies. A call with the same id but other arguments replaces the old one. Nothing is decided if the
    /// tool is not running or the run is being stopped.
    pub(super) fn on_nested_call_asked(
        &mut self,
        fact: &Envelope<EnvironmentEvent>,
        asked: &InnerCallAsked,
        step: &mut RunStep<'_>,
    ) {
        let runs = fact.cause.as_ref().is_some_and(|cause| self.ledger.runs(cause));
        if !runs || self.lifecycle.is_stopping() {
            return;
        }
        let call = RequestedCall {
            tool_call_id: asked.tool_call_id.clone(),
            name: asked.tool.name.clone(),
            input: asked.input.as_ref().clone(),
            invalid: None,
        };
        if let Some(known) = self.inner.iter().find(|known| known.call == call) {
            if let NestedStage::Decided(decision) = known.stage.clone() {
                self.tell(&call.tool_call_id, decision, step);
            }
            return;
        }
        self.inner
            .retain(|known| known.call.tool_call_id != call.tool_call_id);
        let verdict = match &asked.form {
            Some(form) => judge_question(&self.deciding(), &asked.tool, &asked.input, form),
            None => approval::decide_nested(&self.deciding(), &asked.tool, &asked.input, asked.named),
        };
        let assessing = match asked.form {
            Some(_) => None,
            None => self.assess_nested(&call, &asked.tool, &verdict, step),
        };
        let stage = match (assessing, verdict) {
            (Some(stage), _) => stage,
            (None, Verdict::Ask(mut question)) => {
                question.reason = why_asked(&question, asked);
                if asked.form.is_some() {
                    question.by_server = asked.for_operator || self.came_up_by_server(&call.tool_call_id);
                }
                step.request_approval(&call, &question);
                NestedStage::Asked(question)
            }
            (None, verdict) => {
                let decision = decision_of(verdict);
                self.tell(&call.tool_call_id, decision.clone(), step);
                NestedStage::Decided(decision)
            }
        };
        self.inner.push(NestedCall {
            call,
            stage,
            tool: asked.tool.as_ref().clone(),
            named: asked.named,
            for_operator: asked.for_operator,
        });
        self.update_waiting_status(step);
    }

    /// Applies a person's decision about such a call. `false` if it is not about a call of a running tool.
    ///
    /// A person who may not decide for the operator of the server cannot allow a call that the server's rules
    /// ask about: such a decision has no effect.
    pub(super) fn decide_nested_call(&mut self, approval: &Approval, step: &mut RunStep<'_>) -> bool {
        let of_it = |inner: &&NestedCall| inner.call.tool_call_id == approval.tool_call_id;
        let Some(inner) = self.inner.iter().find(of_it).cloned() else {
            return false;
        };
        let NestedStage::Asked(question) = &inner.stage else {
            return true;
        };
        let judged = inner.judge(&self.deciding());
        if self.is_closed_by_rule(approval) && matches!(judged, Verdict::Deny { .. }) {
            self.settle_nested_call(&inner.call.tool_call_id, decision_of(judged), step);
        } else if approval.decision == ApprovalDecision::Deny {
            self.note_decision(&inner.call, approval, step);
            self.settle_nested_call(&inner.call.tool_call_id, refused(&inner.call, approval), step);
        } else if !(question.by_server && approval.limited) {
            // A person's answer is for the tool, not for the model.
            if !inner.is_question() {
                self.note_decision(&inner.call, approval, step);
            }
            let keeps = approval.decision != ApprovalDecision::Once && !inner.is_question();
            if keeps && !approval.limited {
                self.keep_rule_of(Some(&inner.tool), &inner.call.input, Some(question), approval);
            }
            let decision = self.allowed_by_person(&inner, approval);
            self.settle_nested_call(&inner.call.tool_call_id, decision, step);
            self.reconsider(step);
        }
        self.update_waiting_status(step);
        true
    }

    /// The decision for a call that a person allowed: it runs, unless a rule now denies it.
    fn allowed_by_person(&self, inner: &NestedCall, approval: &Approval) -> NestedDecision {
        let input = &inner.call.input;
        let answer = || approval.note.clone().unwrap_or_default();
        match inner.judge(&self.deciding()) {
            denied @ Verdict::Deny { .. } => decision_of(denied),
            Verdict::Allow { .. } | Verdict::Ask(_) => NestedDecision::Allowed {
                outside_workspace: approval::is_outside_workspace(&self.config, &inner.tool, input),
                answer: inner.is_question().then(answer),
            },
        }
    }

    /// Decides again about the calls that wait, after rules or the mode have changed.
    pub(super) fn reconsider_inner(&mut self, step: &mut RunStep<'_>) {
        let waiting: Vec<NestedCall> = self
            .inner
            .iter()
            .filter(|inner| inner.question().is_some())
            .cloned()
            .collect();
        for inner in waiting {
            match inner.judge(&self.deciding()) {
                Verdict::Ask(_) => {}
                verdict => self.settle_nested_call(&inner.call.tool_call_id, decision_of(verdict), step),
            }
        }
    }

    /// Updates which open questions come from the server's rules, after these have changed.
    pub(super) fn bind_inner(&mut self) {
        let by_server = |inner: &NestedCall| {
            if inner.is_question() {
                inner.for_operator || self.came_up_by_server(&inner.call.tool_call_id)
            } else {
                approval::asked_by_server(&self.config, &inner.tool, &inner.call.input)
            }
        };
        let all: Vec<bool> = self.inner.iter().map(by_server).collect();
        for (inner, by_server) in self.inner.iter_mut().zip(all) {
            if let NestedStage::Asked(question) = &mut inner.stage {
                question.by_server = by_server;
            }
        }
    }

    /// Returns whether the rules of a server ask about a call that triggered a question with this id. An
    /// answer may decide what that call does, so it is given by those who may allow the call. From version 9
    /// of the rules on.
    fn came_up_by_server(&self, id: &ToolCallId) -> bool {
        if self.config.rules_version < since::ANSWERS_ARE_OF_WHO_MAY_ALLOW {
            return false;
        }
        let outer = self.ledger.entries().iter().map(|entry| &entry.call);
        let mut outer = outer.filter(|call| id.is_inside(&call.tool_call_id));
        let nested = self
            .inner
            .iter()
            .filter(|inner| id.is_inside(&inner.call.tool_call_id));
        let mut nested = nested.filter(|inner| !inner.is_question());
        outer.any(|call| self.is_asked_by_server(call))
            || nested.any(|inner| approval::asked_by_server(&self.config, &inner.tool, &inner.call.input))
    }

    /// Returns whether a person has to decide about any.
    pub(super) fn asks_inner(&self) -> bool {
        self.inner.iter().any(|inner| inner.question().is_some())
    }

    /// Removes this call after the tool has made it.
    pub(super) fn inner_ended(&mut self, id: &ToolCallId) {
        let ended = |inner: &NestedCall| inner.call.tool_call_id == *id && inner.may_bring_web_text();
        if self.inner.iter().any(ended) {
            self.note_web_text();
        }
        self.inner.retain(|inner| inner.call.tool_call_id != *id);
    }

    /// Returns whether the tool of this call has called one whose results are text from the web.
    pub(super) fn called_for_web_text(&self, outer: &ToolCallId) -> bool {
        let mut of_it = self
            .inner
            .iter()
            .filter(|inner| inner.call.tool_call_id.is_inside(outer));
        of_it.any(NestedCall::may_bring_web_text)
    }

    /// Drops the calls whose tool has ended, or all of them if the run is being stopped. Open questions among
    /// them are reported as settled, not allowed.
    pub(super) fn drop_nested_calls(&mut self, all: bool, step: &mut RunStep<'_>) {
        let gone: Vec<NestedCall> = {
            let ledger = &self.ledger;
            let goes = |inner: &mut NestedCall| all || runs_of(ledger, &inner.call.tool_call_id).is_none();
            self.inner.extract_if(.., goes).collect()
        };
        for inner in gone.iter().filter(|inner| inner.question().is_some()) {
            step.state(StateOutput::ApprovalSettled {
                tool_call_id: inner.call.tool_call_id.clone(),
                allowed: false,
            });
        }
    }

    /// Settles the question about such a call: reports it, and tells the tool.
    fn settle_nested_call(&mut self, id: &ToolCallId, decision: NestedDecision, step: &mut RunStep<'_>) {
        let Some(inner) = self.inner.iter_mut().find(|inner| inner.call.tool_call_id == *id) else {
            return;
        };
        inner.stage = NestedStage::Decided(decision.clone());
        step.state(StateOutput::ApprovalSettled {
            tool_call_id: id.clone(),
            allowed: matches!(decision, NestedDecision::Allowed { .. }),
        });
        self.tell(id, decision, step);
    }

    /// Sends the decision to the waiting tool. A tool that does not run gets nothing: after a crash it asks
    /// again.
    pub(super) fn tell(&mut self, id: &ToolCallId, decision: NestedDecision, step: &mut RunStep<'_>) {
        let Some(action_id) = runs_of(&self.ledger, id) else {
            return;
        };
        let run_id = self.lifecycle.run_id();
        let decide = DecideInnerCall {
            action_id: action_id.clone(),
            tool_call_id: id.clone(),
            decision,
        };
        step.act_in(run_id, ActionBody::DecideInnerCall(decide));
    }
}

/// The decision that follows from a verdict of the rules. Without a person to ask, a question is a refusal.
pub(super) fn decision_of(verdict: Verdict) -> NestedDecision {
    match verdict {
        Verdict::Allow { outside_workspace } => NestedDecision::Allowed {
            outside_workspace,
            answer: None,
        },
        Verdict::Ask(Question { reason, .. }) | Verdict::Deny { reason } => {
            NestedDecision::Refused { reason }
        }
    }
}

/// The action of the running tool that wants to make this call.
fn runs_of<'a>(ledger: &'a crate::ledger::ToolLedger, id: &ToolCallId) -> Option<&'a agentx_types::ActionId> {
    ledger.entries().iter().find_map(|entry| match &entry.stage {
        CallStage::Running { action_id, .. } if id.is_inside(&entry.call.tool_call_id) => Some(action_id),
        _ => None,
    })
}
