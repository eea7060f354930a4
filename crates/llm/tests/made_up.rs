//! Streams made up for this project, each for one rule of the wire or of our own events, with the exact
//! result.
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

use crate::common::{accumulate, context, decode};
use agentx_llm::{
    Catalog, ErrorCode, NoBlobs, StreamContext, StreamDecoder, StreamError, WireOptions, build, decode_body,
};
use agentx_types::{
    Api, Assembler, ContentPart, EnvironmentEvent, Message, ModelParams, ModelRequest, Role, StopReason,
    ToolCallPart, ToolResultPart, Usage, Vocabulary as _,
};
use serde_json::{Value, json};

/// Events in the short form in which these tests write them: `["tag", payload]`.
fn short(events: &[EnvironmentEvent]) -> Value {
    events
        .iter()
        .map(|event| {
            let payload: Value = serde_json::from_slice(&event.payload_json()).expect("payloads are JSON");
            json!([event.tag(), payload])
        })
        .collect()
}

/// A stream of these chunks.
pub(crate) fn sse(chunks: &[Value]) -> String {
    chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect()
}

/// A chunk of a chat stream with this delta.
pub(crate) fn chat(delta: Value) -> Value {
    json!({"id": "chatcmpl-1", "model": "m", "choices": [{"index": 0, "delta": delta}]})
}

