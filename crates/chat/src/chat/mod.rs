//! The chat: one loop that waits for the session, the person and the system, and handles one event at a time.
//!
//! It wakes up only when one of them has an event; output that is ready together is written together.

mod approvals;
pub(crate) mod commands;
pub(crate) mod connection;
mod conversation;
pub(crate) mod display;
pub(crate) mod input;
pub mod past_turns;
mod plan_mode;
pub(crate) mod programs;
pub mod slash;

pub use connection::server_wait;
pub use display::{appearance, drawing, screen, welcome};
pub use input::external_editor;
pub use programs::jobs;

use std::sync::Arc;

use agentx::config::Settings;
use agentx::node::program_environment;
use agentx::runtime::{Delivery, Session, SessionState, View};
use agentx::types::{ApprovalRequested, SessionRole};
use agentx_terminal::Editor;
use tokio::time::Instant;

use crate::error::ChatError;
use crate::exit::Exit;
use crate::place::Place;
use crate::place::follow::AnyFollower;
use crate::session_opening;
use crate::session_opening::new_agent::NewAgent;
use crate::session_status::{SessionStatus, StatusNews};
use crate::terminal::RawMode;
use crate::terminal::console::Console;
use crate::terminal::signals::Signals;
use approvals::Approvals;
pub use commands::ChatStart;
use commands::session_change::past_of;
use connection::participants::Participants;
use connection::server_wait::{Inputs, exit_of_leaving};
use connection::{ChatConnection, ConversationSite};
use display::Display;
use display::screen::Screen;
use display::status_row::StatusRow;
use input::composer::Composer;
use programs::Programs;

/// The prompt before the line that is being written.
const PROMPT: &str = "› ";
/// The same while keys are commands, as in vi.
const COMMANDED: &str = "‹ ";
/// Maximum number of events of a session that is opened again in which the last messages are searched. It is
/// not more than the runtime keeps a fold for, so that a long session opens as fast as a short one.
const LOOK_BACK: u64 = 4_000;

/// The kind of terminal or pipe between the chat and the person.
pub enum ChatInterface {
    /// The chat has a line editor on a terminal.
    Editor {
        /// The terminal, until it is dropped.
        raw: Option<RawMode>,
        /// The rows on the screen.
        screen: Screen,
    },
    /// The chat prints lines.
    Lines {
        /// Whether the chat takes lines while the agent works, as from a terminal; else each line waits until
        /// the chat asks for one.
        eager: bool,
    },
}

/// A chat: its parts, and the place where it runs.
pub struct Chat<'a> {
    place: &'a Place,
    settings: &'a Settings,
    /// The arguments with which the program was started.
    start: ChatStart<'a>,
    /// The part that the person sees.
    display: Display<'a>,
    /// The part in which the person writes.
    composer: Composer,
    /// The questions about calls and their answers.
    approvals: Approvals,
    /// The session, and who takes part in it.
    connection: ChatConnection,
    status: SessionStatus,
    /// The programs that run beside it.
    programs: Programs,
    signals: Signals,
    /// The chat was asked to end while it waited for something.
    leaving: Option<Exit>,
}

/// The next step of the chat after an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChatFlow {
    /// The chat continues.
    Continue,
    /// The chat ends with this exit code.
    Leave(Exit),
}

impl<'a> Chat<'a> {
    /// A chat that begins with nothing.
    pub fn new(
        place: &'a Place,
        settings: &'a Settings,
        console: &'a mut Console,
        face: ChatInterface,
        editor: Editor,
        agent: NewAgent,
        (inputs, signals): (Inputs, Signals),
    ) -> Self {
        let status_row = StatusRow::from_settings(settings, program_environment(settings));
        let mut chat = Self {
            place,
            settings,
            start: ChatStart::default(),
            display: Display::new(console, face, settings, status_row),
            composer: Composer::new(editor, inputs),
            approvals: Approvals::default(),
            status: SessionStatus::new(&agent.config, Instant::now()),
            connection: ChatConnection::new(agent, Participants::new(place)),
            programs: Programs::new(settings),
            signals,
            leaving: None,
        };
        chat.find_drafts();
        chat.ask_terminal();
        chat
    }

    /// Answers every question with yes, as `--yes` wants it.
    pub fn answer_with_yes(&mut self) {
        self.approvals.auto_approve = true;
    }

