//! Calls of tools and their results.

use agentx_types::*;
use serde_json::json;

use crate::harness::*;

#[test]
fn one_tool() {
    let mut session = Session::started(|_| {});
    session.calls(&[("c1", "look", json!({"path": "a"}))]);
    assert_eq!(session.status(), RunStatus::AwaitingTool);
    session.result("c1", "seen");
    assert_eq!(
        session.sent(),
        ["user: go", "assistant: [call c1 look]", "tool: c1 = seen"]
    );
    session.answer("done");
    let run = session.react().run().unwrap();
    assert_eq!((run.iterations, run.bill.model_calls), (1, 2));
    assert!(
        session
            .states()
            .any(|s| matches!(s, StateOutput::ToolStarted { .. }))
    );
    session.check_replay();
}

#[test]
fn parallel_results_join_in_the_order_of_the_calls() {
    let mut session = Session::started(|_| {});
    session.calls(&[
        ("c1", "look", json!({})),
        ("c2", "change", json!({})),
        ("c3", "look", json!({})),
    ]);
    assert_eq!(session.running_ids(), ["c1", "c2", "c3"]);
    for id in ["c3", "c1", "c2"] {
        assert!(session.asked().is_none());
        session.result(id, "ok");
    }
    assert_eq!(
        session.sent()[2..],
        ["tool: c1 = ok", "tool: c2 = ok", "tool: c3 = ok"]
    );
    session.check_replay();
}

#[test]
fn double_late_foreign_and_unknown_results_are_passed_over() {
    let mut session = Session::started(|_| {});
    session.calls(&[("c1", "look", json!({})), ("c2", "look", json!({}))]);
    let (first, second) = (
        session.running()[0].action_id.clone(),
        session.running()[1].action_id.clone(),
    );
    session.result("c1", "right");
    let before = but_for_the_time(&session.agent);
    let wrong = [
        (Some(&first), "c1"),
        (Some(&first), "c2"),
        (Some(&second), "c1"),
        (None, "c2"),
        (Some(&second), "c9"),
    ];
    for (cause, id) in wrong {
        session.fact(cause, None, result_event(id, "wrong", ToolStatus::Success));
    }
    assert_eq!(but_for_the_time(&session.agent), before);
    session.result("c2", "right");
    session.fact(
        Some(&second),
        None,
        result_event("c2", "late", ToolStatus::Success),
    );
    assert_eq!(session.sent()[2..], ["tool: c1 = right", "tool: c2 = right"]);
}

#[test]
fn failures_are_told_to_the_model() {
    let mut session = Session::started(|_| {});
    session.looks("c1");
    session.ends("c1", "no such file", ToolStatus::Failed);
    let last = session.request().messages.last().unwrap().clone();
    assert!(matches!(&last.content[0], ContentPart::ToolResult(result) if result.is_error));
}

#[test]
fn arguments_that_are_not_json_and_tools_that_do_not_exist_are_answered() {
    let mut session = Session::started(|_| {});
    let invalid = InvalidInput {
        raw: "{\"pa".into(),
        error: "EOF".into(),
    };
    session.model(stream(
        [
            ToolCall {
                tool_call_id: "c1".into(),
                name: "look".into(),
                input: json!({}),
                invalid: Some(Box::new(invalid)),
            }
            .into(),
            call("c2", "lokk", json!({})),
            call("c3", "look", json!([1])),
            call("c4", "look", json!(null)),
            call("c5", "", json!({})),
        ],
        StopReason::ToolUse,
    ));
    let sent = session.sent();
    assert!(
        sent[6].contains("There is no tool \"\". The tools are: "),
        "{sent:?}"
    );
    assert!(sent[2].contains("not valid JSON (EOF)"), "{sent:?}");
    assert!(
        sent[3].contains("There is no tool \"lokk\". The tools are: look, change, finish."),
        "{sent:?}"
    );
    assert!(
        sent[4].contains("not an object") && sent[5].contains("not an object"),
        "{sent:?}"
    );
    assert!(session.running().is_empty());
}

/// A model that misspelt `recall` finds it among the tools. Logs of older rules are read as they were
/// written.
#[test]
fn recall_is_among_the_tools_that_are_named() {
    for (version, named) in [(RULES_VERSION, ", recall."), (8, "finish.")] {
        let mut session = Session::started(|config| {
            crate::repair::keeping(config);
            config.rules_version = version;
        });
        session.calls(&[("c1", "recal", json!({}))]);
        let said = session.sent().pop().unwrap();
        assert!(
            said.contains("There is no tool \"recal\"") && said.contains(named),
            "{said}"
        );
        session.check_replay();
    }
}

#[test]
fn a_quit_tool_ends_the_run() {
    let mut session = Session::started(|_| {});
    session.calls(&[("c1", "finish", json!({})), ("c2", "look", json!({}))]);
    session.result("c1", "all done");
    assert_eq!(session.status(), RunStatus::AwaitingTool);
    session.result("c2", "seen");
    assert_eq!(session.ends_of_runs(), [(RunStatus::Completed, None)]);
    assert_eq!(session.react().run().unwrap().last_text, "all done");
}

#[test]
fn a_quit_tool_that_fails_does_not_end_the_run() {
    let mut session = Session::started(|_| {});
    session.calls(&[("c1", "finish", json!({}))]);
    session.ends("c1", "not yet", ToolStatus::Failed);
    assert_eq!(session.status(), RunStatus::AwaitingLlm);
}

#[test]
fn ids_that_repeat_get_one_result_each_and_requests_stay_valid() {
    let mut session = Session::started(|_| {});
    for round in 0..3 {
        session.calls(&[
            ("call_0", "look", json!({})),
            ("call_0", "change", json!({})),
            ("", "look", json!({})),
        ]);
        let ids = session.running_ids();
        assert_eq!(ids.len(), 3, "{ids:?}");
        for id in ids.iter().rev() {
            session.result(id, &format!("{round}"));
        }
    }
    let results = session
        .sent()
        .iter()
        .filter(|line| line.starts_with("tool:"))
        .count();
    assert_eq!(results, 9);
    assert_eq!(session.sent()[2], "tool: call_0 = 0");
    session.answer("done");
    session.check_replay();
}

#[test]
fn a_late_result_of_an_earlier_call_of_the_same_name_answers_nothing() {
    let mut session = Session::started(|_| {});
    session.calls(&[("call_0", "change", json!({}))]);
    let old = session.running()[0].action_id.clone();
    session.interrupt();
    session.ends("call_0", "stopped", ToolStatus::Interrupted);
    session.say("again");
    session.calls(&[("call_0", "change", json!({}))]);
    session.fact(
        Some(&old),
        None,
        result_event("call_0", "late", ToolStatus::Success),
    );
    assert_eq!(session.running().len(), 1);
    assert_eq!(session.status(), RunStatus::AwaitingTool);
}

#[test]
fn words_before_and_after_a_call_stay_in_their_order() {
    let mut session = Session::started(|_| {});
    let events = [words("before"), call("c1", "look", json!({})), words("after")];
    session.model(stream(events, StopReason::EndTurn));
    session.result("c1", "ok");
    assert_eq!(session.sent()[1], "assistant: before [call c1 look] after");
}

#[test]
fn tools_that_are_withdrawn_while_they_run_still_answer() {
    let mut session = Session::started(|_| {});
    session.looks("c1");
    session.change(ConfigChange::Tools([].into()));
    session.result("c1", "ok");
    assert_eq!(session.sent().last().unwrap(), "tool: c1 = ok");
    assert!(session.request().tools.is_empty());
}
