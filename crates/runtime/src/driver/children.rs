//! Actions of one agent on another, as facts that are addressed to the other agent, and recorded before
//! anything follows from them.
//!
//! These actions have no effector and no `action_started`: the fact is the whole effect (decision 020 in
//! `issues/`). It comes directly after the fact from which it follows, in the same commit, with the action as
//! its cause.

use agentx_types::{
    Action, ActionBody, AgentClosed, AgentSpawned, AgentStateId, EnvironmentEvent, EventDraft,
    InterruptRequested, Source,
};

/// The fact in which such an action results; `None` for any other action. It names no run, because the
/// addressed agent has its own runs.
pub(super) fn consequence(action: &Action) -> Option<EventDraft<EnvironmentEvent>> {
    let (to, event): (&AgentStateId, EnvironmentEvent) = match &action.body {
        ActionBody::SpawnAgent(spawn) => {
            let spawned = AgentSpawned {
                agent_state_id: spawn.agent_state_id.clone(),
                parent: action.agent_state_id.clone(),
                config: spawn.config.clone(),
            };
            (&spawn.agent_state_id, spawned.into())
        }
        ActionBody::SendInput(input) => (&input.to, input.message.clone().into()),
        ActionBody::InterruptAgent(interrupt) => {
            let reason = interrupt.reason.clone();
            (
                &interrupt.to,
                InterruptRequested {
                    reason,
                    hold: false,
                    by: None,
                }
                .into(),
            )
        }
        ActionBody::CloseAgent(close) => {
            let closed = AgentClosed {
                agent_state_id: close.agent_state_id.clone(),
                reason: close.reason.clone(),
            };
            (&close.agent_state_id, closed.into())
        }
        _ => return None,
    };
    Some(EventDraft {
        source: Source::Agent,
        agent_state_id: Some(to.clone()),
        run_id: None,
        cause: Some(action.action_id.clone()),
        event,
    })
}