pub(crate) fn chat_end(reason: &str) -> Value {
    json!({"id": "chatcmpl-1", "model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

/// Decodes a chat stream and returns the events between start and end.
fn chat_events(chunks: &[Value]) -> Value {
    let (events, result) = decode(Api::OpenaiChat, [sse(chunks).as_bytes()]);
    result.expect("the stream is whole");
    let mut events = short(&events);
    events.as_array_mut().expect("a list").remove(0);
    events
}

pub(crate) fn claude(events: &[Value]) -> (Vec<EnvironmentEvent>, Result<(), StreamError>) {
    decode(Api::Anthropic, [sse(events).as_bytes()])
}

pub(crate) fn claude_start() -> Value {
    json!({"type": "message_start", "message": {"id": "msg_1", "model": "claude"}})
}

#[test]
fn everything_that_claude_says() {
    let (events, result) = decode(
        Api::Anthropic,
        [include_bytes!("fixtures/anthropic_full.sse").as_slice()],
    );
    result.expect("the stream is whole");
    let usage = |output: u64| json!({"input_tokens": 100, "output_tokens": output, "cache_read_tokens": 50, "cache_write_tokens": 7});
    let mut last_usage = usage(321);
    last_usage["reasoning_tokens"] = json!(20);
    let expected = json!([
        ["stream_start", {"message_id": "msg_made_up_1", "model": "claude-made-up", "attempt": 1}],
        ["usage", {"usage": usage(1)}],
        ["thinking_chunk", {"text": "Let me \"look\"."}],
        ["provider_part", {"api": "anthropic", "attach": true, "data": {"signature": "c2lnbmVk"}}],
        ["provider_part", {"api": "anthropic", "attach": false, "data": {"type": "redacted_thinking", "data": "c2VjcmV0"}}],
        ["provider_part", {"api": "anthropic", "attach": false, "data":
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "天气"}}}],
        ["provider_part", {"api": "anthropic", "attach": false, "data": {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1",
            "content": [{"type": "web_search_result", "title": "t", "url": "https://example.org", "encrypted_content": "e", "page_age": null}]}}],
        ["text_chunk", {"text": "今天"}],
        ["text_chunk", {"text": "晴 ☀️"}],
        ["provider_part", {"api": "anthropic", "attach": true, "data": {"citations":
            [{"type": "web_search_result_location", "cited_text": "x", "url": "https://example.org"}]}}],
        ["part_end", {}],
        ["text_chunk", {"text": "Now the files."}],
        ["tool_call_start", {"tool_call_id": "toolu_1", "name": "read"}],
        ["tool_call_chunk", {"tool_call_id": "toolu_1", "json": "{\"path\": "}],
        ["tool_call_chunk", {"tool_call_id": "toolu_1", "json": "\"README.md\"}"}],
        ["tool_call", {"tool_call_id": "toolu_1", "name": "read", "input": {"path": "README.md"}}],
        ["tool_call_start", {"tool_call_id": "toolu_2", "name": "now"}],
        ["tool_call", {"tool_call_id": "toolu_2", "name": "now", "input": {}}],
        ["provider_part", {"api": "anthropic", "attach": true, "data":
            {"caller": {"type": "code_execution_20260120", "tool_id": "srvtoolu_9"}}}],
        ["provider_part", {"api": "anthropic", "attach": false, "data": {"type": "compaction", "content": "summary"}}],
        ["usage", {"usage": last_usage}],
        ["stream_end", {"stop_reason": "tool_use"}],
    ]);
    for (got, expected) in short(&events)
        .as_array()
        .expect("a list")
        .iter()
        .zip(expected.as_array().expect("a list"))
    {
        assert_eq!(got, expected);
    }
    assert_eq!(events.len(), expected.as_array().map_or(0, Vec::len));
}

#[test]
fn everything_that_a_chat_says() {
    let (events, result) = decode(
        Api::OpenaiChat,
        [include_bytes!("fixtures/chat_full.sse").as_slice()],
    );
    result.expect("the stream is whole");
    let EnvironmentEvent::ToolCallStart(minted) = &events[7] else {
        panic!("{:?}", events[7])
    };
    let minted = minted.tool_call_id.as_str();
    assert!(minted.starts_with("call_") && minted.ends_with("_0"), "{minted}");
    let expected = json!([
        ["stream_start", {"message_id": "chatcmpl-made-up-1", "model": "gpt-made-up", "attempt": 1}],
        ["thinking_chunk", {"text": "Two \"files\""}],
        ["thinking_chunk", {"text": "."}],
        ["text_chunk", {"text": "好的"}],
        ["text_chunk", {"text": ", reading."}],
        ["tool_call_start", {"tool_call_id": "call_a", "name": "read"}],
        ["tool_call_chunk", {"tool_call_id": "call_a", "json": "{\"path\":"}],
        ["tool_call_start", {"tool_call_id": minted, "name": "now"}],
        ["tool_call_chunk", {"tool_call_id": "call_a", "json": "\"a.txt\"}"}],
        ["tool_call", {"tool_call_id": "call_a", "name": "read", "input": {"path": "a.txt"}}],
        ["tool_call", {"tool_call_id": minted, "name": "now", "input": {}}],
        ["usage", {"usage": {"input_tokens": 10, "output_tokens": 20, "cache_read_tokens": 30, "reasoning_tokens": 5}}],
        ["stream_end", {"stop_reason": "tool_use"}],
    ]);
    assert_eq!(short(&events), expected);
}

#[test]
fn arguments_cut_off_by_the_length_limit_are_invalid_not_empty() {
    for (arguments, error) in [("{\"a\": \"x", "EOF"), ("", "cut off")] {
        let call = chat(
            json!({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": arguments}}]}),
        );
        let events = chat_events(&[call, chat_end("length")]);
        let events = events.as_array().expect("a list");
        let call = events
            .iter()
            .find(|event| event[0] == "tool_call")
            .expect("a call");
        assert_eq!(call[1]["input"], json!({}));
        assert_eq!(call[1]["invalid"]["raw"], arguments);
        assert!(
            call[1]["invalid"]["error"]
                .as_str()
                .is_some_and(|said| said.contains(error)),
            "{call}"
        );
        assert_eq!(events.last().expect("an end")[1]["stop_reason"], "max_tokens");
    }
    let (events, result) = claude(&[
        claude_start(),
        json!({"type": "content_block_start", "content_block": {"type": "tool_use", "id": "t", "name": "f", "input": {}}}),
        json!({"type": "content_block_stop"}),
        json!({"type": "message_delta", "delta": {"stop_reason": "max_tokens"}}),
        json!({"type": "message_stop"}),
    ]);
    result.expect("the stream is whole");
    assert!(
        events
            .iter()
            .any(|event| matches!(event, EnvironmentEvent::ToolCall(call) if call.invalid.is_some()))
    );
}

#[test]
fn arguments_that_are_no_object_are_invalid() {
    for arguments in ["[1]", "\"x\"", "7", "{]"] {
        let delta = json!({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": arguments}}]});
        let events = chat_events(&[chat(delta), chat_end("tool_calls")]);
        let call = events
            .as_array()
            .and_then(|events| events.iter().find(|event| event[0] == "tool_call"));
        assert_eq!(call.expect("a call")[1]["invalid"]["raw"], arguments);
    }
    // Some servers write a key twice: the last one counts.
    let twice = "data: {\"id\":\"x\",\"id\":\"y\",\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n";
    let (events, result) = decode(Api::OpenaiChat, [twice.as_bytes()]);
    result.expect("the stream is whole");
    assert_eq!(accumulate(&events).message.message_id.as_str(), "y");
    // Some servers send the object itself, or null.
    for (arguments, input) in [
        (json!({"a": 1}), json!({"a": 1})),
        (Value::Null, json!({})),
        (json!("null"), json!({})),
    ] {
        let delta = json!({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": arguments}}]});
        let events = chat_events(&[chat(delta), chat_end("tool_calls")]);
        let call = events
            .as_array()
            .and_then(|events| events.iter().find(|event| event[0] == "tool_call"));
        assert_eq!(
            call.expect("a call")[1],
            json!({"tool_call_id": "c", "name": "f", "input": input})
        );
    }
}

#[test]
fn calls_without_index_or_all_with_the_same_are_told_apart() {
    let call = |index: Option<u32>, id: &str, name: &str, arguments: &str| {
        let mut call =
            json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
        if let Some(index) = index {
            call["index"] = json!(index);
        }
        chat(json!({"tool_calls": [call]}))
    };
    for index in [None, Some(0)] {
        let events = chat_events(&[
            call(index, "a", "f", "{\"x\":1}"),
            call(index, "b", "f", "{\"x\":"),
            call(index, "", "", "2}"),
            chat_end("stop"),
        ]);
        let events = events.as_array().expect("a list");
        let calls: Vec<_> = events
            .iter()
            .filter(|event| event[0] == "tool_call")
            .map(|event| &event[1])
            .collect();
        assert_eq!(calls.len(), 2, "{events:?}");
        assert_eq!(
            (&calls[0]["tool_call_id"], &calls[0]["input"]),
            (&json!("a"), &json!({"x": 1}))
        );
        assert_eq!(
            (&calls[1]["tool_call_id"], &calls[1]["input"]),
            (&json!("b"), &json!({"x": 2}))
        );
        assert_eq!(
            events.last().expect("an end")[1],
            json!({"stop_reason": "tool_use", "raw": "stop"})
        );
    }
}

#[test]
fn ids_that_the_conversation_already_has_are_replaced() {
    let call = ToolCallPart {
        tool_call_id: "call_0".into(),
        name: "f".into(),
        input: json!({}),
        provider: None,
    };
    let before = Message {
        message_id: "chatcmpl-1".into(),
        role: Role::Assistant,
        content: vec![ContentPart::ToolCall(call)],
        by: None,
    };
    let model = Catalog::builtin().resolve("ollama/m").expect("any model goes");
    let request = ModelRequest {
        model,
        params: ModelParams::default(),
        system: Vec::new(),
        messages: vec![before.into()],
        tools: [].into(),
        plain: false,
        turns: false,
        without: Vec::new(),
        answer_schema: None,
    };
    let stream = sse(&[
        chat(
            json!({"tool_calls": [{"index": 0, "id": "call_0", "function": {"name": "f", "arguments": "{}"}}]}),
        ),
        chat_end("tool_calls"),
    ]);
    let mut decoder = StreamDecoder::new(
        Api::OpenaiChat,
        StreamContext::new("msg_own", 2).avoid_ids_of(request.into()),
    );
    let mut events = Vec::new();
    decoder
        .push(stream.as_bytes(), &mut events)
        .expect("a good stream");
    decoder.finish(&mut events).expect("a whole stream");
    let answer = accumulate(&events);
    assert_eq!(answer.message.message_id.as_str(), "msg_own");
    let [ContentPart::ToolCall(call)] = answer.message.content.as_slice() else {
        panic!("{answer:?}")
    };
    assert_ne!(call.tool_call_id.as_str(), "call_0");
}

#[test]
fn lists_and_blocks_of_content() {
    let thinking = json!([{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]);
    let text = json!([{"type": "text", "text": "four"}, {"type": "reference", "reference_ids": [1]}]);
    let events = chat_events(&[
        chat(json!({"content": thinking})),
        chat(json!({"content": text})),
        chat_end("stop"),
    ]);
    assert_eq!(
        events,
        json!([["thinking_chunk", {"text": "hm"}], ["text_chunk", {"text": "four"}], ["stream_end", {"stop_reason": "end_turn"}]])
    );
}

#[test]
fn values_of_the_wrong_type_do_no_harm() {
    for (delta, text) in [
        (
            json!({"content": {"type": "text", "text": "one"}, "role": 5}),
            "one",
        ),
        (
            json!({"content": 42, "refusal": {"a": 1}, "reasoning": false, "tool_calls": null}),
            "42",
        ),
        (
            json!({"content": "x", "reasoning_details": "odd", "annotations": {}}),
            "x",
        ),
        (
            json!({"content": [{"text": "a", "type": ["odd"]}, {"type": "image"}]}),
            "a",
        ),
    ] {
        let chunk = json!({"id": 7, "model": null, "choices": [{"index": "0", "delta": delta, "finish_reason": "stop"}], "usage": null});
        let (events, result) = decode(Api::OpenaiChat, [sse(&[chunk]).as_bytes()]);
        result.expect("the stream is whole");
        assert_eq!(accumulate(&events).message.text(), text);
    }
    let block = json!({"type": "content_block_start", "index": "x", "content_block": {"type": "text", "text": null, "citations": 5}});
    let delta =
        json!({"type": "content_block_delta", "delta": {"type": "text_delta", "text": 5, "citation": null}});
    let usage = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": "many"}});
    let (events, result) = claude(&[
        claude_start(),
        block,
        delta,
        usage,
        json!({"type": "message_stop"}),
    ]);
    result.expect("the stream is whole");
    assert_eq!(accumulate(&events).message.text(), "5");
}

#[test]
fn reasoning_with_signatures_is_kept_whole() {
    let piece = |text: &str| {
        chat(json!({"content": "", "reasoning": text, "reasoning_details":
            [{"type": "reasoning.text", "text": text, "format": "x", "index": 0}]}))
    };
    let signed = chat(
        json!({"reasoning_details": [{"type": "reasoning.text", "signature": "s", "index": 0},
        {"type": "reasoning.encrypted", "data": "d", "index": 1}]}),
    );
    let events = chat_events(&[
        piece("a"),
        piece("b"),
        signed,
        chat(json!({"content": "c"})),
        chat_end("stop"),
    ]);
    let details = json!([
        {"type": "reasoning.text", "text": "ab", "format": "x", "index": 0, "signature": "s"},
        {"type": "reasoning.encrypted", "data": "d", "index": 1},
    ]);
    assert_eq!(
        events[3],
        json!(["provider_part", {"api": "openai-chat", "attach": false, "data": {"reasoning_details": details}}])
    );
    // Plain text is kept as thinking; there is nothing else to send back.
    let events = chat_events(&[piece("a"), chat_end("stop")]);
    assert_eq!(events.as_array().map(Vec::len), Some(2), "{events}");
}

#[test]
fn refusals_and_reasons() {
    let cases = [
        (
            json!({"content": "no", "refusal": null}),
            "content_filter",
            StopReason::Refusal,
        ),
        (json!({"refusal": "I cannot."}), "stop", StopReason::Refusal),
        (json!({"content": "x"}), "SAFETY", StopReason::Refusal),
        (json!({}), "PROHIBITED_CONTENT", StopReason::Refusal),
        (
            json!({}),
            "content_filter: PROHIBITED_CONTENT",
            StopReason::Refusal,
        ),
        (json!({"content": "x"}), "length", StopReason::MaxTokens),
        (json!({"content": "x"}), "model_length", StopReason::ContextWindow),
        (json!({"content": "x"}), "stop", StopReason::EndTurn),
        (json!({"content": "x"}), "novel_reason", StopReason::Other),
    ];
    for (delta, word, reason) in cases {
        let (events, result) = decode(Api::OpenaiChat, [sse(&[chat(delta), chat_end(word)]).as_bytes()]);
        result.expect("the stream is whole");
        assert_eq!(accumulate(&events).stop_reason, reason, "{word}");
    }
    for (word, reason, raw) in [
        ("end_turn", StopReason::EndTurn, None),
        ("stop_sequence", StopReason::StopSequence, Some("###")),
        ("pause_turn", StopReason::PauseTurn, None),
        ("refusal", StopReason::Refusal, None),
        ("compaction", StopReason::PauseTurn, None),
        ("model_context_window_exceeded", StopReason::ContextWindow, None),
        ("something_new", StopReason::Other, Some("something_new")),
    ] {
        let delta = json!({"type": "message_delta", "delta": {"stop_reason": word, "stop_sequence": "###"}});
        let (events, result) = claude(&[claude_start(), delta, json!({"type": "message_stop"})]);
        result.expect("the stream is whole");
        let answer = accumulate(&events);
        assert_eq!(
            (answer.stop_reason, answer.raw.as_deref()),
            (reason, raw),
            "{word}"
        );
    }
}

/// Returns the thoughts and the text of an answer that arrives in these pieces.
fn thought_and_said(pieces: &[&str]) -> (String, String) {
    let chunks = pieces.iter().map(|piece| chat(json!({ "content": piece })));
    let chunks: Vec<Value> = chunks.chain([chat_end("stop")]).collect();
    let (events, result) = decode(Api::OpenaiChat, [sse(&chunks).as_bytes()]);
    result.expect("the stream is whole");
    let (mut thought, mut said) = (String::new(), String::new());
    for part in accumulate(&events).message.content {
        match part {
            ContentPart::Thinking(part) => thought += &part.text,
            ContentPart::Text(part) => said += &part.text,
            other => panic!("{other:?}"),
        }
    }
    (thought, said)
}

#[test]
fn thinking_in_tags_at_the_beginning_of_an_answer_is_thinking() {
    let whole = "\n<think>\nA < b, so </th\u{e9}n> yes.\n</think>\n\nIt is <think>so</think>.";
    let wanted = ("A < b, so </th\u{e9}n> yes.\n", "It is <think>so</think>.");
    let characters: Vec<String> = whole.chars().map(String::from).collect();
    let characters: Vec<&str> = characters.iter().map(String::as_str).collect();
    for pieces in [&[whole][..], &characters] {
        let (thought, said) = thought_and_said(pieces);
        assert_eq!((thought.as_str(), said.as_str()), wanted);
    }
    for (pieces, thought, said) in [
        (&["<think>\n\n</think>\n\nyes"][..], "", "yes"),
        (&["<think>cut off </thi"], "cut off </thi", ""),
        (&["<thi", "rd> is a word"], "", "<third> is a word"),
        (&["<th"], "", "<th"),
        (&["say <think>x</think>"], "", "say <think>x</think>"),
        (&[" ", "yes"], "", " yes"),
    ] {
        let found = thought_and_said(pieces);
        assert_eq!(
            (found.0.as_str(), found.1.as_str()),
            (thought, said),
            "{pieces:?}"
        );
    }
}

/// The model's template writes the opening tag into the prompt.
#[test]
fn words_before_a_tag_that_only_closes_are_thinking() {
    for (whole, thought, said) in [
        ("Hm, a\ngreeting.\n</think>\n\nHello", "Hm, a\ngreeting.", "Hello"),
        (
            "It is J.</think>The letter is **J**.",
            "It is J.",
            "The letter is **J**.",
        ),
        ("\n</think>\n\nHello", "", "Hello"),
        ("</think>Hello", "", "Hello"),
        ("All was thought.\n</think>", "All was thought.", ""),
        ("All was thought.\n</think>\n\n", "All was thought.", ""),
        ("a `b`\n</think>\nc", "a `b`", "c"),
        (
            "one\n</think>\ntwo </think> three\n</think>\nfour",
            "one",
            "two </think> three\n</think>\nfour",
        ),
        // A mention of the tag is ordinary text.
        ("The tag `</think>` closes", "", "The tag `</think>` closes"),
        ("The tag </think> closes", "", "The tag </think> closes"),
        ("\"</think>\" closes", "", "\"</think>\" closes"),
        ("```\nx\n</think>\n```\n", "", "```\nx\n</think>\n```\n"),
        ("a <think>\nb\n</think>\nc", "", "a <think>\nb\n</think>\nc"),
        ("a < b and </thi", "", "a < b and </thi"),
    ] {
        let characters: Vec<String> = whole.chars().map(String::from).collect();
        let characters: Vec<&str> = characters.iter().map(String::as_str).collect();
        for pieces in [&[whole][..], &characters] {
            let found = thought_and_said(pieces);
            let found = (found.0.trim_end(), found.1.as_str());
            assert_eq!(found, (thought, said), "{pieces:?}");
        }
    }
}

#[test]
fn a_tag_behind_reasoning_of_its_own_field_is_a_word() {
    let chunks = [
        chat(json!({"reasoning_content": "Hm."})),
        chat(json!({"content": "one\n</think>\ntwo"})),
        chat_end("stop"),
    ];
    let (events, _) = decode(Api::OpenaiChat, [sse(&chunks).as_bytes()]);
    assert_eq!(accumulate(&events).message.text(), "one\n</think>\ntwo");
}

#[test]
fn reasoning_tokens_are_part_of_the_output() {
    let usage = |usage: Value| {
        let chunk = json!({"id": "x", "choices": [], "usage": usage});
        let (events, _) = decode(Api::OpenaiChat, [sse(&[chat_end("stop"), chunk]).as_bytes()]);
        accumulate(&events).usage
    };
    let beside = usage(
        json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 22,
        "completion_tokens_details": {"reasoning_tokens": 7}}),
    );
    let inside = usage(
        json!({"prompt_tokens": 10, "completion_tokens": 12, "total_tokens": 22,
        "completion_tokens_details": {"reasoning_tokens": 7}, "prompt_cache_hit_tokens": 4}),
    );
    assert_eq!(
        beside,
        Usage {
            input_tokens: 10,
            output_tokens: 12,
            reasoning_tokens: 7,
            ..Usage::default()
        }
    );
    assert_eq!(
        inside,
        Usage {
            input_tokens: 6,
            output_tokens: 12,
            cache_read_tokens: 4,
            reasoning_tokens: 7,
            ..Usage::default()
        }
    );
    assert_eq!(
        usage(json!({"prompt_tokens": -3, "completion_tokens": 2.5, "total_tokens": "x"})).output_tokens,
        2
    );
}

#[test]
fn errors_inside_streams() {
    let overloaded = json!({"type": "error", "error": {"details": null, "type": "overloaded_error", "message": "Overloaded"},
        "request_id": "req_1"});
    let text = json!({"type": "content_block_delta", "delta": {"type": "text_delta", "text": "half"}});
    let block = json!({"type": "content_block_start", "content_block": {"type": "text", "text": ""}});
    let (events, result) = claude(&[claude_start(), block, text, overloaded]);
    let Err(StreamError::Provider(error)) = result else {
        panic!("{result:?}")
    };
    assert_eq!(
        (error.code, error.retryable, error.message.as_str()),
        (ErrorCode::Overloaded, true, "Overloaded")
    );
    assert_eq!(accumulate(&events).message.text(), "half");

    let cases: [(&str, ErrorCode); 5] = [
        (
            "event: error\ndata: {\"error\":{\"message\":\"bad call\",\"code\":\"tool_use_failed\",\"status_code\":400}}\n\n",
            ErrorCode::BadGeneration,
        ),
        (
            "data: {\"id\":\"x\",\"error\":{\"code\":502,\"message\":\"Upstream\"},\"choices\":[]}\n\n",
            ErrorCode::ServerError,
        ),
        (
            "data: {\"error\":\"model runner crashed\"}\n\n",
            ErrorCode::ServerError,
        ),
        (
            "data: {\"message\":\"Rate limit reached\",\"type\":\"too_many_requests\"}\n\n",
            ErrorCode::RateLimited,
        ),
        (
            "data: upstream connect error or disconnect/reset before headers\n\n",
            ErrorCode::BadResponse,
        ),
    ];
    for (event, code) in cases {
        let stream = format!("{}{event}", sse(&[chat(json!({"content": "half"}))]));
        let (events, result) = decode(Api::OpenaiChat, [stream.as_bytes()]);
        assert_eq!(result.expect_err(event).into_model_error().code, code, "{event}");
        assert_eq!(accumulate(&events).message.text(), "half", "{event}");
        assert_eq!(accumulate(&events).stop_reason, StopReason::Broken);
    }
}

#[test]
fn what_is_no_stream_is_called_so() {
    for api in [Api::Anthropic, Api::OpenaiChat] {
        let (events, result) = decode(api, [b"<html><body>502 Bad Gateway</body></html>".as_slice()]);
        assert!(events.is_empty());
        assert!(
            matches!(&result, Err(StreamError::NotAStream { head }) if head.contains("502")),
            "{result:?}"
        );
        assert!(matches!(decode(api, []).1, Err(StreamError::Truncated)));
        assert!(matches!(
            decode(api, [b": keepalive\n\n".as_slice()]).1,
            Err(StreamError::Truncated)
        ));
        let endless = vec![b'x'; 9 << 20];
        assert!(matches!(
            decode(api, [endless.as_slice()]).1,
            Err(StreamError::Sse(_))
        ));
    }
    let whole = br#"{"id":"c","choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}"#;
    assert!(matches!(
        decode(Api::OpenaiChat, [whole.as_slice()]).1,
        Err(StreamError::NotAStream { .. })
    ));
}

#[test]
fn noise_after_the_end_is_not_looked_at() {
    let mut stream = sse(&[claude_start(), json!({"type": "message_stop"})]);
    stream.push_str("event: data\ndata: [DONE]\n\ndata: garbage\n\n");
    let (events, result) = decode(Api::Anthropic, [stream.as_bytes()]);
    result.expect("the stream is whole");
    assert_eq!(events.len(), 2);
    let stream = format!("{}data: [DONE]\n\ndata: garbage\n\n", sse(&[chat_end("stop")]));
    decode(Api::OpenaiChat, [stream.as_bytes()])
        .1
        .expect("the stream is whole");
}

#[test]
fn bodies_that_are_errors() {
    for (api, body, code) in [
        (
            Api::Anthropic,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"x"}}"#,
            ErrorCode::Overloaded,
        ),
        (Api::Anthropic, "{}", ErrorCode::BadResponse),
        (Api::Anthropic, "<html>", ErrorCode::BadResponse),
        (
            Api::OpenaiChat,
            r#"{"error":{"code":429,"message":"x"}}"#,
            ErrorCode::RateLimited,
        ),
        (Api::OpenaiChat, r#"{"choices":[]}"#, ErrorCode::BadResponse),
        (Api::OpenaiChat, "", ErrorCode::BadResponse),
    ] {
        let mut events = Vec::new();
        let error = decode_body(api, context(), body.as_bytes(), &mut events).expect_err(body);
        assert_eq!(error.into_model_error().code, code, "{body}");
        assert!(events.is_empty(), "{body}");
    }
}

#[test]
fn half_a_character_is_replaced_and_the_answer_goes_on() {
    let chat = concat!(
        r#"data: {"choices":[{"index":0,"delta":{"content":"cut \ud83d here"},"finish_reason":"stop"}]}"#,
        "\n\ndata: [DONE]\n\n"
    );
    let claude = concat!(
        r#"data: {"type":"message_start","message":{"id":"msg_1","model":"m"}}"#,
        "\n\n",
        r#"data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        "\n\n",
        r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"cut \ud83d here"}}"#,
        "\n\n",
        r#"data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#,
        "\n\n",
        r#"data: {"type":"message_stop"}"#,
        "\n\n",
    );
    for (api, stream) in [(Api::OpenaiChat, chat), (Api::Anthropic, claude)] {
        let (events, result) = decode(api, [stream.as_bytes()]);
        result.expect("the stream is whole");
        let text = accumulate(&events).message.text();
        assert_eq!(text, "cut \u{fffd} here", "{api:?}");
    }
}

#[test]
fn a_second_message_before_the_first_ended_is_an_error() {
    let start = |id: &str| json!({"type": "message_start", "message": {"id": id, "model": "claude"}});
    let text =
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "a"}});
    let (events, result) = claude(&[start("msg_1"), text.clone(), start("msg_2"), text.clone()]);
    assert!(matches!(result, Err(StreamError::Malformed { .. })), "{result:?}");
    assert!(
        !events
            .iter()
            .any(|event| matches!(event, EnvironmentEvent::StreamEnd(_)))
    );
    let stop = json!({"type": "message_stop"});
    let (_, result) = claude(&[start("msg_1"), start("msg_1"), text, stop]);
    result.expect("the same message said twice is one");
}

