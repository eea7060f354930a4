//! Folds the facts of a session into its state and its derived events. Every mode (live, resume, replay,
//! mirror, fork) uses this code.

use std::sync::Arc;

use agentx_agent::{Agent, CallStage, Totals};
use agentx_types::{
    ActionId, AgentConfig, AgentStateId, Envelope, EnvironmentEvent, EventDraft, MessageId, SessionId,
    Timestamp, ToolCallId, ToolSpec, UsedIds,
};

use crate::agent_dispatch::DispatchInputs;
use crate::background::BackgroundJobs;
use crate::bridge::{self, ProjectionContext};
use crate::configured_tools::ConfiguredTools;
use crate::derived::{Derived, from_agent, from_fact};
use crate::newer;
use crate::pictures::pictures;
use crate::receptors::{Receptor as _, Receptors};
use crate::repeats::Repeats;
use crate::tool_fold::ToolFold;
use crate::tree::AgentTree;
use crate::{PendingApproval, Projection, RunState, SessionState, Sharing, WaitingInputs};

/// The state of one session: the fold of its facts so far. It is a cache; the log is the truth.
///
/// [`new`](Self::new) begins a session without facts. Give it every fact of the session once, in `seq` order,
/// by one of two methods: [`apply`](Self::apply) returns all that follows from it; [`advance`](Self::advance)
/// only moves the state. All other methods are getters.
///
/// There are two ways because of what they cost: `advance` takes a third of the time over pieces of answers,
/// and a tenth over rounds of tools, where `apply` makes a request for each (`crates/runtime/benches/long.rs`
/// prints both). Opening a session needs the state alone. In both, agents take the same steps; only what
/// nobody hears ([`HeardBy`](agentx_agent::HeardBy)) is left out. Two tests compare them fact by fact:
/// `both_ways_to_fold_agree_after_each_fact` over random histories (`tests/histories.rs`), and the one over
/// recorded sessions (`crates/history/tests/recorded.rs`).
///
/// ```
/// use agentx_session::SessionFold;
/// use agentx_types::{EventDraft, EnvironmentEvent, SessionId, SessionTitled, Source, Timestamp};
///
/// let titled = EventDraft::<EnvironmentEvent>::new(Source::System, None, SessionTitled { title: "Lunch".into(), by: None });
/// let mut fold = SessionFold::new(SessionId::new("ses_1"));
/// let fact = fold.mint(titled, Timestamp(0));
/// let mut opened = fold.clone();
/// assert_eq!(fold.apply(&fact).events.len(), 1);
/// opened.advance(&fact);
/// assert_eq!(opened, fold);
/// assert_eq!((fact.seq, fold.next_seq()), (1, 2));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SessionFold {
    session_id: SessionId,
    last_seq: u64,
    /// The agents and their places in the tree.
    pub(crate) agents: AgentTree,
    /// The state that the derived events of later facts depend on.
    receptors: Receptors,
    /// Requests that are recorded and may come again.
    pub(crate) repeats: Repeats,
    forked_from: Option<SessionId>,
    /// The epoch of the last writer; 0 before the first.
    epoch: u64,
    sharing: Sharing,
    /// Ids that models gave, of all agents: no answer may use one again.
    taken: Arc<UsedIds>,
    /// The recorded steps of the calls in progress.
    pub(crate) flows: ToolFold,
    /// The tools that the session's own agent was given.
    tools: ConfiguredTools,
    /// Commands that continue in the background, according to the log.
    pub(crate) jobs: BackgroundJobs,
    /// The first event that prevents this version from continuing with the session.
    newer: Option<u64>,
}

impl SessionFold {
    /// A session that has seen nothing yet.
    pub fn new(session_id: SessionId) -> Self {
        Self {
            session_id,
            last_seq: 0,
            agents: AgentTree::default(),
            receptors: Receptors::default(),
            repeats: Repeats::default(),
            forked_from: None,
            epoch: 0,
            sharing: Sharing::default(),
            taken: Arc::default(),
            flows: ToolFold::default(),
            tools: ConfiguredTools::default(),
            jobs: BackgroundJobs::default(),
            newer: None,
        }
    }

