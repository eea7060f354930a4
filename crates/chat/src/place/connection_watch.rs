//! Watches the connection to a server: reports when it is lost and when it is back, and bounds how long a run
//! waits for it.

use std::time::Duration;

use agentx::remote::ConnectionState;
use agentx::runtime::RuntimeError;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::place::Place;
use crate::render::units;

/// Watches the connection to a server, so that a run reports when it is lost and when it is back.
pub struct ConnectionWatch {
    states: Option<watch::Receiver<ConnectionState>>,
    lost: bool,
}

/// The time for which a server is unreachable. A run waits for it within a bound.
pub struct OutageTimer {
    states: Option<watch::Receiver<ConnectionState>>,
    address: String,
    /// Maximum time to wait for a lost server, for example while it restarts.
    within: Duration,
    /// The beginning of the outage, and its reason.
    since: Option<(Instant, String)>,
}

impl ConnectionWatch {
    /// Watches the connection of a place. A place on this machine has none, so nothing is ever reported.
    pub fn new(place: &Place) -> Self {
        Self {
            states: place.remote().map(|remote| remote.connection()),
            lost: false,
        }
    }

    /// Returns whether the last report says that the connection is lost.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost
    }

    /// Waits for the next change to report. Safe to drop while it waits.
    pub async fn news(&mut self) -> String {
        loop {
            let Some(states) = &mut self.states else {
                return std::future::pending().await;
            };
            let state = match states.changed().await {
                Ok(()) => states.borrow_and_update().clone(),
                Err(_) => {
                    self.states = None;
                    continue;
                }
            };
            if let Some(text) = self.announce(&state) {
                return text;
            }
        }
    }

    fn announce(&mut self, state: &ConnectionState) -> Option<String> {
        let was_lost = self.lost;
        match state {
            ConnectionState::Idle | ConnectionState::Connecting { .. } => None,
            ConnectionState::Connected => {
                self.lost = false;
                was_lost.then(|| "connected again".to_owned())
            }
            ConnectionState::Waiting { why, .. } => {
                self.lost = true;
                (!was_lost).then(|| format!("connection lost ({}); reconnecting …", plain(why)))
            }
            ConnectionState::GaveUp { why } => {
                self.lost = true;
                Some(format!("connection lost permanently: {}", plain(why)))
            }
        }
    }
}

impl OutageTimer {
    /// Returns the watch for the server of a place, which may be away for this time; a place on this machine
    /// is always reachable.
    pub fn new(place: &Place, within: Duration) -> Self {
        Self {
            states: place.remote().map(|remote| remote.connection()),
            address: place.address().unwrap_or_default().to_owned(),
            within,
            since: None,
        }
    }

    /// Returns whether the connection is down.
    pub fn is_away(&mut self) -> bool {
        self.look();
        self.since.is_some()
    }

    /// Waits until the server is given up: for good, or for too long. Safe to drop while it waits.
    pub async fn wait_until_given_up(&mut self) -> RuntimeError {
        loop {
            self.look();
            let until = self.deadline();
            let Some(states) = &self.states else {
                return std::future::pending().await;
            };
            if matches!(&*states.borrow(), ConnectionState::GaveUp { .. })
                || until.is_some_and(|until| until <= Instant::now())
            {
                return self.gave_up_error();
            }
            let mut changes = states.clone();
            tokio::select! {
                changed = changes.changed() => if changed.is_err() {
                    return std::future::pending().await;
                },
                () = sleep_until(until.unwrap_or_else(Instant::now)), if until.is_some() => {}
            }
        }
    }

    /// Waits until the connection is lost. Cancel safe.
    pub async fn lost(&mut self) {
        while !self.is_away() {
            let changed = match &mut self.states {
                Some(states) => states.changed().await.is_ok(),
                None => false,
            };
            if !changed {
                std::future::pending::<()>().await;
            }
        }
    }

    fn look(&mut self) {
        let state = self.states.as_ref().map(|states| states.borrow().clone());
        if let Some(state) = state {
            self.note(&state, Instant::now());
        }
    }

