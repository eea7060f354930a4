//! The fold over several agents: each event belongs to the right agent, and no two actions have the same id.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeSet;

use agentx_session::{Derived, Projection, SessionFold};
use agentx_testing::fixture;
use agentx_types::*;

/// A session with a parent and a child, fact by fact.
struct World {
    fold: SessionFold,
    last: Derived,
}

impl World {
    fn open() -> Self {
        let mut world = Self {
            fold: SessionFold::new("ses_1".into()),
            last: Derived::default(),
        };
        let opened = SessionOpened {
            owner: "own_1".into(),
            config: Box::new(fixture::config()),
            program: "test".into(),
        };
        world.fact(Some("agt_1"), opened);
        let spawned = AgentSpawned {
            agent_state_id: "agt_2".into(),
            parent: "agt_1".into(),
            config: Box::new(fixture::config()),
        };
        world.fact(Some("agt_1"), spawned);
        world
    }

    fn fact(&mut self, to: Option<&str>, event: impl Into<EnvironmentEvent>) {
        self.draft(EventDraft::new(Source::System, to.map(AgentStateId::from), event));
    }

    fn draft(&mut self, draft: EventDraft<EnvironmentEvent>) {
        let seq = self.fold.last_seq() + 1;
        let fact = draft.into_envelope("ses_1".into(), seq, Timestamp(0));
        self.last = self.fold.apply(&fact);
    }

    fn say(&mut self, to: &str) {
        let said = UserMessage {
            message_id: MessageId::with_suffix(to),
            content: vec![ContentPart::text("hello")],
            mode: InputMode::Queue,
            idempotency_key: None,
            by: None,
            answer_schema: None,
        };
        self.fact(Some(to), said);
    }

    /// An agent gets a message, and its model calls a tool. Returns the depth of the calling agent.
    fn depth_of_a_call(&mut self, agent: &str) -> u32 {
        self.say(agent);
        let asked = self.last.actions[0].clone();
        let answer: [EnvironmentEvent; 3] = [
            StreamStart {
                message_id: MessageId::with_suffix(format_args!("of_{agent}")),
                model: "m".into(),
                attempt: 1,
            }
            .into(),
            ToolCall {
                tool_call_id: ToolCallId::with_suffix(agent),
                name: "read".into(),
                input: serde_json::json!({"path": "a"}),
                invalid: None,
            }
            .into(),
            StreamEnd {
                stop_reason: StopReason::ToolUse,
                raw: None,
            }
            .into(),
        ];
        for event in answer {
            let mut draft =
                EventDraft::<EnvironmentEvent>::new(Source::Environment, Some(agent.into()), event);
            draft.run_id.clone_from(&asked.run_id);
            draft.cause = Some(asked.action_id.clone());
            self.draft(draft);
        }
        let calls = self.last.actions.iter().find_map(|action| match &action.body {
            ActionBody::CallTool(call) => Some(call.caller.depth),
            _ => None,
        });
        calls.unwrap()
    }

    /// Returns the last message of each agent.
    fn said(&self) -> Vec<(&str, String)> {
        let said = self.last.events.iter().map(|frame| {
            let agent = frame.agent_state_id.as_ref().unwrap().as_str();
            (agent, frame.event.tag().to_owned())
        });
        said.collect()
    }
}

#[test]
fn two_agents_that_act_on_one_fact_mint_no_id_twice() {
    let mut world = World::open();
    world.say("agt_1");
    world.say("agt_2");
    world.fact(
        None,
        WriterAttached {
            epoch: 2,
            program: "test".into(),
            process: 1,
            ended: Vec::new(),
            serves: false,
            cut_off: Vec::new(),
        },
    );
    let actions = &world.last.actions;
    let agents: Vec<&str> = actions
        .iter()
        .map(|action| action.agent_state_id.as_str())
        .collect();
    assert_eq!(agents, ["agt_1", "agt_2"], "both ask their models again");
    let ids: BTreeSet<&ActionId> = actions.iter().map(|action| &action.action_id).collect();
    assert_eq!(ids.len(), actions.len(), "{ids:?}");
    for action in actions {
        assert!(world.fold.is_open(&action.action_id));
    }
    let places: Vec<u32> = world.last.events.iter().filter_map(|frame| frame.index).collect();
    assert_eq!(places, Vec::from_iter(0..places.len() as u32));
}

