//! The context that an agent gets with each fact, and the transition that it returns.
//!
//! The session's fold creates the [`StepContext`] and reads the [`Transition`]. A `Transition` is empty
//! before the step and does not change afterwards.
//!
//! ```text
//! fact + StepContext ──▶ Agent::step ──▶ Transition { outputs, actions, acted }
//!               ▲                                                      │
//!               └── before: sum of what agents acted for this fact ◀───┘
//! ```

use std::collections::BTreeMap;
use std::ops::AddAssign;
use std::sync::Arc;

use agentx_types::{Action, ActionBody, AgentOutput, RecordedEffects, ScriptValues, ToolCallId, UsedIds};

use crate::limits::ancestor_budgets::{AncestorBudgets, Census};

/// The facts about its session that an agent needs for a step.
///
/// All of it follows from the log, so it is the same in each replay; the agent borrows it and keeps none of
/// it. The default is for a single agent outside of a session.
///
/// | field | default | effect of the default |
/// | --- | --- | --- |
/// | `heard_by` | everybody | the step makes all outputs and actions |
/// | `taken` | `None` | a model's answer may use any ids |
/// | `recorded` | `None` | a tool that runs again repeats all of its steps |
/// | `kept` | `None` | scripts begin without values |
/// | `depth` | 0 | the agent is the one that people talk to |
/// | `above` | `None` | only the agent's own limits apply |
/// | `census` | no agents | there is room for more agents |
/// | `before` | nothing | the first action of the fact has the index 0 |
#[derive(Clone, Copy, Debug, Default)]
pub struct StepContext<'a> {
    /// The readers of the outputs.
    pub heard_by: HeardBy,
    /// Ids that models gave in this session: no answer may use one again.
    pub taken: Option<&'a Arc<UsedIds>>,
    /// The recorded steps of running calls, by call.
    pub recorded: Option<&'a BTreeMap<ToolCallId, Arc<RecordedEffects>>>,
    /// The values that scripts keep with this agent; `None` if they keep nothing.
    pub kept: Option<&'a Arc<ScriptValues>>,
    /// The number of agents above this one: 0 for the one that people talk to.
    pub depth: u32,
    /// The limits that the agents above leave to this one; `None` for an agent without a parent, or if the
    /// fact cannot lead to a model call.
    pub above: Option<&'a AncestorBudgets>,
    /// The number of agents in the session when the fact comes.
    pub census: Census,
    /// The number of actions that agents have already requested for the same fact; new ids continue from it.
    pub before: ActionCount,
}

/// The readers of the outputs of a step. The state of the agent changes in the same way for each. A step
/// makes no outputs without a reader, which saves most of the work of a fold over a long log.
///
/// | reader | state and [`acted`](Transition::acted) | state, message and turn outputs | stream outputs, actions |
/// | --- | --- | --- | --- |
/// | `Everybody` | yes | yes | yes |
/// | `Above` | yes | yes | no |
/// | `Nobody` | yes | no | no |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HeardBy {
    /// Subscribers and effectors: the step makes all outputs.
    #[default]
    Everybody,
    /// Only the agent that made this one: the step leaves out the Stream layer and all actions.
    Above,
    /// None: the step changes the state without outputs.
    Nobody,
}

/// Everything that follows from one fact.
///
/// Empty if the fact does not concern the agent. The order of outputs and actions is that in which the step
/// made them; the caller publishes the outputs and performs the actions after the fact is in the log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transition {
    /// The outputs of the agent, in order.
    pub outputs: Vec<AgentOutput>,
    /// The actions that the agent requests.
    pub actions: Vec<Action>,
    /// The number of actions, including those that were left out.
    pub acted: ActionCount,
}

/// The number of requested actions, including those that were left out, because ids follow from it.
///
/// Add the counts of the agents that have taken the same fact, and pass the sum to the next one:
///
/// ```
/// use agentx_agent::{ActionCount, StepContext, Transition};
///
/// let first = Transition { acted: ActionCount { actions: 2, agents: 1 }, ..Transition::default() };
/// let mut before = ActionCount::default();
/// for transition in [first, Transition::default()] {
///     before += transition.acted;
/// }
/// assert_eq!(before, ActionCount { actions: 2, agents: 1 });
/// let of_next_agent = StepContext { before, ..StepContext::default() };
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ActionCount {
    /// The number of all requested actions.
    pub actions: usize,
    /// The number of those that create an agent.
    pub agents: u32,
}

impl ActionCount {
    /// Counts one more action.
    pub(crate) fn count(&mut self, body: &ActionBody) {
        self.actions += 1;
        self.agents += u32::from(matches!(body, ActionBody::SpawnAgent(_)));
    }
}

impl AddAssign for ActionCount {
    fn add_assign(&mut self, more: Self) {
        self.actions += more.actions;
        self.agents = self.agents.saturating_add(more.agents);
    }
}
