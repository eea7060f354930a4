//! Tests the activity row during waits, and its totals.

use super::*;
use crate::session_status::SessionStatus;
use agentx::types::{
    ApprovalRequested, ErrorRaised, EventDraft, FallbackAnswers, MessageId, MessageStart, MessageStop,
    RunFinished, RunId, RunStarted, RunStatus, RunStatusChanged, SessionId, Source, StopReason, TextDelta,
    Timestamp, ToolCompleted, ToolExecuting,
};

/// Lets the session hear an event.
fn hear(status: &mut SessionStatus, event: impl Into<RuntimeEvent>, is_of_another: bool, now: Instant) {
    let draft = EventDraft::new(Source::Agent, None, event.into());
    let envelope = draft.into_envelope(SessionId::new("ses_1"), 1, Timestamp(0));
    status.event(&envelope, is_of_another, now);
}

#[test]
fn the_row_is_empty_before_anything_was_said_unless_nobody_is_asked_about_calls() {
    let begin = Instant::now();
    let mut config = agentx::agent::fixtures::config();
    for (approval, row) in [(ApprovalMode::Ask, ""), (ApprovalMode::Auto, "opus · 12 %")] {
        config.approval = approval;
        let status = SessionStatus::new(&config, begin);
        let beside = ("opus · 12 %", 80);
        assert_eq!(
            status.activity.row(begin, None, beside, AnsiStyle::default()),
            row
        );
    }
}

#[test]
fn calls_of_one_tool_are_counted() {
    let begin = Instant::now();
    let mut status = SessionStatus::new(&agentx::agent::fixtures::config(), begin);
    for (id, name) in [("c1", "bash"), ("c2", "grep"), ("c3", "bash")] {
        let call = ToolExecuting {
            tool_call_id: ToolCallId::new(id),
            name: name.into(),
            input: serde_json::Value::Null,
        };
        hear(&mut status, call, false, begin);
    }
    assert_eq!(status.activity.names(), "bash ×2, grep");
    assert_eq!(status.activity.running_activity(), "bash ×2, grep were");
}

#[test]
fn it_says_what_is_waited_for_and_since_when() {
    let begin = Instant::now();
    let at = |seconds| begin + Duration::from_secs(seconds);
    let mut status = SessionStatus::new(&agentx::agent::fixtures::config(), begin);
    let name = status.activity.summary.model.name.clone();
    let row = |status: &SessionStatus, seconds, columns| {
        let beside = ("opus · 12 %", columns);
        status
            .activity
            .row(at(seconds), None, beside, AnsiStyle::default())
    };
    let run_id = RunId::new("run_1");
    let started = RunStarted {
        run_id: run_id.clone(),
        message_id: MessageId::new("msg_1"),
    };
    hear(&mut status, started, false, at(0));
    assert_eq!(
        row(&status, 3, 40),
        format!("⠸ waiting for {name} · 3s · Esc stops")
    );
    assert!(row(&status, 3, 80).ends_with(" · Esc stops   opus · 12 %"));
    let narrow = status
        .activity
        .row(at(3), Some("8 words"), ("", 40), AnsiStyle::default());
    assert!(narrow.ends_with(" · 3s · Esc stops"), "{narrow}");
    let call = |id: &str, name: &str| ToolExecuting {
        tool_call_id: ToolCallId::new(id),
        name: name.into(),
        input: serde_json::Value::Null,
    };
    hear(&mut status, call("c1", "bash"), false, at(4));
    assert_eq!(row(&status, 5, 30), "⠙ bash runs · 1s · Esc stops");
    hear(&mut status, call("c2", "grep"), false, at(4));
    hear(&mut status, call("c3", "read"), true, at(4));
    assert_eq!(row(&status, 5, 30), "⠙ bash, grep run · 1s · Esc stops");
    hear(&mut status, TextDelta { text: "It".into() }, true, at(6));
    assert!(
        row(&status, 6, 30).contains("bash, grep"),
        "what another agent says is not what is waited for"
    );
    hear(&mut status, TextDelta { text: "It".into() }, false, at(6));
    assert!(row(&status, 6, 30).contains("answers"));
    assert!(row(&status, 15, 80).contains("answers · 9s"));
    assert!(
        row(&status, 18, 80).contains("is silent · 12s"),
        "since its last word"
    );
    hear(&mut status, TextDelta { text: "It".into() }, false, at(20));
    assert!(row(&status, 21, 80).contains("answers · 15s"));
    assert!(status.activity.moves() && !status.activity.is_stale());
    let end = RunFinished {
        run_id,
        status: RunStatus::Completed,
        reason: None,
        iterations: 1,
    };
    hear(&mut status, end, false, at(30));
    assert!(!status.activity.moves() && status.activity.is_stale());
    assert_eq!(status.activity.run_time(at(30)), Duration::from_secs(30));
    assert_eq!(row(&status, 40, 80), "opus · 12 %");
    assert_eq!(
        status.activity.summary("ses_1").spending.worked,
        Duration::from_secs(30)
    );
}

