//! Identifies the events of OpenAI's Responses that are about the same item: servers collide indexes, rotate
//! ids, leave items out of the list at the end, or leave out the index. No call may run twice because of
//! that, and none may be lost. The streams are made up, modelled on the sources in
//! `openai_responses/known_items.rs`.
#![allow(clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

use agentx_types::{Api, ContentPart, EnvironmentEvent};
use serde_json::{Value, json};

use crate::common::{accumulate, decode};

const CREATED: &str = r#"{"type":"response.created","response":{"id":"r","model":"m"}}"#;

fn text(id: &str, words: &str) -> Value {
    json!({"type": "message", "id": id, "role": "assistant", "content": [{"type": "output_text", "text": words}]})
}

fn call(id: &str, call_id: &str, command: &str) -> Value {
    let arguments = json!({ "command": command }).to_string();
    json!({"type": "function_call", "id": id, "call_id": call_id, "name": "bash", "arguments": arguments})
}

fn reasoning(id: &str) -> Value {
    json!({"type": "reasoning", "id": id, "summary": [], "encrypted_content": "made up"})
}

fn event(kind: &str, index: Option<u64>, item: &Value) -> Value {
    let mut event = json!({"type": format!("response.output_item.{kind}"), "item": item});
    if let Some(index) = index {
        event["output_index"] = json!(index);
    }
    event
}

fn arguments(index: Option<u64>, id: &str, command: &str) -> Value {
    let mut event = json!({"type": "response.function_call_arguments.delta", "item_id": id,
        "delta": json!({ "command": command }).to_string()});
    if let Some(index) = index {
        event["output_index"] = json!(index);
    }
    event
}

/// The beginning, the arguments and the end of a call.
fn streamed(index: Option<u64>, id: &str, call_id: &str, command: &str) -> Vec<Value> {
    let mut begun = call(id, call_id, command);
    begun["arguments"] = json!("");
    vec![
        event("added", index, &begun),
        arguments(index, id, command),
        event("done", index, &call(id, call_id, command)),
    ]
}

/// The texts and calls of an answer that streams these events and ends with this list.
fn told(events: &[Value], output: &[Value]) -> Vec<String> {
    let end = json!({"type": "response.completed", "response": {"id": "r", "model": "m", "status": "completed",
        "output": output, "usage": {"input_tokens": 1, "output_tokens": 1}}});
    let mut stream = format!("data: {CREATED}\n\n");
    for event in events.iter().chain([&end]) {
        stream.push_str(&format!("data: {event}\n\n"));
    }
    let (events, result): (Vec<EnvironmentEvent>, _) = decode(Api::OpenaiResponses, [stream.as_bytes()]);
    result.expect("a whole stream");
    let message = accumulate(&events).message;
    let words = |part: &ContentPart| match part {
        ContentPart::Text(text) => Some(text.text.to_string()),
        ContentPart::ToolCall(call) => Some(format!("{} {}", call.tool_call_id, call.input["command"])),
        _ => None,
    };
    message.content.iter().filter_map(words).collect()
}

#[test]
fn an_item_is_emitted_once_where_the_list_at_the_end_has_other_places_or_ids() {
    let one = streamed(Some(1), "fc_1", "call_1", "pay");
    let expected = ["call_1 \"pay\""];
    for output in [
        vec![],
        vec![call("fc_1", "call_1", "pay")],
        vec![call("fc_9", "call_1", "pay")],
        vec![reasoning("rs_1"), call("fc_1", "call_1", "pay")],
    ] {
        assert_eq!(told(&one, &output), expected, "{output:?}");
    }
    let said = [
        event(
            "added",
            Some(3),
            &json!({"type": "message", "id": "a", "content": []}),
        ),
        json!({"type": "response.output_text.delta", "output_index": 3, "item_id": "b", "content_index": 0, "delta": "Hello"}),
        event("done", Some(3), &text("c", "Hello")),
    ];
    assert_eq!(told(&said, &[text("d", "Hello")]), ["Hello"]);
    let two = [said.to_vec(), streamed(Some(4), "fc_1", "call_1", "pay")].concat();
    assert_eq!(
        told(&two, &[call("x", "call_1", "pay")]),
        ["Hello", "call_1 \"pay\""]
    );
    assert_eq!(
        told(
            &two,
            &[
                text("y", "Hello"),
                call("x", "call_1", "pay"),
                call("z", "call_2", "more")
            ]
        ),
        ["Hello", "call_1 \"pay\"", "call_2 \"more\""],
        "what only the list has is emitted too"
    );
}

#[test]
fn items_that_share_an_index_or_have_none_are_all_kept() {
    for index in [Some(0), None] {
        let calls = [
            streamed(index, "fc_1", "call_a", "date"),
            streamed(index, "fc_2", "call_b", "ls"),
        ];
        let expected = ["call_a \"date\"", "call_b \"ls\""];
        assert_eq!(told(&calls.concat(), &[]), expected, "{index:?}");
        let list = [call("fc_1", "call_a", "date"), call("fc_2", "call_b", "ls")];
        assert_eq!(told(&calls.concat(), &list), expected, "{index:?}");
        // Both are open at the same time.
        let [a, b] = &calls;
        let mixed = [&a[0], &a[1], &b[0], &b[1], &a[2], &b[2]].map(Clone::clone);
        assert_eq!(told(&mixed, &[]), expected, "{index:?}");
        let behind = [
            vec![
                event("added", index, &reasoning("rs_1")),
                event("done", index, &reasoning("rs_1")),
            ],
            vec![event("done", index, &text("msg_1", "I look."))],
            streamed(index, "fc_1", "call_a", "date"),
        ];
        assert_eq!(
            told(&behind.concat(), &[]),
            ["I look.", "call_a \"date\""],
            "{index:?}"
        );
    }
}

#[test]
fn a_blank_line_separates_the_messages_of_an_answer() {
    let said = [
        event("done", Some(0), &text("msg_1", "I will look first.")),
        event("done", Some(1), &text("msg_2", "The answer is 4.")),
    ];
    let expected = ["I will look first.", "\n\nThe answer is 4."];
    assert_eq!(told(&said, &[]), expected);
    let list = [
        text("msg_1", "I will look first."),
        text("msg_2", "The answer is 4."),
    ];
    assert_eq!(told(&said, &list), expected);
    assert_eq!(told(&[], &list), expected);
}

#[test]
fn two_calls_with_one_id_are_two_calls() {
    let events = [
        streamed(Some(0), "fc_1", "call_0", "date"),
        streamed(Some(1), "fc_2", "call_0", "ls"),
    ]
    .concat();
    let list = [call("fc_1", "call_0", "date"), call("fc_2", "call_0", "ls")];
    for output in [&list[..], &[]] {
        let told = told(&events, output);
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(
            told[0].ends_with("\"date\"") && told[1].ends_with("\"ls\""),
            "{told:?}"
        );
    }
}

#[test]
fn an_end_that_comes_twice_counts_once() {
    let done = event("done", Some(0), &call("fc_1", "call_1", "pay"));
    assert_eq!(told(&[done.clone(), done], &[]), ["call_1 \"pay\""]);
    let said = event("done", Some(0), &text("msg_1", "Hello"));
    assert_eq!(told(&[said.clone(), said], &[text("msg_1", "Hello")]), ["Hello"]);
}
