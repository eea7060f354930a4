//! The response when the agent repeats itself ([`StuckDetector`] detects that).
//!
//! ```text
//! results ─▶ loop? ─┬─ first time ─────────────▶ the model is told, behind the last result
//!                   └─ goes on ─┬─ nobody there ▶ the run fails with `stuck`
//!                               └─ somebody ────▶ the next call of the loop waits for an answer:
//!                                                 "go on", "stop", or words to the model
//! ```
//!
//! All of it follows from facts: the results, the person's `approval`, and the `error` that ends the run. So
//! a replay, a mirror and a resumed session are in the same state. A loop without calls (the same answer,
//! summaries) is reported to the model in a separate message, and stops the run without a question.
//!
//! A person can be asked if the approval mode asks, or if the model may ask questions. A front end without a
//! person answers with [`NOBODY_ANSWERS`], which stops the run, too.

use std::sync::Arc;

use agentx_types::{
    Approval, ApprovalDecision, ApprovalMode, AskUser, AskedQuestion, ContentPart, LoopDetected,
    LoopResponse, Message, MessageId, NOBODY_ANSWERS, RequestedCall, Role, RunStatus, Source, StateOutput,
    StuckMode, StuckSettings, ToolStatus,
};
use serde::{Deserialize, Serialize};

use super::ReactAgent;
use super::decisions::decision_line;
use super::stop::because_stopped;
use crate::ledger::{CallStage, LedgerEntry};
use crate::other_authors;
use crate::permissions::approval::Question;
use crate::run_lifecycle::{RunInput, RunStep, StopCause};
use crate::stuck::{FoundLoop, LoopLevel, LoopPlace, StuckDetector};
use crate::tools::ask_user::ASK_USER;

/// The code of a run that ends because its agent is stuck.
pub(super) const STUCK: &str = "stuck";
/// The answer by which the loop continues.
const GO_ON: &str = "go on";
/// The answer by which the run is stopped.
const STOP: &str = "stop";
/// The reason that front ends show for such a question.
const REASON: &str = "the agent repeats itself";

/// The loops of an agent: the state of the detector, and the responses so far.
///
/// It is part of the agent's state and follows from the facts like the rest of it. An agent without the
/// setting keeps it empty, and an empty one is not serialized.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct StuckWatch {
    detector: StuckDetector,
    /// The loop that a note reported to the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    told: Option<u64>,
    /// The loop whose next call waits for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    due: Option<FoundLoop>,
}

impl StuckWatch {
    /// Returns whether nothing was seen yet: then it is not serialized.
    #[expect(clippy::borrowed_box, reason = "serde hands it over so")]
    pub(super) fn is_new(watch: &Box<Self>) -> bool {
        **watch == Self::default()
    }
}

/// The reason why a call is not run before a person has answered.
pub(super) struct LoopQuestion {
    /// The loop that it would continue.
    found: FoundLoop,
    /// The question about it.
    question: Question,
}

/// A person's answer to the question about a loop.
enum LoopAnswer {
    /// The loop may go on.
    GoOn,
    /// Stop the run; the text names who decided it.
    Stop(&'static str),
    /// The call is not run; the model reads these words.
    Words(String),
}

impl ReactAgent {
    /// The settings, unless nothing is detected: `None` in a log that is older than they are, so that it
    /// folds as it did.
    fn stuck_settings(&self) -> Option<StuckSettings> {
        self.config
            .stuck
            .filter(|settings| settings.mode != StuckMode::Off)
    }

    /// Returns whether anybody may answer a question about a loop or a limit.
    pub(super) fn is_attended(&self) -> bool {
        match self.config.approval {
            ApprovalMode::Ask | ApprovalMode::AcceptEdits => true,
            ApprovalMode::Auto => self.config.ask_user.is_some(),
            ApprovalMode::Deny => self.config.ask_user == Some(AskUser::Wait),
        }
    }

    /// A person said something: what is repeated from now on may be wanted. An open question stays.
    pub(super) fn note_input_of(&mut self, source: Source) {
        if source != Source::Agent && self.held_in_loop().is_empty() {
            self.forget_loops();
        }
    }

    /// Resets the counts at the start of a run, because a person may ask for the same thing twice. A run that
    /// continues the previous one keeps them.
    pub(super) fn note_run_of(&mut self, input: &RunInput) {
        if !input.goes_on {
            self.forget_loops();
        }
    }

    /// Begins to count again.
    fn forget_loops(&mut self) {
        if self.stuck_settings().is_some() {
            *self.stuck = StuckWatch::default();
        }
    }

    /// Notes an answer without calls.
    pub(super) fn watch_answer(&mut self, message: Option<&Message>) {
        if let (Some(settings), Some(message)) = (self.stuck_settings(), message) {
            self.stuck.detector.on_answer(&settings, &message.text());
        }
    }