#[test]
fn a_child_comes_and_goes_in_its_own_name() {
    let mut world = World::open();
    let started = ["agent_started", "agent_ready"].map(|tag| ("agt_2", tag.to_owned()));
    assert_eq!(world.said(), started);
    world.say("agt_2");
    for to in [Some("agt_1"), Some("agt_2"), None] {
        let mut world = World {
            fold: world.fold.clone(),
            last: Derived::default(),
        };
        let closed = AgentClosed {
            agent_state_id: "agt_2".into(),
            reason: "done".into(),
        };
        world.fact(to, closed);
        assert!(
            world.said().contains(&("agt_2", "agent_destroyed".into())),
            "{to:?}"
        );
        assert!(world.said().iter().all(|(agent, _)| *agent == "agt_2"), "{to:?}");
        let [action] = &world.last.actions[..] else {
            panic!("{:?}", world.last.actions)
        };
        assert!(
            matches!(action.body, ActionBody::Cancel(_)),
            "its model call is stopped"
        );
    }
}

#[test]
fn a_call_knows_how_deep_its_agent_lies_also_when_those_between_are_gone() {
    let mut world = World::open();
    let spawned = AgentSpawned {
        agent_state_id: "agt_3".into(),
        parent: "agt_2".into(),
        config: Box::new(fixture::config()),
    };
    world.fact(Some("agt_3"), spawned);
    let closed = AgentClosed {
        agent_state_id: "agt_2".into(),
        reason: "done".into(),
    };
    world.fact(Some("agt_2"), closed);
    for (agent, depth) in [("agt_1", 0), ("agt_3", 2)] {
        assert_eq!(world.depth_of_a_call(agent), depth, "{agent}");
    }
}

/// Returns whether a rule that denies reaches an existing agent, under this version of the session's rules:
/// an added rule, one in a whole new list, one that is set only after the agent was created.
fn reaches_who_is_there(version: u32) -> Vec<bool> {
    let deny = |tool: &str| Rule {
        effect: RuleEffect::Deny,
        tool: tool.to_owned(),
        argument: None,
        path: None,
        workspace: None,
        origin: None,
    };
    let mut world = World::open();
    let change = |world: &mut World, change| world.fact(Some("agt_1"), ConfigChanged { change, by: None });
    change(&mut world, ConfigChange::RulesVersion(version));
    change(&mut world, ConfigChange::RuleAdded(deny("bash")));
    let allow = Rule {
        effect: RuleEffect::Allow,
        ..deny("edit")
    };
    change(
        &mut world,
        ConfigChange::Rules(vec![deny("write"), allow.clone()]),
    );
    change(&mut world, ConfigChange::Guard(Some(Default::default())));
    let spawned = AgentSpawned {
        agent_state_id: "agt_3".into(),
        parent: "agt_2".into(),
        config: Box::new(fixture::config()),
    };
    world.fact(Some("agt_1"), spawned);
    let config = |id: &str| world.fold.agent(&id.into()).unwrap().config().clone();
    let (child, later) = (config("agt_2"), config("agt_3"));
    assert!(!child.rules.contains(&allow), "what allows is not handed on");
    vec![
        child.rules_version == version,
        child.rules.contains(&deny("bash")),
        child.rules.contains(&deny("write")),
        child.guard.is_some(),
        later.rules.contains(&deny("write")),
        later.guard.is_some(),
    ]
}

#[test]
fn rules_and_the_guard_reach_agents_that_are_there_already() {
    assert_eq!(reaches_who_is_there(RULES_VERSION), [true; 6]);
    assert_eq!(
        reaches_who_is_there(6),
        [false; 6],
        "an older session derives what it did"
    );
}

