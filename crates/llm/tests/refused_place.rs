//! The part of the conversation at a place in the body of a request, for each API. The conversation is made
//! up.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use agentx_llm::{Catalog, NoBlobs, build, named_part};
use agentx_types::{
    Access, Api, ContentPart, EARLIER_MESSAGES, LEFT_OUT_PART, Message, MessagePlace, ModelParams,
    ModelRequest, Role, ToolCallPart, ToolResultPart, ToolSpec,
};
use serde_json::{Value, json};

fn message(id: &str, role: Role, content: Vec<ContentPart>) -> Message {
    Message {
        message_id: id.into(),
        role,
        content,
        by: None,
    }
}

fn call(id: &str) -> ContentPart {
    ContentPart::ToolCall(ToolCallPart {
        tool_call_id: id.into(),
        name: "read".into(),
        input: json!({"path": format!("input of {id}")}),
        provider: None,
    })
}

fn result(id: &str) -> ContentPart {
    ContentPart::ToolResult(ToolResultPart {
        tool_call_id: id.into(),
        name: "read".into(),
        content: vec![ContentPart::text(format!("result of {id}"))],
        is_error: false,
    })
}

/// A request with two calls at once, whose results some APIs put into one message.
fn request(provider: &str, model: &str, api: Api) -> ModelRequest {
    let mut model = Catalog::builtin().resolve_at(provider, model).unwrap();
    model.api = api;
    let messages = [
        message("msg_a", Role::User, vec![ContentPart::text("first words")]),
        message(
            "msg_b",
            Role::Assistant,
            vec![ContentPart::text("second words"), call("c1"), call("c2")],
        ),
        message("msg_c", Role::Tool, vec![result("c1")]),
        message("msg_d", Role::Tool, vec![result("c2")]),
        message("msg_e", Role::Assistant, vec![ContentPart::text("third words")]),
        message("msg_f", Role::User, vec![ContentPart::text("fourth words")]),
    ];
    let read = ToolSpec::new("read", "Reads a file", json!({"type": "object"}), Access::Read);
    ModelRequest {
        model,
        params: ModelParams::default(),
        system: vec!["Be brief.".into()],
        messages: messages.into_iter().map(Into::into).collect(),
        tools: vec![read].into(),
        plain: false,
        turns: false,
        without: Vec::new(),
        answer_schema: None,
    }
}

fn requests() -> Vec<ModelRequest> {
    vec![
        request("anthropic", "claude-opus-4-8", Api::Anthropic),
        request("openai", "gpt-4.1", Api::OpenaiChat),
        request("openai", "gpt-4.1", Api::OpenaiResponses),
        request("google", "gemini-2.5-flash", Api::Gemini),
        request("google", "gemini-2.5-flash", Api::GeminiInteractions),
        request(
            "bedrock-converse",
            "us.amazon.nova-pro-v1:0",
            Api::BedrockConverse,
        ),
    ]
}

/// Appends the places of all texts that contain `words`.
fn places(value: &Value, words: &str, at: &str, found: &mut Vec<String>) {
    let below = |step: &str| {
        if at.is_empty() {
            step.to_owned()
        } else {
            format!("{at}.{step}")
        }
    };
    match value {
        Value::String(text) if text.contains(words) => found.push(at.to_owned()),
        Value::Array(values) => {
            for (index, value) in values.iter().enumerate() {
                places(value, words, &below(&index.to_string()), found);
            }
        }
        Value::Object(object) => {
            for (key, value) in object {
                places(value, words, &below(key), found);
            }
        }
        _ => {}
    }
}

fn named(request: &ModelRequest, place: &str) -> Option<MessagePlace> {
    let options = Catalog::builtin().wire_options(&request.model);
    named_part(request, &options, &NoBlobs, place)
}

