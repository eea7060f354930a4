//! One history: a session in memory, the vendors, and chance. A few lines replace the driver and the model
//! environment: facts get their `seq` and are folded, and requests are built, sent, answered, cut off and
//! failed.

#[path = "calling.rs"]
mod calling;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::chance::Random;
use crate::counts::Counts;
use agentx_agent::fixtures;
use agentx_runtime::{Derived, SessionFold};
use agentx_types::*;

use crate::people;
use crate::shop::Shop;
use calling::{Call, consequence};

type Event = EnvironmentEvent;

/// A history as it is played.
pub(crate) struct History {
    fold: SessionFold,
    earlier: Vec<SessionFold>,
    random: Random,
    shop: Shop,
    model: Option<Call>,
    tools: Vec<(Action, bool)>,
    inputs: Vec<MessageId>,
    condensed: Vec<ContextCondensed>,
    /// The number of refusals by a template since this model is used or the session was rewound.
    refused_templates: u8,
    /// The models that refused a summary of reasoning since then or since the last kill.
    refused_summaries: BTreeSet<String>,
    /// The texts that this model's vendor refused by a policy since then, and how often.
    refused_texts: BTreeMap<String, u32>,
    number: u64,
    epoch: u64,
    /// Whether thinking is left out once something before it has changed.
    keeps_beginning: bool,
    seen: Counts,
    /// The protocol of the called model.
    api: Api,
    /// The first message of the last request, unless something other than the window has changed it since
    /// then.
    beginning: Option<String>,
    /// Whether the model gives [`LAST_ANSWER`] to everything from now on.
    ends: bool,
    wrong: BTreeMap<String, String>,
    verbose: bool,
}

/// The answer to the last prompt of each history.
pub(crate) const LAST_ANSWER: &str = "I am here.";

impl History {
    /// Plays the history of this seed to its end, then sends one more prompt.
    pub(crate) fn play(seed: u64, steps: u64, verbose: bool) -> Self {
        let mut history = Self::open(seed, verbose);
        for _ in 0..1 + history.random.below(steps) {
            history.step();
        }
        history.settle();
        history.ask_once_more();
        history
    }

    fn open(seed: u64, verbose: bool) -> Self {
        let mut random = Random::new(seed);
        let window = random
            .one_of(&[None, Some(6_000), Some(12_000), Some(24_000)])
            .unwrap();
        let shop = Shop::open(&mut random, window);
        let condensing = Condensing {
            at_percent: random.one_of(&[0, 60, 80]).unwrap(),
            tail: 1 + random.below(4) as u32,
            model: None,
            keeps_beginning: random.below(4) > 0,
            masks: seed.is_multiple_of(3).then_some(3),
            recent: seed.is_multiple_of(5).then_some(40),
            ..Condensing::default()
        };
        let config = AgentConfig {
            model: shop.model(&mut random),
            params: people::params(&mut random),
            approval: random
                .one_of(&[ApprovalMode::Auto, ApprovalMode::Auto, ApprovalMode::Ask])
                .unwrap(),
            condensing: (random.below(3) > 0).then(|| Box::new(condensing)),
            rules_version: RULES_VERSION,
            ..fixtures::config()
        };
        let condensing = config.condensing.as_ref();
        let keeps_beginning = condensing.is_some_and(|condensing| condensing.keeps_beginning);
        let mut history = Self {
            fold: SessionFold::new("ses_1".into()),
            earlier: vec![],
            random,
            shop,
            model: None,
            tools: vec![],
            inputs: vec![],
            condensed: vec![],
            refused_templates: 0,
            refused_summaries: BTreeSet::new(),
            refused_texts: BTreeMap::new(),
            number: 0,
            epoch: 1,
            keeps_beginning,
            seen: Counts::default(),
            api: config.model.api,
            beginning: None,
            ends: false,
            wrong: BTreeMap::new(),
            verbose,
        };
        history.say(SessionOpened {
            owner: "own_1".into(),
            config: Box::new(config),
            program: "test".into(),
        });
        history
    }

    /// Returns the counts of its events.
    pub(crate) fn seen(&self) -> &Counts {
        &self.seen
    }

    /// Returns the errors, each with its first message.
    pub(crate) fn wrong(&self) -> &BTreeMap<String, String> {
        &self.wrong
    }

    fn blame(&mut self, wrong: String, words: &str) {
        if self.verbose {
            eprintln!("WRONG {wrong}: {words}");
        }
        self.wrong
            .entry(wrong)
            .or_insert_with(|| words.chars().take(200).collect());
    }

