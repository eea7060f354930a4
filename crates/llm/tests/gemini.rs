//! Gemini: requests, answers in odd forms, and recorded requests that are rebuilt from the messages of a
//! session. The streams written in this file are made up.
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

use agentx_llm::{
    Accumulated, Catalog, ErrorCode, NoBlobs, StreamContext, StreamDecoder, StreamError, WireOptions, build,
    decode_body, decode_error,
};
use agentx_types::{
    Access, Api, ContentPart, EnvironmentEvent, MediaPart, MediaSource, Message, ModelParams, ModelRequest,
    ProviderData, RequestPart, Role, StopReason, TextPart, ThinkingPart, Timestamp, ToolCallPart,
    ToolResultPart, ToolSpec, Vocabulary as _,
};
use serde_json::{Value, json};

use crate::common::{self, accumulate, context, decode, golden};

const FLASH: &str = "google/gemini-3.8-flash";
const SKIP: &str = "skip_thought_signature_validator";

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
    with(request, &options)
}

fn with(request: &ModelRequest, options: &WireOptions) -> Value {
    serde_json::from_slice(&build(request, options, &NoBlobs)).expect("a body is JSON")
}

fn call(id: &str, name: &str, signature: Option<(&str, &str)>) -> ContentPart {
    ContentPart::ToolCall(ToolCallPart {
        tool_call_id: id.into(),
        name: name.into(),
        input: json!({"path": "a"}),
        provider: signature.map(|(model, signature)| own(model, json!({"thoughtSignature": signature}))),
    })
}

fn own(model: &str, data: Value) -> ProviderData {
    ProviderData {
        api: "gemini".into(),
        model: Some(model.into()),
        data,
    }
}

fn result(id: &str, content: Vec<ContentPart>, is_error: bool) -> ContentPart {
    ContentPart::ToolResult(ToolResultPart {
        tool_call_id: id.into(),
        name: "read".into(),
        content,
        is_error,
    })
}

fn picture(media_type: &str) -> ContentPart {
    let png =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
    ContentPart::Image(MediaPart {
        media_type: media_type.into(),
        source: MediaSource::Base64(png.into()),
        name: None,
    })
}

fn pdf() -> ContentPart {
    ContentPart::File(MediaPart {
        media_type: "application/pdf".into(),
        source: MediaSource::Base64("JVBERi0=".into()),
        name: Some("a.pdf".into()),
    })
}

/// Events in the short form in which these tests write them.
fn short(events: &[EnvironmentEvent]) -> Value {
    let pair = |event: &EnvironmentEvent| {
        let payload: Value = serde_json::from_slice(&event.payload_json()).expect("payloads are JSON");
        json!([event.tag(), payload])
    };
    events.iter().map(pair).collect()
}

fn stream(chunks: &[Value]) -> (Vec<EnvironmentEvent>, Result<(), StreamError>) {
    let text: String = chunks
        .iter()
        .map(|chunk| format!("data: {chunk}\r\n\r\n"))
        .collect();
    decode(Api::Gemini, [text.as_bytes()])
}

fn parts(parts: Value) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": parts}}]})
}

fn end(reason: &str) -> Value {
    json!({"candidates": [{"finishReason": reason}], "usageMetadata": {"promptTokenCount": 9}})
}

fn full() -> Accumulated {
    let text = include_str!("fixtures/gemini_full.sse");
    let (events, result) = decode(Api::Gemini, [text.as_bytes()]);
    result.expect("a whole stream");
    accumulate(&events)
}

// --- Streams ---

#[test]
fn every_kind_of_part_becomes_its_event() {
    let text = include_str!("fixtures/gemini_full.sse");
    let (events, result) = decode(Api::Gemini, [text.as_bytes()]);
    result.expect("a whole stream");
    let expected = json!([
        ["stream_start", {"message_id": "resp_1", "model": "gemini-3.8-flash", "attempt": 1}],
        ["thinking_chunk", {"text": "**Planning**\n\nI look at "}],
        ["usage", {"usage": {"input_tokens": 20, "output_tokens": 7, "cache_read_tokens": 100, "reasoning_tokens": 7}}],
        ["thinking_chunk", {"text": "two files."}],
        ["provider_part", {"api": "gemini", "attach": true, "data": {"thoughtSignature": "c2lnMQ==", "signed_from": 24}}],
        ["text_chunk", {"text": "Ich lese "}],
        ["text_chunk", {"text": "beide – 🦀."}],
        ["provider_part", {"api": "gemini", "attach": true, "data": {"thoughtSignature": "c2lnMg==", "signed_from": 24}}],
        ["provider_part", {"api": "gemini", "attach": false, "data":
            {"executableCode": {"language": "PYTHON", "code": "print(1)"}, "thoughtSignature": "c2lnMw=="}}],
        ["tool_call_start", {"tool_call_id": "call_1", "name": "read"}],
        ["tool_call", {"tool_call_id": "call_1", "name": "read", "input": {"path": "a.md"}}],
        ["provider_part", {"api": "gemini", "attach": true, "data": {"thoughtSignature": "c2lnNA=="}}],
        ["tool_call_start", {"tool_call_id": "call_2", "name": "read"}],
        ["tool_call", {"tool_call_id": "call_2", "name": "read", "input": {"path": "b.md", "lines": [1, 2.5]}}],
        ["usage", {"usage": {"input_tokens": 25, "output_tokens": 41, "cache_read_tokens": 100, "reasoning_tokens": 11}}],
        ["stream_end", {"stop_reason": "tool_use", "raw": "STOP"}],
    ]);
    let got = short(&events);
    for (got, expected) in got.as_array().unwrap().iter().zip(expected.as_array().unwrap()) {
        assert_eq!(got, expected);
    }
    assert_eq!(got.as_array().map(Vec::len), expected.as_array().map(Vec::len));
}

