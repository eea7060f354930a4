//! Gemini's Interactions API: requests, answers in odd forms, and rebuilt recorded requests. The streams
//! written in this file are made up.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests read files and print"
)]

use std::sync::Arc;

use agentx_llm::{Accumulated, Catalog, ErrorCode, NoBlobs, StreamError, WireOptions, build, decode_body};
use agentx_types::{
    Access, Api, ContentPart, EnvironmentEvent, MediaPart, MediaSource, Message, ModelParams, ModelRequest,
    ProviderData, RequestPart, Role, StopReason, TextPart, ThinkingPart, ToolCallPart, ToolResultPart,
    ToolSpec, Vocabulary as _,
};
use serde_json::{Value, json};

use crate::common::{self, accumulate, context, decode};

const API: Api = Api::GeminiInteractions;

fn message(index: usize, role: Role, content: Vec<ContentPart>) -> Arc<Message> {
    Arc::new(Message {
        message_id: format!("msg_{index}").as_str().into(),
        role,
        content,
        by: None,
    })
}

fn request(model: &str, messages: Vec<Arc<Message>>) -> ModelRequest {
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    let read = ToolSpec::new("read", "Reads a file", schema, Access::Read);
    let mut model = Catalog::builtin().resolve(model).expect("a known model");
    model.api = API;
    ModelRequest {
        model,
        params: ModelParams::default(),
        system: vec!["You are terse.".into(), "And kind.".into()],
        messages,
        tools: vec![read].into(),
        plain: false,
        turns: false,
        without: Vec::new(),
        answer_schema: None,
    }
}

fn built(request: &ModelRequest) -> Value {
    serde_json::from_slice(&build(request, &WireOptions::default(), &NoBlobs)).expect("a body is JSON")
}

fn full() -> (Vec<EnvironmentEvent>, Accumulated) {
    let text = include_str!("fixtures/interactions_full.sse");
    let (events, result) = decode(API, [text.as_bytes()]);
    result.expect("a whole stream");
    let answer = accumulate(&events);
    (events, answer)
}

fn stream(events: &[Value]) -> (Vec<EnvironmentEvent>, Result<(), StreamError>) {
    let text: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    decode(API, [text.as_bytes()])
}

