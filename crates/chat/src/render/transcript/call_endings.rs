//! The words for calls that failed or were refused, and for the cost of a run.

use agentx::types::{RunStatus, ToolFailed, ToolStatus, TurnResponse, Usage};

use super::super::clean::visible;
use super::super::units;
use super::super::written_call::{WRITTEN_CALL, is_written_call};
use super::TranscriptRenderer;

/// The beginning of the reason of a call that was stopped before it began.
const NOT_RUN: &str = "Not run: ";
/// The beginning of the reason of a call that a limit refused.
const NOT_RUN_FOR: &str = "not run: ";
/// The message to the model about a call that a person refused, and the text before the person's note.
const BY_PERSON: [&str; 2] = ["The person refused this call.", "They say: "];
/// The beginning of the reason of a call that a rule or the approval mode refused.
const NOT_ALLOWED: &str = "Not allowed: ";
/// The reasons of a call that the approval mode refused, in sessions of now and of earlier programs.
const MODE_DENY: [&str; 2] = [
    "nobody can be asked: there is no terminal, or the approval mode is `deny`",
    "in the approval mode `deny` nobody is asked",
];

impl TranscriptRenderer {
    /// Reports refused calls as refused because there is no terminal to ask on: the session was set to refuse
    /// by the program, not by the person.
    pub fn without_person(mut self, is_alone: bool) -> Self {
        self.options.is_alone = is_alone;
        self
    }

    /// Returns the words for a call that failed or was refused, with the reason.
    pub(super) fn why_not(&self, status: ToolStatus, error: &str) -> String {
        let word = status_word(status);
        let (word, error) = match status {
            ToolStatus::Interrupted => error
                .strip_prefix(NOT_RUN)
                .map_or((word, error), |why| ("not run", why)),
            ToolStatus::Refused => (word, error.strip_prefix(NOT_RUN_FOR).unwrap_or(error)),
            ToolStatus::Denied => (word, error.strip_prefix(NOT_ALLOWED).unwrap_or(error)),
            _ => (word, error),
        };
        if let Some(note) = error.strip_prefix(BY_PERSON[0]) {
            let note = note.trim_start();
            let note = note.strip_prefix(BY_PERSON[1]).unwrap_or(note);
            return if note.is_empty() {
                word.to_owned()
            } else {
                format!("{word}: {}", visible(note))
            };
        }
        let is_of_mode = MODE_DENY.iter().any(|why| error.contains(why));
        let told = if self.options.is_alone {
            "there is no terminal to ask on"
        } else {
            MODE_DENY[1]
        };
        let error = &*MODE_DENY
            .iter()
            .fold(error.to_owned(), |error, why| error.replace(why, told));
        // In a chat the mode can be changed immediately.
        let remedy = if self.options.costs && is_of_mode {
            " `/approve-mode ask` changes that."
        } else {
            ""
        };
        format!("{word}: {}{remedy}", visible(error.trim_matches(['[', ']'])))
    }

    /// Prints what is wrong with an answer.
    pub(super) fn warn_of_answer(&mut self, what: &str) {
        let line = self.style.warn(&format!("{}{what}", self.style.sign("… ", "")));
        self.aside(&line);
    }

    /// Notes that the answer is complete. Problems with it are reported at the end of the run.
    pub(super) fn answered(&mut self, turn: &TurnResponse) {
        if !self.options.silent_end && is_written_call(&turn.text) {
            self.warn_of_answer(WRITTEN_CALL);
        }
        if self.options.costs {
            self.turn = Some(turn.clone());
        }
    }

    /// Prints the cost of a run, and says so if the run reached its cost limit with its last call.
    pub(super) fn tell_cost(&mut self, status: RunStatus) {
        let Some(turn) = self.turn.take() else { return };
        let note = units::over_limit(turn.cost, self.max_cost);
        if let Some(note) = note.filter(|_| status == RunStatus::Completed) {
            self.aside(&self.style.warn(&note));
        }
        // A run that failed before anything was spent has no figures.
        if turn.text.is_empty() && turn.usage == Usage::default() {
            return self.aside("\n");
        }
        let mut cost = units::cost_of(turn.cost, &turn.usage, self.has_no_price);
        let mut label = "";
        // An unknown cost looks like that of the session in the status row, and is explained once.
        if cost == units::NO_PRICE {
            label = "this turn: ";
            if !std::mem::replace(&mut self.has_said_no_price, true) {
                cost.push_str(" (price unknown)");
            }
        }
        let words = [units::usage(&turn.usage), cost, units::duration(turn.duration_ms)];
        let words = words.join(self.style.sign(" · ", ", "));
        let line = self.style.dim(&format!("{label}{words}"));
        self.aside(&format!("{line}\n\n"));
    }
}

/// Returns the reason of a failure on one line: for an invalid call the mistake, otherwise the first line of
/// the error.
pub(super) fn why(failed: &ToolFailed) -> Option<String> {
    let lines = || {
        failed
            .error
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
    };
    let wrong: Vec<&str> = lines().filter_map(|line| line.strip_prefix("- ")).collect();
    if failed.status == ToolStatus::Invalid && !wrong.is_empty() {
        Some(wrong.join("; "))
    } else {
        lines().next().map(|line| without_announcement(line).to_owned())
    }
}

/// Returns a line without its last sentence if that announces lines that are left out.
fn without_announcement(line: &str) -> &str {
    match line.strip_suffix(':').and_then(|line| line.rsplit_once(". ")) {
        Some((before, _)) => before,
        None => line,
    }
}

/// A note about the instructions of subfolders that came with a result: the agent follows them from now on.
pub(super) fn followed(details: Option<&serde_json::Value>) -> Option<String> {
    let files = details?.get("instructions")?.as_array()?;
    let names: Vec<String> = files
        .iter()
        .filter_map(|file| Some(visible(file.as_str()?)))
        .collect();
    (!names.is_empty()).then(|| {
        format!(
            "note: the agent now follows the instructions in {}",
            names.join(", ")
        )
    })
}

pub(super) fn status_word(status: ToolStatus) -> &'static str {
    match status {
        ToolStatus::Success => "done",
        ToolStatus::Failed => "failed",
        ToolStatus::Invalid => "not a valid call",
        ToolStatus::Denied => "refused",
        ToolStatus::Refused => "refused by a limit",
        ToolStatus::TimedOut => "took too long",
        ToolStatus::Interrupted => "stopped",
        ToolStatus::Unknown => "outcome unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_of_one_line_announces_no_other_lines() {
        let failed = |error: &str| {
            let failed: ToolFailed = serde_json::from_value(serde_json::json!({
                "tool_call_id": "c1", "name": "edit", "status": "failed", "error": error, "duration_ms": 1,
            }))
            .unwrap();
            why(&failed).unwrap()
        };
        assert_eq!(
            failed("old_string was not found. What is most like it:\nline 1:\n     1\tx"),
            "old_string was not found"
        );
        assert_eq!(failed("it ended:\nx"), "it ended:");
    }
}
