//! The time that does not count against the limit of a run: no program was running, or every open call waited
//! for a known time.

use agentx_types::Timestamp;

use super::Run;

impl Run {
    /// Milliseconds until `at` that count against its limit: those in which a program was there, and the run
    /// did not wait for a time.
    pub(crate) fn used_ms(&self, at: Timestamp) -> u64 {
        let paused = self.paused_at.map_or(0, |since| at.millis_since(since));
        at.millis_since(self.started_at)
            .saturating_sub(self.away_ms)
            .saturating_sub(paused)
    }

    /// Notes whether all open calls of the run wait for a time.
    pub(crate) fn set_paused(&mut self, is_paused: bool, at: Timestamp) {
        if is_paused && self.paused_at.is_none() {
            self.paused_at = Some(at);
        } else if !is_paused && let Some(since) = self.paused_at.take() {
            self.away_ms = self.away_ms.saturating_add(at.millis_since(since));
        }
    }

    /// Another program continues with the run: the time between the last fact and now counts as away. The
    /// time since the beginning of a pause counts as such anyway.
    pub(super) fn come_back(&mut self, at: Timestamp) {
        if self.paused_at.is_some() {
            return self.set_paused(false, at);
        }
        self.away_ms = self.away_ms.saturating_add(at.millis_since(self.seen_at));
        self.skip_waiting(self.seen_at, at);
    }
}
