//! The question to a person what became of a call whose program died while it ran, if its tool is set so
//! (`asks_unknown`): a payment, a message, a deployment. Otherwise the model is told that nobody knows.
//!
//! ```text
//! call cut off ─┬─ nobody there ─▶ the result `unknown`
//!               └─ somebody ─────▶ it waits for an answer:
//!                                  "done" or "not done" ─▶ that is its result
//!                                  "run again" ──────────▶ it is decided like a new call
//!                                  other words ──────────▶ the result `unknown`, with the words
//! ```
//!
//! The question is an approval, as for a loop, so every front end can answer it, and it survives restarts.
//! Calls of agents below the first one are told to their model.

use agentx_types::{Approval, ApprovalDecision, AskedQuestion, NOBODY_ANSWERS, RequestedCall, ToolStatus};

use super::ReactAgent;
use super::decisions::decision_line;
use super::recover::OUTCOME_UNKNOWN;
use crate::ledger::CallStage;
use crate::other_authors;
use crate::permissions::approval::Question;
use crate::run_lifecycle::RunStep;

/// The reason that front ends show for such a question.
const REASON: &str = "it is unknown whether the call had its effect";
/// The answers.
const DONE: &str = "done";
const NOT_DONE: &str = "not done";
const RUN_AGAIN: &str = "run again";

impl ReactAgent {
    /// Returns whether a person is asked what became of a call that had started.
    pub(super) fn asks_about_outcome(&self, call: &RequestedCall, step: &RunStep<'_>) -> bool {
        let tool = self.tool(&call.name);
        tool.is_some_and(|tool| tool.asks_unknown) && step.context.depth == 0 && self.is_attended()
    }

    /// Asks what became of the call at `index`. `told` is its result if nobody answers.
    pub(super) fn ask_about_outcome(&mut self, index: usize, told: String, step: &mut RunStep<'_>) {
        let Some(entry) = self.ledger.entries_mut().get_mut(index) else {
            return;
        };
        let asked = AskedQuestion {
            question:
                "The program stopped while this call was running, so nobody knows whether it had its effect. \
                       What became of it? Other words go to the model."
                    .to_owned(),
            choices: [DONE, NOT_DONE, RUN_AGAIN].map(str::to_owned).to_vec(),
            is_plan: false,
        };
        let question = Question {
            asked: Some(Box::new(asked)),
            outcome: Some(told.into()),
            ..Question::of_machine(REASON, &entry.call.name)
        };
        step.request_approval(&entry.call, &question);
        entry.stage = CallStage::AwaitingApproval(question);
    }

    /// Applies a person's answer about the outcome of the call at `index`; a decision without words that
    /// does not refuse changes nothing. `false` if the call there waits for something else.
    pub(super) fn answer_outcome_question(
        &mut self,
        index: usize,
        approval: &Approval,
        step: &mut RunStep<'_>,
    ) -> bool {
        let entry = &self.ledger.entries()[index];
        let CallStage::AwaitingApproval(Question {
            asked: Some(asked),
            outcome: Some(told),
            ..
        }) = &entry.stage
        else {
            return false;
        };
        let note = approval.note.as_deref().map_or("", str::trim);
        let words = asked.meant(note).to_owned();
        if words.is_empty() && approval.decision != ApprovalDecision::Deny {
            return true;
        }
        let (call, told) = (entry.call.clone(), told.to_string());
        let who = match &approval.by {
            None => "The person".to_owned(),
            Some(person) => format!("Another person ({})", other_authors::id(person)),
        };
        // The recorded output of the call stands behind the sentence.
        let output = told.strip_prefix(OUTCOME_UNKNOWN).unwrap_or_default();
        let line = format!(
            "{who} was asked what became of {} {}: {words}",
            call.name, call.input
        );
        let (status, text) = match words.to_lowercase().as_str() {
            "" => (ToolStatus::Unknown, told),
            _ if words == NOBODY_ANSWERS => (ToolStatus::Unknown, told),
            DONE => (
                ToolStatus::Success,
                format!("This call was cut off. {who} looked and says that it was done.{output}"),
            ),
            NOT_DONE => (
                ToolStatus::Failed,
                format!("This call was cut off. {who} looked and says that it was not done.{output}"),
            ),
            RUN_AGAIN => {
                self.condenser.decisions.push((step.seq, decision_line(line)));
                self.decide_anew(index, step);
                return true;
            }
            _ => {
                let words = match &approval.by {
                    None => words.clone(),
                    Some(_) => other_authors::plain_since(&words, self.config.rules_version),
                };
                (ToolStatus::Unknown, format!("{told}\n{who} says: {words}"))
            }
        };
        self.condenser
            .decisions
            .push((step.seq, decision_line(other_authors::entry(&line))));
        self.answer_open(index, status, text, step);
        true
    }

    /// Decides about the call at `index` as if the model had just made it. The order of the calls stays.
    fn decide_anew(&mut self, index: usize, step: &mut RunStep<'_>) {
        for (at, entry) in self.ledger.drain().into_iter().enumerate() {
            if at == index {
                self.decide_call(entry.call, step);
            } else {
                self.ledger.add(entry.call, entry.stage);
            }
        }
    }

    /// The result of the call at `index` if it is unknown what became of it, and a person is asked.
    pub(super) fn told_outcome(&self, index: usize) -> Option<String> {
        match &self.ledger.entries().get(index)?.stage {
            CallStage::AwaitingApproval(question) => question.outcome.as_deref().map(str::to_owned),
            _ => None,
        }
    }
}
