//! Dispatches one fact to the agents of a session, and collects their outputs and actions.
//!
//! [`AgentTree::step`](crate::tree::AgentTree::step) makes one dispatch for each fact and steps agents with
//! it. A dispatch holds the state that exists only for one fact: the number of actions requested so far, the
//! outputs for the agents above, and the recipients.

use std::collections::VecDeque;
use std::sync::Arc;

use agentx_agent::{ActionCount, Agent, AncestorBudgets, Census, HeardBy, StepContext, Transition};
use agentx_types::{
    Action, AgentOutput, AgentStateId, Envelope, EnvironmentEvent, MessageOutput, RunId, StateOutput,
    TurnOutput, UsedIds,
};

use crate::tool_fold::ToolFold;

/// The output of an agent, and the agent's place in the session after its step. `run` includes a run that
/// this fact opened.
pub(crate) struct AgentStep<'a> {
    /// The agent that emits it.
    pub(crate) agent: &'a AgentStateId,
    /// The run to which it belongs; `None` before the agent's first run.
    pub(crate) run: Option<&'a RunId>,
    pub(crate) output: AgentOutput,
}

/// The knowledge of the session that its agents get with a fact.
///
/// The session has taken its own part of the fact before: steps that the fact records are in `flows`, ids
/// that it gives are in `taken`.
#[derive(Clone, Copy)]
pub(crate) struct DispatchInputs<'a> {
    /// Ids that models gave.
    pub(crate) taken: &'a Arc<UsedIds>,
    /// The steps of tools and the values that they keep.
    pub(crate) flows: &'a ToolFold,
    /// Whether anybody hears the outputs; if not, only the state is wanted.
    pub(crate) heard: bool,
}

/// The way of one fact through the agents.
///
/// The documentation of [`Agent`] defines the order. `on_output` gets each output once, in order.
pub(crate) struct AgentDispatch<'a, H> {
    pub(crate) fact: &'a Envelope<EnvironmentEvent>,
    inputs: DispatchInputs<'a>,
    /// The number of agents when the fact comes.
    census: Census,
    /// The number of actions in this dispatch so far. The ids of actions continue from it.
    acted: ActionCount,
    /// The actions of all agents, in the order in which they were requested; empty if nobody hears the
    /// outputs.
    pub(crate) actions: Vec<Action>,
    /// The outputs of children for their parents.
    pub(crate) upward: VecDeque<(AgentStateId, AgentOutput)>,
    on_output: H,
}

impl<'a, H: FnMut(AgentStep<'_>)> AgentDispatch<'a, H> {
    /// A dispatch for one fact. `census` counts the agents before the fact.
    pub(crate) fn new(
        fact: &'a Envelope<EnvironmentEvent>,
        inputs: DispatchInputs<'a>,
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

    /// Collects the results of the step of one agent. Outputs for its parent wait until all agents have
    /// processed the fact.
    pub(crate) fn collect(&mut self, agent: &Agent, follows: Transition, is_child: bool) {
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

/// Returns whether the parent gets this output: only those that [`Agent::on_child`] uses, about the end of a
/// run, its cost, the end of the agent, its answer, and its input.
fn concerns_parent(output: &AgentOutput) -> bool {
    matches!(
        output,
        AgentOutput::State(
            StateOutput::RunFinished { .. } | StateOutput::Spent { .. } | StateOutput::Closed { .. }
        ) | AgentOutput::Turn(TurnOutput::Response { .. })
            | AgentOutput::Message(MessageOutput::User { .. })
    )
}
