//! Limits the lines that other people cause in a chat. A person who comes and goes in a loop, or does one
//! thing again and again, cannot push the conversation and its questions off the screen. Even a visitor can
//! come and go in a loop.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// The number of lines that are shown within [`SPAN`].
const MOST: usize = 8;
/// The time in which they are counted.
const SPAN: Duration = Duration::from_secs(24);

/// The lines of one kind that were shown last.
#[derive(Debug, Default)]
pub(crate) struct LineLimit {
    shown: VecDeque<Instant>,
    /// Whether the omission of further lines was reported.
    is_said: bool,
}

/// The place of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LimitedLine {
    /// The line is shown.
    Shown,
    /// The line is the first that is left out; a notice replaces it.
    FirstLeftOut,
    /// The line is left out.
    LeftOut,
}

impl LineLimit {
    /// Returns the time at which the next line may be shown; `None` for now.
    pub(crate) fn free_at(&self) -> Option<Instant> {
        let first = self.shown.front().filter(|_| self.shown.len() >= MOST);
        first.map(|first| *first + SPAN)
    }

    /// Notes a line that is shown.
    pub(crate) fn note(&mut self, now: Instant) {
        if self.shown.len() >= MOST {
            self.shown.pop_front();
        }
        self.shown.push_back(now);
        self.is_said = false;
    }

    /// Returns what becomes of a line that cannot wait.
    pub(crate) fn place(&mut self, now: Instant) -> LimitedLine {
        if self.free_at().is_none_or(|free| free <= now) {
            self.note(now);
            LimitedLine::Shown
        } else if std::mem::replace(&mut self.is_said, true) {
            LimitedLine::LeftOut
        } else {
            LimitedLine::FirstLeftOut
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_acts_in_a_loop_gets_a_few_lines_and_a_word_that_there_are_more() {
        use LimitedLine::{FirstLeftOut, LeftOut, Shown};
        let mut limit = LineLimit::default();
        let begin = Instant::now();
        let places: Vec<LimitedLine> = (0..12)
            .map(|second| limit.place(begin + Duration::from_secs(second)))
            .collect();
        assert_eq!(places[..MOST], [Shown; MOST]);
        assert_eq!(places[MOST..], [FirstLeftOut, LeftOut, LeftOut, LeftOut]);
        assert_eq!(limit.free_at(), Some(begin + SPAN));
        assert_eq!(limit.place(begin + SPAN), Shown);
        assert_eq!(
            limit.place(begin + SPAN),
            FirstLeftOut,
            "the second one is 23 s old"
        );
        assert_eq!(limit.place(begin + 3 * SPAN), Shown);
        assert_eq!(limit.shown.len(), MOST, "no more are remembered");
    }

    #[test]
    fn who_comes_and_goes_now_and_then_is_told_at_once() {
        let mut limit = LineLimit::default();
        let begin = Instant::now();
        for minute in 0..20 {
            let now = begin + minute * Duration::from_secs(60);
            assert!(limit.free_at().is_none_or(|free| free <= now), "{minute}");
            limit.note(now);
        }
    }
}
