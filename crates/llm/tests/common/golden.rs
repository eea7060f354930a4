//! The contents of a complete answer in a vendor's own JSON, in our types: the oracle for decoded streams and
//! bodies.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]

use agentx_llm::Accumulated;
use agentx_types::{Api, ContentPart, StopReason};
use serde_json::{Map, Value, json};

use super::without_nothing;

/// Panics if `answer` differs from the vendor's `whole` answer.
pub fn check(api: Api, name: &str, answer: &Accumulated, whole: &Value) {
    match api {
        Api::Anthropic => anthropic(name, answer, whole),
        Api::OpenaiResponses => responses(name, answer, whole),
        Api::Gemini => gemini(name, answer, std::slice::from_ref(whole)),
        _ => openai(name, answer, whole),
    }
}

fn anthropic(name: &str, answer: &Accumulated, whole: &Value) {
    let expected: Vec<Value> = blocks(whole["content"].as_array().expect("content"));
    let got: Vec<Value> = blocks(
        &answer
            .message
            .content
            .iter()
            .map(anthropic_block)
            .collect::<Vec<_>>(),
    );
    assert_eq!(got, expected, "{name}: content");
    let reason = match whole["stop_reason"].as_str().unwrap_or_default() {
        "end_turn" => StopReason::EndTurn,
        "tool_use" => StopReason::ToolUse,
        "max_tokens" => StopReason::MaxTokens,
        "stop_sequence" => StopReason::StopSequence,
        "pause_turn" => StopReason::PauseTurn,
        "refusal" => StopReason::Refusal,
        "model_context_window_exceeded" => StopReason::ContextWindow,
        _ => StopReason::Other,
    };
    assert_eq!(answer.stop_reason, reason, "{name}: stop reason");
    let usage = &whole["usage"];
    assert_eq!(
        answer.usage.input_tokens,
        number(&usage["input_tokens"]),
        "{name}: input"
    );
    assert_eq!(
        answer.usage.output_tokens,
        number(&usage["output_tokens"]),
        "{name}: output"
    );
    assert_eq!(
        answer.usage.cache_read_tokens,
        number(&usage["cache_read_input_tokens"]),
        "{name}: cache read"
    );
    assert_eq!(
        answer.usage.cache_write_tokens,
        number(&usage["cache_creation_input_tokens"]),
        "{name}: cache write"
    );
    assert_eq!(
        answer.message.message_id.as_str(),
        whole["id"].as_str().unwrap_or_default(),
        "{name}: id"
    );
    assert_eq!(
        answer.model,
        whole["model"].as_str().unwrap_or_default(),
        "{name}: model"
    );
}

/// Blocks in a form in which both sides can be compared, without empty ones.
fn blocks(blocks: &[Value]) -> Vec<Value> {
    blocks
        .iter()
        .map(without_nothing)
        .map(|mut block| {
            if block["type"] == "tool_use"
                && let Value::Object(block) = &mut block
            {
                block.remove("caller");
                block.entry("input").or_insert(json!({}));
            }
            block
        })
        .filter(|block| {
            block
                .as_object()
                .is_some_and(|block| !(block["type"] == "text" && block.len() == 1))
        })
        .collect()
}

fn anthropic_block(part: &ContentPart) -> Value {
    let (mut block, provider) = match part {
        ContentPart::Text(part) => (json!({"type": "text", "text": part.text}), &part.provider),
        ContentPart::Thinking(part) => (json!({"type": "thinking", "thinking": part.text}), &part.provider),
        ContentPart::ToolCall(part) => (
            json!({"type": "tool_use", "id": part.tool_call_id, "name": part.name, "input": part.input}),
            &part.provider,
        ),
        ContentPart::Opaque(part) => return part.provider.data.clone(),
        other => panic!("a model does not say {other:?}"),
    };
    if let Some(provider) = provider {
        assert_eq!(provider.api, "anthropic");
        for (key, value) in provider.data.as_object().expect("an object") {
            block[key] = value.clone();
        }
    }
    block
}

