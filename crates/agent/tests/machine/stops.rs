//! Interrupts, in each state.

use agentx_types::*;
use serde_json::json;

use crate::harness::*;

fn interrupted() -> (RunStatus, Option<String>) {
    (RunStatus::Interrupted, Some("stopped by the user".to_owned()))
}

#[test]
fn with_nothing_to_stop_it_means_nothing() {
    let mut session = Session::plain();
    session.interrupt();
    session.say("go");
    session.answer("done");
    session.interrupt();
    session.happens(Interrupted {
        reason: "late".into(),
    });
    assert_eq!(session.ends_of_runs(), [(RunStatus::Completed, None)]);
    assert!(session.transitions.last().unwrap().outputs.is_empty());
}

#[test]
fn before_the_first_word() {
    let mut session = Session::started(|_| {});
    let asked = session.asked().unwrap().action_id;
    session.interrupt();
    assert_eq!(
        (session.cancelled.clone(), session.status()),
        (vec![asked], RunStatus::Stopping)
    );
    session.model(vec![ends_with(StopReason::Interrupted)]);
    assert_eq!(session.ends_of_runs(), [interrupted()]);
    assert_eq!(session.conversation(), ["user: go"]);
}

#[test]
fn in_the_middle_of_the_stream_keeps_what_was_said() {
    let mut session = Session::started(|_| {});
    session.model(vec![
        begins("msg_a"),
        words("half "),
        call("c1", "look", json!({})),
    ]);
    session.interrupt();
    session.interrupt();
    session.model(vec![
        words("more"),
        usage(5, 5),
        ends_with(StopReason::Interrupted),
    ]);
    assert_eq!(session.conversation(), ["user: go", "assistant: half  more"]);
    assert_eq!(session.ends_of_runs(), [interrupted()]);
    assert_eq!(
        (session.cancelled.len(), session.reports()),
        (1, vec!["interrupted"])
    );
    assert_eq!(session.react().totals().usage.output_tokens, 5);
    session.say("again");
    assert_eq!(session.sent().len(), 3);
    session.check_replay();
}

#[test]
fn a_model_that_answers_an_interrupt_with_an_error_was_interrupted() {
    for broken in [false, true] {
        let mut session = Session::started(|_| {});
        session.model(vec![begins("msg_a"), words("half")]);
        session.interrupt();
        if broken {
            session.model(vec![ends_with(StopReason::Broken)]);
        }
        session.model(vec![error_event("cancelled", "connection closed")]);
        assert_eq!(session.ends_of_runs(), [interrupted()]);
        assert_eq!(session.conversation(), ["user: go", "assistant: half"]);
        assert_eq!(session.reports(), ["error", "interrupted"]);
    }
}

#[test]
fn a_model_that_was_faster_has_its_answer_kept_and_its_calls_refused() {
    let mut session = Session::started(|_| {});
    session.interrupt();
    session.looks("c1");
    assert_eq!(session.ends_of_runs(), [interrupted()]);
    assert_eq!(
        session.conversation(),
        [
            "user: go",
            "assistant: [call c1 look]",
            "tool: c1 = the run was stopped before this call began"
        ]
    );
    assert_eq!(
        session.react().run().unwrap().iterations,
        0,
        "the model was not asked again"
    );
}

#[test]
fn while_a_person_is_asked() {
    let mut session = Session::started(|config| config.approval = ApprovalMode::Ask);
    session.calls(&[("c1", "change", json!({})), ("c2", "look", json!({}))]);
    assert_eq!(
        (session.status(), session.running_ids()),
        (RunStatus::AwaitingApproval, vec!["c2".to_owned()])
    );
    session.interrupt();
    assert_eq!(session.status(), RunStatus::Stopping);
    session.decide("c1", ApprovalDecision::Once);
    assert_eq!(session.running_ids(), ["c2"], "too late to approve");
    session.ends("c2", "stopped", ToolStatus::Interrupted);
    assert_eq!(session.ends_of_runs(), [interrupted()]);
    let conversation = session.conversation();
    assert_eq!(
        conversation[2..],
        [
            "tool: c1 = The run was stopped before this call ended.",
            "tool: c2 = stopped"
        ]
    );
    session.check_replay();
}

#[test]
fn a_call_that_nobody_had_allowed_is_told_not_to_have_run() {
    let mut session = Session::started(|config| {
        config.approval = ApprovalMode::Ask;
        config.rules_version = RULES_VERSION;
    });
    session.calls(&[("c1", "change", json!({}))]);
    session.interrupt();
    assert_eq!(
        session.conversation()[2..],
        ["tool: c1 = Not run: the run was stopped before anybody allowed this call."]
    );
    session.check_replay();
}

#[test]
fn while_tools_run() {
    let mut session = Session::started(|_| {});
    session.calls(&[("c1", "change", json!({})), ("c2", "look", json!({}))]);
    session.result("c2", "seen");
    let running = session.running()[0].action_id.clone();
    session.interrupt();
    assert_eq!(session.cancelled, [running]);
    assert!(
        session.ends_of_runs().is_empty(),
        "the tool has not said how it ended"
    );
    session.result("c1", "it was done anyway");
    assert_eq!(session.ends_of_runs(), [interrupted()]);
    session.say("again");
    assert_eq!(
        session.sent()[2..],
        ["tool: c1 = it was done anyway", "tool: c2 = seen", "user: again"]
    );
}

#[test]
fn an_interrupt_that_is_already_on_record_needs_no_report() {
    let mut session = Session::started(|_| {});
    session.looks("c1");
    session.happens(Interrupted {
        reason: "shutdown".into(),
    });
    assert_eq!(session.status(), RunStatus::Stopping);
    session.ends("c1", "stopped", ToolStatus::Interrupted);
    assert_eq!(
        session.ends_of_runs(),
        [(RunStatus::Interrupted, Some("shutdown".into()))]
    );
    assert_eq!(session.reports(), ["interrupted"]);
}

#[test]
fn a_closed_agent_stops_and_begins_nothing_more() {
    let closed = || AgentClosed {
        agent_state_id: "agt_1".into(),
        reason: "over".into(),
    };
    let mut session = Session::started(|_| {});
    session.say("waits");
    session.happens(AgentClosed {
        agent_state_id: "agt_2".into(),
        reason: "another".into(),
    });
    assert_eq!(session.status(), RunStatus::AwaitingLlm);
    session.happens(closed());
    session.happens(closed());
    session.model(vec![ends_with(StopReason::Interrupted)]);
    session.say("late");
    assert_eq!(
        session.ends_of_runs(),
        [(RunStatus::Interrupted, Some("over".into()))]
    );
    assert_eq!(session.react().waiting().count(), 2);
    assert!(session.open.is_empty());
    let closings = session
        .states()
        .filter(|s| matches!(s, StateOutput::Closed { .. }))
        .count();
    assert_eq!(closings, 1);

    let mut idle = Session::plain();
    idle.happens(closed());
    idle.say("late");
    assert!(idle.open.is_empty() && idle.react().run().is_none());
}
