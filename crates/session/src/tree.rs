//! The agents of a session: a tree. Each takes the facts that concern it; a child's result goes to the agent
//! that made it, in the same step of the fold.
//!
//! The tree decides which agents take a fact and in which order; the agents decide the consequences. The tree
//! also passes on everything that depends on an agent's place: the limits and rules of agents above, its
//! depth, and the number of agents. All of that follows from the facts, so none of it is a separate event
//! (decisions 020 and 026 in `issues/`).

use std::collections::BTreeMap;

use agentx_agent::{Agent, AncestorBudgets, Census, StepContext, Transition, bind_by, hold_to};
use agentx_types::{
    Action, AgentConfig, AgentOutput, AgentStateId, ConfigChange, ConfigChanged, Envelope, EnvironmentEvent,
    Limits, Source, StateOutput, TurnOutput, since,
};

use crate::agent_dispatch::{AgentDispatch, AgentStep, DispatchInputs};

/// The agents of a session.
///
/// Guaranteed, whatever a log contains: each child has one parent, there is no cycle, and every chain of
/// parents ends at the root or at an agent without a parent. The children of a removed agent become children
/// of its parent.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct AgentTree {
    /// `None` before `session_opened`, and always in a log without one.
    root: Option<AgentStateId>,
    /// In the order of their ids, which is the order in which they take a fact. A map with another order
    /// would give other ids to actions.
    agents: BTreeMap<AgentStateId, Agent>,
    /// The parent of each child.
    parents: BTreeMap<AgentStateId, AgentStateId>,
    /// The number of agents above each child. It does not change when those are removed.
    depths: BTreeMap<AgentStateId, u32>,
    /// The number of agents that were created since the last input of a person.
    made: u32,
}

impl AgentTree {
    /// The agent that people talk to.
    pub(crate) fn root(&self) -> Option<&AgentStateId> {
        self.root.as_ref()
    }

    /// The agent with this id.
    pub(crate) fn get(&self, id: &AgentStateId) -> Option<&Agent> {
        self.agents.get(id)
    }

    /// Returns the number of agents above: 0 for the one that people talk to.
    pub(crate) fn depth(&self, id: &AgentStateId) -> u32 {
        self.depths.get(id).copied().unwrap_or(0)
    }

