//! Arguments of any depth: the depth that the decoder accepts can be written, folded, stored and read back;
//! deeper arguments are answered as invalid. Endless arguments are cut off.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use agentx_llm::{NoBlobs, StreamContext, StreamDecoder, StreamError, WireOptions, decode_body};
use agentx_runtime::SessionFold;
use agentx_testing::fixture;
use agentx_types::*;
use serde_json::{Value, json};

/// The number of accepted levels.
const MOST: usize = 64;

/// An object with so many levels.
fn nested(levels: usize) -> String {
    format!("{}1{}", r#"{"a":"#.repeat(levels), "}".repeat(levels))
}

fn chat(arguments: &str) -> String {
    let call = json!({"index": 0, "id": "c1", "function": {"name": "read", "arguments": arguments}});
    let chunk = |delta: Value, reason: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
        format!(
            "data: {}\n\n",
            json!({"id": "m1", "model": "m", "choices": [choice]})
        )
    };
    chunk(json!({"tool_calls": [call]}), Value::Null) + &chunk(json!({}), json!("tool_calls"))
}

/// The call in the form of Anthropic, with streamed arguments, or with arguments that are `given` from the
/// start.
fn anthropic(arguments: &str, given: bool) -> String {
    let input = if given { arguments } else { "{}" };
    let piece = json!({"type": "input_json_delta", "partial_json": if given { "" } else { arguments }});
    let block = format!(r#"{{"type":"tool_use","id":"c1","name":"read","input":{input}}}"#);
    let events = [
        r#"{"type":"message_start","message":{"id":"m1","model":"m"}}"#.to_owned(),
        format!(r#"{{"type":"content_block_start","index":0,"content_block":{block}}}"#),
        json!({"type": "content_block_delta", "index": 0, "delta": piece}).to_string(),
        r#"{"type":"content_block_stop","index":0}"#.to_owned(),
        r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"}}"#.to_owned(),
        r#"{"type":"message_stop"}"#.to_owned(),
    ];
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

fn decode(api: Api, body: &str) -> Result<Vec<EnvironmentEvent>, StreamError> {
    let mut decoder = StreamDecoder::new(api, StreamContext::new("msg_7_0_1", 1));
    let mut events = Vec::new();
    decoder.push(body.as_bytes(), &mut events)?;
    decoder.finish(&mut events)?;
    Ok(events)
}

/// A session whose facts, meanings and state are all written and read back.
struct Session {
    fold: SessionFold,
    actions: Vec<Action>,
}

impl Session {
    fn with_input() -> Self {
        let mut session = Self {
            fold: SessionFold::new("ses_1".into()),
            actions: Vec::new(),
        };
        let opened = SessionOpened {
            owner: "own_1".into(),
            config: Box::new(fixture::config()),
            program: "test".into(),
        };
        session.fact(None, opened.into());
        let said = UserMessage {
            message_id: "msg_1".into(),
            content: vec![ContentPart::text("go")],
            mode: InputMode::Queue,
            idempotency_key: None,
            by: None,
            answer_schema: None,
        };
        session.fact(None, said.into());
        session
    }

    fn fact(&mut self, cause: Option<ActionId>, event: EnvironmentEvent) {
        let mut draft =
            EventDraft::<EnvironmentEvent>::new(Source::Environment, Some(fixture::agent_state_id()), event);
        draft.cause = cause;
        let fact = draft.into_envelope("ses_1".into(), self.fold.last_seq() + 1, Timestamp(0));
        let frame = serde_json::to_string(&fact).unwrap();
        let read: Envelope<EnvironmentEvent> = serde_json::from_str(&frame).expect("a fact is read back");
        assert_eq!(read, fact);
        let mut derived = self.fold.apply(&read);
        for event in &derived.events {
            let frame = serde_json::to_string(event).unwrap();
            let read: Envelope<RuntimeEvent> = serde_json::from_str(&frame).expect("a meaning is read back");
            assert_eq!(read, *event);
        }
        for action in &derived.actions {
            let written = serde_json::to_string(action).unwrap();
            let read: Action = serde_json::from_str(&written).expect("an action is read back");
            assert_eq!(serde_json::to_string(&read).unwrap(), written);
        }
        self.actions.append(&mut derived.actions);
    }
}

/// The answer, its call and the next request, all the way through.
fn live_through(events: Vec<EnvironmentEvent>) {
    let mut session = Session::with_input();
    let asked = session.actions[0].action_id.clone();
    for event in events {
        session.fact(Some(asked.clone()), event);
    }
    let call = session.actions.last().unwrap().clone();
    let (id, status) = match &call.body {
        ActionBody::CallTool(call) => (&call.tool_call_id, ToolStatus::Success),
        ActionBody::AnswerCall(answer) => (&answer.tool_call_id, answer.status),
        other => panic!("{other:?}"),
    };
    let result = ToolResult {
        tool_call_id: id.clone(),
        result: vec![ContentPart::text("ok")],
        is_error: false,
        status,
        details: None,
    };
    session.fact(Some(call.action_id.clone()), result.into());
    let ActionBody::CallModel(next) = &session.actions.last().unwrap().body else {
        panic!("the model is asked again")
    };
    for api in [Api::Anthropic, Api::OpenaiChat] {
        let mut request = ModelRequest::clone(&next.request);
        request.model.api = api;
        let body = agentx_llm::build(&request, &WireOptions::default(), &NoBlobs);
        serde_json::from_slice::<Value>(&body).expect("a request is JSON that a server can read");
    }
}

#[test]
fn arguments_of_any_depth_are_kept_or_answered() {
    for levels in [1, 2, MOST - 1, MOST, MOST + 1, 100, 126, 127, 128, 1_000, 100_000] {
        let arguments = nested(levels);
        let mut streams = vec![
            (Api::OpenaiChat, chat(&arguments)),
            (Api::Anthropic, anthropic(&arguments, false)),
        ];
        if levels < 120 {
            streams.push((Api::Anthropic, anthropic(&arguments, true)));
        }
        for (api, body) in streams {
            let events = decode(api, &body).unwrap();
            let calls: Vec<&ToolCall> = events
                .iter()
                .filter_map(|event| match event {
                    EnvironmentEvent::ToolCall(call) => Some(call),
                    _ => None,
                })
                .collect();
            let [call] = calls[..] else { panic!("{calls:?}") };
            assert_eq!(
                call.invalid.is_none(),
                levels <= MOST,
                "{levels} levels in {api:?}"
            );
            if let Some(invalid) = &call.invalid {
                assert_eq!(invalid.raw, arguments);
                assert_eq!(call.input, json!({}));
            }
            live_through(events);
        }
    }
}

#[test]
fn parts_that_are_too_deep_are_not_the_api() {
    let data = nested(MOST);
    let block = format!(r#"{{"type":"server_tool_use","input":{data}}}"#);
    let events = [
        r#"{"type":"message_start","message":{"id":"m1","model":"m"}}"#.to_owned(),
        format!(r#"{{"type":"content_block_start","index":0,"content_block":{block}}}"#),
        r#"{"type":"content_block_stop","index":0}"#.to_owned(),
        r#"{"type":"message_stop"}"#.to_owned(),
    ];
    let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    let error = decode(Api::Anthropic, &body).unwrap_err();
    assert!(matches!(error, StreamError::Malformed { .. }), "{error}");
    let whole = format!(r#"{{"type":"message","id":"m1","content":[{block}],"stop_reason":"end_turn"}}"#);
    let mut events = Vec::new();
    let error = decode_body(
        Api::Anthropic,
        StreamContext::new("m", 1),
        whole.as_bytes(),
        &mut events,
    )
    .unwrap_err();
    assert!(matches!(error, StreamError::Malformed { .. }), "{error}");
    assert!(
        !events
            .iter()
            .any(|event| matches!(event, EnvironmentEvent::StreamEnd(_)))
    );
}

#[test]
fn arguments_without_an_end_come_to_one() {
    let piece = "x".repeat(100_000);
    let chat = |first: bool| {
        let function = json!({"name": if first { "read" } else { "" }, "arguments": piece});
        let choice =
            json!({"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "c1", "function": function}]}});
        format!(
            "data: {}\n\n",
            json!({"id": "m1", "model": "m", "choices": [choice]})
        )
    };
    let anthropic = |first: bool| {
        let start = r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c1","name":"read"}}"#;
        let delta = json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": piece}});
        let start = if first {
            format!("data: {start}\n\n")
        } else {
            String::new()
        };
        start + &format!("data: {delta}\n\n")
    };
    type Piece<'a> = &'a dyn Fn(bool) -> String;
    for (api, piece) in [
        (Api::OpenaiChat, &chat as Piece<'_>),
        (Api::Anthropic, &anthropic),
    ] {
        let mut decoder = StreamDecoder::new(api, StreamContext::new("m", 1));
        let mut events = Vec::new();
        let error = (0..200)
            .find_map(|index| decoder.push(piece(index == 0).as_bytes(), &mut events).err())
            .expect("it is cut off");
        assert_eq!(error, StreamError::ArgumentsTooLong { limit: 8 << 20 });
        assert!(!error.into_model_error().retryable);
        let said: usize = events
            .iter()
            .map(|event| match event {
                EnvironmentEvent::ToolCallChunk(chunk) => chunk.json.len(),
                _ => 0,
            })
            .sum();
        assert!((8 << 20..9 << 20).contains(&said), "{said}");
        assert!(
            !events
                .iter()
                .any(|event| matches!(event, EnvironmentEvent::ToolCall(_)))
        );
    }
}
