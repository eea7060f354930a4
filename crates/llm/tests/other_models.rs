//! A session whose model changed: parts that another model signed or hid are left out of the request, the
//! rest is sent back verbatim.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use agentx_llm::openai_chat::ReasoningEcho;
use agentx_llm::{Catalog, NoBlobs, WireOptions, build, sends_thinking};
use agentx_types::{
    ContentPart, Message, ModelParams, ModelRequest, OpaquePart, ProviderData, Role, ThinkingPart,
    ToolCallPart, ToolResultPart,
};
use serde_json::{Value, json};

fn provider(api: &str, model: Option<&str>, data: Value) -> ProviderData {
    ProviderData {
        api: api.into(),
        model: model.map(str::to_owned),
        data,
    }
}

/// Returns a message with a thought, by each API, and a call.
fn answer(model: Option<&str>) -> Message {
    let opaque = |api, data| {
        ContentPart::Opaque(OpaquePart {
            provider: provider(api, model, data),
        })
    };
    let thinking = ThinkingPart {
        text: "hm".into(),
        provider: Some(provider("anthropic", model, json!({"signature": "c2ln"}))),
    };
    let call = ToolCallPart {
        tool_call_id: "c1".into(),
        name: "look".into(),
        input: json!({}),
        provider: None,
    };
    let found = json!({"type": "web_search_tool_result", "tool_use_id": "s1", "content": []});
    Message {
        message_id: "msg_1".into(),
        role: Role::Assistant,
        content: vec![
            ContentPart::Thinking(thinking),
            opaque("anthropic", json!({"type": "redacted_thinking", "data": "x"})),
            opaque("anthropic", found),
            opaque(
                "openai-chat",
                json!({"reasoning_details": [{"type": "reasoning.encrypted"}]}),
            ),
            ContentPart::ToolCall(call),
        ],
        by: None,
    }
}

fn body(name: &str, written_by: Option<&str>) -> Value {
    let result = ToolResultPart {
        tool_call_id: "c1".into(),
        name: "look".into(),
        content: vec![ContentPart::text("ok")],
        is_error: false,
    };
    let result = Message {
        message_id: "msg_result_c1".into(),
        role: Role::Tool,
        content: vec![ContentPart::ToolResult(result)],
        by: None,
    };
    let request = ModelRequest {
        model: crate::common::model_by_chat(name),
        params: ModelParams {
            thinking_tokens: Some(2_000),
            ..ModelParams::default()
        },
        system: Vec::new(),
        messages: vec![answer(written_by).into(), result.into()],
        tools: [].into(),
        plain: false,
        turns: false,
        without: Vec::new(),
        answer_schema: None,
    };
    serde_json::from_slice(&build(&request, &WireOptions::default(), &NoBlobs)).unwrap()
}

fn kinds(body: &Value) -> Vec<&str> {
    let messages = body["messages"].as_array().unwrap();
    let answer = messages
        .iter()
        .find(|message| message["role"] == "assistant")
        .unwrap();
    let blocks = answer["content"].as_array().unwrap();
    blocks
        .iter()
        .map(|block| block["type"].as_str().unwrap())
        .collect()
}

#[test]
fn thinking_of_another_model_is_left_out() {
    let asked = Catalog::builtin().resolve("claude-sonnet-4-5").unwrap().id;
    let all = [
        "thinking",
        "redacted_thinking",
        "web_search_tool_result",
        "tool_use",
    ];
    for own in [Some(asked.as_str()), None] {
        let body = body("claude-sonnet-4-5", own);
        assert_eq!(kinds(&body), all, "{own:?}");
        assert_eq!(body["thinking"]["type"], "enabled");
    }
    let body = body("claude-sonnet-4-5", Some("claude-opus-4-1"));
    assert_eq!(kinds(&body), ["web_search_tool_result", "tool_use"]);
    assert!(
        body.get("thinking").is_none(),
        "a call that was made without thinking is answered without it"
    );
}

