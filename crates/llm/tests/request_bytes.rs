//! Requests, byte by byte: fields stay in their order, data that is sent back stays unchanged, except for
//! exactly the changes of a rule.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use agentx_llm::openai_chat::ReasoningEcho;
use agentx_llm::{Catalog, NoBlobs, WireOptions, build};
use agentx_types::{
    Access, ContentPart, Message, ModelParams, ModelRequest, OpaquePart, ProviderData, Role, TextPart,
    ThinkingPart, ToolCallPart, ToolResultPart, ToolSpec,
};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

const CLAUDE: &str = "anthropic/claude-sonnet-4-5";
const CHAT: &str = "ollama/m";

fn provider(api: &str, data: Value) -> ProviderData {
    ProviderData {
        api: api.into(),
        model: None,
        data,
    }
}

fn opaque(api: &str, data: Value) -> ContentPart {
    let provider = provider(api, data);
    ContentPart::Opaque(OpaquePart { provider })
}

fn thinking(text: &str, provider: Option<ProviderData>) -> ContentPart {
    let text = text.into();
    ContentPart::Thinking(ThinkingPart { text, provider })
}

fn call(id: &str, input: Value, provider: Option<ProviderData>) -> ContentPart {
    ContentPart::ToolCall(ToolCallPart {
        tool_call_id: id.into(),
        name: "read".into(),
        input,
        provider,
    })
}

fn result(id: &str, texts: &[&str], is_error: bool) -> ContentPart {
    ContentPart::ToolResult(ToolResultPart {
        tool_call_id: id.into(),
        name: "read".into(),
        content: texts.iter().map(|text| ContentPart::text(*text)).collect(),
        is_error,
    })
}

/// The messages of a body, as they are written.
#[derive(Deserialize)]
struct Sent<'a> {
    #[serde(borrow)]
    messages: &'a RawValue,
}

fn messages(model: &str, said: &[(Role, Vec<ContentPart>)]) -> String {
    let request = request(model, said);
    let mut options = Catalog::builtin().wire_options(&request.model);
    options.chat.reasoning_echo = ReasoningEcho::Reasoning;
    let body = body(&request, &options);
    let sent: Sent<'_> = serde_json::from_str(&body).unwrap();
    sent.messages.get().to_owned()
}

fn request(model: &str, said: &[(Role, Vec<ContentPart>)]) -> ModelRequest {
    let message = |(role, content): &(Role, Vec<ContentPart>)| Message {
        message_id: "msg".into(),
        role: *role,
        content: content.clone(),
        by: None,
    };
    ModelRequest {
        model: crate::common::model_by_chat(model),
        params: ModelParams::default(),
        system: Vec::new(),
        messages: said.iter().map(|one| message(one).into()).collect(),
        tools: [].into(),
        plain: false,
        turns: false,
        without: Vec::new(),
        answer_schema: None,
    }
}

fn body(request: &ModelRequest, options: &WireOptions) -> String {
    String::from_utf8(build(request, options, &NoBlobs)).unwrap()
}

/// A request with every part besides the messages.
fn whole(model: &str) -> String {
    let mut request = request(model, &[(Role::User, vec![ContentPart::text("hi")])]);
    request.system = vec!["One.".into(), " \n".into(), "Two.".into()];
    request.params = ModelParams {
        max_output_tokens: Some(100),
        temperature: Some(0.5),
        thinking_tokens: None,
    };
    let tool = ToolSpec::new(
        "read",
        "Reads",
        json!({"type": "object", "additionalProperties": false}),
        Access::Read,
    )
    .with_idempotent(true);
    request.tools = vec![tool].into();
    body(&request, &WireOptions::default())
}

#[test]
fn fields_are_written_in_their_order() {
    let claude = concat!(
        r#"{"model":"claude-sonnet-4-5","max_tokens":100,"stream":true,"#,
        r#""system":[{"type":"text","text":"One."},{"type":"text","text":"Two.","cache_control":{"type":"ephemeral"}}],"#,
        r#""tools":[{"name":"read","description":"Reads","input_schema":{"type":"object","additionalProperties":false}}],"#,
        r#""temperature":0.5,"messages":[{"role":"user","content":[{"type":"text","text":"hi","#,
        r#""cache_control":{"type":"ephemeral"}}]}]}"#,
    );
    assert_eq!(whole(CLAUDE), claude);
    let chat = concat!(
        r#"{"model":"m","messages":[{"role":"system","content":"One.\n\nTwo."},{"role":"user","content":"hi"}],"#,
        r#""tools":[{"type":"function","function":{"name":"read","description":"Reads","#,
        r#""parameters":{"type":"object","additionalProperties":false,"properties":{}}}}],"#,
        r#""stream":true,"stream_options":{"include_usage":true},"max_tokens":100,"temperature":0.5}"#,
    );
    assert_eq!(whole(CHAT), chat);
}