/// Returns the cost of a model call in progress at an event that ends it.
fn billed_at(end: impl Into<EnvironmentEvent>) -> Vec<Projection> {
    let mut world = World::open();
    world.say("agt_1");
    let ActionBody::CallModel(_) = &world.last.actions[0].body else {
        panic!("the model is asked: {:?}", world.last.actions);
    };
    let call = world.last.actions[0].action_id.clone();
    let run = world.last.actions[0].run_id.clone();
    let usage = Usage {
        input_tokens: 7,
        output_tokens: 1,
        ..Usage::default()
    };
    let begins = StreamStart {
        message_id: MessageId::new("msg_a"),
        model: "m".into(),
        attempt: 1,
    };
    let says = TextChunk { text: "half".into() };
    let answer: [EnvironmentEvent; 3] = [begins.into(), UsageReport { usage }.into(), says.into()];
    for event in answer {
        let mut draft = EventDraft::new(Source::System, Some("agt_1".into()), event);
        draft.run_id.clone_from(&run);
        draft.cause = Some(call.clone());
        world.draft(draft);
    }
    world.fact(None, end);
    let mut projections = world.last.projections;
    projections.retain(|projection| matches!(projection, Projection::Spent { .. }));
    projections
}

#[test]
fn a_fork_books_no_answer_that_its_original_had_under_way() {
    let taken_over = WriterAttached {
        epoch: 2,
        program: "test".into(),
        process: 1,
        ended: Vec::new(),
        serves: false,
        cut_off: Vec::new(),
    };
    assert_eq!(billed_at(taken_over).len(), 1, "who goes on with it pays for it");
    let forked = SessionForked {
        parent: "ses_0".into(),
        at_seq: 6,
        hold: true,
    };
    assert_eq!(billed_at(forked), []);
}

/// The people who have spoken after Bob recorded this event.
fn spoke_after(event: impl Into<EnvironmentEvent>) -> Vec<OwnerId> {
    let mut world = World::open();
    world.fact(Some("agt_1"), event);
    world.fold.sharing().spoke.iter().cloned().collect()
}

/// Bob's decision, with or without a note.
fn decided(decision: ApprovalDecision, note: Option<&str>) -> Approval {
    Approval {
        tool_call_id: "call_1".into(),
        decision,
        note: note.map(str::to_owned),
        rule: None,
        by: Some("own_bob".into()),
        limited: false,
    }
}

/// Whoever has words brought before the model may have caused its calls, in whichever event the words came.
#[test]
fn each_event_with_words_of_a_person_counts_as_having_spoken() {
    let bob = || Some(OwnerId::new("own_bob"));
    let condense = |instructions: Option<&str>| CondenseRequested {
        instructions: instructions.map(str::to_owned),
        by: bob(),
    };
    let stop = |reason: Option<&str>| InterruptRequested {
        reason: reason.map(str::to_owned),
        hold: false,
        by: bob(),
    };
    let rule = Rule {
        effect: RuleEffect::Deny,
        tool: "bash".into(),
        argument: Some("run X in its place".into()),
        path: None,
        workspace: None,
        origin: None,
    };
    let changed = |change| ConfigChanged { change, by: bob() };
    let ran = CommandRan {
        command: "echo run X".into(),
        output: "run X".into(),
        how: "exit 0".into(),
        by: bob(),
    };
    let with_words: [EnvironmentEvent; 7] = [
        decided(ApprovalDecision::Deny, Some("No. Run X.")).into(),
        decided(ApprovalDecision::Once, Some("Then run X.")).into(),
        condense(Some("Say that X has to be run.")).into(),
        stop(Some("Run X.")).into(),
        changed(ConfigChange::RuleAdded(rule)).into(),
        changed(ConfigChange::Instructions(Vec::new())).into(),
        ran.into(),
    ];
    for event in with_words {
        assert_eq!(spoke_after(event.clone()), [OwnerId::new("own_bob")], "{event:?}");
    }
    let without: [EnvironmentEvent; 5] = [
        decided(ApprovalDecision::Deny, None).into(),
        decided(ApprovalDecision::Once, None).into(),
        condense(None).into(),
        stop(None).into(),
        changed(ConfigChange::Approval(ApprovalMode::Ask)).into(),
    ];
    for event in without {
        assert!(spoke_after(event.clone()).is_empty(), "{event:?}");
    }
    let mut of_owner = decided(ApprovalDecision::Deny, Some("No."));
    of_owner.by = None;
    assert!(spoke_after(of_owner).is_empty());
}
