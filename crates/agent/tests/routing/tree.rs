//! The agents of a session, stepped as a session does: which agents get a fact, and which hear a child.

use std::collections::{BTreeMap, VecDeque};

use agentx_agent::{ActionCount, Agent, AncestorBudgets, Census, StepContext, Transition};
use agentx_types::*;
use serde::{Deserialize, Serialize};

pub(crate) type Event = EnvironmentEvent;
pub(crate) type Fact = Envelope<Event>;
/// The outputs of agents, each with the agent's id.
pub(crate) type Said = Vec<(AgentStateId, AgentOutput)>;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Tree {
    pub(crate) agents: BTreeMap<AgentStateId, Agent>,
    parents: BTreeMap<AgentStateId, AgentStateId>,
    pub(crate) made: u32,
    /// The number of further agents, whose parents are not here.
    pub(crate) others: u32,
}

impl Tree {
    pub(crate) fn new(root: Agent) -> Self {
        Self {
            agents: [(root.id().clone(), root)].into(),
            parents: BTreeMap::new(),
            made: 0,
            others: 0,
        }
    }

    /// The agents above one, the nearest first.
    pub(crate) fn line<'a>(&'a self, id: &'a AgentStateId) -> impl Iterator<Item = &'a Agent> {
        let mut at = id;
        std::iter::from_fn(move || {
            at = self.parents.get(at)?;
            self.agents.get(at)
        })
    }

    fn above(&self, id: &AgentStateId) -> AncestorBudgets {
        let mut above = AncestorBudgets::default();
        self.line(id).for_each(|agent| above.add(agent));
        above
    }

    /// Gives a fact to all agents that it concerns.
    pub(crate) fn step(&mut self, fact: &Fact) -> (Said, Vec<Action>) {
        if let Event::AgentSpawned(spawned) = &fact.event {
            let id = spawned.agent_state_id.clone();
            assert!(!self.agents.contains_key(&id), "{id} twice");
            self.parents.insert(id.clone(), spawned.parent.clone());
            self.agents
                .insert(id.clone(), Agent::new(id, (*spawned.config).clone()));
            self.made += 1;
        }
        if fact.source == Source::User && matches!(fact.event, Event::UserMessage(_)) {
            self.made = 0;
        }
        let census = Census {
            alive: self.parents.len() as u32 + self.others,
            made: self.made,
        };
        let changed = self.limits_of(fact);
        let aboves: BTreeMap<AgentStateId, AncestorBudgets> = self
            .agents
            .keys()
            .map(|id| (id.clone(), self.above(id)))
            .collect();
        let mut round = Round {
            census,
            ..Round::default()
        };
        for (id, agent) in &mut self.agents {
            let closes = matches!(&fact.event, Event::AgentClosed(closed) if closed.agent_state_id == *id);
            if !closes && fact.agent_state_id.as_ref().is_some_and(|to| to != id) {
                continue;
            }
            let transition = agent.step(fact, &round.context(&aboves[id], depth_of(&self.parents, id)));
            round.take(id, transition);
        }
        if let Some((of, before, after)) = changed {
            let below = |id: &AgentStateId| self.line(id).any(|agent| *agent.id() == of);
            let below: Vec<AgentStateId> = self.agents.keys().filter(|id| below(id)).cloned().collect();
            for id in below {
                let agent = self.agents.get_mut(&id).unwrap();
                let context = round.context(&aboves[&id], depth_of(&self.parents, &id));
                let transition = agent.on_limits_above(before, after, fact, &context);
                round.take(&id, transition);
            }
        }
        while let Some((child, output)) = round.upward.pop_front() {
            let Some(parent) = self.parents.get(&child).cloned() else {
                continue;
            };
            let above = self.above(&parent);
            if let Some(agent) = self.agents.get_mut(&parent) {
                let transition = agent.on_child(
                    &child,
                    &output,
                    fact,
                    &round.context(&above, depth_of(&self.parents, &parent)),
                );
                round.take(&parent, transition);
            }
            match output {
                AgentOutput::State(StateOutput::Closed { .. }) => {
                    self.agents.remove(&child);
                    self.parents.remove(&child);
                    let orphans = self.parents.values_mut().filter(|of| **of == child);
                    orphans.for_each(|of| *of = parent.clone());
                }
                AgentOutput::State(StateOutput::Spent { .. }) => round.upward.push_front((parent, output)),
                _ => {}
            }
        }
        (round.said, round.actions)
    }
}

/// The number of agents above this one.
fn depth_of(parents: &BTreeMap<AgentStateId, AgentStateId>, id: &AgentStateId) -> u32 {
    let mut above = parents.get(id);
    let mut depth = 0;
    while let Some(parent) = above {
        depth += 1;
        above = parents.get(parent);
    }
    depth
}

