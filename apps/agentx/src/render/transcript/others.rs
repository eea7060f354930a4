//! What a transcript has to do with other agents: work that is given to them, and what they, or a script, say in between.

use agentx::types::{ToolCallId, ToolCallRequested, ToolCompleted};

use unicode_width::UnicodeWidthStr as _;

use super::super::clean::visible;
use super::super::diff;
use super::super::table::cut;
use super::{Lane, Transcript};

/// Lines of a change that are shown.
const CHANGE_LINES: usize = 40;

impl Transcript {
    /// The person is shown what a call would do.
    pub(super) fn asked(&mut self, id: &ToolCallId) {
        self.calls.entry(id.clone()).or_default().asked = true;
    }

    /// What a call made of a file, where nobody was shown that before.
    pub(super) fn changed(&mut self, done: &ToolCompleted) {
        let diff = done
            .details
            .as_ref()
            .and_then(|details| details.get("diff")?.as_str());
        let was_shown = self.calls.get(&done.tool_call_id).is_some_and(|call| call.asked);
        let Some(diff) = diff.filter(|diff| !diff.is_empty() && !was_shown) else {
            return;
        };
        self.remember_name(&done.tool_call_id, &done.name);
        self.head(&done.tool_call_id);
        let room = self.width.saturating_sub(4);
        for line in diff::told(diff, CHANGE_LINES, room, self.style) {
            self.aside(&format!("  {line}"));
        }
    }

    fn remember_name(&mut self, id: &ToolCallId, name: &str) {
        if !self.calls.contains_key(id) {
            self.remember(id, name, String::new());
        }
    }

    /// Remembers which agent a call gives work to.
    pub(super) fn note_order(&mut self, call: &ToolCallRequested) {
        if call.name != "delegate" {
            return;
        }
        let agent = call.input.get("agent").and_then(|agent| agent.as_str());
        if let Some(known) = self.calls.get_mut(&call.tool_call_id) {
            known.agent = agent.map(str::to_owned);
        }
    }

    /// An agent of this name was given work: the call that did so is shown.
    pub(crate) fn delegated(&mut self, name: &str) {
        let orders = self
            .calls
            .iter()
            .filter(|(_, call)| !call.headed && call.agent.as_deref() == Some(name));
        if let Some(id) = orders.map(|(id, _)| id).min().cloned() {
            self.head(&id);
        }
    }

    /// A whole line, after the one that is open.
    pub(crate) fn line(&mut self, lane: Lane, text: &str) {
        self.error_in_passing();
        self.end_line();
        self.put(lane, format!("{text}\n"));
    }

    /// A script says something to whoever listens: each line, whole, as soon as it has ended.
    pub(super) fn emitted(&mut self, id: &ToolCallId, text: &str) {
        self.head(id);
        let many = self.calls.len() > 1;
        let Some(call) = self.calls.get_mut(id) else {
            return;
        };
        let lines = call.emitted.push(text);
        let label = match many {
            true => format!("{} ", visible(&call.name)),
            false => String::new(),
        };
        self.whole_lines(&lines, &label);
    }

    pub(super) fn whole_lines(&mut self, lines: &[String], label: &str) {
        for line in lines {
            let line = format!("{}{line}", self.style.dim(&format!("  │ {label}")));
            self.aside(line.trim_end());
        }
    }

    pub(super) fn indented(&mut self, lines: &[String], label: &str) {
        let room = self.width.saturating_sub(4 + label.width());
        for line in lines {
            let line = self.style.dim(&format!("  │ {label}{}", cut(line, room)));
            self.aside(&line);
        }
    }
}
