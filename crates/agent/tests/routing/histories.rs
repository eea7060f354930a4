//! Random histories of a router and its children: in any order of events, every input has its end, nothing
//! hangs and nothing is lost. The harness compares each step with that of copies that were serialized and
//! read back.

use std::collections::BTreeSet;

use agentx_types::*;
use proptest::prelude::*;
use proptest::test_runner::Config;
use serde_json::json;

use crate::budgets::boss;
use crate::choices::*;
use crate::family::*;

/// An event of a history: its kind, and two choices about it.
type Op = (u8, u8, u8);

fn of_kind(family: &Family, kind: ActionKind) -> Vec<Action> {
    family
        .open
        .iter()
        .filter(|open| open.body.kind() == kind)
        .cloned()
        .collect()
}

fn model(family: &mut Family, a: u8, b: u8) {
    let calls = of_kind(family, ActionKind::CallModel);
    if calls.is_empty() {
        return;
    }
    let action = pick(&calls, a);
    let message_id = MessageId::with_suffix(format_args!("b{}", family.log.len()));
    match b % 8 {
        0 => family.answers(&action, error("overloaded", "too much")),
        1 => family.answers(
            &action,
            StreamStart {
                message_id,
                model: "m".into(),
                attempt: 1,
            }
            .into(),
        ),
        2 => family.answers(
            &action,
            TextChunk {
                text: answer(a).into(),
            }
            .into(),
        ),
        3 => {
            let tool_call_id = ToolCallId::with_suffix(family.log.len());
            let names = [
                "look", "delegate", "finish", "change", "delegate", "nothing", "agents",
            ];
            let name = pick(&names, a).into();
            let call = ToolCall {
                tool_call_id,
                name,
                input: json!({"path": "a", "agent": "helper", "input": "x", "background": a >= 128}),
                invalid: None,
            };
            let model = "m".into();
            family.answers(
                &action,
                StreamStart {
                    message_id,
                    model,
                    attempt: 1,
                }
                .into(),
            );
            family.answers(&action, call.into());
            family.answers(
                &action,
                StreamEnd {
                    stop_reason: StopReason::ToolUse,
                    raw: None,
                }
                .into(),
            );
        }
        _ => family.answer_call(&action, answer(b / 8), reason(a)),
    }
}

fn tool(family: &mut Family, a: u8, status: ToolStatus) {
    let tools = of_kind(family, ActionKind::CallTool);
    if tools.is_empty() {
        return;
    }
    let action = pick(&tools, a);
    let ActionBody::CallTool(call) = &action.body else {
        return;
    };
    let result = ToolResult {
        tool_call_id: call.tool_call_id.clone(),
        result: vec![ContentPart::text("seen")],
        is_error: status != ToolStatus::Success,
        status,
        details: None,
    };
    family.answers(&action, result.into());
}

fn children(family: &Family) -> Vec<AgentStateId> {
    family
        .tree
        .agents
        .keys()
        .filter(|id| **id != Family::root())
        .cloned()
        .collect()
}

fn stray(family: &mut Family, a: u8, b: u8) {
    let cause = (!family.log.is_empty())
        .then(|| ActionId::following(u64::from(a) % family.log.len() as u64, usize::from(b) % 2));
    let event: Event = match b % 5 {
        0 => StreamEnd {
            stop_reason: reason(a),
            raw: None,
        }
        .into(),
        1 => TextChunk {
            text: answer(a).into(),
        }
        .into(),
        2 => TimerFired {
            timer: Timer::RunLimit,
        }
        .into(),
        3 => Interrupted {
            reason: "stray".into(),
        }
        .into(),
        _ => error("stray", "stray"),
    };
    // Text that answers an action always answers an open one.
    let open = family
        .open
        .iter()
        .any(|open| Some(&open.action_id) == cause.as_ref());
    family.fact(Some(Family::root()), cause.filter(|_| !open), event);
}

/// Changes an input that may still wait.
fn revise(family: &mut Family, a: u8, b: u8) {
    let said = |fact: &Fact| match &fact.event {
        Event::UserMessage(message) if fact.agent_state_id == Some(Family::root()) => {
            Some(message.message_id.clone())
        }
        _ => None,
    };
    let ids: Vec<MessageId> = family.log.iter().filter_map(said).collect();
    let message_id = pick(&ids, a);
    let mode = revised(b);
    family.fact(
        Some(Family::root()),
        None,
        InputRevised {
            message_id,
            mode,
            by: None,
        },
    );
}

fn close(family: &mut Family, agent_state_id: AgentStateId) {
    let closed = AgentClosed {
        agent_state_id: agent_state_id.clone(),
        reason: "enough".into(),
    };
    family.fact(Some(agent_state_id), None, closed);
}

