//! Decides about waiting calls: after a person's decision, and again when rules or the approval mode have
//! changed.
//!
//! A decision of a person is a fact (`approval`); "always" also keeps a rule. Nobody can allow a call that a
//! newer rule denies.

use std::borrow::Cow;
use std::sync::Arc;

use agentx_types::{
    Approval, ApprovalDecision, ApprovalMode, OwnerId, RequestedCall, Rule, RuleEffect, ServerRules,
    ToolSpec, ToolStatus, since,
};
use serde_json::Value;

use super::ReactAgent;
use super::calls::not_allowed;
use crate::ledger::{CallStage, LedgerEntry};
use crate::other_authors;
use crate::permissions::approval::{self, Question, Verdict};
use crate::run_lifecycle::{self, RunStep};
use crate::security::decide_assessed;
use crate::tools::plan_mode;

/// Maximum number of characters of each decision; longer ones end with `…`.
const DECISION_CHARS: usize = 300;

impl ReactAgent {
    /// Applies a person's decision. One about a call that is not waiting is ignored, because two people may
    /// decide at once.
    pub(super) fn on_approval(&mut self, approval: &Approval, step: &mut RunStep<'_>) {
        self.bind_to_note(approval);
        if self.decide_nested_call(approval, step) {
            return;
        }
        let Some(index) = self.awaiting_index(|entry| entry.call.tool_call_id == approval.tool_call_id)
        else {
            return self.overrule(approval, step);
        };
        let entry = &self.ledger.entries()[index];
        let is_beyond = |question: &Question| question.by_server && approval.limited;
        if approval.decision != ApprovalDecision::Deny
            && matches!(&entry.stage, CallStage::AwaitingApproval(question) if is_beyond(question))
        {
            return;
        }
        let call = entry.call.clone();
        if self.answer_outcome_question(index, approval, step) {
            self.update_waiting_status(step);
            return;
        }
        let by_rule = self.is_closed_by_rule(approval);
        if !by_rule && self.answer_limit_question(index, approval, step) {
            self.update_waiting_status(step);
            return;
        }
        if (by_rule || approval.decision != ApprovalDecision::Deny)
            && let Some(mut reason) = self.denied_meanwhile(&call)
        {
            if by_rule {
                reason.push_str("; it came while the call waited");
            }
            self.answer_open(index, ToolStatus::Denied, not_allowed(&reason), step);
            self.update_waiting_status(step);
            return;
        }
        if self.answer_loop_question(index, approval, step) || self.answer_question(index, approval, step) {
            self.update_waiting_status(step);
            return;
        }
        self.note_decision(&call, approval, step);
        self.note_for_judges(index, approval);
        if approval.decision == ApprovalDecision::Deny {
            let refusal = match self.another(approval) {
                Some(person) => other_authors::refusal(person, approval.note.as_deref()),
                None => {
                    let note = approval.note.as_ref().map(|note| format!(" They say: {note}"));
                    format!("The person refused this call.{}", note.unwrap_or_default())
                }
            };
            self.answer_open(index, ToolStatus::Denied, refusal, step);
        } else {
            if approval.decision != ApprovalDecision::Once && !approval.limited {
                self.keep_rule(index, approval);
            }
            self.release(index, true, step);
            self.reconsider(step);
        }
        self.update_waiting_status(step);
    }

    /// Records a person's decision about a call, so that it survives condensing word for word: refusals,
    /// notes, and rules. A plain "once" is not noted.
    pub(super) fn note_decision(&mut self, call: &RequestedCall, approval: &Approval, step: &RunStep<'_>) {
        let decided = match approval.decision {
            ApprovalDecision::Deny => "refused",
            ApprovalDecision::Session => "allowed, and the like for the rest of the session:",
            ApprovalDecision::Always => "allowed, and the like from now on:",
            ApprovalDecision::Once if approval.note.is_some() => "allowed once:",
            ApprovalDecision::Once => return,
        };
        let mut line = decision_line(format!("{decided} {} {}", call.name, call.input));
        if let Some(note) = &approval.note {
            let said = match self.another(approval) {
                Some(person) => format!(
                    " — another person ({}) said: {}",
                    other_authors::id(person),
                    other_authors::entry(&other_authors::plain_since(note, self.config.rules_version))
                ),
                None => format!(" — they said: {note}"),
            };
            line.push_str(&said);
        }
        self.condenser.decisions.push((step.seq, line));
    }

    /// Makes the run ask at least, if another person than the owner has the model read a note or an answer.
    fn bind_to_note(&mut self, approval: &Approval) {
        let keeps_modes = self.config.rules_version >= since::WORDS_KEEP_THEIR_MODE;
        if keeps_modes && approval.by.is_some() && approval.note.is_some() {
            self.lifecycle.bind_run(Some(ApprovalMode::Ask));
        }
    }

    /// Returns whether the server closed the question because a new rule of its settings denies the call.
    /// Then no person decided.
    pub(super) fn is_closed_by_rule(&self, approval: &Approval) -> bool {
        let denies = |rule: &Rule| rule.effect == RuleEffect::Deny;
        self.config.rules_version >= since::RULES_CLOSE_QUESTIONS
            && approval.decision == ApprovalDecision::Deny
            && approval.rule.as_deref().is_some_and(denies)
    }