    /// Applies the next fact and returns everything derived from it.
    pub fn apply(&mut self, fact: &Envelope<EnvironmentEvent>) -> Derived {
        self.fold_session_state(fact);
        let mut meaning = Vec::new();
        self.receptors.receive(fact, &mut meaning);
        let mut events = Vec::new();
        let mut index = 0;
        for event in meaning.drain(..) {
            events.push(from_fact(fact, index, event));
            index += 1;
        }
        let mut outputs = Vec::new();
        let mut projections = Vec::from_iter(Projection::of_fact(fact));
        let root = self.agents.root().cloned();
        let reminder_before = self.next_reminder();
        let inputs = DispatchInputs {
            taken: &self.taken,
            flows: &self.flows,
            heard: true,
        };
        let actions = self.agents.step(fact, inputs, |heard| {
            bridge::runtime_events_for(&heard.output, &mut meaning);
            let context = ProjectionContext {
                seq: fact.seq,
                agent_state_id: heard.agent,
                run_id: heard.run,
                is_root: root.as_ref() == Some(heard.agent),
            };
            projections.extend(bridge::projection(&heard.output, context));
            for event in meaning.drain(..) {
                events.push(from_agent(fact, index, &heard, event));
                index += 1;
            }
            outputs.push((heard.agent.clone(), heard.output));
        });
        let next_reminder = self.next_reminder();
        if next_reminder != reminder_before {
            projections.push(Projection::Reminder(next_reminder));
        }
        if matches!(
            fact.event,
            EnvironmentEvent::SessionForked(_) | EnvironmentEvent::SessionImported(_)
        ) {
            // The original session pays for the calls that it had in progress.
            projections.retain(|projection| !matches!(projection, Projection::Spent { .. }));
        }
        Derived {
            events,
            outputs,
            actions,
            projections,
        }
    }

    /// Applies the next fact only to the state, which changes as by [`apply`](Self::apply).
    pub fn advance(&mut self, fact: &Envelope<EnvironmentEvent>) {
        self.fold_session_state(fact);
        self.receptors.advance(fact);
        let inputs = DispatchInputs {
            taken: &self.taken,
            flows: &self.flows,
            heard: false,
        };
        self.agents.step(fact, inputs, |_| ());
    }

    /// Records the session's own part of a fact. It runs first: agents get a fact that the session knows
    /// already.
    fn fold_session_state(&mut self, fact: &Envelope<EnvironmentEvent>) {
        self.last_seq = fact.seq;
        if self.newer.is_none() && newer::is_beyond(&fact.event) {
            self.newer = Some(fact.seq);
        }
        self.flows.apply(fact);
        self.repeats.note(fact);
        self.note_tools(fact);
        let agents = self.agents.iter();
        let calls =
            agents.flat_map(|agent| agent.calls().iter().map(|entry| (&**agent.config(), &entry.call)));
        self.jobs.apply(&fact.event, calls);
        self.sharing.apply(&fact.event);
        match &fact.event {
            EnvironmentEvent::SessionOpened(opened) => {
                let Some(id) = &fact.agent_state_id else { return };
                self.agents.open(id.clone(), AgentConfig::clone(&opened.config));
            }
            EnvironmentEvent::AgentSpawned(spawned) => {
                self.agents.spawn(
                    spawned.agent_state_id.clone(),
                    spawned.parent.clone(),
                    AgentConfig::clone(&spawned.config),
                );
            }
            EnvironmentEvent::SessionForked(forked) => {
                self.forked_from = Some(forked.parent.clone());
                // A fork does not inherit its parent's roles.
                self.sharing.forked();
            }
            EnvironmentEvent::SessionImported(_) => self.sharing.forked(),
            EnvironmentEvent::WriterAttached(attached) => self.epoch = attached.epoch,
            // Model calls in progress share them: they are cloned once for each answer.
            event if self.taken.is_news(event) => Arc::make_mut(&mut self.taken).note(event),
            _ => {}
        }
    }

    /// The person who drives, and the roles of others.
    pub fn sharing(&self) -> &Sharing {
        &self.sharing
    }

    /// The id of the session.
    pub fn session_id(&self) -> &SessionId {
        &self.session_id
    }

    /// The first event that only a newer version can continue from: an agent of an unknown kind, or a known
    /// event with unknown content. The session can be read, not written.
    pub fn newer(&self) -> Option<u64> {
        self.newer
    }

    /// The `seq` of the last fact; 0 before the first.
    pub fn last_seq(&self) -> u64 {
        self.last_seq
    }

    /// The `seq` that the next fact gets.
    pub fn next_seq(&self) -> u64 {
        self.last_seq + 1
    }

    /// Makes the next fact of the session from an event that happened at `at`. Every `seq` of a live session
    /// comes from here. The state does not change, so fold the fact before you mint another.
    pub fn mint(&self, draft: EventDraft<EnvironmentEvent>, at: Timestamp) -> Envelope<EnvironmentEvent> {
        draft.into_envelope(self.session_id.clone(), self.next_seq(), at)
    }

    /// The agent that people talk to.
    pub fn root(&self) -> Option<&AgentStateId> {
        self.agents.root()
    }

    /// The session from which this one was forked, according to its log.
    pub fn forked_from(&self) -> Option<&SessionId> {
        self.forked_from.as_ref()
    }

    /// The reason why no further agent may be created, as text for the model; `None` below the limit.
    pub fn no_room_for_an_agent(&self) -> Option<String> {
        self.agents.census().full()
    }

    /// Returns an agent by its id.
    pub fn agent(&self, id: &AgentStateId) -> Option<&Agent> {
        self.agents.get(id)
    }

    /// All agents, including nested ones.
    pub fn agents(&self) -> impl Iterator<Item = &Agent> {
        self.agents.iter()
    }

    /// The agent that people talk to.
    pub fn root_agent(&self) -> Option<&Agent> {
        self.agents.root().and_then(|root| self.agents.get(root))
    }

