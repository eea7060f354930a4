//! How long a call may take, when it is tried again, and the waiting in between: values and one pure decision.

use std::time::Duration;

use agentx_runtime::BoxFuture;

use super::failure::Failure;

/// How long the parts of one attempt may take, and how much it may bring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallLimits {
    /// Until a connection stands. Default 10 s.
    pub connect: Duration,
    /// From the request to the first byte of the answer's body. Default 120 s.
    pub first_byte: Duration,
    /// Between two pieces of the body. Default 120 s.
    pub idle: Duration,
    /// The whole attempt. Default 15 min.
    pub total: Duration,
    /// Bytes of one body. Default 64 MiB. (A line or event of a stream is bounded by its decoder.)
    pub max_body_bytes: usize,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(120),
            idle: Duration::from_secs(120),
            total: Duration::from_secs(15 * 60),
            max_body_bytes: 64 << 20,
        }
    }
}

/// When and how often a failed call is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Attempts after the first. Default 4.
    pub retries: u32,
    /// The wait before the second attempt; it doubles with each. Default 500 ms.
    pub base: Duration,
    /// The longest wait of our own choice. Default 30 s.
    pub cap: Duration,
    /// The longest wait that a provider may ask for; where it asks for more, the call is given up. Default 5 min.
    pub max_retry_after: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            retries: 4,
            base: Duration::from_millis(500),
            cap: Duration::from_secs(30),
            max_retry_after: Duration::from_secs(5 * 60),
        }
    }
}

/// What follows a failed attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Another one, after this time.
    Retry(Duration),
    /// None; the text is what there is to add to the failure's own message.
    GiveUp(Option<String>),
}

impl RetryPolicy {
    /// What follows attempt number `attempt` (from 1) that failed so. `jitter` is from 0 up to 1.
    pub(super) fn next(&self, attempt: u32, failure: &Failure, jitter: f64) -> Next {
        if !failure.retryable {
            return Next::GiveUp((attempt > 1).then(|| format!("at attempt {attempt}")));
        }
        let asked = failure.retry_after.unwrap_or_default();
        if asked > self.max_retry_after {
            let (asked, most) = (asked.as_secs(), self.max_retry_after.as_secs());
            return Next::GiveUp(Some(format!(
                "it asks to wait {asked} s; the longest wait is {most} s"
            )));
        }
        if attempt > self.retries {
            return Next::GiveUp((attempt > 1).then(|| format!("gave up after {attempt} attempts")));
        }
        Next::Retry(self.backoff(attempt, jitter).max(asked))
    }

    /// Between half of the doubled wait and all of it, so that many clients do not come back at the same time.
    fn backoff(&self, attempt: u32, jitter: f64) -> Duration {
        let doubled = self
            .base
            .saturating_mul(1u32.checked_shl(attempt - 1).unwrap_or(u32::MAX))
            .min(self.cap);
        doubled.mul_f64(0.5 + 0.5 * jitter.clamp(0.0, 1.0))
    }
}

/// Waits between attempts. A trait, so that tests neither wait nor roll dice.
pub trait Pause: Send + Sync {
    /// Ends after `time`.
    fn wait(&self, time: Duration) -> BoxFuture<'static, ()>;

    /// A number from 0 up to 1, another one each time.
    fn jitter(&self) -> f64;
}

/// Waits on tokio's timer, with real dice.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemPause;

impl Pause for SystemPause {
    fn wait(&self, time: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(time))
    }

    fn jitter(&self) -> f64 {
        // Without dice every client would wait the same: worse for the provider, not wrong.
        getrandom::u32().map_or(0.5, |dice| f64::from(dice) / f64::from(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(retryable: bool, retry_after: Option<u64>) -> Failure {
        Failure {
            code: "rate_limited",
            message: "slow down".into(),
            status: Some(429),
            retryable,
            retry_after: retry_after.map(Duration::from_secs),
        }
    }

    #[test]
    fn waits_double_up_to_the_cap_and_vary_by_half() {
        let policy = RetryPolicy {
            retries: 40,
            ..RetryPolicy::default()
        };
        let wait = |attempt, jitter| policy.next(attempt, &failure(true, None), jitter);
        for (attempt, low, high) in [
            (1, 250, 500),
            (2, 500, 1000),
            (3, 1000, 2000),
            (8, 15_000, 30_000),
            (40, 15_000, 30_000),
        ] {
            assert_eq!(wait(attempt, 0.0), Next::Retry(Duration::from_millis(low)));
            assert_eq!(wait(attempt, 1.0), Next::Retry(Duration::from_millis(high)));
        }
    }

    #[test]
    fn the_provider_may_ask_for_more_but_not_for_ever() {
        let policy = RetryPolicy::default();
        assert_eq!(
            policy.next(1, &failure(true, Some(7)), 0.0),
            Next::Retry(Duration::from_secs(7))
        );
        assert_eq!(
            policy.next(1, &failure(true, Some(0)), 1.0),
            Next::Retry(Duration::from_millis(500))
        );
        assert_eq!(
            policy.next(1, &failure(true, Some(300)), 0.0),
            Next::Retry(Duration::from_secs(300))
        );
        let why = "it asks to wait 301 s; the longest wait is 300 s".to_owned();
        assert_eq!(
            policy.next(1, &failure(true, Some(301)), 0.0),
            Next::GiveUp(Some(why))
        );
    }

    #[test]
    fn it_ends_after_the_last_retry_and_at_once_where_it_is_hopeless() {
        let policy = RetryPolicy {
            retries: 2,
            ..RetryPolicy::default()
        };
        assert!(matches!(
            policy.next(2, &failure(true, None), 0.0),
            Next::Retry(_)
        ));
        let why = "gave up after 3 attempts".to_owned();
        assert_eq!(policy.next(3, &failure(true, None), 0.0), Next::GiveUp(Some(why)));
        assert_eq!(policy.next(1, &failure(false, Some(1)), 0.0), Next::GiveUp(None));
        let never = RetryPolicy { retries: 0, ..policy };
        assert_eq!(never.next(1, &failure(true, None), 0.0), Next::GiveUp(None));
    }
}
