//! The status of a session: activity, open questions, queue and spending. One pure fold over the events of a
//! session and the reports of its runtime; the caller provides the clock.
//!
//! Every screen that shows a live session uses this module. Two similar modules have other purposes:
//! [`crate::render::sessions`] describes sessions that are not open, from the list of a runtime, without
//! their events; and [`crate::show`] has the facts of a session, from which the fold of the `session` crate
//! computes the state after any of them.

mod activity;
pub(crate) mod queue;
pub(crate) mod summary;
mod unanswered;

use std::collections::VecDeque;

use agentx::runtime::SessionState;
use agentx::types::{
    AgentConfig, ApprovalRequested, ContentPart, ContextChange, Envelope, InputMode, MessageId, RunId,
    RuntimeEvent, ToolCallId, UserMessageAdded,
};
use tokio::time::Instant;

use crate::render::conversation::{SpokenBy, SpokenWords};
use crate::render::{approval, conversation};
use activity::EventContext;
pub(crate) use activity::{Activity, TICK};
use queue::{MessageQueue, QueuedInput, run_id_of};
use unanswered::UnansweredMessages;

/// The status of a session.
#[derive(Debug)]
pub(crate) struct SessionStatus {
    /// The present activity and the spending.
    pub(crate) activity: Activity,
    /// The person has asked to stop.
    pub(crate) stopping: bool,
    /// The waiting messages, for people.
    pub(crate) queue: MessageQueue,
    running: Option<RunId>,
    /// The run whose first words are on the screen.
    printed_run: Option<RunId>,
    /// A summary is written, in a run or beside it.
    condensing: bool,
    questions: VecDeque<ApprovalRequested>,
    sent: VecDeque<SentText>,
    /// Texts that waited already when the session was opened.
    inherited: usize,
    /// Whether waiting messages begin nothing before the person wants it: the session was closed while they
    /// waited.
    held: bool,
    /// The messages without an answer.
    unanswered: UnansweredMessages,
}

/// The messages for a person that an event causes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct StatusNews {
    /// A text of a person that has to be printed now.
    pub(crate) said: Option<SpokenWords>,
    /// The number of unanswered messages that go along with the one that begins a run.
    pub(crate) unanswered: Option<usize>,
}

/// A text on its way to the agent.
#[derive(Debug)]
struct SentText {
    text: String,
    /// The run that it begins; `None` until it is committed.
    run_id: Option<RunId>,
    /// Whether the message is already on the screen, because nothing was running.
    printed: bool,
}

impl SessionStatus {
    /// The status of a session that has not begun, whose agent is this one.
    pub(crate) fn new(config: &AgentConfig, now: Instant) -> Self {
        Self::with_activity(Activity::new(config, now))
    }

    /// Switches to another session, or to the same one opened again. The working time stays.
    pub(crate) fn switch_to(&mut self, state: &SessionState, now: Instant) {
        let mut activity = self.activity.clone();
        activity.update(state);
        activity.resume(state, now);
        let run = state.run.as_ref().filter(|run| !run.status.is_final());
        *self = Self {
            running: run.map(|run| run.run_id.clone()),
            questions: state.pending_approvals.iter().map(approval::open).collect(),
            inherited: if state.held { 0 } else { state.queued.len() },
            held: state.held,
            queue: MessageQueue::from_state(state),
            ..Self::with_activity(activity)
        };
    }

    /// The status if nothing runs, no question is open and nothing waits.
    fn with_activity(activity: Activity) -> Self {
        Self {
            activity,
            stopping: false,
            queue: MessageQueue::default(),
            running: None,
            printed_run: None,
            condensing: false,
            questions: VecDeque::new(),
            sent: VecDeque::new(),
            inherited: 0,
            held: false,
            unanswered: UnansweredMessages::default(),
        }
    }

    /// Resets everything but the spending: the session was closed, which no event reports, so that no run,
    /// question or message is left.
    pub(crate) fn close(&mut self, now: Instant) {
        let mut activity = self.activity.clone();
        activity.stop(self.running.is_some(), now);
        *self = Self::with_activity(activity);
    }

    /// Returns whether the agent works, or is about to.
    pub(crate) fn is_busy(&self) -> bool {
        self.condensing || self.running.is_some() || self.waits_for_a_run()
    }

    /// Returns whether messages wait that will begin a run.
    fn waits_for_a_run(&self) -> bool {
        !self.sent.is_empty() || self.inherited > 0
    }

