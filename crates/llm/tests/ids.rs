//! Servers that repeat ids: every id from the decoders is new in its session, and the same bytes always give
//! the same ids.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

use std::sync::Arc;

use agentx_llm::{StreamContext, StreamDecoder};
use agentx_types::{Api, EnvironmentEvent, UsedIds};
use serde_json::{Value, json};

/// A call as a server streams it: index, id, name, arguments.
type Piece = (Option<u64>, &'static str, &'static str, &'static str);
/// The expected names and arguments of the calls.
type Meant<'a> = &'a [(&'static str, Value)];

fn chat(pieces: &[Piece]) -> String {
    let chunk = |delta: Value, reason: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
        format!(
            "data: {}\n\n",
            json!({"id": "c1", "model": "m", "choices": [choice]})
        )
    };
    let deltas = pieces.iter().map(|(index, id, name, arguments)| {
        let function = json!({"name": name, "arguments": arguments});
        let mut call = json!({"id": id, "function": function});
        if let Some(index) = index {
            call["index"] = json!(index);
        }
        chunk(json!({"tool_calls": [call]}), Value::Null)
    });
    deltas.collect::<String>() + &chunk(json!({}), json!("tool_calls"))
}

fn anthropic(ids: &[&str]) -> String {
    let mut events = vec![json!({"type": "message_start", "message": {"id": "m1", "model": "m"}})];
    for id in ids {
        let block = json!({"type": "tool_use", "id": id, "name": "look", "input": {"of": id}});
        events.push(json!({"type": "content_block_start", "index": 0, "content_block": block}));
        events.push(json!({"type": "content_block_stop", "index": 0}));
    }
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}));
    events.push(json!({"type": "message_stop"}));
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

fn decode(api: Api, own: &str, taken: &Arc<UsedIds>, body: &str) -> Vec<EnvironmentEvent> {
    let mut decoder = StreamDecoder::new(api, StreamContext::new(own, 1).taken_ids(taken.clone()));
    let mut events = Vec::new();
    decoder.push(body.as_bytes(), &mut events).expect("a good stream");
    decoder.finish(&mut events).expect("a whole stream");
    events
}

fn calls(events: &[EnvironmentEvent]) -> Vec<(String, String, Value)> {
    let calls = events.iter().filter_map(|event| match event {
        EnvironmentEvent::ToolCall(call) => Some((
            call.tool_call_id.to_string(),
            call.name.clone(),
            call.input.clone(),
        )),
        _ => None,
    });
    calls.collect()
}

#[test]
fn the_same_answer_again_and_again_gives_new_ids_each_time() {
    let streams = [
        (Api::Anthropic, anthropic(&["call_0", "call_0", "", "call_1"])),
        (
            Api::OpenaiChat,
            chat(&[
                (Some(0), "call_0", "look", "{}"),
                (Some(1), "call_0", "look", "{}"),
                (Some(2), "", "look", "{}"),
            ]),
        ),
    ];
    for (api, body) in streams {
        let mut taken = Arc::new(UsedIds::default());
        for own in ["msg_7_0_1", "msg_9_0_1", "msg_9_0_2", "msg_11_0_1"] {
            let events = decode(api, own, &taken, &body);
            assert_eq!(
                events,
                decode(api, own, &taken, &body),
                "the same bytes, the same ids"
            );
            let before = taken.calls.len();
            let said = calls(&events);
            for event in &events {
                let is_start = matches!(
                    event,
                    EnvironmentEvent::ToolCallStart(_) | EnvironmentEvent::StreamStart(_)
                );
                assert!(!is_start || taken.is_news(event), "{event:?}");
                Arc::make_mut(&mut taken).note(event);
            }
            assert_eq!(taken.calls.len(), before + said.len());
        }
    }
}

#[test]
fn whole_calls_under_one_id_are_told_apart() {
    let table: [(&[Piece], Meant<'_>); 5] = [
        (
            &[(None, "c", "f", r#"{"x":1}"#), (None, "c", "g", r#"{"x":2}"#)],
            &[("f", json!({"x": 1})), ("g", json!({"x": 2}))],
        ),
        (
            &[(Some(0), "", "f", r#"{"x":1}"#), (Some(0), "", "f", r#"{"x":2}"#)],
            &[("f", json!({"x": 1})), ("f", json!({"x": 2}))],
        ),
        (
            // Sent once more when it was complete.
            &[
                (Some(0), "c", "f", r#"{"x":1}"#),
                (Some(0), "c", "f", r#"{"x":1}"#),
            ],
            &[("f", json!({"x": 1}))],
        ),
        (
            // Id and name in every piece.
            &[
                (Some(0), "c", "f", r#"{"x":"#),
                (Some(0), "c", "f", r#"{"y":1"#),
                (Some(0), "c", "f", "}}"),
            ],
            &[("f", json!({"x": {"y": 1}}))],
        ),
        (
            &[(Some(0), "c", "f", "{}"), (Some(0), "c", "f", "")],
            &[("f", json!({}))],
        ),
    ];
    for (pieces, expected) in table {
        let said = calls(&decode(
            Api::OpenaiChat,
            "msg_7_0_1",
            &Arc::default(),
            &chat(pieces),
        ));
        let meant: Vec<(&str, Value)> = said
            .iter()
            .map(|(_, name, input)| (name.as_str(), input.clone()))
            .collect();
        assert_eq!(meant, expected, "{pieces:?}");
        assert!(said.len() < 2 || said[0].0 != said[1].0);
    }
}
