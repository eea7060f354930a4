//! Tool calls: the tool and its arguments, the output, and the outcome. If calls run side by side on a screen
//! that has room for them, each has one row while it runs and is shown in full when it has ended; else output
//! is shown as it arrives.

use agentx::types::{
    Timestamp, ToolCallAnswered, ToolCallId, ToolCompleted, ToolExecuting, ToolFailed, ToolStatus,
    is_unanswered,
};
use unicode_width::UnicodeWidthStr as _;

use super::super::call_summary::call_summary;
use super::super::clean::visible;
use super::super::line_fold::KEY_FOR_MORE;
use super::super::table::cut;
use super::super::tool::{EmittedView, ToolOutputView, outcome};
use super::super::{diff, todo, units};
use super::call_endings::{followed, status_word, why};
use super::{TextRegion, TranscriptRenderer};

/// The number of lines of a change that are shown.
const CHANGE_LINES: usize = 40;

#[derive(Debug, Default)]
pub(super) struct CallView {
    pub(super) name: String,
    /// The number of the call among those of the same name that run side by side, if their lines are mixed.
    number: usize,
    pub(super) what: String,
    pub(super) output: ToolOutputView,
    /// The first lines of its output, if they are shown at its end.
    pub(super) held: Vec<String>,
    /// The values that the call emits to listeners; none of them is left out.
    emitted: EmittedView,
    pub(super) headed: bool,
    /// Whether a part of the call was shown before its end, so that lines of others may be between that part
    /// and the rest.
    begun: bool,
    /// Whether another call was shown while this one ran, so that its name precedes the rest of its output.
    beside: bool,
    /// The time at which the call began.
    pub(super) since: Option<Timestamp>,
    /// The person saw what it would do before it was allowed.
    pub(super) asked: bool,
    /// It is a question that nobody answered.
    unanswered: bool,
    /// The agent that it gives work to.
    pub(super) agent: Option<String>,
    /// The name of that agent on the screen, once the agent has begun.
    pub(super) shown_agent: Option<String>,
}

impl CallView {
    /// Returns the view of a call that began before the first rendered event: its description is not
    /// repeated.
    fn going_on() -> Self {
        Self {
            headed: true,
            begun: true,
            ..Self::default()
        }
    }

    /// Returns the name of the call beside others.
    fn called(&self) -> String {
        match self.number {
            0 | 1 => visible(&self.name),
            number => format!("{} {number}", visible(&self.name)),
        }
    }

    /// Returns the name of the call before its lines beside others: with the agent that it gives work to.
    fn called_with_agent(&self) -> String {
        match &self.shown_agent {
            Some(agent) => format!("{} {agent}", visible(&self.name)),
            None => self.called(),
        }
    }
}

impl TranscriptRenderer {
    /// Notes that a nested call was decided: no further event follows for it.
    pub(super) fn settled(&mut self, id: &ToolCallId) {
        self.calls.remove(id);
    }

    /// Asks the person a question, on separate lines.
    pub(crate) fn question(&mut self, text: &str) {
        self.error_in_passing();
        self.end_line();
        self.put(TextRegion::Question, text.to_owned());
    }

    /// Shows the open question with another text, on a screen that keeps it in sight.
    pub(crate) fn change_question(&mut self, text: &str) {
        if self.options.holds_calls {
            self.put(TextRegion::QuestionChange, text.to_owned());
        }
    }

    /// Notes that the open question was answered or withdrawn: the text that follows stands below it.
    pub(crate) fn end_question(&mut self) {
        self.put(TextRegion::QuestionEnd, String::new());
    }

    pub(super) fn executing(&mut self, call: &ToolExecuting) {
        self.remember(
            &call.tool_call_id,
            &call.name,
            call_summary(&call.name, &call.input),
        );
        if let Some(known) = self.calls.get_mut(&call.tool_call_id) {
            known.since = Some(self.at);
        }
        if !self.options.holds_calls {
            self.head_now(&call.tool_call_id);
        }
    }

    pub(super) fn remember(&mut self, id: &ToolCallId, name: &str, what: String) {
        let others = self
            .calls
            .iter()
            .filter(|(other, call)| *other != id && call.name == name);
        let numbers: Vec<usize> = others.map(|(_, call)| call.number).collect();
        let free = (1..).find(|number| !numbers.contains(number));
        let call = self.calls.entry(id.clone()).or_default();
        if call.number == 0 && !self.options.holds_calls {
            call.number = free.unwrap_or(1);
        }
        call.name = name.to_owned();
        call.what = what;
    }