#[test]
fn each_part_is_found_at_its_place_in_each_api() {
    for request in requests() {
        let api = request.model.api;
        let options = Catalog::builtin().wire_options(&request.model);
        let body: Value = serde_json::from_slice(&build(&request, &options, &NoBlobs)).unwrap();
        for (words, id, part) in [
            ("first words", "msg_a", 0),
            ("second words", "msg_b", 0),
            ("input of c1", "msg_b", 1),
            ("input of c2", "msg_b", 2),
            ("result of c1", "msg_c", 0),
            ("result of c2", "msg_d", 0),
            ("third words", "msg_e", 0),
            ("fourth words", "msg_f", 0),
        ] {
            let mut found = Vec::new();
            places(&body, words, "", &mut found);
            assert!(!found.is_empty(), "{api:?}: {words} in {body}");
            for place in found {
                let expected = MessagePlace {
                    message_id: id.into(),
                    part: Some(part),
                };
                assert_eq!(
                    named(&request, &place),
                    Some(expected),
                    "{api:?}: {place} in {body}"
                );
            }
        }
    }
}

#[test]
fn a_whole_message_is_found_and_what_is_not_certain_is_not() {
    let request = request("anthropic", "claude-opus-4-8", Api::Anthropic);
    let whole = MessagePlace {
        message_id: "msg_b".into(),
        part: None,
    };
    assert_eq!(named(&request, "messages.1"), Some(whole));
    assert_eq!(named(&request, "messages.2"), None, "it has two results");
    let inner = named(&request, "messages.2.content.1.tool_result.content.0.text");
    assert_eq!(
        inner.map(|place| place.message_id.as_str().to_owned()),
        Some("msg_d".to_owned())
    );
    for place in [
        "messages.9.content.0",
        "messages.1.content.7",
        "messages.1.content.1.tool_use.name",
        "messages.x",
        "contents.0",
        "",
    ] {
        assert_eq!(named(&request, place), None, "{place}");
    }
}

#[test]
fn of_messages_that_are_sent_as_one_text_the_earliest_that_is_still_sent_is_named() {
    let mut request = request("mistral", "mistral-large-latest", Api::OpenaiChat);
    let more = message("msg_g", Role::User, vec![ContentPart::text("fifth words")]);
    request.messages.push(more.into());
    let options = Catalog::builtin().wire_options(&request.model);
    let body: Value = serde_json::from_slice(&build(&request, &options, &NoBlobs)).unwrap();
    let mut found = Vec::new();
    places(&body, "fourth words", "", &mut found);
    let place = found.pop().unwrap();
    places(&body, "fifth words", "", &mut found);
    assert_eq!(found, [place.as_str()], "they are one text: {body}");
    assert_eq!(named(&request, &place).unwrap().message_id.as_str(), "msg_f");
    let replaced = message("msg_f", Role::User, vec![ContentPart::text(LEFT_OUT_PART)]);
    request.messages[5] = replaced.into();
    assert_eq!(named(&request, &place).unwrap().message_id.as_str(), "msg_g");
}

#[test]
fn the_message_in_place_of_earlier_ones_is_never_named() {
    let mut request = request("mistral", "mistral-large-latest", Api::OpenaiChat);
    let earlier = message(EARLIER_MESSAGES, Role::User, vec![ContentPart::text("left out")]);
    request.messages.insert(0, earlier.into());
    let options = Catalog::builtin().wire_options(&request.model);
    let body: Value = serde_json::from_slice(&build(&request, &options, &NoBlobs)).unwrap();
    let mut found = Vec::new();
    places(&body, "left out", "", &mut found);
    places(&body, "first words", "", &mut found);
    found.dedup();
    let [place] = found.as_slice() else {
        panic!("they are one text: {body}")
    };
    assert_eq!(named(&request, place).unwrap().message_id.as_str(), "msg_a");
}

#[test]
fn words_like_a_mark_in_the_conversation_name_nothing_else() {
    let mut request = request("anthropic", "claude-opus-4-8", Api::Anthropic);
    let forged = message("msg_a", Role::User, vec![ContentPart::text("agentxmark5x0x")]);
    request.messages[0] = forged.into();
    let found = named(&request, "messages.0.content.0").unwrap();
    assert_eq!(found.message_id.as_str(), "msg_a");
}
