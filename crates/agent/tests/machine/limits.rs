//! Limits: of rounds, tokens, money and time; raised and lowered during a run.

use agentx_types::*;
use serde_json::json;

use crate::harness::*;

fn rounds(max: u32) -> Limits {
    Limits {
        max_iterations: Some(max),
        ..Limits::default()
    }
}

fn wall(max: u64) -> Limits {
    Limits {
        max_wall_ms: Some(max),
        ..Limits::default()
    }
}

fn round(session: &mut Session, id: &str) {
    session.looks(id);
    session.result(id, "ok");
}

#[test]
fn the_request_after_the_last_round_is_refused() {
    for max in [0, 1, 2] {
        let mut session = Session::started(|config| config.limits = rounds(max));
        for n in 0..max {
            round(&mut session, &format!("c{n}"));
        }
        session.calls(&[("x", "look", json!({})), ("y", "nonsense", json!({}))]);
        assert!(session.running().is_empty());
        let why = format!("the limit of {max} tool rounds in one run is reached");
        assert_eq!(session.ends_of_runs(), [(RunStatus::TimedOut, Some(why.clone()))]);
        let last: Vec<String> = session.conversation().into_iter().rev().take(2).collect();
        assert_eq!(
            last,
            [
                format!("tool: y = not run: {why}"),
                format!("tool: x = not run: {why}")
            ]
        );
        assert_eq!(session.react().run().unwrap().iterations, max);
        assert_eq!(session.reports(), ["error"]);
        session.check_replay();
        session.say("go on");
        assert_eq!(session.status(), RunStatus::AwaitingLlm);
    }
}

#[test]
fn an_answer_after_the_last_round_completes() {
    let mut session = Session::started(|config| config.limits = rounds(1));
    round(&mut session, "c1");
    session.answer("done");
    assert_eq!(session.ends_of_runs(), [(RunStatus::Completed, None)]);
}

#[test]
fn limits_are_raised_while_it_runs() {
    let mut session = Session::started(|config| config.limits = rounds(1));
    round(&mut session, "c1");
    session.change(ConfigChange::Limits(rounds(2)));
    round(&mut session, "c2");
    session.looks("c3");
    assert_eq!(session.status(), RunStatus::TimedOut);
}

#[test]
fn the_model_is_told_once_that_the_end_is_near_and_again_after_a_raise() {
    let mut session = Session::started(|config| config.limits = rounds(10));
    let mut warned = Vec::new();
    for n in 1..=15 {
        if n == 9 {
            session.change(ConfigChange::Limits(rounds(16)));
        }
        round(&mut session, &format!("c{n}"));
        if session.sent().last().unwrap().contains("left in this run") {
            warned.push(n);
        }
    }
    assert_eq!(warned, [7, 13]);
    let warnings = session
        .sent()
        .iter()
        .filter(|line| line.contains("3 tool rounds are left"))
        .count();
    assert_eq!(warnings, 2);
}

#[test]
fn the_warning_follows_the_results_of_the_last_call() {
    let mut session = Session::started(|config| config.limits = rounds(2));
    session.calls(&[("c1", "look", json!({})), ("c2", "look", json!({}))]);
    session.result("c2", "b");
    session.result("c1", "a");
    let sent = session.sent();
    assert_eq!(sent[2], "tool: c1 = a");
    assert!(
        sent[3].starts_with("tool: c2 = b [1 tool round is left"),
        "{sent:?}"
    );
}

#[test]
fn tokens_and_money() {
    let cases = [
        (
            Limits {
                max_tokens: Some(100),
                ..Limits::default()
            },
            "tokens",
        ),
        (
            Limits {
                max_cost: Some(NanoUsd(100_000)),
                ..Limits::default()
            },
            "dollars",
        ),
    ];
    for (limits, word) in cases {
        let mut session = Session::started(|config| config.limits = limits);
        session.model(stream(
            [usage(99, 0), call("c1", "look", json!({}))],
            StopReason::ToolUse,
        ));
        session.result("c1", "ok");
        session.model(stream(
            [usage(1, 0), call("c2", "look", json!({}))],
            StopReason::ToolUse,
        ));
        let (status, why) = session.ends_of_runs().remove(0);
        assert_eq!(status, RunStatus::TimedOut);
        assert!(why.unwrap().contains(word));
    }
}

#[test]
fn the_model_is_told_what_is_left_of_its_last_tokens() {
    for (version, expected) in [(RULES_VERSION, [false, true, true]), (8, [false, false, false])] {
        let mut session = Session::started_with_rules(version, |config| {
            config.limits.max_tokens = Some(100);
        });
        let mut told = Vec::new();
        for (id, tokens) in [("c1", 70), ("c2", 15), ("c3", 5)] {
            session.model(stream(
                [usage(tokens, 0), call(id, "look", json!({}))],
                StopReason::ToolUse,
            ));
            session.result(id, "ok");
            told.push(
                session
                    .sent()
                    .last()
                    .unwrap()
                    .contains("of 100 tokens are left in this run"),
            );
        }
        assert_eq!(told, expected, "rules of version {version}");
        session.check_replay();
    }
}

