//! OpenAI's Responses: each rule, broken once.

use agentx_testing::vendors::{AnswerPart, ModelAnswer, RESPONSES_RULES, ResponsesServer, VendorRefusal};
use serde_json::{Value, json};

use crate::{Case, each_rule_is_broken_once};

/// A conversation with reasoning, a call and its output.
fn good(_: &str) -> Value {
    let parameters = json!({ "type": "object", "properties": { "at": { "type": "string" } } });
    json!({
        "model": "gpt-6-sol", "stream": true, "store": false, "instructions": "be good",
        "include": ["reasoning.encrypted_content"], "reasoning": { "effort": "low" },
        "tools": [{ "type": "function", "name": "look", "parameters": parameters, "strict": false }],
        "input": [
            { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "look" }] },
            { "type": "reasoning", "summary": [], "encrypted_content": kept() },
            { "type": "function_call", "call_id": "call_1", "name": "look", "arguments": "{}" },
            { "type": "function_call_output", "call_id": "call_1", "output": "seen" },
            { "type": "message", "id": "msg_1", "status": "completed", "role": "assistant",
              "content": [{ "type": "output_text", "text": "I saw", "annotations": [] }] },
            { "type": "message", "role": "user", "content": "and?" },
        ],
    })
}

/// Reasoning that the server encrypted for the model.
fn kept() -> String {
    let asked = json!({
        "model": "gpt-6-sol", "input": [{ "role": "user", "content": "hi" }],
        "include": ["reasoning.encrypted_content"],
    });
    let accepted = ResponsesServer::new()
        .check(asked.to_string().as_bytes())
        .unwrap();
    let stream = accepted.stream(&ModelAnswer::default().then(AnswerPart::Thinking("hm".into())));
    let (_, rest) = stream.split_once("\"encrypted_content\":\"").unwrap();
    rest.split_once('"').unwrap().0.to_owned()
}

fn check(rule: &str, request: &Value) -> Option<VendorRefusal> {
    let server = match rule {
        "responses-unverified" => ResponsesServer::new().unverified(),
        "responses-window" => ResponsesServer::new().with_window(200),
        _ => ResponsesServer::new(),
    };
    server.clone().check(request.to_string().as_bytes()).err()
}

fn remove(request: &mut Value, at: usize) {
    request["input"].as_array_mut().unwrap().remove(at);
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table with a row for each rule")]
fn each_rule_refuses_what_breaks_it() {
    let cases: &[Case] = &[
        ("responses-json", |request| request["input"] = json!([])),
        ("responses-unknown-field", |request| {
            request["max_tokens"] = json!(100)
        }),
        ("responses-item", |request| {
            request["input"][0]["role"] = json!("tool")
        }),
        ("responses-item", |request| {
            request["input"][0]["type"] = json!("made_up")
        }),
        ("responses-content", |request| {
            request["input"][4]["content"][0]["type"] = json!("input_text")
        }),
        ("responses-content", |request| {
            request["input"][5]["content"] = Value::Null
        }),
        ("responses-output-message", |request| {
            request["input"][4]["status"] = Value::Null
        }),
        ("responses-output-message", |request| {
            request["input"][4]["content"][0]["annotations"] = Value::Null
        }),
        ("responses-call", |request| {
            request["input"][2]["call_id"] = json!("c".repeat(65))
        }),
        ("responses-call", |request| {
            request["input"][2]["arguments"] = json!("{")
        }),
        ("responses-name", |request| {
            request["input"][2]["name"] = json!("functions.look")
        }),
        ("responses-name", |request| {
            request["tools"][0]["name"] = json!("")
        }),
        ("responses-no-output", |request| remove(request, 3)),
        ("responses-no-call", |request| {
            remove(request, 2);
            remove(request, 1);
        }),
        ("responses-not-stored", |request| {
            request["input"][1] = json!({ "type": "reasoning", "id": "rs_1", "summary": [] })
        }),
        ("responses-summary", |request| {
            request["input"][1]["summary"] = Value::Null
        }),
        ("responses-reasoning-alone", |request| {
            remove(request, 3);
            remove(request, 2);
            remove(request, 2);
        }),
        ("responses-encrypted", |request| {
            request["model"] = json!("gpt-6-luna")
        }),
        ("responses-no-reasoning", |request| {
            request["model"] = json!("gpt-4.1");
            request["reasoning"] = Value::Null;
        }),
        ("responses-no-reasoning", |request| {
            request["model"] = json!("gpt-5-chat-latest");
            request["include"] = json!([]);
        }),
        ("responses-unverified", |request| {
            request["reasoning"]["summary"] = json!("auto")
        }),
        ("responses-effort", |request| {
            request["model"] = json!("gpt-6.1-sol");
            request["reasoning"]["effort"] = json!("none");
        }),
        ("responses-temperature", |request| {
            request["temperature"] = json!(0.5)
        }),
        ("responses-short-answer", |request| {
            request["max_output_tokens"] = json!(15)
        }),
        ("responses-schema", |request| {
            request["tools"][0]["parameters"] = json!({ "type": "object" })
        }),
        ("responses-schema", |request| {
            request["tools"][0]["strict"] = Value::Null
        }),
        (
            "responses-answer-schema",
            |request| request["text"] = json!({ "format": { "type": "json_schema", "name": "answer", "strict": true, "schema": { "type": "object", "properties": { "a": { "$ref": "#/$defs/s", "description": "d" } }, "required": ["a"], "additionalProperties": false } } }),
        ),
        (
            "responses-answer-schema",
            |request| request["text"] = json!({ "format": { "type": "json_schema", "name": "answer", "strict": true, "schema": { "type": "object", "properties": { "a": {} }, "required": ["a"], "additionalProperties": false } } }),
        ),
        (
            "responses-answer-schema",
            |request| request["text"] = json!({ "format": { "type": "json_schema", "name": "answer", "strict": true, "schema": { "type": "object", "properties": { "a": { "const": "x" } }, "required": ["a"], "additionalProperties": false } } }),
        ),
        (
            "responses-answer-schema",
            |request| request["text"] = json!({ "format": { "type": "json_schema", "name": "answer", "strict": true, "schema": { "type": "object", "properties": { "a": { "type": "object", "properties": {}, "additionalProperties": false, "propertyNames": {} } }, "required": ["a"], "additionalProperties": false } } }),
        ),
        ("responses-picture", |request| {
            request["input"][0]["content"][0] =
                json!({ "type": "input_image", "image_url": "data:image/png;base64,aGVsbG8=" });
        }),
        ("responses-window", |request| {
            request["input"][0]["content"] = json!("word ".repeat(400))
        }),
    ];
    each_rule_is_broken_once(cases, RESPONSES_RULES, &[], check, good);
}

#[test]
fn what_the_server_read_before_is_read_from_its_cache() {
    let mut server = ResponsesServer::new();
    let mut request = good("");
    server.check(request.to_string().as_bytes()).unwrap();
    request["input"]
        .as_array_mut()
        .unwrap()
        .push(json!({ "role": "user", "content": "and now?" }));
    let second = server.check(request.to_string().as_bytes()).unwrap();
    assert!(
        second.counted.cache_read > 0 && second.counted.input == 0,
        "{second:?}"
    );
    let stream = second.stream(&ModelAnswer::text("Hello."));
    assert!(stream.contains(&format!("\"cached_tokens\":{}", second.counted.cache_read)));
}
