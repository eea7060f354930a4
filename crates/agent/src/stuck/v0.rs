//! The rules of OpenHands V0 (`openhands/controller/stuck.py`), which give the same verdict on the same
//! events.
//!
//! | rule, in this order | verdict |
//! | --- | --- |
//! | the last 4 actions are equal, and so are the last 4 observations | `repeating_action_observation` |
//! | the last 3 actions are equal, and the last 3 observations are errors, or the same syntax error of a cell | `repeating_action_error` |
//! | the last 3 messages of the agent are equal, without an observation in between | `monologue` |
//! | the last 6 actions alternate between two, and so do the last 6 observations | `repeating_action_observation_pattern` |
//! | two of the last 10 condensations are neighbours | `context_window_error` |
//!
//! Actions and observations are compared separately: an observation need not belong to the action before
//! it. Each event takes constant time and memory.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// Number of actions and observations that the rules look at.
const WINDOW: usize = 6;
/// Number of condensations that the last rule looks at.
const CONDENSATIONS: usize = 10;

/// The number of known syntax errors of a cell.
pub const CELL_ERRORS: usize = 3;

/// The kind of an observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum V0Observation {
    /// Any that is not listed here.
    Plain,
    /// An error.
    Error,
    /// The output of a Python cell: for each known syntax error the fingerprint of its lines, if it is the
    /// one.
    Cell([Option<u64>; CELL_ERRORS]),
    /// The conversation was condensed.
    Condensation,
}

/// An event, reduced to the part that the rules compare.
///
/// `key` is equal for events that count as equal, and `None` for one that equals nothing, not even itself.
/// `first` is the place of the first event that is wholly equal to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum V0Event {
    /// An action that is not a message.
    Action {
        /// The fingerprint.
        key: Option<u64>,
        /// The place of the first equal event.
        first: u64,
    },
    /// A message of the agent.
    Message {
        /// The fingerprint.
        key: u64,
        /// The place of the first equal event.
        first: u64,
    },
    /// An observation.
    Observation {
        /// The fingerprint.
        key: u64,
        /// The kind.
        kind: V0Observation,
    },
}

/// The kinds of loops, with OpenHands' names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum V0LoopType {
    /// The same action has the same observation.
    RepeatingActionObservation,
    /// The same action fails.
    RepeatingActionError,
    /// The agent says the same and does nothing.
    Monologue,
    /// Two actions alternate.
    RepeatingActionObservationPattern,
    /// The conversation is condensed again and again.
    ContextWindowError,
}

/// The verdict of OpenHands V0 about a loop, `StuckAnalysis` there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StuckAnalysis {
    /// The kind of loop.
    pub loop_type: V0LoopType,
    /// The number of repetitions that the rule requires.
    pub loop_repeat_times: u32,
    /// The place where the loop starts. For actions it is the place of the first equal event, which may lie
    /// before the loop.
    pub loop_start_idx: u64,
}

/// An action in the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Acted {
    /// The fingerprint; `None` equals nothing.
    key: Option<u64>,
    /// The place of the first equal event.
    first: u64,
}

/// An observation in the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Observed {
    /// The fingerprint.
    key: u64,
    /// The kind, for the rule about errors.
    kind: V0Observation,
}

/// A message of the agent in the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct WindowMessage {
    /// The fingerprint.
    key: u64,
    /// The number of events before it.
    place: u64,
    /// The number of observations before it.
    observations: u64,
}

/// The detector with the rules of OpenHands V0.
///
/// ```
/// use agentx_agent::stuck::{V0Detector, V0Event, V0LoopType, V0Observation};
///
/// let mut detector = V0Detector::default();
/// for place in 0..4 {
///     detector.push(V0Event::Action { key: Some(1), first: 0 });
///     detector.push(V0Event::Observation { key: 2, kind: V0Observation::Plain });
///     assert_eq!(detector.verdict().is_some(), place == 3);
/// }
/// let found = detector.verdict().map(|found| found.loop_type);
/// assert_eq!(found, Some(V0LoopType::RepeatingActionObservation));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct V0Detector {
    actions: VecDeque<Acted>,
    observations: VecDeque<Observed>,
    messages: VecDeque<WindowMessage>,
    condensations: VecDeque<u64>,
    /// The number of events so far.
    events: u64,
    /// The number of observations so far.
    observed: u64,
    /// The place of the first event.
    offset: u64,
}

impl V0Detector {
    /// A detector that begins at this place of a history: in interactive mode, the one after the last message
    /// of the user.
    pub fn at(offset: u64) -> Self {
        Self {
            offset,
            ..Self::default()
        }
    }

