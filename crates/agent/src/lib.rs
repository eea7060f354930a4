//! The pure agent machines.
//!
//! An [`Agent`] is a Mealy machine: [`Agent::step`] takes the next committed fact and says what follows: outputs for its
//! own bus, and actions for effectors. It never fails, never blocks, reads no clock and rolls no dice; the same facts give the
//! same agent, byte for byte, and it can be written down and read back between any two steps.
//!
//! The contract, in order: build it from the configuration in `session_opened`, then give it every fact of the session that is
//! addressed to it or to nobody, in `seq` order. What answers an action carries the action's id as its `cause`, or it answers
//! nothing. While a log is being read again, drop the actions: their results follow in
//! the log. A `writer_attached` fact marks the point where another process takes over; the actions that follow from it settle
//! what the old one left open.
//!
//! ```
//! use agentx_agent::{fixtures, Agent};
//! use agentx_types::{ActionBody, AgentStateId, ContentPart, Draft, EnvironmentEvent, SessionId, Source, Timestamp, UserMessage};
//!
//! let id = AgentStateId::new("agt_1");
//! let mut agent = Agent::new(id.clone(), fixtures::config());
//! let message = UserMessage {
//!     message_id: "msg_1".into(),
//!     content: vec![ContentPart::text("hello")],
//!     mode: Default::default(),
//!     idempotency_key: None,
//!     by: None,
//! };
//! let fact = Draft::<EnvironmentEvent>::new(Source::User, Some(id), message).into_envelope(SessionId::new("ses_1"), 2, Timestamp(0));
//! let transition = agent.step(&fact);
//! assert!(matches!(transition.actions[0].body, ActionBody::CallModel(_)));
//! ```

mod above;
pub mod approval;
pub mod arguments;
mod cache;
pub mod command;
mod conversation;
mod course;
pub mod fixtures;
pub mod grade;
mod graver;
pub mod guarded;
mod hosts;
pub mod kept;
mod ledger;
mod limits;
pub mod linked;
pub mod matching;
mod named;
mod nearest;
mod of_file;
mod options;
mod others;
mod own_program;
pub mod pattern;
pub mod places;
mod react;
pub mod reading;
mod recall;
pub mod secrets;
mod stars;
mod subject;
mod summary;
pub mod unmatched;
pub mod walks;

use std::sync::Arc;

use agentx_types::{
    Action, ActionId, AgentConfig, AgentKind, AgentOutput, AgentStateId, ApprovalMode, CondensedRange,
    ConfigChange, Envelope, EnvironmentEvent, Limits, ModelSpec, NanoUsd, RequestedCall, RunId, ServerRules,
    Usage,
};
use serde::{Deserialize, Serialize};

pub use above::{Above, Census};
use approval::Question;
pub use conversation::{estimate_request, estimate_text};
use course::InputQueue;
pub use course::{Backlog, Bill, Input, Pending, Record, Run, StopCause, apply, bind_by, hold_to, keep_from};
pub use ledger::{CallStage, LedgerEntry, ToolLedger};
pub use matching::MatchAgent;
pub use nearest::nearest;
pub use react::{AGENTS, DELEGATE, InnerCall, InnerStage, ReactAgent, delegation_tools};
pub use recall::RECALL;

/// What follows from one fact.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transition {
    /// What the agent says inside its own boundary.
    pub outputs: Vec<AgentOutput>,
    /// What it wants done.
    pub actions: Vec<Action>,
    /// Whether only the agent's state is wanted: then the Stream layer and all actions are left out, which are most of what a fold
    /// over a long log would make and throw away. The state moves the same.
    pub state_only: bool,
    /// Whether nobody hears what the agent says: then it says nothing.
    pub unheard: bool,
    /// What the agents above leave to the one that takes the step; nothing is above the one that people talk to. Whoever steps
    /// the agents of a session says it anew for each.
    pub above: Above,
    /// How many agents the session has.
    pub census: Census,
    /// How many actions were left out: ids count on from them.
    left_out: usize,
}

