//! What a chat puts on the screen, and how it gives the screen back.

use agentx::config::Thinking;
use agentx::types::SessionRole;
use tokio::time::{Duration, Instant};

use super::rewinding::Asking;
use super::screen::Line;
use super::{COMMANDED, Chat, Face, PROMPT, Seat};
use crate::console::Console;
use crate::error::CliError;
use crate::render::cast::Cast;
use crate::render::transcript::{Lane, Transcript};
use crate::render::{approval, units};
use crate::seat;

/// Who tells what the agents say: on a screen that has room for what runs, as the person wants it.
pub(super) fn voices(console: &Console, face: &Face, thinking: Thinking) -> (Transcript, Cast) {
    let (style, width) = (console.out_style(), console.terminal.width);
    let mut transcript = Transcript::new(style, width).with_costs();
    let mut cast = Cast::new(style, width);
    if matches!(face, Face::Editor { .. }) {
        transcript = transcript.holding_calls();
    }
    transcript.set_thinking(thinking);
    cast.set_thinking(thinking);
    (transcript, cast)
}

/// Words that stream are shown so often, however fast they come; more than this nobody sees.
const FRAME: Duration = Duration::from_millis(33);

/// When the screen was written last, and whether something waits to be.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    painted: Option<Instant>,
    waits: bool,
    hurries: bool,
    /// The session had something to say since.
    heard: bool,
    /// It had before that, too: what it says next is shown with the next frame, and need not be taken before.
    streams: bool,
}

impl Pace {
    /// A person did something: what comes of it is seen at once.
    pub(super) fn hurry(&mut self) {
        self.hurries = true;
    }

    /// The session had something to say.
    pub(super) fn heard(&mut self) {
        self.heard = true;
    }

    /// Waits for the next frame. Safe to drop.
    pub(super) async fn rested(&self) {
        if let Some(painted) = self.painted {
            tokio::time::sleep_until(painted + FRAME).await;
        }
    }

    /// Whether what the session says now would have to wait for the next frame.
    fn rests(&self, now: Instant) -> bool {
        (self.streams || self.waits) && !self.is_due(now)
    }

    /// How long until what waits is shown.
    pub(super) fn rest(&self, now: Instant) -> Option<Duration> {
        let painted = self.painted.filter(|_| self.waits)?;
        Some((painted + FRAME).saturating_duration_since(now))
    }

    fn is_due(&self, now: Instant) -> bool {
        self.hurries || self.painted.is_none_or(|painted| now >= painted + FRAME)
    }
}

impl Chat<'_> {
    /// Whether the session is listened to. While its words stream, they are taken a frame at a time: to wake up for each costs
    /// more than to show it.
    pub(super) fn listens(&self) -> bool {
        matches!(self.face, Face::Lines { .. }) || !self.pace.rests(Instant::now())
    }

    /// Writes what is new: at once after what a person did, else no more often than can be seen.
    pub(super) fn paint_in_time(&mut self) -> Result<(), CliError> {
        if matches!(self.face, Face::Lines { .. }) || self.pace.is_due(Instant::now()) {
            return self.paint();
        }
        self.pace.waits = true;
        Ok(())
    }

    /// Writes what is new, all at once.
    pub(crate) fn paint(&mut self) -> Result<(), CliError> {
        self.pace = Pace {
            painted: Some(Instant::now()),
            streams: self.pace.heard,
            ..Pace::default()
        };
        let status = self.status_text();
        let pieces = self.transcript.take();
        let busy = self.desk.is_busy();
        match &mut self.face {
            Face::Lines { .. } => {
                let text: String = pieces.into_iter().map(|piece| piece.text).collect();
                let text = self.whole_lines(text);
                self.console.out(&text)
            }
            Face::Editor { screen, .. } => {
                for piece in pieces {
                    match piece.lane {
                        Lane::Answer => screen.print_answer(&piece.text),
                        Lane::Aside => screen.print(&piece.text),
                    }
                }
                // As `asks_in_line`, which cannot be asked while the screen is at work.
                let asked = self.desk.question().is_some()
                    && !self.attention.waits()
                    && self.company.may(SessionRole::Approve);
                let own = self.desk.asking.as_ref().filter(|_| !asked).map(Asking::prompt);
                let prompt = match own {
                    Some(prompt) => prompt,
                    None => if asked { approval::PROMPT_OF_KEYS } else { PROMPT }.to_owned(),
                };
                // While an answer streams and nobody types, there is no line to take away and put back.
                let hidden = self.desk.is_busy()
                    && !asked
                    && self.editor.text().is_empty()
                    && !self.editor.is_commanded()
                    && self.editor.wanted().is_none();
                let prompt = match self.editor.wanted() {
                    Some(wanted) => format!("search {wanted} › "),
                    None if self.editor.is_commanded() && !asked => COMMANDED.to_owned(),
                    None => prompt,
                };
                let line = Line {
                    prompt,
                    text: self.editor.text().to_owned(),
                    cursor: self.editor.cursor(),
                };
                screen.set_line((!hidden).then_some(line));
                screen.set_status(status);
                let width = self.console.terminal.width;
                screen.set_queue(self.desk.queue.rows(width, self.console.out_style(), asked));
                let mut beside = if busy {
                    self.transcript.running(units::now())
                } else {
                    Vec::new()
                };
                beside.extend(self.cast.unfinished());
                screen.set_beside(beside);
                let bytes = screen.take();
                self.console.out(&bytes)
            }
        }
    }

    /// What may be printed of a text that goes on: for who listens only lines that have ended.
    fn whole_lines(&mut self, text: String) -> String {
        if !self.console.terminal.words {
            return text;
        }
        self.spoken.push_str(&text);
        let end = self.spoken.rfind('\n').map_or(0, |at| at + 1);
        self.spoken.drain(..end).collect()
    }

    /// Gives the terminal and the session back.
    pub(crate) async fn close(mut self) -> Result<Option<String>, CliError> {
        self.transcript.end_calls();
        self.transcript.end_line();
        self.editor.clear();
        self.settle_background(true).await?;
        let painted = self.paint_last();
        if let Face::Editor { raw, .. } = &mut self.face {
            raw.take();
        }
        let id = match &self.seat {
            Seat::Open { session, .. } => {
                seat::leave(self.place, session.as_ref()).await;
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
            Face::Lines { .. } => {
                let text = self.spoken.clone() + &text;
                self.console.out(&text)
            }
            Face::Editor { screen, .. } => {
                screen.print(&text);
                let bytes = screen.leave();
                self.console.out(&bytes)
            }
        }
    }
}