#[test]
fn an_error_line_of_a_stream_says_the_providers_words() {
    let line = "error: {\"code\":500,\"message\":\"out of memory\",\"type\":\"server_error\"}\n\n";
    for api in [Api::OpenaiChat, Api::Anthropic] {
        let (_, result) = decode(api, [line.as_bytes()]);
        let Err(StreamError::Provider(error)) = result else {
            panic!("{api:?}: {result:?}");
        };
        assert_eq!(
            (error.message.as_str(), error.code),
            ("out of memory", ErrorCode::ServerError)
        );
    }
}

#[test]
fn cached_tokens_beside_the_prompt_are_added_to_it() {
    for (total, input, cached) in [(1_110, 100, 1_000), (110, 0, 100)] {
        let usage = json!({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": total,
            "prompt_tokens_details": {"cached_tokens": cached}});
        let last = json!({"id": "chatcmpl-1", "choices": [], "usage": usage});
        let (events, result) = decode(
            Api::OpenaiChat,
            [sse(&[chat(json!({"content": "a"})), chat_end("stop"), last]).as_bytes()],
        );
        result.expect("whole");
        let reported = events.iter().find_map(|event| match event {
            EnvironmentEvent::UsageReport(report) => Some(report.usage),
            _ => None,
        });
        let reported = reported.expect("usage is said");
        assert_eq!(
            (reported.input_tokens, reported.cache_read_tokens),
            (input, cached)
        );
        assert_eq!(reported.output_tokens, 10);
    }
}

