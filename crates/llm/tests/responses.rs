//! OpenAI's Responses: requests, answers in odd forms, and recorded requests that are rebuilt from the
//! messages of a session. The streams in this file are made up; the recorded ones are in `recordings`.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]
#![allow(clippy::disallowed_methods, reason = "tests read files")]

use std::sync::Arc;

use agentx_llm::{Catalog, ErrorCode, NoBlobs, StreamError, build, decode_body, decode_error};
use agentx_types::{
    Access, Api, ContentPart, EnvironmentEvent, MediaPart, MediaSource, Message, ModelParams, ModelRequest,
    ProviderData, RequestPart, Role, StopReason, Timestamp, ToolCallPart, ToolResultPart, ToolSpec,
};
use serde_json::{Value, json};

use crate::common::{self, accumulate, context, decode};

const GPT: &str = "openai/gpt-6-sol";

fn message(index: usize, role: Role, content: Vec<ContentPart>) -> Arc<Message> {
    Arc::new(Message {
        message_id: format!("msg_{index}").as_str().into(),
        role,
        content,
        by: None,
    })
}

fn user(text: &str) -> Arc<Message> {
    message(0, Role::User, vec![ContentPart::text(text)])
}

fn request(model: &str, messages: Vec<Arc<Message>>) -> ModelRequest {
    let read = ToolSpec::new("read", "Reads a file", json!({"type": "object"}), Access::Read);
    ModelRequest {
        model: Catalog::builtin().resolve(model).expect("a known model"),
        params: ModelParams::default(),
        system: vec!["You are terse.".into()],
        messages,
        tools: vec![read].into(),
        plain: false,
        turns: false,
        without: Vec::new(),
        answer_schema: None,
    }
}

fn built(request: &ModelRequest) -> Value {
    let options = Catalog::builtin().wire_options(&request.model);
    serde_json::from_slice(&build(request, &options, &NoBlobs)).expect("a body is JSON")
}

/// The answer of the made-up stream, as a session keeps it.
fn recorded_answer(model: &str) -> Arc<Message> {
    let stream = include_str!("fixtures/responses_full.sse");
    let (events, result) = decode(Api::OpenaiResponses, [stream.as_bytes()]);
    result.expect("a whole stream");
    let mut answer = accumulate(&events).message;
    for part in &mut answer.content {
        if let ContentPart::Thinking(part) = part
            && let Some(provider) = &mut part.provider
        {
            provider.model = Some(model.into());
        }
    }
    Arc::new(answer)
}

fn result(id: &str, content: Vec<ContentPart>, is_error: bool) -> ContentPart {
    ContentPart::ToolResult(ToolResultPart {
        tool_call_id: id.into(),
        name: "read".into(),
        content,
        is_error,
    })
}

#[test]
fn a_model_that_reasons_is_asked_for_reasoning_that_can_be_sent_back() {
    let mut asked = request(GPT, vec![user("hi")]);
    asked.params.max_output_tokens = Some(4);
    asked.params.thinking_tokens = Some(30_000);
    asked.params.temperature = Some(0.5);
    let key = built(&asked)["prompt_cache_key"].clone();
    assert!(key.as_str().is_some_and(|key| key.starts_with("agentx-")));
    assert_eq!(
        built(&asked),
        json!({
            "model": "gpt-6-sol",
            "instructions": "You are terse.",
            "input": [{"type": "message", "role": "user", "content": "hi"}],
            "tools": [{
                "type": "function", "name": "read", "description": "Reads a file",
                "parameters": {"type": "object", "properties": {}}, "strict": false,
            }],
            "store": false,
            "stream": true,
            "max_output_tokens": 16,
            "include": ["reasoning.encrypted_content"],
            "reasoning": {"effort": "high", "summary": "auto"},
            "prompt_cache_key": key,
        })
    );
}

#[test]
fn a_model_that_does_not_reason_is_asked_for_none() {
    let mut asked = request("openai/gpt-4.1", vec![user("hi")]);
    asked.params.temperature = Some(0.5);
    let body = built(&asked);
    assert_eq!(body["temperature"], 0.5);
    assert!(
        body.get("include").is_none() && body.get("reasoning").is_none(),
        "{body}"
    );
    for name in ["openai/gpt-5-chat-latest", "openai/gpt-3.5-turbo"] {
        let body = built(&request(name, vec![user("hi")]));
        assert!(body.get("include").is_none(), "{name}: {body}");
    }
}

