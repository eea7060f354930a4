//! Renders a run: turns RuntimeEvents into pieces of text, each for the answer or for a note beside it.

use std::collections::HashMap;

use agentx::types::{
    INPUT_TOO_LARGE, NanoUsd, RunStatus, RuntimeEvent, StopReason, Timestamp, ToolCallId, TurnResponse,
};

use super::clean::{Cleaner, clean, visible};
use super::{call_summary::call_summary, style::AnsiStyle, table::cut, todo::TodoView, units};
use crate::exit::Exit;
use crate::exit::http_status::with_status;
use crate::exit::run_failure::{exit_of, hint_in_chat};
use calls::CallView;
use other_model::OtherModel;
use state::{AnswerProgress, OpenLine, RenderOptions, RunProblems};
use thinking::OpenThought;
pub(crate) use thinking::length;

/// The region of the output that a piece of text belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextRegion {
    /// The words of the model.
    Answer,
    /// Text beside the answer.
    Aside,
    /// A note beside an answer that continues; it does not end the answer.
    Passing,
    /// A question to the person, which a screen keeps in sight until its end.
    Question,
    /// The whole text of the question that was asked last, which has changed.
    QuestionChange,
    /// The end of the question that was asked last. The text is empty.
    QuestionEnd,
}

/// A piece of text for the screen, with its region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextPiece {
    /// The region that the text belongs to.
    pub region: TextRegion,
    /// The text, with control sequences for looks and without all others.
    pub text: String,
}

/// Turns events into text, one after the other.
#[derive(Debug, Default)]
pub struct TranscriptRenderer {
    style: AnsiStyle,
    width: usize,
    options: RenderOptions,
    /// The time of the event that is being rendered.
    at: Timestamp,
    calls: HashMap<ToolCallId, CallView>,
    thought: Option<OpenThought>,
    todos: TodoView,
    answer: AnswerProgress,
    problems: RunProblems,
    other_model: OtherModel,
    /// The notes that wait for the end of the open line.
    notes: Vec<String>,
    /// Whether the prices of the model are unknown, and the limit of a run's cost.
    pub(crate) has_no_price: bool,
    pub(crate) max_cost: Option<NanoUsd>,
    /// Whether the sign for an unknown price was explained.
    has_said_no_price: bool,
    turn: Option<TurnResponse>,
    pieces: Vec<TextPiece>,
}

/// Minimum number of characters of the reason why an attempt failed, however narrow the terminal is.
const SHORTEST_REASON: usize = 160;

impl TranscriptRenderer {
    /// Returns a renderer for a screen of this width.
    pub fn new(style: AnsiStyle, width: usize) -> Self {
        Self {
            style,
            width: width.max(20),
            ..Self::default()
        }
    }

    /// Leaves the failure of the run to the error that ends the program.
    pub fn with_silent_end(mut self) -> Self {
        self.options.silent_end = true;
        self
    }

    /// Also prints the cost of each run after its end.
    pub(crate) fn with_costs(mut self) -> Self {
        self.options.costs = true;
        self
    }

    /// Prints calls only when they have ended: the owner of the screen shows them while they run.
    pub(crate) fn holding_calls(mut self) -> Self {
        self.options.holds_calls = true;
        self
    }

    /// Sets the time of the events that follow.
    pub(crate) fn set_time(&mut self, at: Timestamp) {
        self.at = at;
    }

    /// The screen has another width now.
    pub(crate) fn set_width(&mut self, width: usize) {
        self.width = width.max(20);
    }

    /// Prints a note beside the answer, on separate lines.
    pub fn aside(&mut self, text: &str) {
        self.error_in_passing();
        self.end_line();
        let end = if text.ends_with('\n') { "" } else { "\n" };
        self.put(TextRegion::Aside, format!("{text}{end}"));
    }

    /// Prints a requested text immediately. On a screen, a streaming answer continues below it in its form: a
    /// list stays a list.
    pub(crate) fn print_notice(&mut self, text: &str) {
        if self.options.holds_calls && self.answer.has_text {
            self.put(TextRegion::Passing, format!("{}\n", text.trim_end_matches('\n')))
        } else {
            self.aside(text)
        }
    }

    /// Prints a note, which waits for the end of the open line, so that no sentence is broken.
    pub(crate) fn note(&mut self, text: &str) {
        match self.answer.open_line {
            _ if self.options.holds_calls && self.answer.has_text => self.print_notice(text),
            Some(_) => self.notes.push(text.to_owned()),
            None => self.aside(text),
        }
    }

    fn tell_notes(&mut self) {
        for note in std::mem::take(&mut self.notes) {
            self.put(TextRegion::Aside, format!("{note}\n"));
        }
    }

