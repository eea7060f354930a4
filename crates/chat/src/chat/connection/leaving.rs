//! Stops running work, leaves the chat, and greets a person who comes back.

use std::sync::Arc;

use agentx::runtime::{Session, WaitKind};
use agentx::types::Timestamp;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tokio::time::Instant;

use crate::chat::past_turns::PastTurns;
use crate::chat::{Chat, ChatFlow, ChatInterface};
use crate::error::ChatError;
use crate::exit::Exit;
use crate::render::clean::visible;
use crate::render::conversation;
use crate::session_opening;

/// The notice for an interrupt that arrives after the run has ended.
const ENDED: &str = "The answer had already ended. Ctrl-C again leaves AgentX.";
/// The notice for an interrupt that stops something.
const STOPPING: &str = "stopped; Ctrl-C again leaves AgentX.";
/// The notice if the person wants to leave while something runs.
const RUNS: &str = "something is still running; press Ctrl-D again to stop it and leave";
/// The notice if the person wants to leave while a question is open.
const ASKED: &str = "a question is open; press Ctrl-D again to leave without answering it";
/// The same for a question that waits for an answer.
const STAYS: &str = "the question stays open; press Ctrl-D again to leave";
/// The same if the agent only waits for a time, which needs no chat.
const WAITS: &str = "the agent waits for a time; press Ctrl-D again to leave";
/// The notices for a word that leaves, while something runs or a question is open.
const RUNS_BY_WORD: &str = "something is still running; enter it again to stop it and leave";
const ASKED_BY_WORD: &str = "a question is open; enter it again to leave without running the call";
const STAYS_BY_WORD: &str = "the question stays open; enter it again to leave";
const WAITS_BY_WORD: &str = "the agent waits for a time; enter it again to leave";
/// The notice for Ctrl-D where something is written: it deletes forward.
const NOT_EMPTY: &str = "the line is not empty; Ctrl-C clears it";
/// The notice for an interrupt where nothing runs.
const AGAIN: &str = "Ctrl-C again leaves AgentX.";

