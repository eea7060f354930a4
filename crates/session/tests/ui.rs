//! The view `ui`: each RuntimeEvent as a simple client sees it, and a whole session, from any point in it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use agentx_session::{SessionFold, UiProjection};
use agentx_testing::{LogBuilder, fixture};
use agentx_types::*;
use serde_json::{Value, json};

/// Returns the wire form of events that all follow from one fact: tags and payloads.
fn shown(events: Vec<RuntimeEvent>) -> Vec<Value> {
    let mut projection = UiProjection::new("own_1".into());
    let mut frames = Vec::new();
    for (index, event) in events.into_iter().enumerate() {
        let fact = EventDraft::<EnvironmentEvent>::new(Source::Environment, None, PartEnd {});
        let fact = fact.into_envelope("ses_1".into(), 7, Timestamp(70));
        let event = fact.derive(u32::try_from(index).unwrap(), event);
        projection.project(&event, &mut frames);
    }
    let of = |(index, frame): (usize, &Envelope<UiEvent>)| {
        assert_eq!((frame.seq, frame.at), (7, Timestamp(70)));
        assert_eq!(frame.index.map(|index| index as usize), Some(index));
        let value = serde_json::to_value(&frame.event).unwrap();
        json!([value["event"], value["payload"]])
    };
    frames.iter().enumerate().map(of).collect()
}

#[track_caller]
fn shows(events: Vec<RuntimeEvent>, expected: Value) {
    assert_eq!(Value::from(shown(events)), expected);
}

#[test]
fn a_run_begins_speaks_and_ends() {
    let run_id = RunId::of_input(7);
    shows(
        vec![
            RunStarted {
                run_id: run_id.clone(),
                message_id: "msg_1".into(),
            }
            .into(),
            TurnRequest {
                run_id: run_id.clone(),
                text: "Hello?".into(),
            }
            .into(),
        ],
        json!([["run_started", {"owner_key": "own_1", "user_input": "Hello?"}]]),
    );
    let stop = MessageStop {
        message_id: "msg_2".into(),
        stop_reason: StopReason::EndTurn,
        usage: Usage::default(),
    };
    shows(
        vec![
            TextDelta {
                text: "你好".into()
            }
            .into(),
            ThinkingDelta { text: "hm".into() }.into(),
            stop.into(),
        ],
        json!([
            ["text_chunk", {"chunk": "你好", "role": "assistant"}],
            ["text_chunk", {"chunk": "", "role": "assistant", "is_final": true}],
        ]),
    );
    for status in [
        RunStatus::Completed,
        RunStatus::Failed,
        RunStatus::TimedOut,
        RunStatus::Interrupted,
    ] {
        let finished = RunFinished {
            run_id: run_id.clone(),
            status,
            reason: None,
            iterations: 0,
        };
        let eof = Eof {
            run_id: run_id.clone(),
        };
        shows(
            vec![eof.into(), finished.into()],
            json!([["run_finished", {"status": status}]]),
        );
    }
}

fn answered(id: &str, result: Vec<ContentPart>) -> RuntimeEvent {
    ToolCallAnswered {
        tool_call_id: id.into(),
        result,
        is_error: false,
    }
    .into()
}

fn completed(id: &str) -> RuntimeEvent {
    ToolCompleted {
        tool_call_id: id.into(),
        name: "read".into(),
        duration_ms: 3,
        details: None,
    }
    .into()
}

fn failed(id: &str, error: &str) -> RuntimeEvent {
    ToolFailed {
        tool_call_id: id.into(),
        name: "read".into(),
        status: ToolStatus::Denied,
        error: error.into(),
        duration_ms: 0,
        details: None,
    }
    .into()
}

