//! Tests how runs are rendered: failures once, notes between lines.

use super::*;
use agentx::config::ThinkingDisplay;
use agentx::types::{
    Chunk, ContentPart, ContextChange, ErrorRaised, Medium, MessageId, MessageStop, TextDelta, ToolCompleted,
    ToolFailed, ToolStatus, Usage,
};

fn error(retry_in_ms: Option<u64>) -> RuntimeEvent {
    ErrorRaised {
        code: "connection_failed".into(),
        message: "connection refused".into(),
        recoverable: retry_in_ms.is_some(),
        retry_in_ms,
        gives_up_in_ms: None,
        status: None,
    }
    .into()
}

fn text(transcript: &mut TranscriptRenderer) -> String {
    transcript.take().into_iter().map(|piece| piece.text).collect()
}

#[test]
fn a_failure_is_told_once_with_a_hint() {
    let mut transcript = TranscriptRenderer::new(AnsiStyle::default(), 80);
    for event in [error(Some(400)), error(Some(700)), error(None), error(None)] {
        transcript.event(&event);
    }
    transcript.run_end(RunStatus::Failed, Some("connection refused"));
    let told = text(&mut transcript);
    assert_eq!(
        told.matches("connection refused").count(),
        2,
        "an attempt, and the failure: {told}"
    );
    assert!(told.contains("… the same error; retrying in 0.7s"), "{told}");
    assert_eq!(told.matches("hint: ").count(), 1, "{told}");
}

/// An error of a server that answered with this status; the words are made up.
fn refused(message: &str, status: Option<u16>, retry_in_ms: Option<u64>) -> RuntimeEvent {
    ErrorRaised {
        code: "server_error".into(),
        message: message.into(),
        recoverable: true,
        retry_in_ms,
        gives_up_in_ms: None,
        status,
    }
    .into()
}

#[test]
fn each_line_about_an_error_names_its_http_status() {
    let mut transcript = TranscriptRenderer::new(AnsiStyle::default(), 80);
    transcript.event(&refused("slow down", Some(429), Some(5_000)));
    transcript.event(&refused("slow down", Some(429), None));
    transcript.event(&refused("slow down (at attempt 2)", None, None));
    transcript.run_end(RunStatus::Failed, None);
    let told = text(&mut transcript);
    assert!(
        told.contains("… slow down (HTTP 429, rate limited); retrying in 5"),
        "{told}"
    );
    assert!(
        told.contains("failed: slow down (HTTP 429, rate limited; at attempt 2)\n"),
        "{told}"
    );
    for (width, row) in [
        (80, "… slow down (HTTP 429, rate limited); attempt 1 failed"),
        (50, "… HTTP 429, rate limited; attempt 1 failed"),
    ] {
        let mut screen = TranscriptRenderer::new(AnsiStyle::default(), width).holding_calls();
        screen.event(&refused("slow down", Some(429), Some(5_000)));
        assert_eq!(screen.running(Timestamp(0), None), [row]);
    }
}

#[test]
fn the_attempts_of_a_call_are_counted_once() {
    use agentx::types::{ContextChange, ContextChanged, RequestPart, RunFinished};
    let otherwise = RuntimeEvent::from(ContextChanged {
        change: ContextChange::Repaired(RequestPart::Roles),
    });
    let finished = RuntimeEvent::from(RunFinished {
        run_id: "run_1".into(),
        status: RunStatus::Failed,
        reason: None,
        iterations: 1,
    });
    let mut transcript = TranscriptRenderer::new(AnsiStyle::default(), 80).holding_calls();
    for _ in 0..6 {
        transcript.event(&refused("no", Some(500), Some(400)));
    }
    transcript.event(&refused("no", Some(500), None));
    transcript.event(&refused("no (gave up after 7 attempts in 15s)", None, None));
    transcript.event(&otherwise);
    assert_eq!(
        text(&mut transcript),
        "… no (HTTP 500, server error); 7 attempts failed\n\
         the server answered 500 each time; retried with alternating user and assistant messages\n"
    );
    transcript.event(&refused("no", Some(500), Some(400)));
    let live = transcript.running(Timestamp(0), None);
    assert_eq!(live, ["… no (HTTP 500, server error); attempt 8 failed"]);
    transcript.event(&refused("no", Some(500), None));
    transcript.event(&refused("no (gave up after 9 attempts in 1m15s)", None, None));
    transcript.event(&finished);
    let told = text(&mut transcript);
    assert!(
        told.contains("no (HTTP 500, server error; gave up after 9 attempts in 1m15s)\n"),
        "{told}"
    );
    assert!(!told.contains("attempts failed"), "{told}");
}