#[test]
fn the_time_in_which_a_person_is_asked_is_not_counted_as_work() {
    let begin = Instant::now();
    let at = |seconds| begin + Duration::from_secs(seconds);
    let mut status = SessionStatus::new(&agentx::agent::fixtures::config(), begin);
    let run_id = RunId::new("run_1");
    let started = RunStarted {
        run_id: run_id.clone(),
        message_id: MessageId::new("msg_1"),
    };
    let turns = |status| RunStatusChanged {
        run_id: run_id.clone(),
        status,
        iterations: 0,
    };
    hear(&mut status, started, false, begin);
    hear(&mut status, turns(RunStatus::AwaitingApproval), false, at(5));
    hear(&mut status, turns(RunStatus::AwaitingApproval), false, at(50));
    assert_eq!(status.activity.run_time(at(3_600)), Duration::from_secs(5));
    hear(&mut status, turns(RunStatus::AwaitingTool), false, at(3_605));
    assert_eq!(status.activity.run_time(at(3_612)), Duration::from_secs(12));
}

#[test]
fn who_is_asked_is_not_told_that_the_model_is_waited_for() {
    let begin = Instant::now();
    let mut status = SessionStatus::new(&agentx::agent::fixtures::config(), begin);
    let asks = |id: &str| ApprovalRequested {
        tool_call_id: ToolCallId::new(id),
        name: "bash".into(),
        input: serde_json::Value::Null,
        reason: String::new(),
        suggested: serde_json::from_value(serde_json::json!({ "effect": "allow", "tool": "bash" })).unwrap(),
        form: None,
        question: None,
    };
    let runs = |id: &str| ToolExecuting {
        tool_call_id: ToolCallId::new(id),
        name: "bash".into(),
        input: serde_json::Value::Null,
    };
    let done = |id: &str| ToolCompleted {
        tool_call_id: ToolCallId::new(id),
        name: "bash".into(),
        duration_ms: 1,
        details: None,
    };
    hear(&mut status, asks("c1"), false, begin);
    hear(&mut status, asks("c2"), false, begin);
    assert_eq!(status.activity.waits_for(begin, None), None);
    hear(&mut status, runs("c1"), false, begin);
    assert_eq!(
        status.activity.waits_for(begin, None).as_deref(),
        Some("bash runs · 1s")
    );
    hear(&mut status, done("c1"), false, begin);
    assert_eq!(
        status.activity.waits_for(begin, None),
        None,
        "c2 is still asked about"
    );
    hear(&mut status, runs("c2"), false, begin);
    hear(&mut status, done("c2"), false, begin);
    assert!(
        status
            .activity
            .waits_for(begin, None)
            .is_some_and(|what| what.starts_with("waiting for"))
    );
}

#[test]
fn what_was_spent_is_counted_as_it_is() {
    let mut status = SessionStatus::new(&agentx::agent::fixtures::config(), Instant::now());
    status.activity.summary.model.prices.output = 15_000;
    let stop = |output_tokens| MessageStop {
        message_id: MessageId::new("msg_1"),
        stop_reason: StopReason::EndTurn,
        usage: Usage {
            output_tokens,
            ..Usage::default()
        },
    };
    hear(&mut status, stop(1_000), false, Instant::now());
    hear(&mut status, stop(500), true, Instant::now());
    assert_eq!(
        status.activity.summary.model.filled, 1_000,
        "the window is that of the agent that people talk to"
    );
    assert_eq!(status.activity.summary.spending.usage.output_tokens, 1_500);
    assert_eq!(status.activity.summary.spending.cost.0, 22_500_000);
}

