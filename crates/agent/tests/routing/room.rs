//! The limit on the number of agents, and the end of children whose parent stops them or closes.

use agentx_types::*;
use serde_json::json;

use crate::budgets::{id_of, office, order};
use crate::family::*;

#[test]
fn the_one_too_many_is_refused_and_says_what_to_do() {
    let mut family = office(Limits::default());
    family.say("go");
    for _ in 0..16 {
        let call = family.calls("boss", "delegate", order("worker", true));
        assert_eq!(family.result(&call).0, ToolStatus::Success);
    }
    let call = family.calls("boss", "delegate", order("worker", true));
    let (status, text) = family.result(&call);
    assert_eq!(status, ToolStatus::Refused);
    assert!(text.contains("16 agents") && text.contains("`agents`"), "{text}");
    family.check_replay();
}

/// Returns the answers to concurrent delegations in a session that has this number of other agents, and had
/// this number created.
fn answers(others: u32, made: u32) -> (Family, Vec<(ToolStatus, String)>) {
    let mut family = office(Limits::default());
    family.say("go");
    (family.tree.others, family.tree.made) = (others, made);
    let call = family.call_of("boss");
    let calls = family.calls_at_once(&call, "delegate", order("worker", true), 3);
    let answers = calls.iter().map(|call| family.result(call)).collect();
    (family, answers)
}

#[test]
fn a_session_has_room_for_so_many() {
    let cases = [
        (0, 0, 3, ""),
        (253, 997, 3, ""),
        (254, 0, 2, "256 agents"),
        (256, 0, 0, "256 agents"),
        (0, 998, 2, "1000 agents were made"),
        (0, 1_000, 0, "1000 agents were made"),
    ];
    for (others, made, fit, why) in cases {
        let (family, answers) = answers(others, made);
        for (index, (status, text)) in answers.iter().enumerate() {
            let expected = if index < fit {
                ToolStatus::Success
            } else {
                ToolStatus::Refused
            };
            assert_eq!(*status, expected, "{others} {made}: {text}");
            assert!(index < fit || text.contains(why), "{text}");
        }
        assert_eq!(family.tree.agents.len(), 1 + fit);
    }
}

#[test]
fn words_of_a_person_make_room_for_more() {
    let (mut family, answers) = answers(0, 1_000);
    assert_eq!(answers[0].0, ToolStatus::Refused);
    family.person_says("go on");
    let call = family.calls("boss", "delegate", order("worker", false));
    family.answer("worker", "done");
    assert_eq!(family.result(&call).0, ToolStatus::Success);
}

#[test]
fn a_router_makes_no_agent_where_there_is_no_room() {
    let mut family = Family::usual();
    family.tree.others = 256;
    family.say("play");
    let (status, why) = family.ends().pop().unwrap();
    assert!(status == RunStatus::Failed && why.contains("256 agents"), "{why}");
    family.tree.others = 255;
    family.say("play");
    family.answer("music", "la");
    family.tree.others = 256;
    // Existing agents continue.
    family.say("play");
    family.answer("music", "la");
    assert_eq!(
        family.ends().pop().unwrap(),
        (RunStatus::Completed, "la".to_owned())
    );
}

#[test]
fn who_was_told_to_stop_is_stopping() {
    let mut family = office(Limits::default());
    family.say("go");
    family.calls("boss", "delegate", order("worker", true));
    let worker = id_of(&family, "worker");
    let list = |family: &mut Family, action: &str| {
        let call = family.calls("boss", "agents", json!({"action": action, "id": worker}));
        let (_, text) = family.result(&call);
        serde_json::from_str::<serde_json::Value>(&text).unwrap()[0]["status"].clone()
    };
    assert_eq!(list(&mut family, "status"), "working");
    assert_eq!(list(&mut family, "stop"), "stopping");
    assert_eq!(list(&mut family, "status"), "stopping");
    family.answer_as("worker", "", StopReason::Interrupted);
    assert_eq!(list(&mut family, "status"), "interrupted");
    family.check_replay();
}

#[test]
fn who_is_gone_takes_along_whom_it_left_in_the_background() {
    let mut family = office(Limits::default());
    family.say("go");
    let call = family.calls("boss", "delegate", order("worker", false));
    family.calls("worker", "delegate", order("helper", true));
    let helper = id_of(&family, "helper");
    family.answer("worker", "the helper is at it");
    assert_eq!(family.result(&call).1, "the helper is at it");
    family.answer_as("helper", "", StopReason::Interrupted);
    assert_eq!(family.ends_of(&helper)[0].0, RunStatus::Interrupted);
    family.answer("boss", "done");
    assert_eq!(family.tree.agents.len(), 1);
    assert_eq!(
        family.root_agent().totals().usage.context_tokens(),
        55,
        "what it spent counts"
    );
    family.check_replay();
}
