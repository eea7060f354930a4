//! What a chat puts on the screen, and how it gives the screen back.

use agentx::types::SessionRole;
use tokio::time::Instant;

use super::screen::Line;
use super::{Chat, Face, PROMPT, Seat};
use crate::error::CliError;
use crate::render::approval;
use crate::render::transcript::Lane;
use crate::seat;

impl Chat<'_> {
    /// Writes what is new, all at once.
    pub(crate) fn paint(&mut self) -> Result<(), CliError> {
        let pieces = self.transcript.take();
        let status = self.progress.row(Instant::now(), self.console.out_style());
        match &mut self.face {
            Face::Lines { .. } => {
                let text: String = pieces.into_iter().map(|piece| piece.text).collect();
                self.console.out(&text)
            }
            Face::Editor { screen, .. } => {
                for piece in pieces {
                    match piece.lane {
                        Lane::Answer => screen.print_answer(&piece.text),
                        Lane::Aside => screen.print(&piece.text),
                    }
                }
                // As `question`, which cannot be asked while the screen is at work.
                let asked = self.desk.question().is_some() && self.company.may(SessionRole::Approve);
                let prompt = if asked { approval::PROMPT } else { PROMPT };
                // While an answer streams and nobody types, there is no line to take away and put back.
                let hidden = self.desk.is_busy()
                    && !asked
                    && self.editor.text().is_empty()
                    && self.editor.wanted().is_none();
                let prompt = match self.editor.wanted() {
                    Some(wanted) => format!("search {wanted} › "),
                    None => prompt.to_owned(),
                };
                let line = Line {
                    prompt,
                    text: self.editor.text().to_owned(),
                    cursor: self.editor.cursor(),
                };
                screen.set_line((!hidden).then_some(line));
                screen.set_status(status);
                screen.set_beside(self.cast.unfinished());
                let bytes = screen.take();
                self.console.out(&bytes)
            }
        }
    }

    /// Gives the terminal and the session back.
    pub(crate) async fn close(mut self) -> Result<Option<String>, CliError> {
        self.transcript.end_line();
        self.editor.clear();
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
            Face::Lines { .. } => self.console.out(&text),
            Face::Editor { screen, .. } => {
                screen.print(&text);
                let bytes = screen.leave();
                self.console.out(&bytes)
            }
        }
    }
}