#[test]
fn a_stream_that_is_called_json_is_read_as_a_stream() {
    let chunks = [chat(json!({"content": "a"})), chat_end("stop")];
    let (streamed, _) = decode(Api::OpenaiChat, [sse(&chunks).as_bytes()]);
    let mut whole = Vec::new();
    decode_body(Api::OpenaiChat, context(), sse(&chunks).as_bytes(), &mut whole).expect("it is one");
    assert_eq!(whole, streamed);
    let broken = sse(&chunks[..1]);
    let result = decode_body(Api::OpenaiChat, context(), broken.as_bytes(), &mut Vec::new());
    assert!(result.is_err(), "it has no end");
}

#[test]
fn an_empty_object_before_the_arguments_is_not_part_of_them() {
    let call = |arguments: &str| {
        let function = json!({"name": "read", "arguments": arguments});
        chat(json!({"tool_calls": [{"index": 0, "id": "call_1", "function": function}]}))
    };
    let more = |arguments: &str| {
        let function = json!({"arguments": arguments});
        chat(json!({"tool_calls": [{"index": 0, "function": function}]}))
    };
    let said = chat_events(&[
        call("{}"),
        more("{\"path\":"),
        more("\"a\"}"),
        chat_end("tool_calls"),
    ]);
    let calls: Vec<&Value> = said
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event[0] == "tool_call")
        .collect();
    assert_eq!(calls.len(), 1, "{said}");
    assert_eq!(calls[0][1]["input"], json!({"path": "a"}));
    assert!(calls[0][1].get("invalid").is_none());
    let said = chat_events(&[call("{}"), chat_end("tool_calls")]);
    let last = said
        .as_array()
        .unwrap()
        .iter()
        .find(|event| event[0] == "tool_call");
    assert_eq!(last.unwrap()[1]["input"], json!({}));
}

