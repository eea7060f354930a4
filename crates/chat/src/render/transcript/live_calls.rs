//! The rows of calls that run, on a screen that has room for them; and calls that ask the person something
//! while they run.

use std::borrow::Cow;

use agentx::types::{Timestamp, ToolCallId};
use unicode_width::UnicodeWidthStr as _;

use super::super::clean::visible;
use super::super::table::cut;
use super::super::units;
use super::TranscriptRenderer;
use super::calls::{CallView, head_of};

/// Maximum number of running calls to show.
const SHOWN_CALLS: usize = 8;
/// Maximum number of lines of a call that runs alone.
const SHOWN_LINES: usize = 4;

impl TranscriptRenderer {
    /// The person is shown what a call would do. The running call that asks is shown above the question, as
    /// far as it came.
    pub(super) fn asked(&mut self, id: &ToolCallId) {
        if self.options.holds_calls {
            let mut asking = self.in_order();
            asking.retain(|call| id.is_inside(call));
            for call in asking {
                self.show_so_far(&call);
            }
        }
        self.calls.entry(id.clone()).or_default().asked = true;
    }

    /// Prints the head and the output of a running call; later output follows as it arrives.
    fn show_so_far(&mut self, id: &ToolCallId) {
        self.head_now(id);
        let Some(call) = self.calls.get_mut(id) else {
            return;
        };
        let held = std::mem::take(&mut call.held);
        let label = self.calls.get(id).map(|call| self.label(call));
        self.indented(&held, &label.unwrap_or_default());
    }

    /// Returns the live rows: a single call with its last lines, or a row for each of several calls, the
    /// attempts of a model call that failed, and the progress of the to-do list. While the person is asked
    /// about a call, rows between the line and a question without room among the live rows would make the
    /// screen show the question once more. So the running call that asks, which is shown above the question,
    /// and the to-do list have none then.
    pub(crate) fn running(&self, now: Timestamp, asked: Option<&ToolCallId>) -> Vec<String> {
        if !self.options.holds_calls {
            return Vec::new();
        }
        let mut calls = self.in_order();
        calls.retain(|call| !asked.is_some_and(|asked| asked.is_inside(call)));
        let mut rows: Vec<String> = match &calls[..] {
            [] => Vec::new(),
            [only] => self
                .calls
                .get(only)
                .map(|call| self.alone(call))
                .unwrap_or_default(),
            several => {
                let calls = several
                    .iter()
                    .take(SHOWN_CALLS)
                    .filter_map(|id| self.calls.get(id));
                calls.map(|call| self.live_row(call, now)).collect()
            }
        };
        if calls.len() > SHOWN_CALLS {
            rows.push(
                self.style
                    .dim(&format!("… {} more run", calls.len() - SHOWN_CALLS)),
            );
        }
        rows.extend(self.attempts_row());
        rows.extend(asked.is_none().then(|| self.todos.now(self.style)).flatten());
        rows
    }

    fn alone(&self, call: &CallView) -> Vec<String> {
        let mut rows = Vec::new();
        if !call.headed {
            rows.push(head_of(call, self.width, self.style));
        }
        let held = call.held.iter().map(|line| Cow::Borrowed(line.as_str()));
        let lines: Vec<Cow<'_, str>> = held.chain(call.output.last()).collect();
        let room = self.width.saturating_sub(4);
        for line in lines.iter().skip(lines.len().saturating_sub(SHOWN_LINES)) {
            rows.push(self.style.dim(&format!("  │ {}", cut(line, room))));
        }
        rows
    }

    fn live_row(&self, call: &CallView, now: Timestamp) -> String {
        let seconds = call.since.map_or(0, |since| now.millis_since(since) / 1000);
        let time = units::duration(seconds * 1000).replace(".0s", "s");
        let held = || call.held.last().map(|line| Cow::Borrowed(line.as_str()));
        let last = call.output.last().last().or_else(held);
        let last = last.map(|line| format!(" · {}", line.trim())).unwrap_or_default();
        // A narrow screen shows the running time and the place, too.
        let room = self.width.saturating_sub(call.name.width() + time.width() + 7);
        let what = cut(&call.what, room.saturating_sub(last.width().min(room / 3)));
        let last = cut(&last, room.saturating_sub(what.width()));
        let told = self.style.dim(&format!("{what} · {time}{last}"));
        let name = self.style.bold(&visible(&call.name));
        format!("{} {name}  {told}", self.style.person("●"))
    }
}