/// The way of one fact through the agents.
#[derive(Default)]
struct Round {
    census: Census,
    acted: ActionCount,
    said: Said,
    actions: Vec<Action>,
    upward: VecDeque<(AgentStateId, AgentOutput)>,
}

impl Round {
    fn context<'a>(&self, above: &'a AncestorBudgets, depth: u32) -> StepContext<'a> {
        StepContext {
            depth,
            above: Some(above),
            census: self.census,
            before: self.acted,
            ..StepContext::default()
        }
    }

    fn take(&mut self, id: &AgentStateId, follows: Transition) {
        self.acted += follows.acted;
        self.actions.extend(follows.actions);
        for output in follows.outputs {
            let goes_up = matches!(
                output,
                AgentOutput::State(
                    StateOutput::RunFinished { .. } | StateOutput::Spent { .. } | StateOutput::Closed { .. }
                ) | AgentOutput::Turn(TurnOutput::Response { .. })
                    | AgentOutput::Message(MessageOutput::User { .. })
            );
            if goes_up {
                self.upward.push_back((id.clone(), output.clone()));
            }
            self.said.push((id.clone(), output));
        }
    }
}

impl Tree {
    /// The agent whose limits the fact changes, with its present and its new limits.
    fn limits_of(&self, fact: &Fact) -> Option<(AgentStateId, Limits, Limits)> {
        let Event::ConfigChanged(ConfigChanged {
            change: ConfigChange::Limits(after),
            ..
        }) = &fact.event
        else {
            return None;
        };
        let agent = self.agents.get(fact.agent_state_id.as_ref()?)?;
        Some((agent.id().clone(), agent.config().limits, *after))
    }
}

/// The result of a call that is answered without running anything.
fn result_of(answer: &AnswerCall) -> ToolResult {
    ToolResult {
        tool_call_id: answer.tool_call_id.clone(),
        result: answer.content.clone(),
        is_error: answer.status != ToolStatus::Success,
        status: answer.status,
        details: None,
    }
}

/// The fact that records an action.
pub(crate) fn consequence(action: &Action) -> Option<EventDraft<Event>> {
    let (to, event): (&AgentStateId, Event) = match &action.body {
        ActionBody::Cancel(_) | ActionBody::DecideInnerCall(_) => return None,
        ActionBody::AnswerCall(answer) => (&action.agent_state_id, result_of(answer).into()),
        ActionBody::Report(Report::Fallback(asked)) => (&action.agent_state_id, asked.clone().into()),
        ActionBody::Report(Report::Interrupted { reason }) => {
            let reason = reason.clone();
            (&action.agent_state_id, Interrupted { reason }.into())
        }
        ActionBody::Report(Report::Error { code, message }) => (&action.agent_state_id, error(code, message)),
        ActionBody::SpawnAgent(spawn) => {
            let spawned = AgentSpawned {
                agent_state_id: spawn.agent_state_id.clone(),
                parent: action.agent_state_id.clone(),
                config: spawn.config.clone(),
            };
            (&spawn.agent_state_id, spawned.into())
        }
        ActionBody::CheckAnswer(check) => {
            let checked = AnswerChecked {
                attempt: check.attempt,
                problems: Vec::new(),
                invalid_schema: false,
            };
            (&action.agent_state_id, checked.into())
        }
        ActionBody::SendInput(input) => (&input.to, input.message.clone().into()),
        ActionBody::InterruptAgent(interrupt) => {
            let requested = InterruptRequested {
                reason: interrupt.reason.clone(),
                hold: false,
                by: None,
            };
            (&interrupt.to, requested.into())
        }
        ActionBody::CloseAgent(close) => {
            let closed = AgentClosed {
                agent_state_id: close.agent_state_id.clone(),
                reason: close.reason.clone(),
            };
            (&close.agent_state_id, closed.into())
        }
        ActionBody::CallModel(_)
        | ActionBody::Condense(_)
        | ActionBody::BuildContext(_)
        | ActionBody::AssessRisk(_)
        | ActionBody::ProposeMemories(_)
        | ActionBody::CallTool(_)
        | ActionBody::StartTimer(_) => {
            let started = ActionStarted {
                kind: action.body.kind(),
                tool_call_id: None,
                due_at: None,
            };
            (&action.agent_state_id, started.into())
        }
    };
    let mut draft = EventDraft::<Event>::new(Source::Agent, Some(to.clone()), event);
    draft.cause = Some(action.action_id.clone());
    if *to == action.agent_state_id {
        draft.run_id = action.run_id.clone();
    }
    Some(draft)
}

pub(crate) fn error(code: &str, message: &str) -> Event {
    ErrorOccurred {
        code: code.into(),
        message: message.into(),
        recoverable: true,
    }
    .into()
}
