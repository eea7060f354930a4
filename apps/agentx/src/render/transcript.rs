//! The story of a run: RuntimeEvents to pieces of text, each for the answer or for what is said beside it.

use std::collections::HashMap;

use agentx::types::{RunStatus, RuntimeEvent, ToolCallId, ToolStatus};
use unicode_width::UnicodeWidthStr as _;

use super::clean::{Cleaner, clean, visible};
use super::style::Style;
use super::table::cut;
use super::tool::{ToolOutputView, describe, outcome};
use super::units;

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
    pieces: Vec<Piece>,
}

#[derive(Debug, Default)]
struct Call {
    name: String,
    what: String,
    output: ToolOutputView,
    headed: bool,
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
        self.end_line();
        let end = if text.ends_with('\n') { "" } else { "\n" };
        self.put(Lane::Aside, format!("{text}{end}"));
    }

    /// Ends the line that is open, if one is.
    pub(crate) fn end_line(&mut self) {
        match self.open_line.take() {
            Some(Open::Answer) => self.put(Lane::Answer, "\n".into()),
            Some(Open::Thinking) => self.put(Lane::Aside, "\n".into()),
            None => {}
        }
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
                self.remember(&call.tool_call_id, &call.name, describe(&call.input))
            }
            RuntimeEvent::ToolExecuting(call) => {
                self.remember(&call.tool_call_id, &call.name, describe(&call.input));
                self.head(&call.tool_call_id);
            }
            RuntimeEvent::ToolOutput(output) => self.tool_output(&output.tool_call_id, &output.text),
            RuntimeEvent::ToolCompleted(done) => {
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
            RuntimeEvent::RunFinished(end) => self.run_end(end.status, end.reason.as_deref()),
            _ => {}
        }
    }

    fn stream(&mut self, kind: Open, text: &str) {
        let mut shown = String::with_capacity(text.len());
        self.cleaner.push(text, &mut shown);
        if shown.is_empty() {
            return;
        }
        if self.open_line.is_some_and(|open| open != kind) {
            self.end_line();
        }
        let ends = shown.ends_with('\n');
        match kind {
            Open::Answer => self.put(Lane::Answer, shown),
            Open::Thinking => {
                let dimmed = self.style.dim(&shown);
                self.put(Lane::Aside, dimmed);
            }
        }
        self.open_line = (!ends).then_some(kind);
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

    fn indented(&mut self, lines: &[String], label: &str) {
        let room = self.width.saturating_sub(4 + label.width());
        for line in lines {
            let line = self.style.dim(&format!("  │ {label}{}", cut(line, room)));
            self.aside(&line);
        }
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
        let label = if many {
            format!("{} ", visible(&call.name))
        } else {
            String::new()
        };
        self.indented(&rest, &label);
        let details = if details.is_empty() {
            String::new()
        } else {
            format!("  {}", self.style.dim(details))
        };
        self.aside(&format!("  └ {label}{ended}{details}"));
    }

    fn error(&mut self, error: &agentx::types::ErrorRaised) {
        let message = clean(&error.message).replace('\n', " ");
        let line = match error.retry_in_ms {
            Some(wait) => {
                let note = format!("… {message}; trying again in {}", units::duration(wait));
                self.style.warn(&note)
            }
            None => format!("{} {message}", self.style.bad("error:")),
        };
        self.aside(&line);
    }

    fn run_end(&mut self, status: RunStatus, reason: Option<&str>) {
        self.end_line();
        // Calls that never got an outcome belong to a run that is over.
        self.calls.clear();
        let reason = reason
            .map(|reason| format!(": {}", visible(reason)))
            .unwrap_or_default();
        match status {
            RunStatus::Interrupted => self.aside(&self.style.warn("■ stopped")),
            RunStatus::TimedOut => self.aside(&self.style.warn(&format!("■ limit reached{reason}"))),
            RunStatus::Failed => self.aside(&self.style.bad(&format!("■ failed{reason}"))),
            _ => {}
        }
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
