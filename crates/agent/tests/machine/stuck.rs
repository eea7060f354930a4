//! The response when the agent repeats itself: a note to the model, a question to a person, the end of the
//! run.

use agentx_types::*;
use serde_json::json;

use crate::harness::*;

/// A session whose agent watches for loops; `look` and `change` run without being asked about.
fn watched(change: impl FnOnce(&mut AgentConfig)) -> Session {
    Session::started_with_rules(RULES_VERSION, |config| {
        config.stuck = Some(StuckSettings::default());
        change(config);
    })
}

/// The same, where somebody is there to be asked.
fn attended() -> Session {
    watched(|config| config.ask_user = Some(AskUser::Decide))
}

/// The model makes the same call again, with this number, and it fails.
fn fails_again(session: &mut Session, number: usize) {
    let id = format!("c{number}");
    session.looks(&id);
    session.ends(&id, "no such file", ToolStatus::Failed);
}

fn loops(session: &Session) -> Vec<(LoopKind, u32, LoopResponse)> {
    let found = session.states().filter_map(|state| match state {
        StateOutput::LoopDetected(found) => Some((found.kind, found.times, found.response)),
        _ => None,
    });
    found.collect()
}

fn last(session: &Session) -> String {
    session.sent().last().cloned().unwrap_or_default()
}

fn decide(session: &mut Session, id: &str, decision: ApprovalDecision, note: Option<&str>) {
    session.happens(Approval {
        tool_call_id: id.into(),
        decision,
        note: note.map(str::to_owned),
        rule: None,
        by: None,
        limited: false,
    });
}

/// Eight failing calls, and the ninth is requested.
fn looping(mut session: Session) -> Session {
    for number in 1..=8 {
        fails_again(&mut session, number);
    }
    session.looks("c9");
    session
}

#[test]
fn the_model_is_told_once_behind_the_last_result_and_nobody_is_asked_yet() {
    let mut session = watched(|_| {});
    for number in 1..=7 {
        fails_again(&mut session, number);
        let told = last(&session).contains("You repeat yourself: `look` was called 3 times in a row");
        assert_eq!(told, number == 3, "after {number}: {}", last(&session));
    }
    assert_eq!(loops(&session), [(LoopKind::Error, 3, LoopResponse::Nudge)]);
    let before = session.sent();
    session.looks("c8");
    session.result("c8", "found");
    assert_eq!(
        session.sent()[..before.len()],
        before,
        "what was sent stays as it was"
    );
    session.answer("done");
    assert_eq!(session.ends_of_runs(), [(RunStatus::Completed, None)]);
    session.check_replay();
}

#[test]
fn a_loop_that_goes_on_stops_the_run_where_nobody_is_there() {
    for change in [
        |_: &mut AgentConfig| {},
        |config: &mut AgentConfig| config.approval = ApprovalMode::Deny,
    ] {
        let mut session = watched(change);
        session.restart();
        for number in 1..=8 {
            assert!(session.ends_of_runs().is_empty());
            fails_again(&mut session, number);
        }
        let reason = "the agent is stuck: `look` was called 8 times in a row with the same arguments and failed each \
                      time with the same error";
        assert_eq!(session.ends_of_runs(), [(RunStatus::Failed, Some(reason.into()))]);
        let codes = session.log.iter().filter_map(|fact| match &fact.event {
            Event::ErrorOccurred(error) => Some(error.code.as_str()),
            _ => None,
        });
        assert_eq!(codes.collect::<Vec<_>>(), ["stuck"]);
        let end = (LoopKind::Error, 8, LoopResponse::Stop);
        assert_eq!(loops(&session).last(), Some(&end));
        session.say("try something else");
        fails_again(&mut session, 9);
        assert!(session.asked().is_some(), "a person's words begin a new count");
        session.check_replay();
    }
}