#[test]
fn a_screen_counts_failed_attempts_in_a_live_row_and_prints_one_line() {
    let mut transcript = TranscriptRenderer::new(AnsiStyle::default(), 80).holding_calls();
    let answer: RuntimeEvent = TextDelta { text: "so".into() }.into();
    for wait in [400, 700, 1_500] {
        transcript.event(&error(Some(wait)));
    }
    assert_eq!(
        text(&mut transcript),
        "",
        "nothing is printed while more attempts follow"
    );
    let live = transcript.running(Timestamp(0), None);
    assert_eq!(live, ["… connection refused; attempt 3 failed"]);
    transcript.event(&answer);
    assert_eq!(
        text(&mut transcript),
        "… connection refused; 3 attempts failed\nso"
    );
    assert!(transcript.running(Timestamp(0), None).is_empty());
    transcript.event(&error(Some(400)));
    transcript.event(&answer);
    assert_eq!(
        text(&mut transcript),
        "\n… connection refused; 1 attempt failed\nso"
    );
}

#[test]
fn of_a_call_that_is_not_valid_it_is_told_what_is_wrong() {
    let mut transcript = TranscriptRenderer::new(AnsiStyle::default(), 80);
    let error = "Invalid arguments for bash; nothing was done.\n- unknown argument \"cmd\"\n- missing argument \"command\": string\nArguments: command (string, required).";
    let failed = ToolFailed {
        tool_call_id: "c1".into(),
        name: "bash".into(),
        status: ToolStatus::Invalid,
        error: error.into(),
        duration_ms: 0,
        details: None,
    };
    transcript.event(&failed.into());
    let told = text(&mut transcript);
    assert!(
        told.contains("not a valid call: unknown argument \"cmd\"; missing argument \"command\": string\n"),
        "{told}"
    );
}

#[test]
fn a_note_waits_for_the_end_of_the_line() {
    let mut transcript = TranscriptRenderer::new(AnsiStyle::default(), 80);
    transcript.note("at once");
    transcript.stream(OpenLine::Answer, "half a sen");
    transcript.note("queued: thanks");
    transcript.stream(OpenLine::Answer, "tence\nmore\nand");
    assert_eq!(
        text(&mut transcript),
        "at once\nhalf a sentence\nqueued: thanks\nmore\nand"
    );
    transcript.note("queued: again");
    transcript.end_line();
    assert_eq!(text(&mut transcript), "\nqueued: again\n");
}

#[test]
fn an_error_that_ends_nothing_stands_before_what_follows() {
    let mut transcript = TranscriptRenderer::new(AnsiStyle::default(), 80).with_silent_end();
    transcript.stream(OpenLine::Answer, "half a sen");
    transcript.event(&error(None));
    transcript.stream(OpenLine::Answer, "again");
    transcript.event(&error(None));
    transcript.run_end(RunStatus::Failed, None);
    assert_eq!(
        text(&mut transcript),
        "half a sen\nerror: connection refused\nagain\n"
    );
}

fn overflow() -> RuntimeEvent {
    ErrorRaised {
        code: "context_window".into(),
        message: "the request exceeds the window".into(),
        recoverable: false,
        retry_in_ms: None,
        gives_up_in_ms: None,
        status: None,
    }
    .into()
}

