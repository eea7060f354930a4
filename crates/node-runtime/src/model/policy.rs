//! The timeouts, retries and pauses of a call: values and one pure decision.
//!
//! The decision depends only on the earlier failures and a random number, so it is tested without clocks or
//! servers. With the defaults an overloaded server is tried again after about 0.5, 1, 2, 4, 8 and 16 seconds
//! and then every 30 seconds, each pause between half of that and all of it, until 10 minutes are over. A
//! `retry-after` of the provider replaces a shorter pause; one that is longer than [`RetryPolicy::retry_for`]
//! ends the call immediately, because a person waits for it.
//!
//! A refusal without a word (HTTP 400 with an empty body) is tried again once, after that pause: gateways
//! answer so for a moment, and the agent would else send plainer requests from then on.
//!
//! Two failures end the call after 15 seconds, because waiting hardly helps: an address of this machine at
//! which nothing listens, and a server that is not a vendor's and answers HTTP 500 with the same text three
//! times. The latter counts as a refusal of the request, which the agent then makes plainer. The server may
//! be down for a while all the same, so each plainer form is retried for a minute, which the announced time
//! includes. A 500 whose words mean an overload or a limit of requests does not count as a refusal: AgentX
//! waits as for a 503 or a 429.

use std::time::Duration;

use agentx_llm::ErrorCode;
use agentx_runtime::BoxFuture;
use agentx_types::RequestPart;

use super::failure::AttemptFailure;
use super::given_up_forms::FormAttempts;
use super::shown_time::whole_seconds;

/// The conditions and the number of retries of a failed call.
///
/// The values are those of `model_calls.retries` and `model_calls.max_retry_time`:
///
/// ```
/// use std::time::Duration;
///
/// use agentx_node_runtime::model::{CallLimits, RetryPolicy};
///
/// assert_eq!(RetryPolicy::default().retries, 4);
/// assert_eq!(RetryPolicy::default().retry_for, Duration::from_secs(600));
/// assert_eq!(CallLimits::default().total, None, "an answer streams for as long as it takes");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Maximum number of retries for a broken or malformed answer: each may have to be paid. Default 4. With
    /// 0 no failure is retried.
    pub retries: u32,
    /// Maximum total time of retries for a server that is overloaded, failing or unreachable, including
    /// attempts; also the longest delay that a provider may request. Default 10 min.
    pub retry_for: Duration,
    /// The wait before the second attempt; it doubles with each. Default 500 ms.
    pub base: Duration,
    /// The longest wait of our own choice. Default 30 s.
    pub cap: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            retries: 4,
            retry_for: Duration::from_secs(10 * 60),
            base: Duration::from_millis(500),
            cap: Duration::from_secs(30),
        }
    }
}

/// Maximum time of retries for a failure that is unlikely to end on its own: a person may start the server
/// meanwhile.
const SOON: Duration = Duration::from_secs(15);
/// The same for a plainer form of a request.
const PLAINER: Duration = Duration::from_secs(60);
/// Number of failures with the same text that cannot be a coincidence.
const SAME: u32 = 3;

/// The kind of server, as far as it matters for retries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ServerKind {
    /// A vendor's server that many people use, so that its failures are repaired.
    Vendors,
    /// A server on this machine.
    Here,
    /// Any other server, such as a gateway.
    Other,
}

/// The decision after a failed attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RetryDecision {
    /// Another one, after this time.
    Retry(Duration),
    /// No further attempt; the text is an addition to the failure's own message.
    GiveUp(Option<String>),
}

/// A failed attempt: the data that the decision needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct FailedAttempt<'a> {
    pub(super) failure: &'a AttemptFailure,
    /// Whether any content of an answer came. The start of an answer does not count, nor does a failure
    /// before its first word.
    pub(super) begun: bool,
    /// The duration of the attempt.
    pub(super) took: Duration,
    pub(super) server: ServerKind,
}

/// The attempts of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tries {
    /// The attempts in earlier forms of the request, if this is a plainer one.
    earlier: Option<FormAttempts>,
    attempts: u32,
    /// Attempts that broke off or made no sense.
    broken: u32,
    /// The time for which an unavailable server has been retried.
    waited: Duration,
    /// The remaining time of retries if the server continues to fail like this.
    left: Option<Duration>,
    /// The words of the last failure, and how often they came in a row.
    words: (String, u32),
}

