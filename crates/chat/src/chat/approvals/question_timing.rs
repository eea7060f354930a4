//! Decides whether keys are meant for a question: text that was typed for another purpose never decides about
//! a call.
//!
//! The question replaces a line that is being written only when its writer pauses. The keys that answer
//! immediately count only after the question has been on the screen for a moment, and once per press, so a
//! key that is held or hit twice does not answer the next question unseen. The time is an argument.

use agentx::types::ApprovalDecision;
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use tokio::time::{Duration, Instant};

/// Idle time before a question may take the line, and before its keys are accepted.
pub(in crate::chat) const MOMENT: Duration = Duration::from_millis(300);

/// Time after the end of a run in which the key that stops it is still taken for the run that ended.
const BELATED: Duration = Duration::from_secs(1);

/// Maximum time between two presses of the key that leaves.
const AGAIN: Duration = Duration::from_secs(3);

/// Maximum time between two lines that leave.
const AGAIN_BY_WORD: Duration = Duration::from_secs(30);

/// The times of keys, of the open question and of the end of a run, which decide what a key is meant for.
#[derive(Debug, Default)]
pub(in crate::chat) struct QuestionTiming {
    /// The last key of any kind.
    typed: Option<Instant>,
    /// The time from which the open question can be seen.
    asked: Option<Instant>,
    /// The question waits for a pause before it takes the line.
    waits: bool,
    /// The last press of a key that answers immediately.
    pressed: Option<Instant>,
    /// The time at which a run ended by itself.
    ended: Option<Instant>,
    /// The last press of the key that leaves, if it did not.
    wants_to_leave: Option<Instant>,
    /// The time of the last `exit` or `quit` that asked for a second one. Keys do not count.
    said_to_leave: Option<Instant>,
}

impl QuestionTiming {
    /// A key was pressed, or something was pasted.
    pub(in crate::chat) fn typed(&mut self, now: Instant) {
        self.typed = Some(now);
    }

    /// Notes that a question is visible from now on. Returns whether it takes the line immediately.
    pub(in crate::chat) fn asked(&mut self, now: Instant) -> bool {
        self.asked = Some(now);
        self.waits = self.typed.is_some_and(|typed| now < typed + MOMENT);
        !self.waits
    }

    /// Notes that no question is open any more.
    pub(in crate::chat) fn settled(&mut self) {
        (self.asked, self.waits) = (None, false);
    }

    /// Returns whether the question has to wait, because the line is still unchanged.
    pub(in crate::chat) fn waits(&self) -> bool {
        self.waits
    }

    /// Returns the time until the question takes the line, if the person types nothing until then.
    pub(in crate::chat) fn rest(&self, now: Instant) -> Option<Duration> {
        let typed = self.typed.filter(|_| self.waits)?;
        Some((typed + MOMENT).saturating_duration_since(now))
    }

    /// Returns whether the question takes the line now, after a pause; says so once.
    pub(in crate::chat) fn takes_line(&mut self, now: Instant) -> bool {
        let paused = self.rest(now).is_some_and(|rest| rest.is_zero());
        self.waits &= !paused;
        paused
    }

    /// Notes that the line was sent. Returns whether a waiting question takes the next line.
    pub(in crate::chat) fn sent(&mut self) -> bool {
        self.typed = None;
        std::mem::take(&mut self.waits)
    }

    /// A run has finished by itself.
    pub(in crate::chat) fn ended(&mut self, now: Instant) {
        self.ended = Some(now);
    }

    /// Returns whether a key that stops what runs was meant for the run that has just ended; the next one is
    /// not.
    pub(in crate::chat) fn meant_to_stop(&mut self, now: Instant) -> bool {
        self.ended.take().is_some_and(|ended| now < ended + BELATED)
    }

    /// Notes that the stop key was pressed while nothing runs. Returns whether the chat ends, which takes two
    /// presses.
    pub(in crate::chat) fn leaves(&mut self, now: Instant) -> bool {
        let before = self.wants_to_leave.replace(now);
        before.is_some_and(|before| now < before + AGAIN)
    }

    /// A line that leaves was sent while something runs; says whether the chat is left, which takes two.
    pub(in crate::chat) fn leaves_by_word(&mut self, now: Instant) -> bool {
        let before = self.said_to_leave.replace(now);
        before.is_some_and(|before| now < before + AGAIN_BY_WORD)
    }

    /// Handles a press of a key that answers immediately. Returns whether it answers.
    pub(in crate::chat) fn pressed(&mut self, now: Instant) -> bool {
        let is_past = |since: Option<Instant>| since.is_none_or(|since| now >= since + MOMENT);
        let before = self.pressed.replace(now);
        self.asked.is_some() && is_past(self.asked) && is_past(before)
    }
}

