//! What a chat puts on the screen, and how it gives the screen back.

use agentx::config::ThinkingDisplay;
use agentx::runtime::LogError;
use agentx::types::SessionRole;
use tokio::time::{Duration, Instant};

use super::lost_session::Stood;
use super::queue::QueuedDelivery;
use super::rewinding::RewindQuestion;
use super::screen::InputLine;
use super::{COMMANDED, Chat, ChatInterface, ConversationSite, PROMPT};
use crate::console::Console;
use crate::error::ChatError;
use crate::render::agents::AgentCast;
use crate::render::clean::visible;
use crate::render::table::cut;
use crate::render::transcript::TranscriptRenderer;
use crate::render::units;
use crate::session_opening;

/// A session that a chat has left.
pub struct DepartedSession {
    /// Its id.
    pub session: String,
    /// How many messages wait until the person comes back. A session on a server goes on without them.
    pub queued: usize,
    /// Why that the session was left could not be put on record, and how it stood then.
    pub unsaved: Option<(LogError, Stood)>,
    /// The notice about background commands that were ended with the session.
    pub jobs: Option<String>,
}

/// Who tells what the agents say: on a screen that has room for what runs, as the person wants it.
pub(super) fn voices(
    console: &Console,
    face: &ChatInterface,
    thinking: ThinkingDisplay,
) -> (TranscriptRenderer, AgentCast) {
    let (style, width) = (console.out_style(), console.terminal.width);
    let mut transcript = TranscriptRenderer::new(style, width).with_costs();
    let mut cast = AgentCast::new(style, width);
    if matches!(face, ChatInterface::Editor { .. }) {
        transcript = transcript.holding_calls();
    }
    transcript.set_thinking(thinking);
    cast.set_thinking(thinking);
    (transcript, cast)
}

/// Words that stream are shown as they come, and so often at most.
const FRAME: Duration = Duration::from_millis(2);
/// Where words come faster than that, or a frame costs much, such as in a long table, the next ones come so seldom that painting
/// takes a small share of the time, one part of so many;
const SHARE: u32 = 24;
/// but they come so often.
const SLOWEST: Duration = Duration::from_millis(33);
/// How things stand is looked at so often while words stream.
const STATUS: Duration = Duration::from_millis(100);

/// So many of the texts that came back are shown beside the one in the line.
const SHOWN_LATER: usize = 3;

/// When the screen was written last, and whether something waits to be.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    painted: Option<Instant>,
    /// What frames cost, by those before the last one mostly.
    cost: Duration,
    /// When it was looked at last how things stand, and since when went on then what did.
    looked: Option<(Instant, Option<Instant>)>,
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

    /// When the next frame may come.
    fn next(&self) -> Option<Instant> {
        let gap = (self.cost * SHARE).clamp(FRAME, SLOWEST);
        self.painted.map(|painted| painted + gap)
    }

    /// A frame is painted.
    fn begin(&mut self, now: Instant) {
        *self = Self {
            painted: Some(now),
            cost: self.cost,
            looked: self.looked,
            streams: self.heard,
            ..Self::default()
        };
    }

    /// It is painted.
    fn end(&mut self, now: Instant) {
        let cost = self.painted.map_or(Duration::ZERO, |begun| now - begun);
        // One that was held up says nothing of the next ones.
        let cost = cost.min(self.cost * 2 + FRAME / SHARE);
        self.cost = (self.cost * 7 + cost) / 8;
    }

    /// Whether it is time to look how things stand, where something goes on since `since`: while that streams, not with each frame.
    fn looks(&mut self, now: Instant, since: Option<Instant>) -> bool {
        let is_fresh = self
            .looked
            .is_some_and(|(looked, before)| now < looked + STATUS && before == since);
        let looks = !(is_fresh && since.is_some() && self.streams);
        if looks {
            self.looked = Some((now, since));
        }
        looks
    }

    /// Waits for the next frame. Safe to drop.
    pub(super) async fn rested(&self) {
        if let Some(next) = self.next() {
            tokio::time::sleep_until(next).await;
        }
    }

    /// Whether what the session says now would have to wait for the next frame.
    fn rests(&self, now: Instant) -> bool {
        (self.streams || self.waits) && !self.is_due(now)
    }

    /// How long until what waits is shown.
    pub(super) fn rest(&self, now: Instant) -> Option<Duration> {
        let next = self.next().filter(|_| self.waits)?;
        Some(next.saturating_duration_since(now))
    }

    fn is_due(&self, now: Instant) -> bool {
        self.hurries || self.next().is_none_or(|next| now >= next)
    }
}

