//! The way of one fact through the agents of a session: the input of each, and what they say and want
//! together.
//!
//! [`AgentTree::step`](crate::tree::AgentTree::step) makes one round for each fact and steps agents with it.
//! A round holds state that lives only for one fact: the number of actions requested so far, the outputs for
//! the agents above, and the recipients.

use std::collections::VecDeque;
use std::sync::Arc;

use agentx_agent::{ActionCount, Agent, AncestorBudgets, Census, HeardBy, StepContext, Transition};
use agentx_types::{
    Action, AgentOutput, AgentStateId, Envelope, EnvironmentEvent, MessageOutput, RunId, StateOutput,
    TakenIds, TurnOutput,
};

use crate::tool_fold::ToolFold;

/// The output of an agent, and the agent's place in the session after its step: a run that it opened by this
/// fact is its run already.
pub(crate) struct AgentStep<'a> {
    /// The agent that says it.
    pub(crate) agent: &'a AgentStateId,
    /// The run that it is said in; `None` before the agent's first.
    pub(crate) run: Option<&'a RunId>,
    pub(crate) output: AgentOutput,
}

/// The knowledge of the session that its agents get with a fact.
///
/// The session has taken its own part of the fact before: steps that the fact records are in `flows`, ids
/// that it gives are in `taken`.
#[derive(Clone, Copy)]
pub(crate) struct RoundInputs<'a> {
    /// Ids that models gave.
    pub(crate) taken: &'a Arc<TakenIds>,
    /// The steps of tools and the values that they keep.
    pub(crate) flows: &'a ToolFold,
    /// Whether anybody hears what follows; else the state alone is wanted.
    pub(crate) heard: bool,
}

/// The way of one fact through the agents.
///
/// The order is [`Agent`]'s contract: see there. `on_output` is told each output once, in order.
pub(crate) struct AgentRound<'a, H> {
    pub(crate) fact: &'a Envelope<EnvironmentEvent>,
    inputs: RoundInputs<'a>,
    /// The number of agents when the fact comes.
    census: Census,
    /// The number of actions in this round so far. The ids of actions continue from it.
    acted: ActionCount,
    /// The actions of all agents, in the order in which they were wanted; empty if nobody hears.
    pub(crate) actions: Vec<Action>,
    /// The outputs of children that the agents above them have to hear.
    pub(crate) upward: VecDeque<(AgentStateId, AgentOutput)>,
    on_output: H,
}

impl<'a, H: FnMut(AgentStep<'_>)> AgentRound<'a, H> {
    /// A round for one fact. `census` is how many agents there are when it comes.
    pub(crate) fn new(
        fact: &'a Envelope<EnvironmentEvent>,
        inputs: RoundInputs<'a>,
        census: Census,
        on_output: H,
    ) -> Self {
        Self {
            fact,
            inputs,
            census,
            acted: ActionCount::default(),
            actions: Vec::new(),
            upward: VecDeque::new(),
            on_output,
        }
    }

    /// Makes the context of an agent from its place: whether it is a child, its depth, and the budgets of the
    /// agents above.
    ///
    /// Created for each input, because `before` changes. A child produces outputs even if only the state is
    /// wanted, because its parent reads them.
    pub(crate) fn context<'b>(
        &'b self,
        agent: &AgentStateId,
        (is_child, depth): (bool, u32),
        above: Option<&'b AncestorBudgets>,
    ) -> StepContext<'b> {
        StepContext {
            heard_by: match (self.inputs.heard, is_child) {
                (true, _) => HeardBy::Everybody,
                (false, true) => HeardBy::Above,
                (false, false) => HeardBy::Nobody,
            },
            taken: Some(self.inputs.taken),
            recorded: Some(self.inputs.flows.calls()),
            kept: self.inputs.flows.kept(agent),
            depth,
            above,
            census: self.census,
            before: self.acted,
        }
    }

    /// Takes what follows from the step of one agent.
    /// What the agent above has to hear is put off until all agents have taken the fact.
    pub(crate) fn take(&mut self, agent: &Agent, follows: Transition, is_child: bool) {
        self.acted += follows.acted;
        self.actions.extend(follows.actions);
        for output in follows.outputs {
            if is_child && concerns_parent(&output) {
                self.upward.push_back((agent.id().clone(), output.clone()));
            }
            (self.on_output)(AgentStep {
                agent: agent.id(),
                run: agent.run_id(),
                output,
            });
        }
    }
}

/// Returns whether the agent above has to hear it. Only what [`Agent::on_child`] makes something of: how its
/// run ended, what it spent, that it is gone, its answer, and what it was told.
fn concerns_parent(output: &AgentOutput) -> bool {
    matches!(
        output,
        AgentOutput::State(
            StateOutput::RunFinished { .. } | StateOutput::Spent { .. } | StateOutput::Closed { .. }
        ) | AgentOutput::Turn(TurnOutput::Response { .. })
            | AgentOutput::Message(MessageOutput::User { .. })
    )
}
