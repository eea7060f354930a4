//! The common spending of agents: a limit of one holds for all below it, however they were created and
//! whatever they do. The harness checks each model call: none is made once a limit is reached. Each answer
//! costs 11 tokens.

use agentx_agent::delegation_tools;
use agentx_types::*;
use serde_json::json;

use crate::family::*;

/// A ReAct agent that can delegate to these.
pub(crate) fn boss(name: &str, agents: Vec<AgentConfig>) -> AgentConfig {
    let own = agent(name);
    let tools = own.tools.iter().cloned().chain(delegation_tools(&agents));
    AgentConfig {
        tools: tools.collect(),
        agents,
        ..own
    }
}

fn tokens(max: u64) -> Limits {
    Limits {
        max_tokens: Some(max),
        ..Limits::default()
    }
}

/// `boss` > `worker` > `helper`; people talk to the boss, whose limits these are.
pub(crate) fn office(limits: Limits) -> Family {
    let worker = boss("worker", vec![agent("helper")]);
    Family::new(AgentConfig {
        limits,
        ..boss("boss", vec![worker])
    })
}

pub(crate) fn order(agent: &str, background: bool) -> serde_json::Value {
    json!({"agent": agent, "input": "look", "background": background})
}

fn look(family: &mut Family, who: &str) {
    family.calls(who, "look", json!({"path": "a"}));
    family.tools_end(who);
}

pub(crate) fn id_of(family: &Family, name: &str) -> AgentStateId {
    family.call_of(name).agent_state_id
}

const REACHED: &str = "the limit of 40 tokens in one run of agent boss is reached (44 used)";

#[test]
fn a_child_at_work_ends_where_the_limit_of_the_one_above_is_reached() {
    let money = Limits {
        max_cost: Some(NanoUsd(40_000)),
        ..Limits::default()
    };
    // An answer costs 15,000 nanodollars.
    for (limits, rounds, code) in [(tokens(40), 2, "tokens"), (money, 1, "dollars")] {
        let mut family = office(limits);
        family.say("go");
        let delegated = family.calls("boss", "delegate", order("worker", false));
        let worker = id_of(&family, "worker");
        for _ in 0..rounds {
            look(&mut family, "worker");
        }
        let last = family.calls("worker", "look", json!({"path": "a"}));
        assert!(family.open.is_empty(), "{:?}", family.open);
        assert_eq!(family.result(&last).0, ToolStatus::Refused);
        let (status, why) = family.ends_of(&worker).pop().unwrap();
        assert!(
            status == RunStatus::TimedOut && why.contains("of agent boss") && why.contains(code),
            "{why}"
        );
        let (status, said) = family.result(&delegated);
        assert!(
            status == ToolStatus::TimedOut && said.contains("Agent worker did not come to its end"),
            "{said}"
        );
        assert!(said.contains("of agent boss"), "{said}");
        let (status, why) = family.ends().pop().unwrap();
        assert!(
            status == RunStatus::TimedOut && why.contains("in one run is reached"),
            "{why}"
        );
        family.check_replay();
        // The next input of a person has its own budget.
        family.say("again");
        family.answer("boss", "done");
        assert_eq!(
            family.ends().pop().unwrap(),
            (RunStatus::Completed, "done".to_owned())
        );
    }
}

#[test]
fn who_is_further_below_ends_too_and_each_call_has_its_result() {
    let mut family = office(tokens(40));
    family.say("go");
    let first = family.calls("boss", "delegate", order("worker", false));
    let second = family.calls("worker", "delegate", order("helper", false));
    let helper = id_of(&family, "helper");
    look(&mut family, "helper");
    family.calls("helper", "look", json!({"path": "a"}));
    assert_eq!(
        family.ends_of(&helper),
        [(RunStatus::TimedOut, format!(" ({REACHED})"))]
    );
    assert!(family.result(&second).1.contains(REACHED));
    assert!(family.result(&first).1.contains(REACHED));
    assert_eq!(family.ends().pop().unwrap().0, RunStatus::TimedOut);
    assert!(family.open.is_empty());
    family.check_replay();
}

