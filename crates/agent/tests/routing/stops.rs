//! Ends of a router's runs before their answer, and the state after a process dies.

use agentx_types::*;

use crate::family::*;

fn stopped(reason: &str) -> (RunStatus, String) {
    (RunStatus::Interrupted, reason.to_owned())
}

#[test]
fn an_interrupt_reaches_the_child() {
    let mut family = Family::usual();
    family.say("music and weather");
    family.answer("router", "play\nweather");
    family.interrupt(&Family::root());
    assert_eq!(family.root_agent().run().unwrap().status, RunStatus::Stopping);
    family.answer_as("music", "l", StopReason::Interrupted);
    assert_eq!(family.ends(), [stopped("l (stopped by the user)")]);
    assert!(family.open.is_empty());
    family.say("weather");
    family.answer("sky", "sun");
    assert_eq!(family.ends().len(), 2);
    family.check_replay();
}

/// A model that declines to classify an input does not mean that no rule fits it, whatever it named before.
#[test]
fn a_refusal_of_the_model_that_sorts_ends_the_run_as_one() {
    let declined = (RunStatus::Failed, " (the model declined to answer)".to_owned());
    for text in ["", "play"] {
        let mut family = Family::usual();
        family.say("the loud one");
        family.answer_as("router", text, StopReason::Refusal);
        assert_eq!(family.ends(), std::slice::from_ref(&declined), "{text:?}");
        assert_eq!(family.tree.agents.len(), 1, "nobody was given anything");
        let code = family.log.iter().find_map(|fact| match &fact.event {
            EnvironmentEvent::ErrorOccurred(error) => Some(error.code.clone()),
            _ => None,
        });
        assert_eq!(code.as_deref(), Some("content_filter"));
        family.check_replay();
    }
    let mut older = Family::usual_of_version(8);
    older.say("the loud one");
    older.answer_as("router", "", StopReason::Refusal);
    older.answer("chat", "hm");
    assert_eq!(older.ends(), [(RunStatus::Completed, "hm".to_owned())]);
    older.check_replay();
}

#[test]
fn an_interrupt_while_it_matches_ends_the_call() {
    let mut family = Family::usual();
    family.say("hm");
    family.interrupt(&Family::root());
    family.answer("router", "play");
    assert_eq!(family.ends(), [stopped(" (stopped by the user)")]);
    assert_eq!(family.tree.agents.len(), 1);
    family.check_replay();
}

#[test]
fn barging_in_stops_the_child_and_is_heard() {
    let mut family = Family::usual();
    family.say("play");
    family.say_as("not that", InputMode::Interrupt);
    family.answer_as("music", "", StopReason::Interrupted);
    family.answer("router", "-");
    family.answer("music", "sorry");
    let ends = [
        stopped(" (a new message)"),
        (RunStatus::Completed, "sorry".to_owned()),
    ];
    assert_eq!(family.ends(), ends);
    assert_eq!(family.inputs()[1], "music: not that");
    family.check_replay();
}

#[test]
fn who_stops_a_child_stops_what_was_meant() {
    let mut family = Family::usual();
    family.say("music and weather");
    family.answer("router", "play\nweather");
    let child = family.call_of("music").agent_state_id;
    family.interrupt(&child);
    family.answer_as("music", "", StopReason::Interrupted);
    assert_eq!(family.ends(), [stopped(" (stopped by the user)")]);
    family.check_replay();
}

#[test]
fn what_was_forwarded_to_a_child_that_is_being_stopped_is_still_heard() {
    let mut family = Family::usual();
    family.say("play");
    let child = family.call_of("music").agent_state_id;
    family.interrupt(&child);
    family.steer("play on");
    family.answer_as("music", "", StopReason::Interrupted);
    // The child has its own run for it, and the router waits for that.
    assert!(family.ends().is_empty());
    family.answer("music", "la");
    assert_eq!(family.ends(), [(RunStatus::Completed, "la".to_owned())]);
    family.check_replay();
}

#[test]
fn a_child_that_fails_ends_the_run_badly_but_not_what_comes_after() {
    let mut family = Family::usual();
    family.say("music and weather");
    family.answer("router", "play\nweather");
    let call = family.call_of("music");
    family.answers(&call, error("overloaded", "too much"));
    family.answer("sky", "sun");
    assert_eq!(family.ends(), [(RunStatus::Failed, "sun (too much)".to_owned())]);
    family.check_replay();
}

#[test]
fn a_model_that_fails_ends_the_run() {
    let mut family = Family::usual();
    family.say("hm");
    let call = family.call_of("router");
    family.answers(&call, error("overloaded", "too much"));
    assert_eq!(family.ends(), [(RunStatus::Failed, " (too much)".to_owned())]);
    for (reason, why) in [
        (StopReason::ContextWindow, "window"),
        (StopReason::MaxTokens, "longest"),
    ] {
        family.say("hm");
        family.answer_as("router", "pl", reason);
        let (status, said) = family.ends().pop().unwrap();
        assert!(status == RunStatus::Failed && said.contains(why), "{said}");
    }
    family.check_replay();
}

#[test]
fn an_attempt_that_broke_off_leaves_nothing() {
    let mut family = Family::usual();
    family.say("hm");
    family.answer_as("router", "weather\npla", StopReason::Broken);
    family.answer("router", "play");
    assert_eq!(family.asks(ActionKind::CallModel), ["music"]);
    family.answer("music", "la");
    assert_eq!(family.inputs().len(), 1);
    assert_eq!(family.root_agent().totals().usage.context_tokens(), 33);
    family.check_replay();
}