    /// All agents.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Agent> {
        self.agents.values()
    }

    /// Creates the root agent. A second `session_opened`, which only a foreign log has, creates it again.
    pub(crate) fn open(&mut self, id: AgentStateId, config: AgentConfig) {
        self.root = Some(id.clone());
        self.agents.insert(id.clone(), Agent::new(id, config));
    }

    /// Adds a child agent. An existing agent stays unchanged; an agent without a known parent becomes a child
    /// of the root. So the agents stay a tree, whatever a log contains.
    pub(crate) fn spawn(&mut self, id: AgentStateId, parent: AgentStateId, mut config: AgentConfig) {
        if self.agents.contains_key(&id) {
            return;
        }
        // The server's rules bind every agent, regardless of its parent and its file.
        let root = self.root.as_ref().and_then(|root| self.agents.get(root));
        if let Some(root) = root {
            bind_by(&mut config, root.config().server_rules.as_ref());
        }
        let is_there = |agent: &AgentStateId| *agent != id && self.agents.contains_key(agent);
        let maker = Some(parent).filter(is_there);
        let Some(parent) = maker.or_else(|| self.root.clone().filter(is_there)) else {
            self.agents.insert(id.clone(), Agent::new(id, config));
            return;
        };
        // A script that creates an agent knows the rules from the time of its call, which may have changed
        // since.
        let maker = self.agents.get(&parent).map(Agent::config);
        if let Some(maker) = maker.filter(|maker| maker.rules_version >= since::RULES_REACH_BELOW) {
            hold_to(&mut config, maker);
        }
        let depth = self.depth(&parent).saturating_add(1);
        self.depths.insert(id.clone(), depth);
        self.made = self.made.saturating_add(1);
        self.parents.insert(id.clone(), parent);
        self.agents.insert(id.clone(), Agent::new(id, config));
    }

    /// The number of agents besides the root.
    pub(crate) fn census(&self) -> Census {
        Census {
            alive: u32::try_from(self.parents.len()).unwrap_or(u32::MAX),
            made: self.made,
        }
    }

    /// Returns the budgets that the agents above leave to this one.
    fn budgets_above(&self, id: &AgentStateId) -> AncestorBudgets {
        let mut above = AncestorBudgets::default();
        let agents = self.ancestors(id).filter_map(|id| self.agents.get(id));
        agents.for_each(|agent| above.add(agent));
        above
    }

    /// The agents above one, the nearest first.
    pub(crate) fn ancestors<'a>(&'a self, id: &'a AgentStateId) -> impl Iterator<Item = &'a AgentStateId> {
        std::iter::successors(self.parents.get(id), |id| self.parents.get(*id))
    }

    /// Returns the budgets that the agents above leave to each agent that takes `fact`, before any of them
    /// takes it; empty if the fact cannot move an agent.
    fn all_budgets_above(
        &self,
        fact: &Envelope<EnvironmentEvent>,
    ) -> BTreeMap<AgentStateId, AncestorBudgets> {
        if self.parents.is_empty() || !fact.event.may_move_an_agent() {
            return BTreeMap::new();
        }
        let takes = self.agents.keys().filter(|id| concerns(fact, id));
        takes.map(|id| (id.clone(), self.budgets_above(id))).collect()
    }

    /// Binds every agent by the server's rules, if the fact changes those.
    fn bind(&mut self, fact: &Envelope<EnvironmentEvent>) {
        if let EnvironmentEvent::ConfigChanged(ConfigChanged {
            change: ConfigChange::ServerRules(server),
            ..
        }) = &fact.event
        {
            for agent in self.agents.values_mut() {
                agent.bind_by(server.as_ref());
            }
        }
    }

    /// Dispatches the fact to all agents that it concerns, and their outputs to `on_output`. Returns their
    /// actions.
    ///
    /// The ids of actions depend on the order: new rules of the server, the step of each agent that the fact
    /// is addressed to, the changes for agents below, and last the outputs of children, in order, until there
    /// are none. This terminates, because outputs go only to the parent, and those of the root to nobody.
    pub(crate) fn step<H: FnMut(AgentStep<'_>)>(
        &mut self,
        fact: &Envelope<EnvironmentEvent>,
        inputs: DispatchInputs<'_>,
        on_output: H,
    ) -> Vec<Action> {
        let mut gone = Vec::new();
        self.bind(fact);
        let limits = self.limits_changed(fact);
        if is_said_by_a_person(fact) {
            self.made = 0;
        }
        let mut dispatch = AgentDispatch::new(fact, inputs, self.census(), on_output);
        let all_budgets_above = self.all_budgets_above(fact);
        for (id, agent) in &mut self.agents {
            if !concerns(fact, id) {
                continue;
            }
            let is_child = self.parents.contains_key(id);
            let depth = self.depths.get(id).copied().unwrap_or(0);
            let transition = agent.step(
                fact,
                &dispatch.context(id, (is_child, depth), all_budgets_above.get(id)),
            );
            dispatch.collect(agent, transition, is_child);
        }
        if let Some(changed) = limits {
            self.propagate_limits(&changed, &mut dispatch);
        }
        self.pass_on_approval(&mut dispatch);
        self.pass_on_rules(&mut dispatch);
        while let Some((child, output)) = dispatch.upward.pop_front() {
            let Some(parent) = self.parents.get(&child).cloned() else {
                continue;
            };
            if matches!(output, AgentOutput::State(StateOutput::Closed { .. })) {
                gone.push(child.clone());
            }
            if self.hands_on_web_text(&child, &output)
                && let Some(agent) = self.agents.get_mut(&parent)
            {
                agent.note_web_text();
            }
            self.step_one(&parent, &mut dispatch, |agent, context| {
                agent.on_child(&child, &output, fact, context)
            });
            // The spending of a grandchild counts for all agents above, before any of them requests more
            // because of its result.
            let is_child = self.parents.contains_key(&parent);
            if is_child && matches!(output, AgentOutput::State(StateOutput::Spent { .. })) {
                dispatch.upward.push_front((parent, output));
            }
        }
        for id in gone {
            self.remove(&id);
        }
        dispatch.actions
    }

    /// Returns whether an output of a child is its answer, and text from the web may be in it.
    fn hands_on_web_text(&self, child: &AgentStateId, output: &AgentOutput) -> bool {
        let is_answer = matches!(
            output,
            AgentOutput::State(StateOutput::RunFinished { .. })
                | AgentOutput::Turn(TurnOutput::Response { .. })
        );
        is_answer
            && self
                .agents
                .get(child)
                .is_some_and(|agent| agent.config().web_text)
    }

    /// Gives one agent an input that follows from the fact. Does nothing if that agent was removed.
    fn step_one<H: FnMut(AgentStep<'_>)>(
        &mut self,
        id: &AgentStateId,
        dispatch: &mut AgentDispatch<'_, H>,
        input: impl FnOnce(&mut Agent, &StepContext<'_>) -> Transition,
    ) {
        let is_child = self.parents.contains_key(id);
        let above = is_child.then(|| self.budgets_above(id));
        let depth = self.depth(id);
        let Some(agent) = self.agents.get_mut(id) else {
            return;
        };
        let transition = input(agent, &dispatch.context(id, (is_child, depth), above.as_ref()));
        dispatch.collect(agent, transition, is_child);
    }

    /// Removes an agent. Its children become children of its parent.
    fn remove(&mut self, id: &AgentStateId) {
        self.agents.remove(id);
        self.depths.remove(id);
        let Some(above) = self.parents.remove(id) else {
            return;
        };
        for parent in self.parents.values_mut().filter(|parent| *parent == id) {
            parent.clone_from(&above);
        }
    }
}