    /// Returns whether queued messages are held back until the person releases them.
    pub(crate) fn is_held(&self) -> bool {
        self.held && !self.queue.is_empty()
    }

    /// Releases the messages that were held back: they are delivered from now on, one after the other.
    fn release(&mut self) {
        if std::mem::take(&mut self.held) {
            self.inherited = self.queue.iter().count();
        }
    }

    /// Returns whether the queue or the spending has to be read from the runtime again.
    pub(crate) fn is_stale(&self) -> bool {
        self.activity.is_stale() || self.queue.is_stale()
    }

    /// Takes the state that the runtime reports: the queue, whether it is held back, and the spending.
    pub(crate) fn update(&mut self, state: &SessionState) {
        self.activity.update(state);
        self.queue.update(state);
        if state.held {
            (self.held, self.inherited) = (true, 0);
        }
    }

    /// Returns the open question.
    pub(crate) fn question(&self) -> Option<&ApprovalRequested> {
        self.questions.front()
    }

    /// Returns all open questions to the person, the oldest first.
    pub(crate) fn questions(&self) -> impl Iterator<Item = &ApprovalRequested> {
        self.questions.iter()
    }

    /// A text goes to the agent, with this beside it; returns whether it has to wait.
    pub(crate) fn begin_sending(&mut self, text: &str, shared: Vec<ContentPart>) -> bool {
        self.release();
        let waits = self.running.is_some() || self.waits_for_a_run();
        if waits {
            self.queue.put(QueuedInput::new(text, shared, false));
        }
        self.sent.push_back(SentText {
            text: text.to_owned(),
            run_id: None,
            printed: !waits,
        });
        waits
    }

    /// The text is committed with this `seq`.
    pub(crate) fn confirm_sent(&mut self, seq: u64) {
        if let Some(last) = self.sent.back_mut() {
            last.run_id = Some(RunId::of_input(seq));
        }
        self.queue.confirm(seq);
    }

    /// The text could not be sent after all.
    pub(crate) fn cancel_sending(&mut self) {
        self.sent.pop_back();
        self.queue.drop_unconfirmed();
        if self.is_in_doubt() && self.sent.is_empty() {
            (self.held, self.inherited) = (true, 0);
        }
    }

    /// Notes that a waiting input was withdrawn, or that its mode changed, so that it no longer begins a run.
    /// Returns the input as it was before; `None` if nothing changed.
    pub(crate) fn revise(&mut self, id: &MessageId, mode: Option<InputMode>) -> Option<QueuedInput> {
        let begins = self.is_held() && mode.is_some_and(|mode| mode != InputMode::Queue);
        if begins {
            self.release();
        }
        let waiting = self.queue.revise(id, mode)?;
        if mode != Some(InputMode::Queue) && !begins && !self.held {
            let run_id = waiting.run_id();
            let before = self.sent.len();
            self.sent
                .retain(|sent| sent.run_id.is_none() || sent.run_id != run_id);
            if self.sent.len() == before {
                self.inherited = self.inherited.saturating_sub(1);
            }
        }
        Some(waiting)
    }

    /// The question is answered.
    pub(crate) fn settle_question(&mut self, id: &ToolCallId) {
        self.questions.retain(|question| question.tool_call_id != *id);
    }

