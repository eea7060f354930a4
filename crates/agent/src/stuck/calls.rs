//! Loops of calls and their results, of answers without calls, and of condensing.
//!
//! A loop is a repeated call with a repeated result. A poll whose result changes is not a loop, and neither
//! is a paged read. Failing calls reach their thresholds sooner than successful ones.
//!
//! | kind | counted | told after | stopped after |
//! | --- | --- | --- | --- |
//! | `error` | equal calls in a row that fail with the same error | `nudge_after_errors` | `stop_after_errors` |
//! | `repetition` | equal calls in a row that succeed with the same result | `nudge_after` | `stop_after` |
//! | `alternation` | cycles of 2 to 4 calls with the same results | `nudge_after_errors` cycles, and `nudge_after` calls | `stop_after_errors` cycles if a call of them fails, else `stop_after` calls |
//! | `near_repetition` | calls in a row with nearly equal arguments and results | `nudge_after`; failing: twice `nudge_after_errors` | `stop_after`; failing: three times `stop_after_errors` |
//! | `changing_error` | equal calls in a row that fail in any words | twice `nudge_after_errors` | three times `stop_after_errors` |
//! | `recurring_error` | equal calls that fail with the same error, among the last 32 calls | twice `nudge_after_errors` | never |
//! | `monologue` | equal answers without calls in a row | `nudge_after_errors` | `stop_after_errors` |
//! | `context_window` | summaries in a row without a new call and result in between | `nudge_after_errors` | `stop_after_errors` |
//!
//! If several apply, the one that stops comes first, then the order of the table.

use std::collections::VecDeque;

use agentx_types::{ContentPart, LoopKind, StuckSettings};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fingerprint;

/// Number of calls that are remembered.
pub(super) const WINDOW: usize = 32;
/// Number of calls in the longest cycle of an alternation.
pub(super) const LONGEST_CYCLE: usize = 4;

/// A call with its result, in fingerprints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SeenCall {
    /// The tool and its arguments.
    exact: u64,
    /// The same for arguments that are nearly equal. In a successful call numbers count, because consecutive
    /// work differs by them (`part-1`, `part-2`); in a failed one they do not.
    near: u64,
    /// The result, without what differs in each failure.
    result: u64,
    /// The same for results that are nearly equal; that of a success is the result itself.
    near_result: u64,
    /// Whether the model reads the result as a failure.
    failed: bool,
}

impl SeenCall {
    /// Returns whether this is the other call again, with the same result.
    fn is_again(&self, other: &Self) -> bool {
        self.exact == other.exact && self.result == other.result
    }

    /// Returns whether this is nearly the other call, with nearly the same result.
    fn is_nearly(&self, other: &Self) -> bool {
        self.near == other.near && self.near_result == other.near_result
    }
}

/// The severity of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum LoopLevel {
    /// The model should know.
    Nudge,
    /// The agent should not continue on its own.
    Stop,
}

/// A loop, found by its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) kind: LoopKind,
    pub(super) level: LoopLevel,
    /// The number of repetitions.
    pub(super) times: u32,
    /// The number of calls in a cycle; 0 if the loop has none.
    pub(super) cycle: usize,
    /// Whether any of the calls fails.
    pub(super) fails: bool,
    /// Identifies the loop: it stays the same while the loop continues.
    pub(super) subject: u64,
}

/// The two numbers of repetitions that matter.
#[derive(Clone, Copy)]
struct Thresholds {
    /// The count from which the model gets a warning.
    told: u32,
    /// The count from which the agent must not continue without a person.
    stopped: u32,
}

impl Thresholds {
    /// Returns the bounds for calls that succeed. One call is never a loop.
    fn of_successes(settings: &StuckSettings) -> Self {
        Self {
            told: settings.nudge_after.max(2),
            stopped: settings.stop_after,
        }
    }

    /// Returns the bounds for calls that fail.
    fn of_errors(settings: &StuckSettings) -> Self {
        Self {
            told: settings.nudge_after_errors.max(2),
            stopped: settings.stop_after_errors,
        }
    }