#[test]
fn an_answer_that_says_why_it_stops_is_whole_without_message_stop() {
    let call = json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}});
    let stop =
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 3}});
    let (events, result) = claude(&[claude_start(), call.clone(), stop]);
    result.expect("the answer is whole");
    let ends = |event: &EnvironmentEvent| matches!(event, EnvironmentEvent::StreamEnd(_));
    assert!(
        events
            .iter()
            .any(|event| matches!(event, EnvironmentEvent::ToolCall(_)))
    );
    assert_eq!(events.iter().filter(|event| ends(event)).count(), 1);
    let (events, result) = claude(&[claude_start(), call]);
    assert!(
        result.is_err() && !events.iter().any(ends),
        "nobody knows what is missing"
    );
}

#[test]
fn empty_arguments_before_the_real_ones_are_not_part_of_them() {
    let piece = |id: Option<&str>, name: Option<&str>, arguments: &str| {
        let mut call = json!({"index": 0, "function": {"arguments": arguments}});
        if let Some(id) = id {
            call["id"] = json!(id);
        }
        if let Some(name) = name {
            call["function"]["name"] = json!(name);
        }
        chat(json!({"tool_calls": [call]}))
    };
    for (id, name) in [
        (None, None),
        (Some("call_1"), None),
        (Some("call_1"), Some("look")),
    ] {
        let stream = sse(&[
            piece(Some("call_1"), Some("look"), "{}"),
            piece(id, name, "{\"path\":"),
            piece(None, None, "\"a\"}"),
            chat_end("tool_calls"),
        ]);
        let (events, result) = decode(Api::OpenaiChat, [stream.as_bytes()]);
        result.expect("the stream is whole");
        let answer = accumulate(&events);
        let [ContentPart::ToolCall(call)] = answer.message.content.as_slice() else {
            panic!("{answer:?}")
        };
        assert_eq!(call.input, json!({"path": "a"}), "{id:?} {name:?}");
    }
}