#[test]
fn a_breakpoint_is_all_that_changes_in_opaque_data() {
    let sent = [
        (
            json!({"source": "u", "type": "search_result", "content": [{"b": 1, "a": 2}]}),
            r#"{"source":"u","type":"search_result","content":[{"b":1,"a":2}],"cache_control":{"type":"ephemeral"}}"#,
        ),
        (
            json!({"cache_control": {"type": "ephemeral", "ttl": "1h"}, "type": "x"}),
            r#"{"cache_control":{"type":"ephemeral"},"type":"x"}"#,
        ),
        (json!("no object"), r#""no object""#),
    ];
    for (data, written) in sent {
        let said = [(
            Role::User,
            vec![ContentPart::text("hi"), opaque("anthropic", data)],
        )];
        assert_eq!(
            messages(CLAUDE, &said),
            format!(r#"[{{"role":"user","content":[{{"type":"text","text":"hi"}},{written}]}}]"#)
        );
    }
}

#[test]
fn an_answer_to_go_on_with_does_not_end_in_a_blank() {
    let cited = ContentPart::Text(TextPart {
        text: "so \n".into(),
        provider: Some(provider(
            "anthropic",
            json!({"citations": [1], "text": "not this"}),
        )),
    });
    let blocks = [
        (cited, r#"{"type":"text","text":"so","citations":[1]}"#),
        (
            opaque("anthropic", json!({"text": "so ", "z": 1, "type": "text"})),
            r#"{"text":"so","z":1,"type":"text"}"#,
        ),
        (
            opaque("anthropic", json!({"type": "text"})),
            r#"{"type":"text","text":""}"#,
        ),
        (
            opaque("anthropic", json!({"type": "other", "text": "so "})),
            r#"{"type":"other","text":"so "}"#,
        ),
    ];
    for (last, written) in blocks {
        let said = [
            (Role::User, vec![ContentPart::text("hi ")]),
            (Role::Assistant, vec![ContentPart::text("well "), last]),
        ];
        assert_eq!(
            messages(CLAUDE, &said),
            format!(
                "[{},{}]",
                r#"{"role":"user","content":[{"type":"text","text":"hi ","cache_control":{"type":"ephemeral"}}]}"#,
                format_args!(
                    r#"{{"role":"assistant","content":[{{"type":"text","text":"well "}},{written}]}}"#
                ),
            )
        );
    }
}

#[test]
fn parts_of_claude() {
    let own = |data| Some(provider("anthropic", data));
    let said = [
        (Role::User, vec![ContentPart::text("hi")]),
        (
            Role::Assistant,
            vec![
                thinking(
                    "hm",
                    own(json!({"type": "not this", "signature": "s", "z": [null]})),
                ),
                call(
                    "a:b",
                    json!({"b": 1, "a": "\u{1}"}),
                    own(json!({"caller": {"type": "direct"}})),
                ),
                call("c", json!([1]), Some(provider("openai-chat", json!({"z": 1})))),
            ],
        ),
        (Role::User, vec![ContentPart::text("by the way ")]),
        (
            Role::Tool,
            vec![result("a:b", &["x", " "], false), result("c", &[], true)],
        ),
        (
            Role::User,
            vec![opaque("anthropic", json!({"z": 1, "type": "tool_result"}))],
        ),
    ];
    let written = concat!(
        r#"[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]},"#,
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},"#,
        r#"{"type":"tool_use","id":"a_b","name":"read","input":{"b":1,"a":"\u0001"},"caller":{"type":"direct"}},"#,
        r#"{"type":"tool_use","id":"c","name":"read","input":{}}]},"#,
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a_b","content":[{"type":"text","text":"x"}]},"#,
        r#"{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"(it failed without a word)"}],"is_error":true},{"z":1,"type":"tool_result"},"#,
        r#"{"type":"text","text":"by the way ","cache_control":{"type":"ephemeral"}}]}]"#,
    );
    assert_eq!(messages(CLAUDE, &said), written);
}

#[test]
fn parts_of_chat() {
    let details = |list| opaque("openai-chat", json!({"reasoning_details": list}));
    let said = [
        (Role::System, vec![ContentPart::text("a"), ContentPart::text("b")]),
        (
            Role::User,
            vec![ContentPart::text("one"), ContentPart::text("two")],
        ),
        (
            Role::Assistant,
            vec![
                thinking("h", None),
                thinking("m", None),
                details(json!([{"type": "x", "data": 1}])),
                details(json!([2])),
                call("c", json!({"b": "\"", "a": 1}), None),
                ContentPart::text("so "),
                ContentPart::text("on "),
            ],
        ),
        (
            Role::Tool,
            vec![
                result("c", &["", "a", "", "b"], false),
                result("d", &["none"], true),
                result("e", &["ERROR: x"], true),
            ],
        ),
    ];
    let written = concat!(
        r#"[{"role":"system","content":"ab"},"#,
        r#"{"role":"user","content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]},"#,
        r#"{"role":"assistant","content":"so on ","reasoning":"hm","reasoning_details":[{"type":"x","data":1},2],"#,
        r#""tool_calls":[{"id":"c","type":"function","function":{"name":"read","arguments":"{\"b\":\"\\\"\",\"a\":1}"}}]},"#,
        r#"{"role":"tool","tool_call_id":"c","content":"a\n\nb"},"#,
        r#"{"role":"tool","tool_call_id":"d","content":"Error: none"},"#,
        r#"{"role":"tool","tool_call_id":"e","content":"ERROR: x"}]"#,
    );
    assert_eq!(messages(CHAT, &said), written);
}
