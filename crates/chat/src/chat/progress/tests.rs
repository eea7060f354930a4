//! What the row says while something is waited for, and what it adds up.

use super::*;
use agentx::types::{
    ApprovalRequested, ErrorRaised, FallbackAnswers, MessageId, MessageStart, MessageStop, RunFinished,
    RunId, RunStarted, RunStatus, StopReason, TextDelta, ToolCompleted, ToolExecuting,
};

#[test]
fn it_says_what_is_waited_for_and_since_when() {
    let begin = Instant::now();
    let at = |seconds| begin + Duration::from_secs(seconds);
    let mut config = agentx::agent::fixtures::config();
    config.approval = ApprovalMode::Ask;
    let mut progress = Progress::new(&config, begin);
    let name = progress.stand.model.clone();
    let row = |progress: &Progress, seconds, columns| {
        progress.row(at(seconds), None, ("opus · 12 %", columns), Paint::default())
    };
    assert_eq!(
        row(&progress, 0, 80),
        "",
        "before anything was said there is nothing to tell"
    );
    config.approval = ApprovalMode::Auto;
    let unasked = Progress::new(&config, begin);
    assert_eq!(
        row(&unasked, 0, 80),
        "opus · 12 %",
        "unless nobody is asked about calls"
    );
    let run_id = RunId::new("run_1");
    let started = RunStarted {
        run_id: run_id.clone(),
        message_id: MessageId::new("msg_1"),
    };
    progress.event(&started.into(), false, at(0));
    assert_eq!(
        row(&progress, 3, 40),
        format!("⠸ waiting for {name} · 3s · Esc stops")
    );
    assert!(row(&progress, 3, 80).ends_with(" · Esc stops   opus · 12 %"));
    let narrow = progress.row(at(3), Some("8 words"), ("", 40), Paint::default());
    assert!(narrow.ends_with(" · 3s · Esc stops"), "{narrow}");
    let call = |id: &str, name: &str| ToolExecuting {
        tool_call_id: ToolCallId::new(id),
        name: name.into(),
        input: serde_json::Value::Null,
    };
    progress.event(&call("c1", "bash").into(), false, at(4));
    assert_eq!(row(&progress, 5, 30), "⠙ bash runs · 1s · Esc stops");
    progress.event(&call("c2", "grep").into(), false, at(4));
    progress.event(&call("c3", "read").into(), true, at(4));
    assert_eq!(row(&progress, 5, 30), "⠙ bash, grep run · 1s · Esc stops");
    progress.event(&TextDelta { text: "It".into() }.into(), true, at(6));
    assert!(
        row(&progress, 6, 30).contains("bash, grep"),
        "what another agent says is not what is waited for"
    );
    progress.event(&TextDelta { text: "It".into() }.into(), false, at(6));
    assert!(row(&progress, 6, 30).contains("answers"));
    assert!(row(&progress, 15, 80).contains("answers · 9s"));
    assert!(
        row(&progress, 18, 80).contains("is silent · 12s"),
        "since its last word"
    );
    progress.event(&TextDelta { text: "It".into() }.into(), false, at(20));
    assert!(row(&progress, 21, 80).contains("answers · 15s"));
    assert!(progress.moves() && !progress.is_stale());
    let end = RunFinished {
        run_id,
        status: RunStatus::Completed,
        reason: None,
        iterations: 1,
    };
    progress.event(&end.into(), false, at(30));
    assert!(!progress.moves() && progress.is_stale());
    assert_eq!(progress.run_time(at(30)), Duration::from_secs(30));
    assert_eq!(row(&progress, 40, 80), "opus · 12 %");
    assert_eq!(progress.stand("ses_1").worked, Duration::from_secs(30));
}