fn openai(name: &str, answer: &Accumulated, whole: &Value) {
    let choice = &whole["choices"][0];
    let message = &choice["message"];
    let text = format!(
        "{}{}",
        words(&message["content"], "text"),
        string(&message["refusal"])
    );
    assert_eq!(answer.message.text(), text, "{name}: text");
    let thinking: String = answer
        .message
        .content
        .iter()
        .filter_map(|part| match part {
            ContentPart::Thinking(part) => Some(part.text.as_str()),
            _ => None,
        })
        .collect();
    let expected = format!(
        "{}{}{}",
        string(&message["reasoning_content"]),
        if message["reasoning_content"].is_string() {
            ""
        } else {
            string(&message["reasoning"])
        },
        words(&message["content"], "thinking"),
    );
    assert_eq!(thinking, expected, "{name}: thinking");
    let calls = openai_calls(name, answer, message);
    openai_stop_reason(name, answer, choice, calls);
    openai_usage(name, answer, &whole["usage"]);
    // The SDK takes the id of the first chunk, which is empty at Azure.
    if !string(&whole["id"]).is_empty() {
        assert_eq!(
            answer.message.message_id.as_str(),
            string(&whole["id"]),
            "{name}: id"
        );
    }
}

fn openai_calls(name: &str, answer: &Accumulated, message: &Value) -> usize {
    let empty = Vec::new();
    let expected = message["tool_calls"].as_array().unwrap_or(&empty);
    let got: Vec<_> = answer
        .message
        .content
        .iter()
        .filter_map(|part| match part {
            ContentPart::ToolCall(part) => Some(part),
            _ => None,
        })
        .collect();
    assert_eq!(got.len(), expected.len(), "{name}: number of calls");
    for (got, expected) in got.iter().zip(expected) {
        assert_eq!(
            got.tool_call_id.as_str(),
            string(&expected["id"]),
            "{name}: call id"
        );
        assert_eq!(
            got.name,
            string(&expected["function"]["name"]),
            "{name}: call name"
        );
        let arguments = string(&expected["function"]["arguments"]);
        // Arguments that were cut off are not JSON: the call has none, with the reason.
        let input = serde_json::from_str(arguments).unwrap_or(Value::Object(Map::new()));
        assert_eq!(got.input, input, "{name}: arguments");
    }
    expected.len()
}

fn openai_stop_reason(name: &str, answer: &Accumulated, choice: &Value, calls: usize) {
    let refused = !string(&choice["message"]["refusal"]).is_empty();
    let expected = match string(&choice["finish_reason"]) {
        "length" => StopReason::MaxTokens,
        "content_filter" => StopReason::Refusal,
        _ if calls > 0 => StopReason::ToolUse,
        _ if refused => StopReason::Refusal,
        _ => StopReason::EndTurn,
    };
    assert_eq!(answer.stop_reason, expected, "{name}: stop reason");
}

fn openai_usage(name: &str, answer: &Accumulated, usage: &Value) {
    let got = answer.usage;
    let reasoning = number(&usage["completion_tokens_details"]["reasoning_tokens"]);
    let input = got.input_tokens + got.cache_read_tokens + got.cache_write_tokens;
    assert_eq!(input, number(&usage["prompt_tokens"]), "{name}: prompt");
    let completion = number(&usage["completion_tokens"]);
    let beside = number(&usage["total_tokens"]) == input + completion + reasoning || reasoning > completion;
    let output = if beside {
        completion + reasoning
    } else {
        completion
    };
    assert_eq!(got.output_tokens, output, "{name}: completion");
    let cached = number(&usage["prompt_tokens_details"]["cached_tokens"]);
    let cached = if cached == 0 {
        number(&usage["prompt_cache_hit_tokens"])
    } else {
        cached
    };
    assert_eq!(got.cache_read_tokens, cached, "{name}: cached");
    assert!(
        got.reasoning_tokens <= got.output_tokens,
        "{name}: reasoning is part of the output"
    );
}

/// The text of one kind in a content that is a string or a list.
fn words(content: &Value, kind: &str) -> String {
    match content {
        Value::String(text) if kind == "text" => text.clone(),
        Value::Array(blocks) => blocks
            .iter()
            .filter(|block| block["type"] == kind)
            .map(|block| match &block[kind] {
                Value::Array(inner) => inner.iter().map(|inner| string(&inner["text"])).collect(),
                inner => string(inner).to_owned(),
            })
            .collect(),
        _ => String::new(),
    }
}

