//! Requests that the Messages API refuses for their form, and the requests that are sent instead: thinking at
//! the end of a message, names that a model made up, thinking in the middle of tool calls. The rules and
//! their sources are in `src/anthropic`.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

use std::sync::Arc;

use agentx_llm::{Catalog, NoBlobs, build, header};
use agentx_types::{
    ContentPart, MediaPart, MediaSource, Message, ModelParams, ModelRequest, OpaquePart, ProviderData, Role,
    ThinkingPart, ToolCallPart, ToolResultPart,
};
use serde_json::{Value, json};

const BUDGET: &str = "anthropic/claude-sonnet-4-5";
const BINDS: &str = "anthropic/claude-opus-5-5";

fn message(role: Role, content: Vec<ContentPart>) -> Arc<Message> {
    Arc::new(Message {
        message_id: "msg".into(),
        role,
        content,
        by: None,
    })
}

fn user(text: &str) -> Arc<Message> {
    message(Role::User, vec![ContentPart::text(text)])
}

fn said(content: Vec<ContentPart>) -> Arc<Message> {
    message(Role::Assistant, content)
}

fn anthropic(data: Value) -> ProviderData {
    ProviderData {
        api: "anthropic".into(),
        model: None,
        data,
    }
}

fn thought(text: &str) -> ContentPart {
    ContentPart::Thinking(ThinkingPart {
        text: text.into(),
        provider: Some(anthropic(json!({"signature": "s"}))),
    })
}

fn opaque(data: Value) -> ContentPart {
    ContentPart::Opaque(OpaquePart {
        provider: anthropic(data),
    })
}

fn call(id: &str, name: &str) -> ContentPart {
    ContentPart::ToolCall(ToolCallPart {
        tool_call_id: id.into(),
        name: name.into(),
        input: json!({}),
        provider: None,
    })
}

fn result(id: &str, content: Vec<ContentPart>, is_error: bool) -> Arc<Message> {
    let part = ToolResultPart {
        tool_call_id: id.into(),
        name: "read".into(),
        content,
        is_error,
    };
    message(Role::Tool, vec![ContentPart::ToolResult(part)])
}