#[test]
fn who_is_asked_is_not_told_that_the_model_is_waited_for() {
    let begin = Instant::now();
    let mut progress = Progress::new(&agentx::agent::fixtures::config(), begin);
    let asks = |id: &str| ApprovalRequested {
        tool_call_id: ToolCallId::new(id),
        name: "bash".into(),
        input: serde_json::Value::Null,
        reason: String::new(),
        suggested: serde_json::from_value(serde_json::json!({ "effect": "allow", "tool": "bash" })).unwrap(),
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
    progress.event(&asks("c1").into(), false, begin);
    progress.event(&asks("c2").into(), false, begin);
    assert_eq!(progress.waits_for(begin, None), None);
    progress.event(&runs("c1").into(), false, begin);
    assert_eq!(progress.waits_for(begin, None).as_deref(), Some("bash runs · 1s"));
    progress.event(&done("c1").into(), false, begin);
    assert_eq!(progress.waits_for(begin, None), None, "c2 is still asked about");
    progress.event(&runs("c2").into(), false, begin);
    progress.event(&done("c2").into(), false, begin);
    assert!(
        progress
            .waits_for(begin, None)
            .is_some_and(|what| what.starts_with("waiting for"))
    );
}

#[test]
fn what_was_spent_is_counted_as_it_is() {
    let mut progress = Progress::new(&agentx::agent::fixtures::config(), Instant::now());
    progress.stand.prices.output = 15_000;
    let stop = |output_tokens| MessageStop {
        message_id: MessageId::new("msg_1"),
        stop_reason: StopReason::EndTurn,
        usage: Usage {
            output_tokens,
            ..Usage::default()
        },
    };
    progress.event(&stop(1_000).into(), false, Instant::now());
    progress.event(&stop(500).into(), true, Instant::now());
    assert_eq!(
        progress.stand.filled, 1_000,
        "the window is that of the agent that people talk to"
    );
    assert_eq!(progress.stand.usage.output_tokens, 1_500);
    assert_eq!(progress.stand.cost.0, 22_500_000);
}

#[test]
fn it_names_the_model_that_answers_and_counts_down_to_the_next_attempt() {
    let begin = Instant::now();
    let at = |seconds| begin + Duration::from_secs(seconds);
    let mut progress = Progress::new(&agentx::agent::fixtures::config(), begin);
    let asked = progress.stand.model.clone();
    let says = |progress: &Progress, seconds| progress.waits_for(at(seconds), None).unwrap_or_default();
    let run = RunStarted {
        run_id: RunId::new("run_1"),
        message_id: MessageId::new("msg_1"),
    };
    progress.event(&run.into(), false, at(0));
    let failed = ErrorRaised {
        code: "overloaded".into(),
        message: "Overloaded".into(),
        recoverable: true,
        retry_in_ms: Some(30_000),
        gives_up_in_ms: None,
    };
    for (wait, left) in [
        (86_400_000, "23h 59m"),
        (200_000, "3m 10s"),
        (30_000, "20s"),
        (15_000, "5s"),
    ] {
        let mut failed = failed.clone();
        failed.retry_in_ms = Some(wait);
        progress.event(&failed.into(), false, at(1));
        assert_eq!(
            says(&progress, 11),
            format!("{asked} failed, asked again in {left} · /retry")
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
        progress.event(&begins(&answers).into(), false, at(31));
        progress.event(&TextDelta { text: "It".into() }.into(), false, at(31));
        assert!(
            says(&progress, 32).starts_with(&format!("{named} answers")),
            "{}",
            says(&progress, 32)
        );
    }
}

#[test]
fn a_fallback_is_named_while_it_answers_and_paid_at_its_prices() {
    let begin = Instant::now();
    let mut progress = Progress::new(&agentx::agent::fixtures::config(), begin);
    let message_id = MessageId::new("msg_1");
    let run = RunStarted {
        run_id: RunId::new("run_1"),
        message_id: message_id.clone(),
    };
    progress.event(&run.into(), false, begin);
    let prices = Prices {
        output: 7,
        ..Prices::default()
    };
    let fallback = FallbackAnswers {
        message_id: message_id.clone(),
        model: "stand-in-1".into(),
        prices: Some(Box::new(prices)),
    };
    progress.event(&fallback.into(), false, begin);
    progress.event(&TextDelta { text: "It".into() }.into(), false, begin);
    let waits_for = progress.waits_for(begin, None).unwrap_or_default();
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
    let asked = progress.stand.prices.cost(&usage).0;
    assert_ne!(asked, 700);
    progress.event(&stop.clone().into(), false, begin);
    assert_eq!(progress.stand.cost.0, 700);
    progress.event(&stop.into(), false, begin);
    assert_eq!(progress.stand.cost.0, 700 + asked, "only the one answer");
}
