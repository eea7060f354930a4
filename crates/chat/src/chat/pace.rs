//! When the screen is written: at once after what a person did, and while words stream no more often than it can be seen.

use tokio::time::{Duration, Instant};

/// Words that stream are shown as they come, and so often at most.
const FRAME: Duration = Duration::from_millis(2);
/// Where words come faster than that, or a frame costs much, such as in a long table, the next ones come so seldom that painting
/// takes a small share of the time, one part of this number;
const SHARE: u32 = 24;
/// but they come so often.
const SLOWEST: Duration = Duration::from_millis(33);
/// How things stand is looked at so often while words stream.
const STATUS: Duration = Duration::from_millis(100);

/// When the screen was written last, and whether something waits to be.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    painted: Option<Instant>,
    /// What frames cost, by those before the last one mostly.
    cost: Duration,
    /// When it was looked at last how things stand, and since when went on then what did.
    looked: Option<(Instant, Option<Instant>)>,
    pub(super) waits: bool,
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
    pub(super) fn next(&self) -> Option<Instant> {
        let gap = (self.cost * SHARE).clamp(FRAME, SLOWEST);
        self.painted.map(|painted| painted + gap)
    }

    /// A frame is painted.
    pub(super) fn begin(&mut self, now: Instant) {
        *self = Self {
            painted: Some(now),
            cost: self.cost,
            looked: self.looked,
            streams: self.heard,
            ..Self::default()
        };
    }

    /// It is painted.
    pub(super) fn end(&mut self, now: Instant) {
        let cost = self.painted.map_or(Duration::ZERO, |begun| now - begun);
        // One that was held up says nothing of the next ones.
        let cost = cost.min(self.cost * 2 + FRAME / SHARE);
        self.cost = (self.cost * 7 + cost) / 8;
    }

    /// Whether it is time to look how things stand, where something goes on since `since`: while that streams, not with each frame.
    pub(super) fn looks(&mut self, now: Instant, since: Option<Instant>) -> bool {
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
    pub(super) fn rests(&self, now: Instant) -> bool {
        (self.streams || self.waits) && !self.is_due(now)
    }

    /// How long until what waits is shown.
    pub(super) fn rest(&self, now: Instant) -> Option<Duration> {
        let next = self.next().filter(|_| self.waits)?;
        Some(next.saturating_duration_since(now))
    }

    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.hurries || self.next().is_none_or(|next| now >= next)
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
