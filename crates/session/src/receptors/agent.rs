//! AgentReceptor: agents are created and closed. Its events name the agent that `agent_spawned` and
//! `agent_closed` are about, whichever agent those facts are addressed to: the fold does that.

use agentx_types::{
    AgentConfig, AgentDestroyed, AgentReady, AgentStarted, AgentStateId, Envelope, EnvironmentEvent,
    RuntimeEvent,
};

use super::Receptor;

/// Emits `agent_started`, `agent_ready`, `agent_destroyed`.
///
/// | fact | events |
/// | --- | --- |
/// | `session_opened` | `agent_started` without a parent, `agent_ready` |
/// | `agent_spawned` | `agent_started` with its parent, `agent_ready` |
/// | `agent_closed` | `agent_destroyed` |
///
/// The receptor has no state: if a log spawns an agent twice, it emits `agent_started` twice. The tree keeps
/// the first agent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentReceptor {}

impl Receptor for AgentReceptor {
    fn receive(&mut self, fact: &Envelope<EnvironmentEvent>, out: &mut Vec<RuntimeEvent>) {
        match &fact.event {
            EnvironmentEvent::SessionOpened(opened) => started(&opened.config, None, out),
            EnvironmentEvent::AgentSpawned(spawned) => {
                started(&spawned.config, Some(&spawned.parent), out);
            }
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
fn started(config: &AgentConfig, parent: Option<&AgentStateId>, out: &mut Vec<RuntimeEvent>) {
    out.push(
        AgentStarted {
            name: config.name.clone(),
            parent: parent.cloned(),
            routes: config.routing.is_some(),
        }
        .into(),
    );
    out.push(AgentReady {}.into());
}

#[cfg(test)]
mod tests {
    use agentx_types::{AgentClosed, AgentSpawned};

    use super::super::testing::{AGENT, check, config, session_opened};
    use super::*;

    fn appeared(name: &str, parent: Option<&str>) -> RuntimeEvent {
        AgentStarted {
            name: name.into(),
            parent: parent.map(AgentStateId::new),
            routes: false,
        }
        .into()
    }

    #[test]
    fn agents_come_and_go() {
        let child = AgentStateId::new("agt_2");
        let spawned = AgentSpawned {
            agent_state_id: child.clone(),
            parent: AgentStateId::new(AGENT),
            config: Box::new(AgentConfig {
                name: "scout".into(),
                ..config()
            }),
        };
        check(
            AgentReceptor::default(),
            vec![
                (
                    session_opened(),
                    vec![appeared("main", None), AgentReady {}.into()],
                ),
                (
                    spawned.into(),
                    vec![appeared("scout", Some(AGENT)), AgentReady {}.into()],
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