impl Transition {
    /// For a fold that wants the state alone.
    pub fn state_only() -> Self {
        Self {
            state_only: true,
            ..Self::default()
        }
    }

    /// How many actions there were in this step so far.
    fn acted(&self) -> usize {
        self.actions.len() + self.left_out
    }
}

/// An agent of any kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Agent {
    /// Think, call tools, continue, end.
    React(Box<ReactAgent>),
    /// Sort inputs by rules, and give them to other agents.
    Match(Box<MatchAgent>),
}

impl Agent {
    /// An agent with this configuration that has seen nothing yet.
    pub fn new(id: AgentStateId, config: AgentConfig) -> Self {
        match config.kind {
            AgentKind::React => Self::React(Box::new(ReactAgent::new(id, config))),
            AgentKind::Match => Self::Match(Box::new(MatchAgent::new(id, config))),
        }
    }

    /// The rules of the session's server are other ones from here on.
    pub fn bind_by(&mut self, server: Option<&Arc<ServerRules>>) {
        match self {
            Self::React(agent) => agent.bind_by(server),
            Self::Match(agent) => bind_by(Arc::make_mut(&mut agent.config), server),
        }
    }

    /// Takes the next fact and says what follows.
    pub fn step(&mut self, fact: &Envelope<EnvironmentEvent>) -> Transition {
        let mut transition = Transition::default();
        self.step_into(fact, &mut transition);
        transition
    }

    /// The same as [`Agent::step`], into a transition that is used again: the hot path of a fold over a long log. Ids of
    /// actions count on from those that `into` holds, so one transition that goes through all agents of a session gives each
    /// action its own id; it has to be empty before the first of them.
    pub fn step_into(&mut self, fact: &Envelope<EnvironmentEvent>, into: &mut Transition) {
        match self {
            Self::React(agent) => agent.step_into(fact, into),
            Self::Match(agent) => agent.step_into(fact, into),
        }
    }

    /// A child of this agent says something, as it follows from `fact`: adds what follows from that to `into`. Called in the
    /// same step of the fold in which the child says it.
    pub fn on_child(
        &mut self,
        child: &AgentStateId,
        output: &AgentOutput,
        fact: &Envelope<EnvironmentEvent>,
        into: &mut Transition,
    ) {
        match self {
            Self::React(agent) => agent.on_child(child, output, fact, into),
            Self::Match(agent) => agent.on_child(child, output, fact, into),
        }
    }

    /// The limits of an agent above this one change from `before` to `after`, as it follows from `fact`: what was the same for both
    /// stays the same. Called in the step of the fold in which they change, after that agent has taken it.
    pub fn on_limits_above(
        &mut self,
        before: Limits,
        after: Limits,
        fact: &Envelope<EnvironmentEvent>,
        into: &mut Transition,
    ) {
        let own = self.config().limits;
        let limits = course::followed(own, before, after);
        if limits == own {
            return;
        }
        self.on_change_above(&ConfigChange::Limits(limits), fact, into);
    }

    /// The mode of an agent above this one changes: this one is as strict from now on. Called as [`on_limits_above`](Self::on_limits_above) is.
    pub fn on_approval_above(
        &mut self,
        mode: ApprovalMode,
        fact: &Envelope<EnvironmentEvent>,
        into: &mut Transition,
    ) {
        let config = self.config();
        let stricter = config.approval.stricter(mode);
        if stricter != config.approval && config.rules_version >= 6 {
            self.on_change_above(&ConfigChange::Approval(stricter), fact, into);
        }
    }

