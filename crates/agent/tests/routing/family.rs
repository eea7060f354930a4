//! A session with a router in it: it mints `seq`, keeps the log, and turns the agents' actions on each other
//! directly into facts. Every step is taken twice: by the agents, and by copies of them that were serialized
//! and read back.

use std::collections::{BTreeSet, VecDeque};

use agentx_agent::{Agent, fixtures};
use agentx_types::*;

pub(crate) use crate::tree::*;

pub(crate) struct Family {
    pub(crate) config: AgentConfig,
    pub(crate) tree: Tree,
    pub(crate) log: Vec<Fact>,
    /// The outputs at each fact.
    pub(crate) said: Vec<Said>,
    /// Model calls, tools and timers in progress.
    pub(crate) open: Vec<Action>,
    pub(crate) cancelled: BTreeSet<ActionId>,
    /// Microseconds.
    pub(crate) now: i64,
}

pub(crate) fn agent(name: &str) -> AgentConfig {
    AgentConfig {
        name: name.into(),
        ..fixtures::config()
    }
}

fn rule(name: &str, patterns: &[&str]) -> IntentRule {
    let pattern = |input: &&str| IntentPattern {
        input: (*input).into(),
        output: None,
    };
    let var = |name: &str, kind| IntentVar {
        name: name.into(),
        label: name.into(),
        kind,
    };
    IntentRule {
        name: name.into(),
        vars: vec![var("title", VarKind::String), var("pct", VarKind::Int)],
        patterns: patterns.iter().map(pattern).collect(),
        ..IntentRule::default()
    }
}

/// One agent handles music and volume, another one the weather; none plays chess.
pub(crate) fn routing(default: Option<AgentConfig>) -> Routing {
    let route = |rules: &[&str], agent| Route {
        rules: rules.iter().map(|rule| (*rule).into()).collect(),
        agent,
    };
    Routing {
        rules: vec![
            rule("play", &["play", "play [title]"]),
            rule("volume", &["volume [pct]"]),
            rule("weather", &["weather"]),
            rule("chess", &["chess"]),
        ],
        routes: vec![
            route(&["play", "volume"], agent("music")),
            route(&["weather"], agent("sky")),
        ],
        default: default.map(Box::new),
    }
}

pub(crate) fn router(routing: Routing) -> AgentConfig {
    AgentConfig {
        kind: AgentKind::Match,
        routing: Some(Box::new(routing)),
        tools: [].into(),
        ..agent("router")
    }
}

impl Family {
    pub(crate) fn new(config: AgentConfig) -> Self {
        Self {
            tree: Tree::new(Agent::new("agt_1".into(), config.clone())),
            config,
            log: Vec::new(),
            said: Vec::new(),
            open: Vec::new(),
            cancelled: BTreeSet::new(),
            now: 1_000_000,
        }
    }

    /// The usual family; its router has this version of the rules.
    pub(crate) fn usual_of_version(rules_version: u32) -> Self {
        Self::new(AgentConfig {
            rules_version,
            ..router(routing(Some(agent("chat"))))
        })
    }

    /// With a default agent that chats, under the current rules.
    pub(crate) fn usual() -> Self {
        Self::usual_of_version(RULES_VERSION)
    }

    pub(crate) fn root() -> AgentStateId {
        "agt_1".into()
    }

    pub(crate) fn root_agent(&self) -> &Agent {
        self.tree.agents.get(&Self::root()).unwrap()
    }

    /// Applies a fact and its immediate consequences.
    pub(crate) fn fact(
        &mut self,
        to: Option<AgentStateId>,
        cause: Option<ActionId>,
        event: impl Into<Event>,
    ) {
        let mut draft = EventDraft::<Event>::new(Source::Environment, to, event.into());
        draft.cause = cause;
        self.take_in(draft);
    }

    pub(crate) fn take_in(&mut self, draft: EventDraft<Event>) {
        let mut queue = VecDeque::from([draft]);
        while let Some(draft) = queue.pop_front() {
            let actions = self.take(draft);
            for draft in actions.iter().rev().filter_map(consequence) {
                queue.push_front(draft);
            }
            actions.into_iter().for_each(|action| self.begin(action));
            assert!(self.log.len() < 20_000, "it goes on for ever");
        }
        self.check_rest();
    }

