//! What a chat knows about its session: what runs, what is asked, what waits.

use std::collections::VecDeque;

use agentx::runtime::SessionState;
use agentx::types::{
    ApprovalRequested, ContentPart, ContextChange, Envelope, InputMode, MessageId, RunId, RuntimeEvent,
    ToolCallId,
};

use super::queue::{MessageQueue, QueuedInput, run_of};
use super::rewinding::RewindQuestion;
use super::unanswered::UnansweredMessages;
use crate::render::answers::Answers;
use crate::render::{approval, conversation};

/// The state of a chat, from the events alone.
#[derive(Debug, Default)]
pub(crate) struct ChatState {
    running: Option<RunId>,
    /// The run whose first words are on the screen.
    told: Option<RunId>,
    /// A summary is written, in a run or beside it.
    condensing: bool,
    /// The person has asked to stop.
    pub(crate) stopping: bool,
    questions: VecDeque<ApprovalRequested>,
    /// The answers to the first of them that count.
    pub(crate) answers: Answers,
    sent: VecDeque<SentText>,
    /// Texts that waited already when the session was opened.
    inherited: usize,
    /// What waits begins nothing before the person wants it: the session was closed while it waited.
    held: bool,
    /// What waits, for people.
    pub(crate) queue: MessageQueue,
    /// What was said and not answered.
    pub(super) unanswered: UnansweredMessages,
    /// What the chat itself asks, about going back.
    pub(crate) asking: Option<RewindQuestion>,
}

/// A text on its way to the agent.
#[derive(Debug)]
struct SentText {
    text: String,
    /// The run that it begins; `None` until it is committed.
    run_id: Option<RunId>,
    /// It is on the screen already, because nothing was under way.
    printed: bool,
}

impl ChatState {
    /// As a session stands that is opened again.
    pub(crate) fn of(state: &SessionState) -> Self {
        let run = state.run.as_ref().filter(|run| !run.status.is_final());
        Self {
            running: run.map(|run| run.run_id.clone()),
            questions: state.pending_approvals.iter().map(approval::open).collect(),
            inherited: if state.held { 0 } else { state.queued.len() },
            held: state.held,
            queue: MessageQueue::of(state),
            ..Self::default()
        }
    }

    /// Whether the agent works, or is about to.
    pub(crate) fn is_busy(&self) -> bool {
        self.condensing || self.running.is_some() || self.waits_for_a_run()
    }

    /// Whether texts are there that begin a run.
    fn waits_for_a_run(&self) -> bool {
        !self.sent.is_empty() || self.inherited > 0
    }

    /// Whether what waits is held back until the person wants it.
    pub(crate) fn is_held(&self) -> bool {
        self.held && !self.queue.is_empty()
    }

    /// What was held back is heard from now on, one after the other.
    fn release(&mut self) {
        if std::mem::take(&mut self.held) {
            self.inherited = self.queue.iter().count();
        }
    }

    /// Reports which inputs wait, and whether they are held back.
    pub(crate) fn stands(&mut self, state: &SessionState) {
        self.queue.stands(state);
        if state.held {
            (self.held, self.inherited) = (true, 0);
        }
    }

    /// What the person is asked now.
    pub(crate) fn question(&self) -> Option<&ApprovalRequested> {
        self.questions.front()
    }

    /// All that the person is asked, the oldest first.
    pub(crate) fn questions(&self) -> impl Iterator<Item = &ApprovalRequested> {
        self.questions.iter()
    }

    /// A text goes to the agent, with this beside it; returns whether it has to wait.
    pub(crate) fn sending(&mut self, text: &str, shared: Vec<ContentPart>) -> bool {
        self.release();
        let waits = self.running.is_some() || self.waits_for_a_run();
        if waits {
            self.queue.put(QueuedInput::own(text, shared, false));
        }
        self.sent.push_back(SentText {
            text: text.to_owned(),
            run_id: None,
            printed: !waits,
        });
        waits
    }

    /// The text is committed with this `seq`.
    pub(crate) fn sent(&mut self, seq: u64) {
        if let Some(last) = self.sent.back_mut() {
            last.run_id = Some(RunId::of_input(seq));
        }
        self.queue.committed(seq);
    }

    /// The text could not be sent after all.
    pub(crate) fn unsent(&mut self) {
        self.sent.pop_back();
        self.queue.failed();
        if self.is_in_doubt() && self.sent.is_empty() {
            (self.held, self.inherited) = (true, 0);
        }
    }

    /// An input that waited was taken back, or waits otherwise: it begins no run of its own any more. Returns it as it was, where
    /// that is news.
    pub(crate) fn revised(&mut self, id: &MessageId, mode: Option<InputMode>) -> Option<QueuedInput> {
        let begins = self.is_held() && mode.is_some_and(|mode| mode != InputMode::Queue);
        if begins {
            self.release();
        }
        let waiting = self.queue.revised(id, mode)?;
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
    pub(crate) fn answered(&mut self, id: &ToolCallId) {
        self.questions.retain(|question| question.tool_call_id != *id);
    }

    /// Whether texts wait although nothing runs: the session knows whether they still count.
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.running.is_none() && self.waits_for_a_run()
    }

    /// The session says that nothing waits or runs. Of a run that is over already, the events are still to come.
    pub(crate) fn nothing_waits(&mut self, last_run: Option<&RunId>) {
        self.sent
            .retain(|sent| sent.run_id.is_some() && sent.run_id.as_ref() == last_run);
        self.inherited = 0;
        self.queue.clear();
    }