    /// Returns the bounds for failures that are less alike, because they may be attempts with progress.
    fn patient(settings: &StuckSettings) -> Self {
        let Self { told, stopped } = Self::of_errors(settings);
        Self {
            told: told.saturating_mul(2),
            stopped: stopped.saturating_mul(3),
        }
    }
}

/// The counts of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CallLoops {
    window: VecDeque<SeenCall>,
    /// For each length of a cycle, from 1: the number of latest calls that equal the one a cycle earlier.
    equal: [u32; LONGEST_CYCLE],
    /// The number of latest calls that are nearly equal, and whether they are not all equal.
    near: u32,
    near_varies: bool,
    /// The number of latest calls that are equal and fail.
    failing: u32,
    /// The last answer without calls, and how often it was given in a row.
    answer: Option<u64>,
    answers: u32,
    /// The number of summaries without anything new in between.
    summaries: u32,
}

impl CallLoops {
    /// Records a call and its result.
    ///
    /// Everything that is counted is updated here, in constant time: the new call is compared with at most 32
    /// earlier ones, and each count either grows by one or begins again.
    pub(super) fn on_call(&mut self, name: &str, input: &Value, content: &[ContentPart], failed: bool) {
        let result = fingerprint::result(content, failed);
        let call = SeenCall {
            exact: fingerprint::call(name, input),
            near: fingerprint::near_call(name, input, failed),
            result,
            near_result: if failed {
                fingerprint::near_error(content)
            } else {
                result
            },
            failed,
        };
        self.answer = None;
        self.answers = 0;
        if !failed && !self.window.iter().any(|seen| seen.is_again(&call)) {
            self.summaries = 0;
        }
        for (index, equal) in self.equal.iter_mut().enumerate() {
            let before = self.window.len().checked_sub(index + 1);
            let is_equal = before.is_some_and(|place| self.window[place].is_again(&call));
            *equal = if is_equal { equal.saturating_add(1) } else { 0 };
        }
        let last = self.window.back();
        let fails_again = last.is_some_and(|last| last.exact == call.exact && last.failed && failed);
        let is_near = last.is_some_and(|last| last.is_nearly(&call) && last.failed == failed);
        let varies = last.is_some_and(|last| last.exact != call.exact);
        self.failing = match (failed, fails_again) {
            (true, true) => self.failing.saturating_add(1),
            (true, false) => 1,
            (false, _) => 0,
        };
        self.near_varies = is_near && (self.near_varies || varies);
        self.near = if is_near { self.near.saturating_add(1) } else { 1 };
        if self.window.len() == WINDOW {
            self.window.pop_front();
        }
        self.window.push_back(call);
    }

    /// Records an answer without calls.
    pub(super) fn on_answer(&mut self, text: &str) {
        let answer = Some(fingerprint::text(text));
        self.answers = if self.answer == answer {
            self.answers.saturating_add(1)
        } else {
            1
        };
        self.answer = answer;
    }

    /// Records a summary of the conversation. Only a call that succeeds with something new ends the count.
    pub(super) fn on_condensed(&mut self) {
        self.summaries = self.summaries.saturating_add(1);
    }

    /// Returns whether a call with these arguments would continue a loop of this kind and length.
    pub(super) fn continues(&self, kind: LoopKind, cycle: usize, name: &str, input: &Value) -> bool {
        let Some(last) = self.window.back() else {
            return false;
        };
        if kind == LoopKind::NearRepetition {
            return last.near == fingerprint::near_call(name, input, last.failed);
        }
        let exact = fingerprint::call(name, input);
        self.window
            .iter()
            .rev()
            .take(cycle)
            .any(|seen| seen.exact == exact)
    }

