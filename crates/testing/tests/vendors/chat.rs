//! Chat Completions: each rule, in the dialect that has it.

use agentx_testing::vendors::{CHAT_RULES, ChatServer, Dialect, ModelAnswer, VendorRefusal};
use serde_json::{Value, json};

use crate::{Case, each_rule_is_broken_once};

/// The server that has a rule.
fn dialect(rule: &str) -> Dialect {
    match rule {
        "chat-content-null" => Dialect::LlamaCppPython,
        "chat-alternating-roles" => Dialect::Perplexity,
        "chat-template-devstral" => Dialect::Devstral,
        "chat-template-gemma" | "chat-window-with-answer" => Dialect::Gemma,
        "chat-reasoning-content" => Dialect::DeepSeek,
        "chat-reasoning-of-others" => Dialect::Groq,
        "chat-user-after-tool" | "chat-last-role" | "chat-system-first" | "chat-nine-character-ids" => {
            Dialect::Mistral
        }
        _ => Dialect::OpenAi,
    }
}

/// A conversation with a call and its result.
fn good(rule: &str) -> Value {
    let call =
        json!({ "id": "call12345", "type": "function", "function": { "name": "look", "arguments": "{}" } });
    let parameters = json!({ "type": "object", "properties": { "at": { "type": "string" } } });
    let mut request = json!({
        "model": "gpt-5.6-terra", "stream": true, "reasoning_effort": "none",
        "tools": [{ "type": "function", "function": { "name": "look", "description": "looks", "parameters": parameters } }],
        "messages": [
            { "role": "system", "content": "be good" },
            { "role": "user", "content": [{ "type": "text", "text": "look" }] },
            { "role": "assistant", "content": "", "tool_calls": [call] },
            { "role": "tool", "tool_call_id": "call12345", "content": "seen" },
            { "role": "assistant", "content": "I saw" },
            { "role": "user", "content": "and?" },
        ],
    });
    if dialect(rule) == Dialect::DeepSeek {
        request["messages"][2]["reasoning_content"] = json!("hm");
        request["messages"][4]["reasoning_content"] = json!("");
    }
    if dialect(rule) == Dialect::Gemma {
        request["messages"].as_array_mut().unwrap().drain(2..4);
    }
    request
}

fn check(rule: &str, request: &Value) -> Option<VendorRefusal> {
    ChatServer::new(dialect(rule))
        .check(request.to_string().as_bytes())
        .err()
}

fn push(request: &mut Value, message: Value) {
    request["messages"].as_array_mut().unwrap().push(message);
}