/// Returns the decision of a key that answers immediately: Alt with the letter of the answer.
pub(in crate::chat) fn decision(key: &KeyEvent) -> Option<ApprovalDecision> {
    let is_alt = key.modifiers - KeyModifiers::SHIFT == KeyModifiers::ALT;
    if !is_alt || key.kind == KeyEventKind::Release {
        return None;
    }
    match key.code {
        KeyCode::Char('y' | 'Y') => Some(ApprovalDecision::Once),
        KeyCode::Char('s' | 'S') => Some(ApprovalDecision::Session),
        KeyCode::Char('a' | 'A') => Some(ApprovalDecision::Always),
        KeyCode::Char('n' | 'N') => Some(ApprovalDecision::Deny),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_line_that_is_being_written_stays_until_its_writer_pauses() {
        let (mut attention, start) = (QuestionTiming::default(), Instant::now());
        attention.typed(start);
        assert!(!attention.asked(start + millis(100)));
        attention.typed(start + millis(250));
        assert_eq!(attention.rest(start + millis(400)), Some(millis(150)));
        assert!(!attention.takes_line(start + millis(549)) && attention.waits());
        assert!(attention.takes_line(start + millis(550)) && !attention.waits());
        assert_eq!(attention.rest(start + millis(900)), None);
        assert!(!attention.takes_line(start + millis(900)), "it is said once");
    }

    #[test]
    fn who_does_not_type_is_asked_at_once() {
        let (mut attention, start) = (QuestionTiming::default(), Instant::now());
        assert!(attention.asked(start));
        attention.settled();
        attention.typed(start);
        assert!(attention.asked(start + MOMENT));
        attention.settled();
        attention.typed(start + millis(500));
        assert!(!attention.asked(start + millis(600)));
        assert!(attention.sent() && !attention.waits() && !attention.sent());
    }

    #[test]
    fn a_key_answers_what_was_seen_and_once() {
        let (mut attention, start) = (QuestionTiming::default(), Instant::now());
        assert!(!attention.pressed(start), "nothing is asked");
        let asked = start + millis(1_000);
        attention.asked(asked);
        assert!(!attention.pressed(asked + millis(299)), "typed ahead");
        assert!(!attention.pressed(asked + millis(310)), "held");
        assert!(attention.pressed(asked + millis(610)));
        // The next question comes immediately; the key is still held, or bounces.
        attention.settled();
        let asked = asked + millis(620);
        attention.asked(asked);
        for held in 1..40 {
            assert!(!attention.pressed(asked + millis(held * 33)));
        }
        assert!(attention.pressed(asked + millis(40 * 33 + 300)));
    }

    #[test]
    fn a_key_that_stops_comes_too_late_once() {
        let (mut attention, start) = (QuestionTiming::default(), Instant::now());
        assert!(!attention.meant_to_stop(start), "nothing has run");
        attention.ended(start);
        assert!(attention.meant_to_stop(start + millis(999)));
        assert!(!attention.meant_to_stop(start + millis(999)), "it was said");
        attention.ended(start);
        assert!(!attention.meant_to_stop(start + millis(1_000)));
    }

    #[test]
    fn leaving_takes_a_second_press_soon_after_the_first() {
        let (mut attention, start) = (QuestionTiming::default(), Instant::now());
        assert!(!attention.leaves(start));
        assert!(attention.leaves(start + millis(2_999)));
        let mut attention = QuestionTiming::default();
        assert!(!attention.leaves(start));
        assert!(
            !attention.leaves(start + AGAIN),
            "too late: it is the first one again"
        );
        assert!(attention.leaves(start + AGAIN + millis(10)));
        assert!(
            !attention.leaves_by_word(start + AGAIN + millis(20)),
            "a key is not a word"
        );
        assert!(attention.leaves_by_word(start + AGAIN + millis(20_000)));
    }

    #[test]
    fn only_alt_with_a_letter_decides() {
        let key = |c, modifiers| decision(&KeyEvent::new(KeyCode::Char(c), modifiers));
        assert_eq!(key('y', KeyModifiers::ALT), Some(ApprovalDecision::Once));
        assert_eq!(key('s', KeyModifiers::ALT), Some(ApprovalDecision::Session));
        assert_eq!(
            key('A', KeyModifiers::ALT | KeyModifiers::SHIFT),
            Some(ApprovalDecision::Always)
        );
        assert_eq!(key('n', KeyModifiers::ALT), Some(ApprovalDecision::Deny));
        for (c, modifiers) in [
            ('y', KeyModifiers::NONE),
            ('A', KeyModifiers::SHIFT),
            ('y', KeyModifiers::CONTROL | KeyModifiers::ALT),
            ('b', KeyModifiers::ALT),
        ] {
            assert_eq!(key(c, modifiers), None, "{c} {modifiers:?}");
        }
    }
}