#[test]
fn it_names_the_model_that_answers_and_counts_down_to_the_next_attempt() {
    let begin = Instant::now();
    let at = |seconds| begin + Duration::from_secs(seconds);
    let mut status = SessionStatus::new(&agentx::agent::fixtures::config(), begin);
    let asked = status.activity.summary.model.name.clone();
    let says =
        |status: &SessionStatus, seconds| status.activity.waits_for(at(seconds), None).unwrap_or_default();
    let run = RunStarted {
        run_id: RunId::new("run_1"),
        message_id: MessageId::new("msg_1"),
    };
    hear(&mut status, run, false, at(0));
    let failed = ErrorRaised {
        code: "overloaded".into(),
        message: "Overloaded".into(),
        recoverable: true,
        retry_in_ms: Some(30_000),
        gives_up_in_ms: None,
        status: None,
    };
    for (wait, left) in [
        (86_400_000, "23h 59m"),
        (200_000, "3m 10s"),
        (30_000, "20s"),
        (15_000, "5s"),
    ] {
        let mut failed = failed.clone();
        failed.retry_in_ms = Some(wait);
        hear(&mut status, failed, false, at(1));
        assert_eq!(
            says(&status, 11),
            format!("{asked} failed, retrying in {left} · /retry")
        );
    }
    let begins = |model: &str| MessageStart {
        message_id: MessageId::new("msg_2"),
        model: model.into(),
        attempt: 2,
    };
    for (answers, named) in [
        (format!("{asked}-20260101"), asked.clone()),
        ("stand-in-1".to_owned(), "stand-in-1".to_owned()),
    ] {
        hear(&mut status, begins(&answers), false, at(31));
        hear(&mut status, TextDelta { text: "It".into() }, false, at(31));
        assert!(
            says(&status, 32).starts_with(&format!("{named} answers")),
            "{}",
            says(&status, 32)
        );
    }
}

#[test]
fn a_fallback_is_named_while_it_answers_and_paid_at_its_prices() {
    let begin = Instant::now();
    let mut status = SessionStatus::new(&agentx::agent::fixtures::config(), begin);
    let message_id = MessageId::new("msg_1");
    let run = RunStarted {
        run_id: RunId::new("run_1"),
        message_id: message_id.clone(),
    };
    hear(&mut status, run, false, begin);
    let prices = Prices {
        output: 7,
        ..Prices::default()
    };
    let fallback = FallbackAnswers {
        message_id: message_id.clone(),
        model: "stand-in-1".into(),
        prices: Some(Box::new(prices)),
    };
    hear(&mut status, fallback, false, begin);
    hear(&mut status, TextDelta { text: "It".into() }, false, begin);
    let waits_for = status.activity.waits_for(begin, None).unwrap_or_default();
    assert!(waits_for.starts_with("stand-in-1 answers"), "{waits_for}");
    let usage = Usage {
        output_tokens: 100,
        ..Usage::default()
    };
    let stop = MessageStop {
        message_id,
        stop_reason: StopReason::EndTurn,
        usage,
    };
    let asked = status.activity.summary.model.prices.cost(&usage).0;
    assert_ne!(asked, 700);
    hear(&mut status, stop.clone(), false, begin);
    assert_eq!(status.activity.summary.spending.cost.0, 700);
    hear(&mut status, stop, false, begin);
    assert_eq!(
        status.activity.summary.spending.cost.0,
        700 + asked,
        "only the one answer"
    );
}

#[test]
fn a_model_that_is_chosen_during_an_answer_is_shown_as_the_next_one() {
    let begin = Instant::now();
    let mut config = agentx::agent::fixtures::config();
    let mut status = SessionStatus::new(&config, begin);
    let old = config.model.id.clone();
    let started = RunStarted {
        run_id: RunId::new("run_1"),
        message_id: MessageId::new("msg_1"),
    };
    hear(&mut status, started, false, begin);
    hear(&mut status, TextDelta { text: "It".into() }, false, begin);
    config.model.id = "another".into();
    status.activity.configure(&config);
    let row = status.activity.row(
        begin + Duration::from_secs(2),
        None,
        ("", 80),
        AnsiStyle::default(),
    );
    assert!(
        row.contains(&format!("{old} answers · 2s · next: another · Esc stops")),
        "{row}"
    );
}