#[test]
fn a_call_costs_what_its_server_reports_if_that_is_more() {
    let reported = |cost: u64| {
        let usage = Usage {
            input_tokens: 1,
            reported_cost: NanoUsd(cost),
            ..Usage::default()
        };
        UsageReport { usage }.into()
    };
    let ends = |cost: u64, version: u32| {
        let mut session = Session::started(|config| {
            config.limits.max_cost = Some(NanoUsd(100_000));
            config.model.prices.input = 1_000;
            config.rules_version = version;
        });
        let events = [reported(cost), call("c1", "look", json!({}))];
        session.model(stream(events, StopReason::ToolUse));
        session.ends_of_runs().len()
    };
    let now = since::REPORTED_COSTS_COUNT;
    assert_eq!([ends(99_999, now), ends(100_000, now), ends(0, now)], [0, 1, 0]);
    assert_eq!(ends(100_000, now - 1), 0, "as it was decided then");
}

#[test]
fn absurd_usage_ends_the_run_and_nothing_else() {
    let mut session = Session::started(|config| config.limits.max_tokens = Some(u64::MAX));
    for id in ["c1", "c2"] {
        if session.asked().is_some() {
            let events = [usage(u64::MAX, u64::MAX), call(id, "look", json!({}))];
            session.model(stream(events, StopReason::ToolUse));
        }
    }
    assert_eq!(session.status(), RunStatus::TimedOut);
}

#[test]
fn time_stops_whatever_runs() {
    let mut session = Session::started(|config| config.limits = wall(5_000));
    assert_eq!(session.timers()[0].1, 5_000);
    session.calls(&[("c1", "change", json!({}))]);
    session.timer_fires();
    assert_eq!(session.status(), RunStatus::Stopping);
    session.ends("c1", "stopped", ToolStatus::Interrupted);
    let why = "the limit of 5 s for one run is reached".to_owned();
    assert_eq!(session.ends_of_runs(), [(RunStatus::TimedOut, Some(why))]);
    assert_eq!(session.reports(), ["error"]);
}

#[test]
fn the_timer_goes_with_the_run() {
    let mut session = Session::started(|config| config.limits = wall(5_000));
    let old = session.timers()[0].0.clone();
    session.answer("done");
    assert!(session.timers().is_empty() && session.cancelled == [old.clone()]);
    session.say("again");
    session.fact(
        Some(&old),
        None,
        TimerFired {
            timer: Timer::RunLimit,
        },
    );
    assert_eq!(
        session.status(),
        RunStatus::AwaitingLlm,
        "the timer of the run before"
    );
}

#[test]
fn more_time_is_given_while_it_runs() {
    let mut session = Session::started(|config| config.limits = wall(5_000));
    session.change(ConfigChange::Limits(wall(60_000)));
    session.timer_fires();
    assert_eq!(session.status(), RunStatus::AwaitingLlm);
    let left = session.timers()[0].1;
    assert!((54_000..55_000).contains(&left), "{left}");
    session.change(ConfigChange::Limits(Limits::default()));
    session.timer_fires();
    assert_eq!(
        (session.status(), session.timers().len()),
        (RunStatus::AwaitingLlm, 0)
    );
    session.change(ConfigChange::Limits(wall(90_000)));
    session.timer_fires();
    assert_eq!(session.status(), RunStatus::Stopping);
}

#[test]
fn less_time_is_given_while_it_runs() {
    let mut session = Session::started(|_| {});
    assert!(session.timers().is_empty());
    session.change(ConfigChange::Limits(wall(60_000)));
    assert_eq!(session.timers().len(), 1);
    session.change(ConfigChange::Limits(wall(1)));
    assert_eq!(session.timers().len(), 1, "the longer one is cancelled");
    assert_eq!(session.timers()[0].1, 0);
    session.timer_fires();
    assert_eq!(session.status(), RunStatus::Stopping);
}

/// Returns the events of an attempt that broke off with this number of tokens and is followed by another one.
fn broken(tokens: u64) -> Vec<EnvironmentEvent> {
    let mut said = stream([words("half"), usage(tokens, 0)], StopReason::Broken);
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
    said.push(failed.into());
    said
}

#[test]
fn limits_hold_between_the_attempts_of_one_call() {
    for (version, cancelled) in [(RULES_VERSION, true), (4, false)] {
        let mut session = Session::started(|config| {
            config.rules_version = version;
            config.limits.max_tokens = Some(150);
        });
        session.model(broken(100));
        assert!(
            session.cancelled.is_empty(),
            "the first attempt is within the limit"
        );
        session.model(broken(100));
        assert_eq!(
            !session.cancelled.is_empty(),
            cancelled,
            "rules of version {version}"
        );
        if cancelled {
            // The effector is notified while it waits.
            session.model(vec![
                StreamEnd {
                    stop_reason: StopReason::Interrupted,
                    raw: None,
                }
                .into(),
            ]);
            let why = "the limit of 150 tokens in one run is reached (200 used)".to_owned();
            assert_eq!(session.ends_of_runs(), [(RunStatus::TimedOut, Some(why))]);
            assert_eq!(session.reports(), ["error"]);
            assert_eq!(session.conversation(), ["user: go", "assistant: half"]);
        } else {
            session.answer("done");
            assert_eq!(session.ends_of_runs(), [(RunStatus::Completed, None)]);
        }
        session.check_replay();
    }
}

#[test]
fn a_last_attempt_that_reaches_a_limit_ends_with_its_error() {
    let mut session = Session::started(|config| {
        config.rules_version = RULES_VERSION;
        config.limits.max_tokens = Some(50);
    });
    let mut said = broken(100);
    if let Some(EnvironmentEvent::AttemptFailed(failed)) = said.last_mut() {
        failed.retry_in_ms = None;
    }
    said.push(error_event("stream_broken", "the answer broke off"));
    session.model(said);
    let why = Some("the answer broke off".to_owned());
    assert_eq!(session.ends_of_runs(), [(RunStatus::Failed, why)]);
}
