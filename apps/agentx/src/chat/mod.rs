//! The chat: one loop that waits for the session, the person and the system, and does one thing at a time.
//!
//! It wakes up only when one of them has something; what is ready together is written together.

pub(crate) mod commands;
pub(crate) mod desk;
pub(crate) mod editor;
pub(crate) mod history;
mod past;
pub(crate) mod screen;
pub(crate) mod slash;
pub(crate) mod terminal;
pub(crate) mod typed;
pub(crate) mod welcome;

use std::sync::Arc;

use agentx::config::Settings;
use agentx::runtime::{Delivery, OpenRequest, Runtime, Session, View};
use agentx::types::{AgentConfig, RuntimeEvent, TurnResponse};
use tokio::sync::mpsc;

use crate::console::Console;
use crate::error::CliError;
use crate::exit::Exit;
use crate::follow::Follower;
use crate::render::transcript::{Lane, Transcript};
use crate::render::{approval, conversation, units};
use crate::signals::Signals;
use desk::Desk;
use editor::Editor;
use past::Past;
use screen::{Line, Screen};
use terminal::{Input, RawMode};

/// What stands before the line that is being written.
const PROMPT: &str = "› ";
/// How many events of a session that is opened again are looked through for what was said last; no more than the
/// runtime remembers its fold for, so that a long session opens as fast as a short one.
const LOOK_BACK: u64 = 4_000;

/// Where the conversation is.
pub(crate) enum Seat {
    /// Nowhere yet: the session is opened with the first words.
    New(Box<AgentConfig>),
    /// In this session.
    Open {
        /// It.
        session: Arc<dyn Session>,
        /// Its events.
        events: Follower,
    },
}

/// How the person is talked to.
pub(crate) enum Face {
    /// With a line editor on a terminal.
    Editor {
        /// The terminal, until it is dropped.
        raw: Option<RawMode>,
        /// What it shows.
        screen: Screen,
    },
    /// In lines.
    Lines {
        /// Whether lines are taken while the agent works, as from a terminal; else each waits until it is wanted.
        eager: bool,
    },
}

/// A chat.
pub(crate) struct Chat<'a> {
    pub(crate) runtime: &'a dyn Runtime,
    pub(crate) settings: &'a Settings,
    pub(crate) console: &'a mut Console,
    pub(crate) seat: Seat,
    pub(crate) face: Face,
    pub(crate) editor: Editor,
    pub(crate) desk: Desk,
    pub(crate) transcript: Transcript,
    /// Events that were there before the chat are collected and shown together.
    past: Option<Past>,
    /// What the last run cost.
    turn: Option<TurnResponse>,
    /// Nothing more can be typed.
    pub(crate) input_ended: bool,
}

/// Whether the chat goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// It does.
    On,
    /// It ends so.
    Leave(Exit),
}

impl<'a> Chat<'a> {
    /// A chat that begins with nothing.
    pub(crate) fn new(
        runtime: &'a dyn Runtime,
        settings: &'a Settings,
        console: &'a mut Console,
        face: Face,
        editor: Editor,
        config: Box<AgentConfig>,
    ) -> Self {
        let transcript = Transcript::new(console.out_style(), console.terminal.width);
        let (desk, seat) = (Desk::default(), Seat::New(config));
        Self {
            runtime,
            settings,
            console,
            seat,
            face,
            editor,
            desk,
            transcript,
            past: None,
            turn: None,
            input_ended: false,
        }
    }

    /// A chat in a session that exists.
    pub(crate) async fn resumed(mut self, session: Arc<dyn Session>) -> Result<Self, CliError> {
        let state = session.state().await?;
        let after = state.last_seq.saturating_sub(LOOK_BACK);
        let events = Follower::new(session.clone(), after, View::Runtime).await?;
        self.desk = Desk::of(&state);
        self.past = Some(Past::until(state.last_seq));
        self.seat = Seat::Open { session, events };
        // What was said last is on the screen before anything is asked.
        while self.past.is_some() {
            match next_delivery(&mut self.seat).await? {
                Some(delivery) => self.delivery(&delivery),
                None => self.show_past(),
            }
        }
        Ok(self)
    }