#[test]
fn what_came_is_sent_back_as_it_came() {
    let mut answer = full().message;
    let model = "gemini-3.8-flash";
    for part in &mut answer.content {
        if let ContentPart::Text(TextPart { provider, .. })
        | ContentPart::Thinking(ThinkingPart { provider, .. })
        | ContentPart::ToolCall(ToolCallPart { provider, .. }) = part
            && let Some(provider) = provider
        {
            provider.model = Some(model.into());
        }
    }
    let results = ["call_2", "call_1"].map(|id| result(id, vec![ContentPart::text(id)], false));
    let told = message(2, Role::Tool, results.into());
    let messages = vec![user("read"), Arc::new(answer), told];
    let body = built(&request(FLASH, messages.clone()));
    let expected = json!([
        {"text": "**Planning**\n\nI look at ", "thought": true},
        {"text": "two files.", "thought": true, "thoughtSignature": "c2lnMQ=="},
        {"text": "Ich lese beide – 🦀."},
        {"text": "", "thoughtSignature": "c2lnMg=="},
        {"executableCode": {"language": "PYTHON", "code": "print(1)"}, "thoughtSignature": "c2lnMw=="},
        {"functionCall": {"id": "call_1", "name": "read", "args": {"path": "a.md"}}, "thoughtSignature": "c2lnNA=="},
        {"functionCall": {"id": "call_2", "name": "read", "args": {"path": "b.md", "lines": [1, 2.5]}}},
    ]);
    assert_eq!(body["contents"][1], json!({"role": "model", "parts": expected}));
    let results = json!([
        {"functionResponse": {"id": "call_1", "name": "read", "response": {"output": "call_1"}}},
        {"functionResponse": {"id": "call_2", "name": "read", "response": {"output": "call_2"}}},
    ]);
    assert_eq!(
        body["contents"][2],
        json!({"role": "user", "parts": results}),
        "in the order of the calls"
    );

    let other = built(&request("google/gemini-4-argon", messages));
    let expected = json!([
        {"text": "Ich lese beide – 🦀."},
        // The model is unknown, as in logs before models were recorded.
        {"executableCode": {"language": "PYTHON", "code": "print(1)"}, "thoughtSignature": "c2lnMw=="},
        {"functionCall": {"id": "call_1", "name": "read", "args": {"path": "a.md"}}, "thoughtSignature": SKIP},
        {"functionCall": {"id": "call_2", "name": "read", "args": {"path": "b.md", "lines": [1, 2.5]}}},
    ]);
    assert_eq!(
        other["contents"][1]["parts"], expected,
        "nothing that another model signed"
    );
}

#[test]
fn why_it_stopped_is_told() {
    for (reason, expected) in [
        ("STOP", StopReason::EndTurn),
        ("MAX_TOKENS", StopReason::MaxTokens),
        ("SAFETY", StopReason::Refusal),
        ("RECITATION", StopReason::Refusal),
        ("PROHIBITED_CONTENT", StopReason::Refusal),
        ("SPII", StopReason::Refusal),
        ("LANGUAGE", StopReason::Other),
        ("TOO_MANY_TOOL_CALLS", StopReason::Other),
        ("NEWS", StopReason::Other),
    ] {
        let (events, result) = stream(&[parts(json!([{"text": "Hi"}])), end(reason)]);
        result.expect("a whole stream");
        let answer = accumulate(&events);
        assert_eq!(
            (answer.stop_reason, answer.raw.as_deref()),
            (expected, Some(reason))
        );
    }
}

