//! The story of a run: RuntimeEvents to pieces of text, each for the answer or for what is said beside it.

use std::collections::HashMap;

use agentx::types::{RunStatus, RuntimeEvent, ToolCallId, ToolStatus, TurnResponse};
use unicode_width::UnicodeWidthStr as _;

use super::clean::{Cleaner, clean, visible};
use super::style::Style;
use super::table::cut;
use super::tool::{EmittedView, ToolOutputView, describe, outcome};
use super::units;
use crate::exit::Exit;
use crate::failure::{exit_of, hint_in_chat};

/// Where a piece of text belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// The words of the model.
    Answer,
    /// Everything beside them.
    Aside,
}

/// A piece of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Where it belongs.
    pub(crate) lane: Lane,
    /// The text.
    pub(crate) text: String,
}

/// Turns events into text, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Transcript {
    style: Style,
    width: usize,
    calls: HashMap<ToolCallId, Call>,
    cleaner: Cleaner,
    open_line: Option<Open>,
    /// The error that may end the run: said once, at the end of the run, or before whatever comes first.
    failure: Option<Failure>,
    /// What waits for the end of the open line.
    notes: Vec<String>,
    /// What was said last about an attempt that will be repeated.
    attempt: String,
    /// Whoever has this says himself how the run failed.
    silent_end: bool,
    /// What the last run cost, where that is told after it.
    costs: bool,
    turn: Option<TurnResponse>,
    pieces: Vec<Piece>,
}

#[derive(Debug, Default)]
struct Call {
    name: String,
    what: String,
    output: ToolOutputView,
    /// What it streams to whoever listens; of this nothing is left out.
    emitted: EmittedView,
    headed: bool,
    /// The person saw what it would do before it was allowed.
    asked: bool,
    /// The agent that it gives work to.
    agent: Option<String>,
}

#[derive(Debug)]
struct Failure {
    code: String,
    message: String,
}

/// What the unfinished line on the screen is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    Answer,
    Thinking,
}

impl Transcript {
    /// For a screen of this width.
    pub(crate) fn new(style: Style, width: usize) -> Self {
        Self {
            style,
            width: width.max(20),
            ..Self::default()
        }
    }

    /// For a run whose failure is told by the error that ends the program.
    pub(crate) fn with_silent_end(mut self) -> Self {
        self.silent_end = true;
        self
    }

    /// Tells after each run what it cost.
    pub(crate) fn with_costs(mut self) -> Self {
        self.costs = true;
        self
    }

    /// The screen has another width now.
    pub(crate) fn set_width(&mut self, width: usize) {
        self.width = width.max(20);
    }

    /// Takes what was said since the last time.
    pub(crate) fn take(&mut self) -> Vec<Piece> {
        std::mem::take(&mut self.pieces)
    }

    /// Says something beside the answer, in lines of its own.
    pub(crate) fn aside(&mut self, text: &str) {
        self.error_in_passing();
        self.end_line();
        let end = if text.ends_with('\n') { "" } else { "\n" };
        self.put(Lane::Aside, format!("{text}{end}"));
    }

    /// Says something that may wait for the end of the line that is open, so that no sentence is broken.
    pub(crate) fn note(&mut self, text: &str) {
        match self.open_line {
            Some(_) => self.notes.push(text.to_owned()),
            None => self.aside(text),
        }
    }

    fn tell_notes(&mut self) {
        for note in std::mem::take(&mut self.notes) {
            self.put(Lane::Aside, format!("{note}\n"));
        }
    }

    /// Ends the line that is open, if one is.
    pub(crate) fn end_line(&mut self) {
        match self.open_line.take() {
            Some(Open::Answer) => self.put(Lane::Answer, "\n".into()),
            Some(Open::Thinking) => self.put(Lane::Aside, "\n".into()),
            None => {}
        }
        self.tell_notes();
    }

