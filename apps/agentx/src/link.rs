//! The connection to a server in words: said when it is lost, and when it is there again.

use agentx::remote::ConnectionState;
use tokio::sync::watch;

use crate::compose::Place;

/// Watches a connection.
pub(crate) struct Link {
    states: Option<watch::Receiver<ConnectionState>>,
    lost: bool,
}

impl Link {
    /// The connection of a place; here there is none, and nothing is ever said.
    pub(crate) fn of(place: &Place) -> Self {
        Self {
            states: place.remote().map(|remote| remote.connection()),
            lost: false,
        }
    }

    /// Waits for something worth a line. Safe to drop while it waits.
    pub(crate) async fn news(&mut self) -> String {
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
            if let Some(text) = self.told(&state) {
                return text;
            }
        }
    }

    fn told(&mut self, state: &ConnectionState) -> Option<String> {
        let was_lost = self.lost;
        match state {
            ConnectionState::Idle | ConnectionState::Connecting { .. } => None,
            ConnectionState::Connected => {
                self.lost = false;
                was_lost.then(|| "connected again".to_owned())
            }
            ConnectionState::Waiting { why, .. } => {
                self.lost = true;
                (!was_lost).then(|| format!("the connection is lost ({}); reconnecting …", plain(why)))
            }
            ConnectionState::GaveUp { why } => Some(format!("the connection is lost for good: {why}")),
        }
    }
}

/// A reason without the names of the layers that it went through.
fn plain(why: &str) -> &str {
    let layers = ["WebSocket protocol error: ", "IO error: "];
    let why = layers
        .iter()
        .fold(why, |why, layer| why.strip_prefix(layer).unwrap_or(why));
    why.strip_suffix(" without closing handshake").unwrap_or(why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_and_its_end_are_said_once() {
        let mut link = Link {
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
        .map(|state| link.told(state))
        .collect();
        let lost = "the connection is lost (reset); reconnecting …".to_owned();
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
}