#[test]
fn an_overflow_after_which_the_run_continues_is_no_error() {
    let mut transcript = TranscriptRenderer::new(AnsiStyle::default(), 80);
    transcript.event(&overflow());
    transcript.context_changed(&ContextChange::Failed {
        code: "bad_summary".into(),
        message: "no summary".into(),
    });
    transcript.context_changed(&ContextChange::Shortened { window: 8_192 });
    let told = text(&mut transcript);
    assert!(!told.contains("error:"), "{told}");
    assert!(told.contains("not condensed: no summary"), "{told}");
    assert!(told.contains("retried with less of it"), "{told}");
    transcript.event(&overflow());
    transcript.stream(OpenLine::Answer, "so");
    assert_eq!(
        text(&mut transcript),
        "the request did not fit: the request exceeds the window\nso"
    );
}

#[test]
fn a_message_that_is_too_large_itself_is_told_with_the_end_of_the_run() {
    let mut transcript = TranscriptRenderer::new(AnsiStyle::default(), 80);
    transcript.event(&overflow());
    let reason = format!("the request exceeds the window; {INPUT_TOO_LARGE}");
    transcript.run_end(RunStatus::Failed, Some(&reason));
    let told = text(&mut transcript);
    assert!(
        told.contains(&reason) && told.contains("send a shorter message"),
        "{told}"
    );
    assert!(!told.contains("/compact"), "{told}");
}

#[test]
fn a_call_that_goes_on_from_before_is_heard() {
    let mut transcript = TranscriptRenderer::new(AnsiStyle::default(), 80);
    let chunk = Chunk {
        medium: Medium::Named("story".into()),
        text: "# 2. The rock\nBen: ".into(),
        data: None,
        tool_call_id: Some("call_1".into()),
    };
    transcript.event(&chunk.into());
    assert_eq!(text(&mut transcript), "  │ # 2. The rock\n");
    let done = ToolCompleted {
        tool_call_id: "call_1".into(),
        name: "story_generator".into(),
        duration_ms: 600,
        details: None,
    };
    transcript.event(&done.into());
    assert_eq!(text(&mut transcript), "  │ Ben:\n  └ ✓ 0.6s\n");
}

#[test]
fn a_question_that_nobody_answered_has_no_sign_of_success() {
    use agentx::types::{NOBODY_ANSWERS, ToolCallAnswered, ToolCallRequested};
    for (result, told) in [
        (NOBODY_ANSWERS, "● ask_user  Which?\n  └ – nobody answered\n"),
        ("The person answers: red", "● ask_user  Which?\n  └ ✓ 0.0s\n"),
    ] {
        let mut transcript = TranscriptRenderer::new(AnsiStyle::default(), 80);
        let call = ToolCallRequested {
            tool_call_id: "c1".into(),
            name: "ask_user".into(),
            input: serde_json::json!({"question": "Which?"}),
        };
        let answered = ToolCallAnswered {
            tool_call_id: "c1".into(),
            result: vec![ContentPart::text(result)],
            is_error: false,
        };
        let done = ToolCompleted {
            tool_call_id: "c1".into(),
            name: "ask_user".into(),
            duration_ms: 0,
            details: None,
        };
        let events: [RuntimeEvent; 3] = [call.into(), answered.into(), done.into()];
        events.iter().for_each(|event| transcript.event(event));
        assert_eq!(text(&mut transcript), told);
    }
}