    /// Records the time at which the connection was lost. Attempts in between do not change it.
    fn note(&mut self, state: &ConnectionState, now: Instant) {
        match state {
            ConnectionState::Connected => self.since = None,
            ConnectionState::Waiting { why, .. } | ConnectionState::GaveUp { why } => {
                let since = self.since.as_ref().map_or(now, |(since, _)| *since);
                self.since = Some((since, plain(why).to_owned()));
            }
            ConnectionState::Idle | ConnectionState::Connecting { .. } => {}
        }
    }

    /// Returns the end of the wait.
    fn deadline(&self) -> Option<Instant> {
        self.since.as_ref().map(|(since, _)| *since + self.within)
    }

    fn gave_up_error(&self) -> RuntimeError {
        let why = self
            .since
            .as_ref()
            .map_or("the connection is lost", |(_, why)| why.as_str());
        let within = units::duration(u64::try_from(self.within.as_millis()).unwrap_or(u64::MAX));
        RuntimeError::Unreachable {
            endpoint: self.address.clone(),
            what: format!(
                "it did not come back within {within} ({why}); the session there shows the outcome of the run"
            ),
        }
    }
}

/// A reason in plain words, without the names of the layers that it went through.
fn plain(why: &str) -> &str {
    let layers = ["WebSocket protocol error: ", "IO error: "];
    let why = layers
        .iter()
        .fold(why, |why, layer| why.strip_prefix(layer).unwrap_or(why));
    // The TLS library names its own documentation, also if no TLS is spoken.
    if why.contains("close_notify") {
        return "the server closed it";
    }
    why.strip_suffix(" without closing handshake").unwrap_or(why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_and_its_end_are_said_once() {
        let mut link = ConnectionWatch {
            states: None,
            lost: false,
        };
        let waiting = |why: &str| ConnectionState::Waiting {
            retry_in_ms: 250,
            why: why.into(),
        };
        let told: Vec<Option<String>> = [
            ConnectionState::Connecting { attempt: 1 },
            ConnectionState::Connected,
            waiting("reset"),
            ConnectionState::Connecting { attempt: 1 },
            waiting("refused"),
            ConnectionState::Connected,
        ]
        .iter()
        .map(|state| link.announce(state))
        .collect();
        let lost = "connection lost (reset); reconnecting …".to_owned();
        assert_eq!(
            told,
            [
                None,
                None,
                Some(lost),
                None,
                None,
                Some("connected again".to_owned())
            ]
        );
    }

    #[test]
    fn a_server_that_is_gone_is_told_without_the_words_of_a_library() {
        for (why, said) in [
            (
                "IO error: peer closed connection without sending TLS close_notify: https://docs.rs/rustls/latest/rustls/manual/_03_howto/index.html#unexpected-eof",
                "the server closed it",
            ),
            (
                "WebSocket protocol error: Connection reset without closing handshake",
                "Connection reset",
            ),
            ("the server ends", "the server ends"),
        ] {
            assert_eq!(plain(why), said);
        }
    }

    #[test]
    fn a_server_that_stays_away_is_waited_for_a_minute_and_no_attempt_makes_it_longer() {
        let waiting = |why: &str| ConnectionState::Waiting {
            retry_in_ms: 250,
            why: why.into(),
        };
        let began = Instant::now();
        let after = |seconds| began + Duration::from_secs(seconds);
        let mut away = OutageTimer {
            states: None,
            address: "http://server".into(),
            within: Duration::from_secs(60),
            since: None,
        };
        for (seconds, state, until) in [
            (0, ConnectionState::Connected, None),
            (5, waiting("the server ends"), Some(65)),
            (9, ConnectionState::Connecting { attempt: 3 }, Some(65)),
            (20, waiting("connection refused"), Some(65)),
            (30, ConnectionState::Connected, None),
            (70, waiting("the server ends"), Some(130)),
        ] {
            away.note(&state, after(seconds));
            assert_eq!(away.deadline(), until.map(after), "after {seconds} s");
        }
        assert_eq!(
            away.gave_up_error().to_string(),
            "cannot reach http://server: it did not come back within 1m 00s (the server ends); the session there shows the outcome of the run"
        );
    }
}