fn limited(tokens: u64) -> Family {
    let mut config = router(routing(None));
    config.limits.max_tokens = Some(tokens);
    Family::new(config)
}

#[test]
fn limits_are_shared_with_the_child() {
    // The child's answer calls a tool, which the limit forbids.
    let mut family = limited(11);
    family.say("play");
    let call = family.calls("music", "look", serde_json::json!({"path": "a"}));
    assert!(family.open.is_empty());
    assert_eq!(family.result(&call).0, ToolStatus::Refused);
    let (status, said) = family.ends().pop().unwrap();
    let why = " (the limit of 11 tokens in one run of agent router is reached (11 used))";
    assert_eq!((status, said.as_str()), (RunStatus::TimedOut, why));
    family.check_replay();
}

#[test]
fn an_answer_that_reaches_the_limit_is_an_answer() {
    let mut family = limited(11);
    family.say("play");
    family.answer("music", "la");
    assert_eq!(family.ends(), [(RunStatus::Completed, "la".to_owned())]);
    // Another task would exceed it.
    family.say("weather and play");
    family.answer("router", "weather\nplay");
    assert!(family.open.is_empty());
    assert_eq!(family.ends().pop().unwrap().0, RunStatus::TimedOut);
    family.check_replay();
}

#[test]
fn time_runs_out() {
    let mut config = router(routing(None));
    config.limits.max_wall_ms = Some(1_000);
    let mut family = Family::new(config);
    family.say("play");
    let timer = family
        .open
        .iter()
        .find(|open| open.body.kind() == ActionKind::StartTimer)
        .cloned()
        .unwrap();
    family.now += 2_000_000;
    family.answers(
        &timer,
        TimerFired {
            timer: Timer::RunLimit,
        }
        .into(),
    );
    family.answer_as("music", "", StopReason::Interrupted);
    assert_eq!(
        family.ends(),
        [(
            RunStatus::TimedOut,
            " (the limit of 1 s for one run is reached)".to_owned()
        )]
    );
    family.check_replay();
}

#[test]
fn a_router_that_is_closed_closes_its_children() {
    let mut family = Family::usual();
    family.say("play");
    let close = || AgentClosed {
        agent_state_id: Family::root(),
        reason: "over".into(),
    };
    family.fact(Some(Family::root()), None, close());
    family.answer_as("music", "", StopReason::Interrupted);
    assert_eq!(family.ends(), [stopped(" (over)")]);
    assert_eq!(family.tree.agents.len(), 1);
    family.say("play");
    assert!(family.open.is_empty());
    family.check_replay();
}

#[test]
fn a_child_that_is_gone_is_made_again() {
    let mut family = Family::usual();
    family.say("play");
    let child = family.call_of("music").agent_state_id;
    family.say("play on");
    family.fact(
        Some(child.clone()),
        None,
        AgentClosed {
            agent_state_id: child.clone(),
            reason: "enough".into(),
        },
    );
    family.answer_as("music", "", StopReason::Interrupted);
    let next = family.call_of("music").agent_state_id;
    assert_ne!(next, child);
    family.answer("music", "la");
    assert_eq!(
        family.ends(),
        [stopped(" (enough)"), (RunStatus::Completed, "la".to_owned())]
    );
    family.check_replay();
}

#[test]
fn another_process_goes_on_wherever_the_first_one_died() {
    let mut family = Family::usual();
    family.say("hm");
    family.restart();
    assert_eq!(family.asks(ActionKind::CallModel), ["router"]);
    family.answer("router", "play\nweather");
    family.restart();
    assert_eq!(family.asks(ActionKind::CallModel), ["music"]);
    family.answer("music", "la");
    family.interrupt(&Family::root());
    family.restart();
    assert!(family.open.is_empty());
    assert_eq!(family.ends(), [stopped("la (stopped by the user)")]);
    family.check_replay();
}

#[test]
fn a_fork_leaves_behind_what_was_under_way_wherever_it_cuts() {
    let mut family = Family::usual();
    family.say("music and weather");
    family.answer("router", "play\nweather");
    family.answer("music", "la");
    family.answer("sky", "sun");
    let log = family.log.clone();
    for seq in 1..=log.len() {
        let mut fork = Family::usual();
        fork.log = log.clone();
        fork.fork_at(seq);
        assert!(fork.open.is_empty(), "at {seq} {}", log[seq - 1].event.tag());
        assert_eq!(fork.ends().len(), 1, "at {seq}");
        fork.say("weather");
        fork.answer("sky", "rain");
        assert_eq!(
            fork.ends().pop().unwrap(),
            (RunStatus::Completed, "rain".to_owned()),
            "at {seq}"
        );
        fork.check_replay();
    }
}

#[test]
fn a_fork_of_a_fork_ends_what_the_first_one_had_not_ended_yet() {
    let mut family = Family::usual();
    family.say("weather");
    family.fork_at(family.log.len());
    let log = family.log.clone();
    for seq in 1..=log.len() {
        let mut fork = Family::usual();
        fork.log = log.clone();
        fork.fork_at(seq);
        assert!(fork.open.is_empty(), "at {seq} {}", log[seq - 1].event.tag());
        fork.say("weather");
        fork.answer("sky", "rain");
        assert_eq!(
            fork.ends().pop().unwrap(),
            (RunStatus::Completed, "rain".to_owned()),
            "at {seq}"
        );
        fork.check_replay();
    }
}
