//! Recorded requests, read into our own messages and built again: the result means the same as the request of
//! the vendor's client. Parts that our messages cannot express (cache hints, video, switches of single
//! blocks) are removed from both sides.
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

use crate::common;

use std::sync::Arc;

use agentx_llm::{Catalog, NoBlobs, WireOptions, base64, build, openai_chat::ReasoningEcho};
use agentx_types::{
    Access, Api, ContentPart, MediaPart, MediaSource, Message, ModelParams, ModelRequest, OpaquePart,
    ProviderData, Role, TextPart, ThinkingPart, ToolCallPart, ToolResultPart, ToolSpec,
};
use serde_json::{Map, Value, json};

fn request(
    api: Api,
    body: &Value,
    system: Vec<Arc<str>>,
    messages: Vec<Message>,
    tools: Vec<ToolSpec>,
) -> ModelRequest {
    let provider = if api == Api::Anthropic {
        "anthropic"
    } else {
        "openai"
    };
    let mut model = Catalog::builtin()
        .resolve_at(provider, string(&body["model"]))
        .expect("any model goes");
    model.api = api;
    model.max_output_tokens = 1 << 40;
    model.context_window = 1 << 41;
    let params = ModelParams {
        max_output_tokens: body["max_tokens"].as_u64(),
        temperature: body["temperature"].as_f64(),
        thinking_tokens: body["thinking"]["budget_tokens"].as_u64(),
    };
    let messages = messages.into_iter().map(Arc::new).collect();
    ModelRequest {
        model,
        params,
        system,
        messages,
        tools: tools.into(),
        plain: false,
        turns: false,
        without: Vec::new(),
        answer_schema: None,
    }
}

fn message(index: usize, role: Role, content: Vec<ContentPart>) -> Message {
    Message {
        message_id: format!("msg_{index}").as_str().into(),
        role,
        content,
        by: None,
    }
}

