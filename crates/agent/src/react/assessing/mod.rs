//! Calls that analyzers assess before they are decided, and refusals that a person overrules.
//!
//! ```text
//! a call that the rules do not deny ─▶ AssessRisk, one for each analyzer ─▶ risk_assessed, one for each
//!     ─▶ the rules and the verdicts decide: run it, ask a person, or refuse it
//! approval of a refused call ─▶ a note to the model; the same call runs when the model makes it again
//! ```
//!
//! The decision follows from facts, so a replay needs no analyzer. An analyzer that is missing or fails is
//! answered by the driver with an unknown risk, within its time limit. Calls by running tools are assessed in
//! the same way; a refusal of one cannot be overruled, because its tool does not make it again.

mod outside_text;

use agentx_types::{
    ActionBody, ActionId, Approval, ApprovalDecision, AssessRisk, Envelope, EnvironmentEvent, MODEL_ANALYZER,
    RequestedCall, RiskAssessed, ToolCallId, ToolSpec, ToolStatus, shortened,
};
use serde_json::Value;

use super::ReactAgent;
use super::nested_calls::{NestedCall, NestedStage, decision_of};
use crate::ledger::{CallStage, LedgerEntry};
use crate::permissions::approval::{self, Question, Verdict};
use crate::run_lifecycle::RunStep;
use crate::security::{
    AwaitedVerdict, CallAssessment, RefusedCall, decide_assessed, needs_assessment, verdict_words,
};

/// Maximum number of characters of a call in a note to the model.
const CALL_CHARS: usize = 400;

/// A call that analyzers assess, as a request has it.
struct Assessed<'a> {
    id: &'a ToolCallId,
    tool: &'a ToolSpec,
    input: &'a Value,
}

impl ReactAgent {
    /// Calls that a judge refused and nobody has decided about, the oldest first.
    pub fn refused_calls(&self) -> impl Iterator<Item = &RefusedCall> {
        self.refused.open()
    }

    /// Returns whether a judge refused this call and nobody has decided about that.
    pub fn may_overrule(&self, call: &ToolCallId) -> bool {
        self.refused.undecided(call).is_some()
    }

    /// Returns whether a call waits for the verdict that this action asks for.
    pub fn awaits_verdict(&self, action: &ActionId) -> bool {
        let of_entry =
            |entry: &LedgerEntry| matches!(&entry.stage, CallStage::Assessing(call) if call.awaits(action));
        let of_nested =
            |inner: &NestedCall| matches!(&inner.stage, NestedStage::Assessing(call) if call.awaits(action));
        self.ledger.entries().iter().any(of_entry) || self.inner.iter().any(of_nested)
    }

    /// Takes up a new call after the rules have decided about it: has it assessed first, if it needs that.
    /// A call that a person allowed after a refusal is not assessed again.
    pub(super) fn take_call(
        &mut self,
        call: RequestedCall,
        tool: &ToolSpec,
        verdict: Verdict,
        step: &mut RunStep<'_>,
    ) {
        let is_own = self.own_tool(&call.name).is_some();
        let stage = if is_own || !needs_assessment(&self.config, tool, &call.input, &verdict) {
            self.stage_for(&call, verdict, step)
        } else if self.take_overruling(&call, tool) {
            let outside_workspace = approval::is_outside_workspace(&self.config, tool, &call.input);
            self.stage_for(&call, Verdict::Allow { outside_workspace }, step)
        } else {
            let assessed = Assessed {
                id: &call.tool_call_id,
                tool,
                input: &call.input,
            };
            CallStage::Assessing(CallAssessment {
                awaited: self.ask_analyzers(&assessed, |_| true, step),
                verdicts: Vec::new(),
            })
        };
        self.ledger.add(call, stage);
    }

    /// Uses up that a person overruled the refusal of exactly this call; `false` if nobody did. A rule that
    /// asks about the call still asks.
    fn take_overruling(&mut self, call: &RequestedCall, tool: &ToolSpec) -> bool {
        let ruled = approval::explain_decision(&self.deciding(), tool, &call.input);
        let is_asked = matches!(ruled.verdict, Verdict::Ask(_)) && !ruled.rules.is_empty();
        !is_asked && self.refused.take_allowed(&call.name, &call.input)
    }