    /// The session, opened now if it is not yet.
    pub(crate) async fn session(&mut self) -> Result<Arc<dyn Session>, CliError> {
        match &self.seat {
            Seat::Open { session, .. } => Ok(session.clone()),
            Seat::New(config) => {
                let session = self.runtime.open(OpenRequest::New(config.clone())).await?;
                let events = Follower::new(session.clone(), 0, View::Runtime).await?;
                self.seat = Seat::Open {
                    session: session.clone(),
                    events,
                };
                Ok(session)
            }
        }
    }

    /// Talks until the person leaves.
    pub(crate) async fn talk(
        &mut self,
        mut inputs: mpsc::Receiver<Input>,
        mut signals: Signals,
    ) -> Result<Exit, CliError> {
        self.paint()?;
        loop {
            let wants_input = self.wants_input();
            let flow = tokio::select! {
                delivery = next_delivery(&mut self.seat) => self.deliveries(delivery?).await?,
                input = inputs.recv(), if wants_input => self.inputs(input.unwrap_or(Input::End), &mut inputs).await?,
                exit = signals.next() => self.signal(exit).await?,
            };
            self.paint()?;
            if let Flow::Leave(exit) = self.after(flow).await? {
                return Ok(exit);
            }
        }
    }

    fn wants_input(&self) -> bool {
        match &self.face {
            _ if self.input_ended => false,
            Face::Lines { eager: false } => !self.desk.is_busy() || self.desk.question().is_some(),
            _ => true,
        }
    }

    /// What follows when there is nothing more to type.
    async fn after(&mut self, flow: Flow) -> Result<Flow, CliError> {
        if flow != Flow::On || !self.input_ended {
            return Ok(flow);
        }
        if self.desk.question().is_some() {
            return self.refuse("nobody can answer any more").await;
        }
        Ok(if self.desk.is_busy() {
            Flow::On
        } else {
            Flow::Leave(Exit::Ok)
        })
    }

    async fn deliveries(&mut self, delivery: Option<Delivery>) -> Result<Flow, CliError> {
        let Some(delivery) = delivery else {
            self.transcript.aside("the session has ended");
            return Ok(Flow::Leave(Exit::Storage));
        };
        self.delivery(&delivery);
        while let Some(delivery) = ready_delivery(&mut self.seat) {
            self.delivery(&delivery);
        }
        self.ask_what_waits().await?;
        Ok(Flow::On)
    }

    /// An input that was dropped with a run that was stopped begins none: then nothing is waited for.
    async fn ask_what_waits(&mut self) -> Result<(), CliError> {
        let Seat::Open { session, .. } = &self.seat else {
            return Ok(());
        };
        if !self.desk.is_in_doubt() {
            return Ok(());
        }
        let state = session.state().await?;
        let last_run = state.run.as_ref();
        if state.queued.is_empty() && last_run.is_none_or(|run| run.status.is_final()) {
            self.desk.nothing_waits(last_run.map(|run| &run.run_id));
        }
        Ok(())
    }

    fn delivery(&mut self, delivery: &Delivery) {
        let envelope = match delivery {
            Delivery::Runtime(envelope) => envelope,
            Delivery::CaughtUp(_) => return self.show_past(),
            Delivery::Environment(_) | Delivery::CutOff(_) => return,
        };
        if let Some(past) = &mut self.past {
            if past.take(envelope) {
                return;
            }
            self.show_past();
        }
        let asked_before = self.desk.question().map(|question| question.tool_call_id.clone());
        if let Some(text) = self.desk.event(envelope) {
            self.said(&text);
        }
        self.tell(&envelope.event);
        self.ask_if_new(asked_before.as_ref());
    }

    fn said(&mut self, text: &str) {
        let said = conversation::said(text, self.console.out_style());
        self.transcript.aside(&said);
    }

