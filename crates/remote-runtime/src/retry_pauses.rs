//! The pauses between attempts to reach a server over HTTP.
//!
//! A program at which a person waits makes three attempts within half a second: the person decides what is
//! next. An unattended program has patience, as on its WebSocket: its pauses double, up to two seconds, and
//! each is a random time between half of that and all of it, so that clients of a server that restarts
//! differ.

use std::collections::VecDeque;
use std::time::Duration;

use agentx_runtime::RuntimeError;
use tokio::time::{Instant, sleep};

/// The pauses of a program without patience.
const FEW: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(400)];
/// The longest pause between two attempts.
const LONGEST: Duration = Duration::from_secs(2);

/// The pauses of one question.
#[derive(Debug)]
pub(crate) enum RetryPauses {
    /// These, and no more.
    Few(VecDeque<Duration>),
    /// The next one, as long as there is time.
    Until { next: Duration, until: Instant },
}

impl RetryPauses {
    /// Begins at `now`. A program with `patience` begins with the pause `first`.
    pub(crate) fn new(patience: Duration, first: Duration, now: Instant) -> Self {
        if patience.is_zero() {
            return Self::Few(FEW.into());
        }
        Self::Until {
            next: first.min(LONGEST),
            until: now + patience,
        }
    }

    /// The next pause; `None` if no attempt is left. `random` varies it.
    fn next(&mut self, now: Instant, random: u32) -> Option<Duration> {
        match self {
            Self::Few(pauses) => pauses.pop_front(),
            Self::Until { next, until } => {
                let most = *next;
                let pause = most / 2 + (most / 2).mul_f64(f64::from(random) / f64::from(u32::MAX));
                *next = (2 * most).min(LONGEST);
                (now + pause <= *until).then_some(pause)
            }
        }
    }

    /// Waits until the next attempt.
    ///
    /// # Errors
    /// Returns `error`, that of the last attempt, if no other is left.
    pub(crate) async fn wait_or(&mut self, error: RuntimeError) -> Result<(), RuntimeError> {
        let mut random = [0; 4];
        // If the system has no random numbers, each pause is the shortest one, which one client may use.
        let _ = getrandom::fill(&mut random);
        match self.next(Instant::now(), u32::from_le_bytes(random)) {
            Some(pause) => {
                sleep(pause).await;
                Ok(())
            }
            None => Err(error),
        }
    }
}

/// Returns whether another attempt may succeed: the server cannot be reached, or it was started again between
/// its challenge and the signature, and does not know its challenge any more.
pub(crate) fn may_pass(error: &RuntimeError) -> bool {
    match error {
        RuntimeError::Unreachable { .. } => true,
        RuntimeError::Remote { code, .. } => matches!(code.as_str(), "stale_challenge" | "closing"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_patience_there_are_three_attempts() {
        let now = Instant::now();
        let mut pauses = RetryPauses::new(Duration::ZERO, LONGEST, now);
        let mut next = || pauses.next(now, 0);
        assert_eq!([next(), next(), next()], [Some(FEW[0]), Some(FEW[1]), None]);
    }

    #[test]
    fn with_patience_pauses_double_up_to_a_bound_and_end_with_it() {
        let began = Instant::now();
        let mut pauses = RetryPauses::new(Duration::from_secs(10), Duration::from_millis(250), began);
        let (mut now, mut taken) = (began, Vec::new());
        while let Some(pause) = pauses.next(now, u32::MAX) {
            taken.push(pause.as_millis());
            now += pause;
        }
        assert_eq!(taken, [250, 500, 1_000, 2_000, 2_000, 2_000, 2_000]);
        let mut pauses = RetryPauses::new(Duration::from_secs(10), Duration::from_millis(250), began);
        assert_eq!(pauses.next(began, 0), Some(Duration::from_millis(125)));
    }
}