    /// Asks the analyzers of the configuration whose names `wanted` accepts.
    fn ask_analyzers(
        &self,
        assessed: &Assessed<'_>,
        wanted: impl Fn(&str) -> bool,
        step: &mut RunStep<'_>,
    ) -> Vec<AwaitedVerdict> {
        let Some(settings) = self.config.security.as_deref() else {
            return Vec::new();
        };
        // Nothing follows from the signs but the request, so they are looked for only if that is read.
        let evidence = if step.is_heard() {
            self.injection_signs_of(assessed)
        } else {
            Vec::new()
        };
        let mut awaited = Vec::new();
        for analyzer in settings
            .analyzers
            .iter()
            .filter(|analyzer| wanted(&analyzer.name))
        {
            let mut asked = analyzer.clone();
            if asked.name == MODEL_ANALYZER {
                let own = || Box::new(self.config.model.clone());
                asked.model.get_or_insert_with(own);
            }
            let body = ActionBody::AssessRisk(AssessRisk {
                tool_call_id: assessed.id.clone(),
                analyzer: asked,
                tool: Box::new(assessed.tool.clone()),
                input: assessed.input.clone(),
                workspace: self.config.workspace.clone(),
                task: self.task_of_run(),
                evidence: evidence.clone(),
                decided: self.refused.decided().to_vec(),
            });
            awaited.push(AwaitedVerdict {
                action_id: step.act_in(self.lifecycle.run_id(), body),
                analyzer: analyzer.name.clone(),
            });
        }
        awaited
    }

    /// Takes a verdict. With the last one that is awaited, the call is decided. Its cost counts for the run,
    /// also if the call was stopped meanwhile.
    pub(super) fn on_risk_assessed(
        &mut self,
        fact: &Envelope<EnvironmentEvent>,
        said: &RiskAssessed,
        step: &mut RunStep<'_>,
    ) {
        if let Some(bill) = &said.bill {
            self.lifecycle.pay_for_tool(bill, step);
        }
        let Some(action) = fact.cause.as_ref() else {
            return;
        };
        for index in 0..self.ledger.entries().len() {
            if let CallStage::Assessing(call) = &mut self.ledger.entries_mut()[index].stage
                && call.take(action, said)
            {
                if call.awaited.is_empty() {
                    self.decide_assessed_call(index, step);
                }
                return self.update_waiting_status(step);
            }
        }
        self.take_nested_verdict(action, said, step);
    }

    /// Decides about the call at `index`, whose verdicts are all there.
    fn decide_assessed_call(&mut self, index: usize, step: &mut RunStep<'_>) {
        let LedgerEntry { call, stage } = self.ledger.entries()[index].clone();
        let CallStage::Assessing(CallAssessment { verdicts, .. }) = stage else {
            return;
        };
        let tool = match self.tool_for(&call, None, &self.config.tools) {
            Ok(tool) => tool.clone(),
            Err(text) => return self.answer_open(index, ToolStatus::Invalid, text, step),
        };
        let made = decide_assessed(&self.deciding(), &tool, &call.input, &verdicts);
        if made.by_judge {
            let reason = format!("a judge refused it: {}", verdict_words(&verdicts));
            let question = approval::risk_question(&self.config, &tool, &call.input, &reason);
            self.refused.add(RefusedCall {
                call: call.clone(),
                question: Question {
                    risk: verdicts.clone(),
                    ..question
                },
                allowed: None,
            });
        }
        let verdict = match made.verdict {
            Verdict::Ask(mut question) => {
                question.risk = verdicts;
                Verdict::Ask(question)
            }
            verdict => verdict,
        };
        let stage = self.stage_for(&call, verdict, step);
        self.ledger.entries_mut()[index].stage = stage;
    }

    /// Takes the verdict about a call by a running tool, and decides about it with the last one.
    fn take_nested_verdict(&mut self, action: &ActionId, said: &RiskAssessed, step: &mut RunStep<'_>) {
        let takes = |inner: &mut NestedCall| match &mut inner.stage {
            NestedStage::Assessing(call) => call.take(action, said),
            _ => false,
        };
        let Some(index) = self.inner.iter_mut().position(takes) else {
            return;
        };
        let inner = self.inner[index].clone();
        let NestedStage::Assessing(CallAssessment { awaited, verdicts }) = inner.stage.clone() else {
            return;
        };
        if awaited.is_empty() {
            match inner.decide_assessed(&self.deciding(), &verdicts) {
                Verdict::Ask(mut question) => {
                    question.reason = format!("{}; a running tool calls it", question.reason);
                    question.risk = verdicts;
                    step.request_approval(&inner.call, &question);
                    self.inner[index].stage = NestedStage::Asked(question);
                }
                verdict => {
                    let decision = decision_of(verdict);
                    self.inner[index].stage = NestedStage::Decided(decision.clone());
                    self.tell(&inner.call.tool_call_id, decision, step);
                }
            }
        }
        self.update_waiting_status(step);
    }

