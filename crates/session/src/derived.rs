//! The derived output of the fold of a session for one fact.
//!
//! Everything here can be derived again from the log, to the same bytes; only the read models and the digest
//! are stored. A runtime that acts performs `actions`; one that only looks (a mirror, a replay, a test) drops
//! them, because their results follow in the log.

use agentx_types::{Action, AgentOutput, AgentStateId, Envelope, EnvironmentEvent, RuntimeEvent, Source};

use crate::Projection;
use crate::agent_dispatch::AgentStep;
use crate::tree::spawned_or_closed;

/// Everything that follows from one fact.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Derived {
    /// The derived events, in order: first those of the receptors, then those of the bridge. All have the
    /// `seq` of the fact; their `index` counts from 0 without a gap, so that `(seq, index)` names each
    /// ([`EventCursor`](crate::EventCursor)).
    pub events: Vec<Envelope<RuntimeEvent>>,
    /// The outputs of agents inside their own boundaries, in the order of the steps: an agent's own outputs
    /// of one fact stay together only if no child has outputs in between.
    pub outputs: Vec<(AgentStateId, AgentOutput)>,
    /// The actions of agents. Each has an id that no other action of the session has: it follows from the
    /// `seq` and its place among all actions of the fact (decision 004 in `issues/`). To be performed in this
    /// order, after the fact and `action_started` are committed.
    pub actions: Vec<Action>,
    /// The changes of the read models. The code that commits the fact applies them in the same transaction.
    pub projections: Vec<Projection>,
}

/// Makes the event of a receptor about `fact`: in the name of the agent that is added or removed, if there is
/// one.
pub(crate) fn from_fact(
    fact: &Envelope<EnvironmentEvent>,
    index: u32,
    event: RuntimeEvent,
) -> Envelope<RuntimeEvent> {
    let mut envelope = fact.derive(index, event);
    if let Some(agent) = spawned_or_closed(fact) {
        envelope.agent_state_id = Some(agent.clone());
    }
    envelope
}

/// Makes an agent's event about `fact`: it names this agent, and this agent's run unless the fact names a
/// run.
pub(crate) fn from_agent(
    fact: &Envelope<EnvironmentEvent>,
    index: u32,
    heard: &AgentStep<'_>,
    event: RuntimeEvent,
) -> Envelope<RuntimeEvent> {
    let mut envelope = fact.derive(index, event);
    envelope.source = Source::Agent;
    if envelope.agent_state_id.as_ref() != Some(heard.agent) {
        envelope.run_id = fact
            .agent_state_id
            .is_none()
            .then(|| fact.run_id.clone())
            .flatten();
        envelope.agent_state_id = Some(heard.agent.clone());
    }
    envelope.run_id = envelope.run_id.or_else(|| heard.run.cloned());
    envelope
}
