//! What the fold of a session says of one fact.

use agentx_types::{Action, AgentOutput, AgentStateId, Envelope, RuntimeEvent};

use crate::Projection;

/// Everything that follows from one fact.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Derived {
    /// What it means, in order: first what the receptors say, then the bridge.
    pub events: Vec<Envelope<RuntimeEvent>>,
    /// What agents say inside their own boundaries.
    pub outputs: Vec<(AgentStateId, AgentOutput)>,
    /// What agents want done.
    pub actions: Vec<Action>,
    /// What changes in the read models.
    pub projections: Vec<Projection>,
    /// Whether only the state of the fold is wanted, as when a session is opened: then nothing else is made. The state
    /// moves the same.
    pub state_only: bool,
}

impl Derived {
    /// For a fold that wants the state alone.
    pub fn state_only() -> Self {
        Self {
            state_only: true,
            ..Self::default()
        }
    }

    /// Empties it, so that its memory is used again.
    pub fn clear(&mut self) {
        self.events.clear();
        self.outputs.clear();
        self.actions.clear();
        self.projections.clear();
    }
}