    /// Ends the line that is open, if one is.
    pub fn end_line(&mut self) {
        match self.answer.open_line.take() {
            Some(OpenLine::Answer) => self.put(TextRegion::Answer, "\n".into()),
            Some(OpenLine::Thinking) => self.put(TextRegion::Aside, "\n".into()),
            None => {}
        }
        self.tell_notes();
    }

    /// Handles an event.
    pub(crate) fn event(&mut self, event: &RuntimeEvent) {
        if let RuntimeEvent::ThinkingDelta(delta) = event {
            return self.think(&delta.text);
        }
        if thinking::is_after(event) {
            self.end_thought();
        }
        if retries::ends_attempts(event) {
            self.end_attempts(event);
        }
        match event {
            RuntimeEvent::TextDelta(delta) => self.stream(OpenLine::Answer, &delta.text),
            RuntimeEvent::MessageStart(_) => self.begin(),
            RuntimeEvent::MessageStop(stop) => self.message_end(stop.stop_reason),
            RuntimeEvent::ToolCallRequested(call) => {
                self.answer.is_wordless = false;
                self.remember(
                    &call.tool_call_id,
                    &call.name,
                    call_summary(&call.name, &call.input),
                );
                self.note_order(call);
            }
            RuntimeEvent::ToolExecuting(call) => self.executing(call),
            RuntimeEvent::ToolOutput(output) => self.tool_output(&output.tool_call_id, &output.text),
            RuntimeEvent::Chunk(chunk) => {
                // The pieces of the agent's own text arrived before.
                if let Some(call) = &chunk.tool_call_id {
                    self.emitted(call, &chunk.text);
                }
            }
            RuntimeEvent::ApprovalRequested(asked) => self.asked(&asked.tool_call_id),
            RuntimeEvent::ApprovalSettled(settled) => self.settled(&settled.tool_call_id),
            RuntimeEvent::ToolCallAnswered(answered) => self.call_answered(answered),
            RuntimeEvent::ToolCompleted(done) => self.completed(done),
            RuntimeEvent::ToolFailed(failed) => self.failed(failed),
            RuntimeEvent::ErrorRaised(error) => self.error(error),
            RuntimeEvent::ContextChanged(changed) => self.context_changed(&changed.change),
            RuntimeEvent::LoopDetected(found) => self.loop_detected(found),
            RuntimeEvent::RunStarted(_) => self.turn = None,
            RuntimeEvent::TurnResponse(turn) => self.answered(turn),
            RuntimeEvent::RunStatusChanged(_) => self.answer.lacks = None,
            RuntimeEvent::RunFinished(end) => {
                self.problems.not_condensed = false;
                match (self.answer.lacks.take(), end.reason.as_deref()) {
                    // Current sessions record the word.
                    (Some(context::UNKNOWN_END), Some(reason)) if end.status == RunStatus::Completed => {
                        self.warn_of_answer(&visible(reason));
                    }
                    (Some(what), _) => self.warn_of_answer(what),
                    (None, _) => {}
                }
                self.run_end(end.status, end.reason.as_deref());
                self.tell_cost(end.status);
            }
            _ => {}
        }
        self.tell_other_model(event);
    }

    /// An answer begins; the one before may have broken off without a word, as when the process was killed.
    fn begin(&mut self) {
        self.answer.cleaner = Cleaner::default();
        self.answer.is_wordless = true;
        if std::mem::take(&mut self.answer.has_text) {
            let line = self.style.warn("… interrupted; retrying");
            self.aside(&line);
        }
    }

    /// Ends an answer. If it is incomplete, says so, because nothing else distinguishes it from a complete
    /// one.
    fn message_end(&mut self, why: StopReason) {
        // The following error, or the repeated answer, reports an answer that broke off.
        self.answer.has_text &= why == StopReason::Broken;
        self.end_line();
        self.answer.lacks = match why {
            // The end of the run says these.
            StopReason::MaxTokens | StopReason::EndTurn if self.options.silent_end => None,
            StopReason::MaxTokens => {
                return self.warn_of_answer("the answer is cut off: it reached the maximum length");
            }
            // Such a run fails and says why; those of earlier programs ended like any other.
            StopReason::Refusal => Some(context::DECLINED),
            StopReason::Other => Some(context::UNKNOWN_END),
            StopReason::EndTurn if self.answer.is_wordless => Some(context::no_answer(self.has_commands())),
            _ => None,
        };
    }

    /// Returns whether the reader chats with this agent, and so has the commands of a chat.
    fn has_commands(&self) -> bool {
        self.options.costs && !self.options.looks_on
    }

