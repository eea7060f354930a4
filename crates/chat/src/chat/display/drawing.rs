//! Draws a chat on the screen, and gives the screen back.

use agentx::runtime::LogError;
use agentx::types::SessionRole;
use tokio::time::Instant;

use super::screen::InputLine;
use super::title::TitleState;
use crate::chat::connection::lost_session::StateAtLoss;
use crate::chat::conversation::rewinding::RewindQuestion;
use crate::chat::{COMMANDED, Chat, ChatInterface, ConversationSite, PROMPT};
use crate::error::ChatError;
use crate::render::clean::visible;
use crate::render::table::cut;
use crate::render::units;
use crate::session_opening;
use crate::session_status::queue::QueuedDelivery;

/// A session that a chat has left.
pub struct DepartedSession {
    /// The id of the session, cleaned for the terminal.
    pub session: String,
    /// The number of messages that wait until the person comes back; 0 on a server, where the queue continues
    /// without the person.
    pub queued: usize,
    /// The reason why the log could not record the departure, and the state at that time.
    pub unsaved: Option<(LogError, StateAtLoss)>,
    /// The notice about background commands that were ended with the session.
    pub jobs: Option<String>,
}

/// Maximum number of returned texts to show beside the one in the line.
const SHOWN_LATER: usize = 3;

