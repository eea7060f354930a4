//! The question to a person when a run has reached a limit and its model wants to call tools: otherwise the
//! run would end in the middle of its work.
//!
//! ```text
//! calls, and a limit is reached ─┬─ nobody there ─▶ the calls are refused, and the run ends
//!                                └─ somebody ─────▶ the calls wait for an answer:
//!                                                   "continue" or "20 more" ─▶ they are decided as usual
//!                                                   "stop" or other words ───▶ the run ends
//! ```
//!
//! The question is an approval of the calls, as for a loop ([`super::stuck`]), so every front end can answer
//! it. The answer is a fact (`approval`) and raises the limit for this run only. One answer settles all calls
//! that wait.
//!
//! These runs end without a question: those of agents that another agent made, because their end is a result
//! for that agent; those of a server's members, who cannot raise what the operator set; and those whose time
//! is over, because work in progress would continue while nobody answers.

use agentx_types::{
    Approval, ApprovalDecision, AskedQuestion, Limits, NOBODY_ANSWERS, NanoUsd, RequestedCall, RunStatus,
    ToolStatus, since,
};

use super::ReactAgent;
use crate::ledger::CallStage;
use crate::limits::{self, ReachedLimit};
use crate::other_authors;
use crate::permissions::approval::Question;
use crate::run_lifecycle::{RunStep, StopCause};

/// The reason that front ends show for such a question.
const REASON: &str = "a limit of the run is reached";
/// The answer by which the run ends.
const STOP: &str = "stop";
/// The addition to the reason of a run that a person ended.
const BY_PERSON: &str = "; a person stopped it";
/// The number of limits that one answer may have to raise: rounds, tokens and cost.
const LIMITS: usize = 3;

/// A person's answer at a limit.
enum LimitAnswer {
    /// The run may continue, with this much more; `None` for as much again.
    Continue(Option<u64>),
    /// The run ends. The model reads the words, if there are any, with the next input.
    Stop(Option<String>),
    /// The run ends, because nobody was there to be asked.
    Nobody,
}

impl ReactAgent {
    /// The limits of the current run, or of the last one: those of the configuration, with what people added
    /// for this run.
    pub(super) fn limits_of_run(&self) -> Limits {
        let set = self.config.limits;
        self.lifecycle
            .run
            .as_ref()
            .map_or(set, |run| run.raised.raise_limits(set))
    }

    /// The limit of its own that forbids the current run another round of tools, if one does.
    pub(super) fn reached_limit(&self) -> Option<ReachedLimit> {
        let run = self.lifecycle.run.as_ref()?;
        limits::reached(&self.limits_of_run(), &run.spent())
    }

    /// Returns whether a person is asked before the run ends at a limit, and these calls wait meanwhile. If
    /// the answer was cut off in the last call (`cut_off`), the run ends.
    pub(super) fn asks_at_limit(
        &self,
        calls: &[RequestedCall],
        cut_off: Option<&str>,
        step: &RunStep<'_>,
    ) -> bool {
        let server = self.config.server_rules.as_deref();
        self.config.asks_at_limits
            && self.config.rules_version >= since::LIMITS_ASK
            && cut_off.is_none()
            && step.context.depth == 0
            && server.is_none_or(|rules| rules.member_directory.is_none())
            && self.is_attended()
            && self.reached_limit().is_some()
            && calls.iter().any(|call| self.mistake_in(call).is_none())
    }

    /// The message to the model about a call that no tool can take.
    fn mistake_in(&self, call: &RequestedCall) -> Option<String> {
        let own = self.own_tool(&call.name);
        let found = self.tool_for(call, own.as_ref(), &self.config.tools);
        found.err()
    }