fn completed(status: &str) -> Value {
    json!({"event_type": "interaction.completed", "interaction": {"status": status, "usage": {"total_input_tokens": 9}}})
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
fn every_kind_of_step_becomes_its_events() {
    let expected = json!([
        ["stream_start", {"message_id": "v1_1", "model": "gemini-3.8-flash", "attempt": 1}],
        ["thinking_chunk", {"text": "**Planning**\n\nI look at two files."}],
        ["provider_part", {"api": "gemini-interactions", "attach": true, "data": {"signature": "c2lnMQ=="}}],
        ["text_chunk", {"text": "Ich lese "}],
        ["text_chunk", {"text": "beide – 🦀."}],
        ["provider_part", {"api": "gemini-interactions", "attach": false, "data":
            {"type": "google_search_call", "id": "s1", "arguments": {"queries": ["a"]}}}],
        ["tool_call_start", {"tool_call_id": "call_1", "name": "read"}],
        ["tool_call_chunk", {"tool_call_id": "call_1", "json": "{\"path\":"}],
        ["tool_call_chunk", {"tool_call_id": "call_1", "json": "\"a.md\"}"}],
        ["tool_call", {"tool_call_id": "call_1", "name": "read", "input": {"path": "a.md"}}],
        ["tool_call_start", {"tool_call_id": "call_2", "name": "read"}],
        ["tool_call", {"tool_call_id": "call_2", "name": "read", "input": {}}],
        ["provider_part", {"api": "gemini-interactions", "attach": true, "data": {"signature": "c2lnMg=="}}],
        ["usage", {"usage": {"input_tokens": 25, "output_tokens": 41, "cache_read_tokens": 100, "reasoning_tokens": 11}}],
        ["stream_end", {"stop_reason": "tool_use", "raw": "requires_action"}],
    ]);
    let pair = |event: &EnvironmentEvent| {
        let payload: Value = serde_json::from_slice(&event.payload_json()).expect("payloads are JSON");
        json!([event.tag(), payload])
    };
    let got: Vec<Value> = full().0.iter().map(pair).collect();
    assert_eq!(got, *expected.as_array().unwrap());
}

#[test]
fn a_body_is_what_its_stream_is() {
    let body = json!({
        "id": "v1_1", "status": "requires_action", "model": "gemini-3.8-flash", "object": "interaction",
        "steps": [
            {"type": "thought", "signature": "c2lnMQ==", "summary": [{"type": "text", "text": "**Planning**\n\nI look at two files."}]},
            {"type": "model_output", "content": [{"type": "text", "text": "Ich lese beide – 🦀."}]},
            {"type": "google_search_call", "id": "s1", "arguments": {"queries": ["a"]}},
            {"type": "function_call", "id": "call_1", "name": "read", "arguments": {"path": "a.md"}},
            {"type": "function_call", "id": "call_2", "name": "read", "arguments": {}, "signature": "c2lnMg=="},
        ],
        "usage": {"total_input_tokens": 120, "total_cached_tokens": 100, "total_output_tokens": 30, "total_tool_use_tokens": 5,
            "total_thought_tokens": 11},
    });
    let mut events = Vec::new();
    decode_body(API, context(), body.to_string().as_bytes(), &mut events).expect("a whole answer");
    assert_eq!(accumulate(&events), full().1);
}

#[test]
fn what_came_is_sent_back_to_the_same_model_alone() {
    let mut answer = full().1.message;
    for part in &mut answer.content {
        let provider = match part {
            ContentPart::Text(TextPart { provider, .. })
            | ContentPart::Thinking(ThinkingPart { provider, .. })
            | ContentPart::ToolCall(ToolCallPart { provider, .. }) => provider.as_mut(),
            ContentPart::Opaque(part) => Some(&mut part.provider),
            _ => None,
        };
        if let Some(provider) = provider {
            provider.model = Some("gemini-3.8-flash".into());
        }
    }
    let results = ["call_1", "call_2"].map(|id| result(id, vec![ContentPart::text("ok")], id == "call_2"));
    let messages = vec![
        message(0, Role::User, vec![ContentPart::text("read")]),
        Arc::new(answer),
        message(2, Role::Tool, results.into()),
    ];
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let thought = json!({"type": "thought", "signature": "c2lnMQ==", "summary": text("**Planning**\n\nI look at two files.")});
    let search = json!({"type": "google_search_call", "id": "s1", "arguments": {"queries": ["a"]}});
    let mut second = json!({"type": "function_call", "id": "call_2", "name": "read", "arguments": {}, "signature": "c2lnMg=="});
    let expected = |own: &[&Value], second: &Value| {
        let [thought, search] = own else {
            let [] = own else { panic!("both or none") };
            return [
                json!({"type": "user_input", "content": text("read")}),
                json!({"type": "model_output", "content": text("Ich lese beide – 🦀.")}),
                json!({"type": "function_call", "id": "call_1", "name": "read", "arguments": {"path": "a.md"}}),
                second.clone(),
                json!({"type": "function_result", "call_id": "call_1", "name": "read", "result": "ok"}),
                json!({"type": "function_result", "call_id": "call_2", "name": "read", "result": "ok", "is_error": true}),
            ]
            .to_vec();
        };
        [
            json!({"type": "user_input", "content": text("read")}),
            (*thought).clone(),
            json!({"type": "model_output", "content": text("Ich lese beide – 🦀.")}),
            (*search).clone(),
            json!({"type": "function_call", "id": "call_1", "name": "read", "arguments": {"path": "a.md"}}),
            second.clone(),
            json!({"type": "function_result", "call_id": "call_1", "name": "read", "result": "ok"}),
            json!({"type": "function_result", "call_id": "call_2", "name": "read", "result": "ok", "is_error": true}),
        ]
        .to_vec()
    };
    let body = built(&request("google/gemini-3.8-flash", messages.clone()));
    assert_eq!(body["input"], json!(expected(&[&thought, &search], &second)));
    let body = built(&request("google/gemini-4-argon", messages));
    second.as_object_mut().unwrap().remove("signature");
    assert_eq!(body["input"], json!(expected(&[], &second)));
}

#[test]
fn a_request_says_what_its_settings_say() {
    let hi = || vec![message(0, Role::User, vec![ContentPart::text("hi")])];
    let mut asked = request("google/gemini-3.8-flash", hi());
    asked.params.thinking_tokens = Some(100);
    asked.params.max_output_tokens = Some(1_000);
    asked.params.temperature = Some(0.5);
    let expected = json!({
        "model": "gemini-3.8-flash",
        "input": [{"type": "user_input", "content": [{"type": "text", "text": "hi"}]}],
        "system_instruction": "You are terse.\n\nAnd kind.",
        "tools": [{"type": "function", "name": "read", "description": "Reads a file",
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}}],
        "generation_config": {"max_output_tokens": 1_000, "thinking_summaries": "auto", "thinking_level": "low"},
        "store": false, "stream": true,
    });
    assert_eq!(built(&asked), expected);
    asked.without = vec![
        RequestPart::ReasoningEffort,
        RequestPart::ReasoningSummary,
        RequestPart::MaxTokens,
    ];
    assert_eq!(built(&asked).get("generation_config"), None);
    let mut older = request("google/gemini-2.5-pro", hi());
    older.params.thinking_tokens = Some(100);
    assert_eq!(
        built(&older)["generation_config"],
        json!({"thinking_summaries": "auto"}),
        "it knows no level"
    );
}