    /// Takes an event.
    pub(crate) fn event(&mut self, event: &RuntimeEvent) {
        match event {
            RuntimeEvent::TextDelta(delta) => self.stream(Open::Answer, &delta.text),
            RuntimeEvent::ThinkingDelta(delta) if self.style.color => {
                self.stream(Open::Thinking, &delta.text)
            }
            RuntimeEvent::MessageStart(_) => self.cleaner = Cleaner::default(),
            RuntimeEvent::MessageStop(_) => self.end_line(),
            RuntimeEvent::ToolCallRequested(call) => {
                self.remember(&call.tool_call_id, &call.name, describe(&call.input));
                self.note_order(call);
            }
            RuntimeEvent::ToolExecuting(call) => {
                self.remember(&call.tool_call_id, &call.name, describe(&call.input));
                self.head(&call.tool_call_id);
            }
            RuntimeEvent::ToolOutput(output) => self.tool_output(&output.tool_call_id, &output.text),
            RuntimeEvent::Chunk(chunk) => {
                // Of the agent's own words the pieces came before.
                if let Some(call) = &chunk.tool_call_id {
                    self.emitted(call, &chunk.text);
                }
            }
            RuntimeEvent::ApprovalRequested(asked) => self.asked(&asked.tool_call_id),
            RuntimeEvent::ToolCompleted(done) => {
                self.changed(done);
                let ended = format!("{} {}", self.style.good("✓"), units::duration(done.duration_ms));
                self.tool_end(
                    &done.tool_call_id,
                    &done.name,
                    &ended,
                    &outcome(done.details.as_ref()),
                );
            }
            RuntimeEvent::ToolFailed(failed) => {
                let sign = self.style.bad("✗");
                let error = cut(
                    &visible(failed.error.lines().next().unwrap_or_default()),
                    self.width.saturating_sub(24),
                );
                let ended = format!("{sign} {} {error}", status_word(failed.status));
                self.tool_end(&failed.tool_call_id, &failed.name, ended.trim_end(), "");
            }
            RuntimeEvent::ErrorRaised(error) => self.error(error),
            RuntimeEvent::RunStarted(_) => self.turn = None,
            RuntimeEvent::TurnResponse(turn) if self.costs => self.turn = Some(turn.clone()),
            RuntimeEvent::RunFinished(end) => {
                self.run_end(end.status, end.reason.as_deref());
                self.tell_cost();
            }
            _ => {}
        }
    }

    fn stream(&mut self, kind: Open, text: &str) {
        let mut shown = String::with_capacity(text.len());
        self.cleaner.push(text, &mut shown);
        if shown.is_empty() {
            return;
        }
        self.error_in_passing();
        if self.open_line.is_some_and(|open| open != kind) {
            self.end_line();
        }
        // The first line that ends is where notes may stand.
        let rest = match shown.find('\n') {
            Some(at) if !self.notes.is_empty() => shown.split_off(at + 1),
            _ => String::new(),
        };
        self.open_line = (!shown.ends_with('\n')).then_some(kind);
        self.put_streamed(kind, shown);
        if self.open_line.is_none() {
            self.tell_notes();
        }
        if !rest.is_empty() {
            self.open_line = (!rest.ends_with('\n')).then_some(kind);
            self.put_streamed(kind, rest);
        }
    }

    fn put_streamed(&mut self, kind: Open, shown: String) {
        match kind {
            Open::Answer => self.put(Lane::Answer, shown),
            Open::Thinking => {
                let dimmed = self.style.dim(&shown);
                self.put(Lane::Aside, dimmed);
            }
        }
    }

    fn remember(&mut self, id: &ToolCallId, name: &str, what: String) {
        let call = self.calls.entry(id.clone()).or_default();
        call.name = name.to_owned();
        call.what = what;
    }

    fn head(&mut self, id: &ToolCallId) {
        let Some(call) = self.calls.get_mut(id).filter(|call| !call.headed) else {
            return;
        };
        call.headed = true;
        let room = self.width.saturating_sub(call.name.width() + 4);
        let (name, what) = (visible(&call.name), cut(&call.what, room));
        let line = format!("{} {}  {}", self.style.person("●"), self.style.bold(&name), what);
        self.aside(line.trim_end());
    }