    /// Takes an event; returns a text of the person that has to be printed now. Runs of other agents than the one that people
    /// talk to are that one's affair, and so is what they are told; but what they ask is asked.
    pub(crate) fn event(&mut self, envelope: &Envelope<RuntimeEvent>, is_of_another: bool) -> Option<String> {
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
                self.revised(&revised.message_id, revised.mode);
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
                self.answered(&request.tool_call_id);
                self.questions.push_back(request.clone());
            }
            RuntimeEvent::ToolCallAnswered(answered) => self.answered(&answered.tool_call_id),
            RuntimeEvent::ToolExecuting(executing) => self.answered(&executing.tool_call_id),
            RuntimeEvent::ApprovalSettled(settled) => self.answered(&settled.tool_call_id),
            // What this chat did not send, another front end said.
            RuntimeEvent::UserMessageAdded(added) => {
                // A note about jobs stands before the words of its run, which are still to come.
                if conversation::is_note(&added.message) {
                    return None;
                }
                // What begins a run may stand in the frame of the one that it waited for.
                let run_id = self.running.clone().or_else(|| envelope.run_id.clone());
                let is_news = self.is_news(run_id.as_ref());
                // What was held back joins the run that it begins: its start has told it already.
                let begins = run_id.is_some() && run_of(&added.message.message_id) == run_id;
                self.told = run_id;
                let joined = joined.filter(|_| !begins);
                return is_news.then(|| conversation::told(&added.message)).or(joined);
            }
            _ => {}
        }
        None
    }

    fn run_started(&mut self, run_id: &RunId) -> Option<String> {
        self.running = Some(run_id.clone());
        if self.held {
            // Somebody else wanted it.
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
        let is_news = !sent.printed && self.told.as_ref() != Some(run_id);
        self.told = Some(run_id.clone());
        is_news.then_some(sent.text)
    }

    /// Whether the words of this run are not on the screen yet. They come before the run as well as after its start.
    fn is_news(&self, run_id: Option<&RunId>) -> bool {
        let printed = |sent: &SentText| sent.printed && sent.run_id.as_ref() == run_id;
        run_id.is_none() || (self.told.as_ref() != run_id && !self.sent.iter().any(printed))
    }
}

#[cfg(test)]
mod tests {
    use agentx::types::{
        ApprovalSettled, EventDraft, Message, Role, RunStarted, SessionId, Source, Timestamp,
        UserMessageAdded,
    };

    use super::*;

    #[test]
    fn a_question_of_a_script_is_gone_when_it_is_settled_elsewhere() {
        let asked: ApprovalRequested = serde_json::from_value(serde_json::json!({
            "tool_call_id": "call_1/1", "name": "bash", "input": {"command": "ls"}, "reason": "",
            "suggested": {"effect": "allow", "tool": "bash"},
        }))
        .unwrap();
        let settled = ApprovalSettled {
            tool_call_id: asked.tool_call_id.clone(),
            allowed: true,
        };
        let mut desk = ChatState::default();
        let mut hear = |event: RuntimeEvent, seq| {
            let draft = EventDraft::new(Source::Agent, None, event);
            desk.event(
                &draft.into_envelope(SessionId::new("ses_1"), seq, Timestamp(0)),
                false,
            );
            desk.question().is_some()
        };
        assert!(hear(asked.into(), 1));
        assert!(!hear(settled.into(), 2));
    }

    #[test]
    fn what_was_queued_is_printed_although_a_note_about_jobs_comes_before_it() {
        let (id, run_id) = (MessageId::with_suffix(7), RunId::of_input(7));
        let mut desk = ChatState {
            inherited: 1,
            ..ChatState::default()
        };
        let message = |id: MessageId, text: &str| UserMessageAdded {
            message: Message {
                message_id: id,
                role: Role::User,
                content: vec![ContentPart::text(text)],
                by: None,
            },
        };
        let began = RunStarted {
            run_id: run_id.clone(),
            message_id: id.clone(),
        };
        let events: [RuntimeEvent; 3] = [
            began.into(),
            message("msg_ended_5".into(), "job_1 has ended").into(),
            message(id, "then the docs").into(),
        ];
        let printed: Vec<String> = (8..)
            .zip(events)
            .filter_map(|(seq, event)| {
                let mut draft = EventDraft::new(Source::Agent, None, event);
                draft.run_id = Some(run_id.clone());
                desk.event(
                    &draft.into_envelope(SessionId::new("ses_1"), seq, Timestamp(0)),
                    false,
                )
            })
            .collect();
        assert_eq!(printed, ["then the docs"]);
    }

    #[test]
    fn what_was_held_back_by_a_server_is_printed_once_when_it_is_sent_after_all() {
        let (id, run_id) = (MessageId::with_suffix(7), RunId::of_input(7));
        let mut desk = ChatState {
            running: Some(RunId::of_input(1)),
            ..ChatState::default()
        };
        assert!(desk.sending("then the docs", Vec::new()));
        desk.sent(7);
        // The server was closed and started again.
        (desk.running, desk.held) = (None, true);
        desk.revised(&id, Some(InputMode::Steer));
        let began = RunStarted {
            run_id: run_id.clone(),
            message_id: id.clone(),
        };
        let message = Message {
            message_id: id,
            role: Role::User,
            content: vec![ContentPart::text("then the docs")],
            by: None,
        };
        let events: [RuntimeEvent; 2] = [began.into(), UserMessageAdded { message }.into()];
        let printed: Vec<String> = (8..)
            .zip(events)
            .filter_map(|(seq, event)| {
                let mut draft = EventDraft::new(Source::Agent, None, event);
                draft.run_id = Some(run_id.clone());
                desk.event(
                    &draft.into_envelope(SessionId::new("ses_1"), seq, Timestamp(0)),
                    false,
                )
            })
            .collect();
        assert_eq!(printed, ["then the docs"]);
    }
}