fn string(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

/// Whether reasoning was kept: the server encrypts it again in each event, so its bytes differ.
fn is_kept(data: Option<&Value>) -> bool {
    data.and_then(|data| data["encrypted_content"].as_str())
        .is_some_and(|kept| !kept.is_empty())
}

/// A part of the answer in the form of an item of Responses, as far as both sides can express it.
fn responses_part(part: &ContentPart) -> Value {
    match part {
        // A blank line separates the messages of an answer.
        ContentPart::Text(part) => json!({"text": part.text.trim_start_matches('\n')}),
        ContentPart::Thinking(part) => {
            let kept = is_kept(part.provider.as_ref().map(|provider| &provider.data));
            json!({"thinking": part.text, "encrypted": kept})
        }
        ContentPart::ToolCall(part) => {
            json!({"call": part.tool_call_id, "name": part.name, "input": part.input})
        }
        ContentPart::Opaque(part) => json!({"item": part.provider.data["id"]}),
        other => panic!("a model does not say {other:?}"),
    }
}

/// The parts that an item of the output becomes.
fn responses_item(item: &Value) -> Vec<Value> {
    let texts = |parts: &Value, key: &str| -> Vec<String> {
        let parts = parts.as_array().into_iter().flatten();
        parts
            .map(|part| string(&part[key]).to_owned())
            .filter(|text| !text.is_empty())
            .collect()
    };
    match string(&item["type"]) {
        "message" => {
            let content = item["content"].as_array().into_iter().flatten();
            let said = content.map(|part| format!("{}{}", string(&part["text"]), string(&part["refusal"])));
            said.filter(|text| !text.is_empty())
                .map(|text| json!({"text": text.trim_start_matches('\n')}))
                .collect()
        }
        "reasoning" => {
            let summary = texts(&item["summary"], "text").join("\n\n");
            let content = texts(&item["content"], "text").join("\n\n");
            let text = if summary.is_empty() { content } else { summary };
            let encrypted = is_kept(Some(item));
            if text.is_empty() && !encrypted {
                return Vec::new();
            }
            vec![json!({"thinking": text, "encrypted": encrypted})]
        }
        "function_call" => {
            let input = serde_json::from_str(string(&item["arguments"])).unwrap_or(json!({}));
            vec![json!({"call": item["call_id"], "name": item["name"], "input": input})]
        }
        _ => vec![json!({"item": item["id"]})],
    }
}

fn responses(name: &str, answer: &Accumulated, whole: &Value) {
    let output = whole["output"].as_array().expect("output");
    let got: Vec<Value> = answer.message.content.iter().map(responses_part).collect();
    // A server that ends a stream with an empty output has sent everything before.
    if !output.is_empty() {
        let expected: Vec<Value> = output.iter().flat_map(responses_item).collect();
        assert_eq!(got, expected, "{name}: output");
    }
    let calls = got.iter().any(|part| part.get("call").is_some());
    let refused = output
        .iter()
        .any(|item| item["content"].to_string().contains("\"refusal\":\""));
    let expected = match string(&whole["incomplete_details"]["reason"]) {
        "max_output_tokens" => StopReason::MaxTokens,
        "content_filter" => StopReason::Refusal,
        _ if calls => StopReason::ToolUse,
        _ if refused => StopReason::Refusal,
        _ => StopReason::EndTurn,
    };
    assert_eq!(answer.stop_reason, expected, "{name}: stop reason");
    let (usage, got) = (&whole["usage"], answer.usage);
    let input = got.input_tokens + got.cache_read_tokens + got.cache_write_tokens;
    assert_eq!(input, number(&usage["input_tokens"]), "{name}: input");
    assert_eq!(
        got.output_tokens,
        number(&usage["output_tokens"]),
        "{name}: output tokens"
    );
    let cached = number(&usage["input_tokens_details"]["cached_tokens"]);
    assert_eq!(got.cache_read_tokens, cached, "{name}: cached");
    let reasoning = number(&usage["output_tokens_details"]["reasoning_tokens"]);
    assert_eq!(got.reasoning_tokens, reasoning, "{name}: reasoning tokens");
    assert_eq!(
        answer.message.message_id.as_str(),
        string(&whole["id"]),
        "{name}: id"
    );
    assert_eq!(answer.model, string(&whole["model"]), "{name}: model");
}

/// A part of Gemini's as both sides can express it: without empty unsigned parts, and with neighbouring
/// unsigned texts as one.
fn push_gemini_part(parts: &mut Vec<Value>, part: Value) {
    let is_text = part.get("text").is_some();
    if is_text && part["signed"].is_null() && string(&part["text"]).is_empty() {
        return;
    }
    if let Some(last) = parts.last_mut().filter(|_| is_text)
        && last.get("text").is_some()
        && last["signed"].is_null()
        && part["signed"].is_null()
        && last["thought"] == part["thought"]
    {
        let text = format!("{}{}", string(&last["text"]), string(&part["text"]));
        last["text"] = text.into();
        return;
    }
    parts.push(part);
}

/// The parts of chunks as they came; other tests cover calls whose arguments come in pieces.
pub fn gemini_parts(chunks: &[Value]) -> Vec<Value> {
    let mut parts = Vec::new();
    let candidates = chunks
        .iter()
        .map(|chunk| &chunk["candidates"][0]["content"]["parts"]);
    for part in candidates.flat_map(|list| list.as_array().cloned().unwrap_or_default()) {
        let signed = &part["thoughtSignature"];
        let said = if let Some(text) = part["text"].as_str() {
            json!({"text": text, "thought": part["thought"] == true, "signed": signed})
        } else if let Some(call) = part["functionCall"].as_object() {
            json!({"call": call["name"], "args": call.get("args").cloned().unwrap_or(json!({})), "signed": signed})
        } else {
            json!({"part": part})
        };
        push_gemini_part(&mut parts, said);
    }
    parts
}

/// The parts of an answer in the same form.
pub fn gemini_said(answer: &Accumulated) -> Vec<Value> {
    let mut parts = Vec::new();
    let mut texts = |text: &str, thought: bool, data: Option<&Value>| {
        let from = data.and_then(|data| data["signed_from"].as_u64()).unwrap_or(0) as usize;
        let (before, rest) = if data.is_some() {
            text.split_at(from)
        } else {
            (text, "")
        };
        push_gemini_part(
            &mut parts,
            json!({"text": before, "thought": thought, "signed": null}),
        );
        if let Some(data) = data {
            let signed = json!({"text": rest, "thought": thought, "signed": data["thoughtSignature"]});
            push_gemini_part(&mut parts, signed);
        }
    };
    let mut rest = Vec::new();
    for part in &answer.message.content {
        match part {
            ContentPart::Text(part) => texts(&part.text, false, part.provider.as_ref().map(|own| &own.data)),
            ContentPart::Thinking(part) => {
                texts(&part.text, true, part.provider.as_ref().map(|own| &own.data))
            }
            _ => rest.push(part),
        }
    }
    for part in rest {
        parts.push(match part {
            ContentPart::ToolCall(call) => {
                let signed = call
                    .provider
                    .as_ref()
                    .map(|own| own.data["thoughtSignature"].clone());
                json!({"call": call.name, "args": call.input, "signed": signed})
            }
            ContentPart::Opaque(part) => json!({"part": part.provider.data}),
            other => panic!("a model does not say {other:?}"),
        });
    }
    parts
}

/// Panics if `answer` differs from the contents of all chunks of a stream.
pub fn gemini(name: &str, answer: &Accumulated, chunks: &[Value]) {
    let (mut expected, mut got) = (gemini_parts(chunks), gemini_said(answer));
    // Texts first: the parts between them do not matter here.
    expected.sort_by_key(|part| part.get("text").is_none());
    got.sort_by_key(|part| part.get("text").is_none());
    assert_eq!(got, expected, "{name}: parts");
    let reason = chunks
        .iter()
        .rev()
        .find_map(|chunk| chunk["candidates"][0]["finishReason"].as_str());
    let calls = got.iter().any(|part| part.get("call").is_some());
    let expected = match reason.unwrap_or_default() {
        "STOP" if calls => StopReason::ToolUse,
        "STOP" => StopReason::EndTurn,
        "MAX_TOKENS" => StopReason::MaxTokens,
        "SAFETY" => StopReason::Refusal,
        other => panic!("{name}: {other} is not among the recordings"),
    };
    assert_eq!(answer.stop_reason, expected, "{name}: stop reason");
    let last = chunks.last().expect("a chunk");
    let (usage, got) = (&last["usageMetadata"], answer.usage);
    let input = got.input_tokens + got.cache_read_tokens;
    assert_eq!(input, number(&usage["promptTokenCount"]), "{name}: input");
    let cached = number(&usage["cachedContentTokenCount"]);
    assert_eq!(got.cache_read_tokens, cached, "{name}: cached");
    let thoughts = number(&usage["thoughtsTokenCount"]);
    assert_eq!(got.reasoning_tokens, thoughts, "{name}: thoughts");
    // The total counts each token once.
    let total = number(&usage["totalTokenCount"]);
    assert_eq!(input + got.output_tokens, total, "{name}: total");
    assert_eq!(
        answer.message.message_id.as_str(),
        string(&last["responseId"]),
        "{name}: id"
    );
    assert_eq!(answer.model, string(&last["modelVersion"]), "{name}: model");
}