impl Tries {
    /// The attempts of a call; `earlier`: those in earlier forms of the request, if this is a plainer one.
    pub(super) fn with_earlier(earlier: Option<FormAttempts>) -> Self {
        Self {
            earlier,
            ..Self::default()
        }
    }

    /// The attempts in all forms of the request.
    pub(super) fn in_all_forms(&self) -> FormAttempts {
        let earlier = self.earlier.unwrap_or_default();
        FormAttempts {
            attempts: earlier.attempts + self.attempts,
            waited: earlier.waited + self.waited,
        }
    }

    /// Decides what follows the next failed attempt. `jitter` is from 0 up to 1.
    pub(super) fn next(
        &mut self,
        policy: &RetryPolicy,
        failed: FailedAttempt<'_>,
        jitter: f64,
    ) -> RetryDecision {
        self.attempts += 1;
        self.left = None;
        let failure = failed.failure;
        self.note_words(failure);
        if !failure.retryable || policy.retries == 0 {
            return RetryDecision::GiveUp(
                (self.attempts > 1).then(|| format!("at attempt {}", self.attempts)),
            );
        }
        let asked = failure.retry_after.unwrap_or_default();
        if asked > policy.retry_for {
            let (asked, most) = (whole_seconds(asked), whole_seconds(policy.retry_for));
            return RetryDecision::GiveUp(Some(format!(
                "it asks to wait {asked}, but `model_calls.max_retry_time` allows {most}"
            )));
        }
        let wait = policy.backoff(self.attempts, jitter).max(asked);
        if failed.begun || !failure.unavailable {
            self.broken += 1;
            // The agent changes a request that is refused without a word, so this one is not repeated for
            // long.
            let wordless = failure.refused == Some(RequestPart::Unknown);
            let most = if wordless {
                policy.retries.min(1)
            } else {
                policy.retries
            };
            return if self.broken > most {
                self.give_up()
            } else {
                RetryDecision::Retry(wait)
            };
        }
        // The time before the first failure was no waiting.
        if !self.waited.is_zero() {
            self.waited += failed.took;
        }
        let left = self
            .max_retry_time(policy, failed, self.words.1)
            .saturating_sub(self.waited);
        if left.is_zero() || asked > left {
            return self.give_up();
        }
        let wait = wait.min(left);
        let same = self
            .max_retry_time(policy, failed, SAME)
            .saturating_sub(self.waited);
        self.left = Some(same.max(wait) + self.time_of_plainer_form(policy, failed));
        self.waited += wait;
        RetryDecision::Retry(wait)
    }

    /// Returns the maximum total time of retries for a failure that came `same` times in a row. Servers of
    /// local models answer unsupported requests with a 500 each time (llama.cpp, vLLM), and if nothing
    /// listens on this machine, it will hardly be repaired soon.
    fn max_retry_time(&self, policy: &RetryPolicy, failed: FailedAttempt<'_>, same: u32) -> Duration {
        let is_fixed = is_fixed(failed.failure, same);
        let hardly_ends = match failed.server {
            ServerKind::Vendors => false,
            ServerKind::Here => is_fixed || failed.failure.nobody_listens,
            ServerKind::Other => is_fixed,
        };
        match self.earlier {
            _ if !hardly_ends => policy.retry_for,
            Some(_) if is_fixed => policy.plainer(),
            _ => policy.retry_for.min(SOON),
        }
    }

    /// Returns how long the request will be retried in a plainer form, if this is the first form and the
    /// server continues to fail like this.
    fn time_of_plainer_form(&self, policy: &RetryPolicy, failed: FailedAttempt<'_>) -> Duration {
        let is_followed = self.earlier.is_none()
            && failed.server != ServerKind::Vendors
            && !failed.begun
            && is_fixed(failed.failure, SAME);
        if is_followed {
            policy.plainer()
        } else {
            Duration::ZERO
        }
    }

    /// Returns whether the failures of the call look like a refusal of this request: each was an HTTP 500
    /// with the same text, from a server that is not a vendor's. Such servers answer so where others answer
    /// with a 400.
    ///
    /// The failures of a vendor's server pass, and are waited for.
    pub(super) fn look_like_a_refusal(&self, failed: FailedAttempt<'_>) -> bool {
        failed.server != ServerKind::Vendors && !failed.begun && is_fixed(failed.failure, self.words.1)
    }