fn remove(request: &mut Value, field: &str) {
    request.as_object_mut().unwrap().shift_remove(field);
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table with a row for each rule")]
fn each_rule_refuses_what_breaks_it() {
    let cases: &[Case] = &[
        ("chat-json", |request| request["messages"] = json!([])),
        ("chat-unknown-field", |request| {
            request["messages"][4]["reasoning_content"] = json!("hm")
        }),
        ("chat-max-completion-tokens", |request| {
            request["max_tokens"] = json!(100)
        }),
        ("chat-temperature", |request| request["temperature"] = json!(0.5)),
        ("chat-tools-with-effort", |request| {
            remove(request, "reasoning_effort")
        }),
        ("chat-tools-with-effort", |request| {
            request["model"] = json!("gpt-5.4-mini");
            request["reasoning_effort"] = json!("low");
        }),
        ("chat-effort-of-others", |request| {
            request["model"] = json!("gpt-4.1")
        }),
        ("chat-stream-options", |request| {
            remove(request, "stream");
            request["stream_options"] = json!({ "include_usage": true });
        }),
        ("chat-tools", |request| request["tools"] = json!([])),
        ("chat-tools", |request| {
            request["tools"][0]["function"]["name"] = json!("a".repeat(65))
        }),
        ("chat-tool-schema", |request| {
            request["tools"][0]["function"]["parameters"] = json!({})
        }),
        ("chat-tool-schema", |request| {
            request["tools"][0]["function"]["parameters"] = json!({ "type": "object" })
        }),
        ("chat-tool-schema", |request| {
            request["tools"][0]["function"]["parameters"]["properties"]["at"] = json!({ "type": "array" });
        }),
        ("chat-strict-schema", |request| {
            request["tools"][0]["function"]["strict"] = json!(true)
        }),
        (
            "chat-answer-schema",
            |request| request["response_format"] = json!({ "type": "json_schema", "json_schema": { "name": "answer", "strict": true, "schema": { "type": "object", "properties": { "a": { "$ref": "#/$defs/s", "description": "d" } }, "required": ["a"], "additionalProperties": false } } }),
        ),
        (
            "chat-answer-schema",
            |request| request["response_format"] = json!({ "type": "json_schema", "json_schema": { "name": "answer", "strict": true, "schema": { "type": "object", "properties": { "a": {} }, "required": ["a"], "additionalProperties": false } } }),
        ),
        (
            "chat-answer-schema",
            |request| request["response_format"] = json!({ "type": "json_schema", "json_schema": { "name": "answer", "strict": true, "schema": { "type": "object", "properties": { "a": { "const": "x" } }, "required": ["a"], "additionalProperties": false } } }),
        ),
        (
            "chat-answer-schema",
            |request| request["response_format"] = json!({ "type": "json_schema", "json_schema": { "name": "answer", "strict": true, "schema": { "type": "object", "properties": { "a": { "type": "object", "properties": {}, "additionalProperties": false, "propertyNames": {} } }, "required": ["a"], "additionalProperties": false } } }),
        ),
        ("chat-roles", |request| {
            request["messages"][0]["role"] = json!("human")
        }),
        ("chat-pairing", |request| {
            drop(request["messages"].as_array_mut().unwrap().remove(3))
        }),
        ("chat-pairing", |request| {
            drop(request["messages"].as_array_mut().unwrap().remove(2))
        }),
        ("chat-content", |request| {
            request["messages"][4]["content"] = Value::Null
        }),
        ("chat-content-null", |request| {
            request["messages"][2]["content"] = Value::Null
        }),
        ("chat-tool-call", |request| {
            request["messages"][2]["tool_calls"][0]["function"]["name"] = json!("functions.look");
        }),
        ("chat-tool-call", |request| {
            request["messages"][2]["tool_calls"][0]["function"]["arguments"] = json!("{\"at\":");
        }),
        ("chat-unique-ids", |request| {
            let call = request["messages"][2]["tool_calls"][0].clone();
            request["messages"][2]["tool_calls"]
                .as_array_mut()
                .unwrap()
                .push(call);
        }),
        ("chat-picture", |request| {
            let part = json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,AAAA" } });
            request["messages"][1]["content"] = json!([part]);
        }),
        ("chat-window", |request| {
            request["messages"][0]["content"] = json!("a".repeat(600_000))
        }),
        ("chat-window-with-answer", |request| {
            request["max_tokens"] = json!(32_700)
        }),
        ("chat-reasoning-content", |request| {
            remove(&mut request["messages"][4], "reasoning_content")
        }),
        ("chat-reasoning-of-others", |request| {
            request["messages"][4]["reasoning"] = json!("hm")
        }),
        ("chat-reasoning-of-others", |request| {
            request["model"] = json!("openai/gpt-oss-120b");
            request["messages"][4]["reasoning_content"] = json!("hm");
        }),
        ("chat-alternating-roles", |request| {
            push(request, json!({ "role": "user", "content": "hello?" }))
        }),
        ("chat-template-devstral", |request| {
            drop(request["messages"].as_array_mut().unwrap().remove(4))
        }),
        ("chat-template-devstral", |request| {
            push(request, json!({ "role": "user", "content": "hello?" }))
        }),
        ("chat-template-gemma", |request| {
            push(
                request,
                json!({ "role": "tool", "tool_call_id": "call12345", "content": "seen" }),
            );
            request["messages"][3] = json!({ "role": "assistant", "content": "", "tool_calls": [good("")["messages"][2]["tool_calls"][0]] });
        }),
        ("chat-user-after-tool", |request| {
            drop(request["messages"].as_array_mut().unwrap().remove(4))
        }),
        ("chat-last-role", |request| {
            push(request, json!({ "role": "assistant", "content": "It is" }))
        }),
        ("chat-system-first", |request| {
            let at = json!({ "role": "system", "content": "be better" });
            request["messages"].as_array_mut().unwrap().insert(5, at);
        }),
        ("chat-nine-character-ids", |request| {
            request["messages"][2]["tool_calls"][0]["id"] = json!("call_12345");
            request["messages"][3]["tool_call_id"] = json!("call_12345");
        }),
    ];
    each_rule_is_broken_once(cases, CHAT_RULES, &[], check, good);
}

#[test]
fn each_model_takes_the_effort_that_it_takes() {
    let takes = |model: &str, effort: Option<&str>| {
        let mut request = good("");
        request["model"] = json!(model);
        remove(&mut request, "reasoning_effort");
        if let Some(effort) = effort {
            request["reasoning_effort"] = json!(effort);
        }
        check("", &request).is_none()
    };
    for model in ["gpt-5.5", "gpt-5.6-sol", "gpt-6-sol"] {
        let taken = [None, Some("low"), Some("none")].map(|effort| takes(model, effort));
        assert_eq!(taken, [false, false, true], "{model}");
    }
    for model in ["gpt-6-astra", "gpt-6.1-terra", "gpt-6.2-sol"] {
        let taken = [None, Some("low"), Some("none")].map(|effort| takes(model, effort));
        assert_eq!(taken, [false; 3], "{model}");
    }
    assert_eq!(
        [None, Some("high"), Some("none")].map(|effort| takes("gpt-5.4", effort)),
        [true, false, true]
    );
    assert_eq!(
        [None, Some("high")].map(|effort| takes("gpt-5", effort)),
        [true, true]
    );
    assert_eq!(
        [None, Some("high")].map(|effort| takes("o3", effort)),
        [true, true]
    );
    assert_eq!(
        [None, Some("high")].map(|effort| takes("gpt-4o", effort)),
        [true, false]
    );
}

#[test]
fn ollama_cuts_off_what_is_too_long_and_others_say_so() {
    let mut request = good("");
    request["messages"][0]["content"] = json!("a".repeat(160_000));
    let body = request.to_string();
    let accepted = ChatServer::new(Dialect::Ollama).check(body.as_bytes()).unwrap();
    assert_eq!(accepted.counted.total(), 4_096);
    assert!(accepted.cut_off > 30_000);
    assert!(
        accepted
            .stream(&ModelAnswer::text("hm"))
            .contains("\"prompt_tokens\":4096")
    );
    let refusal = ChatServer::new(Dialect::LlamaCpp)
        .check(body.as_bytes())
        .unwrap_err();
    assert!(refusal.is_full_window());
    assert_eq!(refusal.body["error"]["n_ctx"], 32_768);
}

#[test]
fn groq_takes_reasoning_back_for_models_that_reason() {
    let mut request = good("chat-reasoning-of-others");
    request["messages"][4]["reasoning"] = json!("hm");
    for (model, is_taken) in [("openai/gpt-oss-120b", true), ("made-up-instruct", false)] {
        request["model"] = json!(model);
        let refusal = check("chat-reasoning-of-others", &request);
        assert_eq!(refusal.is_none(), is_taken, "{model}");
    }
}