#[test]
fn media_stand_where_the_api_takes_them() {
    let medium = |media_type: &str, data: &str| MediaPart {
        media_type: media_type.into(),
        source: MediaSource::Base64(data.into()),
        name: None,
    };
    let png =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
    let picture = || ContentPart::Image(medium("image/png", png));
    let pdf = || ContentPart::File(medium("application/pdf", "JVBERi0="));
    let call = ContentPart::ToolCall(ToolCallPart {
        tool_call_id: "c1".into(),
        name: "read".into(),
        input: json!({}),
        provider: None,
    });
    let messages = vec![
        message(0, Role::User, vec![picture(), pdf()]),
        message(1, Role::Assistant, vec![call]),
        message(
            2,
            Role::Tool,
            vec![result(
                "c1",
                vec![ContentPart::text("seen"), picture(), pdf()],
                false,
            )],
        ),
    ];
    let input = built(&request("google/gemini-3.8-flash", messages))["input"].clone();
    let kinds = |content: &Value| -> Vec<String> {
        let content = content.as_array().unwrap().iter();
        content
            .map(|part| part["type"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(kinds(&input[0]["content"]), ["image", "document"]);
    assert_eq!(input[0]["content"][1]["mime_type"], "application/pdf");
    assert_eq!(kinds(&input[2]["result"]), ["text", "image"]);
    assert_eq!(
        (&input[3]["type"], kinds(&input[3]["content"])),
        (&json!("user_input"), vec!["document".to_owned()])
    );
}

#[test]
fn a_conversation_begins_and_ends_with_a_person() {
    let thinking = ContentPart::Thinking(ThinkingPart {
        text: "Hm".into(),
        provider: Some(ProviderData {
            api: "gemini-interactions".into(),
            model: None,
            data: json!({"signature": "s"}),
        }),
    });
    let said = message(0, Role::Assistant, vec![ContentPart::text("Hm."), thinking]);
    let input = built(&request("google/gemini-3.8-flash", vec![said]))["input"].clone();
    let kinds: Vec<&str> = input
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        ["user_input", "model_output", "user_input"],
        "a thought alone is left out"
    );
}

#[test]
fn why_it_stopped_is_told() {
    let begun = json!({"event_type": "interaction.created", "interaction": {"id": "v1_1", "model": "m"}});
    for (status, expected) in [
        ("completed", StopReason::EndTurn),
        ("incomplete", StopReason::MaxTokens),
        ("continuation_required", StopReason::MaxTokens),
        ("made_up", StopReason::Other),
    ] {
        let (events, result) = stream(&[begun.clone(), completed(status)]);
        result.expect("a whole stream");
        assert_eq!(accumulate(&events).stop_reason, expected, "{status}");
    }
    let (events, result) = stream(std::slice::from_ref(&begun));
    assert_eq!((result, events.len()), (Err(StreamError::Truncated), 1));
    let failed = json!({"event_type": "interaction.completed", "interaction": {"status": "failed",
        "errors": [{"code": "unavailable", "message": "Try later"}], "usage": {"total_input_tokens": 9}}});
    let error = json!({"event_type": "error", "error": {"code": "unavailable", "message": "Try later"}});
    for end in [failed, error] {
        let Err(StreamError::Provider(error)) = stream(&[begun.clone(), end]).1 else {
            panic!("an error")
        };
        assert_eq!(
            (error.code, error.message.as_str()),
            (ErrorCode::Overloaded, "Try later")
        );
    }
}

#[test]
fn what_was_counted_at_the_end_of_a_step_is_said_though_the_answer_breaks_off() {
    let usage = json!({"total_input_tokens": 10_000, "total_thought_tokens": 20_000});
    let (events, result) = stream(&[
        json!({"event_type": "interaction.created", "interaction": {"id": "v1_1", "model": "m"}}),
        json!({"event_type": "step.start", "index": 0, "step": {"type": "thought"}}),
        json!({"event_type": "step.stop", "index": 0, "usage": usage}),
    ]);
    assert_eq!(result, Err(StreamError::Truncated));
    let usage = accumulate(&events).usage;
    assert_eq!((usage.input_tokens, usage.output_tokens), (10_000, 20_000));
}

#[test]
fn a_call_that_was_cut_off_has_no_arguments_and_says_why() {
    let start = json!({"event_type": "step.start", "index": 0, "step": {"type": "function_call", "id": "c", "name": "read", "arguments": {}}});
    let delta = json!({"event_type": "step.delta", "index": 0, "delta": {"type": "arguments_delta", "arguments": "{\"pa"}});
    let (events, result) = stream(&[start, delta, completed("incomplete")]);
    result.expect("a whole stream");
    let invalid = events.iter().any(|event| match event {
        EnvironmentEvent::ToolCall(call) => call.invalid.is_some() && call.input == json!({}),
        _ => false,
    });
    assert!(invalid, "{events:?}");
}

// --- Recordings ---

/// Returns the content of a stream's events, without our decoder: texts, thoughts with their signatures,
/// calls.
fn said(events: &[Value]) -> (String, Vec<String>, Vec<Value>, Value) {
    let (mut text, mut signatures, mut calls, mut usage) =
        (String::new(), Vec::new(), Vec::new(), Value::Null);
    let mut arguments = String::new();
    for event in events {
        let delta = &event["delta"];
        match (
            event["event_type"].as_str().unwrap_or_default(),
            delta["type"].as_str().unwrap_or_default(),
        ) {
            ("step.start", _) if event["step"]["type"] == "function_call" => {
                arguments.clear();
                calls.push(json!([event["step"]["id"], event["step"]["name"]]));
            }
            ("step.delta", "text") => text.push_str(delta["text"].as_str().unwrap()),
            ("step.delta", "thought_signature") => {
                signatures.push(delta["signature"].as_str().unwrap().to_owned())
            }
            ("step.delta", "arguments_delta") => arguments.push_str(delta["arguments"].as_str().unwrap()),
            ("step.stop", _) if !arguments.is_empty() => {
                let parsed: Value = serde_json::from_str(&std::mem::take(&mut arguments)).expect("arguments");
                calls.last_mut().unwrap().as_array_mut().unwrap().push(parsed);
            }
            ("interaction.completed", _) => usage = event["interaction"]["usage"].clone(),
            _ => {}
        }
    }
    (text, signatures, calls, usage)
}

fn check(name: &str, answer: &Accumulated, events: &[Value]) {
    let (text, signatures, calls, usage) = said(events);
    let (mut got_signatures, mut got_calls) = (Vec::new(), Vec::new());
    for part in &answer.message.content {
        match part {
            ContentPart::Thinking(part) => {
                let own = part.provider.as_ref().expect("a signature");
                got_signatures.push(own.data["signature"].as_str().expect("a signature").to_owned());
            }
            ContentPart::ToolCall(call) => got_calls.push(json!([call.tool_call_id, call.name, call.input])),
            _ => {}
        }
    }
    assert_eq!(answer.message.text(), text, "{name}: text");
    assert_eq!((got_signatures, got_calls), (signatures, calls), "{name}");
    let number = |key: &str| usage[key].as_u64().unwrap_or(0);
    let got = answer.usage;
    assert_eq!(
        got.input_tokens + got.cache_read_tokens + got.output_tokens,
        number("total_tokens"),
        "{name}: total"
    );
    assert_eq!(
        got.reasoning_tokens,
        number("total_thought_tokens"),
        "{name}: thoughts"
    );
}

#[test]
fn recorded_streams_are_what_their_events_say_and_break_anywhere() {
    let Some(recordings) = common::recordings("5 recorded streams of Interactions") else {
        return;
    };
    let mut streams: Vec<(String, String)> = Vec::new();
    for recording in common::all(&recordings) {
        if recording.api == API {
            let bytes = recording.bytes("response.sse").expect("a stream");
            streams.push((recording.name(), String::from_utf8(bytes).expect("UTF-8")));
        }
    }
    for file in common::files(&recordings.join("gemini").join("vercel_fixtures")) {
        let text = std::fs::read_to_string(&file).expect("fixtures are text");
        if text.contains("\"event_type\"") {
            let stream = text.lines().map(|line| format!("data: {line}\n\n")).collect();
            streams.push((file.display().to_string(), stream));
        }
    }
    for (name, text) in &streams {
        let (events, result) = decode(API, [text.as_bytes()]);
        result.unwrap_or_else(|error| panic!("{name}: {error}"));
        let lines = text
            .lines()
            .filter_map(|line| line.strip_prefix("data: "))
            .filter(|data| *data != "[DONE]");
        let recorded: Vec<Value> = lines
            .map(|data| serde_json::from_str(data).expect("an event"))
            .collect();
        check(name, &accumulate(&events), &recorded);
        for cut in 0..text.len() {
            let (events, result) = decode(API, [&text.as_bytes()[..cut]]);
            let whole = matches!(events.last(), Some(EnvironmentEvent::StreamEnd(_)));
            assert_eq!(result.is_ok(), whole, "{name} cut at {cut}");
        }
    }
    println!("recorded streams of Interactions: {}", streams.len());
    assert!(streams.len() >= 5, "{}", streams.len());
}

#[test]
fn recorded_requests_are_built_again() {
    let Some(recordings) = common::recordings("1 recorded request of Interactions") else {
        return;
    };
    let mut checked = 0;
    for recording in common::all(&recordings)
        .into_iter()
        .filter(|recording| recording.api == API)
    {
        let body = recording.json("request.json").expect("a request")["body"].clone();
        let steps = body["input"].as_array().expect("steps").iter().enumerate();
        let messages = steps.map(|(index, step)| {
            assert_eq!(step["type"], "user_input", "other steps are not recorded yet");
            let content = step["content"].as_array().expect("content").iter();
            let parts = content.map(|part| ContentPart::text(part["text"].as_str().unwrap_or_default()));
            message(index, Role::User, parts.collect())
        });
        let mut asked = request("google/gemini-3-flash-preview", messages.collect());
        asked.system.clear();
        asked.tools = [].into();
        asked.params.thinking_tokens = Some(10_000);
        let mut got = built(&asked);
        assert_eq!(
            got["generation_config"]["thinking_level"],
            body["generation_config"]["thinking_level"]
        );
        assert_eq!(got["store"], false);
        for key in ["generation_config", "store"] {
            got[key] = body[key].clone();
        }
        assert_eq!(got, body, "{}", recording.name());
        checked += 1;
    }
    assert!(checked >= 1, "{checked}");
}