#[test]
fn settings_that_were_refused_are_left_out() {
    let mut asked = request(GPT, vec![user("hi")]);
    asked.params.thinking_tokens = Some(30_000);
    asked.params.max_output_tokens = Some(4_000);
    asked.without = vec![
        RequestPart::ReasoningEffort,
        RequestPart::MaxTokens,
        RequestPart::CacheKey,
    ];
    let body = built(&asked);
    assert_eq!(body["reasoning"], json!({"summary": "auto"}));
    assert!(body.get("max_output_tokens").is_none() && body.get("prompt_cache_key").is_none());
    asked.without = vec![RequestPart::ReasoningSummary];
    let body = built(&asked);
    assert_eq!(body["reasoning"], json!({"effort": "high"}));
    assert_eq!(body["include"], json!(["reasoning.encrypted_content"]));
    asked.without.clear();
    asked.plain = true;
    let body = built(&asked);
    assert_eq!(body["reasoning"], json!({"effort": "high"}));
    assert!(body.get("include").is_none());
}

#[test]
fn an_answer_is_sent_back_item_by_item() {
    let results = message(
        2,
        Role::Tool,
        vec![
            result("call_a", vec![ContentPart::text("text of a")], false),
            result("call_b", vec![ContentPart::text("no such line")], true),
        ],
    );
    let asked = request(GPT, vec![user("read"), recorded_answer("gpt-6-sol"), results]);
    let body = built(&asked);
    let items = body["input"].as_array().expect("items");
    assert_eq!(
        items[1..],
        [
            json!({
                "type": "reasoning", "encrypted_content": "gAAAwhole",
                "summary": [
                    {"type": "summary_text", "text": "Two files."},
                    {"type": "summary_text", "text": "Read both."},
                ],
            }),
            json!({
                "type": "message", "id": items[2]["id"], "status": "completed", "role": "assistant",
                "phase": "commentary",
                "content": [{"type": "output_text", "text": "好的, reading.", "annotations": []}],
            }),
            json!({"type": "function_call", "call_id": "call_a", "name": "read", "arguments": "{\"path\":\"a.txt\"}"}),
            json!({"type": "custom_tool_call", "call_id": "call_b", "name": "patch", "input": "+ a line"}),
            json!({
                "id": "ws_1", "type": "web_search_call", "status": "completed",
                "action": {"type": "search", "query": "agents"},
            }),
            json!({"type": "function_call_output", "call_id": "call_a", "output": "text of a"}),
            json!({"type": "custom_tool_call_output", "call_id": "call_b", "output": "Error: no such line"}),
        ]
    );
}

#[test]
fn another_model_is_sent_the_words_alone() {
    let asked = request(
        "openai/gpt-6-luna",
        vec![user("read"), recorded_answer("gpt-6-sol"), user("go on")],
    );
    let body = built(&asked);
    let kinds: Vec<&str> = body["input"]
        .as_array()
        .expect("items")
        .iter()
        .filter_map(|item| item["type"].as_str())
        .collect();
    assert!(!kinds.contains(&"reasoning"), "{kinds:?}");
    assert!(kinds.contains(&"function_call"), "{kinds:?}");
}

#[test]
fn reasoning_that_nothing_follows_is_left_out() {
    let mut answer = recorded_answer("gpt-6-sol").as_ref().clone();
    answer.content.truncate(1);
    assert!(matches!(answer.content[..], [ContentPart::Thinking(_)]));
    let body = built(&request(GPT, vec![user("read"), Arc::new(answer), user("go on")]));
    assert_eq!(body["input"].as_array().expect("items").len(), 2, "{body}");
}

