//! Decides when the screen is painted: immediately after a key, and while an answer streams only as often as
//! a person can see.

use tokio::time::{Duration, Instant};

/// Minimum time from one frame to the next while an answer streams.
const FRAME: Duration = Duration::from_millis(4);
/// The inverse of the share of the time that painting may take. If frames are expensive, such as those of a
/// long table, the time between them grows until painting takes one part in this number.
const SHARE: u32 = 24;
/// Maximum time from one frame to the next, however expensive frames are.
const SLOWEST: Duration = Duration::from_millis(33);
/// Minimum time between two updates of the status row while an answer streams.
const STATUS: Duration = Duration::from_millis(100);
/// Time without a new size after which the terminal certainly has the size that it told last: tmux changes
/// its rows at once, and tells the program up to 250 ms later.
const SETTLED: Duration = Duration::from_millis(300);
/// Maximum time without a frame while sizes keep coming.
const UNSETTLED: Duration = Duration::from_secs(1);

/// The time and cost of the latest frames, and whether something waits to be painted.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::chat) struct Pace {
    /// The beginning of the latest frame.
    painted: Option<Instant>,
    /// The average cost of a frame; the latest one counts for an eighth.
    cost: Duration,
    /// The time at which the status was read last, and the beginning of the activity of that time.
    looked: Option<(Instant, Option<Instant>)>,
    /// Whether something waits to be painted.
    pub(in crate::chat) waits: bool,
    /// Whether the next frame is painted without waiting.
    hurries: bool,
    /// Whether events have come since the latest frame.
    heard: bool,
    /// Whether events came before the latest frame too: then the next ones are shown with the next frame, and
    /// need not be read before.
    streams: bool,
    /// The new sizes of the terminal, until it certainly has the last one.
    sizes: Option<SizeBurst>,
}

/// The time of the first and of the last of several sizes of the terminal.
#[derive(Clone, Copy, Debug)]
struct SizeBurst {
    first: Instant,
    last: Instant,
}

impl Pace {
    /// Paints the next frame without waiting, because a person did something.
    pub(in crate::chat) fn hurry(&mut self) {
        self.hurries = true;
    }

    /// Notes that events of the session have come.
    pub(in crate::chat) fn note_events(&mut self) {
        self.heard = true;
    }

    /// Notes that the terminal told a new size. Frames wait until no other one comes: what is painted for a
    /// size that the terminal does not have stands in wrong rows.
    pub(in crate::chat) fn note_size(&mut self, now: Instant) {
        let first = self.sizes.map_or(now, |sizes| sizes.first);
        self.sizes = Some(SizeBurst { first, last: now });
        self.waits = true;
    }

    /// Returns whether the terminal certainly has the size that it told last.
    pub(in crate::chat) fn is_settled(&self, now: Instant) -> bool {
        self.sizes.is_none_or(|sizes| now >= sizes.last + SETTLED)
    }

    /// Returns the end of the wait for more sizes.
    fn settles(&self) -> Option<Instant> {
        self.sizes
            .map(|sizes| (sizes.last + SETTLED).min(sizes.first + UNSETTLED))
    }

    /// Returns when the next frame may be painted.
    pub(in crate::chat) fn next(&self) -> Option<Instant> {
        let gap = (self.cost * SHARE).clamp(FRAME, SLOWEST);
        let rested = self.painted.map(|painted| painted + gap);
        rested.max(self.settles())
    }

    /// Notes that a frame begins.
    pub(in crate::chat) fn begin(&mut self, now: Instant) {
        let unsettled = self.sizes.filter(|_| !self.is_settled(now));
        *self = Self {
            sizes: unsettled.map(|sizes| SizeBurst { first: now, ..sizes }),
            // A frame in doubt is painted again when there is none.
            waits: unsettled.is_some(),
            painted: Some(now),
            cost: self.cost,
            looked: self.looked,
            streams: self.heard,
            ..Self::default()
        };
    }