#[test]
fn what_runs_side_by_side_has_a_row_each_with_its_time() {
    use agentx::types::{OutputChannel, ToolExecuting, ToolOutput};
    let mut transcript = TranscriptRenderer::new(AnsiStyle::default(), 40).holding_calls();
    transcript.set_time(Timestamp(0));
    for (id, command) in [("a", "cargo test --workspace --all-features"), ("b", "ls")] {
        let call = ToolExecuting {
            tool_call_id: ToolCallId::new(id),
            name: "bash".into(),
            input: serde_json::json!({ "command": command }),
        };
        transcript.event(&call.into());
        let output = ToolOutput {
            tool_call_id: ToolCallId::new(id),
            channel: OutputChannel::Stdout,
            text: format!("first\nlast of {id}\n"),
        };
        transcript.event(&output.into());
    }
    assert_eq!(
        transcript.running(Timestamp(12_000_000), None),
        [
            "● bash  cargo test --work… · 12s · last…",
            "● bash  ls · 12s · last of b"
        ]
    );
    assert_eq!(text(&mut transcript), "", "it is told when it has ended");
    transcript.end_calls();
    assert_eq!(
        text(&mut transcript),
        "● bash  cargo test --workspace --all-fe…\n  │ first\n  │ last of a\n● bash  ls\n  │ first\n  │ last of b\n"
    );
}

/// The screen shows a question once more if live rows stand between it and the line.
#[test]
fn a_running_call_that_asks_is_shown_above_its_question_and_has_no_row_below_it() {
    use agentx::types::{ApprovalRequested, ApprovalSettled, OutputChannel, ToolExecuting, ToolOutput};
    let mut transcript = TranscriptRenderer::new(AnsiStyle::default(), 80).holding_calls();
    let outer = ToolCallId::new("call_1");
    let output = |text: &str| ToolOutput {
        tool_call_id: outer.clone(),
        channel: OutputChannel::Stdout,
        text: text.into(),
    };
    let call = ToolExecuting {
        tool_call_id: outer.clone(),
        name: "bash".into(),
        input: serde_json::json!({ "command": "cat notes" }),
    };
    transcript.event(&call.into());
    transcript.event(&output("cat: notes: No such file\n").into());
    assert_eq!(text(&mut transcript), "", "it is told when it has ended");
    let asked: ApprovalRequested = serde_json::from_value(serde_json::json!({
        "tool_call_id": outer.inner(1), "name": "sandbox", "input": {}, "reason": "",
        "suggested": {"effect": "allow", "tool": "sandbox"}, "form": {"type": "object"},
    }))
    .unwrap();
    let question = asked.tool_call_id.clone();
    transcript.event(&asked.into());
    transcript.question("? sandbox asks you\n");
    assert_eq!(
        text(&mut transcript),
        "● bash  cat notes\n  │ cat: notes: No such file\n? sandbox asks you\n"
    );
    let none: [String; 0] = [];
    assert_eq!(transcript.running(Timestamp(1), Some(&question)), none);
    let settled = ApprovalSettled {
        tool_call_id: question,
        allowed: true,
    };
    transcript.event(&settled.into());
    transcript.event(&output("words\n").into());
    transcript.end_calls();
    assert_eq!(text(&mut transcript), "  │ words\n");
}

#[test]
fn a_call_that_a_full_disk_cuts_off_has_an_end() {
    use agentx::types::ToolExecuting;
    let mut transcript = TranscriptRenderer::new(AnsiStyle::default(), 80).holding_calls();
    let call = ToolExecuting {
        tool_call_id: "call_1".into(),
        name: "bash".into(),
        input: serde_json::json!({ "command": "make" }),
    };
    transcript.event(&call.into());
    transcript.break_off();
    let said = text(&mut transcript);
    assert!(
        said.starts_with("● bash  make\n") && said.contains("■ cut off: its result could not be saved"),
        "{said}"
    );
    assert!(transcript.running(Timestamp(1), None).is_empty());
}

