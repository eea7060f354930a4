//! An agent of any kind: the interface through which a session steps every machine.

use std::sync::Arc;

use agentx_types::{
    ActionId, AgentConfig, AgentKind, AgentOutput, AgentStateId, ApprovalMode, CondensedRange, ConfigChange,
    Envelope, EnvironmentEvent, Limits, ModelSpec, RequestedCall, RunId, ServerRules, since,
};
use serde::{Deserialize, Serialize};

use crate::context::{StepContext, Transition};
use crate::ledger::{CallStage, LedgerEntry};
use crate::limits::ancestor_budgets::AncestorBudgets;
use crate::matching::MatchAgent;
use crate::permissions::approval::Question;
use crate::permissions::rule_origin::note_web_text;
use crate::react::ReactAgent;
use crate::run_lifecycle::{self, InputBacklog, InputQueue, Run, RunInput, RunStep, Totals};

/// An agent of any kind.
///
/// Its methods are of four kinds:
///
/// - A. [`new`](Self::new) builds it from the configuration in `session_opened` or `agent_spawned`.
/// - B. [`step`](Self::step) takes a fact.
/// - C. Effects of the same fact that come from other agents: `on_…_above` for a change in an agent above,
///   [`on_child`](Self::on_child) for the output of an agent below; and [`bind_by`](Self::bind_by) for
///   changed rules of the server.
/// - D. Getters, which take `&self` and may be called at any time.
///
/// B and C take their inputs as arguments, with a [`StepContext`], and return all that follows as a
/// [`Transition`]; `bind_by` returns nothing. Each action is complete when it is returned.
///
/// Give it every fact of the session that is addressed to it or to nobody, in `seq` order. For one fact, the
/// agents of a session go in this order:
///
/// 1. `bind_by` for all, if the fact changes the rules of the server;
/// 2. `step` for each that the fact concerns, in the order of their ids;
/// 3. `on_limits_above`, `on_approval_above`, `on_rules_above`, `on_maker_changed` for those below one whose
///    configuration the fact changes;
/// 4. `on_child` for the parent of each agent with outputs in 2 or 4, until there are no more outputs.
///
/// [`StepContext::before`] is the sum of [`acted`](Transition::acted) of the earlier transitions of the same
/// fact: so two agents never give one id to two actions. A fact answers an action only if its `cause` is the
/// action's id. While a log is read again, drop the actions: their results follow in the log. A
/// `writer_attached` fact marks the point where another process takes over; the actions that follow from it
/// settle what the old one left open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Agent {
    /// Think, call tools, continue, end: it has a conversation with a model.
    React(Box<ReactAgent>),
    /// Sorts inputs by rules, and gives them to other agents. It has no conversation and no tools itself.
    Match(Box<MatchAgent>),
}

impl Agent {
    /// An agent with this configuration that has seen nothing yet. `kind` decides which machine it is.
    pub fn new(id: AgentStateId, config: AgentConfig) -> Self {
        match config.kind {
            // A machine of a newer version is read as a ReAct agent, which is not continued.
            AgentKind::React | AgentKind::Unknown => Self::React(Box::new(ReactAgent::new(id, config))),
            AgentKind::Match => Self::Match(Box::new(MatchAgent::new(id, config))),
        }
    }

