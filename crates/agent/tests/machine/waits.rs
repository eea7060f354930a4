//! Calls that wait for a time (`wait`).

use agentx_types::*;
use serde_json::json;

use crate::harness::*;

/// A session whose model waits for a minute.
fn waiting(change: impl FnOnce(&mut AgentConfig)) -> Session {
    let mut session = Session::started_with_rules(RULES_VERSION, |config| {
        config.wait = true;
        change(config);
    });
    session.calls(&[("c1", "wait", json!({"seconds": 60, "reason": "the build"}))]);
    session
}

/// The timer of the wait: its action, and the milliseconds after which it fires.
fn timer(session: &Session) -> (ActionId, u64) {
    let is_wait = |action: &&Action| matches!(&action.body, ActionBody::StartTimer(timer) if timer.timer == Timer::Wait);
    let action = session.open.iter().find(is_wait).expect("a wait is open");
    match &action.body {
        ActionBody::StartTimer(timer) => (action.action_id.clone(), timer.after_ms),
        _ => unreachable!("only timers are found"),
    }
}

/// The timer of the wait fires this many milliseconds later.
fn fires_after(session: &mut Session, millis: u64) {
    let (action, _) = timer(session);
    session.open.retain(|open| open.action_id != action);
    session.time_passes(millis as i64);
    session.fact(Some(&action), None, TimerFired { timer: Timer::Wait });
}

fn last(session: &Session) -> String {
    session.sent().last().cloned().unwrap_or_default()
}

#[test]
fn the_log_has_the_time_at_which_a_wait_ends() {
    let session = waiting(|_| {});
    let due: Vec<_> = session
        .log
        .iter()
        .filter_map(|fact| match &fact.event {
            Event::ActionStarted(started) => started
                .due_at
                .map(|due| (started.tool_call_id.clone(), due, fact.at)),
            _ => None,
        })
        .collect();
    let [(call, due, at)] = &due[..] else {
        panic!("one wait has begun: {due:?}")
    };
    assert_eq!(call.as_ref().map(ToolCallId::as_str), Some("c1"));
    assert!(due.millis_since(*at).abs_diff(60_000) < 10, "{due:?} {at:?}");
    assert_eq!(session.status(), RunStatus::AwaitingTool);
    assert!(session.asked().is_none(), "the model is not asked meanwhile");
}

#[test]
fn a_wait_ends_once_and_the_model_reads_that_it_is_over() {
    let mut session = waiting(|_| {});
    let (action, after_ms) = timer(&session);
    fires_after(&mut session, after_ms);
    assert!(
        last(&session).starts_with("tool: c1 = The wait is over"),
        "{}",
        last(&session)
    );
    let facts = session.log.len();
    session.fact(Some(&action), None, TimerFired { timer: Timer::Wait });
    assert_eq!(session.log.len(), facts + 1, "a second one changes nothing");
    session.answer("done");
    assert_eq!(session.ends_of_runs(), [(RunStatus::Completed, None)]);
    session.check_replay();
}

#[test]
fn another_program_waits_for_the_rest_and_ends_at_once_what_is_due() {
    let mut session = waiting(|_| {});
    let (first, _) = timer(&session);
    session.time_passes(20_000);
    session.restart();
    let (second, rest) = timer(&session);
    assert_ne!(
        first, second,
        "the timer of the old program does not count any more"
    );
    assert!(rest.abs_diff(40_000) < 50, "{rest}");
    session.fact(Some(&first), None, TimerFired { timer: Timer::Wait });
    assert!(session.asked().is_none(), "the old timer ends nothing");
    session.time_passes(3_600_000);
    session.restart();
    assert_eq!(timer(&session).1, 0, "it is due");
    fires_after(&mut session, 0);
    assert!(last(&session).contains("The wait is over"), "{}", last(&session));
    session.check_replay();
}

#[test]
fn a_timer_that_fires_too_early_is_started_again_for_the_rest() {
    let mut session = waiting(|_| {});
    fires_after(&mut session, 10_000);
    assert!(session.asked().is_none());
    let rest = timer(&session).1;
    assert!(rest.abs_diff(50_000) < 50, "{rest}");
    fires_after(&mut session, rest);
    assert!(session.asked().is_some());
    session.check_replay();
}

/// The timer of the run's limit fires this many milliseconds later.
fn limit_fires_after(session: &mut Session, millis: i64) {
    let is_limit = |action: &&Action| matches!(&action.body, ActionBody::StartTimer(timer) if timer.timer == Timer::RunLimit);
    let found = session.open.iter().find(is_limit).expect("the limit has a timer");
    let action = found.action_id.clone();
    session.open.retain(|open| open.action_id != action);
    session.time_passes(millis);
    session.fact(
        Some(&action),
        None,
        TimerFired {
            timer: Timer::RunLimit,
        },
    );
}

#[test]
fn the_time_of_a_wait_counts_against_no_limit() {
    let mut session = waiting(|config| config.limits.max_wall_ms = Some(10_000));
    limit_fires_after(&mut session, 10_000);
    assert_eq!(
        session.status(),
        RunStatus::AwaitingTool,
        "nothing of the limit is used"
    );
    fires_after(&mut session, 50_000);
    assert_eq!(session.status(), RunStatus::AwaitingLlm);
    limit_fires_after(&mut session, 5_000);
    assert_eq!(
        session.status(),
        RunStatus::AwaitingLlm,
        "half of the limit is left"
    );
    limit_fires_after(&mut session, 5_000);
    assert_eq!(session.status(), RunStatus::Stopping, "the rest is used up");
    session.check_replay();
}

#[test]
fn a_run_that_is_stopped_ends_its_wait() {
    let mut session = waiting(|_| {});
    let (action, _) = timer(&session);
    session.interrupt();
    assert!(session.cancelled.contains(&action));
    assert_eq!(session.status(), RunStatus::Interrupted);
    session.fact(Some(&action), None, TimerFired { timer: Timer::Wait });
    assert_eq!(session.status(), RunStatus::Interrupted);
    session.check_replay();
}

#[test]
fn a_copy_leaves_the_wait_to_the_original() {
    let mut session = waiting(|_| {});
    session.fork();
    assert_eq!(session.status(), RunStatus::Interrupted);
    assert!(session.timers().is_empty());
    session.check_replay();
}

#[test]
fn an_agent_has_the_tool_by_its_configuration_and_from_version_9_of_the_rules_on() {
    for (version, has_it) in [(8, true), (9, false), (8, false)] {
        let mut session = Session::started_with_rules(version, |config| config.wait = has_it);
        session.calls(&[("c1", "wait", json!({"seconds": 60, "reason": "the build"}))]);
        assert!(
            last(&session).contains("There is no tool \"wait\""),
            "{}",
            last(&session)
        );
    }
    let offered = |session: &Session| session.request().tools.iter().any(|tool| tool.name == "wait");
    let session = Session::started_with_rules(9, |config| config.wait = true);
    assert!(offered(&session));
}

#[test]
fn arguments_that_name_no_time_are_a_mistake() {
    for (input, words) in [
        (json!({"reason": "x"}), "Give `seconds` or `until`."),
        (
            json!({"reason": "x", "until": "1970-01-01T00:00:00Z"}),
            "`until` is over",
        ),
        (json!({"seconds": 5}), "missing argument \"reason\""),
        (json!({"seconds": "soon", "reason": "x"}), "argument \"seconds\""),
    ] {
        let mut session = Session::started_with_rules(RULES_VERSION, |config| config.wait = true);
        session.calls(&[("c1", "wait", input.clone())]);
        assert!(last(&session).contains(words), "{input}: {}", last(&session));
    }
}