#[test]
fn reasoning_folds_into_its_length() {
    use agentx::types::ThinkingDelta;
    let think = |transcript: &mut TranscriptRenderer, at: i64, text: &str| {
        transcript.set_time(Timestamp(at * 1_000_000));
        transcript.event(&ThinkingDelta { text: text.into() }.into());
    };
    let mut transcript = TranscriptRenderer::new(AnsiStyle::default(), 80);
    transcript.set_thinking(ThinkingDisplay::Folded);
    think(&mut transcript, 1, "one two th");
    think(&mut transcript, 13, "ree 你好");
    assert_eq!(transcript.thought_words().as_deref(), Some("5 words"));
    transcript.event(&TextDelta { text: "So.".into() }.into());
    assert_eq!(
        text(&mut transcript),
        "✻ thought for 12s, 5 words (/thinking shows it)\nSo."
    );
    transcript.set_thinking(ThinkingDisplay::Hidden);
    think(&mut transcript, 14, "more");
    transcript.set_thinking(ThinkingDisplay::Full);
    think(&mut transcript, 15, " of it");
    transcript.event(&TextDelta { text: "Yes.".into() }.into());
    assert_eq!(
        text(&mut transcript),
        "\nthinking:\nmore of it\nYes.",
        "shown from its beginning"
    );
}

#[test]
fn an_answer_that_is_not_whole_says_so() {
    let stop = |stop_reason| {
        RuntimeEvent::from(MessageStop {
            message_id: MessageId::new("msg_1"),
            stop_reason,
            usage: Usage::default(),
        })
    };
    let told = |words: &str, stop_reason| {
        let mut transcript = TranscriptRenderer::new(AnsiStyle::default(), 80);
        transcript.begin();
        if !words.is_empty() {
            transcript.stream(OpenLine::Answer, words);
        }
        transcript.event(&stop(stop_reason));
        text(&mut transcript)
    };
    assert_eq!(told("one two", StopReason::EndTurn), "one two\n");
    assert_eq!(
        told("one two", StopReason::MaxTokens),
        "one two\n… the answer is cut off: it reached the maximum length\n"
    );
    assert_eq!(told("", StopReason::ToolUse), "");

    // That nothing was said, or the model declined, is reported when the run ends with it. That of a router
    // continues.
    use agentx::types::{RunFinished, RunId, RunStatusChanged};
    let (run_id, iterations) = (RunId::new("run_1"), 0);
    let goes_on = RunStatusChanged {
        run_id: run_id.clone(),
        status: RunStatus::AwaitingTool,
        iterations,
    };
    let ends = RunFinished {
        run_id,
        status: RunStatus::Completed,
        reason: None,
        iterations,
    };
    let told = |why: StopReason, between: Option<RunStatusChanged>| {
        let mut transcript = TranscriptRenderer::new(AnsiStyle::default(), 80);
        transcript.begin();
        transcript.event(&stop(why));
        between
            .into_iter()
            .for_each(|event| transcript.event(&event.into()));
        transcript.event(&ends.clone().into());
        text(&mut transcript)
    };
    assert_eq!(told(StopReason::EndTurn, None), "… the model gave no answer\n");
    let chat = TranscriptRenderer::new(AnsiStyle::default(), 80).with_costs();
    let empty = |transcript: &TranscriptRenderer| context::no_answer(transcript.has_commands());
    assert!(empty(&chat).contains("/retry asks again"));
    assert_eq!(empty(&chat.looking_on()), "the model gave no answer");
    assert_eq!(told(StopReason::EndTurn, Some(goes_on.clone())), "");
    assert_eq!(
        told(StopReason::Other, None),
        "… the answer ended for an unknown reason and may be incomplete\n"
    );
    assert_eq!(
        told(StopReason::Refusal, None),
        "… the model declined to answer. Your message and the work on it are no longer sent, and after another refusal the messages before it are not sent either: rephrase it, or go back yourself with /rewind (agentx rewind)\n"
    );
    assert_eq!(
        told(StopReason::Refusal, Some(goes_on)),
        "",
        "its run fails, and that says why"
    );
}

#[test]
fn the_word_for_an_end_that_is_not_known_is_told() {
    use agentx::types::{RunFinished, RunId};
    let mut transcript = TranscriptRenderer::new(AnsiStyle::default(), 80);
    transcript.message_end(StopReason::Other);
    let end = RunFinished {
        run_id: RunId::new("run_1"),
        status: RunStatus::Completed,
        reason: Some("the model ended its answer with `MADE_UP`".into()),
        iterations: 0,
    };
    transcript.event(&end.into());
    assert_eq!(
        text(&mut transcript),
        "… the model ended its answer with `MADE_UP`\n"
    );
}