    /// Notes a summary that no person requested.
    pub(super) fn watch_condensed(&mut self) {
        if let Some(settings) = self.stuck_settings() {
            self.stuck.detector.on_condensed(&settings);
        }
    }

    /// Records the results of a round. Returns a note to the model if the round continues a loop. If the loop
    /// has reached its limit and nobody can be asked, starts to stop the run.
    pub(super) fn watch_results(
        &mut self,
        entries: &[LedgerEntry],
        step: &mut RunStep<'_>,
    ) -> Option<String> {
        let settings = self.stuck_settings()?;
        for entry in entries {
            if let CallStage::Resolved {
                content, is_error, ..
            } = &entry.stage
            {
                let RequestedCall { name, input, .. } = &entry.call;
                let detector = &mut self.stuck.detector;
                detector.on_call(&settings, name, input, content, *is_error);
            }
        }
        self.stuck.due = None;
        let found = self.stuck.detector.found(&settings, LoopPlace::Calls)?;
        if !self.is_over(&settings, &found) {
            return self.nudge(&settings, &found, step);
        }
        if self.is_attended() {
            self.stuck.due = Some(found);
        } else {
            self.stop_in_loop(&found, "", step);
        }
        None
    }

    /// Looks for a loop of answers or summaries before a model call, and notifies the model of it or stops
    /// the run. Returns whether the run is stopped. A pause of the model is left alone: its answer is
    /// continued as it is, and pauses have their own end.
    pub(super) fn stop_or_nudge_between_calls(&mut self, step: &mut RunStep<'_>) -> bool {
        let Some(settings) = self.stuck_settings() else {
            return false;
        };
        if self.lifecycle.active().is_none_or(|run| run.pending.pauses > 0) {
            return false;
        }
        let Some(found) = self.stuck.detector.found(&settings, LoopPlace::BetweenCalls) else {
            return false;
        };
        if self.is_over(&settings, &found) {
            self.report_loop(&found, LoopResponse::Stop, step);
            self.begin_stop(cause(&found, ""), step);
            return true;
        }
        if let Some(text) = self.nudge(&settings, &found, step) {
            let message = Message {
                message_id: MessageId::with_suffix(format_args!("loop_{}", step.seq)),
                role: Role::User,
                content: vec![ContentPart::text(text)],
                by: None,
            };
            self.lifecycle.inputs.keep(Arc::new(message));
        }
        false
    }

    /// Returns whether a loop has gone on for too long.
    ///
    /// The model is notified first, however long the loop is: it is notified of ten equal calls in one
    /// answer, and only further ones stop the run. In the mode `v0` the model is not notified.
    fn is_over(&self, settings: &StuckSettings, found: &FoundLoop) -> bool {
        let was_told = settings.mode == StuckMode::V0 || self.stuck.told == Some(found.subject);
        found.level == LoopLevel::Stop && was_told
    }

    /// Returns the note to the model about a loop, once for each.
    ///
    /// A loop that pauses and continues is the same loop, so a failure that recurs between other calls is
    /// reported once. A message of a person starts anew.
    fn nudge(
        &mut self,
        settings: &StuckSettings,
        found: &FoundLoop,
        step: &mut RunStep<'_>,
    ) -> Option<String> {
        if self.stuck.told == Some(found.subject) {
            return None;
        }
        self.stuck.told = Some(found.subject);
        self.report_loop(found, LoopResponse::Nudge, step);
        Some(found.nudge(settings))
    }

    /// Begins to stop a run in which every call has its result.
    ///
    /// Apart from agents in the background, nothing runs that has to be cancelled. The results still
    /// join the conversation, so that each call has its one result; then `proceed` records the end.
    fn stop_in_loop(&mut self, found: &FoundLoop, who: &str, step: &mut RunStep<'_>) {
        self.report_loop(found, LoopResponse::Stop, step);
        let cause = cause(found, who);
        let why = because_stopped(&cause);
        if let Some(run) = self.lifecycle.active() {
            run.pending.stop = Some(cause);
        }
        self.lifecycle.set_status(RunStatus::Stopping, step);
        self.interrupt_background(&why, step);
    }

    /// Reports a loop to front ends, with what follows from it.
    ///
    /// The report is derived: a replay makes it again, and it is in no log.
    fn report_loop(&self, found: &FoundLoop, response: LoopResponse, step: &mut RunStep<'_>) {
        step.state(StateOutput::LoopDetected(LoopDetected {
            kind: found.kind,
            times: found.times,
            tools: found.tools.clone(),
            response,
            message: found.sentence(),
        }));
    }