    /// A run of a router lasts until its children have done all their inputs, except those that come to them
    /// from the background.
    fn check_rest(&self) {
        let works = |agent: &Agent| agent.run().is_some_and(|run| !run.status.is_final());
        let is_plain = |agent: &&Agent| agent.config().agents.is_empty() && works(agent);
        for agent in self.tree.agents.values().filter(is_plain) {
            let parent = self.tree.line(agent.id()).next();
            let idle = parent.filter(|parent| parent.react().is_none() && !works(parent));
            let stops = agent.run().is_some_and(|run| run.status == RunStatus::Stopping);
            assert!(
                idle.is_none() || stops,
                "{} at work for nobody",
                agent.config().name
            );
        }
    }

    fn take(&mut self, draft: EventDraft<Event>) -> Vec<Action> {
        self.now += 1_000;
        let seq = self.log.len() as u64 + 1;
        let fact = draft.into_envelope("ses_1".into(), seq, Timestamp(self.now));
        let mut copy: Tree = serde_json::from_str(&serde_json::to_string(&self.tree).unwrap()).unwrap();
        let taken = self.tree.step(&fact);
        let tag = fact.event.tag();
        assert_eq!(copy.step(&fact), taken, "the copies' step on {tag}");
        assert_eq!(copy, self.tree, "the copies after {tag}");
        self.log.push(fact);
        self.said.push(taken.0);
        taken.1
    }

    fn begin(&mut self, action: Action) {
        match &action.body {
            ActionBody::Cancel(cancel) => {
                self.open.retain(|open| {
                    open.action_id != cancel.action_id || !matches!(open.body, ActionBody::StartTimer(_))
                });
                self.cancelled.insert(cancel.action_id.clone());
            }
            ActionBody::CallModel(_) => {
                self.check_budgets(&action.agent_state_id);
                self.open.push(action)
            }
            ActionBody::CallTool(_) | ActionBody::StartTimer(_) => self.open.push(action),
            _ => {}
        }
    }

    // People.

    pub(crate) fn say_as(&mut self, text: &str, mode: InputMode) {
        let message_id = MessageId::with_suffix(self.log.len());
        self.fact(
            Some(Self::root()),
            None,
            UserMessage {
                message_id,
                content: vec![ContentPart::text(text)],
                mode,
                idempotency_key: None,
                by: None,
                answer_schema: None,
            },
        );
    }

    pub(crate) fn say(&mut self, text: &str) {
        self.say_as(text, InputMode::Queue);
    }

    pub(crate) fn steer(&mut self, text: &str) {
        self.say_as(text, InputMode::Steer);
    }

    pub(crate) fn interrupt(&mut self, agent: &AgentStateId) {
        self.fact(
            Some(agent.clone()),
            None,
            InterruptRequested {
                reason: None,
                hold: false,
                by: None,
            },
        );
    }

    // The world.

    /// Returns the agents with an open action of this kind, in order.
    pub(crate) fn asks(&self, kind: ActionKind) -> Vec<String> {
        let of_kind = self.open.iter().filter(|open| open.body.kind() == kind);
        of_kind.map(|open| self.name(&open.agent_state_id)).collect()
    }

    /// Returns the name of an agent; closed agents are marked.
    pub(crate) fn name(&self, id: &AgentStateId) -> String {
        let agent = self.tree.agents.get(id);
        agent.map_or_else(|| "gone".to_owned(), |agent| agent.config().name.clone())
    }

    /// The open model call of the agent with this name.
    pub(crate) fn call_of(&self, name: &str) -> Action {
        let of = |open: &&Action| {
            open.body.kind() == ActionKind::CallModel && self.name(&open.agent_state_id) == name
        };
        let call = self.open.iter().find(of).cloned();
        call.unwrap_or_else(|| panic!("{name} asks no model: {:?}", self.asks(ActionKind::CallModel)))
    }

    /// An event that answers an action.
    pub(crate) fn answers(&mut self, action: &Action, event: Event) {
        let last = match &event {
            Event::StreamEnd(end) => end.stop_reason != StopReason::Broken,
            Event::ErrorOccurred(_) | Event::ToolResult(_) | Event::TimerFired(_) => true,
            _ => false,
        };
        if last {
            self.open.retain(|open| open.action_id != action.action_id);
        }
        self.fact(
            Some(action.agent_state_id.clone()),
            Some(action.action_id.clone()),
            event,
        );
    }

    pub(crate) fn answer_as(&mut self, name: &str, text: &str, stop_reason: StopReason) {
        let action = self.call_of(name);
        self.answer_call(&action, text, stop_reason);
    }