#[test]
fn an_answer_in_which_the_server_failed_is_none() {
    let call = json!({"tool_calls": [{"index": 0, "id": "call_1", "function": {"name": "look", "arguments": "{}"}}]});
    for (word, code) in [
        ("insufficient_system_resource", ErrorCode::Overloaded),
        ("network_error", ErrorCode::ServerError),
        ("error", ErrorCode::ServerError),
        ("abort", ErrorCode::ServerError),
    ] {
        let chunks = [
            chat(json!({"content": "Half of"})),
            chat(call.clone()),
            chat_end(word),
        ];
        for stream in [sse(&chunks), format!("{}data: [DONE]\n\n", sse(&chunks))] {
            let (events, result) = decode(Api::OpenaiChat, [stream.as_bytes()]);
            let Err(StreamError::Provider(error)) = result else {
                panic!("{word}: {result:?}")
            };
            assert_eq!((error.code, error.retryable), (code, true), "{word}");
            assert!(error.message.contains(word), "{error}");
            let said = |event: &EnvironmentEvent| {
                matches!(
                    event,
                    EnvironmentEvent::ToolCall(_) | EnvironmentEvent::StreamEnd(_)
                )
            };
            assert!(!events.iter().any(said), "{word}");
        }
    }
}

/// Shapes of <https://ai.google.dev/gemini-api/docs/thought-signatures>.
#[test]
fn what_gemini_wants_back_with_a_call_is_sent_back_to_it_alone() {
    let extra = json!({"google": {"thought_signature": "c2lnbmVk"}});
    let call = json!({"tool_calls": [{"index": 0, "id": "call_1", "extra_content": extra,
        "function": {"name": "look", "arguments": "{}"}}]});
    let stream = sse(&[chat(call), chat_end("tool_calls")]);
    let (events, result) = decode(Api::OpenaiChat, [stream.as_bytes()]);
    result.expect("the stream is whole");
    let mut assembler = Assembler::default();
    assembler.set_model("gemini-3-pro");
    events.iter().for_each(|event| assembler.feed(event));
    let said = assembler.finish().message.expect("a message");
    let result = ToolResultPart {
        tool_call_id: "call_1".into(),
        name: "look".into(),
        content: vec![ContentPart::text("ok")],
        is_error: false,
    };
    let result = Message {
        message_id: "msg_result".into(),
        role: Role::Tool,
        content: vec![ContentPart::ToolResult(result)],
        by: None,
    };
    let sent = |model: &str| {
        let request = ModelRequest {
            model: Catalog::builtin()
                .resolve(&format!("ollama/{model}"))
                .expect("a model"),
            params: ModelParams::default(),
            system: Vec::new(),
            messages: vec![said.clone().into(), result.clone().into()],
            tools: [].into(),
            plain: false,
            turns: false,
            without: Vec::new(),
            answer_schema: None,
        };
        let body = build(&request, &WireOptions::default(), &NoBlobs);
        let body: Value = serde_json::from_slice(&body).expect("JSON");
        let messages = body["messages"].as_array().expect("messages");
        let answer = messages
            .iter()
            .find(|message| message["role"] == "assistant")
            .expect("an answer");
        answer["tool_calls"][0]["extra_content"].clone()
    };
    assert_eq!(sent("gemini-3-pro"), extra);
    assert_eq!(sent("other"), Value::Null);
}