    /// The person who decided, if it is not the owner of the session. Before version 9 everybody's decision
    /// was the owner's.
    fn another<'a>(&self, approval: &'a Approval) -> Option<&'a OwnerId> {
        let names_others = self.config.rules_version >= since::REFUSALS_NAME_OTHERS;
        approval.by.as_ref().filter(|_| names_others)
    }

    /// The text of a rule that came after the question and denies the call: nobody can allow that. Before
    /// version 7 such a rule applied from the next call on.
    fn denied_meanwhile(&self, call: &RequestedCall) -> Option<String> {
        let tool = self
            .tool_of(call)
            .filter(|_| self.config.rules_version >= since::DENIED_MEANWHILE)?;
        if let Some(reason) = plan_mode::refusal(&self.config, &tool) {
            return Some(reason.to_owned());
        }
        let judgement = approval::explain_decision(&self.deciding(), &tool, &call.input);
        let rules = approval::rules_of(&self.config);
        let mut made_by = judgement.rules.iter().filter_map(|index| rules.get(*index));
        let is_denied = made_by.any(|rule| rule.effect == RuleEffect::Deny);
        is_denied.then_some(judgement.reason)
    }

    /// Decides again about the calls that wait for a decision, after rules or the mode have changed.
    pub(super) fn reconsider(&mut self, step: &mut RunStep<'_>) {
        for index in 0..self.ledger.entries().len() {
            let entry = &self.ledger.entries()[index];
            let CallStage::AwaitingApproval(question) = &entry.stage else {
                continue;
            };
            let Some(tool) = self.tool_of(&entry.call) else {
                continue;
            };
            let verdict = decide_assessed(&self.deciding(), &tool, &entry.call.input, &question.risk).verdict;
            let denied = match &verdict {
                Verdict::Deny { reason } => Some(reason.clone()),
                _ => None,
            };
            if self.reconsider_question(index, denied, step) {
                continue;
            }
            match verdict {
                Verdict::Allow { .. } => self.release(index, false, step),
                Verdict::Deny { reason } => {
                    self.answer_open(index, ToolStatus::Denied, not_allowed(&reason), step);
                }
                Verdict::Ask(_) => {}
            }
        }
        self.reconsider_inner(step);
    }

    /// Applies new rules of the session's server. Waiting calls are decided again when the next writer takes
    /// over; until then the questions only record who may decide.
    pub(crate) fn bind_by(&mut self, server: Option<&Arc<ServerRules>>) {
        run_lifecycle::bind_by(Arc::make_mut(&mut self.config), server);
        for index in 0..self.ledger.entries().len() {
            let by_server = self.is_asked_by_server(&self.ledger.entries()[index].call);
            if let CallStage::AwaitingApproval(question) = &mut self.ledger.entries_mut()[index].stage {
                question.by_server = if question.is_about_limit {
                    server.is_some()
                } else {
                    by_server && question.asked.is_none()
                };
            }
        }
        self.bind_inner();
    }

    /// Returns whether the settings of a server ask about a call of the model. A call of a tool that the
    /// agent does not have counts as asked about, because nobody knows what it does. `false` if no server has
    /// the session open.
    pub(super) fn is_asked_by_server(&self, call: &RequestedCall) -> bool {
        let asked = |tool: Cow<'_, ToolSpec>| approval::asked_by_server(&self.config, &tool, &call.input);
        self.config.server_rules.is_some() && self.tool_of(call).is_none_or(asked)
    }

    /// The place of the first call that waits for a person and fits.
    fn awaiting_index(&self, fits: impl Fn(&LedgerEntry) -> bool) -> Option<usize> {
        let awaiting =
            |entry: &LedgerEntry| matches!(entry.stage, CallStage::AwaitingApproval(_)) && fits(entry);
        self.ledger.entries().iter().position(awaiting)
    }

    /// Keeps the rule for a call in the ledger.
    fn keep_rule(&mut self, index: usize, approval: &Approval) {
        let Some(entry) = self.ledger.entries().get(index) else {
            return;
        };
        let question = match &entry.stage {
            CallStage::AwaitingApproval(question) => Some(question.clone()),
            _ => None,
        };
        let tool = self.tool(&entry.call.name).cloned();
        let input = entry.call.input.clone();
        self.keep_rule_of(tool.as_ref(), &input, question.as_ref(), approval);
    }

    /// Keeps the rule that the person wrote, otherwise the one that was suggested.
    pub(super) fn keep_rule_of(
        &mut self,
        tool: Option<&ToolSpec>,
        input: &Value,
        question: Option<&Question>,
        approval: &Approval,
    ) {
        if tool.is_some_and(|tool| approval::always_asked(&self.config, tool, input).is_some()) {
            return;
        }
        let written = approval.rule.as_deref().cloned();
        if let Some(rule) = written.or_else(|| question.map(|question| question.suggested.clone())) {
            Arc::make_mut(&mut self.config).rules.push(rule);
        }
    }

    /// The tool that a waiting call names, if it is on offer: from version 9 of the rules on the machine's
    /// own, too.
    fn tool_of(&self, call: &RequestedCall) -> Option<Cow<'_, ToolSpec>> {
        let own = || self.own_tool(&call.name).map(Cow::Owned);
        let offered = self.tool(&call.name).map(Cow::Borrowed);
        offered.or_else(|| own().filter(|_| self.config.rules_version >= since::RECALL_IS_A_TOOL))
    }
}

/// The text of a decision, at most [`DECISION_CHARS`] characters.
pub(super) fn decision_line(mut line: String) -> String {
    if let Some((end, _)) = line.char_indices().nth(DECISION_CHARS) {
        line.truncate(end);
        line.push('…');
    }
    line
}