#[test]
fn a_call_is_asked_about_runs_and_ends() {
    let input = json!({"path": "a"});
    shows(
        vec![
            ApprovalRequested {
                tool_call_id: "c1".into(),
                name: "read".into(),
                input: input.clone(),
                reason: "reading asks".into(),
                suggested: Rule {
                    workspace: None,
                    effect: RuleEffect::Allow,
                    tool: "read".into(),
                    argument: None,
                    path: None,
                    origin: None,
                },
                form: None,
                question: None,
            }
            .into(),
            ToolExecuting {
                tool_call_id: "c1".into(),
                name: "read".into(),
                input,
            }
            .into(),
        ],
        json!([
            ["approval_requested", {"tool_call_id": "c1", "tool_name": "read", "args": {"path": "a"}, "reason": "reading asks"}],
            ["tool_call_started", {"tool_call_id": "c1", "tool_name": "read", "args": {"path": "a"}}],
        ]),
    );
    let picture = ContentPart::Image(MediaPart {
        media_type: "image/png".into(),
        source: MediaSource::Blob("b3_00".into()),
        name: None,
    });
    let finished = |status: &str, result: &str| json!([["tool_call_finished", {"tool_call_id": "c1", "tool_name": "read", "status": status, "result": result}]]);
    let whole = vec![ContentPart::text("one\n"), picture, ContentPart::text("two")];
    shows(
        vec![answered("c1", whole), completed("c1")],
        finished("success", "one\n[image/png]two"),
    );
    let told = vec![ContentPart::text("denied by a rule, and much more")];
    shows(
        vec![answered("c1", told), failed("c1", "denied…")],
        finished("error", "denied by a rule, and much more"),
    );
    shows(vec![failed("c1", "denied…")], finished("error", "denied…"));
    let of_another = vec![ContentPart::text("of another")];
    shows(
        vec![answered("c2", of_another), completed("c1")],
        finished("success", ""),
    );
}

#[test]
fn what_goes_wrong_is_told_with_its_code() {
    let error = |retry_in_ms, status| ErrorRaised {
        code: "overloaded".into(),
        message: "Overloaded".into(),
        recoverable: true,
        retry_in_ms,
        gives_up_in_ms: None,
        status,
    };
    shows(
        vec![error(Some(500), Some(529)).into(), error(None, None).into()],
        json!([
            ["error", {"message": "Overloaded", "details": {"code": "overloaded", "recoverable": true, "retry_in_ms": 500, "status": 529}}],
            ["error", {"message": "Overloaded", "details": {"code": "overloaded", "recoverable": true}}],
        ]),
    );
}

/// A session with an answer, a tool and a failure, in its view `runtime`.
fn a_session() -> Vec<Envelope<RuntimeEvent>> {
    let facts = LogBuilder::opened(fixture::config())
        .user("2 + 2?")
        .calls("c1", "read", json!({"path": "a"}))
        .result("c1", "the file")
        .answer("4")
        .user("again")
        .action(ActionKind::CallModel, None)
        .event(
            Source::Environment,
            ErrorOccurred {
                code: "gone".into(),
                message: "no model".into(),
                recoverable: true,
            },
        )
        .build();
    let mut fold = SessionFold::new(fixture::session_id());
    facts.iter().flat_map(|fact| fold.apply(fact).events).collect()
}

fn project(events: &[Envelope<RuntimeEvent>]) -> Vec<Envelope<UiEvent>> {
    let (mut projection, mut frames) = (UiProjection::new("own_test".into()), Vec::new());
    for event in events {
        projection.project(event, &mut frames);
    }
    frames
}

