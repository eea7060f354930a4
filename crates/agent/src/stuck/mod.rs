//! Detects agents that are stuck: that repeat themselves without getting anywhere.
//!
//! The machine gives the detector each call with its result, each answer without calls, and each summary of
//! the conversation (`react/stuck.rs` decides what follows). There are two sets of rules: `calls` compares
//! calls and their results, `v0` follows OpenHands V0. `openhands` reads events of OpenHands.
//!
//! The detector keeps fingerprints of at most 32 calls, so that each event takes constant time, apart from
//! one pass over its text. A message of a person makes it forget everything.
//!
//! ```
//! use agentx_agent::stuck::{LoopPlace, StuckDetector};
//! use agentx_types::{ContentPart, LoopKind, StuckSettings};
//! use serde_json::json;
//!
//! let settings = StuckSettings::default();
//! let mut detector = StuckDetector::default();
//! let failed = [ContentPart::text("no such file")];
//! for _ in 0..settings.nudge_after_errors {
//!     assert_eq!(detector.found(&settings, LoopPlace::Calls), None);
//!     detector.on_call(&settings, "read", &json!({"path": "a"}), &failed, true);
//! }
//! let found = detector.found(&settings, LoopPlace::Calls).unwrap();
//! assert_eq!((found.kind, found.times), (LoopKind::Error, 3));
//! ```

mod calls;
mod fingerprint;
mod openhands;
mod v0;
mod words;

use std::collections::VecDeque;

use agentx_types::{ContentPart, LoopKind, StuckMode, StuckSettings};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use calls::LoopLevel;
use calls::{CallLoops, Counted, LONGEST_CYCLE};
pub use openhands::openhands_verdict;
pub use v0::{CELL_ERRORS, StuckAnalysis, V0Detector, V0Event, V0LoopType, V0Observation};

/// Maximum length of the name of a tool that is remembered, in bytes.
const LONGEST_NAME: usize = 64;

/// The part of a run in which a loop is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopPlace {
    /// After results: loops of calls.
    Calls,
    /// Before a model call: loops of answers without calls, and of summaries.
    BetweenCalls,
}

/// A loop that has gone far enough to matter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundLoop {
    /// The kind of loop.
    pub kind: LoopKind,
    /// The level that it has reached.
    pub level: LoopLevel,
    /// The number of times that the loop was repeated.
    pub times: u32,
    /// The tools of the calls in it, the oldest first.
    pub tools: Vec<String>,
    /// Whether any of the calls fails.
    pub fails: bool,
    /// The same number for the same loop as it continues.
    pub subject: u64,
}

/// Watches one agent for loops.
///
/// Call `on_call`, `on_answer` and `on_condensed` for what the agent does, `on_input` for a message of a
/// person, and [`found`](Self::found) at any time.
///
/// Its thresholds are those of [`StuckSettings`]; the defaults are 6 and 100 equal calls that succeed, and 3
/// and 8 that fail. The first of each pair gives [`LoopLevel::Nudge`], the second [`LoopLevel::Stop`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StuckDetector {
    calls: CallLoops,
    v0: V0Detector,
    /// The tools of the latest calls.
    tools: VecDeque<String>,
    /// The fingerprints of the latest calls, for [`StuckMode::V0`].
    acted: VecDeque<u64>,
}

impl StuckDetector {
    /// Records a call of the agent and its result.
    pub fn on_call(
        &mut self,
        settings: &StuckSettings,
        name: &str,
        input: &Value,
        content: &[ContentPart],
        is_error: bool,
    ) {
        match settings.mode {
            StuckMode::Off => return,
            StuckMode::Calls => self.calls.on_call(name, input, content, is_error),
            StuckMode::V0 => {
                let key = fingerprint::call(name, input);
                self.v0.push(V0Event::Action {
                    key: Some(key),
                    first: 0,
                });
                self.v0.push(V0Event::Observation {
                    key: fingerprint::result(content, is_error),
                    kind: if is_error {
                        V0Observation::Error
                    } else {
                        V0Observation::Plain
                    },
                });
                keep(&mut self.acted, key);
            }
        }
        keep(&mut self.tools, short(name));
    }

    /// Records an answer of the agent without calls.
    ///
    /// ```
    /// use agentx_agent::stuck::{LoopLevel, LoopPlace, StuckDetector};
    /// use agentx_types::{LoopKind, StuckSettings};
    ///
    /// let (settings, mut detector) = (StuckSettings::default(), StuckDetector::default());
    /// for _ in 0..3 {
    ///     detector.on_answer(&settings, "I will begin.");
    /// }
    /// let found = detector.found(&settings, LoopPlace::BetweenCalls).unwrap();
    /// assert_eq!((found.kind, found.level), (LoopKind::Monologue, LoopLevel::Nudge));
    /// detector.on_input();
    /// assert_eq!(detector.found(&settings, LoopPlace::BetweenCalls), None);
    /// ```
    pub fn on_answer(&mut self, settings: &StuckSettings, text: &str) {
        match settings.mode {
            StuckMode::Off => {}
            StuckMode::Calls => self.calls.on_answer(text),
            StuckMode::V0 => self.v0.push(V0Event::Message {
                key: fingerprint::text(text),
                first: 0,
            }),
        }
    }