    /// Has a call by a running tool assessed, if it needs that. `None` if it does not.
    pub(super) fn assess_nested(
        &self,
        call: &RequestedCall,
        tool: &ToolSpec,
        verdict: &Verdict,
        step: &mut RunStep<'_>,
    ) -> Option<NestedStage> {
        if !needs_assessment(&self.config, tool, &call.input, verdict) {
            return None;
        }
        let assessed = Assessed {
            id: &call.tool_call_id,
            tool,
            input: &call.input,
        };
        Some(NestedStage::Assessing(CallAssessment {
            awaited: self.ask_analyzers(&assessed, |_| true, step),
            verdicts: Vec::new(),
        }))
    }

    /// Asks again for the verdicts that another process did not give.
    pub(super) fn assess_again(&mut self, step: &mut RunStep<'_>) {
        for index in 0..self.ledger.entries().len() {
            let LedgerEntry { call, stage } = self.ledger.entries()[index].clone();
            if let (CallStage::Assessing(open), Some(tool)) = (stage, self.tool(&call.name).cloned()) {
                let again = self.ask_open(&call, &tool, open, step);
                self.ledger.entries_mut()[index].stage = CallStage::Assessing(again);
            }
        }
        for index in 0..self.inner.len() {
            let inner = self.inner[index].clone();
            if let NestedStage::Assessing(open) = inner.stage {
                let again = self.ask_open(&inner.call, &inner.tool, open, step);
                self.inner[index].stage = NestedStage::Assessing(again);
            }
        }
    }

    /// The assessment with new requests in place of those that were open.
    fn ask_open(
        &self,
        call: &RequestedCall,
        tool: &ToolSpec,
        open: CallAssessment,
        step: &mut RunStep<'_>,
    ) -> CallAssessment {
        let assessed = Assessed {
            id: &call.tool_call_id,
            tool,
            input: &call.input,
        };
        let is_open = |name: &str| open.awaited.iter().any(|awaited| awaited.analyzer == name);
        CallAssessment {
            awaited: self.ask_analyzers(&assessed, is_open, step),
            verdicts: open.verdicts,
        }
    }

    /// The actions that ask analyzers about calls by running tools.
    pub(super) fn nested_assessments(&self) -> Vec<ActionId> {
        let open = self.inner.iter().filter_map(|inner| match &inner.stage {
            NestedStage::Assessing(call) => Some(&call.awaited),
            _ => None,
        });
        open.flatten().map(|awaited| awaited.action_id.clone()).collect()
    }

    /// Notes a person's decision about the assessed call at `index`, which judges are told of.
    pub(super) fn note_for_judges(&mut self, index: usize, approval: &Approval) {
        let LedgerEntry { call, stage } = self.ledger.entries()[index].clone();
        if let CallStage::AwaitingApproval(question) = stage
            && !question.risk.is_empty()
        {
            let allowed = approval.decision != ApprovalDecision::Deny;
            self.refused.note(&call, &verdict_words(&question.risk), allowed);
        }
    }

    /// Applies a person's decision about a call that a judge refused: if they allow it, the model is told,
    /// and the same call runs when it makes it again. "Session" and "always" allow the same call any number
    /// of times. Any other decision is ignored, as is one of a person who may not decide for the server.
    pub(super) fn overrule(&mut self, approval: &Approval, step: &mut RunStep<'_>) {
        let Some(refused) = self.refused.undecided(&approval.tool_call_id).cloned() else {
            return;
        };
        let allows = approval.decision != ApprovalDecision::Deny;
        if allows && refused.question.by_server && approval.limited {
            return;
        }
        self.note_decision(&refused.call, approval, step);
        let times = match approval.decision {
            ApprovalDecision::Deny => 0,
            ApprovalDecision::Session | ApprovalDecision::Always if !approval.limited => u32::MAX,
            _ => 1,
        };
        self.refused.settle(&approval.tool_call_id, times);
        if allows {
            let call = shortened(
                &format!("{} {}", refused.call.name, refused.call.input),
                CALL_CHARS,
            );
            let text = format!(
                "[A person has allowed the call that was refused: {call}. Make it again if it is still needed.]"
            );
            self.note_for_model(text, step);
        }
    }
}
