//! Gemini's Interactions: each rule, broken once.

use agentx_testing::vendors::{
    AnswerPart, INTERACTIONS_RULES, InteractionsServer, ModelAnswer, VendorRefusal,
};
use serde_json::{Value, json};

use crate::{Case, each_rule_is_broken_once};

/// A conversation with a thought, a call and its result.
fn good(_: &str) -> Value {
    let schema = json!({ "type": "object", "properties": { "at": { "type": "string" } } });
    json!({
        "model": "gemini-3.8-flash", "store": false, "stream": true, "system_instruction": "be good",
        "generation_config": { "thinking_summaries": "auto", "thinking_level": "low" },
        "tools": [{ "type": "function", "name": "look", "description": "", "parameters": schema }],
        "input": [
            { "type": "user_input", "content": [{ "type": "text", "text": "look" }] },
            { "type": "thought", "signature": signed() },
            { "type": "function_call", "id": "c1", "name": "look", "arguments": {} },
            { "type": "function_result", "call_id": "c1", "name": "look", "result": "seen" },
        ],
    })
}

/// A signature that the server made for the model.
fn signed() -> String {
    let input = json!([{ "type": "user_input", "content": [{ "type": "text", "text": "hi" }] }]);
    let asked = json!({ "model": "gemini-3.8-flash", "input": input });
    let accepted = InteractionsServer::new()
        .check(asked.to_string().as_bytes())
        .unwrap();
    let stream = accepted.stream(&ModelAnswer::default().then(AnswerPart::Thinking("hm".into())));
    let (_, rest) = stream.split_once("\"signature\":\"").unwrap();
    rest.split_once('"').unwrap().0.to_owned()
}

fn check(rule: &str, request: &Value) -> Option<VendorRefusal> {
    let mut server = match rule {
        "interactions-window" => InteractionsServer::new().with_window(250),
        _ => InteractionsServer::new(),
    };
    server.check(request.to_string().as_bytes()).err()
}

#[test]
fn each_rule_refuses_what_breaks_it() {
    let cases: &[Case] = &[
        ("interactions-json", |request| request["input"] = json!([])),
        ("interactions-unknown-field", |request| {
            request["generation_config"]["temperature"] = json!(0.5)
        }),
        ("interactions-tool", |request| {
            request["tools"][0]["name"] = json!("7zip")
        }),
        ("interactions-thinking-level", |request| {
            *request = json!({
                "model": "gemini-2.5-flash", "input": [request["input"][0]], "generation_config": { "thinking_level": "low" },
            });
        }),
        ("interactions-step", |request| {
            request["input"][0]["content"] = json!([])
        }),
        ("interactions-step", |request| {
            request["input"][2]["arguments"] = json!("{}")
        }),
        ("interactions-step", |request| {
            request["input"][1]["signature"] = Value::Null
        }),
        ("interactions-signature", |request| {
            request["model"] = json!("gemini-4-argon")
        }),
        ("interactions-results", |request| {
            request["input"].as_array_mut().unwrap().pop();
        }),
        ("interactions-results", |request| {
            request["input"].as_array_mut().unwrap().remove(2);
        }),
        ("interactions-media", |request| {
            request["input"][3]["result"] = json!([{ "type": "document", "data": "JVBERi0=" }])
        }),
        ("interactions-media", |request| {
            let broken = json!({ "type": "image", "mime_type": "image/png", "data": "aGVsbG8=" });
            request["input"][0]["content"] = json!([broken]);
        }),
        ("interactions-window", |request| {
            request["input"][0]["content"][0]["text"] = json!("word ".repeat(400))
        }),
    ];
    each_rule_is_broken_once(cases, INTERACTIONS_RULES, &[], check, good);
}