    /// Applies the next fact and returns what follows from it.
    ///
    /// A fact that does not concern the agent gives an empty [`Transition`]; none is an error. `context` is
    /// the session's state at this moment, and must not be older than the fact.
    ///
    /// The ids of the actions are `act_SEQ_INDEX`: the `seq` of the fact, and the place among all actions of
    /// the fact, from 0. So they are the same in each replay:
    ///
    /// ```
    /// use agentx_agent::{Agent, HeardBy, StepContext, fixtures};
    /// use agentx_types::{ContentPart, EnvironmentEvent, EventDraft, Source, Timestamp, UserMessage};
    ///
    /// let message = UserMessage {
    ///     message_id: "msg_1".into(),
    ///     content: vec![ContentPart::text("hello")],
    ///     mode: Default::default(),
    ///     idempotency_key: None,
    ///     by: None,
    ///     answer_schema: None,
    /// };
    /// let draft = EventDraft::<EnvironmentEvent>::new(Source::User, Some("agt_1".into()), message);
    /// let fact = draft.into_envelope("ses_1".into(), 2, Timestamp(0));
    /// let mut live = Agent::new("agt_1".into(), fixtures::config());
    /// let transition = live.step(&fact, &StepContext::default());
    /// assert_eq!(transition.actions[0].action_id.as_str(), "act_2_0");
    ///
    /// let mut replayed = Agent::new("agt_1".into(), fixtures::config());
    /// let quiet = StepContext { heard_by: HeardBy::Nobody, ..StepContext::default() };
    /// let same = replayed.step(&fact, &quiet);
    /// assert!(same.actions.is_empty() && same.outputs.is_empty());
    /// assert_eq!((same.acted, replayed), (transition.acted, live));
    /// ```
    pub fn step(&mut self, fact: &Envelope<EnvironmentEvent>, context: &StepContext<'_>) -> Transition {
        self.stepping(fact, context, |agent, step| match agent {
            Self::React(agent) => agent.apply(fact, step),
            Self::Match(agent) => agent.apply(fact, step),
        })
    }

    /// Replaces the rules of the session's server. Nothing follows in the same step: open questions stay
    /// open, and are decided again when the next writer takes over.
    pub fn bind_by(&mut self, server: Option<&Arc<ServerRules>>) {
        match self {
            Self::React(agent) => agent.bind_by(server),
            Self::Match(agent) => run_lifecycle::bind_by(Arc::make_mut(&mut agent.config), server),
        }
    }

    /// Notes that text from the web has entered the conversation, because an agent below hands on its answer.
    pub fn note_web_text(&mut self) {
        match self {
            Self::React(agent) => agent.note_web_text(),
            Self::Match(agent) => note_web_text(&mut agent.config),
        }
    }

    /// The limits of an agent above this one change from `before` to `after`, as it follows from `fact`.
    ///
    /// Each limit that was equal for both stays equal; one that this agent has for itself stays. Nothing
    /// follows if nothing changes.
    ///
    /// | own limit | above, before | above, after | own limit afterwards |
    /// | --- | --- | --- | --- |
    /// | 50 | 50 | 80 | 80 |
    /// | 20 | 50 | 80 | 20 |
    /// | none | none | 80 | 80 |
    /// | 50 | 50 | none | none |
    pub fn on_limits_above(
        &mut self,
        before: Limits,
        after: Limits,
        fact: &Envelope<EnvironmentEvent>,
        context: &StepContext<'_>,
    ) -> Transition {
        let own = self.config().limits;
        let limits = run_lifecycle::followed(own, before, after);
        let follows = (limits != own).then_some(ConfigChange::Limits(limits));
        self.on_change_above(follows, fact, context)
    }

    /// The mode of an agent above this one changes: this one is at least as strict from now on.
    ///
    /// A less strict mode above changes nothing here. Before version 6 of the rules, modes were not
    /// inherited.
    ///
    /// | own mode | mode above | own mode afterwards |
    /// | --- | --- | --- |
    /// | `auto` | `ask` | `ask` |
    /// | `ask` | `deny` | `deny` |
    /// | `ask` | `auto` | `ask` |
    /// | `deny` | any | `deny` |
    pub fn on_approval_above(
        &mut self,
        mode: ApprovalMode,
        fact: &Envelope<EnvironmentEvent>,
        context: &StepContext<'_>,
    ) -> Transition {
        let config = self.config();
        let stricter = config.approval.stricter(mode);
        let is_stricter = stricter != config.approval && config.rules_version >= since::MODES_REACH_BELOW;
        let follows = is_stricter.then_some(ConfigChange::Approval(stricter));
        self.on_change_above(follows, fact, context)
    }