#[test]
fn only_the_agent_that_people_talk_to_asks_at_its_limit() {
    let asking = |config: AgentConfig| AgentConfig {
        limits: Limits {
            max_iterations: Some(0),
            ..Limits::default()
        },
        ask_user: Some(AskUser::Decide),
        asks_at_limits: true,
        rules_version: RULES_VERSION,
        ..config
    };
    let mut family = Family::new(asking(boss("boss", vec![asking(agent("worker"))])));
    family.say("go");
    let call = family.calls("boss", "delegate", order("worker", false));
    assert!(
        family.ends().is_empty() && family.open.is_empty(),
        "the boss waits"
    );
    let approval = Approval {
        tool_call_id: call.clone(),
        decision: ApprovalDecision::Once,
        note: Some("continue".into()),
        rule: None,
        by: None,
        limited: false,
    };
    family.fact(Some(Family::root()), None, approval);
    let looked = family.calls("worker", "look", json!({"path": "a"}));
    assert_eq!(family.result(&looked).0, ToolStatus::Refused);
    assert_eq!(family.result(&call).0, ToolStatus::TimedOut);
    family.check_replay();
}

#[test]
fn who_finishes_what_it_was_at_asks_no_more() {
    let mut family = office(tokens(55));
    family.say("go");
    family.calls("boss", "delegate", order("worker", false));
    family.calls("worker", "delegate", order("helper", true));
    let (worker, helper) = (id_of(&family, "worker"), id_of(&family, "helper"));
    let call = family.calls("worker", "look", json!({"path": "a"}));
    // The helper uses up the rest; the worker's tool runs to its end, and then no model is called.
    look(&mut family, "helper");
    let last = family.calls("helper", "look", json!({"path": "a"}));
    assert_eq!(family.result(&last).0, ToolStatus::Refused);
    family.tools_end("worker");
    assert_eq!(family.result(&call).0, ToolStatus::Success);
    assert_eq!(family.ends_of(&helper)[0].0, RunStatus::TimedOut);
    assert_eq!(family.ends_of(&worker)[0].0, RunStatus::TimedOut);
    assert_eq!(family.ends().pop().unwrap().0, RunStatus::TimedOut);
    assert!(family.open.is_empty());
    family.check_replay();
}

#[test]
fn a_limit_that_is_raised_meanwhile_holds_at_once_for_all_below() {
    let mut family = office(tokens(40));
    family.say("go");
    family.calls("boss", "delegate", order("worker", false));
    look(&mut family, "worker");
    let change = ConfigChange::Limits(tokens(55));
    family.fact(Some(Family::root()), None, ConfigChanged { change, by: None });
    look(&mut family, "worker");
    look(&mut family, "worker");
    family.calls("worker", "look", json!({"path": "a"}));
    assert!(family.open.is_empty());
    let (_, why) = family.ends().pop().unwrap();
    assert!(why.contains("55 tokens"), "{why}");
    family.check_replay();
}

#[test]
fn agents_that_have_the_limit_of_the_one_above_have_the_new_one_too() {
    let worker = AgentConfig {
        limits: tokens(30),
        ..boss(
            "worker",
            vec![AgentConfig {
                limits: tokens(20),
                ..agent("helper")
            }],
        )
    };
    let mut family = Family::new(AgentConfig {
        limits: tokens(30),
        ..boss("boss", vec![worker])
    });
    let change = |max| ConfigChanged {
        change: ConfigChange::Limits(tokens(max)),
        by: None,
    };
    family.fact(Some(Family::root()), None, change(100));
    family.say("go");
    family.calls("boss", "delegate", order("worker", false));
    family.fact(Some(Family::root()), None, change(1_000));
    let worker = id_of(&family, "worker");
    let config = family.tree.agents[&worker].config().clone();
    assert_eq!(config.limits, tokens(1_000));
    assert_eq!(config.agents[0].limits, tokens(20), "its own is its own");
    assert_eq!(family.root_agent().config().agents[0].limits, tokens(1_000));
    family.check_replay();
}