    /// Lets calls wait for a person at the limit that is reached. Mistakes are answered at once.
    pub(super) fn hold_at_limit(&mut self, calls: Vec<RequestedCall>, step: &mut RunStep<'_>) {
        let Some(limit) = self.reached_limit() else {
            return;
        };
        let asked = question(&limit, &self.config.limits);
        for call in calls {
            if let Some(text) = self.mistake_in(&call) {
                self.answer_new(call, ToolStatus::Invalid, text, step);
                continue;
            }
            let question = Question {
                by_server: self.config.server_rules.is_some(),
                asked: Some(Box::new(asked.clone())),
                is_about_limit: true,
                ..Question::of_machine(REASON, &call.name)
            };
            step.request_approval(&call, &question);
            self.ledger.add(call, CallStage::AwaitingApproval(question));
        }
        self.update_waiting_status(step);
    }

    /// Applies a person's answer at a limit, to every call that waits there. A decision without words changes
    /// nothing, unless it refuses. `false` if the call at `index` waits for something else.
    pub(super) fn answer_limit_question(
        &mut self,
        index: usize,
        approval: &Approval,
        step: &mut RunStep<'_>,
    ) -> bool {
        let CallStage::AwaitingApproval(question) = &self.ledger.entries()[index].stage else {
            return false;
        };
        let Some(asked) = question.asked.as_deref().filter(|_| question.is_about_limit) else {
            return false;
        };
        let code = self.reached_limit().map(|limit| limit.code);
        match answer(asked, approval, code) {
            Some(LimitAnswer::Continue(added)) => self.continue_past_limit(added, step),
            Some(LimitAnswer::Stop(words)) => {
                if let Some(words) = words {
                    self.note_for_model(words, step);
                }
                self.stop_at_limit(BY_PERSON, step);
            }
            Some(LimitAnswer::Nobody) => self.stop_at_limit("", step),
            None => {}
        }
        true
    }

    /// Raises each limit that is reached, the first by `added` if a person gave an amount, and decides about
    /// the calls that waited.
    fn continue_past_limit(&mut self, mut added: Option<u64>, step: &mut RunStep<'_>) {
        let set = self.config.limits;
        for _ in 0..LIMITS {
            let (Some(limit), Some(run)) = (self.reached_limit(), self.lifecycle.active()) else {
                break;
            };
            let amount = added.take().unwrap_or_else(|| as_much_again(limit.code, &set));
            let spent = run.spent();
            run.raised.leave(limit.code, amount, &set, &spent);
        }
        for entry in self.ledger.drain() {
            match entry.stage {
                CallStage::AwaitingApproval(question) if question.is_about_limit => {
                    self.decide_call(entry.call, step);
                }
                stage => self.ledger.add(entry.call, stage),
            }
        }
    }

    /// Ends the run at its limit. `who` is added to the reason.
    fn stop_at_limit(&mut self, who: &str, step: &mut RunStep<'_>) {
        let cause = match self.reached_limit() {
            Some(limit) => {
                let message = format!("{}{who}", limit.message);
                StopCause::error(RunStatus::TimedOut, limit.code, &message)
            }
            // Somebody raised the limit while the question was open.
            None => StopCause::interrupt("a person stopped it at a limit"),
        };
        let text = format!("not run: {}", cause.message);
        for index in 0..self.ledger.entries().len() {
            if self.is_held_at_limit(index) {
                self.answer_open(index, ToolStatus::Refused, text.clone(), step);
            }
        }
        self.begin_stop(cause, step);
    }

    /// Decides again about the calls that wait at a limit: they continue if the limit was raised in the
    /// configuration, and the run ends if nobody may answer any more.
    pub(super) fn reconsider_limit(&mut self, step: &mut RunStep<'_>) {
        if self.reached_limit().is_none() {
            self.continue_past_limit(None, step);
        } else if !self.is_attended() {
            self.stop_at_limit("", step);
        }
    }

    /// Returns whether the call at `index` waits at a limit.
    pub(super) fn is_held_at_limit(&self, index: usize) -> bool {
        let entry = self.ledger.entries().get(index);
        entry.is_some_and(
            |entry| matches!(&entry.stage, CallStage::AwaitingApproval(question) if question.is_about_limit),
        )
    }
}

