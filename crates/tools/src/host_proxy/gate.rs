//! The decision whether a command reaches a host: by the list of the settings, or by a person, who is asked
//! once for each host of a session.

use std::collections::{BTreeMap, HashMap};
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
    /// Nobody allowed it.
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
            Self::Refused => "refused",
            Self::LocalAddress => "local_address",
        }
    }
}

/// Asks a person about a host.
pub(crate) trait AskAboutHost: Send + Sync {
    /// Returns whether the host may be reached; `None` if nobody could be asked or nobody answered.
    fn ask<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Option<bool>>;
}

/// The most hosts whose answers are kept for one session.
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
    /// One question at a time: a second connection to the same host waits for the first answer.
    turn: tokio::sync::Mutex<()>,
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
            turn: tokio::sync::Mutex::default(),
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
        let _turn = self.turn.lock().await;
        let answer = match self.answers.find(&self.session, host) {
            Some(answer) => Some(answer),
            None => asking.ask(host).await,
        };
        if let Some(answer) = answer {
            self.answers.keep(&self.session, host, answer);
        }
        match answer {
            Some(true) => HostDecision::PersonAllowed,
            Some(false) => HostDecision::PersonRefused,
            None => HostDecision::Refused,
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

    /// Allows hosts that begin with `good`, and counts the questions.
    struct Person(Arc<AtomicU64>);

    impl AskAboutHost for Person {
        fn ask<'a>(&'a self, host: &'a str) -> BoxFuture<'a, Option<bool>> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Box::pin(async move { (host != "nobody.example").then(|| host.starts_with("good")) })
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
        let gate = gate(&asked, &answers);
        for _ in 0..2 {
            assert_eq!(gate.decide("nobody.example", 443).await, HostDecision::Refused);
        }
        assert_eq!(asked.load(Ordering::Relaxed), 4, "no answer is kept");
        answers.forget(&SessionId::new("ses_1"));
        gate.decide("good.example", 443).await;
        assert_eq!(asked.load(Ordering::Relaxed), 5);
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