    /// Tells an event, and after the last one of a turn what it cost.
    fn tell(&mut self, event: &RuntimeEvent) {
        self.transcript.event(event);
        match event {
            RuntimeEvent::RunStarted(_) => self.turn = None,
            RuntimeEvent::TurnResponse(turn) => self.turn = Some(turn.clone()),
            RuntimeEvent::RunFinished(_) => {
                let Some(turn) = self.turn.take() else { return };
                let words = [
                    units::usage(&turn.usage),
                    units::money(turn.cost),
                    units::duration(turn.duration_ms),
                ];
                let line = self.console.out_style().dim(&words.join(" · "));
                self.transcript.aside(&format!("{line}\n\n"));
            }
            _ => {}
        }
    }

    /// Prints the question that is open, if it was not open before.
    pub(crate) fn ask_if_new(&mut self, before: Option<&agentx::types::ToolCallId>) {
        match self.desk.question() {
            Some(question) if Some(&question.tool_call_id) != before => {
                let text = approval::question(question, self.console.out_style());
                self.transcript.aside(&text);
                if matches!(self.face, Face::Lines { .. }) {
                    self.transcript.aside(approval::PROMPT.trim_end());
                }
                self.editor.stash();
            }
            Some(_) => {}
            None => self.editor.unstash(),
        }
    }

    fn show_past(&mut self) {
        let Some(past) = self.past.take() else { return };
        for envelope in past.last_turns() {
            if let RuntimeEvent::UserMessageAdded(added) = &envelope.event {
                self.said(&added.message.text());
            }
            self.tell(&envelope.event);
        }
        self.ask_if_new(None);
    }

    async fn signal(&mut self, exit: Exit) -> Result<Flow, CliError> {
        match exit {
            Exit::Interrupted => self.stop().await,
            exit => Ok(Flow::Leave(exit)),
        }
    }

    /// Writes what is new, all at once.
    pub(crate) fn paint(&mut self) -> Result<(), CliError> {
        let pieces = self.transcript.take();
        match &mut self.face {
            Face::Lines { .. } => {
                let text: String = pieces.into_iter().map(|piece| piece.text).collect();
                self.console.out(&text)
            }
            Face::Editor { screen, .. } => {
                for piece in pieces {
                    match piece.lane {
                        Lane::Answer => screen.print_words(&piece.text),
                        Lane::Aside => screen.print(&piece.text),
                    }
                }
                let prompt = if self.desk.question().is_some() {
                    approval::PROMPT
                } else {
                    PROMPT
                };
                // While an answer streams and nobody types, there is no line to take away and put back.
                let hidden =
                    self.desk.is_busy() && self.desk.question().is_none() && self.editor.text().is_empty();
                let line = Line {
                    prompt: prompt.to_owned(),
                    text: self.editor.text().to_owned(),
                    cursor: self.editor.cursor(),
                };
                screen.set_line((!hidden).then_some(line));
                let bytes = screen.take();
                self.console.out(&bytes)
            }
        }
    }

    /// Gives the terminal and the session back.
    pub(crate) async fn close(mut self) -> Result<Option<String>, CliError> {
        self.transcript.end_line();
        if let Face::Editor { screen, .. } = &mut self.face {
            screen.set_line(None);
        }
        self.editor.clear();
        let painted = self.paint_last();
        if let Face::Editor { raw, .. } = &mut self.face {
            raw.take();
        }
        let id = match &self.seat {
            Seat::Open { session, .. } => {
                session.close().await;
                Some(session.id().to_string())
            }
            Seat::New(_) => None,
        };
        painted.map(|()| id)
    }

    fn paint_last(&mut self) -> Result<(), CliError> {
        let text: String = self
            .transcript
            .take()
            .into_iter()
            .map(|piece| piece.text)
            .collect();
        match &mut self.face {
            Face::Lines { .. } => self.console.out(&text),
            Face::Editor { screen, .. } => {
                screen.print(&text);
                let bytes = screen.take();
                self.console.out(&bytes)
            }
        }
    }
}

async fn next_delivery(seat: &mut Seat) -> Result<Option<Delivery>, CliError> {
    match seat {
        Seat::Open { events, .. } => events.next().await,
        Seat::New(_) => std::future::pending().await,
    }
}

fn ready_delivery(seat: &mut Seat) -> Option<Delivery> {
    match seat {
        Seat::Open { events, .. } => events.ready(),
        Seat::New(_) => None,
    }
}