/// The question at a limit, with its choices.
fn question(limit: &ReachedLimit, set: &Limits) -> AskedQuestion {
    let example = match limit.code {
        "iteration_limit" => "20 more",
        "token_limit" => "50000 more",
        _ => "0.50 more",
    };
    let more = in_words(limit.code, as_much_again(limit.code, set));
    AskedQuestion {
        question: format!(
            "The run stops here, because {}. Shall it continue? An answer such as `{example}` adds that \
             much, for this run only.",
            limit.message
        ),
        choices: vec![format!("continue with {more} more"), STOP.to_owned()],
        is_plan: false,
    }
}

/// Reads a person's answer; `code` is that of the limit that is reached. `None` if it says nothing. Words
/// that are not a choice end the run: nothing that a person did not mean raises a limit.
fn answer(asked: &AskedQuestion, approval: &Approval, code: Option<&str>) -> Option<LimitAnswer> {
    let is_refused = approval.decision == ApprovalDecision::Deny;
    let note = approval.note.as_deref().map_or("", str::trim);
    if note.is_empty() {
        return is_refused.then_some(LimitAnswer::Stop(None));
    }
    if note == NOBODY_ANSWERS {
        return Some(LimitAnswer::Nobody);
    }
    let meant = asked.meant(note);
    let word = meant.to_lowercase();
    let is_choice = asked.choices.first().is_some_and(|first| first == meant);
    if !is_refused && (is_choice || matches!(word.as_str(), "continue" | "go on" | "yes" | "y")) {
        return Some(LimitAnswer::Continue(None));
    }
    let added = added(&word, code).filter(|_| !is_refused);
    if added.is_some() {
        return Some(LimitAnswer::Continue(added));
    }
    if matches!(word.as_str(), STOP | "no" | "n") {
        return Some(LimitAnswer::Stop(None));
    }
    let said = match &approval.by {
        None => format!("The person stopped the run at its limit and said: {meant}"),
        Some(person) => format!(
            "Another person ({}) stopped the run at its limit and said: {}",
            other_authors::id(person),
            other_authors::plain(meant)
        ),
    };
    Some(LimitAnswer::Stop(Some(format!("[{said}]"))))
}

/// Reads an amount that a person adds, `20 more`: rounds, tokens, or dollars with at most nine digits after
/// the point, which become billionths. `None` if it is none, or nothing.
fn added(words: &str, code: Option<&str>) -> Option<u64> {
    let number = words.strip_suffix("more")?.trim().trim_start_matches('$');
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let amount = if code == Some("cost_limit") {
        let (dollars, part) = number.split_once('.').unwrap_or((number, ""));
        if dollars.is_empty() || part.len() > 9 || !is_number(dollars) || !is_number(part) {
            return None;
        }
        let billionths: u64 = format!("{part:0<9}").parse().ok()?;
        let dollars: u64 = dollars.parse().ok()?;
        dollars.checked_mul(1_000_000_000)?.checked_add(billionths)?
    } else {
        number.parse().ok().filter(|_| is_number(number))?
    };
    (amount > 0).then_some(amount)
}

/// As much of a limit as the configuration sets: rounds, tokens or billionths of a dollar; at least one.
fn as_much_again(code: &str, set: &Limits) -> u64 {
    let amount = match code {
        "iteration_limit" => set.max_iterations.map(u64::from),
        "token_limit" => set.max_tokens,
        _ => set.max_cost.map(|cost| cost.0),
    };
    amount.unwrap_or_default().max(1)
}

/// An amount of a limit, for people.
fn in_words(code: &str, amount: u64) -> String {
    match code {
        "iteration_limit" if amount == 1 => "1 tool round".to_owned(),
        "iteration_limit" => format!("{amount} tool rounds"),
        "token_limit" => format!("{amount} tokens"),
        _ => format!("{:.4} dollars", NanoUsd(amount).as_usd()),
    }
}