#[test]
fn a_name_in_pieces_or_again_and_again_is_one_name() {
    let named = |pieces: &[(&str, &str)]| {
        let piece = |(name, arguments): &(&str, &str)| {
            chat(
                json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": name, "arguments": arguments}}]}),
            )
        };
        let chunks: Vec<Value> = pieces.iter().map(piece).chain([chat_end("tool_calls")]).collect();
        let (events, result) = decode(Api::OpenaiChat, [sse(&chunks).as_bytes()]);
        result.expect("the stream is whole");
        let call = events.iter().find_map(|event| match event {
            EnvironmentEvent::ToolCall(call) => Some((call.name.clone(), call.input.clone())),
            _ => None,
        });
        call.expect("a call")
    };
    let whole = ("bash".to_owned(), json!({"command": "x"}));
    let all = r#"{"command":"x"}"#;
    assert_eq!(named(&[("ba", ""), ("sh", all)]), whole);
    assert_eq!(named(&[("ba", ""), ("bash", all)]), whole);
    assert_eq!(named(&[("bash", ""), ("bash", all)]), whole);
    assert_eq!(named(&[("bash", &all[..8]), ("bash", &all[8..])]), whole);
    assert_eq!(named(&[("bash", &all[..8]), ("", &all[8..])]), whole);
}

#[test]
fn a_message_in_the_place_of_a_delta_is_the_answer() {
    let whole = json!({"id": "x", "choices": [{"index": 0, "message": {"role": "assistant", "content": "whole"}, "finish_reason": "stop"}]});
    let text = |chunks: &[Value]| {
        let (events, result) = decode(Api::OpenaiChat, [sse(chunks).as_bytes()]);
        result.expect("the stream is whole");
        accumulate(&events).message.text()
    };
    assert_eq!(text(std::slice::from_ref(&whole)), "whole");
    assert_eq!(
        text(&[chat(json!({"role": "assistant"})), whole.clone()]),
        "whole"
    );
    assert_eq!(
        text(&[chat(json!({"content": "whole"})), whole]),
        "whole",
        "not twice"
    );
}

#[test]
fn a_call_of_a_function_is_the_call_of_a_tool() {
    let chunks = [
        chat(json!({"function_call": {"name": "bash", "arguments": "{\"command\""}})),
        chat(json!({"function_call": {"arguments": ":\"x\"}"}})),
        chat_end("function_call"),
    ];
    let (events, result) = decode(Api::OpenaiChat, [sse(&chunks).as_bytes()]);
    result.expect("the stream is whole");
    let answer = accumulate(&events);
    assert_eq!(answer.stop_reason, StopReason::ToolUse);
    let [ContentPart::ToolCall(call)] = &answer.message.content[..] else {
        panic!("{:?}", answer.message);
    };
    assert_eq!(
        (call.name.as_str(), &call.input),
        ("bash", &json!({"command": "x"}))
    );
}

#[test]
fn a_character_in_two_events_is_whole() {
    let stream = |second: &str| {
        let first = r#"{"choices":[{"index":0,"delta":{"content":"smile \ud83d"}}]}"#;
        let second = format!(r#"{{"choices":[{{"index":0,"delta":{{"content":"{second}"}}}}]}}"#);
        format!("data: {first}\n\ndata: {second}\n\n{}", sse(&[chat_end("stop")]))
    };
    for (second, text) in [("\\ude00!", "smile \u{1f600}!"), ("and on", "smile and on")] {
        let (events, result) = decode(Api::OpenaiChat, [stream(second).as_bytes()]);
        result.expect("the stream is whole");
        assert_eq!(accumulate(&events).message.text(), text);
    }
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_answer() {
    let stream = sse(&[chat(json!({"content": "hi"})), chat_end("stop")]);
    let marked = format!("\u{feff}{stream}");
    for pieces in [vec![marked.as_bytes()], marked.as_bytes().chunks(1).collect()] {
        let (events, result) = decode(Api::OpenaiChat, pieces);
        result.expect("the stream is whole");
        assert_eq!(accumulate(&events).message.text(), "hi");
    }
    let mut events = Vec::new();
    decode_body(Api::OpenaiChat, context(), marked.as_bytes(), &mut events).expect("it is a stream");
    assert_eq!(accumulate(&events).message.text(), "hi");
    let body =
        "\u{feff}{\"choices\":[{\"index\":0,\"message\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}";
    let mut events = Vec::new();
    decode_body(Api::OpenaiChat, context(), body.as_bytes(), &mut events).expect("it is an answer");
    assert_eq!(accumulate(&events).message.text(), "hi");
}

#[test]
fn what_a_gateway_charges_is_said() {
    let cost = |usage: Value| {
        let chunk = json!({"id": "x", "choices": [], "usage": usage});
        let (events, _) = decode(Api::OpenaiChat, [sse(&[chat_end("stop"), chunk]).as_bytes()]);
        accumulate(&events).usage.reported_cost.0
    };
    let details = json!({"upstream_inference_cost": 0.02});
    assert_eq!(
        cost(json!({"prompt_tokens": 1, "cost": 0.0015, "cost_details": details})),
        1_500_000
    );
    assert_eq!(
        cost(json!({"cost": 0.001, "is_byok": true, "cost_details": details})),
        21_000_000
    );
    assert_eq!(cost(json!({"cost": {"total_cost": 0.003}})), 3_000_000);
    assert_eq!(
        cost(json!({"prompt_tokens": 1, "cost_in_usd_ticks": 37_756_000})),
        3_775_600
    );
    assert_eq!(cost(json!({"prompt_tokens": 1, "cost_in_usd_ticks": "much"})), 0);
    for odd in [json!(-1), json!("much"), json!(null), json!(1e300), json!([])] {
        assert_eq!(cost(json!({"prompt_tokens": 1, "cost": odd})), 0);
    }
}

#[test]
fn a_call_that_gemini_calls_malformed_is_not_run_and_asked_for_again() {
    let call = chat(
        json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "bash", "arguments": "{}"}}]}),
    );
    for word in [
        "MALFORMED_FUNCTION_CALL",
        "function_call_filter: MALFORMED_FUNCTION_CALL",
        "UNEXPECTED_TOOL_CALL",
    ] {
        for chunks in [vec![chat_end(word)], vec![call.clone(), chat_end(word)]] {
            let (events, result) = decode(Api::OpenaiChat, [sse(&chunks).as_bytes()]);
            let error = result.expect_err("it is not an answer").into_model_error();
            assert_eq!(
                (error.code, error.retryable),
                (ErrorCode::BadGeneration, true),
                "{word}"
            );
            let is_call = |event: &EnvironmentEvent| matches!(event, EnvironmentEvent::ToolCall(_));
            assert!(!events.iter().any(is_call), "{word}");
        }
    }
}

