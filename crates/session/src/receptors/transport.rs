//! TransportReceptor: connections to the outside, their loss, and their heartbeats.
//!
//! Nothing here records these facts. A connection that an environment keeps open serves many sessions and
//! belongs to none of their logs, so environments report it on the bus instead (`SystemEvent::Transport`;
//! decision 034 in `issues/`). Logs of other programs may have the facts.

use agentx_types::{
    ConnectionEstablished, ConnectionLost, Envelope, EnvironmentEvent, Heartbeat, Reconnecting, RuntimeEvent,
    Timer, TimerFired,
};

use super::Receptor;

/// Emits `connection_established`, `connection_lost`, `reconnecting`, `heartbeat`.
///
/// | fact | events |
/// | --- | --- |
/// | `connected` | `connection_established` |
/// | `disconnected` | `connection_lost`; with `retry_in_ms`, then `reconnecting` in so many milliseconds |
/// | `timer_fired` of the heartbeat | `heartbeat` |
///
/// It has no memory: two losses of one connection are reported twice. Facts count whether or not they name an
/// agent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TransportReceptor {}

impl Receptor for TransportReceptor {
    fn receive(&mut self, fact: &Envelope<EnvironmentEvent>, out: &mut Vec<RuntimeEvent>) {
        match &fact.event {
            EnvironmentEvent::Connected(up) => out.push(
                ConnectionEstablished {
                    endpoint: up.endpoint.clone(),
                }
                .into(),
            ),
            EnvironmentEvent::Disconnected(down) => {
                out.push(
                    ConnectionLost {
                        endpoint: down.endpoint.clone(),
                        reason: down.reason.clone(),
                    }
                    .into(),
                );
                if let Some(retry_in_ms) = down.retry_in_ms {
                    out.push(
                        Reconnecting {
                            endpoint: down.endpoint.clone(),
                            retry_in_ms,
                        }
                        .into(),
                    );
                }
            }
            EnvironmentEvent::TimerFired(TimerFired {
                timer: Timer::Heartbeat,
            }) => out.push(Heartbeat {}.into()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use agentx_types::{Connected, Disconnected};

    use super::super::testing::check;
    use super::*;

    fn down(retry_in_ms: Option<u64>) -> EnvironmentEvent {
        Disconnected {
            endpoint: "api".into(),
            reason: Some("reset".into()),
            retry_in_ms,
        }
        .into()
    }

    #[test]
    fn connections_come_and_go() {
        let lost = || {
            RuntimeEvent::from(ConnectionLost {
                endpoint: "api".into(),
                reason: Some("reset".into()),
            })
        };
        check(
            TransportReceptor::default(),
            vec![
                (
                    Connected {
                        endpoint: "api".into(),
                    }
                    .into(),
                    vec![
                        ConnectionEstablished {
                            endpoint: "api".into(),
                        }
                        .into(),
                    ],
                ),
                (down(None), vec![lost()]),
                (
                    down(Some(250)),
                    vec![
                        lost(),
                        Reconnecting {
                            endpoint: "api".into(),
                            retry_in_ms: 250,
                        }
                        .into(),
                    ],
                ),
                (
                    TimerFired {
                        timer: Timer::Heartbeat,
                    }
                    .into(),
                    vec![Heartbeat {}.into()],
                ),
                (
                    TimerFired {
                        timer: Timer::RunLimit,
                    }
                    .into(),
                    vec![],
                ),
            ],
        );
    }
}