    /// Sets the arguments of the program, for commands that need them again.
    pub fn set_start(&mut self, start: ChatStart<'a>) {
        self.start = start;
    }

    /// A chat in a session that exists.
    ///
    /// # Errors
    /// Returns an error if the session cannot be read or joined; then it is closed again.
    pub async fn resumed(mut self, session: Arc<dyn Session>) -> Result<Self, ChatError> {
        let entered = self.enter(&session).await;
        session_opening::leave_if_failed(self.place, session.as_ref(), entered).await?;
        Ok(self)
    }

    /// Shows the state of a session and takes a seat in it.
    async fn enter(&mut self, session: &Arc<dyn Session>) -> Result<(), ChatError> {
        let state = session.state().await?;
        let (past, site, came) = past_of(session, state.last_seq).await?;
        self.connection.company.join(session.id()).await?;
        if let Ok(info) = self.place.runtime().info(session.id()).await {
            self.display.title.rename(&info.title);
        }
        self.connection.site = site;
        self.show_session(&state, &past).await;
        if let Some(delivery) = came {
            self.delivery(&delivery).await;
        }
        Ok(())
    }

    /// Switches to another session: questions of the old one are closed.
    fn switch_status(&mut self, state: &SessionState) {
        self.status.switch_to(state, Instant::now());
        self.drop_questions();
    }

    /// Drops all open questions.
    fn drop_questions(&mut self) {
        (self.approvals.answers, self.composer.asking) = Default::default();
    }

    /// The session, opened now if it is not yet.
    pub(crate) async fn session(&mut self) -> Result<Arc<dyn Session>, ChatError> {
        let agent = match &self.connection.site {
            ConversationSite::Open { session, .. } => return Ok(session.clone()),
            ConversationSite::New(agent) => agent.clone(),
        };
        let runtime = self.place.shared();
        let session = self.wait_for(agent.open(&*runtime)).await?;
        let joined = async {
            let events = AnyFollower::new(session.clone(), 0, View::Runtime).await?;
            self.connection.company.join(session.id()).await?;
            Ok(events)
        }
        .await;
        let events = session_opening::leave_if_failed(self.place, session.as_ref(), joined).await?;
        self.connection.site = ConversationSite::Open {
            session: session.clone(),
            events,
        };
        Ok(session)
    }

    /// Runs the chat until the person leaves.
    ///
    /// # Errors
    /// Returns the error that ended the chat. An answer for which the person did not wait because they left
    /// is none.
    pub async fn talk(&mut self) -> Result<Exit, ChatError> {
        match self.talk_to_the_end().await {
            Err(error) => exit_of_leaving(self.leaving, &error).ok_or(error),
            ended => ended,
        }
    }

    async fn talk_to_the_end(&mut self) -> Result<Exit, ChatError> {
        if self.display.transcript.has_said() {
            self.settle_background(false).await?;
        }
        self.keep_draft().await;
        self.paint()?;
        loop {
            let (wants_input, listens, ticks) = (self.wants_input(), self.display.listens(), self.ticks());
            let flow = tokio::select! {
                delivery = self.connection.site.next_delivery(), if listens && self.connection.lost.is_none() => {
                    match delivery {
                        Ok(delivery) => self.deliveries(delivery).await,
                        Err(error) => Err(error),
                    }
                }
                () = self.display.pace.rested(), if !listens => continue,
                input = self.composer.inputs.next(), if wants_input => self.inputs(input).await,
                news = self.connection.company.news() => {
                    self.display.tell_participants_update(news);
                    Ok(ChatFlow::Continue)
                }
                found = self.composer.files.news() => {
                    self.show_files(found);
                    Ok(ChatFlow::Continue)
                }
                exit = self.signals.next() => self.signal(exit).await,
                () = self.composer.draft.due() => Ok(ChatFlow::Continue),
                () = self.display.status_row.changed(ticks) => {
                    self.announce_long_activity();
                    Ok(ChatFlow::Continue)
                }
            };
            let flow = flow.or_else(|error| self.lose(error).map(|()| ChatFlow::Continue))?;
            self.give_line_to_question();
            self.keep_draft().await;
            self.paint_in_time()?;
            if let Some(exit) = self.leaving {
                return Ok(exit);
            }
            if let ChatFlow::Leave(exit) = self.leave_after_input(flow).await? {
                return Ok(exit);
            }
        }
    }