    fn stream(&mut self, kind: OpenLine, text: &str) {
        self.answer.has_text |= kind == OpenLine::Answer;
        self.answer.is_wordless &= kind != OpenLine::Answer;
        let mut shown = String::with_capacity(text.len());
        self.answer.cleaner.push(text, &mut shown);
        if shown.is_empty() {
            return;
        }
        self.error_in_passing();
        if self.answer.open_line.is_some_and(|open| open != kind) {
            self.end_line();
        }
        // Notes may be printed after the first complete line.
        let rest = match shown.find('\n') {
            Some(at) if !self.notes.is_empty() => shown.split_off(at + 1),
            _ => String::new(),
        };
        self.answer.open_line = (!shown.ends_with('\n')).then_some(kind);
        self.put_streamed(kind, shown);
        if self.answer.open_line.is_none() {
            self.tell_notes();
        }
        if !rest.is_empty() {
            self.answer.open_line = (!rest.ends_with('\n')).then_some(kind);
            self.put_streamed(kind, rest);
        }
    }

    fn put_streamed(&mut self, kind: OpenLine, shown: String) {
        match kind {
            OpenLine::Answer => self.put(TextRegion::Answer, shown),
            OpenLine::Thinking => {
                let dimmed = self.style.dim(&shown);
                self.put(TextRegion::Aside, dimmed);
            }
        }
    }

    fn error(&mut self, error: &agentx::types::ErrorRaised) {
        let message = visible(&clean(&error.message).replace('\n', " "));
        self.answer.has_text = false;
        let Some(wait) = error.retry_in_ms else {
            return self.last_attempt_failed(message, error);
        };
        if self.options.holds_calls {
            return self.attempt_failed(message, error);
        }
        let bound = |most| format!(", giving up after {}", units::short_limit(most));
        let until = error.gives_up_in_ms.map(bound).unwrap_or_default();
        let told = if self.problems.attempt == message {
            "the same error".into()
        } else {
            let room = self.width.saturating_sub(26 + until.len());
            with_status(&cut(&message, room.max(SHORTEST_REASON)), error.status)
        };
        let again = format!("… {told}; retrying in {}{until}", units::duration(wait));
        self.aside(&self.style.warn(&again));
        self.problems.attempt = message;
    }

    /// An error after which the run continued. That a request was too large is only the reason of a retry.
    fn error_in_passing(&mut self) {
        if let Some(failure) = self.problems.failure.take() {
            let message = with_status(&failure.message, failure.status);
            let line = if matches!(failure.code.as_str(), "context_window" | "too_large") {
                self.style.dim(&format!("the request did not fit: {message}"))
            } else {
                format!("{} {message}", self.style.bad("error:"))
            };
            self.aside(&line);
        }
    }

    fn run_end(&mut self, status: RunStatus, reason: Option<&str>) {
        if !matches!(status, RunStatus::Failed | RunStatus::TimedOut) {
            self.error_in_passing();
        }
        let failure = self.problems.failure.take();
        self.answer.has_text = false;
        self.end_line();
        self.problems.attempt.clear();
        // Calls that never got an outcome belong to a run that is over.
        self.end_calls();
        if self.options.silent_end {
            return;
        }
        let (code, message) = match (failure, reason) {
            (Some(failure), Some(reason)) if reason.ends_with(INPUT_TOO_LARGE) => {
                (failure.code, visible(&clean(reason).replace('\n', " ")))
            }
            (Some(failure), _) => {
                let message = with_status(&failure.message, failure.status);
                (failure.code, message)
            }
            (None, reason) => (String::new(), reason.map(visible).unwrap_or_default()),
        };
        let told = |what: &str| {
            if message.is_empty() {
                what.to_owned()
            } else {
                format!("{what}: {message}")
            }
        };
        let exit = match status {
            RunStatus::Interrupted => {
                return self.aside(&self.style.warn(self.style.sign("■ stopped", "stopped")));
            }
            RunStatus::TimedOut => Exit::Limit,
            RunStatus::Failed => exit_of(&code),
            _ => return,
        };
        let line = match exit {
            Exit::Limit => self
                .style
                .warn(&told(self.style.sign("■ limit reached", "limit reached"))),
            _ => self.style.bad(&told(self.style.sign("■ failed", "failed"))),
        };
        self.aside(&line);
        if let Some(hint) = hint_in_chat(exit, &code, &message) {
            self.aside(&self.style.dim(&format!("hint: {hint}")));
        }
    }

    fn put(&mut self, region: TextRegion, text: String) {
        match self.pieces.last_mut() {
            Some(last) if last.region == region && region != TextRegion::QuestionChange => {
                last.text.push_str(&text)
            }
            _ => self.pieces.push(TextPiece { region, text }),
        }
    }
}

mod call_endings;
mod calls;
mod context;
mod earlier_calls;
mod live_calls;
mod other_agents;
mod other_model;
mod pieces;
mod retries;
mod state;
#[cfg(test)]
mod tests;
mod thinking;