#[test]
fn proposals_of_memories_are_named_by_number_with_the_command_that_shows_them() {
    use agentx::types::{ContextChange, ContextItem};
    let items = |ids: &[&str]| {
        let item = |id: &&str| ContextItem {
            id: (*id).to_owned(),
            origin: None,
        };
        ids.iter().map(item).collect::<Vec<_>>()
    };
    for (ids, problem, line) in [
        (
            &["4"][..],
            None,
            "1 memory proposed: 4; `agentx memory` shows what waits for you\n",
        ),
        (
            &["4", "5"],
            Some("full"),
            "2 memories proposed: 4, 5; `agentx memory` shows what waits for you; full\n",
        ),
        (&[], Some("busy"), "no memory was proposed: busy\n"),
    ] {
        let mut transcript = TranscriptRenderer::new(AnsiStyle::default(), 80);
        transcript.context_changed(&ContextChange::Proposed {
            items: items(ids),
            problem: problem.map(str::to_owned),
        });
        assert_eq!(text(&mut transcript), line);
    }
}

#[test]
fn that_nothing_is_condensed_is_told_once_in_a_run() {
    use agentx::types::ContextChange;
    let failed = |code: &str| ContextChange::Failed {
        code: code.into(),
        message: "made up".into(),
    };
    let mut transcript = TranscriptRenderer::new(AnsiStyle::default(), 80);
    for _ in 0..3 {
        transcript.context_changed(&failed("overloaded"));
    }
    transcript.context_changed(&failed("nothing_to_condense"));
    assert_eq!(text(&mut transcript), "not condensed: made up\n".repeat(2));
}

#[test]
fn a_request_is_sent_otherwise_because_of_a_refusal_or_of_500s() {
    use agentx::types::{ContextChange, RequestPart};
    for (code, why) in [
        ("bad_request", "the request was rejected"),
        ("server_error", "the server answered 500 each time"),
        ("overloaded", "the server answered 500 each time"),
        ("timeout", "the server answered 500 each time"),
        ("rate_limited", "the server answered 500 each time"),
        ("bad_generation", "the server answered 500 each time"),
    ] {
        let mut transcript = TranscriptRenderer::new(AnsiStyle::default(), 80);
        let failed = ErrorRaised {
            code: code.into(),
            message: "made up".into(),
            recoverable: true,
            retry_in_ms: None,
            gives_up_in_ms: None,
            status: None,
        };
        transcript.event(&failed.into());
        transcript.context_changed(&ContextChange::Repaired(RequestPart::Media));
        assert_eq!(
            text(&mut transcript),
            format!("{why}; retried without images and files\n")
        );
    }
}

