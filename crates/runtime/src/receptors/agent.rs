//! AgentReceptor: agents come into being and go. What it says of an agent is said in that agent's name: the fold names the one
//! that `agent_spawned` and `agent_closed` speak of, whoever they are addressed to.

use agentx_types::{AgentDestroyed, AgentReady, AgentStarted, Envelope, EnvironmentEvent, RuntimeEvent};
use serde::{Deserialize, Serialize};

use super::Receptor;

/// Emits `agent_started`, `agent_ready`, `agent_destroyed`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentReceptor {}

impl Receptor for AgentReceptor {
    fn receive(&mut self, fact: &Envelope<EnvironmentEvent>, out: &mut Vec<RuntimeEvent>) {
        match &fact.event {
            EnvironmentEvent::SessionOpened(opened) => started(&opened.config.name, out),
            EnvironmentEvent::AgentSpawned(spawned) => started(&spawned.config.name, out),
            EnvironmentEvent::AgentClosed(closed) => out.push(
                AgentDestroyed {
                    reason: closed.reason.clone(),
                }
                .into(),
            ),
            _ => {}
        }
    }
}

/// An agent is built whole from its configuration, so it is ready when it has started.
fn started(name: &str, out: &mut Vec<RuntimeEvent>) {
    out.push(
        AgentStarted {
            name: name.to_owned(),
        }
        .into(),
    );
    out.push(AgentReady {}.into());
}

#[cfg(test)]
mod tests {
    use agentx_types::{AgentClosed, AgentSpawned, AgentStateId};

    use super::super::testing::{AGENT, check, config, session_opened};
    use super::*;

    #[test]
    fn agents_come_and_go() {
        let child = AgentStateId::new("agt_2");
        let spawned = AgentSpawned {
            agent_state_id: child.clone(),
            parent: AgentStateId::new(AGENT),
            config: Box::new(agentx_types::AgentConfig {
                name: "scout".into(),
                ..config()
            }),
        };
        check(
            AgentReceptor::default(),
            vec![
                (
                    session_opened(),
                    vec![AgentStarted { name: "main".into() }.into(), AgentReady {}.into()],
                ),
                (
                    spawned.into(),
                    vec![AgentStarted { name: "scout".into() }.into(), AgentReady {}.into()],
                ),
                (
                    AgentClosed {
                        agent_state_id: child,
                        reason: "done".into(),
                    }
                    .into(),
                    vec![
                        AgentDestroyed {
                            reason: "done".into(),
                        }
                        .into(),
                    ],
                ),
            ],
        );
    }
}