    fn say(&mut self, event: impl Into<Event>) {
        self.commit(EventDraft::new(Source::User, Some("agt_1".into()), event));
    }

    fn answer(&mut self, action: &Action, event: impl Into<Event>) {
        let mut draft = EventDraft::new(Source::Environment, Some("agt_1".into()), event);
        draft.run_id = action.run_id.clone();
        draft.cause = Some(action.action_id.clone());
        self.commit(draft);
    }

    /// Folds the fact and its immediate consequences. Actions are performed when all of them are folded.
    fn commit(&mut self, draft: EventDraft<Event>) {
        let mut queue = VecDeque::from([draft]);
        let mut perform = Vec::new();
        while let Some(draft) = queue.pop_front() {
            let seq = self.fold.last_seq() + 1;
            let fact = draft.into_envelope("ses_1".into(), seq, Timestamp(seq as i64 * 1_000));
            if self.verbose {
                let line: String = serde_json::to_string(&fact.event)
                    .unwrap()
                    .chars()
                    .take(300)
                    .collect();
                eprintln!("{seq} {line}");
            }
            let mut derived = self.fold.apply(&fact);
            self.count(&fact.event, &derived);
            for action in derived.actions.iter().rev() {
                if let Some(draft) = consequence(action, &mut self.random) {
                    queue.push_front(draft);
                }
            }
            perform.append(&mut derived.actions);
        }
        perform.into_iter().for_each(|action| self.perform(action));
    }

    fn count(&mut self, event: &Event, derived: &Derived) {
        self.seen.fact(event, derived, self.api);
        match event {
            Event::ConfigChanged(ConfigChanged {
                change: ConfigChange::Model(model),
                ..
            }) => {
                (self.api, self.refused_templates) = (model.api, 0);
                self.refused_summaries.clear();
                self.refused_texts.clear();
            }
            Event::ContextCondensed(_)
            | Event::ContextRestored(_)
            | Event::InputPinned(_)
            | Event::SessionForked(_) => self.beginning = None,
            _ => {}
        }
    }

    fn perform(&mut self, action: Action) {
        match &action.body {
            ActionBody::CallModel(_) | ActionBody::Condense(_) => {
                self.model = Some(Call {
                    action,
                    cancelled: false,
                    attempt: 1,
                    stream: None,
                });
            }
            ActionBody::CallTool(_) => {
                self.seen.add("parallel tools", u64::from(!self.tools.is_empty()));
                self.tools.push((action, false));
            }
            ActionBody::Cancel(cancel) => {
                let is_it = |action: &Action| action.action_id == cancel.action_id;
                if let Some(model) = self.model.as_mut().filter(|model| is_it(&model.action)) {
                    model.cancelled = true;
                }
                for (_, cancelled) in self.tools.iter_mut().filter(|(action, _)| is_it(action)) {
                    *cancelled = true;
                }
            }
            _ => {}
        }
    }

    /// Plays one random step.
    fn step(&mut self) {
        if self.fold.last_seq().is_multiple_of(7) && self.earlier.len() < 12 {
            self.earlier.push(self.fold.clone());
        }
        match self.random.below(26) {
            _ if !self.fold.is_busy() && self.random.below(2) == 0 => self.input(),
            0..=2 => self.input(),
            3 => self.say(InterruptRequested {
                reason: None,
                hold: false,
                by: None,
            }),
            4 => self.change(),
            5 => self.context(),
            6 => self.die(),
            7 => self.go_back(),
            8 => self.decide(ApprovalDecision::Deny),
            9 | 10 => self.decide(ApprovalDecision::Once),
            11..=14 => self.tool_goes_on(),
            _ => self.model_goes_on(),
        }
    }

    fn input(&mut self) {
        self.number += 1;
        let input = people::input(&mut self.random, self.number);
        self.inputs.push(input.message_id.clone());
        self.say(input);
    }

    fn change(&mut self) {
        let change = match self.random.below(8) {
            0..=2 => ConfigChange::Model(Box::new(self.shop.model(&mut self.random))),
            3 | 4 => ConfigChange::Tools(people::tools(&mut self.random)),
            5 => ConfigChange::Params(people::params(&mut self.random)),
            6 => ConfigChange::Instructions(vec![Instructions {
                path: "/ws/AGENTS.md".into(),
                text: format!("be careful {}", self.random.below(3)).into(),
            }]),
            _ => ConfigChange::Limits(people::limits(&mut self.random)),
        };
        self.say(ConfigChanged { change, by: None });
    }