#[test]
fn one_in_the_background_spends_what_the_run_that_made_it_may() {
    let mut family = office(tokens(40));
    family.say("go");
    family.calls("boss", "delegate", order("worker", true));
    let worker = id_of(&family, "worker");
    // The run has ended, and its budget continues to count.
    family.answer("boss", "sent off");
    assert_eq!(family.ends(), [(RunStatus::Completed, "sent off".to_owned())]);
    look(&mut family, "worker");
    family.calls("worker", "look", json!({"path": "a"}));
    assert_eq!(
        family.ends_of(&worker),
        [(RunStatus::TimedOut, format!(" ({REACHED})"))]
    );
    // Its answer would open a run, for which nothing is left.
    assert_eq!(family.ends().pop().unwrap().0, RunStatus::TimedOut);
    assert!(family.open.is_empty());
    family.say("and?");
    family.answer("boss", "well");
    assert_eq!(
        family.ends().pop().unwrap(),
        (RunStatus::Completed, "well".to_owned())
    );
    family.check_replay();
}

#[test]
fn a_run_that_an_answer_from_the_background_opens_goes_on_with_the_budget() {
    let mut family = office(tokens(40));
    family.say("go");
    family.calls("boss", "delegate", order("worker", true));
    family.answer("boss", "sent off");
    family.answer("worker", "found");
    let call = family.calls("boss", "look", json!({"path": "a"}));
    assert_eq!(family.result(&call).0, ToolStatus::Refused, "44 of 40 are used");
    assert_eq!(family.ends().pop().unwrap().0, RunStatus::TimedOut);
    family.check_replay();
}

#[test]
fn what_comes_from_the_background_after_the_limit_is_known_to_the_next_run() {
    for text in ["found", "calls"] {
        let mut family = office(tokens(40));
        family.say("go");
        family.calls("boss", "delegate", order("worker", true));
        let worker = id_of(&family, "worker");
        look(&mut family, "boss");
        look(&mut family, "worker");
        family.calls("boss", "look", json!({"path": "a"}));
        assert_eq!(family.ends()[0].0, RunStatus::TimedOut);
        // It has its answer, or wants to continue.
        if text == "found" {
            family.answer("worker", text);
            assert_eq!(family.ends_of(&worker)[0].0, RunStatus::Completed);
        } else {
            family.calls("worker", "look", json!({"path": "a"}));
            assert_eq!(family.ends_of(&worker)[0].0, RunStatus::TimedOut);
        }
        assert!(family.open.is_empty());
        assert_eq!(family.ends().len(), 1, "nobody is asked what to make of it");
        family.say("well?");
        let ActionBody::CallModel(call) = family.call_of("boss").body else {
            panic!()
        };
        let known = serde_json::to_string(&call.request.messages).unwrap();
        assert!(known.contains("in the background has ended"), "{known}");
        family.check_replay();
    }
}

#[test]
fn time_that_is_up_says_whose_it_was() {
    let limits = Limits {
        max_wall_ms: Some(1_000),
        ..Limits::default()
    };
    let mut family = office(limits);
    family.say("go");
    let call = family.calls("boss", "delegate", order("worker", false));
    let worker = id_of(&family, "worker");
    let is_timer = |open: &&Action| open.body.kind() == ActionKind::StartTimer;
    let timer = family.open.iter().find(is_timer).cloned().unwrap();
    family.now += 2_000_000;
    family.answers(
        &timer,
        TimerFired {
            timer: Timer::RunLimit,
        }
        .into(),
    );
    family.answer_as("worker", "", StopReason::Interrupted);
    let why = "agent boss was stopped: the limit of 1 s for one run is reached";
    assert_eq!(
        family.ends_of(&worker),
        [(RunStatus::TimedOut, format!(" ({why})"))]
    );
    assert_eq!(family.result(&call).0, ToolStatus::TimedOut);
    assert_eq!(family.ends()[0].0, RunStatus::TimedOut);
    family.check_replay();
}

