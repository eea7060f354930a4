//! Shows a session to a spectator. `watch` shows it like a chat if the terminal can, otherwise in lines or as
//! events; `mirror` always uses lines or events.

use std::sync::Arc;

use agentx::config::ThinkingDisplay;
use agentx::runtime::{Delivery, FileChangePreview, Runtime};
use agentx::types::{Envelope, RuntimeEvent, SessionId};

use crate::chat::display::screen::Screen;
use crate::error::ChatError;
use crate::pending_change;
use crate::render::agents::LiveAgents;
use crate::render::conversation::SpokenWords;
use crate::render::person_names::PersonNames;
use crate::render::transcript::TranscriptRenderer;
use crate::render::{approval, conversation};
use crate::terminal::RawMode;
use crate::terminal::console::Console;

/// The output of a spectator.
pub enum SpectatorStage {
    /// Events, a line each.
    Events,
    /// Lines of text.
    Lines,
    /// A screen of text.
    Screen {
        /// The terminal, until it is dropped.
        raw: RawMode,
        /// The rows on the screen.
        screen: Screen,
    },
}

/// Shows what happens in a session.
pub struct Spectator {
    stage: SpectatorStage,
    transcript: TranscriptRenderer,
    cast: LiveAgents,
    /// The runtime that has the files of the session, and the session.
    source: (Arc<dyn Runtime>, SessionId),
    /// Whether the events are live: an earlier question does not show its file.
    live: bool,
    /// The names of the session's people.
    names: PersonNames,
}

impl Spectator {
    /// Creates a spectator that has received no events yet.
    pub fn new(
        stage: SpectatorStage,
        source: (Arc<dyn Runtime>, SessionId),
        thinking: ThinkingDisplay,
        names: PersonNames,
        console: &Console,
    ) -> Self {
        let (style, width) = (console.out_style(), console.terminal.width);
        let mut transcript = TranscriptRenderer::new(style, width).with_costs().looking_on();
        let mut cast = LiveAgents::new(style, width);
        transcript.set_thinking(thinking);
        cast.set_thinking(thinking);
        if let SpectatorStage::Screen { screen, .. } = &stage {
            cast = cast.rendering(screen.theme(), "");
        }
        Self {
            stage,
            transcript,
            cast,
            source,
            live: false,
            names,
        }
    }

    /// Handles a delivery of a subscription.
    pub async fn delivery(&mut self, delivery: &Delivery, console: &mut Console) -> Result<(), ChatError> {
        match (delivery, &self.stage) {
            (Delivery::Runtime(envelope), SpectatorStage::Events) => console.out_json(&**envelope),
            (Delivery::Runtime(envelope), _) => {
                self.tell(envelope, console).await;
                Ok(())
            }
            (Delivery::CaughtUp(_), _) => {
                self.mark_caught_up();
                Ok(())
            }
            (Delivery::Environment(_) | Delivery::CutOff(_), _) => Ok(()),
        }
    }

    /// Notes that all earlier events have arrived.
    pub fn mark_caught_up(&mut self) {
        self.live = true;
    }

    /// Returns whether an event is of another agent than the one that people talk to.
    pub fn is_of_another(&self, envelope: &Envelope<RuntimeEvent>) -> bool {
        self.cast.is_of_another(envelope)
    }

    /// Records an agent that was created before anything is shown.
    pub fn meet(&mut self, envelope: &Envelope<RuntimeEvent>) {
        self.cast.meet(envelope);
    }

    async fn tell(&mut self, envelope: &Envelope<RuntimeEvent>, console: &Console) {
        match &envelope.event {
            RuntimeEvent::UserMessageAdded(added) if conversation::is_note(&added.message) => {}
            RuntimeEvent::UserMessageAdded(added) => {
                self.names.meet_in(&envelope.event);
                let words = SpokenWords::of(&added.message);
                let said = conversation::shortened_input(&words, &self.names, console.out_style());
                self.transcript.aside(&said);
            }
            RuntimeEvent::CommandFinished(ran) => {
                ran.by.iter().for_each(|person| self.names.meet(person));
                let told = conversation::ran(ran, &self.names, console.out_style());
                self.transcript.aside(&told);
            }
            RuntimeEvent::ApprovalRequested(request) => {
                let (runtime, id) = &self.source;
                let file = if self.live {
                    pending_change::file_now(&**runtime, id, None, request).await
                } else {
                    FileChangePreview::default()
                };
                let keeps = file.refused.is_none();
                let question = approval::question(request, &file, keeps, console.out_style());
                self.transcript.aside(&question);
            }
            _ => self.cast.event(&mut self.transcript, envelope),
        }
    }

    /// Prints a note beside the output; if both are on one screen, on a separate line.
    pub fn say(&mut self, text: &str, console: &mut Console) -> Result<(), ChatError> {
        if matches!(self.stage, SpectatorStage::Screen { .. }) {
            self.transcript.aside(text);
            return self.print(console);
        }
        if console.terminal.output && console.terminal.error {
            self.transcript.end_line();
            self.print(console)?;
        }
        console.say(&format!("{text}\n"));
        Ok(())
    }

    /// Sets the status row, if there is a screen.
    pub fn set_status(&mut self, status: &str) {
        if let SpectatorStage::Screen { screen, .. } = &mut self.stage {
            screen.set_status(status.to_owned());
        }
    }

    /// The terminal has another size now.
    pub fn resize(&mut self, columns: usize, rows: usize) {
        if let SpectatorStage::Screen { screen, .. } = &mut self.stage {
            screen.resize(columns, rows);
            self.transcript.set_width(columns);
            self.cast.set_width(columns);
        }
    }

    /// Prints the new output.
    pub fn print(&mut self, console: &mut Console) -> Result<(), ChatError> {
        let pieces = self.transcript.take();
        match &mut self.stage {
            SpectatorStage::Screen { screen, .. } => {
                screen.say(&pieces);
                screen.set_beside(self.cast.unfinished());
                console.paint(&screen.take())
            }
            SpectatorStage::Lines | SpectatorStage::Events => {
                let text: String = pieces.into_iter().map(|piece| piece.text).collect();
                console.out(&text)?;
                console.flush()
            }
        }
    }

    /// Ends the line that is open, and gives the terminal back.
    pub fn end(&mut self, console: &mut Console) -> Result<(), ChatError> {
        self.cast.end_lines(&mut self.transcript);
        self.transcript.end_line();
        self.print(console)?;
        let ended = match std::mem::replace(&mut self.stage, SpectatorStage::Lines) {
            SpectatorStage::Screen { raw, mut screen } => {
                let bytes = screen.leave();
                drop(raw);
                console.paint(&bytes)
            }
            SpectatorStage::Lines | SpectatorStage::Events => Ok(()),
        };
        ended.and_then(|()| console.flush())
    }
}