#[test]
fn a_guessed_window_is_told_when_it_shrinks_and_when_it_grows() {
    use agentx::types::ContextChange;
    // Lines are broken between words.
    let told = |window: u64, before: u64, fixed: bool| {
        let mut transcript = TranscriptRenderer::new(AnsiStyle::default(), 80);
        transcript.context_changed(&ContextChange::WindowGuessed {
            window,
            before,
            fixed,
        });
        let text = text(&mut transcript);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let smaller = told(30_000, 128_000, false);
    assert!(
        smaller.starts_with("the server named no size: at most 30.0k tokens")
            && smaller.contains("This grows again while requests are answered"),
        "{smaller}"
    );
    let fixed = told(30_000, 37_500, true);
    assert!(
        fixed.contains("It does not grow any more; choose the model again with /model")
            && !fixed.contains("grows again"),
        "{fixed}"
    );
    let larger = told(37_500, 30_000, false);
    assert!(
        larger.starts_with("requests of that size were answered: at most 37.5k tokens"),
        "{larger}"
    );
}

#[test]
fn calls_of_one_name_are_told_apart_where_their_lines_stand_among_each_other() {
    use agentx::types::ToolExecuting;
    let run = |mut transcript: TranscriptRenderer| {
        let call = |id: &str| ToolExecuting {
            tool_call_id: ToolCallId::new(id),
            name: "bash".into(),
            input: serde_json::json!({"command": format!("make {id}")}),
        };
        for id in ["a", "b"] {
            transcript.event(&call(id).into());
        }
        for (id, text) in [("b", "two\n"), ("a", "one\n")] {
            transcript.tool_output(&ToolCallId::new(id), text);
        }
        for id in ["a", "b"] {
            let done = ToolCompleted {
                tool_call_id: ToolCallId::new(id),
                name: "bash".into(),
                duration_ms: 1_000,
                details: None,
            };
            transcript.event(&done.into());
        }
        text(&mut transcript)
    };
    let told = run(TranscriptRenderer::new(AnsiStyle::default(), 80));
    assert_eq!(
        told,
        "● bash  make a\n● bash 2  make b\n  │ bash 2 two\n  │ bash one\n  └ bash ✓ 1.0s\n  └ bash 2 ✓ 1.0s\n"
    );
    let told = run(TranscriptRenderer::new(AnsiStyle::default(), 80).holding_calls());
    assert!(!told.contains("bash 2"), "each is told whole: {told}");
}

#[test]
fn the_last_of_parallel_calls_keeps_its_name() {
    use agentx::types::ToolExecuting;
    let mut transcript = TranscriptRenderer::new(AnsiStyle::default(), 80);
    let calls = [("a", "bash"), ("b", "write"), ("c", "read")];
    for (id, name) in calls {
        let call = ToolExecuting {
            tool_call_id: ToolCallId::new(id),
            name: name.into(),
            input: serde_json::json!({"path": id}),
        };
        transcript.event(&call.into());
    }
    for (id, name) in [calls[2], calls[1], calls[0]] {
        if name == "bash" {
            transcript.tool_output(&ToolCallId::new(id), "one\n");
        }
        let done = ToolCompleted {
            tool_call_id: ToolCallId::new(id),
            name: name.into(),
            duration_ms: 1_000,
            details: None,
        };
        transcript.event(&done.into());
    }
    assert_eq!(
        text(&mut transcript),
        "● bash  a\n● write  b\n● read  c\n  └ read ✓ 1.0s\n  └ write ✓ 1.0s\n  │ bash one\n  └ bash ✓ 1.0s\n"
    );
}

#[test]
fn a_refusal_is_told_without_the_words_for_the_model() {
    let transcript = TranscriptRenderer::new(AnsiStyle::default(), 80);
    for (status, error, told) in [
        (ToolStatus::Denied, "The person refused this call.", "refused"),
        (
            ToolStatus::Denied,
            "The person refused this call. They say: not now",
            "refused: not now",
        ),
        (
            ToolStatus::Refused,
            "not run: the limit of 5 tokens in one run is reached",
            "refused by a limit: the limit of 5 tokens in one run is reached",
        ),
    ] {
        assert_eq!(transcript.why_not(status, error), told);
    }
}

#[test]
fn an_unknown_price_is_explained_once() {
    let mut transcript = TranscriptRenderer::new(AnsiStyle::default(), 80).with_costs();
    transcript.has_no_price = true;
    for _ in 0..2 {
        transcript.answered(&TurnResponse {
            run_id: "run_1".into(),
            text: "so".into(),
            duration_ms: 100,
            usage: Usage {
                input_tokens: 10,
                ..Usage::default()
            },
            cost: NanoUsd(0),
            model_calls: 1,
        });
        transcript.tell_cost(RunStatus::Completed);
    }
    let told = text(&mut transcript);
    assert_eq!(told.matches("this turn: ").count(), 2, "{told}");
    assert_eq!(told.matches("$? (price unknown)").count(), 1, "{told}");
}