#[test]
fn an_error_of_a_choice_says_the_providers_words() {
    let choice = json!({"index": 0, "delta": {}, "finish_reason": "error", "error": {"code": 429, "message": "made up: slow down"}});
    let (_, result) = decode(
        Api::OpenaiChat,
        [sse(&[json!({"id": "x", "choices": [choice]})]).as_bytes()],
    );
    let error = result.expect_err("an error").into_model_error();
    assert_eq!(
        (error.code, error.message.as_str()),
        (ErrorCode::RateLimited, "made up: slow down")
    );
}

#[test]
fn zeros_at_the_end_of_an_answer_take_no_count_back() {
    let begins = json!({"type": "message_start", "message": {"id": "msg_1", "model": "m",
        "usage": {"input_tokens": 9_000, "cache_read_input_tokens": 1_000, "output_tokens": 1}}});
    let ends = |usage: Value| {
        let delta = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage});
        let (events, result) = claude(&[begins.clone(), delta, json!({"type": "message_stop"})]);
        result.expect("the stream is whole");
        let usage = accumulate(&events).usage;
        (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens)
    };
    let zeros = json!({"input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 20});
    assert_eq!(ends(zeros), (9_000, 1_000, 20));
    let counts = json!({"input_tokens": 9_500, "cache_read_input_tokens": 0, "output_tokens": 20});
    assert_eq!(ends(counts), (9_500, 0, 20));
    let zeros = json!({"input_tokens": 0, "output_tokens": 0});
    assert_eq!(ends(zeros), (9_000, 1_000, 1));
}

#[test]
fn tokens_that_are_cached_for_an_hour_are_counted_as_a_part_of_those_written() {
    for (created, wanted) in [
        (
            json!({"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 90}),
            90,
        ),
        (json!({"ephemeral_1h_input_tokens": 900}), 100),
        (json!({"ephemeral_1h_input_tokens": -5}), 0),
        (json!({}), 0),
        (json!(null), 0),
    ] {
        let usage = json!({"input_tokens": 1, "output_tokens": 1, "cache_creation_input_tokens": 100,
            "cache_creation": created});
        let text = json!({"type": "text", "text": "Hi"});
        let delta = json!({"stop_reason": "end_turn"});
        let events = [
            json!({"type": "message_start", "message": {"id": "m", "model": "m", "usage": usage}}),
            json!({"type": "content_block_start", "index": 0, "content_block": text}),
            json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 2}}),
            json!({"type": "message_stop"}),
        ];
        let (events, result) = claude(&events);
        result.expect("a whole answer");
        let usage = accumulate(&events).usage;
        assert_eq!(
            (usage.cache_write_tokens, usage.cache_write_1h_tokens),
            (100, wanted),
            "{created}"
        );
    }
}

#[test]
fn tokens_of_an_answer_that_was_made_in_one_region_are_unpriced() {
    for (place, unpriced) in [
        (json!("global"), 0),
        (json!("not_available"), 0),
        (json!(null), 0),
        (json!("us"), 12),
    ] {
        let usage = json!({"input_tokens": 10, "output_tokens": 1, "inference_geo": place});
        let events = [
            json!({"type": "message_start", "message": {"id": "m", "model": "m", "usage": usage}}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hi"}}),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}),
            json!({"type": "message_stop"}),
        ];
        let (events, result) = decode(Api::Anthropic, [sse(&events).as_bytes()]);
        result.expect("a whole answer");
        assert_eq!(accumulate(&events).usage.unpriced_tokens, unpriced, "{place}");
    }
}

#[test]
fn an_error_that_is_written_to_a_stream_without_the_form_of_an_event_is_read() {
    let begun = r#"data: {"candidates":[{"content":{"role":"model","parts":[{"text":"half"}]}}]}"#;
    let error = "{\n  \"error\": {\n    \"code\": 503,\n    \"message\": \"high demand\",\n    \"status\": \"UNAVAILABLE\"\n  }\n}\n";
    let bytes = format!("{begun}\r\n\r\n{error}");
    for cut in [bytes.len(), begun.len() + 8, bytes.len() - 20] {
        let (first, rest) = bytes.split_at(cut);
        let (_, result) = decode(Api::Gemini, [first.as_bytes(), rest.as_bytes()]);
        let Err(StreamError::Provider(error)) = result else {
            panic!("{result:?}");
        };
        assert_eq!(
            (error.code, error.message.as_str()),
            (ErrorCode::Overloaded, "high demand")
        );
    }
    let (_, cut) = decode(Api::Gemini, [&bytes.as_bytes()[..bytes.len() - 20]]);
    assert_eq!(cut, Err(StreamError::Truncated), "half of an error says nothing");
}

#[test]
fn minimax_refuses_within_a_stream_that_succeeded() {
    let refused = json!({"id": "x", "choices": null, "base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}});
    let (_, result) = decode(Api::OpenaiChat, [sse(&[refused]).as_bytes()]);
    let Err(StreamError::Provider(error)) = result else {
        panic!("{result:?}");
    };
    assert_eq!(error.code, ErrorCode::Billing);
}