impl Chat<'_> {
    /// Whether the session is listened to. While its words stream, they are taken a frame at a time: to wake up for each costs
    /// more than to show it.
    pub(super) fn listens(&self) -> bool {
        matches!(self.face, ChatInterface::Lines { .. }) || !self.pace.rests(Instant::now())
    }

    /// Writes what is new: at once after what a person did, else no more often than can be seen.
    pub(super) fn paint_in_time(&mut self) -> Result<(), ChatError> {
        if matches!(self.face, ChatInterface::Lines { .. }) || self.pace.is_due(Instant::now()) {
            return self.paint();
        }
        self.pace.waits = true;
        Ok(())
    }

    /// Writes what is new, all at once.
    pub(crate) fn paint(&mut self) -> Result<(), ChatError> {
        let now = Instant::now();
        self.pace.begin(now);
        let pieces = self.transcript.take();
        if let ChatInterface::Lines { .. } = self.face {
            let text: String = pieces.into_iter().map(|piece| piece.text).collect();
            let text = self.whole_lines(text);
            let text = self.prompted(text);
            return self.console.out(&text);
        }
        let status = self
            .pace
            .looks(now, self.progress.since())
            .then(|| self.status_text());
        // As `asks_in_line`, which looks whether there is a line at all.
        let asked = self.desk.question().is_some()
            && !self.attention.waits()
            && self.company.may(SessionRole::Approve);
        let heard = match self.desk.is_held() {
            true => QueuedDelivery::WhenWanted,
            false if asked => QueuedDelivery::AfterTheQuestion,
            false => QueuedDelivery::AfterTheRun,
        };
        let (line, beside) = (self.written(asked), self.beside());
        let ChatInterface::Editor { screen, .. } = &mut self.face else {
            return Ok(());
        };
        screen.say(&pieces);
        screen.set_line(line);
        screen.set_asked(self.desk.question().map(|_| asked));
        if let Some(status) = status {
            screen.set_status(status);
        }
        let (width, style) = (self.console.terminal.width, self.console.out_style());
        screen.set_queue(self.desk.queue.rows(width, style, heard));
        screen.set_beside(beside);
        let bytes = screen.take();
        let painted = self.console.paint(&bytes);
        self.pace.end(Instant::now());
        painted
    }

    /// The line that is written, and what stands before it. While an answer streams and nobody types, there is none to take away
    /// and put back.
    fn written(&self, asked: bool) -> Option<InputLine> {
        let (editor, wanted) = (&self.editor, self.editor.wanted());
        let hidden = (self.desk.is_busy() || self.own.is_some())
            && !asked
            && editor.text().is_empty()
            && !editor.is_commanded()
            && wanted.is_none();
        let own = self.desk.asking.as_ref().map(RewindQuestion::prompt);
        let prompt = match (wanted, own) {
            (Some(wanted), _) => format!("search {wanted} › "),
            _ if asked => self.desk.answers.prompt_of_keys(),
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

    /// What goes on now, in rows.
    fn beside(&self) -> Vec<String> {
        // Without a connection nobody knows what goes on.
        let mut beside = match self.desk.is_busy() && !self.company.is_cut_off() {
            true => self.transcript.running(units::now()),
            false => Vec::new(),
        };
        beside.extend(self.cast.unfinished());
        beside.extend(self.sending.as_deref().map(|text| self.row_of_sending(text)));
        if let Some(own) = &self.own {
            beside.extend(own.rows(self.console.terminal.width, self.console.out_style()));
            beside.extend(self.rows_that_wait());
        }
        beside.extend(self.rows_of_later());
        beside
    }

    /// The texts that came back and come into the line after what is in it, in rows.
    fn rows_of_later(&self) -> Vec<String> {
        let (style, width) = (self.console.out_style(), self.console.terminal.width);
        let rest = " · comes into the line after this";
        let room = width.saturating_sub(rest.len() + 4);
        let row = |text: &str| {
            let first = cut(&visible(text.lines().next().unwrap_or_default()), room);
            style.dim(&format!("  … {first}{rest}"))
        };
        let mut rows: Vec<String> = self.editor.later().take(SHOWN_LATER).map(row).collect();
        if let more @ 1.. = self.editor.later().len().saturating_sub(SHOWN_LATER) {
            rows.push(style.dim(&format!("  … {more} more after those")));
        }
        rows
    }

    /// What was said and is not on record yet, in a row.
    fn row_of_sending(&self, text: &str) -> String {
        let row = format!("  … {}", visible(text.lines().next().unwrap_or_default()));
        self.console
            .out_style()
            .dim(&cut(&row, self.console.terminal.width))
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
    pub async fn close(mut self) -> Result<Option<DepartedSession>, ChatError> {
        if self.place.remote().is_none() {
            self.transcript.stop_calls();
            self.say_what_was_not_answered();
        }
        self.transcript.end_calls();
        self.transcript.end_line();
        self.editor.keep_unsent();
        self.editor.clear();
        self.settle_background(true).await?;
        let painted = self.paint_last();
        if let ChatInterface::Editor { raw, .. } = &mut self.face {
            raw.take();
        }
        let id = match &self.seat {
            ConversationSite::Open { session, .. } => {
                let stood = self.lost.unwrap_or_else(|| Stood::of(&self.desk));
                session_opening::leave(self.place, session.as_ref()).await;
                let unsaved = session.failure().map(|error| (error, stood));
                let is_here = self.place.remote().is_none();
                Some(DepartedSession {
                    session: session.id().to_string(),
                    jobs: self.jobs.ended_with_the_chat(is_here),
                    queued: if is_here && unsaved.is_none() {
                        self.desk.queue.iter().count()
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

    fn paint_last(&mut self) -> Result<(), ChatError> {
        let pieces = self.transcript.take();
        match &mut self.face {
            ChatInterface::Lines { .. } => {
                let text: String = pieces.into_iter().map(|piece| piece.text).collect();
                let text = self.prompt.leave(self.spoken.clone() + &text);
                self.console.out(&text)
            }
            ChatInterface::Editor { screen, .. } => {
                screen.say(&pieces);
                let bytes = screen.leave();
                self.console.paint(&bytes)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_stream_are_shown_at_once_unless_frames_cost_much() {
        let begin = Instant::now();
        let mut pace = Pace::default();
        assert!(pace.is_due(begin), "nothing was painted yet");
        pace.heard();
        pace.begin(begin);
        pace.end(begin + FRAME / SHARE);
        assert!(pace.rests(begin) && !pace.rests(begin + FRAME), "a cheap frame");
        pace.end(begin + SLOWEST * 10);
        assert!(!pace.rests(begin + FRAME * 2), "one that was held up");
        (0..20).for_each(|_| pace.end(begin + FRAME));
        assert!(pace.rests(begin + FRAME * 10), "dear ones");
        assert!(!pace.rests(begin + SLOWEST), "are not waited for longer");
        pace.hurry();
        assert!(pace.is_due(begin), "a person does not wait");
    }

    #[test]
    fn how_things_stand_is_looked_at_less_often_while_words_stream() {
        let begin = Instant::now();
        let (answers, calls) = (Some(begin), Some(begin + FRAME));
        let mut pace = Pace::default();
        pace.heard();
        assert!(pace.looks(begin, answers));
        pace.begin(begin);
        assert!(!pace.looks(begin + FRAME, answers));
        assert!(pace.looks(begin + FRAME, calls), "something else goes on");
        assert!(!pace.looks(begin + FRAME, calls));
        assert!(pace.looks(begin + FRAME, None), "nothing brings the next look");
        assert!(pace.looks(begin + FRAME + STATUS, answers));
        pace.begin(begin + FRAME);
        assert!(pace.looks(begin + FRAME, answers), "the words have ended");
    }
}