    /// Notes that the frame is painted.
    pub(in crate::chat) fn end(&mut self, now: Instant) {
        let cost = self.painted.map_or(Duration::ZERO, |begun| now - begun);
        // A frame that was held up once says nothing about the next ones.
        let cost = cost.min(self.cost * 2 + FRAME / SHARE);
        self.cost = (self.cost * 7 + cost) / 8;
    }

    /// Returns whether to read the status again during an activity that began at `since`: with each frame,
    /// but less often while it streams.
    pub(in crate::chat) fn looks(&mut self, now: Instant, since: Option<Instant>) -> bool {
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
    pub(in crate::chat) async fn rested(&self) {
        if let Some(next) = self.next() {
            tokio::time::sleep_until(next).await;
        }
    }

    /// Returns whether events that come now would have to wait for the next frame.
    pub(in crate::chat) fn rests(&self, now: Instant) -> bool {
        (self.streams || self.waits) && !self.is_due(now)
    }

    /// Returns how long it takes until what waits is painted.
    pub(in crate::chat) fn rest(&self, now: Instant) -> Option<Duration> {
        let next = self.next().filter(|_| self.waits)?;
        Some(next.saturating_duration_since(now))
    }

    /// Returns whether a frame may be painted now.
    pub(in crate::chat) fn is_due(&self, now: Instant) -> bool {
        let waits_for_sizes = self.settles().is_some_and(|settles| now < settles);
        !waits_for_sizes && (self.hurries || self.next().is_none_or(|next| now >= next))
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
        pace.note_events();
        pace.begin(begin);
        pace.end(begin + FRAME / SHARE);
        assert!(pace.rests(begin) && !pace.rests(begin + FRAME), "a cheap frame");
        pace.end(begin + SLOWEST * 10);
        assert!(!pace.rests(begin + FRAME * 2), "one that was held up");
        (0..20).for_each(|_| pace.end(begin + FRAME));
        assert!(pace.rests(begin + FRAME * 2), "expensive frames");
        assert!(
            !pace.rests(begin + SLOWEST),
            "are not waited for longer than this"
        );
        pace.hurry();
        assert!(pace.is_due(begin), "a person does not wait");
    }

    #[test]
    fn frames_wait_until_the_terminal_has_the_size_that_it_told() {
        let begin = Instant::now();
        let mut pace = Pace::default();
        assert!(pace.is_settled(begin));
        pace.note_size(begin);
        pace.hurry();
        assert!(!pace.is_due(begin) && !pace.is_settled(begin));
        assert_eq!(pace.rest(begin), Some(SETTLED));
        pace.note_size(begin + SETTLED / 2);
        assert!(!pace.is_due(begin + SETTLED), "another size came");
        let settled = begin + SETTLED / 2 + SETTLED;
        assert!(pace.is_due(settled) && pace.is_settled(settled));
        pace.begin(settled);
        pace.hurry();
        assert!(
            pace.is_due(settled) && !pace.waits,
            "nothing waits for sizes any more"
        );
    }

    #[test]
    fn sizes_that_keep_coming_do_not_stop_the_frames() {
        let begin = Instant::now();
        let mut pace = Pace::default();
        let mut now = begin;
        while now < begin + UNSETTLED {
            assert!(!pace.is_due(now) || now == begin);
            pace.note_size(now);
            now += SETTLED / 3;
        }
        assert!(pace.is_due(now) && !pace.is_settled(now), "a frame in doubt");
        pace.begin(now);
        pace.hurry();
        assert!(!pace.is_due(now) && pace.waits, "the next one waits again");
        assert!(!pace.is_settled(now));
        assert!(pace.is_due(now + SETTLED) && pace.is_settled(now + SETTLED));
    }

    #[test]
    fn how_things_stand_is_looked_at_less_often_while_words_stream() {
        let begin = Instant::now();
        let (answers, calls) = (Some(begin), Some(begin + FRAME));
        let mut pace = Pace::default();
        pace.note_events();
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