/// The limits of an agent, before and after they change.
struct LimitsChange {
    of: AgentStateId,
    before: Limits,
    after: Limits,
}

impl AgentTree {
    /// Returns whether `fact` changes the limits of one agent.
    fn limits_changed(&self, fact: &Envelope<EnvironmentEvent>) -> Option<LimitsChange> {
        let EnvironmentEvent::ConfigChanged(ConfigChanged {
            change: ConfigChange::Limits(after),
            ..
        }) = &fact.event
        else {
            return None;
        };
        let agent = self.agents.get(fact.agent_state_id.as_ref()?)?;
        Some(LimitsChange {
            of: agent.id().clone(),
            before: agent.config().limits,
            after: *after,
        })
    }

    /// Gives the agents below it the new limits too, if they had the old ones. A limit from an agent's own
    /// file stays.
    fn propagate_limits<H: FnMut(AgentStep<'_>)>(
        &mut self,
        changed: &LimitsChange,
        dispatch: &mut AgentDispatch<'_, H>,
    ) {
        let (fact, before, after) = (dispatch.fact, changed.before, changed.after);
        for id in self.descendants(&changed.of) {
            self.step_one(&id, dispatch, |agent, context| {
                agent.on_limits_above(before, after, fact, context)
            });
        }
    }

    /// Makes the agents below one as strict as the fact makes that one. If it is less strict than before,
    /// they stay as they are: no agent below gets more permissions than it was created with.
    fn pass_on_approval<H: FnMut(AgentStep<'_>)>(&mut self, dispatch: &mut AgentDispatch<'_, H>) {
        let fact = dispatch.fact;
        let EnvironmentEvent::ConfigChanged(ConfigChanged {
            change: ConfigChange::Approval(mode),
            ..
        }) = &fact.event
        else {
            return;
        };
        let below = fact.agent_state_id.as_ref().map(|id| self.descendants(id));
        for id in below.unwrap_or_default() {
            self.step_one(&id, dispatch, |agent, context| {
                agent.on_approval_above(*mode, fact, context)
            });
        }
    }