#[test]
fn somebody_is_asked_about_the_next_call_of_the_loop_and_answers() {
    use ApprovalDecision::{Deny, Once};
    for (decision, note, expected) in [
        (Once, None, "runs"),
        (Once, Some("1"), "runs"),
        (Once, Some("go on"), "runs"),
        (Once, Some("2"), "stops"),
        (Deny, None, "stops"),
        (Deny, Some(NOBODY_ANSWERS), "stops"),
        (Once, Some("look in /tmp"), "words"),
        (Deny, Some("look in /tmp"), "words"),
    ] {
        let mut session = looping(attended());
        assert_eq!(session.status(), RunStatus::AwaitingApproval);
        assert!(session.running_ids().is_empty(), "the call waits");
        let asked = session.states().find_map(|state| match state {
            StateOutput::ApprovalRequested { question, .. } => question.clone(),
            _ => None,
        });
        assert_eq!(asked.unwrap().choices, ["go on", "stop"]);
        decide(&mut session, "c9", decision, note);
        match expected {
            "runs" => {
                assert_eq!(session.running_ids(), ["c9"]);
                session.ends("c9", "no such file", ToolStatus::Failed);
                assert!(session.asked().is_some(), "counting began again");
            }
            "words" => assert!(
                last(&session).contains("The person says: look in /tmp"),
                "{}",
                last(&session)
            ),
            _ => {
                let ends = session.ends_of_runs();
                assert_eq!(ends[0].0, RunStatus::Failed, "{decision:?} {note:?}");
                let by = if note == Some(NOBODY_ANSWERS) {
                    "nobody was there"
                } else {
                    "a person stopped it"
                };
                assert!(ends[0].1.as_deref().unwrap().contains(by), "{ends:?}");
            }
        }
        assert!(session.react().config().rules.is_empty(), "no rule is kept");
        session.check_replay();
    }
}

#[test]
fn a_model_that_leaves_the_loop_is_not_held() {
    let mut session = attended();
    for number in 1..=8 {
        fails_again(&mut session, number);
    }
    session.calls(&[("c9", "look", json!({"path": "b"}))]);
    assert_eq!(session.running_ids(), ["c9"]);
    session.result("c9", "found");
    session.answer("done");
    assert_eq!(session.ends_of_runs(), [(RunStatus::Completed, None)]);
    session.check_replay();
}

#[test]
fn each_state_of_a_loop_survives_a_restart() {
    let mut session = attended();
    for number in 1..=8 {
        session.looks(&format!("c{number}"));
        session.restart();
        session.ends(&format!("c{number}"), "no such file", ToolStatus::Failed);
        session.restart();
    }
    session.looks("c9");
    session.restart();
    assert_eq!(
        session.status(),
        RunStatus::AwaitingApproval,
        "the question stays open"
    );
    session.change(ConfigChange::Approval(ApprovalMode::Auto));
    session.change(ConfigChange::RuleAdded(crate::rules::rule("allow look")));
    assert_eq!(
        session.status(),
        RunStatus::AwaitingApproval,
        "a rule does not answer it"
    );
    decide(&mut session, "c9", ApprovalDecision::Once, Some("go on"));
    assert_eq!(session.running_ids(), ["c9"]);
    session.check_replay();

    // In the next program nobody can be asked.
    let mut session = looping(watched(|config| config.approval = ApprovalMode::Ask));
    session.change(ConfigChange::Approval(ApprovalMode::Deny));
    session.restart();
    assert_eq!(session.ends_of_runs()[0].0, RunStatus::Failed);
    session.check_replay();

    let mut session = looping(attended());
    session.interrupt();
    assert_eq!(session.ends_of_runs()[0].0, RunStatus::Interrupted);
    session.check_replay();
}

#[test]
fn a_message_behind_an_open_question_changes_nothing_about_it() {
    for (note, status) in [
        ("stop", RunStatus::AwaitingLlm),
        ("go on", RunStatus::AwaitingTool),
    ] {
        let mut session = looping(attended());
        session.say("and then this");
        assert_eq!(session.status(), RunStatus::AwaitingApproval);
        decide(&mut session, "c9", ApprovalDecision::Once, Some(note));
        assert_eq!(session.status(), status, "{note}");
        session.check_replay();
    }
}

#[test]
fn several_equal_calls_of_one_answer_wait_together() {
    let mut session = attended();
    for number in 1..=8 {
        fails_again(&mut session, number);
    }
    session.calls(&[
        ("a", "look", json!({"path": "a"})),
        ("b", "look", json!({"path": "a"})),
        ("c", "look", json!({"path": "z"})),
    ]);
    assert_eq!(session.running_ids(), ["c"]);
    session.result("c", "found");
    decide(&mut session, "b", ApprovalDecision::Once, None);
    assert_eq!(session.running_ids(), ["a", "b"]);
    session.check_replay();
}