    /// Numbers do not count: they may be times, or ids of requests.
    fn note_words(&mut self, failure: &AttemptFailure) {
        let words = failure.message.split_whitespace();
        let words: Vec<&str> = words
            .filter(|word| !word.contains(|c: char| c.is_ascii_digit()))
            .collect();
        let words = words.join(" ");
        self.words = if self.words.0 == words {
            (words, self.words.1 + 1)
        } else {
            (words, 1)
        };
    }

    fn give_up(&self) -> RetryDecision {
        let FormAttempts { attempts, waited } = self.in_all_forms();
        RetryDecision::GiveUp((attempts > 1).then(|| match waited.as_secs() {
            0 => format!("gave up after {attempts} attempts"),
            _ => format!("gave up after {attempts} attempts in {}", whole_seconds(waited)),
        }))
    }

    /// The remaining time of retries if the server continues to fail like this, including the next pause;
    /// `None` if attempts are counted instead.
    pub(super) fn left(&self) -> Option<Duration> {
        self.left
    }

    /// Returns the number of failed attempts.
    pub(super) fn attempts(&self) -> u32 {
        self.attempts
    }
}

/// Returns whether a failure that came `same` times in a row is an HTTP 500 that is unlikely to end on its
/// own. The words of an overload or of a limit of requests say that it does.
fn is_fixed(failure: &AttemptFailure, same: u32) -> bool {
    let passing = [ErrorCode::Overloaded, ErrorCode::RateLimited];
    let passes = passing.iter().any(|code| code.as_str() == failure.code);
    failure.status == Some(500) && failure.retry_after.is_none() && same >= SAME && !passes
}

impl RetryPolicy {
    /// The time for a plainer form of a request, behind that of the first form.
    fn plainer(&self) -> Duration {
        self.retry_for.saturating_sub(SOON).min(PLAINER)
    }

    /// Between half of the doubled pause and all of it, so that many clients do not return at the same time.
    fn backoff(&self, attempt: u32, jitter: f64) -> Duration {
        let doubled = self
            .base
            .saturating_mul(1u32.checked_shl(attempt - 1).unwrap_or(u32::MAX))
            .min(self.cap);
        doubled.mul_f64(0.5 + 0.5 * jitter.clamp(0.0, 1.0))
    }
}

/// Waits between attempts. A trait, so that tests neither wait nor roll dice.
pub trait Backoff: Send + Sync {
    /// Ends after `time`.
    fn wait(&self, time: Duration) -> BoxFuture<'static, ()>;

    /// A number from 0 up to 1, another one each time.
    fn jitter(&self) -> f64;
}

/// Waits on tokio's timer, with real dice.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemBackoff;