    /// Returns the loop of calls that the last call belongs to.
    pub(super) fn of_calls(&self, settings: &StuckSettings) -> Option<Counted> {
        let last = self.window.back()?;
        let patient = Thresholds::patient(settings);
        let usual = if last.failed {
            Thresholds::of_errors(settings)
        } else {
            Thresholds::of_successes(settings)
        };
        let one =
            |kind, times, thresholds, subject| counted(kind, times, 1, last.failed, thresholds, subject);
        let in_a_row = self.equal[0].saturating_add(1);
        let kind = if last.failed {
            LoopKind::Error
        } else {
            LoopKind::Repetition
        };
        let equal = one(kind, in_a_row, usual, last.exact);
        let near = || {
            let thresholds = if last.failed { patient } else { usual };
            let is_near = self.near_varies.then_some(self.near)?;
            one(LoopKind::NearRepetition, is_near, thresholds, last.near)
        };
        let recurs = || {
            let again = self
                .window
                .iter()
                .filter(|seen| last.failed && seen.is_again(last));
            let times = u32::try_from(again.count()).unwrap_or(u32::MAX);
            let never = Thresholds {
                stopped: u32::MAX,
                ..patient
            };
            one(LoopKind::RecurringError, times, never, last.exact)
        };
        let alternation = (2..=LONGEST_CYCLE)
            .filter_map(|cycle| self.alternation(cycle, settings))
            .max_by_key(|found| (found.level, usize::MAX - found.cycle));
        let changing = || one(LoopKind::ChangingError, self.failing, patient, last.exact);
        let found = [equal, alternation, near(), changing(), recurs()];
        first_of_highest(found)
    }

    /// Returns the loop of answers or summaries.
    pub(super) fn between_calls(&self, settings: &StuckSettings) -> Option<Counted> {
        let thresholds = Thresholds::of_errors(settings);
        let subject = self.answer.unwrap_or_default();
        first_of_highest([
            counted(LoopKind::Monologue, self.answers, 0, false, thresholds, subject),
            counted(LoopKind::ContextWindow, self.summaries, 0, false, thresholds, 1),
        ])
    }

    /// Returns the loop of cycles of this length.
    ///
    /// The calls of a cycle are not all equal: then it is a repetition. `equal` counts from the second cycle
    /// on, so the first one is added.
    fn alternation(&self, cycle: usize, settings: &StuckSettings) -> Option<Counted> {
        let equal = self.equal[cycle - 1];
        let length = u32::try_from(cycle).unwrap_or(u32::MAX);
        let calls = (equal > 0).then(|| equal.saturating_add(length))?;
        let latest = || self.window.iter().rev().take(cycle);
        let first = self.window.back()?;
        if latest().all(|seen| seen.is_again(first)) {
            return None;
        }
        let times = calls / length;
        let fails = latest().any(|seen| seen.failed);
        let is_told = times >= settings.nudge_after_errors.max(2) && calls >= settings.nudge_after;
        let is_over = if fails {
            times >= settings.stop_after_errors
        } else {
            calls >= settings.stop_after
        };
        is_told.then(|| Counted {
            kind: LoopKind::Alternation,
            level: if is_over {
                LoopLevel::Stop
            } else {
                LoopLevel::Nudge
            },
            times,
            cycle,
            fails,
            subject: latest().fold(0, |sum, seen| sum.wrapping_add(seen.exact)),
        })
    }
}

/// The loop, if it has gone far enough to matter.
fn counted(
    kind: LoopKind,
    times: u32,
    cycle: usize,
    fails: bool,
    thresholds: Thresholds,
    subject: u64,
) -> Option<Counted> {
    (times >= thresholds.told).then_some(Counted {
        kind,
        level: if times >= thresholds.stopped {
            LoopLevel::Stop
        } else {
            LoopLevel::Nudge
        },
        times,
        cycle,
        fails,
        subject,
    })
}

/// The first of those that have gone furthest.
fn first_of_highest<const N: usize>(found: [Option<Counted>; N]) -> Option<Counted> {
    let level = found.iter().flatten().map(|found| found.level).max()?;
    found.into_iter().flatten().find(|found| found.level == level)
}