    /// Handles the next event. Messages of the user and empty events are left out by the caller.
    pub fn push(&mut self, event: V0Event) {
        match event {
            V0Event::Action { key, first } => keep(&mut self.actions, Acted { key, first }, WINDOW),
            V0Event::Message { key, first } => {
                let acted = Acted {
                    key: Some(key),
                    first,
                };
                keep(&mut self.actions, acted, WINDOW);
                let said = WindowMessage {
                    key,
                    place: self.events,
                    observations: self.observed,
                };
                keep(&mut self.messages, said, 3);
            }
            V0Event::Observation { key, kind } => {
                keep(&mut self.observations, Observed { key, kind }, WINDOW);
                self.observed += 1;
                if kind == V0Observation::Condensation {
                    keep(&mut self.condensations, self.events, CONDENSATIONS);
                }
            }
        }
        self.events += 1;
    }

    /// Returns the first rule that applies now.
    pub fn verdict(&self) -> Option<StuckAnalysis> {
        if self.events < 3 {
            return None;
        }
        let found = self
            .repeats()
            .or_else(|| self.repeats_an_error())
            .or_else(|| self.is_a_monologue())
            .or_else(|| self.alternates())
            .or_else(|| self.condenses());
        found.map(|(loop_type, loop_repeat_times, start)| StuckAnalysis {
            loop_type,
            loop_repeat_times,
            loop_start_idx: start + self.offset,
        })
    }

    /// Four equal actions with four equal observations.
    fn repeats(&self) -> Option<(V0LoopType, u32, u64)> {
        let (actions, observations) = (last(&self.actions, 4)?, last(&self.observations, 4)?);
        let are_equal = actions.iter().all(|action| is_equal(actions[3], *action))
            && observations.iter().all(|one| one.key == observations[3].key);
        are_equal.then(|| (V0LoopType::RepeatingActionObservation, 4, actions[0].first))
    }

    /// Three equal actions with three errors, or with the same syntax error of a cell three times.
    fn repeats_an_error(&self) -> Option<(V0LoopType, u32, u64)> {
        let (actions, observations) = (last(&self.actions, 3)?, last(&self.observations, 3)?);
        if !actions.iter().all(|action| is_equal(actions[2], *action)) {
            return None;
        }
        let are_errors = observations.iter().all(|one| one.kind == V0Observation::Error);
        let is_same_error = |index: usize| {
            let mut lines = observations.iter().map(|one| match one.kind {
                V0Observation::Cell(errors) => errors[index],
                _ => None,
            });
            let first = lines.next().flatten();
            first.is_some() && lines.all(|line| line == first)
        };
        // OpenHands looks the loop up by the earliest of up to four actions.
        let start = self.actions[self.actions.len().saturating_sub(4)].first;
        (are_errors || (0..CELL_ERRORS).any(is_same_error)).then_some((
            V0LoopType::RepeatingActionError,
            3,
            start,
        ))
    }

    /// Three equal messages without an observation in between.
    fn is_a_monologue(&self) -> Option<(V0LoopType, u32, u64)> {
        let said = last(&self.messages, 3)?;
        let is_one = said.iter().all(|message| message.key == said[0].key)
            && said[0].observations == said[2].observations;
        is_one.then(|| (V0LoopType::Monologue, 3, said[0].place))
    }

    /// Six actions that alternate between two, with observations that do the same.
    fn alternates(&self) -> Option<(V0LoopType, u32, u64)> {
        let (actions, observations) = (last(&self.actions, 6)?, last(&self.observations, 6)?);
        let alternates = (0..2).all(|start| {
            let same = |index: usize| is_equal(actions[start + 4], actions[index]);
            let same_result = |index: usize| observations[start + 4].key == observations[index].key;
            [start, start + 2]
                .into_iter()
                .all(|index| same(index) && same_result(index))
        });
        alternates.then(|| (V0LoopType::RepeatingActionObservationPattern, 3, actions[0].first))
    }

    /// Two condensations in a row among the last ten.
    fn condenses(&self) -> Option<(V0LoopType, u32, u64)> {
        let places = last(&self.condensations, CONDENSATIONS)?;
        let mut pairs = places.windows(2);
        let start = pairs.find(|pair| pair[1] == pair[0] + 1)?[0];
        Some((V0LoopType::ContextWindowError, 2, start))
    }
}

/// Returns whether two actions count as equal.
fn is_equal(one: Acted, other: Acted) -> bool {
    one.key.is_some() && one.key == other.key
}

/// Adds an item to a window of bounded size.
fn keep<T>(window: &mut VecDeque<T>, item: T, most: usize) {
    if window.len() == most {
        window.pop_front();
    }
    window.push_back(item);
}

/// Returns the last items of a window, the oldest first; `None` if there are fewer.
fn last<T: Copy>(window: &VecDeque<T>, count: usize) -> Option<Vec<T>> {
    let skipped = window.len().checked_sub(count)?;
    Some(window.iter().skip(skipped).copied().collect())
}
