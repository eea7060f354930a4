//! The words about a loop: for people, and for the model.

use agentx_types::{LoopKind, StuckMode, StuckSettings};

use super::FoundLoop;

impl FoundLoop {
    /// The loop in a sentence without a full stop: "`bash` was called 3 times in a row with the same
    /// arguments and failed each time with the same error".
    pub fn sentence(&self) -> String {
        let times = self.times;
        let tool = || format!("`{}`", self.tools.first().map_or("a tool", String::as_str));
        let same = if self.fails {
            "failed in the same way"
        } else {
            "gave the same result"
        };
        match self.kind {
            LoopKind::Error => format!(
                "{} was called {times} times in a row with the same arguments and failed each time with the same error",
                tool()
            ),
            LoopKind::Repetition => format!(
                "{} was called {times} times in a row with the same arguments and {same} each time",
                tool()
            ),
            LoopKind::Alternation => format!(
                "the same {} calls ({}) were made {times} times in turn, with the same results",
                self.tools.len(),
                self.names()
            ),
            LoopKind::NearRepetition => format!(
                "{} was called {times} times in a row with nearly the same arguments and {same} each time",
                tool()
            ),
            LoopKind::ChangingError => format!(
                "{} was called {times} times in a row with the same arguments and failed each time",
                tool()
            ),
            LoopKind::RecurringError => format!(
                "{} was called with the same arguments {times} times among the latest calls and failed each time with the same error",
                tool()
            ),
            LoopKind::Monologue => format!("the same answer was given {times} times in a row"),
            LoopKind::ContextWindow => {
                format!("the conversation was condensed {times} times, and nothing new happened in between")
            }
            LoopKind::Unknown => "the agent repeats itself".to_owned(),
        }
    }

    /// The note to the model, in brackets.
    pub fn nudge(&self, settings: &StuckSettings) -> String {
        let advice = match self.kind {
            LoopKind::Monologue => "Do not answer the same again: do something else, or say what is missing.",
            LoopKind::ContextWindow => "Work with smaller pieces, or say what is missing and end.",
            _ if self.fails => {
                "The same call will fail again: find out why it fails, try another way, or say what is missing."
            }
            _ => {
                "The same call will tell you nothing new: go on with what you know, or try another way. To wait for something, wait longer between two calls."
            }
        };
        let end = match settings.mode {
            StuckMode::Calls if self.kind != LoopKind::RecurringError => {
                " If it goes on, the run is stopped."
            }
            _ => "",
        };
        format!("[You repeat yourself: {}. {advice}{end}]", self.sentence())
    }

    fn names(&self) -> String {
        let names: Vec<String> = self.tools.iter().map(|tool| format!("`{tool}`")).collect();
        names.join(", ")
    }
}