impl Chat<'_> {
    pub(in crate::chat) async fn signal(&mut self, exit: Exit) -> Result<ChatFlow, ChatError> {
        match exit {
            Exit::Interrupted => {
                let flow = self.stop().await;
                if matches!(flow, Ok(ChatFlow::Continue)) {
                    self.signals.acted();
                }
                flow
            }
            exit => Ok(ChatFlow::Leave(exit)),
        }
    }

    /// Continues after a signal that has stopped something: only an interrupt leaves the chat open.
    pub(in crate::chat) fn after_signal(&mut self, exit: Exit) {
        match exit {
            Exit::Interrupted => self.signals.acted(),
            exit => self.leaving = Some(exit),
        }
    }

    /// Leaves the chat. If that ends commands in the background, names them first, as a shell does.
    pub(in crate::chat) fn leave(&mut self) -> ChatFlow {
        let (is_here, is_asked) = (
            self.place.remote().is_none(),
            !matches!(self.display.face, ChatInterface::Lines { eager: false }),
        );
        self.tell_of_own_jobs();
        match self.programs.jobs.warning("leave", is_here).filter(|_| is_asked) {
            Some(warning) => {
                self.display
                    .transcript
                    .print_notice(&self.display.style().warn(&warning));
                ChatFlow::Continue
            }
            None => ChatFlow::Leave(Exit::Ok),
        }
    }

    /// The session, if nothing runs or waits in it, because a run that continues at a server keeps its
    /// limits.
    pub fn session_at_rest(&self) -> Option<Arc<dyn Session>> {
        let session = self.connection.session()?;
        (!self.works() && self.status.queue.is_empty()).then(|| session.clone())
    }

    /// Returns whether something can be stopped: the agent, or one that it made and that works in the
    /// background.
    pub(in crate::chat) fn works(&self) -> bool {
        self.status.is_busy() || self.display.cast.is_at_work()
    }

    /// Handles Ctrl-C, which stops the run. A second one soon after leaves, whether the run has ended by then
    /// or not.
    pub(in crate::chat) async fn interrupt(&mut self) -> Result<ChatFlow, ChatError> {
        let stops = self.works() && !self.status.stopping;
        let flow = self.stop().await?;
        if stops && flow == ChatFlow::Continue && self.connection.lost.is_none() {
            let _ = self.approvals.attention.leaves(Instant::now());
            // Discard the returned text in the line first.
            if self.composer.editor.text().is_empty() {
                self.hint(STOPPING);
            }
        }
        Ok(flow)
    }

    /// Handles Ctrl-D, which leaves. If that would stop a run here, it takes a second one soon after; the
    /// queue stays unchanged.
    pub(in crate::chat) async fn leave_by_key(&mut self) -> ChatFlow {
        if self.ends_a_run() && !self.approvals.attention.leaves(Instant::now()) {
            // Everything else that ends is named immediately, so that the second press leaves.
            let _ = self.leave();
            let stays = self.question_stays().await;
            let waits = self.waits_until().await.is_some();
            self.hint(match self.status.question() {
                Some(_) if stays => STAYS,
                Some(_) => ASKED,
                None if waits => WAITS,
                None => RUNS,
            });
            return ChatFlow::Continue;
        }
        self.leave()
    }

    /// Handles a word that leaves, as Ctrl-D does; `/quit` leaves immediately. Input from a pipe leaves
    /// without a question.
    pub(in crate::chat) async fn leave_by_word(&mut self) -> ChatFlow {
        let is_asked = !matches!(self.display.face, ChatInterface::Lines { eager: false });
        if is_asked && self.ends_a_run() && !self.approvals.attention.leaves_by_word(Instant::now()) {
            let _ = self.leave();
            let stays = self.question_stays().await;
            let waits = self.waits_until().await.is_some();
            let notice = match self.status.question() {
                Some(_) if stays => STAYS_BY_WORD,
                Some(_) => ASKED_BY_WORD,
                None if waits => WAITS_BY_WORD,
                None => RUNS_BY_WORD,
            };
            self.display.transcript.print_notice(notice);
            return ChatFlow::Continue;
        }
        self.leave()
    }

    fn ends_a_run(&self) -> bool {
        self.works() && self.place.remote().is_none()
    }

    /// Explains why Ctrl-D at the end of a line does nothing.
    pub(in crate::chat) fn hint_at_line_end(&mut self, key: &KeyEvent) {
        let is_ctrl_d = key.code == KeyCode::Char('d') && key.modifiers == KeyModifiers::CONTROL;
        if is_ctrl_d && !self.composer.editor.text().is_empty() {
            self.hint(NOT_EMPTY);
        }
    }

    /// Stops what runs; leaves when nothing does and the person asks twice, or when they ask again while it
    /// stops.
    pub(in crate::chat) async fn stop(&mut self) -> Result<ChatFlow, ChatError> {
        let is_stopping = self.status.is_busy() && self.status.stopping;
        if is_stopping {
            return Ok(ChatFlow::Leave(Exit::Interrupted));
        }
        if !self.works() || self.status.stopping {
            return Ok(self.leave_if_meant());
        }
        let Some(session) = self.connection.session() else {
            return Ok(ChatFlow::Leave(Exit::Ok));
        };
        let session = session.clone();
        self.status.stopping = self.status.is_busy();
        if let Err(error) = self.take_all_back().await {
            self.failed(error)?;
            if self.connection.lost.is_some() {
                return Ok(ChatFlow::Continue);
            }
        }
        let reason = Some("the person stopped it".into());
        if let Err(error) = self.wait_for(async { session.interrupt(reason).await }).await {
            self.failed(error)?;
        }
        Ok(ChatFlow::Continue)
    }

    /// Leaves on the second press of the key: the run that the first press was meant to stop may have ended
    /// before. Without a terminal there is no second press.
    fn leave_if_meant(&mut self) -> ChatFlow {
        let now = Instant::now();
        let has_just_ended = self.approvals.attention.meant_to_stop(now);
        if matches!(self.display.face, ChatInterface::Lines { eager: false })
            || self.approvals.attention.leaves(now)
        {
            return self.leave();
        }
        let notice = if has_just_ended { ENDED } else { AGAIN };
        match &mut self.display.face {
            ChatInterface::Editor { screen, .. } => screen.set_hint(notice.to_owned()),
            ChatInterface::Lines { .. } => self.display.transcript.print_notice(notice),
        }
        ChatFlow::Continue
    }

    /// Prints, on leaving, what happens to the calls without an answer. If nothing can be saved any more,
    /// their questions stay open.
    pub(in crate::chat) async fn announce_unanswered_calls(&mut self) {
        if self.status.is_busy() && self.connection.lost.is_none() && self.status.question().is_none() {
            let note = match self.waits_until().await {
                Some(at) => format!(
                    "· it waits until {}; `agentx waits run` continues it then",
                    at.rfc3339()
                ),
                None => format!("· {} stopped", self.status.activity.running_activity()),
            };
            self.display.transcript.aside(&self.display.style().warn(&note));
        }
        self.announce_reminder().await;
        let names: Vec<String> = self
            .status
            .questions()
            .map(|asked| visible(&asked.name))
            .collect();
        if names.is_empty() || self.connection.lost.is_some() {
            return;
        }
        let note = if self.question_stays().await {
            "· not answered; the question is open until you come back".to_owned()
        } else {
            let names = names.join(", ");
            format!("· not answered, so not run: {names}; the agent is informed")
        };
        self.display.transcript.aside(&self.display.style().warn(&note));
    }

    /// Returns the time until which the session only waits, if it does: then leaving stops nothing.
    async fn waits_until(&self) -> Option<Timestamp> {
        let state = self.connection.session()?.state().await.ok()?;
        let mut waits = state.waits.iter().filter(|wait| wait.kind != WaitKind::Reminder);
        let first = waits.next().filter(|_| state.only_waits);
        first.map(|wait| wait.due_at)
    }

    /// Prints, on leaving, the time of the next reminder: it needs a program that runs then.
    async fn announce_reminder(&mut self) {
        let Some(due_at) = self.next_reminder().await else {
            return;
        };
        let note = format!(
            "· a reminder is due at {}; `agentx waits run` or `agentx serve` tells it if this session is not open then",
            due_at.rfc3339()
        );
        self.display.transcript.aside(&self.display.style().dim(&note));
    }

    /// Returns the time of the first reminder of the session, if it has one and can be reached.
    async fn next_reminder(&self) -> Option<Timestamp> {
        let session = self
            .connection
            .session()
            .filter(|_| self.connection.lost.is_none())?;
        let state = session.state().await.ok()?;
        let mut reminders = state.waits.iter().filter(|wait| wait.kind == WaitKind::Reminder);
        reminders.next().map(|wait| wait.due_at)
    }

    /// Returns whether the session keeps its open question when the chat leaves it.
    async fn question_stays(&self) -> bool {
        match self.connection.session() {
            Some(session) => session_opening::keeps_question(session.as_ref()).await,
            None => false,
        }
    }

    /// Prints what an earlier program left behind in the session: commands that were ended, and queued
    /// messages.
    pub(in crate::chat) fn announce_leftovers(&mut self, past: &PastTurns) {
        let style = self.display.style();
        if let Some(note) = past.ended_on_opening() {
            self.display.transcript.note(&style.warn(&note));
        }
        // A screen shows it above the line.
        if self.status.is_held() && matches!(self.display.face, ChatInterface::Lines { .. }) {
            let note = conversation::queued_notice(self.status.queue.iter().count());
            self.display
                .transcript
                .note(&style.dim(&format!("{note} (/queue lists them)")));
        }
    }
}
