//! Streams as gateways and compatible servers write them, modelled on public reports: their meaning, and the
//! data that is sent back.

use agentx_llm::{Catalog, NoBlobs, WireOptions, build, decode_body};
use agentx_types::{Api, ContentPart, Message, ModelParams, ModelRequest, Role, StopReason, Usage};
use serde_json::{Value, json};

use crate::common::{accumulate, context, decode};
use crate::made_up::{chat, chat_end, claude, claude_start, sse};

/// The message of a stream of Anthropic's API, and the reason for its end.
fn claude_said(events: &[Value]) -> (Vec<ContentPart>, StopReason) {
    let all: Vec<Value> = [claude_start()].iter().chain(events).cloned().collect();
    let (events, result) = claude(&all);
    result.expect("the stream is whole");
    let answer = accumulate(&events);
    (answer.message.content, answer.stop_reason)
}

fn start(index: u64, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: u64, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn arguments(index: u64, piece: &str) -> Value {
    delta(index, json!({"type": "input_json_delta", "partial_json": piece}))
}

fn words(index: u64, text: &str) -> Value {
    delta(index, json!({"type": "text_delta", "text": text}))
}

fn call(index: u64, id: &str) -> Value {
    start(
        index,
        json!({"type": "tool_use", "id": id, "name": "read", "input": {}}),
    )
}

fn text(index: u64) -> Value {
    start(index, json!({"type": "text", "text": ""}))
}

fn stop(index: u64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn ends(reason: &str) -> [Value; 2] {
    [
        json!({"type": "message_delta", "delta": {"stop_reason": reason}}),
        json!({"type": "message_stop"}),
    ]
}

/// Parts in a short form: plain text, calls with their arguments, and the data that their provider attached.
fn short(parts: &[ContentPart]) -> Vec<Value> {
    let provider = |data: &Option<agentx_types::ProviderData>| data.as_ref().map(|data| data.data.clone());
    let part = |part: &ContentPart| match part {
        ContentPart::Text(part) => json!([part.text, provider(&part.provider)]),
        ContentPart::Thinking(part) => json!([format!("({})", part.text), provider(&part.provider)]),
        ContentPart::ToolCall(call) => json!([call.tool_call_id, call.input, provider(&call.provider)]),
        other => json!([format!("{other:?}")]),
    };
    parts.iter().map(part).collect()
}

#[test]
fn deltas_of_blocks_that_are_open_together_are_told_apart_by_index() {
    let said = |events: &[Value]| {
        let (parts, reason) = claude_said(&[events, &ends("tool_use")].concat());
        assert_eq!(reason, StopReason::ToolUse);
        short(&parts)
    };
    let calls = [
        json!(["a", {"path": "a"}, null]),
        json!(["b", {"path": "b"}, null]),
    ];
    let both = [
        call(0, "a"),
        call(1, "b"),
        arguments(0, r#"{"path":"#),
        arguments(1, r#"{"path":"#),
        arguments(0, r#""a"}"#),
        arguments(1, r#""b"}"#),
    ];
    for stops in [
        vec![stop(0), stop(1)],
        vec![stop(1), stop(0)],
        vec![stop(0)],
        vec![],
    ] {
        assert_eq!(said(&[&both[..], &stops].concat()), calls, "{stops:?}");
    }
    // Three at once, the first without arguments, and text that stays open before them.
    let three = [
        text(0),
        words(0, "I "),
        call(1, "a"),
        call(2, "b"),
        call(3, "c"),
        words(0, "read."),
        arguments(3, r#"{"path":"c"}"#),
        arguments(2, r#"{"path":"b"}"#),
        stop(2),
        stop(0),
    ];
    let expected = [
        json!(["I read.", null]),
        json!(["a", {}, null]),
        json!(["b", {"path": "b"}, null]),
        json!(["c", {"path": "c"}, null]),
    ];
    assert_eq!(said(&three), expected);
}

#[test]
fn thinking_keeps_its_signature_where_text_begins_before_it_ends() {
    let signature = delta(0, json!({"type": "signature_delta", "signature": "c2ln"}));
    let think = |text: &str| delta(0, json!({"type": "thinking_delta", "thinking": text}));
    let events = [
        start(0, json!({"type": "thinking", "thinking": ""})),
        think("h"),
        text(1),
        words(1, "Hi"),
        think("m"),
        signature,
        words(1, "!"),
        stop(0),
        stop(1),
    ];
    let (parts, _) = claude_said(&[&events[..], &ends("end_turn")].concat());
    assert_eq!(
        short(&parts),
        [json!(["(hm)", {"signature": "c2ln"}]), json!(["Hi!", null])]
    );
}

#[test]
fn an_index_that_no_block_has_is_that_of_the_open_one() {
    let events = [
        text(0),
        words(0, "One"),
        stop(0),
        call(1, "a"),
        arguments(0, r#"{"path":"a"}"#),
        stop(7),
        call(0, "b"),
        arguments(9, r#"{"path":"b"}"#),
    ];
    let (parts, _) = claude_said(&[&events[..], &ends("tool_use")].concat());
    let expected = [
        json!(["One", null]),
        json!(["a", {"path": "a"}, null]),
        json!(["b", {"path": "b"}, null]),
    ];
    assert_eq!(short(&parts), expected);
}

#[test]
fn a_delta_of_another_kind_of_block_is_no_part_of_it() {
    let events = [
        start(0, json!({"type": "thinking", "thinking": "hm"})),
        words(0, "no"),
        arguments(0, "{}"),
        stop(0),
        text(1),
        words(1, "Hi"),
        delta(1, json!({"type": "signature_delta", "signature": "c2ln"})),
        delta(1, json!({"type": "thinking_delta", "thinking": "no"})),
        stop(1),
        call(2, "a"),
        arguments(2, r#"{"path":"a"}"#),
        words(2, " and on"),
        stop(2),
    ];
    let (parts, _) = claude_said(&[&events[..], &ends("tool_use")].concat());
    let expected = [
        json!(["(hm)", null]),
        json!(["Hi", null]),
        json!([" and on", null]),
        json!(["a", {"path": "a"}, null]),
    ];
    assert_eq!(short(&parts), expected);
}

#[test]
fn what_the_api_does_not_take_in_a_block_is_not_sent_back() {
    let citation = json!({"type": "char_location", "cited_text": "a", "document_index": 0});
    let events = [
        start(
            0,
            json!({"type": "thinking", "thinking": "hm", "signature": "c2ln", "id": "rs_1"}),
        ),
        stop(0),
        start(
            1,
            json!({"type": "redacted_thinking", "data": "ZA==", "id": "rs_2"}),
        ),
        stop(1),
        start(
            2,
            json!({"type": "text", "text": "Hi", "id": "msg_1", "annotations": [1]}),
        ),
        delta(2, json!({"type": "citations_delta", "citation": citation})),
        delta(2, json!({"type": "made_up_delta", "made_up": 1})),
        stop(2),
        start(3, json!({"type": "made_up_block", "id": "x"})),
        stop(3),
        start(
            4,
            json!({"type": "tool_use", "id": "a", "name": "read", "input": {}, "index": 4, "toolset_name": "files",
            "caller": {"type": "made_up_caller"}}),
        ),
        stop(4),
    ];
    let (content, _) = claude_said(&[&events[..], &ends("tool_use")].concat());
    let message = Message {
        message_id: "msg_1".into(),
        role: Role::Assistant,
        content,
        by: None,
    };
    let request = ModelRequest {
        model: Catalog::builtin().resolve("claude-sonnet-4-5").expect("a model"),
        params: ModelParams::default(),
        system: Vec::new(),
        messages: vec![message.into()],
        tools: [].into(),
        plain: true,
        turns: false,
        without: Vec::new(),
        answer_schema: None,
    };
    let body = build(&request, &WireOptions::default(), &NoBlobs);
    let body: Value = serde_json::from_slice(&body).expect("JSON");
    let expected = json!([
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "ZA=="},
        {"type": "text", "text": "Hi", "citations": [citation]},
        {"type": "made_up_block", "id": "x"},
        {"type": "tool_use", "id": "a", "name": "read", "input": {}, "caller": {"type": "made_up_caller"}, "toolset_name": "files"},
    ]);
    assert_eq!(body["messages"][1]["content"], expected);
}

/// Returns the decoded stream of Chat Completions.
fn chat_said(chunks: &[Value]) -> agentx_llm::Accumulated {
    let (events, result) = decode(Api::OpenaiChat, [sse(chunks).as_bytes()]);
    result.expect("the stream is whole");
    accumulate(&events)
}

/// The calls of a stream of these pieces: the index, id, name and arguments of each.
fn chat_calls(pieces: &[(u64, &str, &str, &str)]) -> Vec<Value> {
    let piece = |(index, id, name, arguments): &(u64, &str, &str, &str)| {
        let function = json!({"name": name, "arguments": arguments});
        chat(json!({"tool_calls": [{"index": index, "id": id, "function": function}]}))
    };
    let chunks: Vec<Value> = pieces.iter().map(piece).chain([chat_end("tool_calls")]).collect();
    let calls = chat_said(&chunks).message.content;
    let call = |part: ContentPart| match part {
        ContentPart::ToolCall(call) => json!([call.name, call.input]),
        other => panic!("{other:?}"),
    };
    calls.into_iter().map(call).collect()
}

#[test]
fn calls_that_are_all_numbered_0_are_told_apart_where_one_has_no_arguments() {
    let now = json!(["now", {}]);
    let read = json!(["read", {"path": "a"}]);
    let path = r#"{"path":"a"}"#;
    let (none, some) = ((0, "a", "now", ""), (0, "b", "read", path));
    assert_eq!(chat_calls(&[none, some]), [now.clone(), read.clone()]);
    assert_eq!(chat_calls(&[some, none]), [read.clone(), now.clone()]);
    assert_eq!(
        chat_calls(&[none, (0, "b", "now", "")]),
        [now.clone(), now.clone()]
    );
    let in_pieces = [
        none,
        (0, "b", "read", ""),
        (0, "b", "", &path[..4]),
        (0, "", "", &path[4..]),
    ];
    assert_eq!(chat_calls(&in_pieces), [now.clone(), read.clone()]);
    // Without ids, a new name after complete arguments is another call.
    assert_eq!(
        chat_calls(&[(0, "", "read", path), (0, "", "now", "")]),
        [read.clone(), now]
    );
    // Another id in the middle of a call begins no new one, nor does an id without a name.
    let changing = [(0, "a", "read", &path[..4]), (0, "b", "read", &path[4..])];
    assert_eq!(chat_calls(&changing), std::slice::from_ref(&read));
    assert_eq!(chat_calls(&[(0, "a", "read", ""), (0, "b", "", path)]), [read]);
}

/// The tokens of an answer with these reports, in order.
fn tokens(reports: &[Value]) -> Usage {
    let report = |usage: &Value| json!({"id": "chatcmpl-1", "choices": [], "usage": usage});
    let chunks: Vec<Value> = [chat(json!({"content": "a"})), chat_end("stop")]
        .into_iter()
        .chain(reports.iter().map(report))
        .collect();
    chat_said(&chunks).usage
}

#[test]
fn counts_beside_an_answer_are_read_too() {
    let usage = json!({"prompt_tokens": 20, "completion_tokens": 8, "total_tokens": 28});
    let mut end = chat_end("stop");
    end["choices"][0]["usage"] = usage;
    assert_eq!(
        chat_said(&[chat(json!({"content": "a"})), end]).usage,
        counts(20, 8, 0, 0, 0)
    );
}

fn counts(input: u64, output: u64, cached: u64, stored: u64, reasoning: u64) -> Usage {
    Usage {
        input_tokens: input,
        output_tokens: output,
        cache_read_tokens: cached,
        cache_write_tokens: stored,
        reasoning_tokens: reasoning,
        ..Usage::default()
    }
}

#[test]
fn what_a_total_has_beyond_prompt_and_completion_is_output() {
    // The numbers of <https://github.com/mozilla-ai/any-llm/issues/1290>.
    let gemini = json!({"prompt_tokens": 20, "completion_tokens": 198, "total_tokens": 623});
    assert_eq!(tokens(&[gemini]), counts(20, 603, 0, 0, 405));
    // The counts of <https://github.com/router-for-me/CLIProxyAPI/issues/5733>, with and without their name.
    let cut = json!({"prompt_tokens": 21, "total_tokens": 81});
    assert_eq!(tokens(&[cut]), counts(21, 60, 0, 0, 60));
    let named = json!({"prompt_tokens": 21, "completion_tokens": 0, "total_tokens": 81,
        "completion_tokens_details": {"reasoning_tokens": 60}});
    assert_eq!(tokens(&[named]), counts(21, 60, 0, 0, 60));
    // Cached tokens within the prompt do not reduce the count.
    let cached = json!({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 150,
        "prompt_tokens_details": {"cached_tokens": 60}});
    assert_eq!(tokens(&[cached]), counts(40, 50, 60, 0, 40));
}

#[test]
fn what_a_total_has_beyond_prompt_and_completion_may_be_tokens_of_the_cache() {
    // Bedrock: the total is the sum of all four.
    let bedrock = json!({"prompt_tokens": 5, "completion_tokens": 10, "total_tokens": 1_315,
        "cache_read_input_tokens": 1_000, "cache_creation_input_tokens": 300});
    assert_eq!(tokens(&[bedrock]), counts(5, 10, 1_000, 300, 0));
    let stored = json!({"prompt_tokens": 5, "completion_tokens": 10, "total_tokens": 315,
        "prompt_tokens_details": {"cache_creation_tokens": 300}});
    assert_eq!(tokens(&[stored]), counts(5, 10, 0, 300, 0));
    // Azure's grok, which counts reasoning outside of the completion, too.
    let grok = json!({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 177,
        "prompt_tokens_details": {"cached_tokens": 60}, "completion_tokens_details": {"reasoning_tokens": 7}});
    assert_eq!(tokens(&[grok]), counts(100, 17, 60, 0, 7));
    // A total is ignored if it is not a number, is less than its parts, or is alone.
    for (total, prompt) in [
        (json!(1e30), 20),
        (json!(-1), 20),
        (json!(5), 20),
        (json!(500), 0),
    ] {
        let odd = json!({"prompt_tokens": prompt, "completion_tokens": 8, "total_tokens": total});
        assert_eq!(tokens(&[odd]), counts(prompt, 8, 0, 0, 0));
    }
}

#[test]
fn a_last_usage_of_zeros_takes_no_count_back() {
    let real = json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15});
    let zeros = json!({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0, "cost": 0.5});
    let both = tokens(&[real.clone(), zeros.clone()]);
    assert_eq!((both.input_tokens, both.output_tokens), (10, 5));
    assert_eq!(both.reported_cost.0, 500_000_000);
    assert_eq!(tokens(&[real.clone(), json!({})]), counts(10, 5, 0, 0, 0));
    assert_eq!(tokens(&[zeros, real.clone()]), counts(10, 5, 0, 0, 0));
    let more = json!({"prompt_tokens": 10, "completion_tokens": 7, "total_tokens": 17});
    assert_eq!(tokens(&[real, more]), counts(10, 7, 0, 0, 0));
}

#[test]
fn tokens_are_read_by_the_names_of_other_apis_too() {
    // LiteLLM: the prompt includes the cache.
    let litellm = json!({"prompt_tokens": 1_305, "completion_tokens": 10, "total_tokens": 1_315,
        "cache_read_input_tokens": 1_000, "prompt_tokens_details": {"cache_creation_tokens": 300}});
    assert_eq!(tokens(&[litellm]), counts(5, 10, 1_000, 300, 0));
    // OpenAI's Responses: the input includes the cache, too.
    let responses = json!({"input_tokens": 100, "output_tokens": 10, "total_tokens": 110,
        "input_tokens_details": {"cached_tokens": 60}, "output_tokens_details": {"reasoning_tokens": 4}});
    assert_eq!(tokens(&[responses]), counts(40, 10, 60, 0, 4));
    // Anthropic's Messages: it does not.
    let messages = json!({"input_tokens": 500, "output_tokens": 10,
        "cache_read_input_tokens": 60, "cache_creation_input_tokens": 30});
    assert_eq!(tokens(&[messages]), counts(500, 10, 60, 30, 0));
    // Names that a server knows and does not use.
    let both = json!({"prompt_tokens": 20, "completion_tokens": 8, "total_tokens": 28, "input_tokens": 0, "output_tokens": 0});
    assert_eq!(tokens(&[both]), counts(20, 8, 0, 0, 0));
}

#[test]
fn reasoning_is_read_where_its_other_name_stands_empty_beside_it() {
    for delta in [
        json!({"reasoning_content": "", "reasoning": "hm"}),
        json!({"reasoning_content": "hm", "reasoning": ""}),
        json!({"reasoning_content": [], "reasoning": "hm"}),
        json!({"reasoning_content": "hm", "reasoning": "hm"}),
    ] {
        let said = chat_said(&[
            chat(delta.clone()),
            chat(json!({"content": "Hi"})),
            chat_end("stop"),
        ]);
        assert_eq!(
            short(&said.message.content),
            [json!(["(hm)", null]), json!(["Hi", null])],
            "{delta}"
        );
    }
}

#[test]
fn a_last_whole_message_adds_what_did_not_come_piece_by_piece() {
    let call = json!({"id": "a", "type": "function", "function": {"name": "read", "arguments": "{}"}});
    let message = json!({"role": "assistant", "reasoning_content": "hm", "content": "Hi", "tool_calls": [call.clone()]});
    let last = json!({"id": "chatcmpl-1", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]});
    let (thought, words, called) = (json!(["(hm)", null]), json!(["Hi", null]), json!(["a", {}, null]));
    let mut piece = call;
    piece["index"] = json!(0);
    for (delta, expected) in [
        (json!({"content": "Hi"}), [&words, &thought, &called]),
        (json!({"reasoning": "hm"}), [&thought, &words, &called]),
        (json!({"tool_calls": [piece]}), [&thought, &words, &called]),
        (json!({"role": "assistant"}), [&thought, &words, &called]),
    ] {
        let said = chat_said(&[chat(delta.clone()), last.clone(), last.clone()]);
        let said = short(&said.message.content);
        assert_eq!(said.iter().collect::<Vec<_>>(), expected, "{delta}");
    }
    // Perplexity repeats the message so far with each delta: its calls are decoded only once they are
    // complete.
    let mut so_far = last.clone();
    so_far["choices"][0]["finish_reason"] = Value::Null;
    so_far["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] = json!("{\"pa");
    let said = chat_said(&[chat(json!({"content": "Hi"})), so_far, last]);
    assert_eq!(short(&said.message.content).last(), Some(&called));
}

#[test]
fn an_error_that_is_nothing_is_none() {
    for nothing in [json!(null), json!(""), json!({}), json!(false)] {
        let mut chunk = chat_end("stop");
        chunk["error"] = nothing.clone();
        chunk["choices"][0]["error"] = nothing.clone();
        chunk["choices"][0]["delta"] = json!({"content": "Hi"});
        chunk["x_groq"] = json!({"error": nothing});
        let mut gemini =
            json!({"candidates": [{"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}]});
        gemini["error"] = nothing.clone();
        let message = json!({"type": "message", "content": [{"type": "output_text", "text": "Hi"}]});
        let response = json!({"type": "response.completed", "error": nothing,
            "response": {"status": "completed", "error": nothing, "output": [message]}});
        let alone = json!({ "error": nothing });
        for (api, events) in [
            (Api::OpenaiChat, vec![alone.clone(), chunk.clone()]),
            (Api::Gemini, vec![alone.clone(), gemini.clone()]),
            (Api::OpenaiResponses, vec![alone.clone(), response.clone()]),
            (
                Api::Anthropic,
                [
                    vec![alone.clone(), claude_start(), words(0, "Hi")],
                    ends("end_turn").to_vec(),
                ]
                .concat(),
            ),
        ] {
            let (events, result) = decode(api, [sse(&events).as_bytes()]);
            assert_eq!(result, Ok(()), "{api:?} {nothing}");
            assert_eq!(accumulate(&events).message.content.len(), 1, "{api:?} {nothing}");
        }
        chunk["choices"][0]["message"] = json!({"content": "Hi"});
        for (api, body) in [
            (Api::OpenaiChat, &chunk),
            (Api::Gemini, &gemini),
            (Api::OpenaiResponses, &response["response"]),
        ] {
            let mut events = Vec::new();
            let result = decode_body(api, context(), body.to_string().as_bytes(), &mut events);
            assert_eq!(result, Ok(()), "{api:?} {nothing}");
        }
    }
}