    /// The configuration of an agent above changes by `change` to `maker`: applies the parts that also bind
    /// the agents below it.
    ///
    /// Rules that deny or ask are added, the guard, plan mode and the version of the rules are taken over,
    /// and a model of the same provider moves to the server that a person named. A rule that is removed above
    /// stays here, because this agent may have it from its own file. Any other change concerns only the agent
    /// above, and nothing follows.
    pub fn on_rules_above(
        &mut self,
        maker: &AgentConfig,
        change: &ConfigChange,
        fact: &Envelope<EnvironmentEvent>,
        context: &StepContext<'_>,
    ) -> Transition {
        let follows = match change {
            ConfigChange::RuleAdded(_) | ConfigChange::Rules(_) => {
                let mut rules = self.config().rules.clone();
                run_lifecycle::add_strict(&mut rules, &maker.rules);
                (rules.len() > self.config().rules.len()).then_some(ConfigChange::Rules(rules))
            }
            ConfigChange::Guard(_) | ConfigChange::RulesVersion(_) | ConfigChange::PlanMode(_) => {
                Some(change.clone())
            }
            // Every model of this provider moves with the model that a person named.
            ConfigChange::Model(named) => {
                let own = &self.config().model;
                let moves = own.provider == named.provider && own.server != named.server;
                let moved = moves.then(|| ModelSpec {
                    server: named.server.clone(),
                    ..own.clone()
                });
                moved.map(|model| ConfigChange::Model(Box::new(model)))
            }
            _ => None,
        };
        self.on_change_above(follows, fact, context)
    }

    /// Handles an output that follows from `fact` of the agent `child` below: its spending, its answer, or
    /// the end of its run. If this agent did not create the child, only its spending counts.
    ///
    /// A ReAct agent handles an output of its child as follows:
    ///
    /// | output | effect |
    /// | --- | --- |
    /// | `spent` | is added to the totals and to the run |
    /// | the response of a turn | is remembered as the child's answer; the latest one counts |
    /// | `run_finished`, the first one | the child is closed, and its answer goes to the call or becomes an input |
    /// | any other | none |
    pub fn on_child(
        &mut self,
        child: &AgentStateId,
        output: &AgentOutput,
        fact: &Envelope<EnvironmentEvent>,
        context: &StepContext<'_>,
    ) -> Transition {
        self.stepping(fact, context, |agent, step| match agent {
            Self::React(agent) => agent.on_child_output(child, output, step),
            Self::Match(agent) => agent.on_child_output(child, output, step),
        })
    }

    /// Applies a change from above as if it were one of the agent's own.
    pub(crate) fn on_change_above(
        &mut self,
        follows: Option<ConfigChange>,
        fact: &Envelope<EnvironmentEvent>,
        context: &StepContext<'_>,
    ) -> Transition {
        let Some(change) = follows else {
            return Transition::default();
        };
        self.stepping(fact, context, |agent, step| match agent {
            Self::React(agent) => agent.on_change_above(&change, step),
            Self::Match(agent) => agent.on_change_above(&change, step),
        })
    }