impl Backoff for SystemBackoff {
    fn wait(&self, time: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(time))
    }

    fn jitter(&self) -> f64 {
        // Without a random number every client would wait equally long: worse for the provider, but not
        // wrong.
        getrandom::u32().map_or(0.5, |dice| f64::from(dice) / f64::from(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(unavailable: bool, retry_after: Option<u64>) -> AttemptFailure {
        AttemptFailure {
            code: "rate_limited",
            message: "slow down".into(),
            status: Some(429),
            retryable: true,
            unavailable,
            retry_after: retry_after.map(Duration::from_secs),
            overflow: None,
            refused: None,
            longest_answer: None,
            most_media: None,
            place: None,
            nobody_listens: false,
            was_said: true,
        }
    }

    fn at_once(failure: &AttemptFailure) -> FailedAttempt<'_> {
        FailedAttempt {
            failure,
            begun: false,
            took: Duration::ZERO,
            server: ServerKind::Vendors,
        }
    }

    fn first(failure: &AttemptFailure, jitter: f64) -> RetryDecision {
        Tries::default().next(&RetryPolicy::default(), at_once(failure), jitter)
    }

    #[test]
    fn a_refusal_without_a_word_is_tried_again_once() {
        let wordless = AttemptFailure {
            refused: Some(RequestPart::Unknown),
            ..failure(false, None)
        };
        let mut tries = Tries::default();
        let mut next = || tries.next(&RetryPolicy::default(), at_once(&wordless), 0.0);
        assert_eq!(next(), RetryDecision::Retry(Duration::from_millis(250)));
        assert!(matches!(next(), RetryDecision::GiveUp(_)));
    }

    #[test]
    fn waits_double_up_to_the_cap_and_vary_by_half() {
        let policy = RetryPolicy {
            retries: 40,
            ..RetryPolicy::default()
        };
        let broken = failure(false, None);
        for (jitter, part) in [(0.0, 1), (1.0, 2)] {
            let mut tries = Tries::default();
            let waits: Vec<RetryDecision> = (0..40)
                .map(|_| tries.next(&policy, at_once(&broken), jitter))
                .collect();
            for (attempt, half) in [(1, 250), (2, 500), (3, 1000), (8, 15_000), (40, 15_000)] {
                let expected = Duration::from_millis(half * part);
                assert_eq!(
                    waits[attempt - 1],
                    RetryDecision::Retry(expected),
                    "attempt {attempt}"
                );
            }
        }
    }

    #[test]
    fn the_provider_may_ask_for_more_but_not_for_ever() {
        let retry = |seconds| RetryDecision::Retry(Duration::from_secs(seconds));
        assert_eq!(first(&failure(true, Some(7)), 0.0), retry(7));
        assert_eq!(
            first(&failure(true, Some(0)), 1.0),
            RetryDecision::Retry(Duration::from_millis(500))
        );
        assert_eq!(first(&failure(true, Some(600)), 0.0), retry(600));
        for (seconds, named) in [(601, "10m1s"), (86_399, "23h59m59s"), (172_800, "2d")] {
            let why = format!("it asks to wait {named}, but `model_calls.max_retry_time` allows 10m");
            let next = first(&failure(true, Some(seconds)), 0.0);
            assert_eq!(next, RetryDecision::GiveUp(Some(why)));
        }
    }

    #[test]
    fn an_unavailable_server_is_waited_for_as_long_as_it_may() {
        let (policy, away) = (RetryPolicy::default(), failure(true, None));
        let (mut tries, mut waited) = (Tries::default(), Duration::ZERO);
        let last = loop {
            let took = Duration::from_secs(3);
            let failed = FailedAttempt {
                took,
                ..at_once(&away)
            };
            match tries.next(&policy, failed, 1.0) {
                RetryDecision::Retry(wait) => waited += wait + took,
                last => break last,
            }
        };
        assert!(waited <= policy.retry_for + Duration::from_secs(3) && waited > Duration::from_secs(590));
        let attempts = tries.attempts();
        assert!((15..40).contains(&attempts), "{attempts}");
        let why = |why: &str| why.starts_with(&format!("gave up after {attempts} attempts in 10m"));
        assert!(
            matches!(&last, RetryDecision::GiveUp(Some(said)) if why(said)),
            "{last:?}"
        );
    }

    #[test]
    fn what_may_have_to_be_paid_again_is_tried_a_few_times() {
        let policy = RetryPolicy {
            retries: 2,
            ..RetryPolicy::default()
        };
        let (broken, away) = (failure(false, None), failure(true, None));
        let begun = FailedAttempt {
            begun: true,
            ..at_once(&away)
        };
        for failed in [at_once(&broken), begun] {
            let mut tries = Tries::default();
            assert!(matches!(
                tries.next(&policy, failed, 0.0),
                RetryDecision::Retry(_)
            ));
            assert!(matches!(
                tries.next(&policy, failed, 0.0),
                RetryDecision::Retry(_)
            ));
            let why = "gave up after 3 attempts".to_owned();
            assert_eq!(tries.next(&policy, failed, 0.0), RetryDecision::GiveUp(Some(why)));
        }
    }

    #[test]
    fn it_ends_at_once_where_it_is_hopeless_or_not_wanted() {
        let hopeless = AttemptFailure {
            retryable: false,
            ..failure(true, Some(1))
        };
        assert_eq!(first(&hopeless, 0.0), RetryDecision::GiveUp(None));
        let never = RetryPolicy {
            retries: 0,
            ..RetryPolicy::default()
        };
        let away = failure(true, None);
        assert_eq!(
            Tries::default().next(&never, at_once(&away), 0.0),
            RetryDecision::GiveUp(None)
        );
    }

    /// Returns the total time of retries for a server that fails so each time, in seconds.
    fn waits(server: ServerKind, failures: &[AttemptFailure]) -> u64 {
        let (policy, mut tries, mut waited) = (RetryPolicy::default(), Tries::default(), Duration::ZERO);
        for failure in failures.iter().cycle() {
            let failed = FailedAttempt {
                server,
                ..at_once(failure)
            };
            let RetryDecision::Retry(wait) = tries.next(&policy, failed, 1.0) else {
                break;
            };
            assert!(tries.left().is_some_and(|left| left >= wait));
            waited += wait;
        }
        assert!(tries.attempts() >= SAME);
        waited.as_secs()
    }

    #[test]
    fn the_time_that_is_named_is_the_time_that_passes() {
        let fails = AttemptFailure {
            code: "server_error",
            status: Some(500),
            message: "made up".to_owned(),
            ..failure(true, None)
        };
        let earlier = Some(FormAttempts {
            attempts: 7,
            waited: Duration::from_secs(15),
        });
        for (server, earlier, all, plainer) in [
            (ServerKind::Here, None, 15, 60),
            (ServerKind::Other, None, 15, 60),
            (ServerKind::Other, earlier, 60, 0),
            (ServerKind::Vendors, None, 600, 0),
        ] {
            let (policy, mut tries) = (RetryPolicy::default(), Tries::with_earlier(earlier));
            let mut waited = Duration::ZERO;
            let failed = FailedAttempt {
                server,
                ..at_once(&fails)
            };
            while let RetryDecision::Retry(wait) = tries.next(&policy, failed, 1.0) {
                let named = waited + tries.left().unwrap();
                let until = Duration::from_secs(all + plainer);
                assert_eq!(named, until, "{server:?} after {waited:?}");
                waited += wait;
            }
            assert_eq!(waited, Duration::from_secs(all), "{server:?}");
        }
    }

    #[test]
    fn a_500_that_comes_each_time_looks_like_a_refusal_unless_it_is_a_vendors() {
        let says = |status: u16, message: &str| AttemptFailure {
            code: "server_error",
            status: Some(status),
            message: message.to_owned(),
            ..failure(true, None)
        };
        let refused = |server: ServerKind, failures: [AttemptFailure; 3]| {
            let mut tries = Tries::default();
            failures.iter().all(|failure| {
                let failed = FailedAttempt {
                    server,
                    ..at_once(failure)
                };
                tries.next(&RetryPolicy::default(), failed, 1.0);
                tries.attempts() < 3 || tries.look_like_a_refusal(failed)
            })
        };
        let same = || [(); 3].map(|()| says(500, "made up"));
        assert!(refused(ServerKind::Here, same()) && refused(ServerKind::Other, same()));
        assert!(!refused(ServerKind::Vendors, same()));
        let others = [
            says(500, "one thing"),
            says(500, "another"),
            says(500, "one thing"),
        ];
        assert!(!refused(ServerKind::Other, others));
        assert!(!refused(
            ServerKind::Other,
            [(); 3].map(|()| says(503, "made up"))
        ));
        for code in ["overloaded", "rate_limited"] {
            let passing = || AttemptFailure {
                code,
                ..says(500, "made up")
            };
            assert!(!refused(ServerKind::Other, [(); 3].map(|()| passing())), "{code}");
        }
    }

    #[test]
    fn what_hardly_ends_by_itself_is_waited_for_a_moment() {
        let nobody = AttemptFailure {
            nobody_listens: true,
            status: None,
            ..failure(true, None)
        };
        let says = |status: u16, message: &str| AttemptFailure {
            code: "server_error",
            status: Some(status),
            message: message.to_owned(),
            ..failure(true, None)
        };
        let servers = [ServerKind::Here, ServerKind::Other, ServerKind::Vendors];
        let all = |failures: &[AttemptFailure]| servers.map(|server| waits(server, failures));
        assert_eq!(all(&[nobody]), [15, 600, 600]);
        let same = [says(500, "made up: request 17"), says(500, "made up: request 18")];
        assert_eq!(all(&same), [15, 15, 600]);
        assert_eq!(all(&[says(500, "one thing"), says(500, "another")]), [600; 3]);
        assert_eq!(all(&[says(503, "Loading model")]), [600; 3]);
        let overload = AttemptFailure {
            code: "overloaded",
            ..says(500, "made up")
        };
        assert_eq!(all(&[overload]), [600; 3]);
    }
}