#[test]
fn a_person_who_stops_it_is_no_limit() {
    let mut family = office(tokens(40));
    family.say("go");
    family.calls("boss", "delegate", order("worker", false));
    let worker = id_of(&family, "worker");
    family.interrupt(&Family::root());
    family.answer_as("worker", "", StopReason::Interrupted);
    let why = " (the agent that made it was stopped: stopped by the user)";
    assert_eq!(
        family.ends_of(&worker),
        [(RunStatus::Interrupted, why.to_owned())]
    );
    assert_eq!(family.ends()[0].0, RunStatus::Interrupted);
}

#[test]
fn a_tool_asks_no_model_where_a_limit_is_reached() {
    let effect = |call: &ToolCallId, step| EffectStarted {
        tool_call_id: call.clone(),
        step,
        kind: "generate".into(),
        input: json!({}),
    };
    let mut family = office(tokens(40));
    family.say("go");
    family.calls("boss", "delegate", order("worker", false));
    let call = family.calls("worker", "change", json!({"path": "a"}));
    let tool = family
        .open
        .iter()
        .find(|open| open.body.kind() == ActionKind::CallTool)
        .cloned()
        .unwrap();
    for step in [1, 2] {
        family.answers(&tool, effect(&call, step).into());
        assert_eq!(family.cancelled.contains(&tool.action_id), step == 2);
        let ended = EffectEnded {
            tool_call_id: call.clone(),
            step,
            kind: "generate".into(),
            input: None,
            outcome: Box::new(EffectOutcome::Done(json!("text"))),
            bill: Some(Box::new(EffectBill {
                model: "m".into(),
                usage: Usage {
                    input_tokens: 30,
                    ..Usage::default()
                },
                cost: NanoUsd(1),
            })),
            details: None,
        };
        if step == 1 {
            family.answers(&tool, ended.into());
        }
    }
    family.tools_end("worker");
    assert_eq!(family.result(&call).0, ToolStatus::Interrupted);
    assert_eq!(family.ends()[0].0, RunStatus::TimedOut);
    assert!(family.open.is_empty());
    family.check_replay();
}

#[test]
fn a_router_shares_the_budget_with_those_below_its_children() {
    let routed = |limits| {
        let worker = boss("worker", vec![agent("helper")]);
        Family::new(AgentConfig {
            limits,
            ..router(routing(Some(worker)))
        })
    };
    let mut family = routed(tokens(33));
    family.say("nothing of the kind");
    family.answer("router", "-");
    family.calls("worker", "delegate", order("helper", false));
    family.calls("helper", "look", json!({"path": "a"}));
    assert!(family.open.is_empty());
    let (status, why) = family.ends().pop().unwrap();
    assert!(
        status == RunStatus::TimedOut && why.contains("of agent router"),
        "{why}"
    );
    family.check_replay();
}

/// Each attempt that broke off counts: no other one follows if it has used up the budget.
#[test]
fn a_router_looks_at_its_budget_between_two_attempts() {
    let attempt = |version| {
        let mut family = Family::new(AgentConfig {
            limits: tokens(11),
            rules_version: version,
            ..router(routing(Some(agent("chat"))))
        });
        family.say("nothing of the kind");
        let action = family.call_of("router");
        family.answer_as("router", "pl", StopReason::Broken);
        let failed = AttemptFailed {
            attempt: 1,
            code: "stream_broken".into(),
            message: "the answer broke off".into(),
            status: None,
            retry_in_ms: Some(500),
            gives_up_in_ms: None,
            overflow: None,
            refused: None,
            longest_answer: None,
            most_media: None,
            no_thinking: false,
            refused_place: None,
        };
        family.answers(&action, failed.into());
        (family, action)
    };
    let (mut family, action) = attempt(RULES_VERSION);
    assert_eq!(family.root_agent().run().unwrap().status, RunStatus::Stopping);
    family.answer_call(&action, "", StopReason::Interrupted);
    let (status, why) = family.ends().pop().unwrap();
    assert!(
        status == RunStatus::TimedOut && why.contains("the limit of 11 tokens"),
        "{why}"
    );
    family.check_replay();
    let (mut older, action) = attempt(8);
    older.answer_call(&action, "play", StopReason::EndTurn);
    assert_eq!(older.root_agent().run().unwrap().bill.usage.output_tokens, 2);
    older.check_replay();
}