    /// Opens a step for `fact`, lets `take` fill it, and returns the transition. Every input of a machine
    /// goes through here.
    fn stepping(
        &mut self,
        fact: &Envelope<EnvironmentEvent>,
        context: &StepContext<'_>,
        take: impl FnOnce(&mut Self, &mut RunStep<'_>),
    ) -> Transition {
        let id = self.id().clone();
        let mut step = RunStep::new(&id, fact, context);
        take(self, &mut step);
        step.end()
    }

    /// The id of this agent in its session.
    pub fn id(&self) -> &AgentStateId {
        match self {
            Self::React(agent) => agent.id(),
            Self::Match(agent) => agent.id(),
        }
    }

    /// The present configuration, with all changes.
    pub fn config(&self) -> &Arc<AgentConfig> {
        match self {
            Self::React(agent) => agent.config(),
            Self::Match(agent) => agent.config(),
        }
    }

    /// The current run, or the last one, depending on its status; `None` before the first.
    ///
    /// The run has ended if `status.is_final()` is true.
    pub fn run(&self) -> Option<&Run> {
        match self {
            Self::React(agent) => agent.run(),
            Self::Match(agent) => agent.run(),
        }
    }

    /// The id of the current run, or of the last one.
    pub fn run_id(&self) -> Option<&RunId> {
        self.run().map(|run| &run.id)
    }

    /// Inputs that wait, in the order in which they will be taken up: first those that join the run under
    /// way.
    pub fn waiting(&self) -> impl Iterator<Item = &RunInput> {
        self.inputs().iter()
    }

    /// The amount that waits, notes for the next model call included; the runtime bounds it.
    pub fn backlog(&self) -> InputBacklog {
        self.inputs().backlog()
    }

    /// The number of inputs in [`waiting`](Self::waiting) that join the run in progress; they are the first.
    pub fn joining(&self) -> usize {
        self.inputs().joining()
    }

    /// Returns whether queued inputs are held back until a person sends an input, because the session was
    /// closed.
    ///
    /// `false` if no input waits.
    pub fn is_held(&self) -> bool {
        self.inputs().is_held() && self.inputs().iter().next().is_some()
    }

    /// The inputs of either machine.
    fn inputs(&self) -> &InputQueue {
        match self {
            Self::React(agent) => agent.inputs(),
            Self::Match(agent) => agent.inputs(),
        }
    }

    /// Tool calls of the current round, in the model's order; empty for an agent without tools.
    pub fn calls(&self) -> &[LedgerEntry] {
        match self {
            Self::React(agent) => agent.ledger().entries(),
            Self::Match(_) => &[],
        }
    }

    /// Calls that wait for a person's decision, with their questions: those of its model, then nested ones of
    /// its running tools.
    ///
    /// The fact that answers a question is an `approval` with the `tool_call_id` of the call. A nested call
    /// has the id of its outer call and the number of its step: `call_1/7`.
    pub fn questions(&self) -> impl Iterator<Item = (&RequestedCall, &Question)> {
        let own = self.calls().iter().filter_map(|entry| match &entry.stage {
            CallStage::AwaitingApproval(question) => Some((&entry.call, question)),
            _ => None,
        });
        let inner = self.react().map_or(&[][..], ReactAgent::inner_calls).iter();
        own.chain(inner.filter_map(|inner| Some((&inner.call, inner.question()?))))
    }

    /// The cost of all its runs, and those of its children.
    ///
    /// Tokens are as the providers counted them, or estimated if they did not. Money is in nano-dollars.
    pub fn totals(&self) -> Totals {
        match self {
            Self::React(agent) => agent.totals(),
            Self::Match(agent) => agent.totals(),
        }
    }

    /// The action of the summary that the agent waits for, if it waits for one.
    ///
    /// `None` if it waits for none, and for an agent of another kind than ReAct.
    pub fn condensing(&self) -> Option<&ActionId> {
        self.react().and_then(ReactAgent::condensing)
    }

    /// The summaries in the conversation, with the events that each replaces, the latest last.
    pub fn condensed(&self) -> Vec<CondensedRange> {
        self.react().map(ReactAgent::condensed).unwrap_or_default()
    }

    /// The ReAct machine inside; `None` for an agent of another kind.
    pub fn react(&self) -> Option<&ReactAgent> {
        match self {
            Self::React(agent) => Some(agent),
            Self::Match(_) => None,
        }
    }
}

impl AncestorBudgets {
    /// Counts in the next agent above; call it for the parent first, then for its parent.
    ///
    /// An agent without a run, or without a limit of tokens or money, adds no budget. If one is being stopped
    /// for a limit, that is remembered: the nearest such agent counts.
    ///
    /// ```
    /// use agentx_agent::{Agent, AncestorBudgets, StepContext, fixtures};
    ///
    /// let parent = Agent::new("agt_1".into(), fixtures::config());
    /// let mut above = AncestorBudgets::default();
    /// above.add(&parent);
    /// assert_eq!(above, AncestorBudgets::default(), "an agent without a run adds nothing");
    /// let of_child = StepContext { above: Some(&above), depth: 1, ..StepContext::default() };
    /// ```
    pub fn add(&mut self, agent: &Agent) {
        if let Some(run) = agent.run() {
            self.add_run(agent.config(), run.raised, run.spent(), run.pending.stop.as_ref());
            self.add_mode(run.mode_of_words);
        }
    }
}