    /// Prints the head of a call before its end.
    pub(super) fn head_now(&mut self, id: &ToolCallId) {
        if let Some(call) = self.calls.get_mut(id) {
            call.begun = true;
        }
        self.head(id);
    }

    fn head(&mut self, id: &ToolCallId) {
        let Some(call) = self.calls.get_mut(id).filter(|call| !call.headed) else {
            return;
        };
        call.headed = true;
        let line = head_of(call, self.width, self.style);
        self.aside(&line);
        let open = self.calls.values_mut().filter(|call| call.headed);
        let open: Vec<&mut CallView> = open.collect();
        if open.len() > 1 {
            open.into_iter().for_each(|call| call.beside = true);
        }
    }

    /// Returns the label before a line of a call beside others.
    pub(super) fn label(&self, call: &CallView) -> String {
        if call.begun && (call.beside || self.calls.len() > 1 || call.number > 1) {
            format!("{} ", call.called_with_agent())
        } else {
            String::new()
        }
    }

    pub(super) fn tool_output(&mut self, id: &ToolCallId, text: &str) {
        let call = self.calls.entry(id.clone()).or_insert_with(CallView::going_on);
        let lines = call.output.push(text);
        if self.options.holds_calls && !call.begun {
            return call.held.extend(lines);
        }
        self.head_now(id);
        let label = self
            .calls
            .get(id)
            .map(|call| self.label(call))
            .unwrap_or_default();
        self.indented(&lines, &label);
    }

    /// Prints text that a script emits: each line as soon as it has ended.
    pub(super) fn emitted(&mut self, id: &ToolCallId, text: &str) {
        self.head_now(id);
        let call = self.calls.entry(id.clone()).or_insert_with(CallView::going_on);
        let lines = call.emitted.push(text);
        let label = self
            .calls
            .get(id)
            .map(|call| self.label(call))
            .unwrap_or_default();
        self.whole_lines(&lines, &label);
    }

    /// Notes a result that says that nobody answered: the end of the call follows.
    pub(super) fn call_answered(&mut self, answered: &ToolCallAnswered) {
        if is_unanswered(&answered.result) {
            let call = self.calls.entry(answered.tool_call_id.clone()).or_default();
            call.unanswered = true;
        }
    }

    pub(super) fn completed(&mut self, done: &ToolCompleted) {
        let view = self.calls.get(&done.tool_call_id);
        if view.is_some_and(|call| call.unanswered) {
            let ended = format!("{}nobody answered", self.style.sign("– ", ""));
            let ended = self.style.warn(&ended);
            return self.tool_end(&done.tool_call_id, &done.name, &[], &ended, "");
        }
        let sign = self.style.good(self.style.sign("✓", "done in"));
        let ended = format!("{sign} {}", units::duration(done.duration_ms));
        let details = done.details.as_ref();
        let mut lines = Vec::new();
        if let Some(items) = details.and_then(|details| todo::read(details.get("todos")?)) {
            lines = self.todos.take(items, self.style);
        }
        let diff = details.and_then(|details| details.get("diff")?.as_str());
        let was_shown = self.calls.get(&done.tool_call_id).is_some_and(|call| call.asked);
        if let Some(diff) = diff.filter(|diff| !diff.is_empty() && !was_shown) {
            lines.extend(diff::shortened(
                diff,
                CHANGE_LINES,
                self.width.saturating_sub(4),
                self.style,
            ));
        }
        lines.extend(followed(details));
        self.tool_end(&done.tool_call_id, &done.name, &lines, &ended, &outcome(details));
    }

    pub(super) fn failed(&mut self, failed: &ToolFailed) {
        let sign = self.style.bad(self.style.sign("✗", "failed in"));
        let time = units::duration(failed.duration_ms);
        let details = outcome(failed.details.as_ref());
        if !details.is_empty() && failed.status == ToolStatus::Failed {
            // The output of a program is already printed.
            let ended = format!("{sign} {time}");
            return self.tool_end(&failed.tool_call_id, &failed.name, &[], &ended, &details);
        }
        let sign = self.style.bad(self.style.sign("✗", ""));
        let status = status_word(failed.status);
        let has_spoken = (self.calls.get(&failed.tool_call_id)).is_some_and(|call| !call.output.is_empty());
        let ended = match why(failed) {
            // This is the first line of its output, which is already printed.
            _ if has_spoken => format!("{sign} {status} after {time}"),
            Some(error) => format!("{sign} {}", self.why_not(failed.status, &error)),
            None => format!("{sign} {status}"),
        };
        self.tool_end(&failed.tool_call_id, &failed.name, &[], ended.trim(), "");
    }

