//! Streams that break, are tried again, come late or make no sense.

use agentx_types::*;
use serde_json::json;

use crate::harness::*;

fn attempt_failed() -> Event {
    AttemptFailed {
        attempt: 1,
        code: "overloaded".into(),
        message: "try later".into(),
        status: Some(529),
        retry_in_ms: Some(1_000),
        gives_up_in_ms: None,
        overflow: None,
        refused: None,
        longest_answer: None,
        most_media: None,
        no_thinking: false,
        refused_place: None,
    }
    .into()
}

#[test]
fn of_a_broken_stream_and_its_retry_only_the_last_counts() {
    let mut session = Session::started(|_| {});
    session.model(stream([words("lost"), usage(10, 1)], StopReason::Broken));
    assert_eq!(session.status(), RunStatus::AwaitingLlm);
    session.model(vec![attempt_failed()]);
    session.model(stream([words("kept"), usage(10, 2)], StopReason::EndTurn));
    assert_eq!(session.conversation(), ["user: go", "assistant: kept"]);
    assert_eq!(
        session.react().totals().usage.output_tokens,
        3,
        "both were paid for"
    );
    assert_eq!(session.ends_of_runs(), [(RunStatus::Completed, None)]);
}

#[test]
fn a_retry_that_says_less_than_the_broken_stream_still_counts() {
    let mut session = Session::started(|_| {});
    session.model(stream([words("lost")], StopReason::Broken));
    session.model(stream([], StopReason::EndTurn));
    assert_eq!(session.conversation(), ["user: go"]);
}

#[test]
fn an_attempt_that_was_lost_before_its_answer_costs_something_and_leaves_the_words_before() {
    for (version, paid) in [(RULES_VERSION, 510), (8, 10)] {
        let mut session = Session::started_with_rules(version, |_| {});
        session.model(stream([words("half"), usage(10, 1)], StopReason::Broken));
        session.model(vec![attempt_failed(), usage(500, 0), attempt_failed()]);
        assert_eq!(
            session.react().totals().usage.input_tokens,
            paid,
            "rules {version}"
        );
        session.model(vec![error_event("overloaded", "gave up")]);
        assert_eq!(session.conversation(), ["user: go", "assistant: half"]);
        session.check_replay();
    }
}

#[test]
fn an_error_keeps_what_had_come() {
    let cut = |last: Vec<Event>| {
        let mut session = Session::started(|_| {});
        let mut events = vec![
            begins("msg_a"),
            words("half"),
            usage(10, 1),
            call("c1", "look", json!({})),
        ];
        events.extend(last);
        events.push(error_event("overloaded", "gave up"));
        session.model(events);
        assert_eq!(
            session.ends_of_runs(),
            [(RunStatus::Failed, Some("gave up".into()))]
        );
        assert_eq!(session.conversation(), ["user: go", "assistant: half"]);
        assert_eq!(session.react().totals().usage.input_tokens, 10);
        assert_eq!(session.reports(), ["error"]);
        assert!(session.open.is_empty());
        session.say("again");
        assert_eq!(session.sent(), ["user: go", "assistant: half", "user: again"]);
    };
    cut(vec![]);
    cut(vec![ends_with(StopReason::Broken)]);
    cut(vec![
        ends_with(StopReason::Broken),
        attempt_failed(),
        ends_with(StopReason::Broken),
    ]);
}

#[test]
fn an_error_before_any_stream() {
    let mut session = Session::started(|_| {});
    session.model(vec![attempt_failed(), error_event("unauthorized", "no key")]);
    assert_eq!(
        session.ends_of_runs(),
        [(RunStatus::Failed, Some("no key".into()))]
    );
    assert_eq!(session.conversation(), ["user: go"]);
}

#[test]
fn a_second_stream_start_begins_the_answer_anew() {
    let mut session = Session::started(|_| {});
    session.model(vec![
        begins("msg_1"),
        words("lost"),
        usage(7, 0),
        begins("msg_2"),
        words("kept"),
    ]);
    session.model(vec![ends_with(StopReason::EndTurn)]);
    assert_eq!(session.conversation(), ["user: go", "assistant: kept"]);
    assert_eq!(session.react().totals().usage.input_tokens, 7);
}

#[test]
fn what_comes_outside_of_a_stream_is_no_answer() {
    let mut session = Session::started(|_| {});
    session.model(vec![
        words("stray"),
        call("c1", "look", json!({})),
        ends_with(StopReason::ToolUse),
    ]);
    assert_eq!(session.conversation(), ["user: go"]);
    assert_eq!(session.ends_of_runs(), [(RunStatus::Completed, None)]);
}

#[test]
fn a_stream_that_nobody_asked_for_or_that_has_ended_is_passed_over() {
    let mut session = Session::started(|_| {});
    let asked = session.asked().unwrap().action_id;
    session.answer("done");
    let before = but_for_the_time(&session.agent);
    for cause in [None, Some(asked), Some(ActionId::new("act_99_0"))] {
        for event in stream(
            [words("late"), call("c1", "look", json!({}))],
            StopReason::ToolUse,
        ) {
            session.fact(cause.as_ref(), None, event);
        }
        session.fact(cause.as_ref(), None, error_event("late", "late"));
    }
    assert_eq!(but_for_the_time(&session.agent), before);
}

#[test]
fn a_stream_that_was_stopped_from_outside_is_not_asked_for_again() {
    let mut session = Session::started(|_| {});
    session.model(stream([words("half")], StopReason::Interrupted));
    assert_eq!(session.status(), RunStatus::Interrupted);
    assert_eq!(session.conversation(), ["user: go", "assistant: half"]);
    assert_eq!(session.reports(), ["interrupted"]);
}

#[test]
fn an_error_of_another_run_or_of_the_session_ends_nothing() {
    let mut session = Session::started(|_| {});
    session.fact(None, Some("run_99".into()), error_event("x", "y"));
    session.happens(error_event("disk_full", "session"));
    session.fact(
        None,
        Some("run_99".into()),
        Interrupted {
            reason: "late".into(),
        },
    );
    assert_eq!(session.status(), RunStatus::AwaitingLlm);
}

#[test]
fn an_error_of_the_run_cancels_what_is_open_and_is_not_reported_twice() {
    let mut session = Session::started(|_| {});
    let asked = session.asked().unwrap().action_id;
    session.fact(None, Some("run_1".into()), error_event("x", "broken tool server"));
    assert_eq!(session.cancelled, [asked]);
    assert_eq!(session.status(), RunStatus::Stopping);
    session.model(stream([words("half")], StopReason::Interrupted));
    assert_eq!(
        session.ends_of_runs(),
        [(RunStatus::Failed, Some("broken tool server".into()))]
    );
    assert_eq!(session.reports(), ["error"]);
}

#[test]
fn events_of_a_newer_version_change_nothing() {
    let mut session = Session::started(|_| {});
    let before = but_for_the_time(&session.agent);
    let event: Event = serde_json::from_value(json!({"event": "brain_scan", "payload": {"x": 1}})).unwrap();
    session.happens(event);
    assert_eq!(but_for_the_time(&session.agent), before);
}