impl Chat<'_> {
    /// Paints changes: immediately after input of a person, otherwise at the frame rate.
    pub(in crate::chat) fn paint_in_time(&mut self) -> Result<(), ChatError> {
        if matches!(self.display.face, ChatInterface::Lines { .. }) {
            return self.paint();
        }
        if self.display.pace.is_due(Instant::now()) {
            self.display.measure();
            // Another size makes the frame wait.
            if self.display.pace.is_due(Instant::now()) {
                return self.paint();
            }
        }
        self.display.pace.waits = true;
        Ok(())
    }

    /// Writes all new output immediately.
    pub(crate) fn paint(&mut self) -> Result<(), ChatError> {
        let now = Instant::now();
        self.display.pace.begin(now);
        self.display.measure();
        let pieces = self.display.take_pieces();
        if let ChatInterface::Lines { .. } = self.display.face {
            let text: String = pieces.into_iter().map(|piece| piece.text).collect();
            let text = self.display.whole_lines(text);
            let text = self.prompted(text);
            return self.display.console.out(&text);
        }
        let status = self
            .display
            .pace
            .looks(now, self.status.activity.since())
            .then(|| self.status_text());
        // This is `asks_in_line` without its check that there is a line.
        let asked = self.status.question().is_some()
            && !self.approvals.attention.waits()
            && self.connection.company.may(SessionRole::Approve);
        let heard = if self.status.is_held() {
            QueuedDelivery::WhenWanted
        } else if asked {
            QueuedDelivery::AfterTheQuestion
        } else {
            QueuedDelivery::AfterTheRun
        };
        let (line, beside) = (self.input_line(asked), self.activity_rows(asked));
        let menu = if asked { Vec::new() } else { self.menu_rows() };
        let (width, style) = (self.display.width(), self.display.style());
        let names = self.connection.company.names();
        let queue = self.status.queue.rows(width, style, names, heard);
        let hidden = &self.display.hidden;
        let [menu, queue, beside] = [menu, queue, beside].map(|rows| hidden.hide_in_rows(rows));
        let is_settled = self.display.pace.is_settled(Instant::now());
        let ChatInterface::Editor { screen, .. } = &mut self.display.face else {
            return Ok(());
        };
        screen.set_settled(is_settled);
        screen.say(&pieces);
        screen.set_line(line);
        screen.set_menu(menu);
        screen.set_asked(self.status.question().map(|_| asked));
        if let Some(status) = status {
            screen.set_status(status);
        }
        screen.set_queue(queue);
        screen.set_beside(beside);
        let state = match (self.status.question(), self.status.is_busy()) {
            (Some(_), _) => TitleState::Asks,
            (None, true) => TitleState::Works,
            (None, false) => TitleState::Waits,
        };
        let title = self.display.hidden.hide_in_text(self.display.title.take(state));
        let bytes = screen.take() + &title;
        let painted = self.display.console.paint(&bytes);
        self.display.pace.end(Instant::now());
        painted
    }

    /// Returns the input line with its prompt. While an answer streams and nothing is typed, there is no
    /// line, so that the screen need not redraw it.
    fn input_line(&self, asked: bool) -> Option<InputLine> {
        let (editor, wanted) = (&self.composer.editor, self.composer.editor.wanted());
        let hidden = (self.status.is_busy() || self.programs.running.is_some())
            && !asked
            && editor.text().is_empty()
            && !editor.is_commanded()
            && wanted.is_none();
        let own = self.composer.asking.as_ref().map(RewindQuestion::prompt);
        let prompt = match (wanted, own) {
            (Some(wanted), _) => format!("search {wanted} › "),
            _ if asked => self.approvals.answers.prompt_of_keys(self.display.width()),
            _ if editor.is_commanded() => COMMANDED.to_owned(),
            (None, Some(own)) => own,
            (None, None) => PROMPT.to_owned(),
        };
        (!hidden).then(|| InputLine {
            prompt,
            text: editor.text().to_owned(),
            cursor: editor.cursor(),
        })
    }

    /// Returns the rows about current activities. A row between the line and an open question that has no
    /// room among the live rows makes the screen show the question once more, so what can do without one has
    /// none then.
    fn activity_rows(&self, asked: bool) -> Vec<String> {
        let question = self.status.question().filter(|_| asked);
        // Without a connection the activity is unknown.
        let mut beside = if self.status.is_busy() && !self.connection.company.is_cut_off() {
            self.display
                .transcript
                .running(units::now(), question.map(|question| &question.tool_call_id))
        } else {
            Vec::new()
        };
        beside.extend(self.display.cast.unfinished());
        beside.extend(
            self.composer
                .sending
                .as_deref()
                .map(|text| self.display.row_of_sending(text)),
        );
        if let Some(own) = &self.programs.running {
            beside.extend(own.rows(self.display.width(), self.display.style()));
            beside.extend(self.waiting_line_rows(" · sent when it has ended"));
        } else if self.connection.company.is_cut_off() {
            beside.extend(self.waiting_line_rows(" · sent when the server is back"));
        }
        beside.extend(self.rows_of_later());
        beside
    }

    /// Returns rows for the lines that wait to be sent. `rest`, at the end of each row, says until when.
    fn waiting_line_rows(&self, rest: &str) -> Vec<String> {
        let (style, width) = (self.display.style(), self.display.width());
        let room = width.saturating_sub(rest.len() + 4);
        let row = |line: &String| style.dim(&format!("  … {}{rest}", cut(&visible(line), room)));
        self.composer.inputs.lines().map(row).collect()
    }

    /// Returns rows for the returned texts that go into the line once its current text is sent.
    fn rows_of_later(&self) -> Vec<String> {
        let (style, width) = (self.display.style(), self.display.width());
        let rest = " · comes back when the line is free";
        let room = width.saturating_sub(rest.len() + 4);
        let row = |text: &str| {
            let first = cut(&visible(text.lines().next().unwrap_or_default()), room);
            style.dim(&format!("  … {first}{rest}"))
        };
        let mut rows: Vec<String> = self.composer.editor.later().take(SHOWN_LATER).map(row).collect();
        if let more @ 1.. = self.composer.editor.later().len().saturating_sub(SHOWN_LATER) {
            rows.push(style.dim(&format!("  … {more} more after these")));
        }
        rows
    }

    /// Restores the terminal and releases the session.
    pub async fn close(mut self) -> Result<Option<DepartedSession>, ChatError> {
        if self.place.remote().is_none() {
            self.display.transcript.stop_calls();
            self.announce_unanswered_calls().await;
        }
        self.display.cast.end_lines(&mut self.display.transcript);
        self.display.transcript.end_calls();
        self.display.transcript.end_line();
        self.keep_draft_at_once().await;
        self.composer.editor.keep_unsent();
        self.composer.editor.clear();
        self.settle_background(true).await?;
        let painted = self.display.paint_last();
        if let ChatInterface::Editor { raw, .. } = &mut self.display.face {
            raw.take();
        }
        let id = match &self.connection.site {
            ConversationSite::Open { session, .. } => {
                let stood = self
                    .connection
                    .lost
                    .unwrap_or_else(|| StateAtLoss::from_status(&self.status));
                session_opening::leave(self.place, session.as_ref()).await;
                let unsaved = session.failure().map(|error| (error, stood));
                let is_here = self.place.remote().is_none();
                Some(DepartedSession {
                    session: session.id().to_string(),
                    jobs: self.programs.jobs.ended_with_the_chat(is_here),
                    queued: if is_here && unsaved.is_none() {
                        self.status.queue.iter().count()
                    } else {
                        0
                    },
                    unsaved,
                })
            }
            ConversationSite::New(_) => None,
        };
        painted.map(|()| id)
    }
}