    fn tool_end(&mut self, id: &ToolCallId, name: &str, lines: &[String], ended: &str, details: &str) {
        let call = self.calls.entry(id.clone()).or_default();
        if call.name.is_empty() {
            name.clone_into(&mut call.name);
        }
        self.head(id);
        for line in lines {
            self.aside(&format!("  {line}"));
        }
        let called = self.calls.get(id).map_or_else(|| visible(name), CallView::called);
        let label = self.tell_rest(id);
        let details = match details {
            "" => String::new(),
            details => format!("{}{}", self.style.sign("  ", ", "), self.style.dim(details)),
        };
        let corner = self.style.sign("  └ ", "");
        let who = if self.style.words && label.is_empty() {
            format!("{called} ")
        } else {
            label
        };
        self.aside(&format!("{corner}{who}{ended}{details}"));
    }

    /// Prints the rest of a call's output, and forgets the call; returns the prefix of its lines.
    fn tell_rest(&mut self, id: &ToolCallId) -> String {
        let Some(label) = self.calls.get(id).map(|call| self.label(call)) else {
            return String::new();
        };
        let Some(mut call) = self.calls.remove(id) else {
            return label;
        };
        let more = if self.options.holds_calls {
            KEY_FOR_MORE
        } else {
            ""
        };
        let last = call.emitted.finish();
        let rest = call.output.finish(more);
        self.indented(&call.held, &label);
        self.whole_lines(&last, &label);
        self.indented(&rest, &label);
        label
    }

    /// Prints the known output of calls without an outcome, and forgets them.
    pub(crate) fn end_calls(&mut self) {
        for id in self.in_order() {
            self.head(&id);
            self.tell_rest(&id);
        }
        self.calls.clear();
    }

    /// Prints that the running calls are stopped. No event reports it, because the session is closed.
    pub(crate) fn stop_calls(&mut self) {
        self.end_running("■ stopped", "stopped");
    }

    /// Ends the running calls without an event.
    fn end_running(&mut self, sign: &'static str, words: &'static str) {
        let end = self.style.warn(self.style.sign(sign, words));
        for id in self.in_order() {
            self.tool_end(&id, "", &[], &end, "");
        }
    }

    /// Prints running calls as far as they came, because nothing more can be saved.
    pub(crate) fn break_off(&mut self) {
        self.answer.has_text = false;
        self.end_running(
            "■ cut off: its result could not be saved",
            "cut off: its result could not be saved",
        );
        self.end_calls();
        self.end_line();
    }

    /// The calls that run, the one that began first before the others.
    pub(super) fn in_order(&self) -> Vec<ToolCallId> {
        let mut running: Vec<(Timestamp, &ToolCallId)> = self
            .calls
            .iter()
            .filter_map(|(id, call)| Some((call.since?, id)))
            .collect();
        running.sort();
        running.into_iter().map(|(_, id)| id.clone()).collect()
    }

    fn whole_lines(&mut self, lines: &[String], label: &str) {
        let bar = self.style.sign("  │ ", "  ");
        for line in lines {
            let line = format!("{}{line}", self.style.dim(&format!("{bar}{label}")));
            self.aside(line.trim_end());
        }
    }

    pub(super) fn indented(&mut self, lines: &[String], label: &str) {
        let room = self.width.saturating_sub(4 + label.width());
        let bar = self.style.sign("  │ ", "  ");
        for line in lines {
            let line = self.style.dim(&format!("{bar}{label}{}", cut(line, room)));
            self.aside(&line);
        }
    }

    /// The whole to-do list.
    pub(crate) fn todo_lines(&self) -> Vec<String> {
        self.todos.all(self.style)
    }
}

pub(super) fn head_of(call: &CallView, width: usize, style: super::AnsiStyle) -> String {
    let (name, what) = (call.called(), &call.what);
    if style.words {
        return format!("tool {name}: {what}")
            .trim_end_matches([':', ' '])
            .to_owned();
    }
    let what = cut(what, width.saturating_sub(name.width() + 4));
    let line = format!("{} {}  {what}", style.person("●"), style.bold(&name));
    line.trim_end().to_owned()
}