fn string(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn tool(name: &Value, description: &Value, schema: &Value) -> ToolSpec {
    ToolSpec::new(
        string(name),
        string(description),
        schema.clone(),
        Access::Internal,
    )
}

// --- Anthropic ---

fn from_anthropic(body: &Value) -> ModelRequest {
    let list = Vec::new();
    let system = match &body["system"] {
        Value::String(text) => vec![text.as_str().into()],
        Value::Array(blocks) => blocks.iter().map(|block| string(&block["text"]).into()).collect(),
        _ => Vec::new(),
    };
    let messages = body["messages"].as_array().unwrap_or(&list).iter().enumerate();
    let messages = messages.map(|(index, one)| {
        let role = if one["role"] == "user" {
            Role::User
        } else {
            Role::Assistant
        };
        message(index, role, anthropic_parts(&one["content"]))
    });
    let tools = body["tools"]
        .as_array()
        .unwrap_or(&list)
        .iter()
        .filter(|tool| !tool["input_schema"].is_null());
    let tools = tools.map(|one| tool(&one["name"], &one["description"], &one["input_schema"]));
    request(Api::Anthropic, body, system, messages.collect(), tools.collect())
}

fn anthropic_parts(content: &Value) -> Vec<ContentPart> {
    match content {
        Value::String(text) => vec![ContentPart::text(text)],
        Value::Array(blocks) => blocks.iter().map(anthropic_part).collect(),
        _ => Vec::new(),
    }
}

fn anthropic_part(block: &Value) -> ContentPart {
    let own = |keys: &[&str]| {
        let data: Map<String, Value> = keys
            .iter()
            .filter_map(|key| Some(((*key).into(), block.get(*key)?.clone())))
            .collect();
        (!data.is_empty()).then(|| ProviderData {
            api: "anthropic".into(),
            model: None,
            data: Value::Object(data),
        })
    };
    match string(&block["type"]) {
        "text" => ContentPart::Text(TextPart {
            text: string(&block["text"]).into(),
            provider: own(&["citations"]),
        }),
        "thinking" => ContentPart::Thinking(ThinkingPart {
            text: string(&block["thinking"]).into(),
            provider: own(&["signature"]),
        }),
        "tool_use" => ContentPart::ToolCall(ToolCallPart {
            tool_call_id: string(&block["id"]).into(),
            name: string(&block["name"]).into(),
            input: block["input"].clone(),
            provider: own(&["caller"]),
        }),
        "tool_result" => ContentPart::ToolResult(ToolResultPart {
            tool_call_id: string(&block["tool_use_id"]).into(),
            name: String::new(),
            content: anthropic_parts(&block["content"]),
            is_error: block["is_error"] == true,
        }),
        "image" => ContentPart::Image(anthropic_media(block)),
        "document" => ContentPart::File(anthropic_media(block)),
        _ => ContentPart::Opaque(OpaquePart {
            provider: ProviderData {
                api: "anthropic".into(),
                model: None,
                data: block.clone(),
            },
        }),
    }
}

fn anthropic_media(block: &Value) -> MediaPart {
    let source = &block["source"];
    let data = string(&source["data"]);
    MediaPart {
        media_type: source["media_type"].as_str().unwrap_or("image/png").into(),
        source: match string(&source["type"]) {
            "url" => MediaSource::Url(string(&source["url"]).into()),
            "text" => MediaSource::Base64(base64::encode(data.as_bytes())),
            _ => MediaSource::Base64(data.into()),
        },
        name: block["title"].as_str().map(str::to_owned),
    }
}

/// The parts of a body that both sides can express, in one form.
fn normal_anthropic(body: &Value) -> Value {
    let mut body = plain(body);
    for message in body["messages"].as_array_mut().into_iter().flatten() {
        blocks_of(&mut message["content"]);
        if let Some(blocks) = message["content"].as_array_mut() {
            // Some clients fill an empty answer with a blank, which has no meaning.
            blocks.retain(|block| block["type"] != "text" || !string(&block["text"]).trim().is_empty());
        }
        for block in message["content"].as_array_mut().into_iter().flatten() {
            if block["type"] == "tool_result" {
                blocks_of(&mut block["content"]);
            }
            if block["type"] == "document"
                && let Value::Object(block) = block
            {
                block.remove("citations");
            }
        }
    }
    if body["system"].is_string() {
        blocks_of(&mut body["system"]);
    }
    let tools = body["tools"].as_array().cloned().unwrap_or_default();
    let tools: Vec<Value> = tools
        .into_iter()
        .filter(|tool| tool.get("input_schema").is_some())
        .map(|tool| json!({"name": tool["name"], "description": string(&tool["description"]), "input_schema": tool["input_schema"]}))
        .collect();
    json!({
        "model": body["model"], "max_tokens": body["max_tokens"], "system": body["system"], "messages": body["messages"],
        "tools": tools, "thinking": body["thinking"]["budget_tokens"],
    })
}

fn blocks_of(content: &mut Value) {
    if let Value::String(text) = content {
        *content = json!([{"type": "text", "text": text}]);
    }
}

/// Without cache hints, nulls and defaults that clients write out.
fn plain(value: &Value) -> Value {
    match value {
        Value::Object(object) => object
            .iter()
            .filter(|(key, value)| {
                *key != "cache_control" && !value.is_null() && !(*key == "is_error" && **value == false)
            })
            .map(|(key, value)| (key.clone(), plain(value)))
            .collect(),
        Value::Array(items) => items.iter().map(plain).collect(),
        value => value.clone(),
    }
}

// --- Chat Completions ---

fn from_chat(body: &Value) -> ModelRequest {
    let list = Vec::new();
    let mut system = Vec::new();
    let mut messages = Vec::new();
    for (index, one) in body["messages"].as_array().unwrap_or(&list).iter().enumerate() {
        let mut parts = chat_parts(&one["content"]);
        match string(&one["role"]) {
            "system" | "developer" => {
                system.push(
                    parts
                        .iter()
                        .filter_map(ContentPart::as_text)
                        .collect::<String>()
                        .as_str()
                        .into(),
                );
                continue;
            }
            "tool" => {
                let id = string(&one["tool_call_id"]).into();
                let part = ToolResultPart {
                    tool_call_id: id,
                    name: String::new(),
                    content: parts,
                    is_error: false,
                };
                messages.push(message(index, Role::Tool, vec![ContentPart::ToolResult(part)]));
            }
            "assistant" => {
                if let Some(text) = one["reasoning_content"].as_str().or(one["reasoning"].as_str()) {
                    parts.insert(
                        0,
                        ContentPart::Thinking(ThinkingPart {
                            text: text.into(),
                            provider: None,
                        }),
                    );
                }
                if let Some(details) = one.get("reasoning_details").filter(|details| !details.is_null()) {
                    let data = json!({"reasoning_details": details});
                    parts.push(ContentPart::Opaque(OpaquePart {
                        provider: ProviderData {
                            api: "openai-chat".into(),
                            model: None,
                            data,
                        },
                    }));
                }
                parts.extend(
                    one["tool_calls"]
                        .as_array()
                        .unwrap_or(&list)
                        .iter()
                        .map(chat_call),
                );
                messages.push(message(index, Role::Assistant, parts));
            }
            _ => messages.push(message(index, Role::User, parts)),
        }
    }
    let tools = body["tools"]
        .as_array()
        .unwrap_or(&list)
        .iter()
        .map(|one| &one["function"]);
    let tools = tools.map(|one| tool(&one["name"], &one["description"], &one["parameters"]));
    request(Api::OpenaiChat, body, system, messages, tools.collect())
}

fn chat_call(call: &Value) -> ContentPart {
    ContentPart::ToolCall(ToolCallPart {
        tool_call_id: string(&call["id"]).into(),
        name: string(&call["function"]["name"]).into(),
        input: arguments(&call["function"]["arguments"]),
        provider: None,
    })
}

fn arguments(arguments: &Value) -> Value {
    match string(arguments) {
        "" => json!({}),
        text => serde_json::from_str(text).expect("recorded arguments are JSON"),
    }
}

fn chat_parts(content: &Value) -> Vec<ContentPart> {
    match content {
        Value::String(text) if !text.is_empty() => vec![ContentPart::text(text)],
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| match string(&part["type"]) {
                "text" => Some(ContentPart::text(string(&part["text"]))),
                "image_url" => Some(ContentPart::Image(MediaPart {
                    media_type: "image/png".into(),
                    source: MediaSource::Url(string(&part["image_url"]["url"]).into()),
                    name: None,
                })),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn normal_chat(body: &Value) -> Value {
    let list = Vec::new();
    let body = plain(body);
    let mut system = Vec::new();
    let mut messages = Vec::new();
    for one in body["messages"].as_array().unwrap_or(&list) {
        let content: Vec<Value> = match &one["content"] {
            Value::String(text) if !text.is_empty() => vec![json!(text)],
            Value::Array(parts) => parts
                .iter()
                .filter(|part| part["type"] != "video_url")
                .map(|part| {
                    if part["type"] == "text" {
                        part["text"].clone()
                    } else {
                        part["image_url"]["url"].clone()
                    }
                })
                .collect(),
            _ => Vec::new(),
        };
        if one["role"] == "system" {
            system.extend(content);
            continue;
        }
        let calls: Vec<Value> = one["tool_calls"]
            .as_array()
            .unwrap_or(&list)
            .iter()
            .map(|call| {
                json!([
                    call["id"],
                    call["function"]["name"],
                    arguments(&call["function"]["arguments"])
                ])
            })
            .collect();
        messages.push(json!({
            "role": one["role"], "content": content, "calls": calls, "tool_call_id": one["tool_call_id"],
            "reasoning": one.get("reasoning_content").or(one.get("reasoning")), "details": one["reasoning_details"],
        }));
    }
    let tools = body["tools"]
        .as_array()
        .unwrap_or(&list)
        .iter()
        .map(|tool| &tool["function"]);
    let tools: Vec<Value> = tools
        .map(|tool| json!([tool["name"], string(&tool["description"]), tool["parameters"]]))
        .collect();
    let system: String = system.iter().map(string).collect::<Vec<_>>().join("\n\n");
    json!({"model": body["model"], "system": system, "messages": messages, "tools": tools})
}

fn echo(body: &Value) -> ReasoningEcho {
    let text = body["messages"].to_string();
    match () {
        () if text.contains("\"reasoning_content\":") => ReasoningEcho::ReasoningContent,
        () if text.contains("\"reasoning\":") => ReasoningEcho::Reasoning,
        () => ReasoningEcho::None,
    }
}

#[test]
fn recorded_requests_are_built_again() {
    let Some(recordings) = common::recordings("114 recorded requests") else {
        return;
    };
    let (mut claude, mut chat) = (0, 0);
    for recording in common::all(&recordings) {
        let Some(body) = recording
            .json("request.json")
            .map(|request| request["body"].clone())
        else {
            continue;
        };
        if !body.is_object() {
            continue;
        }
        if !matches!(recording.api, Api::Anthropic | Api::OpenaiChat) {
            continue;
        }
        let name = recording.name();
        let mut options = WireOptions::default();
        options.chat.reasoning_echo = echo(&body);
        if recording.api == Api::Anthropic {
            let built: Value = rebuilt(&from_anthropic(&body), &options);
            assert_eq!(normal_anthropic(&built), normal_anthropic(&body), "{name}");
            claude += 1;
        } else {
            let built: Value = rebuilt(&from_chat(&body), &options);
            assert_eq!(normal_chat(&built), normal_chat(&body), "{name}");
            chat += 1;
        }
    }
    println!("recorded requests: {claude} Anthropic, {chat} chat");
    assert!(claude >= 20 && chat >= 50, "{claude} {chat}");
}

fn rebuilt(request: &ModelRequest, options: &WireOptions) -> Value {
    let bytes = build(request, options, &NoBlobs);
    let built: Value = serde_json::from_slice(&bytes).expect("a body is JSON");
    assert_eq!(built["stream"], true);
    built
}