#[test]
fn a_whole_session_is_told() {
    let frames = project(&a_session());
    let told: Vec<&str> = frames.iter().map(|frame| frame.event.tag()).collect();
    let first_run = [
        "run_started",
        "text_chunk",
        "tool_call_started",
        "tool_call_finished",
        "text_chunk",
        "text_chunk",
        "run_finished",
    ];
    assert_eq!(
        told,
        [&first_run[..], &["run_started", "error", "run_finished"]].concat()
    );
    let words: String = frames
        .iter()
        .filter_map(|frame| match &frame.event {
            UiEvent::UiTextChunk(chunk) => Some(chunk.chunk.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(words, "4");
    let first = &frames[0];
    assert_eq!(
        first.run_id,
        Some(RunId::of_input(2)),
        "a frame keeps the context of its event"
    );
    assert_eq!(first.agent_state_id, Some(fixture::agent_state_id()));
}

/// Made up: a second input waits while the first run works, so that one fact ends the first run and begins
/// the second one.
fn a_session_with_a_queued_run() -> Vec<Envelope<RuntimeEvent>> {
    let facts = LogBuilder::opened(fixture::config())
        .user("first")
        .action(ActionKind::CallModel, None)
        .event(
            Source::Environment,
            StreamStart {
                message_id: MessageId::with_suffix(4),
                model: "test-model".into(),
                attempt: 1,
            },
        )
        .event(Source::Environment, TextChunk { text: "done".into() })
        .event(
            Source::User,
            UserMessage {
                message_id: MessageId::with_suffix(6),
                content: vec![ContentPart::text("next")],
                mode: InputMode::Queue,
                idempotency_key: None,
                by: None,
                answer_schema: None,
            },
        )
        .event(
            Source::Environment,
            StreamEnd {
                stop_reason: StopReason::EndTurn,
                raw: None,
            },
        )
        .build();
    let mut fold = SessionFold::new(fixture::session_id());
    facts.iter().flat_map(|fact| fold.apply(fact).events).collect()
}

#[test]
fn a_queued_run_begins_under_its_own_id() {
    let frames = project(&a_session_with_a_queued_run());
    let told: Vec<(u64, &str, Option<RunId>)> = frames
        .iter()
        .map(|frame| (frame.seq, frame.event.tag(), frame.run_id.clone()))
        .collect();
    let (first, second) = (Some(RunId::of_input(2)), Some(RunId::of_input(6)));
    assert_eq!(
        told,
        [
            (2, "run_started", first.clone()),
            (5, "text_chunk", first.clone()),
            (7, "text_chunk", first.clone()),
            (7, "run_finished", first),
            (7, "run_started", second),
        ]
    );
}

/// A question of the run that a fact begins is of that run; one of another agent is not.
#[test]
fn frames_behind_the_beginning_of_a_run_are_of_that_run() {
    let of_run = |run: &str| RunId::new(run);
    let asked = |id: &str| -> RuntimeEvent {
        ToolExecuting {
            tool_call_id: id.into(),
            name: "read".into(),
            input: json!({}),
        }
        .into()
    };
    let begun = RunStarted {
        run_id: of_run("run_8"),
        message_id: "msg_8".into(),
    };
    let fact = EventDraft {
        source: Source::Environment,
        agent_state_id: Some(fixture::agent_state_id()),
        run_id: Some(of_run("run_3")),
        cause: None,
        event: EnvironmentEvent::from(PartEnd {}),
    };
    let fact = fact.into_envelope("ses_1".into(), 7, Timestamp(70));
    let mut events = [asked("c1"), begun.into(), asked("c2"), asked("c3")]
        .into_iter()
        .zip(0..)
        .map(|(event, index)| fact.derive(index, event))
        .collect::<Vec<_>>();
    events[3].agent_state_id = Some("agt_other".into());
    // The next fact begins without that run.
    let mut next = fact.derive(0, asked("c4"));
    next.seq = 8;
    events.push(next);
    let runs: Vec<Option<RunId>> = project(&events).into_iter().map(|frame| frame.run_id).collect();
    let of = |run| Some(of_run(run));
    assert_eq!(runs, [of("run_3"), of("run_8"), of("run_3"), of("run_3")]);
}

#[test]
fn frames_are_in_order_and_the_same_from_any_point() {
    let events = a_session();
    let all = project(&events);
    let places: Vec<(u64, u32)> = all
        .iter()
        .map(|frame| (frame.seq, frame.index.unwrap()))
        .collect();
    for pair in places.windows(2) {
        let next_of_same = (pair[0].0, pair[0].1 + 1);
        let is_dense = pair[1] == next_of_same || (pair[1].0 > pair[0].0 && pair[1].1 == 0);
        assert!(is_dense, "{pair:?}");
    }
    for after in 0..=events.last().unwrap().seq {
        let (rest, expected): (Vec<_>, Vec<_>) = (
            events.iter().filter(|event| event.seq > after).cloned().collect(),
            all.iter().filter(|frame| frame.seq > after).cloned().collect(),
        );
        assert_eq!(project(&rest), expected, "after {after}");
    }
}