    /// Returns the question to a person about a call that would continue a loop, if there is one and somebody
    /// may answer. `ask_user` is not held back: the person who answers it sees the loop.
    pub(super) fn loop_question(&self, call: &RequestedCall) -> Option<LoopQuestion> {
        let settings = self.stuck_settings()?;
        let found = self.stuck.due.as_ref()?;
        let goes_on = self
            .stuck
            .detector
            .continues(&settings, found, &call.name, &call.input);
        if !goes_on || !self.is_attended() || call.name == ASK_USER {
            return None;
        }
        let asked = AskedQuestion {
            question: format!(
                "The agent repeats itself: {}. It wants to make the next call of that kind. Shall it go on?",
                found.sentence()
            ),
            choices: vec![GO_ON.to_owned(), STOP.to_owned()],
            is_plan: false,
        };
        let question = Question {
            asked: Some(Box::new(asked)),
            is_about_loop: true,
            ..Question::of_machine(REASON, &call.name)
        };
        Some(LoopQuestion {
            found: found.clone(),
            question,
        })
    }

    /// Lets a call wait for a person because of a loop.
    pub(super) fn hold_in_loop(
        &mut self,
        call: &RequestedCall,
        held: LoopQuestion,
        step: &mut RunStep<'_>,
    ) -> CallStage {
        let LoopQuestion { found, question } = held;
        self.report_loop(&found, LoopResponse::Question, step);
        step.request_approval(call, &question);
        CallStage::AwaitingApproval(question)
    }

    /// Applies a person's answer about a loop, to every call that waits for it. `false` if the call at
    /// `index` waits for something else.
    pub(super) fn answer_loop_question(
        &mut self,
        index: usize,
        approval: &Approval,
        step: &mut RunStep<'_>,
    ) -> bool {
        let CallStage::AwaitingApproval(question) = &self.ledger.entries()[index].stage else {
            return false;
        };
        let Some(asked) = question.asked.as_deref().filter(|_| question.is_about_loop) else {
            return false;
        };
        let answer = answer(asked, approval);
        match &answer {
            LoopAnswer::Stop(who) => self.stop_for_loop(who, step),
            LoopAnswer::GoOn | LoopAnswer::Words(_) => {
                self.forget_loops();
                for index in self.held_in_loop() {
                    match &answer {
                        LoopAnswer::Words(text) => {
                            self.answer_open(index, ToolStatus::Denied, text.clone(), step);
                        }
                        _ => self.release(index, false, step),
                    }
                }
            }
        }
        if let LoopAnswer::Words(text) = answer {
            let line = decision_line(format!("asked whether to go on: {}", other_authors::entry(&text)));
            self.condenser.decisions.push((step.seq, line));
        }
        true
    }

    /// Stops the run because of the loop whose next call waits.
    pub(super) fn stop_for_loop(&mut self, who: &str, step: &mut RunStep<'_>) {
        let Some(found) = self.stuck.due.clone() else {
            return;
        };
        self.report_loop(&found, LoopResponse::Stop, step);
        self.begin_stop(cause(&found, who), step);
    }

    /// Returns whether the call at `index` waits because of a loop and nobody may answer any more.
    pub(super) fn is_left_in_loop(&self, index: usize) -> bool {
        self.held_in_loop().contains(&index) && !self.is_attended()
    }

    /// The places of the calls that wait because of a loop.
    fn held_in_loop(&self) -> Vec<usize> {
        let entries = self.ledger.entries().iter().enumerate();
        let is_held = |entry: &LedgerEntry| matches!(&entry.stage, CallStage::AwaitingApproval(question) if question.is_about_loop);
        entries
            .filter_map(|(index, entry)| is_held(entry).then_some(index))
            .collect()
    }
}

/// The cause of a stop because of a loop. `who` says who decided, if anybody did.
fn cause(found: &FoundLoop, who: &str) -> StopCause {
    let message = format!("the agent is stuck: {}{who}", found.sentence());
    StopCause::error(RunStatus::Failed, STUCK, &message)
}

/// Reads a person's answer. An answer of another person than the session's owner names that person.
fn answer(asked: &AskedQuestion, approval: &Approval) -> LoopAnswer {
    let note = approval
        .note
        .as_deref()
        .map(str::trim)
        .filter(|note| !note.is_empty());
    let is_refused = approval.decision == ApprovalDecision::Deny;
    let words = match note {
        None if is_refused => return LoopAnswer::Stop("; a person stopped it"),
        None => return LoopAnswer::GoOn,
        Some(NOBODY_ANSWERS) => return LoopAnswer::Stop("; nobody was there to be asked"),
        Some(note) if is_refused => note,
        Some(note) => match asked.meant(note) {
            GO_ON => return LoopAnswer::GoOn,
            STOP => return LoopAnswer::Stop("; a person stopped it"),
            words => words,
        },
    };
    let said = match &approval.by {
        None => format!("The person says: {words}"),
        Some(person) => format!(
            "Another person ({}) says: {}",
            other_authors::id(person),
            other_authors::plain(words)
        ),
    };
    LoopAnswer::Words(format!("Not run, because it was a repetition. {said}"))
}