#[test]
fn a_call_that_the_model_wrote_wrongly_is_asked_for_again() {
    let malformed = json!({"candidates": [{
        "finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "Malformed function call: print(default_api.read(",
    }], "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 4}});
    let (events, result) = stream(&[malformed]);
    let Err(StreamError::Provider(error)) = result else {
        panic!("{result:?}")
    };
    assert_eq!((error.code, error.retryable), (ErrorCode::BadGeneration, true));
    assert!(error.message.contains("default_api.read("), "{error}");
    assert_eq!(
        accumulate(&events).usage.output_tokens,
        4,
        "it costs all the same"
    );
}

#[test]
fn why_an_answer_is_empty_is_said_with_what_to_do() {
    for (word, again, advice) in [
        ("TOO_MANY_TOOL_CALLS", true, "ask for smaller steps"),
        ("UNEXPECTED_TOOL_CALL", true, "a call that cannot be read"),
        ("MALFORMED_RESPONSE", true, "a call that cannot be read"),
        ("OTHER", true, "rephrase your message"),
        ("LANGUAGE", false, "write in another one"),
        ("NO_IMAGE", false, "choose a model that answers with text"),
        ("IMAGE_OTHER", false, "choose a model that answers with text"),
        ("MISSING_THOUGHT_SIGNATURE", false, "start a new session"),
    ] {
        let said = json!({"candidates": [{"finishReason": word, "finishMessage": "made up"}]});
        let thought = parts(json!([{"text": "hm", "thought": true}]));
        let by_chat =
            json!({"id": "c", "choices": [{"delta": {}, "finish_reason": format!("stop: {word}")}]});
        let by_chat = decode(Api::OpenaiChat, [format!("data: {by_chat}\n\n").as_bytes()]).1;
        for result in [stream(&[said]).1, stream(&[thought, end(word)]).1, by_chat] {
            let Err(StreamError::Provider(error)) = result else {
                panic!("{word}: {result:?}")
            };
            assert_eq!(error.retryable, again, "{word}");
            assert!(
                error.message.contains(word) && error.message.contains(advice),
                "{error}"
            );
            let lacks_signature = word == "MISSING_THOUGHT_SIGNATURE";
            let refused = lacks_signature.then_some(RequestPart::ThoughtSignature);
            assert_eq!(error.refused, refused, "{word}");
        }
    }
}

#[test]
fn a_blocked_prompt_and_an_error_in_the_stream_are_errors() {
    let blocked = json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 9}});
    let Err(StreamError::Provider(error)) = stream(&[blocked]).1 else {
        panic!("blocked")
    };
    assert_eq!((error.code, error.retryable), (ErrorCode::ContentFilter, false));
    assert!(error.message.contains("PROHIBITED_CONTENT"), "{error}");

    let overloaded =
        json!({"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}});
    let (events, result) = stream(&[parts(json!([{"text": "Hi"}])), overloaded.clone()]);
    let Err(StreamError::Provider(error)) = result else {
        panic!("an error")
    };
    assert_eq!((error.code, error.status), (ErrorCode::Overloaded, Some(503)));
    assert_eq!(accumulate(&events).message.text(), "Hi");

    let body = json!([overloaded]).to_string();
    let result = decode_body(Api::Gemini, context(), body.as_bytes(), &mut Vec::new());
    assert!(matches!(result, Err(StreamError::Provider(_))), "{result:?}");
}

#[test]
fn the_end_is_the_end_of_the_bytes_and_needs_a_reason() {
    let (events, result) = stream(&[parts(json!([{"text": "Hi"}]))]);
    assert_eq!((result, events.len()), (Err(StreamError::Truncated), 2));
    let late = json!({"candidates": [{"content": {"parts": [{"text": "!"}]}}], "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 2}});
    let (events, result) = stream(&[parts(json!([{"text": "Hi"}])), end("STOP"), late]);
    result.expect("a whole stream");
    let answer = accumulate(&events);
    assert_eq!(
        (answer.message.text().as_str(), answer.usage.output_tokens),
        ("Hi!", 2)
    );
}

#[test]
fn ids_are_made_where_there_are_none_and_odd_calls_are_kept() {
    let calls = parts(json!([
        {"functionCall": {"name": "a", "args": {}}}, {"functionCall": {"name": "a"}},
        {"functionCall": {"id": "x", "name": "b", "args": null}}, {"functionCall": {"id": "x", "name": "b", "args": [1]}},
        {"functionCall": {}}, {"text": ""}, {},
    ]));
    let (events, result) = stream(&[calls, end("STOP")]);
    result.expect("a whole stream");
    let answer = accumulate(&events);
    let ids: std::collections::BTreeSet<_> = answer
        .message
        .content
        .iter()
        .map(|part| match part {
            ContentPart::ToolCall(call) => call.tool_call_id.clone(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(ids.len(), 4);
    let invalid = events.iter().filter(|event| match event {
        EnvironmentEvent::ToolCall(call) => call.invalid.is_some(),
        _ => false,
    });
    assert_eq!(invalid.count(), 1, "a list is not arguments");
}

#[test]
fn arguments_in_pieces_are_put_together() {
    let piece = |path: &str, text: &str, more: bool| {
        parts(json!([{"functionCall": {"willContinue": true, "partialArgs": [
            {"jsonPath": path, "stringValue": text, "willContinue": more}]}}]))
    };
    let first =
        parts(json!([{"functionCall": {"name": "read", "willContinue": true}, "thoughtSignature": "s"}]));
    let done = parts(json!([{"functionCall": {}}]));
    let chunks = [
        first.clone(),
        piece("$.path", "a.", true),
        piece("$.path", "md", false),
    ];
    // The last piece may be missing.
    for end_of_call in [Some(done), None] {
        let mut chunks = chunks.to_vec();
        chunks.extend(end_of_call);
        chunks.push(end("STOP"));
        let (events, result) = stream(&chunks);
        result.expect("a whole stream");
        let answer = accumulate(&events);
        assert_eq!(answer.stop_reason, StopReason::ToolUse);
        let [ContentPart::ToolCall(call)] = &answer.message.content[..] else {
            panic!("{answer:?}")
        };
        assert_eq!(call.input, json!({"path": "a.md"}));
        let signed = call.provider.as_ref().map(|own| &own.data);
        assert_eq!(signed, Some(&json!({"thoughtSignature": "s"})));
    }
    let nowhere = stream(&[first, piece("path", "a", false)]).1;
    assert!(
        matches!(nowhere, Err(StreamError::Malformed { .. })),
        "{nowhere:?}"
    );
}

#[test]
fn counts_that_cannot_be_are_not_taken() {
    let wrong = json!({"candidates": [{"finishReason": "STOP"}], "usageMetadata":
        {"promptTokenCount": 5, "cachedContentTokenCount": 9, "candidatesTokenCount": -3, "thoughtsTokenCount": 4}});
    let usage = accumulate(&stream(&[wrong]).0).usage;
    assert_eq!(
        (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens),
        (0, 5, 0)
    );
}

// --- Requests ---

#[test]
fn a_request_says_what_its_settings_say() {
    let mut asked = request(FLASH, vec![user("hi")]);
    let expected = json!({
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
        "systemInstruction": {"parts": [{"text": "You are terse."}]},
        "tools": [{"functionDeclarations": [{"name": "read", "description": "Reads a file"}]}],
        "generationConfig": {"thinkingConfig": {"includeThoughts": true}},
    });
    assert_eq!(built(&asked), expected);
    asked.params = ModelParams {
        max_output_tokens: Some(1 << 40),
        temperature: Some(3.0),
        thinking_tokens: Some(10_000),
    };
    let expected = json!({
        "maxOutputTokens": 65_536, "temperature": 2.0,
        "thinkingConfig": {"includeThoughts": true, "thinkingLevel": "medium"},
    });
    assert_eq!(built(&asked)["generationConfig"], expected);
    asked.without = vec![
        RequestPart::MaxTokens,
        RequestPart::Temperature,
        RequestPart::ReasoningEffort,
        RequestPart::ReasoningSummary,
    ];
    assert_eq!(built(&asked).get("generationConfig"), None);
    asked.without.clear();
    asked.plain = true;
    assert_eq!(built(&asked)["generationConfig"].get("thinkingConfig"), None);
}

#[test]
fn refused_fields_are_left_out_or_written_in_the_older_form() {
    let mut request = request(FLASH, vec![user("hi")]);
    request.params.thinking_tokens = Some(2_000);
    let schema = json!({"$schema": "x", "type": "object", "properties": {"a": {"type": ["string", "null"]}}});
    request.tools = vec![ToolSpec::new("read", "Reads a file", schema, Access::Read)].into();
    let whole = built(&request);
    let function = |body: &Value| body["tools"][0]["functionDeclarations"][0].clone();
    assert!(whole["generationConfig"].get("thinkingConfig").is_some());
    assert!(function(&whole).get("parametersJsonSchema").is_some());
    request.without = vec![RequestPart::Reasoning, RequestPart::ToolJsonSchema];
    let plain = built(&request);
    assert!(plain.pointer("/generationConfig/thinkingConfig").is_none());
    assert!(function(&plain).get("parametersJsonSchema").is_none());
    assert_eq!(
        function(&plain)["parameters"],
        json!({"type": "object", "properties": {"a": {"type": "string", "nullable": true}}})
    );
}

#[test]
fn each_family_is_asked_for_reasoning_in_its_way() {
    use agentx_llm::openai_chat::Effort;
    let thinking = |model: &str, tokens: Option<u64>, effort: Option<Effort>| {
        let mut asked = request(model, vec![user("hi")]);
        asked.params.thinking_tokens = tokens;
        let mut options = Catalog::builtin().wire_options(&asked.model);
        options.chat.effort = effort;
        let mut config = with(&asked, &options)["generationConfig"]["thinkingConfig"].clone();
        let thoughts = config
            .as_object_mut()
            .and_then(|config| config.remove("includeThoughts"));
        assert_eq!(thoughts, config.is_object().then_some(json!(true)));
        config
    };
    let budget = |tokens: u64| json!({"thinkingBudget": tokens});
    assert_eq!(thinking("google/gemini-2.5-pro", Some(100), None), budget(512));
    assert_eq!(
        thinking("google/gemini-2.5-pro", Some(99_999), None),
        budget(24_576)
    );
    assert_eq!(
        thinking("google/gemini-2.5-pro", None, Some(Effort::None)),
        budget(128)
    );
    assert_eq!(
        thinking("google/gemini-2.5-flash", None, Some(Effort::None)),
        budget(0)
    );
    assert_eq!(thinking("google/gemini-2.5-flash", None, None), json!({}));
    let level = |level: &str| json!({"thinkingLevel": level});
    assert_eq!(thinking("google/gemini-4-argon", Some(100), None), level("low"));
    assert_eq!(
        thinking("google/gemini-4-argon", None, Some(Effort::None)),
        level("low")
    );
    assert_eq!(
        thinking("google/gemini-4-argon", Some(1), Some(Effort::Xhigh)),
        level("high")
    );
    assert_eq!(thinking("google/gemini-2.0-flash", Some(100), None), Value::Null);
}

#[test]
fn the_sides_take_turns_and_a_person_begins_and_ends() {
    let answer = |index| message(index, Role::Assistant, vec![ContentPart::text("Hm.")]);
    let asked = request(
        FLASH,
        vec![
            answer(1),
            user("a"),
            message(2, Role::System, vec![ContentPart::text("b")]),
            answer(3),
        ],
    );
    let roles = json!([
        {"role": "user", "parts": [{"text": "(The conversation goes on.)"}]},
        {"role": "model", "parts": [{"text": "Hm."}]},
        {"role": "user", "parts": [{"text": "a"}, {"text": "b"}]},
        {"role": "model", "parts": [{"text": "Hm."}]},
        {"role": "user", "parts": [{"text": "(Go on.)"}]},
    ]);
    assert_eq!(built(&asked)["contents"], roles);
    let empty = request(FLASH, vec![message(0, Role::User, vec![ContentPart::text(" ")])]);
    assert_eq!(
        built(&empty)["contents"][0]["parts"],
        json!([{"text": "(an empty message)"}])
    );
}

#[test]
fn the_first_call_of_each_answer_is_signed_for_models_that_want_it() {
    let conversation = |signature| {
        let calls = vec![call("c1", "read", signature), call("c2", "read", None)];
        let results = ["c1", "c2"].map(|id| result(id, vec![ContentPart::text("ok")], false));
        vec![
            user("a"),
            message(1, Role::Assistant, calls),
            message(2, Role::Tool, results.into()),
        ]
    };
    let signatures = |asked: &ModelRequest| {
        let body = built(asked);
        let parts = body["contents"][1]["parts"].as_array().cloned().unwrap();
        parts
            .iter()
            .map(|part| part.get("thoughtSignature").cloned())
            .collect::<Vec<_>>()
    };
    let own = Some(("gemini-3.8-flash", "mine"));
    assert_eq!(
        signatures(&request(FLASH, conversation(own))),
        [Some(json!("mine")), None]
    );
    let others = Some(("gemini-3.5-flash", "theirs"));
    assert_eq!(
        signatures(&request(FLASH, conversation(others))),
        [Some(json!(SKIP)), None]
    );
    let mut older = request("google/gemini-2.5-flash", conversation(None));
    assert_eq!(signatures(&older), [None, None]);
    older.without.push(RequestPart::ThoughtSignature);
    assert_eq!(signatures(&older), [Some(json!(SKIP)), None]);
}

#[test]
fn results_hold_media_where_the_model_reads_them_there() {
    let content = vec![ContentPart::text("seen"), picture("image/png"), pdf()];
    let messages = vec![
        user("a"),
        message(1, Role::Assistant, vec![call("c1", "7zip", None)]),
        message(2, Role::Tool, vec![result("c1", content, true)]),
        user("and?"),
    ];
    let body = built(&request(FLASH, messages.clone()));
    let said = &body["contents"][2]["parts"];
    let response = &said[0]["functionResponse"];
    assert_eq!(
        (&response["name"], &response["response"]),
        (&json!("_7zip"), &json!({"error": "seen"}))
    );
    let kinds = ["image/png", "application/pdf"].map(|kind| json!(kind));
    let within = [0, 1].map(|at| response["parts"][at]["inlineData"]["mimeType"].clone());
    assert_eq!(within, kinds);
    assert_eq!(
        said[1],
        json!({"text": "and?"}),
        "one turn: results first, then words"
    );

    let body = built(&request("google/gemini-2.5-flash", messages));
    let said = &body["contents"][2]["parts"];
    assert_eq!(said[0]["functionResponse"].get("parts"), None);
    assert_eq!([1, 2].map(|at| said[at]["inlineData"]["mimeType"].clone()), kinds);
}

#[test]
fn media_of_a_person_are_sent_or_told() {
    let url = ContentPart::Image(MediaPart {
        media_type: "image/webp".into(),
        source: MediaSource::Url("https://example.com/a.webp".into()),
        name: None,
    });
    let video = ContentPart::File(MediaPart {
        media_type: "video/mp4".into(),
        source: MediaSource::Base64("AAAA".into()),
        name: None,
    });
    let notes = ContentPart::File(MediaPart {
        media_type: "text/plain".into(),
        source: MediaSource::Base64("aGVsbG8=".into()),
        name: Some("notes.txt".into()),
    });
    let content = vec![picture("image/jpeg"), url, pdf(), video, notes];
    let body = built(&request(FLASH, vec![message(0, Role::User, content)]));
    let parts = body["contents"][0]["parts"].as_array().cloned().unwrap();
    assert_eq!(
        parts[0]["inlineData"]["mimeType"], "image/png",
        "what its bytes are"
    );
    let file = json!({"mimeType": "image/webp", "fileUri": "https://example.com/a.webp"});
    assert_eq!(parts[1]["fileData"], file);
    assert_eq!(parts[2]["inlineData"]["data"], "JVBERi0=");
    assert_eq!(
        parts[3],
        json!({"text": "[video/mp4: this API cannot be sent it]"})
    );
    assert_eq!(parts[4], json!({"text": "notes.txt:\n\nhello"}));
}

#[test]
fn vertex_is_sent_no_ids() {
    let messages = vec![
        user("a"),
        message(1, Role::Assistant, vec![call("c1", "read", None)]),
        message(2, Role::Tool, vec![result("c1", vec![], false)]),
    ];
    let mut options = WireOptions::default();
    options.gemini.call_ids = false;
    let body = with(&request(FLASH, messages), &options);
    assert!(!body.to_string().contains("\"id\""), "{body}");
    let response = json!({"name": "read", "response": {"output": ""}});
    assert_eq!(body["contents"][2]["parts"][0]["functionResponse"], response);
}

// --- Errors ---

#[test]
fn refusals_are_understood() {
    let refused = |status: u16, message: &str| {
        let body =
            json!({"error": {"code": status, "message": message, "status": "INVALID_ARGUMENT"}}).to_string();
        let error = decode_error(status, &[], body.as_bytes(), Timestamp(0));
        (error.code, error.refused)
    };
    use ErrorCode as E;
    use RequestPart as P;
    for (message, code, part) in [
        (
            "API key not valid. Please pass a valid API key.",
            E::Unauthorized,
            None,
        ),
        (
            "API key expired. Please renew the API key.",
            E::Unauthorized,
            None,
        ),
        (
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            E::ContextWindow,
            None,
        ),
        ("Corrupted thought signature.", E::BadRequest, Some(P::Thinking)),
        (
            "Function call is missing a thought_signature in functionCall parts.",
            E::BadRequest,
            Some(P::ThoughtSignature),
        ),
        (
            "Thinking level is not supported for this model.",
            E::BadRequest,
            Some(P::ReasoningEffort),
        ),
        (
            "The thinking budget (52428) is invalid.",
            E::BadRequest,
            Some(P::ReasoningEffort),
        ),
        (
            "Please ensure that the number of function response parts is equal to the number of function call parts of the \
          function call turn.",
            E::BadRequest,
            Some(P::ToolCalls),
        ),
        (
            "Invalid JSON payload received. Unknown name \"exclusiveMinimum\" at 'tools[0].function_declarations[6]\
          .parameters.properties[3].value': Cannot find field.",
            E::BadRequest,
            Some(P::Tools),
        ),
        (
            "Unable to process input image. Please retry or report in the forum.",
            E::BadRequest,
            Some(P::Media),
        ),
        (
            "Request contains an invalid argument.",
            E::BadRequest,
            Some(P::Unknown),
        ),
    ] {
        assert_eq!(refused(400, message), (code, part), "{message}");
    }
}

#[test]
fn a_quota_says_when_to_ask_again() {
    let body = json!({"error": {"code": 429, "message": "You exceeded your current quota.", "status": "RESOURCE_EXHAUSTED",
        "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "48s"}]}});
    let error = decode_error(429, &[], body.to_string().as_bytes(), Timestamp(0));
    assert_eq!(
        (error.code, error.retryable, error.retry_after_ms),
        (ErrorCode::RateLimited, true, Some(48_000))
    );
}

#[test]
fn a_quota_of_nothing_is_not_waited_for() {
    let refused = |limit: &str| {
        let message = format!(
            "You exceeded your current quota.\n* Quota exceeded for metric: generativelanguage.googleapis.com/\
             generate_content_free_tier_requests, limit: {limit}, model: gemini-3-pro\nPlease retry in 3.98361248s."
        );
        let body = json!({"error": {"code": 429, "message": message, "status": "RESOURCE_EXHAUSTED",
            "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "3s"}]}});
        let error = decode_error(429, &[], body.to_string().as_bytes(), Timestamp(0));
        (error.code, error.retryable)
    };
    assert_eq!(refused("0"), (ErrorCode::Billing, false));
    assert_eq!(refused("0.5"), (ErrorCode::RateLimited, true));
    assert_eq!(refused("20"), (ErrorCode::RateLimited, true));
}

#[test]
fn a_reason_in_the_details_names_a_refused_key_in_any_words() {
    let body = json!({"error": {"code": 400, "message": "Made up words.", "status": "INVALID_ARGUMENT",
        "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]}});
    let error = decode_error(400, &[], body.to_string().as_bytes(), Timestamp(0));
    assert_eq!((error.code, error.retryable), (ErrorCode::Unauthorized, false));
    assert_eq!(error.message, "Made up words.");
}

#[test]
fn what_was_counted_last_is_said_though_the_answer_breaks_off() {
    let chunk = |text: &str, thoughts: u64| {
        let mut chunk = parts(json!([{"text": text}]));
        chunk["usageMetadata"] = json!({"promptTokenCount": 9, "thoughtsTokenCount": thoughts});
        chunk
    };
    let (events, result) = stream(&[chunk("Hel", 20_000), chunk("lo", 20_000), chunk("!", 20_001)]);
    assert_eq!(result, Err(StreamError::Truncated));
    let said = events.iter().filter_map(|event| match event {
        EnvironmentEvent::UsageReport(report) => Some(report.usage.output_tokens),
        _ => None,
    });
    assert_eq!(said.collect::<Vec<_>>(), [20_000, 20_001], "once for each change");
}

#[test]
fn an_answer_without_a_word_is_asked_for_again_twice() {
    let thought = parts(json!([{"text": "Hm", "thought": true}]));
    let answer = |attempt: u32, chunks: &[Value]| {
        let text: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
        let mut decoder = StreamDecoder::new(Api::Gemini, StreamContext::new("msg_1", attempt));
        let mut events = Vec::new();
        let pushed = decoder.push(text.as_bytes(), &mut events);
        pushed.and_then(|()| decoder.finish(&mut events))
    };
    for attempt in [1, 2] {
        for chunks in [vec![end("STOP")], vec![thought.clone(), end("STOP")]] {
            let Err(StreamError::Provider(error)) = answer(attempt, &chunks) else {
                panic!("an answer without a word")
            };
            assert_eq!((error.code, error.retryable), (ErrorCode::BadGeneration, true));
        }
    }
    answer(3, &[thought.clone(), end("STOP")]).expect("there is nothing to say");
    answer(1, &[thought, end("MAX_TOKENS")]).expect("it was cut off");
}

// --- Recordings ---

/// The chunks in the bytes of a stream, without our decoder.
fn chunks(bytes: &[u8]) -> Vec<Value> {
    let text = String::from_utf8(bytes.to_vec()).expect("UTF-8");
    let lines = text.lines().filter_map(|line| line.strip_prefix("data: "));
    lines
        .map(|data| serde_json::from_str(data).expect("a chunk"))
        .collect()
}

#[test]
fn every_recorded_stream_is_what_its_chunks_say() {
    let Some(recordings) = common::recordings("14 recorded streams of Gemini") else {
        return;
    };
    let mut checked = std::collections::BTreeMap::new();
    for recording in common::all(&recordings) {
        let is_one = recording.api == Api::Gemini && recording.status() < 400;
        let Some(bytes) = recording.bytes("response.sse").filter(|_| is_one) else {
            continue;
        };
        let name = recording.name();
        let (events, result) = decode(Api::Gemini, [bytes.as_slice()]);
        result.unwrap_or_else(|error| panic!("{name}: {error}"));
        golden::gemini(&name, &accumulate(&events), &chunks(&bytes));
        let list = format!(
            "[{}]",
            chunks(&bytes)
                .iter()
                .map(Value::to_string)
                .collect::<Vec<_>>()
                .join(",")
        );
        let mut as_list = Vec::new();
        decode_body(Api::Gemini, context(), list.as_bytes(), &mut as_list).expect(&name);
        assert_eq!(as_list, events, "{name}: the same without `alt=sse`");
        *checked.entry(recording.provider.clone()).or_insert(0) += 1;
    }
    println!("recorded streams of Gemini: {checked:?}");
    assert!(
        checked["gemini"] >= 9 && checked["gemini-vertex"] >= 5,
        "{checked:?}"
    );
}

#[test]
fn recorded_chunks_of_another_client_decode_and_break_anywhere() {
    let Some(recordings) = common::recordings("5 fixtures of chunks of Gemini") else {
        return;
    };
    let mut checked = 0;
    for file in common::files(&recordings.join("gemini").join("vercel_fixtures")) {
        let name = file.display().to_string();
        let text = std::fs::read_to_string(&file).expect("fixtures are text");
        if !text.contains("\"candidates\"") {
            // This file belongs to the Interactions API.
            continue;
        }
        let stream: String = text.lines().map(|line| format!("data: {line}\n\n")).collect();
        let (events, result) = decode(Api::Gemini, [stream.as_bytes()]);
        result.unwrap_or_else(|error| panic!("{name}: {error}"));
        let answer = accumulate(&events);
        let chunks: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).expect("a chunk"))
            .collect();
        if text.contains("partialArgs") {
            in_pieces(&name, &answer, &chunks);
        } else {
            golden::gemini(&name, &answer, &chunks);
        }
        for cut in (0..stream.len()).filter(|cut| stream.len() < 9_000 || cut % 7 == 0) {
            let (events, result) = decode(Api::Gemini, [&stream.as_bytes()[..cut]]);
            let whole = matches!(events.last(), Some(EnvironmentEvent::StreamEnd(_)));
            assert_eq!(result.is_ok(), whole, "{name} cut at {cut}");
        }
        checked += 1;
    }
    assert!(checked >= 5, "{checked}");
}

/// Each text of the pieces is in the arguments of the calls, whole.
fn in_pieces(name: &str, answer: &Accumulated, chunks: &[Value]) {
    let mut texts: Vec<String> = Vec::new();
    let mut open: Option<String> = None;
    let mut calls = 0;
    let parts = chunks.iter().flat_map(|chunk| {
        chunk["candidates"][0]["content"]["parts"]
            .as_array()
            .cloned()
            .unwrap_or_default()
    });
    for part in parts {
        calls += usize::from(part["functionCall"]["name"].is_string());
        for piece in part["functionCall"]["partialArgs"]
            .as_array()
            .into_iter()
            .flatten()
        {
            let path = piece["jsonPath"].as_str().unwrap().to_owned();
            if let Some(text) = piece["stringValue"].as_str() {
                if open.as_ref() == Some(&path) {
                    texts.last_mut().unwrap().push_str(text);
                } else {
                    texts.push(text.to_owned());
                }
                open = (piece["willContinue"] == true).then_some(path);
            }
        }
    }
    let inputs: Vec<String> = answer
        .message
        .content
        .iter()
        .filter_map(|part| match part {
            ContentPart::ToolCall(call) => Some(call.input.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(inputs.len(), calls, "{name}: calls");
    for text in texts {
        let written = json!(text).to_string();
        assert!(
            inputs.iter().any(|input| input.contains(&written)),
            "{name}: {text} in {inputs:?}"
        );
    }
}

/// A recorded body as our own request.
fn from_recorded(model: &str, body: &Value) -> ModelRequest {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut asked = request(FLASH, Vec::new());
    asked.model.id = model.to_owned();
    asked.model.max_output_tokens = 1 << 40;
    asked.model.context_window = 1 << 41;
    asked.system = list(&body["systemInstruction"]["parts"])
        .iter()
        .map(|part| part["text"].as_str().unwrap_or_default().into())
        .collect();
    asked.params.temperature = body["generationConfig"]["temperature"].as_f64();
    asked.params.max_output_tokens = body["generationConfig"]["maxOutputTokens"].as_u64();
    let functions = list(&body["tools"])
        .iter()
        .flat_map(|tool| list(&tool["functionDeclarations"]))
        .collect::<Vec<_>>();
    let string = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let tool = |one: &Value| {
        ToolSpec::new(
            string(&one["name"]),
            string(&one["description"]),
            one["parameters"].clone(),
            Access::Internal,
        )
    };
    asked.tools = functions.iter().map(tool).collect::<Vec<_>>().into();
    let mut unanswered = std::collections::VecDeque::new();
    for (index, content) in list(&body["contents"]).iter().enumerate() {
        let role = if content["role"] == "model" {
            Role::Assistant
        } else {
            Role::User
        };
        let mut said = Vec::new();
        for (at, part) in list(&content["parts"]).iter().enumerate() {
            let provider = part
                .get("thoughtSignature")
                .map(|signature| own(model, json!({"thoughtSignature": signature})));
            if let Some(called) = part["functionCall"].as_object() {
                let id = called
                    .get("id")
                    .and_then(Value::as_str)
                    .map_or_else(|| format!("c{index}_{at}"), str::to_owned);
                unanswered.push_back(id.clone());
                said.push(ContentPart::ToolCall(ToolCallPart {
                    tool_call_id: id.as_str().into(),
                    name: string(&called["name"]),
                    input: called["args"].clone(),
                    provider,
                }));
            } else if part["functionResponse"].is_object() {
                let text = string(&part["functionResponse"]["response"]["result"]);
                let id = unanswered.pop_front().expect("a call before its result");
                said.push(result(&id, vec![ContentPart::text(text)], false));
            } else {
                said.push(ContentPart::Text(TextPart {
                    text: string(&part["text"]),
                    provider,
                }));
            }
        }
        asked.messages.push(message(index, role, said));
    }
    asked
}

/// Returns the parts of a request that both sides can express.
fn normal(body: &Value) -> Value {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let contents: Vec<Value> = list(&body["contents"])
        .iter()
        .map(|content| {
            let parts = list(&content["parts"]).into_iter().map(|mut part| {
                if let Some(fields) = part.as_object_mut() {
                    fields.retain(|key, value| !(key == "thought" && *value == false));
                }
                let response = &mut part["functionResponse"]["response"];
                let said = response["output"].as_str().or(response["result"].as_str());
                if let Some(said) = said.map(str::to_owned) {
                    *response = said.into();
                } else if let Some(fields) = part.as_object_mut() {
                    fields.remove("functionResponse");
                }
                part
            });
            json!([content["role"], parts.collect::<Vec<_>>()])
        })
        .collect();
    let functions = list(&body["tools"])
        .into_iter()
        .flat_map(|tool| list(&tool["functionDeclarations"]));
    let functions = functions.map(|one| {
        let parameters = one.get("parametersJsonSchema").or(one.get("parameters"));
        let properties = parameters.map_or(Value::Null, |parameters| parameters["properties"].clone());
        let properties = if properties == json!({}) {
            Value::Null
        } else {
            properties
        };
        json!([one["name"], one["description"], properties])
    });
    let system: Vec<Value> = list(&body["systemInstruction"]["parts"])
        .iter()
        .map(|part| part["text"].clone())
        .collect();
    let config = &body["generationConfig"];
    json!([
        contents,
        functions.collect::<Vec<_>>(),
        system,
        config["maxOutputTokens"],
        config["temperature"]
    ])
}

#[test]
fn recorded_requests_are_built_again() {
    let Some(recordings) = common::recordings("20 recorded requests of Gemini") else {
        return;
    };
    let mut checked = 0;
    for recording in common::all(&recordings) {
        let Some(recorded) = recording
            .json("request.json")
            .filter(|_| recording.api == Api::Gemini)
        else {
            continue;
        };
        let body = &recorded["body"];
        let url = recorded["url"].as_str().unwrap_or_default();
        let (_, model) = url.split_once("/models/").expect("a model");
        let (model, _) = model.split_once(':').expect("a method");
        let mut options = WireOptions::default();
        options.gemini.call_ids = !url.contains("/publishers/");
        let built = with(&from_recorded(model, body), &options);
        assert_eq!(normal(&built), normal(body), "{}", recording.name());
        checked += 1;
    }
    println!("recorded requests of Gemini: {checked}");
    assert!(checked >= 15, "{checked}");
}