    fn tool_output(&mut self, id: &ToolCallId, text: &str) {
        self.head(id);
        let many = self.calls.len() > 1;
        let Some(call) = self.calls.get_mut(id) else {
            return;
        };
        let lines = call.output.push(text);
        let label = if many {
            format!("{} ", visible(&call.name))
        } else {
            String::new()
        };
        self.indented(&lines, &label);
    }

    fn tool_end(&mut self, id: &ToolCallId, name: &str, ended: &str, details: &str) {
        if !self.calls.contains_key(id) {
            self.remember(id, name, String::new());
        }
        self.head(id);
        let many = self.calls.len() > 1;
        let Some(mut call) = self.calls.remove(id) else {
            return;
        };
        let rest = call.output.finish();
        let last = call.emitted.finish();
        let label = if many {
            format!("{} ", visible(&call.name))
        } else {
            String::new()
        };
        self.whole_lines(&last, &label);
        self.indented(&rest, &label);
        let details = if details.is_empty() {
            String::new()
        } else {
            format!("  {}", self.style.dim(details))
        };
        self.aside(&format!("  └ {label}{ended}{details}"));
    }

    fn error(&mut self, error: &agentx::types::ErrorRaised) {
        let message = visible(&clean(&error.message).replace('\n', " "));
        let Some(wait) = error.retry_in_ms else {
            // The last attempt and the error that it leads to are one failure.
            self.failure = Some(Failure {
                code: error.code.clone(),
                message,
            });
            return;
        };
        let told = if self.attempt == message {
            "the same".into()
        } else {
            cut(&message, self.width.saturating_sub(26))
        };
        self.aside(
            &self
                .style
                .warn(&format!("… {told}; trying again in {}", units::duration(wait))),
        );
        self.attempt = message;
    }

    /// An error after which the run went on.
    fn error_in_passing(&mut self) {
        if let Some(failure) = self.failure.take() {
            let line = format!("{} {}", self.style.bad("error:"), failure.message);
            self.aside(&line);
        }
    }

    fn run_end(&mut self, status: RunStatus, reason: Option<&str>) {
        if !matches!(status, RunStatus::Failed | RunStatus::TimedOut) {
            self.error_in_passing();
        }
        let failure = self.failure.take();
        self.end_line();
        self.attempt.clear();
        // Calls that never got an outcome belong to a run that is over.
        self.calls.clear();
        if self.silent_end {
            return;
        }
        let (code, message) = match (failure, reason) {
            (Some(failure), _) => (failure.code, failure.message),
            (None, reason) => (String::new(), reason.map(visible).unwrap_or_default()),
        };
        let told = |what: &str| match message.is_empty() {
            true => what.to_owned(),
            false => format!("{what}: {message}"),
        };
        let exit = match status {
            RunStatus::Interrupted => return self.aside(&self.style.warn("■ stopped")),
            RunStatus::TimedOut => Exit::Limit,
            RunStatus::Failed => exit_of(&code),
            _ => return,
        };
        let line = match exit {
            Exit::Limit => self.style.warn(&told("■ limit reached")),
            _ => self.style.bad(&told("■ failed")),
        };
        self.aside(&line);
        if let Some(hint) = hint_in_chat(exit, &code) {
            self.aside(&self.style.dim(&format!("hint: {hint}")));
        }
    }

    fn tell_cost(&mut self) {
        let Some(turn) = self.turn.take() else { return };
        let words = [
            units::usage(&turn.usage),
            units::money(turn.cost),
            units::duration(turn.duration_ms),
        ];
        let line = self.style.dim(&words.join(" · "));
        self.aside(&format!("{line}\n\n"));
    }

    fn put(&mut self, lane: Lane, text: String) {
        match self.pieces.last_mut() {
            Some(last) if last.lane == lane => last.text.push_str(&text),
            _ => self.pieces.push(Piece { lane, text }),
        }
    }
}

fn status_word(status: ToolStatus) -> &'static str {
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

mod others;
#[cfg(test)]
mod tests;
