//! What a chat knows about its session: what runs, what is asked, what waits.

use std::collections::VecDeque;

use agentx_runtime::SessionState;
use agentx_types::{ApprovalRequested, RunId, RuntimeEvent, ToolCallId, TurnResponse};

/// The state of a chat, from the events alone.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    running: Option<RunId>,
    /// The person has asked to stop.
    pub(crate) stopping: bool,
    questions: VecDeque<ApprovalRequested>,
    /// Texts that were printed when they were sent.
    printed: VecDeque<String>,
    /// Texts that wait for the run under way; they are printed when they are taken up.
    waiting: VecDeque<String>,
    /// What the last run cost.
    pub(crate) turn: Option<TurnResponse>,
}

impl Desk {
    /// As a session stands that is opened again.
    pub(crate) fn of(state: &SessionState) -> Self {
        let run = state.run.as_ref().filter(|run| !run.status.is_final());
        let question = |asked: &agentx_runtime::PendingApproval| ApprovalRequested {
            tool_call_id: asked.tool_call_id.clone(),
            name: asked.name.clone(),
            input: asked.input.clone(),
            reason: asked.reason.clone(),
            suggested: asked.suggested.clone(),
        };
        Self {
            running: run.map(|run| run.run_id.clone()),
            questions: state.pending_approvals.iter().map(question).collect(),
            waiting: state.queued.iter().map(|(_, text)| text.clone()).collect(),
            ..Self::default()
        }
    }

    /// Whether the agent works.
    pub(crate) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Whether nothing is under way or waits.
    pub(crate) fn is_idle(&self) -> bool {
        self.running.is_none() && self.waiting.is_empty() && self.printed.is_empty()
    }

    /// What the person is asked now.
    pub(crate) fn question(&self) -> Option<&ApprovalRequested> {
        self.questions.front()
    }

    /// A text goes to the agent; returns whether it has to wait.
    pub(crate) fn sent(&mut self, text: &str) -> bool {
        let waits = self.is_running() || !self.is_idle();
        let queue = if waits {
            &mut self.waiting
        } else {
            &mut self.printed
        };
        queue.push_back(text.to_owned());
        waits
    }

    /// A text could not be sent after all.
    pub(crate) fn unsent(&mut self) {
        self.waiting.pop_back().or_else(|| self.printed.pop_back());
    }

    /// The question is answered.
    pub(crate) fn answered(&mut self, id: &ToolCallId) {
        self.questions.retain(|question| question.tool_call_id != *id);
    }

    /// Takes an event; returns a text of the person that has to be printed now.
    pub(crate) fn event(&mut self, event: &RuntimeEvent) -> Option<String> {
        match event {
            RuntimeEvent::RunStarted(run) => {
                self.running = Some(run.run_id.clone());
                self.turn = None;
            }
            RuntimeEvent::RunFinished(run) => {
                if self.running.as_ref().is_none_or(|running| *running == run.run_id) {
                    self.running = None;
                }
                self.stopping = false;
                self.questions.clear();
            }
            RuntimeEvent::TurnResponse(turn) => self.turn = Some(turn.clone()),
            RuntimeEvent::ApprovalRequested(request) => {
                self.answered(&request.tool_call_id);
                self.questions.push_back(request.clone());
            }
            RuntimeEvent::ToolCallAnswered(answered) => self.answered(&answered.tool_call_id),
            RuntimeEvent::ToolExecuting(executing) => self.answered(&executing.tool_call_id),
            RuntimeEvent::UserMessageAdded(added) => return self.taken_up(added.message.text()),
            _ => {}
        }
        None
    }

    fn taken_up(&mut self, text: String) -> Option<String> {
        for (queue, print) in [(&mut self.printed, false), (&mut self.waiting, true)] {
            if let Some(at) = queue.iter().position(|sent| *sent == text) {
                queue.remove(at);
                return print.then_some(text);
            }
        }
        // Another front end said it.
        Some(text)
    }
}