    pub(crate) fn answer_call(&mut self, action: &Action, text: &str, stop_reason: StopReason) {
        let message_id = MessageId::with_suffix(format_args!("a{}", self.log.len()));
        let model = "fixture-1".into();
        self.answers(
            action,
            StreamStart {
                message_id,
                model,
                attempt: 1,
            }
            .into(),
        );
        for piece in text.split_inclusive(' ') {
            self.answers(action, TextChunk { text: piece.into() }.into());
        }
        let usage = Usage {
            input_tokens: 10,
            output_tokens: 1,
            ..Usage::default()
        };
        self.answers(action, UsageReport { usage }.into());
        self.answers(
            action,
            StreamEnd {
                stop_reason,
                raw: None,
            }
            .into(),
        );
    }

    /// Answers the model call of the agent with this name.
    pub(crate) fn answer(&mut self, name: &str, text: &str) {
        self.answer_as(name, text, StopReason::EndTurn);
    }

    /// The process dies, and another one continues.
    pub(crate) fn restart(&mut self) {
        self.open.clear();
        let (program, process) = ("test".into(), 1);
        self.fact(
            None,
            None,
            WriterAttached {
                epoch: 2,
                program,
                process,
                ended: Vec::new(),
                serves: false,
                cut_off: Vec::new(),
            },
        );
    }

    /// Forks the session after the fact with this `seq`, wherever that is.
    pub(crate) fn fork_at(&mut self, seq: usize) {
        let log: Vec<Fact> = self.log.drain(..).take(seq).collect();
        self.said.clear();
        self.tree = Tree::new(Agent::new(Self::root(), self.config.clone()));
        for fact in &log {
            self.said.push(self.tree.step(fact).0);
        }
        self.log = log;
        self.open.clear();
        let at_seq = self.log.len() as u64;
        self.fact(
            None,
            None,
            SessionForked {
                parent: "ses_0".into(),
                at_seq,
                hold: false,
            },
        );
        self.restart();
    }

    // Observable results.

    pub(crate) fn heard(&self) -> impl Iterator<Item = &(AgentStateId, AgentOutput)> {
        self.said.iter().flatten()
    }

    /// Returns the inputs that each agent got and took up, one line each: `music: play [..]`.
    pub(crate) fn inputs(&self) -> Vec<String> {
        let spawned = |id: &AgentStateId| {
            self.log.iter().find_map(|fact| match &fact.event {
                Event::AgentSpawned(spawned) if spawned.agent_state_id == *id => {
                    Some(spawned.config.name.clone())
                }
                _ => None,
            })
        };
        let input = |(id, output): &(AgentStateId, AgentOutput)| match output {
            AgentOutput::Message(MessageOutput::User { message }) => {
                let parts: Vec<&str> = message.content.iter().filter_map(ContentPart::as_text).collect();
                Some(format!("{}: {}", spawned(id)?, parts.join(" ")))
            }
            _ => None,
        };
        self.heard().filter_map(input).collect()
    }

    /// Returns the ends of the main agent's runs, with the last answer and the reason.
    pub(crate) fn ends(&self) -> Vec<(RunStatus, String)> {
        self.ends_of(&Self::root())
    }

    /// The same of an agent.
    pub(crate) fn ends_of(&self, agent: &AgentStateId) -> Vec<(RunStatus, String)> {
        let mut text = String::new();
        let mut ends = Vec::new();
        for (id, output) in self.heard().filter(|(id, _)| id == agent) {
            match output {
                AgentOutput::Turn(TurnOutput::Response { text: said, .. }) => text.clone_from(said),
                AgentOutput::State(StateOutput::RunFinished { status, reason, .. }) => {
                    let reason = reason
                        .as_ref()
                        .map_or(String::new(), |reason| format!(" ({reason})"));
                    ends.push((*status, format!("{text}{reason}")));
                }
                _ => assert!(!id.as_str().is_empty()),
            }
        }
        ends
    }

    /// Returns the router's complete messages.
    pub(crate) fn router_said(&self) -> Vec<ContentPart> {
        let parts = |(id, output): &(AgentStateId, AgentOutput)| match output {
            AgentOutput::Message(MessageOutput::Assistant { message, .. }) if *id == Self::root() => {
                message.content.clone()
            }
            _ => Vec::new(),
        };
        self.heard().flat_map(parts).collect()
    }

    /// Replays the log with fresh agents, and compares.
    pub(crate) fn check_replay(&self) {
        let mut tree = Tree::new(Agent::new(Self::root(), self.config.clone()));
        for (fact, said) in self.log.iter().zip(&self.said) {
            assert_eq!(
                tree.step(fact).0,
                *said,
                "replay at {} {}",
                fact.seq,
                fact.event.tag()
            );
        }
        assert_eq!(tree, self.tree);
    }
}