    /// Applies a change of an agent's rules to the existing agents below it, and any change of it to the
    /// built-in ones that it made. From version 7 of the rules on; before, it applied only to agents that
    /// were created later.
    fn pass_on_rules<H: FnMut(AgentStep<'_>)>(&mut self, dispatch: &mut AgentDispatch<'_, H>) {
        let fact = dispatch.fact;
        let (EnvironmentEvent::ConfigChanged(ConfigChanged { change, .. }), Some(of)) =
            (&fact.event, &fact.agent_state_id)
        else {
            return;
        };
        let maker = self.agents.get(of).map(|agent| agent.config().clone());
        let Some(maker) = maker.filter(|maker| maker.rules_version >= since::RULES_REACH_BELOW) else {
            return;
        };
        for id in self.descendants(of) {
            self.step_one(&id, dispatch, |agent, context| {
                agent.on_rules_above(&maker, change, fact, context)
            });
            // An agent whose maker is gone has the parent of that one, but does not follow it.
            if self.parents.get(&id) == Some(of) && self.depth(&id) == self.depth(of) + 1 {
                self.step_one(&id, dispatch, |agent, context| {
                    agent.on_maker_changed(&maker, change, fact, context)
                });
            }
        }
    }

    /// All agents below this one, at any depth.
    fn descendants(&self, of: &AgentStateId) -> Vec<AgentStateId> {
        let is_below = |id: &&AgentStateId| self.ancestors(id).any(|above| above == of);
        self.agents.keys().filter(is_below).cloned().collect()
    }
}

/// Returns whether the fact is an input of a person.
fn is_said_by_a_person(fact: &Envelope<EnvironmentEvent>) -> bool {
    fact.source == Source::User && matches!(fact.event, EnvironmentEvent::UserMessage(_))
}

/// The agent that `fact` creates or closes, whichever agent the fact is addressed to.
pub(crate) fn spawned_or_closed(fact: &Envelope<EnvironmentEvent>) -> Option<&AgentStateId> {
    match &fact.event {
        EnvironmentEvent::AgentSpawned(spawned) => Some(&spawned.agent_state_id),
        EnvironmentEvent::AgentClosed(closed) => Some(&closed.agent_state_id),
        _ => None,
    }
}

/// Returns whether an agent takes `fact`: it is addressed to it or to nobody, or is about it.
fn concerns(fact: &Envelope<EnvironmentEvent>, agent: &AgentStateId) -> bool {
    fact.agent_state_id.as_ref().is_none_or(|to| to == agent) || spawned_or_closed(fact) == Some(agent)
}

#[cfg(test)]
mod tests {
    use agentx_agent::fixtures;

    use super::*;

    #[test]
    fn agents_are_a_tree_whatever_a_log_says() {
        let mut tree = AgentTree::default();
        let spawn = |tree: &mut AgentTree, id: &str, parent: &str| {
            tree.spawn(id.into(), parent.into(), fixtures::config());
        };
        // Before any agent exists, as its own parent, and in a cycle.
        spawn(&mut tree, "agt_x", "agt_x");
        tree.open("agt_1".into(), fixtures::config());
        spawn(&mut tree, "agt_1", "agt_1");
        spawn(&mut tree, "agt_2", "agt_3");
        spawn(&mut tree, "agt_3", "agt_2");
        spawn(&mut tree, "agt_4", "agt_3");
        let line = |tree: &AgentTree, id: &str| -> Vec<String> {
            let id: AgentStateId = id.into();
            tree.ancestors(&id).take(9).map(ToString::to_string).collect()
        };
        assert_eq!(line(&tree, "agt_4"), ["agt_3", "agt_2", "agt_1"]);
        assert!(line(&tree, "agt_1").is_empty() && line(&tree, "agt_x").is_empty());
        tree.remove(&"agt_3".into());
        assert_eq!(line(&tree, "agt_4"), ["agt_2", "agt_1"]);
        spawn(&mut tree, "agt_3", "agt_4");
        assert_eq!(line(&tree, "agt_3"), ["agt_4", "agt_2", "agt_1"]);
    }
}