#[test]
fn equal_calls_that_succeed_are_told_and_go_on_to_the_limit_of_the_run() {
    let mut session = watched(|config| config.limits.max_iterations = Some(50));
    for number in 1..=50 {
        let id = format!("c{number}");
        session.looks(&id);
        session.result(&id, "hi\n[exit 0, 0.01 s]");
    }
    assert_eq!(loops(&session), [(LoopKind::Repetition, 6, LoopResponse::Nudge)]);
    session.answer("done");
    assert_eq!(session.ends_of_runs(), [(RunStatus::Completed, None)]);
}

#[test]
fn a_failure_that_recurs_between_other_calls_is_told_once_and_never_stopped() {
    let mut session = watched(|_| {});
    for number in 1..=20 {
        let id = format!("b{number}");
        session.calls(&[(&id, "look", json!({ "path": id }))]);
        session.result(&id, &format!("page {number}"));
        fails_again(&mut session, number);
    }
    let told = (LoopKind::RecurringError, 6, LoopResponse::Nudge);
    assert_eq!(loops(&session), [told]);
    session.answer("done");
    session.check_replay();
}

#[test]
fn ten_failures_at_once_are_told_before_the_run_is_stopped() {
    let mut session = watched(|_| {});
    for round in ["a", "b"] {
        let ids: Vec<String> = (0..10).map(|number| format!("{round}{number}")).collect();
        let calls: Vec<_> = ids
            .iter()
            .map(|id| (id.as_str(), "look", json!({"path": "a"})))
            .collect();
        session.calls(&calls);
        for id in &ids {
            session.ends(id, "no such file", ToolStatus::Failed);
        }
    }
    let found: Vec<LoopResponse> = loops(&session).into_iter().map(|found| found.2).collect();
    assert_eq!(found, [LoopResponse::Nudge, LoopResponse::Stop]);
    session.check_replay();
}

#[test]
fn the_same_answer_again_and_again_is_told_and_ends_the_run() {
    let schema = AnswerSchema {
        schema: json!({"type": "array"}),
        repairs: 10,
    };
    let mut session = watched(|config| config.answer_schema = Some(std::sync::Arc::new(schema)));
    for _ in 0..8 {
        session.answer("not json");
    }
    let kinds = [
        (LoopKind::Monologue, 3, LoopResponse::Nudge),
        (LoopKind::Monologue, 8, LoopResponse::Stop),
    ];
    assert_eq!(loops(&session), kinds);
    assert_eq!(session.ends_of_runs()[0].0, RunStatus::Failed);
    session.check_replay();
}

#[test]
fn the_same_answer_to_messages_of_a_person_that_waited_is_no_loop() {
    let mut session = watched(|_| {});
    for number in 0..12 {
        session.say(&format!("go on {number}"));
    }
    for _ in 0..=12 {
        session.answer("done");
    }
    assert_eq!(loops(&session), []);
    session.check_replay();
}

#[test]
fn v0_stops_at_once_and_an_agent_without_the_setting_does_as_before() {
    let with = |mode| {
        watched(|config| {
            config.stuck = mode;
        })
    };
    let v0 = StuckSettings {
        mode: StuckMode::V0,
        ..StuckSettings::default()
    };
    let mut session = with(Some(v0));
    for number in 1..=3 {
        fails_again(&mut session, number);
    }
    assert_eq!(
        loops(&session),
        [(LoopKind::ChangingError, 3, LoopResponse::Stop)]
    );
    assert_eq!(session.ends_of_runs()[0].0, RunStatus::Failed);
    session.check_replay();

    let off = StuckSettings {
        mode: StuckMode::Off,
        ..StuckSettings::default()
    };
    for mode in [None, Some(off)] {
        let mut session = with(mode);
        for number in 1..=20 {
            fails_again(&mut session, number);
        }
        assert_eq!(loops(&session), []);
        session.check_replay();
    }
}