    /// What holds for the agents below it changes for an agent above, which is `maker` after that change: rules that deny or ask and the
    /// guard hold here too, and so does the server of a provider that a person names again. A rule that is taken away above stays here, because this agent may have it from its own file. Called as
    /// [`on_limits_above`](Self::on_limits_above) is.
    pub fn on_rules_above(
        &mut self,
        maker: &AgentConfig,
        change: &ConfigChange,
        fact: &Envelope<EnvironmentEvent>,
        into: &mut Transition,
    ) {
        let follows = match change {
            ConfigChange::RuleAdded(_) | ConfigChange::Rules(_) => {
                let mut rules = self.config().rules.clone();
                course::add_strict(&mut rules, &maker.rules);
                (rules.len() > self.config().rules.len()).then_some(ConfigChange::Rules(rules))
            }
            ConfigChange::Guard(_) | ConfigChange::RulesVersion(_) => Some(change.clone()),
            // Whatever is asked of its provider is asked where a person named a model of it.
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
        if let Some(change) = follows {
            self.on_change_above(&change, fact, into);
        }
    }

    fn on_change_above(
        &mut self,
        change: &ConfigChange,
        fact: &Envelope<EnvironmentEvent>,
        into: &mut Transition,
    ) {
        let id = self.id().clone();
        let mut step = course::Step::new(&id, fact, into);
        match self {
            Self::React(agent) => agent.on_change_above(change, &mut step),
            Self::Match(agent) => agent.on_change_above(change, &mut step),
        }
    }

    /// Its id.
    pub fn id(&self) -> &AgentStateId {
        match self {
            Self::React(agent) => agent.id(),
            Self::Match(agent) => agent.id(),
        }
    }

    /// Its configuration as it is now.
    pub fn config(&self) -> &Arc<AgentConfig> {
        match self {
            Self::React(agent) => agent.config(),
            Self::Match(agent) => agent.config(),
        }
    }

    /// The run that is under way, or the last one.
    pub fn run(&self) -> Option<&Run> {
        match self {
            Self::React(agent) => agent.run(),
            Self::Match(agent) => agent.run(),
        }
    }

    /// The id of the run that is under way, or of the last one.
    pub fn run_id(&self) -> Option<&RunId> {
        self.run().map(|run| &run.id)
    }

    /// Inputs that wait, in order.
    pub fn waiting(&self) -> impl Iterator<Item = &Input> {
        self.inputs().iter()
    }

    /// How much waits, notes for the next model call included.
    pub fn backlog(&self) -> Backlog {
        self.inputs().backlog()
    }

    /// How many of those join the run under way; they are the first.
    pub fn joining(&self) -> usize {
        self.inputs().joining()
    }

    /// Whether inputs that wait are held back until a person says something: the session was closed while they waited.
    pub fn is_held(&self) -> bool {
        self.inputs().is_held() && self.inputs().iter().next().is_some()
    }

    fn inputs(&self) -> &InputQueue {
        match self {
            Self::React(agent) => agent.inputs(),
            Self::Match(agent) => agent.inputs(),
        }
    }

    /// Its calls of tools that are not answered yet, in order.
    pub fn calls(&self) -> &[LedgerEntry] {
        match self {
            Self::React(agent) => agent.ledger().entries(),
            Self::Match(_) => &[],
        }
    }

    /// Calls that a person has to decide about, and what is asked: those of its model, then those that its running tools want to make.
    pub fn questions(&self) -> impl Iterator<Item = (&RequestedCall, &Question)> {
        let own = self.calls().iter().filter_map(|entry| match &entry.stage {
            CallStage::AwaitingApproval(question) => Some((&entry.call, question)),
            _ => None,
        });
        let inner = self.react().map_or(&[][..], ReactAgent::inner_calls).iter();
        own.chain(inner.filter_map(|inner| Some((&inner.call, inner.question()?))))
    }

    /// Tokens and money of all model calls, those of its children too, and how many tokens the last one filled the window with.
    pub fn totals(&self) -> (Usage, NanoUsd, u64) {
        match self {
            Self::React(agent) => agent.totals(),
            Self::Match(agent) => agent.totals(),
        }
    }

    /// The summary that it waits for.
    pub fn condensing(&self) -> Option<&ActionId> {
        self.react().and_then(ReactAgent::condensing)
    }

    /// What summaries stand for now, the latest last.
    pub fn condensed(&self) -> Vec<CondensedRange> {
        self.react().map(ReactAgent::condensed).unwrap_or_default()
    }

    /// The ReAct machine inside, where it is one.
    pub fn react(&self) -> Option<&ReactAgent> {
        match self {
            Self::React(agent) => Some(agent),
            Self::Match(_) => None,
        }
    }
}