    /// A person condenses the conversation, removes a summary, or pins an input.
    fn context(&mut self) {
        match (self.random.below(3), self.condensed.last().cloned()) {
            (0, Some(last)) => {
                self.condensed.pop();
                let (from_seq, to_seq) = (last.from_seq, last.to_seq);
                self.say(ContextRestored {
                    from_seq,
                    to_seq,
                    by: None,
                });
            }
            (1, _) if !self.inputs.is_empty() => {
                let message_id = self.random.one_of(&self.inputs).unwrap();
                let pinned = self.random.below(3) > 0;
                self.say(InputPinned {
                    message_id,
                    pinned,
                    by: None,
                });
            }
            _ => self.say(CondenseRequested {
                instructions: None,
                by: None,
            }),
        }
    }

    /// The process dies with all its actions in progress; the next one may offer other tools.
    fn die(&mut self) {
        self.model = None;
        self.tools.clear();
        self.epoch += 1;
        // A refusal that was not recorded is not known.
        self.refused_summaries.clear();
        let attached = WriterAttached {
            epoch: self.epoch,
            program: "test".into(),
            process: 1,
            ended: Vec::new(),
            serves: false,
            cut_off: Vec::new(),
        };
        self.commit(EventDraft::new(Source::System, None, attached));
        if self.random.below(4) == 0 {
            let change = ConfigChange::Tools(people::tools(&mut self.random));
            self.say(ConfigChanged { change, by: None });
        }
    }

    /// A rewind or a fork: the session continues from an earlier position.
    fn go_back(&mut self) {
        let Some(fold) = self.random.one_of(&self.earlier) else {
            return;
        };
        self.fold = fold;
        self.refused_templates = 0;
        self.refused_summaries.clear();
        self.refused_texts.clear();
        let at_seq = self.fold.last_seq();
        self.earlier.retain(|earlier| earlier.last_seq() <= at_seq);
        self.condensed.retain(|condensed| condensed.to_seq <= at_seq);
        let forked = SessionForked {
            parent: "ses_0".into(),
            at_seq,
            hold: true,
        };
        self.model = None;
        self.tools.clear();
        self.commit(EventDraft::new(Source::System, None, forked));
        self.die();
    }

    fn decide(&mut self, decision: ApprovalDecision) {
        let state = self.fold.state();
        let Some(pending) = state.and_then(|state| state.pending_approvals.into_iter().next()) else {
            return;
        };
        self.say(Approval {
            tool_call_id: pending.tool_call_id,
            decision,
            note: None,
            rule: None,
            by: None,
            limited: false,
        });
    }

    fn tool_goes_on(&mut self) {
        if self.tools.is_empty() {
            return;
        }
        let at = self.random.below(self.tools.len() as u64) as usize;
        let (action, cancelled) = self.tools.remove(at);
        let ActionBody::CallTool(call) = &action.body else {
            return;
        };
        let result = people::result(&mut self.random, call.tool_call_id.clone(), cancelled);
        self.answer(&action, result);
    }

    /// Completes all open actions.
    fn settle(&mut self) {
        for _ in 0..3_000 {
            if self.model.is_some() {
                self.model_goes_on();
            } else if !self.tools.is_empty() {
                self.tool_goes_on();
            } else if self.fold.is_busy() {
                self.decide(ApprovalDecision::Once);
            } else {
                return;
            }
        }
        self.blame("no rest (any)".into(), "it never comes to rest");
    }

    /// Whatever happened before, the next message of a person is answered, in a run that completes with that
    /// answer.
    fn ask_once_more(&mut self) {
        let change = ConfigChange::Limits(Limits::default());
        self.say(ConfigChanged { change, by: None });
        self.number += 1;
        let mut input = people::input(&mut Random::new(1), self.number);
        (input.content, input.mode) = (vec![ContentPart::text("are you there?")], InputMode::Queue);
        input.answer_schema = None;
        let asked = input.message_id.clone();
        self.ends = true;
        self.say(input);
        self.settle();
        let agent = self.fold.root_agent().and_then(|agent| agent.react());
        let run = agent.and_then(|agent| agent.run());
        let said = agent.and_then(|agent| agent.messages().last().map(|message| message.text()));
        let is_answered = said.as_deref() == Some(LAST_ANSWER)
            && run.is_some_and(|run| run.input_id == asked && run.status == RunStatus::Completed);
        if !is_answered {
            let how = format!("{:?}, {said:?}", run.map(|run| (&run.input_id, run.status)));
            self.blame("beyond repair (any)".into(), &how);
        }
    }
}
