//! Streams that end without having begun, and pieces of something that never began: gateways leave out or
//! swap events. The answer is malformed, so the model is called again: an empty success would end the run,
//! and a call without its arguments would run with none.

use agentx_llm::StreamError;
use agentx_types::{Api, ContentPart, EnvironmentEvent};
use serde_json::{Value, json};

use crate::common::{accumulate, decode};
use crate::made_up::{chat, chat_end, claude_start, sse};

fn text(index: u64) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}})
}

fn call(index: u64) -> Value {
    json!({"type": "content_block_start", "index": index,
        "content_block": {"type": "tool_use", "id": "a", "name": "read", "input": {}}})
}

fn delta(index: u64, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn words(index: u64) -> Value {
    delta(index, json!({"type": "text_delta", "text": "Hi"}))
}

fn arguments(index: u64) -> Value {
    delta(
        index,
        json!({"type": "input_json_delta", "partial_json": "{\"path\":\"a\"}"}),
    )
}

fn stop(index: u64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn end() -> Vec<Value> {
    vec![
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
        json!({"type": "message_stop"}),
    ]
}

/// Checks that the stream is malformed and ends nothing, with and without the mark of its end, and returns
/// its number of calls.
fn is_malformed(api: Api, events: &[Value], why: &str) -> usize {
    let all = sse(events);
    let (events, result) = decode(api, [all.as_bytes()]);
    match result {
        Err(StreamError::Malformed { detail }) => assert!(detail.starts_with(why), "{detail}\n{all}"),
        other => panic!("{other:?}\n{all}"),
    }
    let is_end = |event: &EnvironmentEvent| matches!(event, EnvironmentEvent::StreamEnd(_));
    assert!(!events.iter().any(is_end), "{all}");
    let is_call = |event: &&EnvironmentEvent| matches!(event, EnvironmentEvent::ToolCall(_));
    events.iter().filter(is_call).count()
}

#[test]
fn an_answer_that_ends_before_it_begins_is_malformed() {
    let ended = "the answer ended before it began";
    is_malformed(Api::Anthropic, &end(), ended);
    is_malformed(Api::Anthropic, &end()[..1], ended);
    is_malformed(Api::Anthropic, &end()[1..], ended);
    let completed = json!({"type": "response.completed", "response": {"id": "r", "status": "completed"}});
    is_malformed(Api::OpenaiResponses, &[completed], ended);
    let completed = json!({"event_type": "interaction.completed", "interaction": {"status": "completed"}});
    is_malformed(Api::GeminiInteractions, &[completed], ended);

    let empty = "data: {\"id\":\"c\",\"model\":\"m\",\"choices\":[]}\n\ndata: [DONE]\n\n";
    let (_, result) = decode(Api::OpenaiChat, [empty.as_bytes()]);
    assert!(matches!(result, Err(StreamError::Malformed { .. })), "{result:?}");
}

#[test]
fn arguments_of_a_call_that_never_began_are_malformed() {
    let never = "arguments of a call that never began";
    let starts = vec![claude_start()];
    for (events, calls) in [
        (vec![arguments(0), stop(0)], 0),
        (vec![arguments(0), call(0), stop(0)], 0),
        (vec![text(0), words(0), arguments(1), call(1), stop(1)], 0),
        (vec![call(0), stop(0), arguments(0)], 0),
        (vec![call(0), arguments(0), stop(0), arguments(1), stop(1)], 1),
    ] {
        let events = [starts.clone(), events, end()].concat();
        assert_eq!(is_malformed(Api::Anthropic, &events, never), calls);
    }
    let created = json!({"type": "response.created", "response": {"id": "r", "model": "m"}});
    let piece = json!({"type": "response.function_call_arguments.delta", "item_id": "fc_1", "output_index": 0,
        "delta": "{}"});
    let completed = json!({"type": "response.completed", "response": {"status": "completed", "output": []}});
    is_malformed(
        Api::OpenaiResponses,
        &[created.clone(), piece.clone(), completed],
        never,
    );
    let item =
        json!({"type": "function_call", "id": "fc_1", "call_id": "a", "name": "read", "arguments": "{}"});
    let whole = json!({"type": "response.completed", "response": {"status": "completed", "output": [item]}});
    let (events, result) = decode(Api::OpenaiResponses, [sse(&[created, piece, whole]).as_bytes()]);
    result.expect("the call came as a whole");
    assert_eq!(accumulate(&events).message.content.len(), 1);

    let begun = json!({"event_type": "interaction.created", "interaction": {"id": "v1_1", "model": "m"}});
    let piece = json!({"event_type": "step.delta", "index": 0, "delta": {"type": "arguments_delta", "arguments": "{"}});
    let completed = json!({"event_type": "interaction.completed", "interaction": {"status": "completed"}});
    let never = "a piece of a step that never began";
    is_malformed(Api::GeminiInteractions, &[begun, piece, completed], never);
}

/// Checks that the answer is complete and has one call, without a name, that began once.
fn has_a_nameless_call(api: Api, events: &[Value]) {
    let all = sse(events);
    let (events, result) = decode(api, [all.as_bytes()]);
    result.unwrap_or_else(|error| panic!("{error}\n{all}"));
    let starts = events.iter().filter_map(|event| match event {
        EnvironmentEvent::ToolCallStart(start) => Some(start.name.as_str()),
        _ => None,
    });
    assert_eq!(starts.collect::<Vec<_>>(), [""], "{all}");
    let calls = events.iter().filter_map(|event| match event {
        EnvironmentEvent::ToolCall(call) => Some((call.name.as_str(), call.input.clone())),
        _ => None,
    });
    assert_eq!(calls.collect::<Vec<_>>(), [("", json!({"path": "a"}))], "{all}");
    assert!(
        matches!(events.last(), Some(EnvironmentEvent::StreamEnd(_))),
        "{all}"
    );
}

/// The agent answers such a call, which costs less than another answer.
#[test]
fn a_call_without_a_name_is_a_call() {
    let input = "{\"path\":\"a\"}";
    for name in [json!(null), json!("")] {
        let function = json!({"name": name, "arguments": input});
        let piece = chat(json!({"tool_calls": [{"index": 0, "id": "a", "function": function}]}));
        has_a_nameless_call(Api::OpenaiChat, &[piece, chat_end("tool_calls")]);

        let mut block = call(0);
        block["content_block"]["name"] = name.clone();
        let events = [vec![claude_start(), block, arguments(0), stop(0)], end()].concat();
        has_a_nameless_call(Api::Anthropic, &events);

        let part = json!({"functionCall": {"name": name, "args": {"path": "a"}}});
        let chunk = json!({"candidates": [{"content": {"parts": [part]}, "finishReason": "STOP"}]});
        has_a_nameless_call(Api::Gemini, &[chunk]);

        let created = json!({"type": "response.created", "response": {"id": "r", "model": "m"}});
        let item =
            json!({"type": "function_call", "id": "fc_1", "call_id": "a", "name": name, "arguments": input});
        let output = json!({"status": "completed", "output": [item]});
        let completed = json!({"type": "response.completed", "response": output});
        has_a_nameless_call(Api::OpenaiResponses, &[created, completed]);

        let begun = json!({"event_type": "interaction.created", "interaction": {"id": "v1_1", "model": "m"}});
        let step = json!({"type": "function_call", "id": "a", "name": name, "arguments": {"path": "a"}});
        let start = json!({"event_type": "step.start", "index": 0, "step": step});
        let stopped = json!({"event_type": "step.stop", "index": 0});
        let completed =
            json!({"event_type": "interaction.completed", "interaction": {"status": "completed"}});
        has_a_nameless_call(Api::GeminiInteractions, &[begun, start, stopped, completed]);
    }
}

#[test]
fn words_need_no_beginning() {
    let thought = |index| delta(index, json!({"type": "thinking_delta", "thinking": "hm"}));
    for events in [
        vec![words(0)],
        vec![thought(0), stop(0), words(1)],
        vec![text(0), words(0)],
        vec![text(0), stop(0), words(0), stop(0)],
    ] {
        let all = [events, end()].concat();
        let (events, result) = decode(Api::Anthropic, [sse(&all).as_bytes()]);
        result.expect("the words are an answer");
        let last = accumulate(&events).message.content.pop();
        assert!(
            matches!(&last, Some(ContentPart::Text(part)) if part.text == "Hi"),
            "{last:?} of {all:?}"
        );
    }
}