    /// The agent whose call with this id a person has to decide about, or may allow although a judge refused
    /// it.
    pub fn awaits_approval(&self, id: &ToolCallId) -> Option<&AgentStateId> {
        let waits = |agent: &&Agent| {
            agent.questions().any(|(call, _)| call.tool_call_id == *id)
                || agent.react().is_some_and(|agent| agent.may_overrule(id))
        };
        self.agents.iter().find(waits).map(Agent::id)
    }

    /// Returns whether this input is still queued.
    pub fn awaits(&self, input: &MessageId) -> bool {
        let agent = self.root_agent();
        agent.is_some_and(|agent| agent.waiting().any(|waits| waits.message.message_id == *input))
    }

    /// Returns whether an agent still waits for the outcome of this action.
    pub fn is_open(&self, action: &ActionId) -> bool {
        self.agents.iter().any(|agent| {
            agent.condensing() == Some(action)
                || agent.react().is_some_and(|agent| agent.awaits_verdict(action) || agent.awaits_proposals(action))
                || agent.run().is_some_and(|run| run.pending.model_call.as_ref() == Some(action) || run.pending.timer.as_ref() == Some(action) || run.pending.context.iter().any(|open| open.action_id == *action))
                || agent.calls().iter().any(|entry| {
                    matches!(&entry.stage, CallStage::Running { action_id, .. } | CallStage::Answering { action_id, .. } | CallStage::Waiting { action_id, .. } if action_id == action)
                })
        })
    }

    /// Returns the inputs that wait for the agent that people talk to.
    pub fn waiting(&self) -> WaitingInputs {
        let Some(agent) = self.root_agent() else {
            return WaitingInputs::default();
        };
        let runs = agent.run().is_some_and(|run| !run.status.is_final());
        WaitingInputs {
            backlog: agent.backlog(),
            next_waits: runs || agent.condensing().is_some(),
        }
    }

    /// Returns whether any agent is in the middle of a run.
    pub fn is_busy(&self) -> bool {
        self.agents.iter().any(|agent| {
            agent.condensing().is_some() || agent.run().is_some_and(|run| !run.status.is_final())
        })
    }

    /// The calls of all agents that a person has to decide about.
    fn pending_approvals(&self) -> Vec<PendingApproval> {
        let questions = self.agents.iter().flat_map(Agent::questions);
        questions
            .map(|(call, question)| PendingApproval::of(call, question))
            .collect()
    }

    /// The calls of all agents that a judge refused and nobody has decided about.
    fn refused_calls(&self) -> Vec<PendingApproval> {
        let agents = self.agents.iter().filter_map(Agent::react);
        let refused = agents.flat_map(|agent| agent.refused_calls());
        refused
            .map(|refused| PendingApproval::of(&refused.call, &refused.question))
            .collect()
    }

    /// Records the tools of the root agent, and the changes by the program that opened the session.
    fn note_tools(&mut self, fact: &Envelope<EnvironmentEvent>) {
        use EnvironmentEvent as E;
        let concerns = matches!(
            fact.event,
            E::SessionOpened(_) | E::ConfigChanged(_) | E::UserMessage(_)
        );
        let of = fact.agent_state_id.as_ref();
        if concerns && (of.is_none() || self.agents.root().is_none_or(|root| of == Some(root))) {
            let config = self.root_agent().map(|agent| Arc::clone(agent.config()));
            let before = config.as_ref().map_or(&[][..], |config| &config.tools);
            self.tools.apply(fact, before);
        }
    }

    /// The tools of the root agent among those that a program offers: first the configured ones, as the
    /// opener or a person chose them, then all others if it has all tools.
    pub fn tools_of(&self, offered: &[ToolSpec]) -> Vec<ToolSpec> {
        self.tools.of(offered)
    }

    /// The state of the session; `None` before `session_opened`.
    pub fn state(&self) -> Option<SessionState> {
        let agent = self.root_agent()?;
        let Totals {
            usage,
            cost,
            context_tokens,
        } = agent.totals();
        let run = agent.run().map(|run| RunState {
            run_id: run.id.clone(),
            status: run.status,
            iterations: run.iterations,
        });
        Some(SessionState {
            last_seq: self.last_seq,
            config: AgentConfig::clone(agent.config()),
            run,
            pending_approvals: self.pending_approvals(),
            refused_calls: self.refused_calls(),
            waits: self.waits(),
            only_waits: self.only_waits(),
            queued: agent
                .waiting()
                .map(|input| (input.message.message_id.clone(), input.message.text()))
                .collect(),
            queued_by: agent
                .waiting()
                .filter_map(|input| Some((input.message.message_id.clone(), input.message.by.clone()?)))
                .collect(),
            joining: agent.joining(),
            held: agent.is_held(),
            usage,
            cost,
            context_tokens,
            // A router itself reads only text.
            pictures: agent.react().map_or(0, |agent| pictures(agent.messages())),
            sharing: self.sharing.clone(),
            tools_change: self.tools.change().clone(),
        })
    }
}