    /// Records a summary that replaces a part of the conversation.
    pub fn on_condensed(&mut self, settings: &StuckSettings) {
        match settings.mode {
            StuckMode::Off => {}
            StuckMode::Calls => self.calls.on_condensed(),
            StuckMode::V0 => self.v0.push(V0Event::Observation {
                key: 0,
                kind: V0Observation::Condensation,
            }),
        }
    }

    /// Records a message of a person, or a request to continue: counting begins again.
    pub fn on_input(&mut self) {
        *self = Self::default();
    }

    /// Returns the loop that the agent is in now.
    ///
    /// With [`StuckMode::V0`] each loop has the level [`LoopLevel::Stop`], because OpenHands knows no nudge.
    ///
    /// `None` below the first threshold. While the loop continues, it is found again after each of its calls,
    /// with the same [`subject`](FoundLoop::subject).
    pub fn found(&self, settings: &StuckSettings, place: LoopPlace) -> Option<FoundLoop> {
        let counted = match (settings.mode, place) {
            (StuckMode::Off, _) => return None,
            (StuckMode::Calls, LoopPlace::Calls) => self.calls.of_calls(settings)?,
            (StuckMode::Calls, LoopPlace::BetweenCalls) => self.calls.between_calls(settings)?,
            (StuckMode::V0, place) => self.found_by_v0(place)?,
        };
        let skipped = self.tools.len().saturating_sub(counted.cycle);
        Some(FoundLoop {
            kind: counted.kind,
            level: counted.level,
            times: counted.times,
            tools: self.tools.iter().skip(skipped).cloned().collect(),
            fails: counted.fails,
            subject: counted.subject,
        })
    }

    /// Returns whether a call with these arguments would continue the loop.
    ///
    /// Ask it before the call is made, with the loop that [`found`](Self::found) returned. The call need not
    /// be the next one in the order of the loop: each of its calls counts.
    ///
    /// ```
    /// use agentx_agent::stuck::{LoopPlace, StuckDetector};
    /// use agentx_types::{ContentPart, StuckSettings};
    /// use serde_json::json;
    ///
    /// let (settings, mut detector) = (StuckSettings::default(), StuckDetector::default());
    /// for _ in 0..3 {
    ///     detector.on_call(&settings, "read", &json!({"path": "a"}), &[ContentPart::text("no such file")], true);
    /// }
    /// let found = detector.found(&settings, LoopPlace::Calls).unwrap();
    /// assert!(detector.continues(&settings, &found, "read", &json!({"path": "a"})));
    /// assert!(!detector.continues(&settings, &found, "read", &json!({"path": "b"})));
    /// ```
    pub fn continues(&self, settings: &StuckSettings, found: &FoundLoop, name: &str, input: &Value) -> bool {
        let cycle = found.tools.len();
        match settings.mode {
            StuckMode::Off => false,
            StuckMode::Calls => self.calls.continues(found.kind, cycle, name, input),
            StuckMode::V0 => {
                let key = fingerprint::call(name, input);
                self.acted.iter().rev().take(cycle).any(|acted| *acted == key)
            }
        }
    }

    fn found_by_v0(&self, place: LoopPlace) -> Option<Counted> {
        let found = self.v0.verdict()?;
        let (kind, cycle, fails) = match found.loop_type {
            V0LoopType::RepeatingActionObservation => (LoopKind::Repetition, 1, false),
            V0LoopType::RepeatingActionError => (LoopKind::ChangingError, 1, true),
            V0LoopType::RepeatingActionObservationPattern => (LoopKind::Alternation, 2, false),
            V0LoopType::Monologue => (LoopKind::Monologue, 0, false),
            V0LoopType::ContextWindowError => (LoopKind::ContextWindow, 0, false),
        };
        let is_here = (cycle == 0) == (place == LoopPlace::BetweenCalls);
        is_here.then_some(Counted {
            kind,
            level: LoopLevel::Stop,
            times: found.loop_repeat_times,
            cycle,
            fails,
            subject: 0,
        })
    }
}

/// Adds an item to those of the latest calls.
fn keep<T>(latest: &mut VecDeque<T>, item: T) {
    if latest.len() == LONGEST_CYCLE {
        latest.pop_front();
    }
    latest.push_back(item);
}

/// The name of a tool; a long one is cut.
fn short(name: &str) -> String {
    name[..name.floor_char_boundary(LONGEST_NAME)].to_owned()
}
