//! The decision whether a command reaches a host: by the list of the settings, or by a person, who is asked
//! once for each host of a session.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use agentx_runtime::BoxFuture;
use agentx_sandbox::HostPattern;
use agentx_types::{SessionId, is_public_address};

/// The decision about a host, and who made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostDecision {
    /// The settings name it.
    Named,
    /// A person allowed it.
    PersonAllowed,
    /// A person refused it.
    PersonRefused,
    /// Nobody answered the question about it in the time for that.
    Unanswered,
    /// Nobody allowed it, and nobody was asked.
    Refused,
    /// It leads to an address that is not of the public internet and that the settings do not name.
    LocalAddress,
}

impl HostDecision {
    pub(crate) fn is_allowed(self) -> bool {
        matches!(self, Self::Named | Self::PersonAllowed)
    }

    /// The word in the details of a call.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Named => "named",
            Self::PersonAllowed => "allowed",
            Self::PersonRefused => "refused_by_person",
            Self::Unanswered => "unanswered",
            Self::Refused => "refused",
            Self::LocalAddress => "local_address",
        }
    }
}

/// The answer to the question about a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerAboutHost {
    /// A person said whether it may be reached.
    Given(bool),
    /// Nobody answered in the time for that.
    Missing,
    /// Nobody can be asked now.
    NotAsked,
}

/// Asks a person about a host.
pub(crate) trait AskAboutHost: Send + Sync {
    /// Asks whether the host may be reached.
    fn ask<'a>(&'a self, host: &'a str) -> BoxFuture<'a, AnswerAboutHost>;
}

/// The most hosts whose answers are kept for one session, and about which one command gets none.
const MOST_ANSWERS: usize = 256;
/// The most sessions whose answers are kept.
const MOST_SESSIONS: usize = 1_024;

/// The answers of people about hosts, kept for each session while the program runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostAnswers {
    sessions: Arc<Mutex<HashMap<SessionId, BTreeMap<String, bool>>>>,
}

impl HostAnswers {
    fn find(&self, session: &SessionId, host: &str) -> Option<bool> {
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.get(session)?.get(host).copied()
    }

    fn keep(&self, session: &SessionId, host: &str, answer: bool) {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if sessions.len() >= MOST_SESSIONS && !sessions.contains_key(session) {
            // Asked again, which is the safe side.
            sessions.clear();
        }
        let answers = sessions.entry(session.clone()).or_default();
        if answers.len() < MOST_ANSWERS {
            answers.insert(host.to_owned(), answer);
        }
    }

    /// Forgets the answers of a session.
    pub(crate) fn forget(&self, session: &SessionId) {
        self.sessions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(session);
    }
}

/// The gate of one command.
pub(crate) struct HostGate {
    patterns: Vec<HostPattern>,
    asking: Option<Box<dyn AskAboutHost>>,
    session: SessionId,
    answers: HostAnswers,
    /// The hosts about which nobody answered: a client that tries again does not wait once more. It is locked
    /// during a question, so a second connection to the same host waits for the first answer.
    unanswered: tokio::sync::Mutex<BTreeSet<String>>,
}

impl HostGate {
    /// A gate that asks `asking` about hosts that no pattern names.
    pub(crate) fn new(
        patterns: Vec<HostPattern>,
        asking: Option<Box<dyn AskAboutHost>>,
        session: SessionId,
        answers: HostAnswers,
    ) -> Self {
        Self {
            patterns,
            asking,
            session,
            answers,
            unanswered: tokio::sync::Mutex::default(),
        }
    }

    /// Decides about a host.
    pub(super) async fn decide(&self, host: &str, port: u16) -> HostDecision {
        if self.patterns.iter().any(|pattern| pattern.fits(host, port)) {
            return HostDecision::Named;
        }
        let Some(asking) = &self.asking else {
            return HostDecision::Refused;
        };
        let mut unanswered = self.unanswered.lock().await;
        let answer = match self.answers.find(&self.session, host) {
            Some(answer) => AnswerAboutHost::Given(answer),
            None if unanswered.contains(host) => AnswerAboutHost::Missing,
            None if unanswered.len() >= MOST_ANSWERS => AnswerAboutHost::NotAsked,
            None => asking.ask(host).await,
        };
        match answer {
            AnswerAboutHost::Given(is_allowed) => {
                self.answers.keep(&self.session, host, is_allowed);
                if is_allowed {
                    HostDecision::PersonAllowed
                } else {
                    HostDecision::PersonRefused
                }
            }
            AnswerAboutHost::Missing => {
                unanswered.insert(host.to_owned());
                HostDecision::Unanswered
            }
            AnswerAboutHost::NotAsked => HostDecision::Refused,
        }
    }