#[test]
fn encrypted_reasoning_of_another_model_is_left_out() {
    let asked = Catalog::builtin().resolve("ollama/m").unwrap().id;
    let details = |own| {
        body("ollama/m", own)["messages"][1]
            .get("reasoning_details")
            .cloned()
    };
    assert!(details(Some(asked.as_str())).is_some() && details(None).is_some());
    assert!(details(Some("another")).is_none());
}

/// Returns reasoning as the assembler marks it if the API attaches nothing to it.
fn reasoned(model: Option<&str>) -> Message {
    let thinking = ThinkingPart {
        text: "hm".into(),
        provider: model.map(|model| provider("openai-chat", Some(model), json!({}))),
    };
    Message {
        message_id: "msg_2".into(),
        role: Role::Assistant,
        content: vec![ContentPart::Thinking(thinking), ContentPart::text("so")],
        by: None,
    }
}

#[test]
fn it_is_known_whether_reasoning_is_sent() {
    let sends = |model: &str, echo: ReasoningEcho, message: Message| {
        let request = ModelRequest {
            model: crate::common::model_by_chat(model),
            params: ModelParams {
                thinking_tokens: Some(2_000),
                ..ModelParams::default()
            },
            system: Vec::new(),
            messages: vec![message.into()],
            tools: [].into(),
            plain: false,
            turns: false,
            without: Vec::new(),
            answer_schema: None,
        };
        let mut options = Catalog::builtin().wire_options(&request.model);
        options.chat.reasoning_echo = echo;
        sends_thinking(&request, &options)
    };
    let (echoes, keeps) = (ReasoningEcho::Reasoning, ReasoningEcho::None);
    assert!(sends("groq/m", echoes, reasoned(Some("m"))));
    assert!(
        !sends("groq/m", keeps, reasoned(Some("m"))),
        "it has no field for it"
    );
    assert!(!sends("groq/m", echoes, reasoned(Some("other"))));
    // `answer` has reasoning of each API.
    assert!(sends("ollama/m", keeps, answer(Some("m"))), "encrypted");
    assert!(!sends("ollama/m", keeps, answer(Some("other"))));
    let claude = "claude-sonnet-4-5";
    let asked = Catalog::builtin().resolve(claude).unwrap().id;
    assert!(sends(claude, keeps, answer(Some(asked.as_str()))));
}

#[test]
fn reasoning_in_words_of_another_model_is_left_out() {
    let sent = |model: &str, echo: ReasoningEcho, written_by: Option<&str>| {
        let request = ModelRequest {
            model: crate::common::model_by_chat(model),
            params: ModelParams::default(),
            system: Vec::new(),
            messages: vec![reasoned(written_by).into()],
            tools: [].into(),
            plain: false,
            turns: false,
            without: Vec::new(),
            answer_schema: None,
        };
        let mut options = Catalog::builtin().wire_options(&request.model);
        options.chat.reasoning_echo = echo;
        let body: Value = serde_json::from_slice(&build(&request, &options, &NoBlobs)).unwrap();
        let messages = body["messages"].as_array().unwrap();
        let answer = messages
            .iter()
            .find(|message| message["role"] == "assistant")
            .unwrap();
        (answer["reasoning"].clone(), answer["reasoning_content"].clone())
    };
    let (words, none) = (json!("hm"), Value::Null);
    let echo = ReasoningEcho::Reasoning;
    assert_eq!(sent("groq/m", echo, Some("m")), (words.clone(), none.clone()));
    assert_eq!(
        sent("groq/m", echo, Some("openai/gpt-oss-120b")),
        (none.clone(), none.clone())
    );
    assert_eq!(
        sent("groq/m", echo, None),
        (words.clone(), none.clone()),
        "of a session of an older version"
    );
    let echo = ReasoningEcho::ReasoningContent;
    assert_eq!(sent("zai/m", echo, Some("m")), (none.clone(), words));
    assert_eq!(sent("zai/m", echo, Some("other")), (none.clone(), none.clone()));
    let deepseek = "deepseek/deepseek-v4-flash";
    assert_eq!(
        sent(deepseek, echo, Some("other")),
        (none, json!("")),
        "it wants some with each answer"
    );
}
