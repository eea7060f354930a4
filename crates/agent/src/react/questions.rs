//! The questions that the model asks the person (`ask_user`, and plans by `present_plan`): they are asked
//! like calls that need a decision, and answered by a decision with a note.
//!
//! ```text
//! call of ask_user ─┬─ arguments that make no question ──▶ the result says what is wrong
//!                   ├─ a rule denies the tool ───────────▶ the result says so
//!                   ├─ nobody can be asked ──────────────▶ the result says so (or it waits: `AskUser::Wait`)
//!                   └─ else ─▶ approval_requested ─ approval ─▶ the result is the answer
//! ```
//!
//! A decision about a question never keeps a rule, whatever its scope. An answer of another person than the
//! owner names that person. A restart asks again, because the call is still open in the fold.

use agentx_types::{
    ACCEPT_PLAN, Approval, ApprovalDecision, NOBODY_ACCEPTS, NOBODY_ANSWERS, RequestedCall, ToolStatus, since,
};

use super::ReactAgent;
use super::decisions::decision_line;
use crate::ledger::CallStage;
use crate::other_authors;
use crate::permissions::approval::Question;
use crate::run_lifecycle::RunStep;
use crate::tools::ask_user::{self, ASK_USER};
use crate::tools::plan_mode::{self, PRESENT_PLAN};

/// The reason that front ends show for such a question.
const REASON: &str = "the model asks";
/// The reason that front ends show for a plan.
const PLAN_REASON: &str = "the model presents its plan";
/// Maximum number of characters of an accepted plan that survive condensing word for word.
const KEPT_PLAN_CHARS: usize = 8_000;

impl ReactAgent {
    /// Returns whether the call is a question to the person.
    pub(super) fn is_question(&self, name: &str) -> bool {
        matches!(name, ASK_USER | PRESENT_PLAN) && self.own_tool(name).is_some()
    }

    /// Asks the person, or answers that nobody can be asked. An `Err` is the message to the model about its
    /// arguments.
    pub(super) fn ask_person(
        &self,
        call: &RequestedCall,
        step: &mut RunStep<'_>,
    ) -> Result<CallStage, String> {
        let is_plan = call.name == PRESENT_PLAN;
        let asked = Box::new(if is_plan {
            plan_mode::question(&call.input)?
        } else {
            ask_user::question(&call.input)?
        });
        if ask_user::is_unattended(&self.config) {
            let text = nobody(&call.name).to_owned();
            return Ok(self.answer_now(call, ToolStatus::Success, text, step));
        }
        let reason = if is_plan { PLAN_REASON } else { REASON };
        let question = Question {
            asked: Some(asked),
            ..Question::of_machine(reason, &call.name)
        };
        step.request_approval(call, &question);
        Ok(CallStage::AwaitingApproval(question))
    }

    /// Applies a person's answer to the question at `index`; a decision that holds none changes nothing.
    /// `false` if the call there is not a question to the person.
    pub(super) fn answer_question(
        &mut self,
        index: usize,
        approval: &Approval,
        step: &mut RunStep<'_>,
    ) -> bool {
        let CallStage::AwaitingApproval(Question {
            asked: Some(asked), ..
        }) = &self.ledger.entries()[index].stage
        else {
            return false;
        };
        let note = approval.note.as_deref();
        let is_answer = approval.decision != ApprovalDecision::Deny;
        if self.config.rules_version >= since::QUESTIONS_NEED_WORDS
            && !asked.is_settled_by(approval.decision, note)
        {
            return true;
        }
        let words = match note {
            Some(note) if is_answer => asked.meant(note).to_owned(),
            Some(note) => note.trim().to_owned(),
            None if is_answer => "yes".to_owned(),
            None => String::new(),
        };
        let who = approval.by.as_ref().map(|person| {
            (
                format!("Another person ({})", other_authors::id(person)),
                other_authors::plain_since(&words, self.config.rules_version),
            )
        });
        let (who, said) = who.unwrap_or_else(|| ("The person".to_owned(), words.clone()));
        let is_accepted = asked.is_plan && is_answer && words == ACCEPT_PLAN;
        let (status, text) = match (is_answer, said.is_empty()) {
            _ if is_accepted => {
                let text = format!("{who} {}", plan_mode::accepted(&self.config));
                (ToolStatus::Success, text)
            }
            (false, _) if said == NOBODY_ANSWERS && asked.is_plan => {
                (ToolStatus::Success, NOBODY_ACCEPTS.to_owned())
            }
            (true, _) if asked.is_plan => (
                ToolStatus::Success,
                format!("{who} does not accept the plan yet: {said}"),
            ),
            (false, _) if said == NOBODY_ANSWERS => (ToolStatus::Success, said),
            (true, _) => (ToolStatus::Success, format!("{who} answers: {said}")),
            (false, true) => (ToolStatus::Denied, format!("{who} gives no answer.")),
            (false, false) => (
                ToolStatus::Denied,
                format!("{who} gives no answer. They say: {said}"),
            ),
        };
        let said = other_authors::entry(&text);
        let line = if is_accepted {
            let plan: String = asked.question.chars().take(KEPT_PLAN_CHARS).collect();
            format!("{who} accepted this plan:\n{plan}")
        } else {
            decision_line(format!("asked {:?}", asked.question)) + " — " + &decision_line(said)
        };
        self.condenser.decisions.push((step.seq, line));
        self.answer_open(index, status, text, step);
        true
    }

    /// Decides again about the question at `index`, after rules or the mode have changed. `false` if the call
    /// there is not a question to the person.
    pub(super) fn reconsider_question(
        &mut self,
        index: usize,
        denied: Option<String>,
        step: &mut RunStep<'_>,
    ) -> bool {
        let entry = &self.ledger.entries()[index];
        if !matches!(&entry.stage, CallStage::AwaitingApproval(question) if question.asked.is_some()) {
            return false;
        }
        if let Some(told) = self.told_outcome(index) {
            if !self.is_attended() {
                self.answer_open(index, ToolStatus::Unknown, told, step);
            }
        } else if let Some(reason) = denied {
            self.answer_open(
                index,
                ToolStatus::Denied,
                super::calls::not_allowed(&reason),
                step,
            );
        } else if self.is_left_in_loop(index) {
            self.stop_for_loop("", step);
        } else if self.is_held_at_limit(index) {
            self.reconsider_limit(step);
        } else if self.is_question(&self.ledger.entries()[index].call.name)
            && ask_user::is_unattended(&self.config)
        {
            let text = nobody(&self.ledger.entries()[index].call.name).to_owned();
            self.answer_open(index, ToolStatus::Success, text, step);
        }
        true
    }
}

/// The result of a question of this tool that nobody can answer.
fn nobody(tool: &str) -> &'static str {
    if tool == PRESENT_PLAN {
        NOBODY_ACCEPTS
    } else {
        NOBODY_ANSWERS
    }
}