    /// Returns whether a host may lead to this address.
    pub(super) fn allows_address(&self, host: &str, address: IpAddr) -> bool {
        is_public_address(address)
            || self
                .patterns
                .iter()
                .any(|pattern| pattern.names_address(host, address))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// Allows hosts that begin with `good`, does not answer about those that begin with `nobody`, and counts
    /// the questions.
    struct Person(Arc<AtomicU64>);

    impl AskAboutHost for Person {
        fn ask<'a>(&'a self, host: &'a str) -> BoxFuture<'a, AnswerAboutHost> {
            self.0.fetch_add(1, Ordering::Relaxed);
            let answer = match host {
                "away.example" => AnswerAboutHost::NotAsked,
                host if host.starts_with("nobody") => AnswerAboutHost::Missing,
                host => AnswerAboutHost::Given(host.starts_with("good")),
            };
            Box::pin(std::future::ready(answer))
        }
    }

    fn gate(asked: &Arc<AtomicU64>, answers: &HostAnswers) -> HostGate {
        let patterns = ["crates.io", "localhost"]
            .iter()
            .filter_map(|text| HostPattern::parse(text));
        let person: Box<dyn AskAboutHost> = Box::new(Person(Arc::clone(asked)));
        let session = SessionId::new("ses_1");
        HostGate::new(patterns.collect(), Some(person), session, answers.clone())
    }

    #[tokio::test]
    async fn a_person_is_asked_once_for_each_host_of_a_session() {
        let (asked, answers) = (Arc::default(), HostAnswers::default());
        for _ in 0..2 {
            let gate = gate(&asked, &answers);
            for (host, expected) in [
                ("crates.io", HostDecision::Named),
                ("good.example", HostDecision::PersonAllowed),
                ("bad.example", HostDecision::PersonRefused),
            ] {
                assert_eq!(gate.decide(host, 443).await, expected, "{host}");
            }
        }
        assert_eq!(asked.load(Ordering::Relaxed), 2);
        answers.forget(&SessionId::new("ses_1"));
        gate(&asked, &answers).decide("good.example", 443).await;
        assert_eq!(asked.load(Ordering::Relaxed), 3);
    }

    /// Each question waits for minutes, and clients try again.
    #[tokio::test]
    async fn a_host_about_which_nobody_answers_is_asked_about_once_in_a_command() {
        let (asked, answers) = (Arc::default(), HostAnswers::default());
        let this = gate(&asked, &answers);
        for _ in 0..3 {
            let decision = this.decide("nobody.example", 443).await;
            assert_eq!(decision, HostDecision::Unanswered);
            assert!(!decision.is_allowed());
        }
        assert_eq!(asked.load(Ordering::Relaxed), 1);
        assert_eq!(
            this.decide("good.example", 443).await,
            HostDecision::PersonAllowed
        );
        gate(&asked, &answers).decide("nobody.example", 443).await;
        assert_eq!(asked.load(Ordering::Relaxed), 3, "the next command asks again");
        // The answer to the question of another command is one for the session.
        answers.keep(&SessionId::new("ses_1"), "nobody.example", true);
        assert_eq!(
            this.decide("nobody.example", 443).await,
            HostDecision::PersonAllowed
        );
    }

    /// The person may be back, or the approval mode another one, before the command tries again.
    #[tokio::test]
    async fn a_host_about_which_nobody_could_be_asked_is_asked_about_again() {
        let (asked, answers) = (Arc::default(), HostAnswers::default());
        let gate = gate(&asked, &answers);
        for _ in 0..2 {
            assert_eq!(gate.decide("away.example", 443).await, HostDecision::Refused);
        }
        assert_eq!(asked.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn hosts_without_an_answer_are_bounded() {
        let asked = Arc::default();
        let gate = gate(&asked, &HostAnswers::default());
        for number in 0..MOST_ANSWERS {
            let decision = gate.decide(&format!("nobody{number}.example"), 443).await;
            assert_eq!(decision, HostDecision::Unanswered);
        }
        assert_eq!(gate.decide("good.example", 443).await, HostDecision::Refused);
        assert_eq!(
            gate.decide("nobody0.example", 443).await,
            HostDecision::Unanswered
        );
        assert_eq!(asked.load(Ordering::Relaxed), 256);
    }

    #[tokio::test]
    async fn an_address_that_is_not_public_has_to_be_named() {
        let gate = gate(&Arc::default(), &HostAnswers::default());
        for (host, address, expected) in [
            ("crates.io", "1.1.1.1", true),
            ("crates.io", "127.0.0.1", false),
            ("crates.io", "169.254.169.254", false),
            ("localhost", "127.0.0.1", true),
            ("localhost", "10.0.0.1", false),
        ] {
            let found = gate.allows_address(host, address.parse().unwrap());
            assert_eq!(found, expected, "{host} {address}");
        }
    }
}