fn happen(family: &mut Family, (kind, a, b): Op) {
    match kind % 32 {
        0..=5 => {
            let mode = pick(
                &[
                    InputMode::Queue,
                    InputMode::Steer,
                    InputMode::Steer,
                    InputMode::Interrupt,
                ],
                a,
            );
            family.say_as(said(b), mode);
        }
        6 => family.interrupt(&Family::root()),
        7 if !children(family).is_empty() => {
            let child = pick(&children(family), a);
            family.interrupt(&child);
        }
        8..=19 => model(family, a, b),
        20..=22 => tool(
            family,
            a,
            pick(
                &[ToolStatus::Success, ToolStatus::Failed, ToolStatus::Interrupted],
                b,
            ),
        ),
        23 | 24 => family.restart(),
        25 if a.is_multiple_of(3) && !family.log.is_empty() => {
            let seq = usize::from(b) * family.log.len() / 256 + 1;
            family.fork_at(seq);
        }
        26 => family.fact(
            Some(Family::root()),
            None,
            ConfigChanged {
                change: ConfigChange::Limits(limits(a)),
                by: None,
            },
        ),
        27 => {
            family.now += i64::from(a) * 10_000;
            if let Some(timer) = of_kind(family, ActionKind::StartTimer).first().cloned() {
                family.answers(
                    &timer,
                    TimerFired {
                        timer: Timer::RunLimit,
                    }
                    .into(),
                );
            }
        }
        28 if !children(family).is_empty() => {
            let child = pick(&children(family), a);
            close(family, child);
        }
        29 => stray(family, a, b),
        31 => revise(family, a, b),
        30 if a.is_multiple_of(16) => close(family, Family::root()),
        _ => model(family, a, 7),
    }
}

/// Lets everything that is open end.
fn run_out(family: &mut Family) {
    for round in 0..4_000 {
        let Some(action) = family
            .open
            .iter()
            .find(|open| open.body.kind() != ActionKind::StartTimer)
            .cloned()
        else {
            return;
        };
        match action.body {
            ActionBody::CallModel(_) => {
                let cancelled = family.cancelled.contains(&action.action_id);
                let reason = if cancelled {
                    StopReason::Interrupted
                } else {
                    StopReason::EndTurn
                };
                family.answer_call(&action, pick(&["-", "play"], round as u8), reason);
            }
            _ => tool(family, 0, ToolStatus::Success),
        }
    }
    panic!("it goes on for ever");
}

/// Each run of each agent that began has ended, once, and nothing hangs.
fn check_runs(family: &Family) {
    let (mut begun, mut ended) = (BTreeSet::new(), BTreeSet::new());
    for (id, output) in family.heard() {
        match output {
            AgentOutput::State(StateOutput::RunStarted { run_id, .. }) => {
                assert!(begun.insert((id, run_id)), "{id} {run_id} began twice");
            }
            AgentOutput::State(StateOutput::RunFinished { run_id, .. }) => {
                assert!(ended.insert((id, run_id)), "{id} {run_id} ended twice");
            }
            _ => {}
        }
    }
    assert_eq!(begun, ended);
    for agent in family.tree.agents.values() {
        let run = agent.run();
        assert!(
            run.is_none_or(|run| run.status.is_final()),
            "{} hangs: {run:?}",
            agent.config().name
        );
    }
    let agentx_agent::Agent::Match(root) = family.root_agent() else {
        panic!("a router")
    };
    assert_eq!(root.at_work(), None);
}

/// Checks that an agent takes up each input once, or is closed.
fn check_inputs(family: &Family) {
    let mut closed: BTreeSet<&AgentStateId> = BTreeSet::new();
    let (mut said, mut taken_back) = (Vec::new(), BTreeSet::new());
    for fact in &family.log {
        match &fact.event {
            Event::UserMessage(message) => {
                said.extend(fact.agent_state_id.as_ref().map(|to| (to, &message.message_id)))
            }
            Event::AgentClosed(gone) => drop(closed.insert(&gone.agent_state_id)),
            Event::InputRevised(revised) if revised.mode.is_none() => {
                taken_back.insert(&revised.message_id);
            }
            _ => {}
        }
    }
    let heard = family.heard().filter_map(|(id, output)| match output {
        AgentOutput::Message(MessageOutput::User { message }) => Some((id, &message.message_id)),
        _ => None,
    });
    let mut taken = BTreeSet::new();
    for entry in heard {
        assert!(taken.insert(entry), "{entry:?} twice");
    }
    for entry in said {
        let there = family.tree.agents.contains_key(entry.0);
        assert!(
            taken.contains(&entry) || closed.contains(entry.0) || !there || taken_back.contains(entry.1),
            "{entry:?} is lost"
        );
    }
}

/// Returns the default route: no special agent, a router, or one that delegates.
fn default(nested: u8) -> AgentConfig {
    let inner = AgentConfig {
        name: "inner".into(),
        ..router(routing(Some(agent("chat"))))
    };
    match nested {
        0 => agent("chat"),
        1 => inner,
        _ => boss("boss", vec![boss("helper", vec![agent("helper")])]),
    }
}

fn check_history(nested: u8, ops: &[Op]) {
    let mut family = Family::new(router(routing(Some(default(nested)))));
    family.say("play");
    for op in ops {
        happen(&mut family, *op);
    }
    run_out(&mut family);
    check_runs(&family);
    check_inputs(&family);
    family.check_replay();
}

proptest! {
    #![proptest_config(Config { cases: 192, failure_persistence: None, ..Config::default() })]

    #[test]
    fn every_input_has_its_end(nested in 0..3_u8, ops in prop::collection::vec(any::<Op>(), 1..40)) {
        check_history(nested, &ops);
    }
}