    /// Returns the open question, if this person may answer it.
    pub(crate) fn question(&self) -> Option<&ApprovalRequested> {
        let question = self.status.question();
        question.filter(|_| self.connection.company.may(SessionRole::Approve))
    }

    fn wants_input(&self) -> bool {
        match &self.display.face {
            _ if self.composer.ended => false,
            ChatInterface::Lines { eager: false } => !self.status.is_busy() || self.question().is_some(),
            _ => true,
        }
    }

    /// Continues after the end of the input.
    async fn leave_after_input(&mut self, flow: ChatFlow) -> Result<ChatFlow, ChatError> {
        if flow != ChatFlow::Continue || !self.composer.ended {
            return Ok(flow);
        }
        // If others are there, one of them may answer.
        if self.question().is_some() && !self.connection.company.has_others() {
            return self.refuse("nobody can answer any more").await;
        }
        Ok(if self.status.is_busy() || self.display.cast.is_at_work() {
            ChatFlow::Continue
        } else {
            ChatFlow::Leave(self.exit_of_lines())
        })
    }

    /// Returns the exit at the end of the input. If the last message of a script was not sent, the exit code
    /// says so, as for a run.
    fn exit_of_lines(&self) -> Exit {
        let is_script = matches!(self.display.face, ChatInterface::Lines { eager: false });
        if is_script && self.composer.refused.is_some() {
            Exit::Usage
        } else {
            Exit::Ok
        }
    }

    async fn deliveries(&mut self, delivery: Option<Delivery>) -> Result<ChatFlow, ChatError> {
        let Some(delivery) = delivery else {
            self.display.transcript.aside("the session has ended");
            return Ok(ChatFlow::Leave(Exit::Storage));
        };
        self.delivery(&delivery).await;
        self.display.pace.note_events();
        while let Some(delivery) = self.connection.site.ready_delivery() {
            self.delivery(&delivery).await;
        }
        self.refresh_status().await?;
        Ok(ChatFlow::Continue)
    }

    async fn delivery(&mut self, delivery: &Delivery) {
        let envelope = match delivery {
            Delivery::Runtime(envelope) => envelope,
            Delivery::Environment(_) | Delivery::CaughtUp(_) | Delivery::CutOff(_) => return,
        };
        let asked_before = self
            .status
            .question()
            .map(|question| question.tool_call_id.clone());
        self.approvals
            .note_rule_changes(&envelope.event, asked_before.is_some());
        if let Some(why) = self.approvals.why_settled(&envelope.event, asked_before.as_ref()) {
            let why = self.display.style().dim(why);
            self.display.transcript.end_question();
            self.display.transcript.aside(&why);
        }
        if let Some(act) = self.connection.company.act(&envelope.event, self.display.style()) {
            self.display.transcript.print_notice(&act);
        }
        let is_of_another = self.display.cast.is_of_another(envelope);
        let works = self.status.is_busy() && !self.status.stopping;
        let StatusNews { said, unanswered } = self.status.event(envelope, is_of_another, Instant::now());
        if let Some(said) = said {
            self.connection.company.meet(&said.by);
            self.display.print_input(&said, self.connection.company.names());
        }
        if let Some(count) = unanswered {
            self.display.tell_of_unanswered(count);
        }
        if works && !self.status.is_busy() {
            self.approvals.attention.ended(Instant::now());
        }
        (
            self.display.transcript.has_no_price,
            self.display.transcript.max_cost,
        ) = self.status.activity.money();
        let asked_now = self.status.question().map(|question| &question.tool_call_id);
        if asked_before.is_some() && asked_now != asked_before.as_ref() {
            self.display.transcript.end_question();
        }
        self.display.cast.event(&mut self.display.transcript, envelope);
        self.ask_if_new(asked_before.as_ref()).await;
        self.renew_question(&envelope.event, asked_before.as_ref()).await;
        self.call_if_long(&envelope.event, is_of_another);
        self.tell_of_command(envelope);
        self.tell_of_commands(envelope);
        self.say_aloud(&envelope.event, is_of_another);
        if !is_of_another {
            self.display.title.event(&envelope.event);
            self.display.remember_answer(&envelope.event);
        }
    }
}