fn request(model: &str, thinking_tokens: Option<u64>, messages: Vec<Arc<Message>>) -> ModelRequest {
    ModelRequest {
        model: Catalog::builtin().resolve(model).expect("a known model"),
        params: ModelParams {
            thinking_tokens,
            ..ModelParams::default()
        },
        system: vec!["You are terse.".into()],
        messages,
        tools: [].into(),
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

fn beta(request: &ModelRequest) -> Option<(&'static str, &'static str)> {
    header(request, &Catalog::builtin().wire_options(&request.model))
}

/// The kinds of the blocks of each message, without marks of the cache.
fn kinds(body: &Value) -> Vec<String> {
    let messages = body["messages"].as_array().expect("messages");
    let kind = |block: &Value| block["type"].as_str().unwrap_or_default().to_owned();
    let line = |message: &Value| {
        let blocks: Vec<String> = message["content"]
            .as_array()
            .expect("blocks")
            .iter()
            .map(kind)
            .collect();
        format!(
            "{}: {}",
            message["role"].as_str().unwrap_or_default(),
            blocks.join(" ")
        )
    };
    messages.iter().map(line).collect()
}

#[test]
fn no_message_ends_in_thinking() {
    let interrupted = |content: Vec<ContentPart>| {
        let messages = vec![user("hi"), said(content), user("go on")];
        kinds(&built(&request(BINDS, None, messages)))
    };
    let alone = interrupted(vec![thought("hm")]);
    assert_eq!(alone, ["user: text text"], "nothing is left of the answer");
    let redacted = opaque(json!({"type": "redacted_thinking", "data": "d"}));
    assert_eq!(interrupted(vec![thought("hm"), redacted]), ["user: text text"]);
    let words_first = interrupted(vec![thought("a"), ContentPart::text("words"), thought("b")]);
    assert_eq!(
        words_first,
        ["user: text", "assistant: thinking text", "user: text"],
        "what stands before words stays"
    );
}

#[test]
fn a_message_is_the_same_in_every_later_request() {
    let mut messages = vec![user("hi"), said(vec![thought("hm")]), user("go on")];
    let first = built(&request(BINDS, None, messages.clone()));
    messages.extend([said(vec![thought("b"), ContentPart::text("yes")]), user("and")]);
    let second = built(&request(BINDS, None, messages));
    assert_eq!(
        kinds(&second)[..1],
        kinds(&first)[..],
        "what the later thinking was made after has not changed"
    );
}

#[test]
fn names_that_a_model_made_up_are_sent_as_the_api_takes_them() {
    let long = "x".repeat(300);
    for (name, sent) in [
        ("read", "read".to_owned()),
        ("functions.bash", "functions_bash".to_owned()),
        ("", "unnamed".to_owned()),
        ("späher", "sp_her".to_owned()),
        (&long, "x".repeat(128)),
    ] {
        let messages = vec![
            user("hi"),
            said(vec![call("toolu_1", name)]),
            result("toolu_1", vec![ContentPart::text("There is no such tool.")], true),
        ];
        let body = built(&request(BINDS, None, messages));
        assert_eq!(body["messages"][1]["content"][0]["name"], sent, "{name:?}");
    }
}

#[test]
fn a_budget_stays_while_a_turn_of_many_calls_goes_on() {
    // Without interleaved thinking the model thinks once, before the first call of a turn.
    let mut messages = vec![user("hi")];
    for round in 0..3 {
        let id = format!("toolu_{round}");
        let mut content = vec![call(&id, "read")];
        if round == 0 {
            content.insert(0, thought("first"));
        }
        messages.extend([said(content), result(&id, vec![ContentPart::text("x")], false)]);
        let body = built(&request(BUDGET, Some(5_000), messages.clone()));
        assert_eq!(body["thinking"]["type"], "enabled", "round {round}");
    }
    messages.extend([said(vec![ContentPart::text("done")]), user("and now")]);
    let body = built(&request(BUDGET, Some(5_000), messages.clone()));
    assert_eq!(body["thinking"]["type"], "enabled", "a new turn");
    messages.extend([
        said(vec![call("toolu_9", "read")]),
        result("toolu_9", vec![ContentPart::text("x")], false),
    ]);
    let body = built(&request(BUDGET, Some(5_000), messages));
    assert!(body.get("thinking").is_none(), "this turn began without thinking");
}

/// Near a full window no budget fits, in the middle of a turn that began with thinking.
#[test]
fn the_last_answer_is_sent_without_thinking_where_none_is_asked_for() {
    let mut messages = vec![user("hi")];
    for round in 0..2 {
        let id = format!("toolu_{round}");
        let content = vec![thought("first"), call(&id, "read")];
        messages.extend([said(content), result(&id, vec![ContentPart::text("x")], false)]);
    }
    let kinds = |body: &Value, at: usize| -> Vec<String> {
        let blocks = body["messages"][at]["content"].as_array().unwrap();
        blocks
            .iter()
            .map(|block| block["type"].as_str().unwrap().to_owned())
            .collect()
    };
    let mut asked = request(BUDGET, Some(5_000), messages);
    assert_eq!(kinds(&built(&asked), 3), ["thinking", "tool_use"]);
    asked.params.max_output_tokens = Some(1_500);
    let body = built(&asked);
    assert!(body.get("thinking").is_none(), "there is no room for it");
    assert_eq!(kinds(&body, 1), ["thinking", "tool_use"]);
    assert_eq!(kinds(&body, 3), ["tool_use"]);
}

#[test]
fn words_between_calls_are_asked_for_where_the_model_reasons_by_itself() {
    let ask = |model: &str, tokens| built(&request(model, tokens, vec![user("hi")]));
    let body = ask("claude-opus-5", None);
    assert_eq!(
        body["thinking"],
        json!({"type": "adaptive", "display": "summarized"})
    );
    assert!(body.get("output_config").is_none(), "its own effort");
    assert!(
        ask("claude-opus-4-8", None).get("thinking").is_none(),
        "it reasons only where that is asked for"
    );
    assert_eq!(
        ask("claude-opus-4-8", Some(5_000))["thinking"]["display"],
        "summarized"
    );
}

#[test]
fn thinking_that_no_longer_fits_is_dropped_where_it_is_bound() {
    let mut asked = request(BINDS, None, vec![user("hi")]);
    assert_eq!(
        built(&asked)["thinking"]["block_binding"],
        json!({"prefix_mismatch_behavior": "drop_block"})
    );
    let controls = ("anthropic-beta", "thinking-binding-controls-2026-08-01");
    assert_eq!(beta(&asked), Some(controls), "the field needs the header");
    asked.plain = true;
    assert!(
        built(&asked).get("thinking").is_none(),
        "a server that knows none of it"
    );
    assert_eq!(beta(&asked), None);
    let other = request("claude-opus-5", None, vec![user("hi")]);
    assert!(built(&other)["thinking"].get("block_binding").is_none());
    assert_eq!(beta(&other), None);
}

#[test]
fn a_request_never_ends_with_what_the_model_said() {
    let messages = vec![user("hi"), said(vec![ContentPart::text("hello")]), user(" \n ")];
    let body = built(&request(BINDS, None, messages));
    assert_eq!(kinds(&body), ["user: text", "assistant: text", "user: text"]);
    assert_eq!(body["messages"][2]["content"][0]["text"], "(an empty message)");
}

#[test]
fn a_pause_behind_plain_words_is_ended_by_a_person_now_and_later() {
    let mut messages = vec![user("hi"), said(vec![ContentPart::text("so ")])];
    let plain = |messages: &[Arc<Message>]| {
        let mut request = request(BINDS, None, messages.to_vec());
        request.plain = true;
        built(&request)["messages"].as_array().unwrap().clone()
    };
    let paused = plain(&messages);
    let roles: Vec<&str> = paused
        .iter()
        .filter_map(|message| message["role"].as_str())
        .collect();
    assert_eq!(roles, ["user", "assistant", "user"]);
    messages.extend([said(vec![ContentPart::text("it is")]), user("thanks")]);
    let later = plain(&messages);
    assert_eq!(later[..3], paused, "thinking is bound to what stood before it");
    assert_eq!(later.len(), 5);
}

/// If the model accepts a prefill, or continues after a tool of its server, the request ends with the model's
/// text.
#[test]
fn a_blank_at_the_end_of_a_paused_answer_is_left_out_now_and_later() {
    let server = |data| opaque(data);
    let call =
        server(json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}));
    let result =
        server(json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}));
    for (model, before) in [("claude-haiku-4-5", vec![]), (BINDS, vec![call, result])] {
        let words = |text: &str| [before.clone(), vec![ContentPart::text(text)]].concat();
        let mut messages = vec![user("hi"), said(words("so \n"))];
        let plain = |messages: &[Arc<Message>]| {
            let mut request = request(model, None, messages.to_vec());
            request.plain = true;
            built(&request)["messages"].as_array().unwrap().clone()
        };
        let paused = plain(&messages);
        let sent = paused[1]["content"].as_array().unwrap();
        assert_eq!(sent.last().unwrap()["text"], "so", "{model}");
        messages.extend([said(vec![ContentPart::text("it is ")]), user("thanks")]);
        let later = plain(&messages);
        let begins = &later[1]["content"].as_array().unwrap()[..sent.len()];
        assert_eq!(begins, sent, "{model}");
        let rest = later[1]["content"].as_array().unwrap().last().unwrap();
        assert_eq!(
            rest["text"], "it is ",
            "what was never the end of a request stays as it came"
        );
    }
}

#[test]
fn a_result_that_is_an_error_holds_nothing_but_text() {
    let picture = ContentPart::Image(MediaPart {
        media_type: "image/png".into(),
        source: MediaSource::Base64("iVBORw".into()),
        name: Some("shot.png".into()),
    });
    let messages = vec![
        user("hi"),
        said(vec![call("toolu_1", "read")]),
        result("toolu_1", vec![picture], true),
    ];
    let content = &built(&request(BINDS, None, messages))["messages"][2]["content"][0]["content"];
    assert_eq!(content[0]["type"], "text");
    assert!(
        content[0]["text"]
            .as_str()
            .unwrap()
            .starts_with("[shot.png (image/png)"),
        "{content}"
    );
}

#[test]
fn a_servers_call_keeps_its_result_over_a_pause() {
    let server_call =
        json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}});
    let found = json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []});
    let messages = vec![
        user("search"),
        said(vec![opaque(server_call)]),
        said(vec![opaque(found), ContentPart::text("found")]),
        user("thanks"),
    ];
    assert_eq!(
        kinds(&built(&request(BINDS, None, messages)))[1],
        "assistant: server_tool_use web_search_tool_result text"
    );
}