    /// Returns whether texts wait although nothing runs: the session knows whether they still count.
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.running.is_none() && self.waits_for_a_run()
    }

    /// The session says that nothing waits or runs. Events of a run that has ended may still arrive.
    pub(crate) fn clear_waiting(&mut self, last_run: Option<&RunId>) {
        self.sent
            .retain(|sent| sent.run_id.is_some() && sent.run_id.as_ref() == last_run);
        self.inherited = 0;
        self.queue.clear();
    }

    /// Counts a message from before the chat, if it has no answer.
    pub(crate) fn count_unanswered(&mut self, event: &RuntimeEvent) {
        self.unanswered.event(event);
    }

    /// Handles an event.
    pub(crate) fn event(
        &mut self,
        envelope: &Envelope<RuntimeEvent>,
        is_of_another: bool,
        now: Instant,
    ) -> StatusNews {
        let said = self.advance(envelope, is_of_another);
        let standing = EventContext {
            is_of_another,
            is_running: self.running.is_some(),
            has_question: !self.questions.is_empty(),
        };
        self.activity.event(&envelope.event, standing, now);
        let unanswered = if is_of_another {
            None
        } else {
            self.unanswered.event(&envelope.event)
        };
        StatusNews { said, unanswered }
    }

    /// Updates the status by an event; returns a message of a person that has to be printed now. Runs and
    /// messages of other agents than the one that people talk to are ignored; their questions are not.
    fn advance(&mut self, envelope: &Envelope<RuntimeEvent>, is_of_another: bool) -> Option<SpokenWords> {
        let joined = self.queue.event(&envelope.event);
        match &envelope.event {
            RuntimeEvent::RunStarted(_)
            | RuntimeEvent::RunFinished(_)
            | RuntimeEvent::ContextChanged(_)
            | RuntimeEvent::UserMessageAdded(_)
                if is_of_another => {}
            RuntimeEvent::ContextChanged(changed) => {
                self.condensing = matches!(changed.change, ContextChange::Condensing(_));
                self.stopping &= self.condensing || self.running.is_some();
            }
            RuntimeEvent::ConversationRevised(revised) => {
                self.revise(&revised.message_id, revised.mode);
            }
            RuntimeEvent::RunStarted(run) => return self.run_started(&run.run_id),
            RuntimeEvent::RunFinished(run) => {
                if self.running.as_ref().is_none_or(|running| *running == run.run_id) {
                    self.running = None;
                }
                self.stopping = false;
                self.questions.clear();
            }
            RuntimeEvent::ApprovalRequested(request) => {
                self.settle_question(&request.tool_call_id);
                self.questions.push_back(request.clone());
            }
            RuntimeEvent::ToolCallAnswered(answered) => self.settle_question(&answered.tool_call_id),
            RuntimeEvent::ToolExecuting(executing) => self.settle_question(&executing.tool_call_id),
            RuntimeEvent::ApprovalSettled(settled) => self.settle_question(&settled.tool_call_id),
            RuntimeEvent::UserMessageAdded(added) => {
                return self.message_added(added, envelope.run_id.as_ref(), joined);
            }
            _ => {}
        }
        None
    }

    /// Returns the message of a person, unless it is on the screen already: a message that this chat did not
    /// send comes from another front end. `joined` is a queued message that joins the run now.
    fn message_added(
        &mut self,
        added: &UserMessageAdded,
        run_id: Option<&RunId>,
        joined: Option<SpokenWords>,
    ) -> Option<SpokenWords> {
        // A note about jobs precedes the text of its run, which comes later.
        if conversation::is_note(&added.message) {
            return None;
        }
        // The message that begins a run may stand in the frame of the run that it waited for.
        let run_id = self.running.clone().or_else(|| run_id.cloned());
        let is_news = self.is_news(run_id.as_ref());
        // A message that was held back joins the run that it begins: the start of the run has printed it.
        let begins = run_id.is_some() && run_id_of(&added.message.message_id) == run_id;
        self.printed_run = run_id;
        let joined = joined.filter(|_| !begins);
        is_news.then(|| SpokenWords::of(&added.message)).or(joined)
    }

    fn run_started(&mut self, run_id: &RunId) -> Option<SpokenWords> {
        self.running = Some(run_id.clone());
        if self.held {
            // Another front end released the messages.
            self.held = false;
            let others = self
                .queue
                .iter()
                .filter(|waiting| waiting.run_id().as_ref() != Some(run_id));
            self.inherited = others.count();
            return None;
        }
        let Some(at) = self
            .sent
            .iter()
            .position(|sent| sent.run_id.as_ref() == Some(run_id))
        else {
            self.inherited = self.inherited.saturating_sub(1);
            return None;
        };
        let sent = self.sent.remove(at)?;
        let is_news = !sent.printed && self.printed_run.as_ref() != Some(run_id);
        self.printed_run = Some(run_id.clone());
        is_news.then_some(SpokenWords {
            by: SpokenBy::Reader,
            text: sent.text,
        })
    }

    /// Returns whether the words of this run are not on the screen yet. They come before the run as well as
    /// after its start.
    fn is_news(&self, run_id: Option<&RunId>) -> bool {
        let printed = |sent: &SentText| sent.printed && sent.run_id.as_ref() == run_id;
        run_id.is_none() || (self.printed_run.as_ref() != run_id && !self.sent.iter().any(printed))
    }
}

#[cfg(test)]
mod tests;