#[test]
fn media_are_sent_as_parts_and_in_results() {
    let picture = || {
        ContentPart::Image(MediaPart {
            media_type: "image/png".into(),
            source: MediaSource::Url("https://h.example/a.png".into()),
            name: None,
        })
    };
    let pdf = ContentPart::File(MediaPart {
        media_type: "application/pdf".into(),
        source: MediaSource::Base64("JVBERi0=".into()),
        name: Some("a.pdf".into()),
    });
    let asked = request(
        GPT,
        vec![
            message(0, Role::User, vec![ContentPart::text("look"), picture(), pdf]),
            message(
                1,
                Role::Assistant,
                vec![ContentPart::ToolCall(ToolCallPart {
                    tool_call_id: "c".into(),
                    name: "read".into(),
                    input: json!({}),
                    provider: None,
                })],
            ),
            message(
                2,
                Role::Tool,
                vec![result(
                    "c",
                    vec![ContentPart::text("a picture"), picture()],
                    false,
                )],
            ),
        ],
    );
    let body = built(&asked);
    let image = json!({"type": "input_image", "image_url": "https://h.example/a.png"});
    assert_eq!(
        body["input"][0]["content"],
        json!([
            {"type": "input_text", "text": "look"},
            image,
            {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0="},
        ])
    );
    assert_eq!(
        body["input"][2]["output"],
        json!([{"type": "input_text", "text": "a picture"}, image])
    );
}

#[test]
fn ids_that_are_too_long_stay_equal_for_call_and_result() {
    let long = "call_".repeat(20);
    let call = ContentPart::ToolCall(ToolCallPart {
        tool_call_id: long.as_str().into(),
        name: "functions.read".into(),
        input: json!("not an object"),
        provider: None,
    });
    let asked = request(
        GPT,
        vec![
            user("read"),
            message(1, Role::Assistant, vec![call]),
            message(
                2,
                Role::Tool,
                vec![result(&long, vec![ContentPart::text("done")], false)],
            ),
        ],
    );
    let body = built(&asked);
    let id = body["input"][1]["call_id"].as_str().expect("an id").to_owned();
    assert!(id.len() <= 64, "{id}");
    assert_eq!(body["input"][2]["call_id"], id.as_str());
    assert_eq!(body["input"][1]["name"], "functions_read");
    assert_eq!(body["input"][1]["arguments"], "{}");
}

/// Decodes events without names, each with its `type` in the data.
fn decoded(events: &[Value]) -> (Vec<EnvironmentEvent>, Result<(), StreamError>) {
    let stream: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    decode(Api::OpenaiResponses, [stream.as_bytes()])
}

#[test]
fn a_response_that_comes_only_whole_is_the_answer() {
    let output = json!([
        {"type": "message", "content": [{"type": "output_text", "text": "Hi"}]},
        {"type": "function_call", "call_id": "c", "name": "read", "arguments": "{\"path\":\"a\"}"},
    ]);
    let response = json!({"id": "resp_1", "model": "m", "status": "completed", "output": output});
    let (events, result) = decoded(&[json!({"type": "response.completed", "response": response})]);
    result.expect("a whole answer");
    let answer = accumulate(&events);
    assert_eq!(answer.message.text(), "Hi");
    assert_eq!(answer.stop_reason, StopReason::ToolUse);
    let mut body = Vec::new();
    let bytes = response.to_string();
    decode_body(Api::OpenaiResponses, context(), bytes.as_bytes(), &mut body).expect("a whole answer");
    assert_eq!(accumulate(&body).message.content, answer.message.content);
}

#[test]
fn tokens_of_a_tier_above_the_list_price_are_unpriced() {
    for (tier, unpriced) in [("default", 0), ("priority", 12)] {
        let response = json!({"id": "resp_1", "model": "m", "status": "completed", "output": [],
            "service_tier": tier, "usage": {"input_tokens": 10, "output_tokens": 2}});
        let (events, result) = decoded(&[json!({"type": "response.completed", "response": response})]);
        result.expect("a whole answer");
        assert_eq!(accumulate(&events).usage.unpriced_tokens, unpriced, "{tier}");
    }
}

#[test]
fn a_call_that_was_cut_off_is_not_made_up() {
    let call = json!({"type": "function_call", "call_id": "c", "name": "read", "arguments": ""});
    let (events, result) = decoded(&[
        json!({"type": "response.created", "response": {"id": "resp_1", "model": "m"}}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": call}),
        json!({"type": "response.function_call_arguments.delta", "output_index": 0, "delta": "{\"pa"}),
        json!({"type": "response.incomplete", "response": {
            "id": "resp_1", "status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"},
        }}),
    ]);
    result.expect("an answer that ended");
    let answer = accumulate(&events);
    assert_eq!(answer.stop_reason, StopReason::MaxTokens);
    let invalid = events.iter().find_map(|event| match event {
        EnvironmentEvent::ToolCall(call) => call.invalid.as_ref(),
        _ => None,
    });
    assert_eq!(
        invalid.expect("the call says why it has no arguments").raw,
        "{\"pa"
    );
}

#[test]
fn a_failure_is_an_error_in_the_providers_words() {
    let created = json!({"type": "response.created", "response": {"id": "resp_1", "model": "m"}});
    let failed = json!({"type": "response.failed", "response": {
        "id": "resp_1", "status": "failed", "output": [],
        "error": {"code": "rate_limit_exceeded", "message": "Rate limit reached for gpt-made-up"},
        "usage": {"input_tokens": 7, "output_tokens": 0},
    }});
    let error = json!({
        "type": "error", "code": "server_error", "message": "The server had an error", "param": null,
    });
    for (event, code, words, counted) in [
        (failed, ErrorCode::RateLimited, "Rate limit reached", 7),
        (error, ErrorCode::ServerError, "The server had an error", 0),
    ] {
        let (events, result) = decoded(&[created.clone(), event]);
        let Err(StreamError::Provider(error)) = result else {
            panic!("{result:?}");
        };
        assert_eq!(error.code, code, "{error}");
        assert!(error.message.contains(words), "{error}");
        assert_eq!(accumulate(&events).usage.input_tokens, counted);
    }
}

#[test]
fn refusals_name_what_is_left_out() {
    for (words, param, part) in [
        (
            "Your organization must be verified to generate reasoning summaries.",
            Some("reasoning.summary"),
            RequestPart::ReasoningSummary,
        ),
        (
            "Encrypted content is not supported with this model.",
            Some("include"),
            RequestPart::Extras,
        ),
        (
            "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
            Some("reasoning.effort"),
            RequestPart::ReasoningEffort,
        ),
        (
            "The encrypted content gAAA...c90= could not be verified.",
            None,
            RequestPart::Thinking,
        ),
        (
            "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
            Some("input"),
            RequestPart::Thinking,
        ),
        (
            "No tool output found for function call call_1.",
            Some("input"),
            RequestPart::ToolCalls,
        ),
    ] {
        let body = json!({"error": {"message": words, "type": "invalid_request_error", "param": param}});
        let error = decode_error(400, &[], body.to_string().as_bytes(), Timestamp(0));
        assert_eq!(error.refused, Some(part), "{words}");
    }
}

// --- Recorded requests ---

/// A recorded request as our own messages. Ids of items are not kept, and neither is reasoning without
/// encrypted content.
fn from_recorded(body: &Value) -> ModelRequest {
    let string = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut asked = request(&format!("openai/{}", string(&body["model"])), Vec::new());
    asked.system = vec![string(&body["instructions"]).into()];
    let tools = body["tools"].as_array().into_iter().flatten();
    asked.tools = tools
        .filter(|tool| tool["type"] == "function")
        .map(|tool| {
            let schema = tool["parameters"].clone();
            ToolSpec::new(
                string(&tool["name"]),
                string(&tool["description"]),
                schema,
                Access::Internal,
            )
        })
        .collect();
    for (index, item) in body["input"].as_array().into_iter().flatten().enumerate() {
        let (role, part) = match item["type"].as_str().unwrap_or("message") {
            "message" => {
                let role = match item["role"].as_str() {
                    Some("assistant") => Role::Assistant,
                    Some("user") => Role::User,
                    _ => Role::System,
                };
                let text = match &item["content"] {
                    Value::Array(parts) => parts.iter().map(|part| string(&part["text"])).collect(),
                    text => string(text),
                };
                (role, ContentPart::text(text))
            }
            "function_call" => {
                let input = serde_json::from_str(&string(&item["arguments"])).expect("JSON");
                let call = ToolCallPart {
                    tool_call_id: string(&item["call_id"]).as_str().into(),
                    name: string(&item["name"]),
                    input,
                    provider: None,
                };
                (Role::Assistant, ContentPart::ToolCall(call))
            }
            "function_call_output" => {
                let text = ContentPart::text(string(&item["output"]));
                (Role::Tool, result(&string(&item["call_id"]), vec![text], false))
            }
            "reasoning" => {
                let part = agentx_types::ThinkingPart {
                    text: String::new(),
                    provider: Some(ProviderData {
                        api: "openai-responses".into(),
                        model: None,
                        data: item.clone(),
                    }),
                };
                (Role::Assistant, ContentPart::Thinking(part))
            }
            _ => continue,
        };
        // Parts of one answer are one message: reasoning belongs to what follows it.
        let is_same = asked
            .messages
            .last()
            .is_some_and(|last| last.role == role && role == Role::Assistant);
        if is_same && let Some(last) = asked.messages.last_mut() {
            Arc::make_mut(last).content.push(part);
        } else {
            asked.messages.push(message(index, role, vec![part]));
        }
    }
    asked
}

/// Returns the parts of a request that both sides can express.
fn normal(body: &Value) -> Value {
    let items = body["input"].as_array().into_iter().flatten();
    let items: Vec<Value> = items
        .filter_map(|item| match item["type"].as_str().unwrap_or("message") {
            "message" => {
                let text: String = match &item["content"] {
                    Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
                    text => text.as_str().unwrap_or_default().to_owned(),
                };
                let role = match item["role"].as_str() {
                    Some("system") => "developer",
                    role => role.unwrap_or_default(),
                };
                Some(json!([role, text]))
            }
            "function_call" => {
                let arguments: Value = serde_json::from_str(item["arguments"].as_str()?).ok()?;
                Some(json!(["call", item["call_id"], item["name"], arguments]))
            }
            "function_call_output" => Some(json!(["output", item["call_id"], item["output"]])),
            "reasoning" => item["encrypted_content"]
                .as_str()
                .map(|kept| json!(["reasoning", kept])),
            _ => None,
        })
        .collect();
    let tools = body["tools"].as_array().into_iter().flatten();
    let tools: Vec<Value> = tools
        .filter(|tool| tool["type"] == "function")
        .map(|tool| json!([tool["name"], tool["description"]]))
        .collect();
    let instructions = body["instructions"].as_str().unwrap_or_default();
    json!([body["model"], instructions, items, tools])
}

#[test]
fn recorded_requests_are_built_again() {
    let Some(recordings) = common::recordings("20 recorded requests of Responses") else {
        return;
    };
    let mut checked = 0;
    for recording in common::all(&recordings) {
        let body = recording
            .json("request.json")
            .map(|request| request["body"].clone());
        let is_one = recording.api == Api::OpenaiResponses;
        let Some(body) = body.filter(|body| is_one && body["input"].is_array()) else {
            continue;
        };
        assert_eq!(
            normal(&built(&from_recorded(&body))),
            normal(&body),
            "{}",
            recording.name()
        );
        checked += 1;
    }
    assert!(checked >= 18, "{checked}");
}

#[test]
fn chunk_fixtures_of_others_decode_too() {
    let Some(recordings) = common::recordings("6 chunk fixtures of Responses") else {
        return;
    };
    let mut checked = 0;
    for file in common::files(&recordings.join("openai").join("vercel_fixtures")) {
        let name = file.display().to_string();
        let text = std::fs::read_to_string(&file).expect("fixtures are text");
        if name.ends_with("lmstudio-basic.1.json") {
            let mut events = Vec::new();
            decode_body(Api::OpenaiResponses, context(), text.as_bytes(), &mut events).expect(&name);
            let whole = serde_json::from_str(&text).expect("fixtures are valid");
            common::golden::check(Api::OpenaiResponses, &name, &accumulate(&events), &whole);
        } else if name.ends_with(".chunks.jsonl") {
            let stream: String = text.lines().map(|line| format!("data: {line}\n\n")).collect();
            let (events, result) = decode(Api::OpenaiResponses, [stream.as_bytes()]);
            match result {
                Ok(()) => assert!(!accumulate(&events).message.content.is_empty(), "{name}"),
                Err(StreamError::Provider(error)) => {
                    assert!(name.contains("openai-error"), "{name}: {error}");
                    assert_eq!(error.code, ErrorCode::Billing, "{error}");
                }
                Err(error) => panic!("{name}: {error}"),
            }
        } else {
            continue;
        }
        checked += 1;
    }
    assert!(checked >= 6, "{checked}");
}
