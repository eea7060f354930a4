//! Bedrock's Converse: each rule, broken once, and requests that AgentX builds.

use agentx_llm::{AnswerRecorder, Catalog, NoBlobs, StreamContext, StreamDecoder, build};
use agentx_testing::fixture;
use agentx_testing::vendors::{AnswerPart, CONVERSE_RULES, ConverseServer, ModelAnswer, VendorRefusal};
use agentx_types::{Api, ContentPart, Message, ModelRequest, Role};
use serde_json::{Value, json};

use crate::{Case, each_rule_is_broken_once};

const NOVA: &str = "us.amazon.nova-pro-v1:0";
const MISTRAL: &str = "mistral.mistral-large-3-675b-instruct";

/// A conversation with reasoning, a call and its result.
fn good(_: &str) -> Value {
    let schema = json!({ "type": "object", "properties": { "at": { "type": "string" } } });
    let spec = json!({ "name": "look", "description": "Looks.", "inputSchema": { "json": schema } });
    json!({
        "system": [{ "text": "be good" }],
        "inferenceConfig": { "maxTokens": 100, "temperature": 0.5 },
        "toolConfig": { "tools": [{ "toolSpec": spec }] },
        "messages": [
            { "role": "user", "content": [{ "text": "look" }] },
            { "role": "assistant", "content": [
                { "reasoningContent": { "reasoningText": { "text": "hm", "signature": signed() } } },
                { "toolUse": { "toolUseId": "t1", "name": "look", "input": {} } },
            ] },
            { "role": "user", "content": [
                { "toolResult": { "toolUseId": "t1", "content": [{ "text": "seen" }], "status": "success" } },
            ] },
        ],
    })
}

/// A signature that the server made for the model.
fn signed() -> String {
    let hello = json!({ "messages": [{ "role": "user", "content": [{ "text": "hi" }] }] });
    let accepted = ConverseServer::new().check(NOVA, hello.to_string().as_bytes());
    let answer = ModelAnswer::default().then(AnswerPart::Thinking("hm".into()));
    let frames = accepted.unwrap().stream(&answer);
    let text = String::from_utf8_lossy(&frames).into_owned();
    let (_, rest) = text.split_once("\"signature\":\"").unwrap();
    rest.split_once('"').unwrap().0.to_owned()
}

fn check(rule: &str, request: &Value) -> Option<VendorRefusal> {
    let mut server = match rule {
        "converse-window" => ConverseServer::new().with_window(250),
        _ => ConverseServer::new(),
    };
    server.check(NOVA, request.to_string().as_bytes()).err()
}

/// Requests whose settings, order or content are wrong.
const WRONG_REQUESTS: &[Case] = &[
    ("converse-json", |request| request["messages"] = json!([])),
    ("converse-unknown-field", |request| request["model"] = json!("m")),
    ("converse-inference-config", |request| {
        request["inferenceConfig"]["temperature"] = json!(1.5)
    }),
    ("converse-inference-config", |request| {
        request["inferenceConfig"]["maxTokens"] = json!(0)
    }),
    ("converse-tool", |request| {
        request["toolConfig"]["tools"][0]["toolSpec"]["name"] = json!("a.b")
    }),
    ("converse-tool", |request| {
        request["toolConfig"]["tools"][0]["toolSpec"]["description"] = json!("")
    }),
    ("converse-tool", |request| {
        request["toolConfig"]["tools"][0]["toolSpec"]["inputSchema"]["json"] = json!({})
    }),
    ("converse-tool-config", |request| {
        request.as_object_mut().unwrap().remove("toolConfig");
    }),
    ("converse-first-message", |request| {
        request["messages"].as_array_mut().unwrap().remove(0);
    }),
    ("converse-last-message", |request| {
        let said = json!({ "role": "assistant", "content": [{ "text": "so" }] });
        request["messages"].as_array_mut().unwrap().push(said);
    }),
    ("converse-roles", |request| {
        let said = json!({ "role": "user", "content": [{ "text": "so" }] });
        request["messages"].as_array_mut().unwrap().push(said);
    }),
    ("converse-roles", |request| {
        request["messages"][0]["role"] = json!("system")
    }),
    ("converse-empty-message", |request| {
        request["messages"][0]["content"] = json!([])
    }),
    ("converse-blank-text", |request| {
        request["messages"][0]["content"][0]["text"] = json!(" \n")
    }),
    ("converse-blank-text", |request| {
        request["system"][0]["text"] = json!("")
    }),
    ("converse-block", |request| {
        request["messages"][0]["content"][0]["cachePoint"] = json!({ "type": "default" })
    }),
    ("converse-block", |request| {
        request["messages"][1]["content"][1]["toolUse"]["input"] = json!("{}")
    }),
    ("converse-block", |request| {
        request["messages"][1]["content"][0] = json!({ "image": {} })
    }),
];

/// Requests with settings that the model does not take.
const WRONG_SETTINGS: &[Case] = &[
    ("converse-cache-point", |request| {
        let tools = request["toolConfig"]["tools"].as_array_mut();
        tools.unwrap().push(point());
    }),
    ("converse-cache-point", |request| {
        let results = request["messages"][2]["content"].as_array_mut();
        results.unwrap().push(point());
    }),
    ("converse-cache-point", |request| {
        let system = request["system"].as_array_mut();
        system
            .unwrap()
            .extend([point(), point(), point(), point(), point()]);
    }),
    ("converse-reasoning-field", |request| {
        request["additionalModelRequestFields"] = json!({ "thinking": { "type": "adaptive" } })
    }),
    ("converse-output-schema", |request| {
        request["outputConfig"] = json!({ "textFormat": { "type": "json_schema" } })
    }),
];

fn point() -> Value {
    json!({ "cachePoint": { "type": "default" } })
}

/// Requests whose calls, results, reasoning or files are wrong.
const WRONG_BLOCKS: &[Case] = &[
    ("converse-tool-use-id", |request| {
        request["messages"][1]["content"][1]["toolUse"]["toolUseId"] = json!("call.1")
    }),
    ("converse-missing-result", |request| {
        request["messages"].as_array_mut().unwrap().pop();
    }),
    ("converse-missing-result", |request| {
        request["messages"][2]["content"] = json!([{ "text": "seen" }])
    }),
    ("converse-excess-result", |request| {
        let result = request["messages"][2]["content"][0].clone();
        request["messages"][2]["content"]
            .as_array_mut()
            .unwrap()
            .push(result);
    }),
    ("converse-mixed-results", |request| {
        let text = json!({ "text": "and now?" });
        request["messages"][2]["content"]
            .as_array_mut()
            .unwrap()
            .push(text);
    }),
    ("converse-status", |request| {
        request["messages"][2]["content"][0]["toolResult"]["status"] = json!("failed")
    }),
    ("converse-error-result", |request| {
        let result = json!({ "toolUseId": "t1", "content": [], "status": "error" });
        request["messages"][2]["content"][0]["toolResult"] = result;
    }),
    ("converse-reasoning", |request| {
        let text = json!({ "text": "hm" });
        request["messages"][1]["content"][0]["reasoningContent"]["reasoningText"] = text;
    }),
    ("converse-document", |request| {
        let document = json!({ "format": "pdf", "name": "one", "source": { "bytes": "JVBERi0=" } });
        request["messages"][0]["content"] = json!([{ "document": document }]);
    }),
    ("converse-document", |request| {
        let document = json!({ "format": "pdf", "name": "a.pdf", "source": { "bytes": "JVBERi0=" } });
        request["messages"][0]["content"] = json!([{ "document": document }, { "text": "read it" }]);
    }),
    ("converse-window", |request| {
        request["messages"][0]["content"][0]["text"] = json!("word ".repeat(400))
    }),
];

#[test]
fn each_rule_refuses_what_breaks_it() {
    let cases = [WRONG_REQUESTS, WRONG_SETTINGS, WRONG_BLOCKS].concat();
    let except = ["converse-mixed-calls"];
    each_rule_is_broken_once(&cases, CONVERSE_RULES, &except, check, good);
}

/// Models of Amazon and Anthropic may do both.
#[test]
fn other_models_take_neither_words_beside_calls_nor_the_status_of_a_result() {
    let refused = |request: &Value| {
        let checked = ConverseServer::new().check(MISTRAL, request.to_string().as_bytes());
        checked.err().map(|refusal| refusal.rule.name)
    };
    let mut request = good("");
    request["messages"][1]["content"]
        .as_array_mut()
        .unwrap()
        .remove(0);
    assert_eq!(refused(&request), Some("converse-status"));
    let result = request["messages"][2]["content"][0]["toolResult"].as_object_mut();
    result.unwrap().remove("status");
    assert_eq!(refused(&request), None);
    let text = json!({ "text": "I look." });
    request["messages"][1]["content"]
        .as_array_mut()
        .unwrap()
        .insert(0, text);
    assert_eq!(refused(&request), Some("converse-mixed-calls"));
}

fn request(model: &str, messages: Vec<std::sync::Arc<Message>>) -> ModelRequest {
    let mut request = fixture::request(Api::BedrockConverse, messages);
    request.model.id = model.to_owned();
    request.tools = fixture::tools();
    request.params.max_output_tokens = Some(20_000);
    request.params.temperature = Some(0.5);
    request.params.thinking_tokens = Some(20_000);
    request
}

fn built(request: &ModelRequest) -> Vec<u8> {
    let wire = Catalog::builtin().wire_options(&request.model);
    build(request, &wire, &NoBlobs)
}

/// A model of each family, which takes its own settings.
const FAMILIES: [&str; 7] = [
    NOVA,
    MISTRAL,
    "us.amazon.nova-2-lite-v1:0",
    "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "us.anthropic.claude-opus-5-5",
    "openai.gpt-oss-120b-1:0",
    "openai.gpt-5.6-luna",
];

/// The answer of the server goes back to it with the result of its call and a further word.
#[test]
fn what_the_server_answers_is_taken_back_by_it() {
    for model in FAMILIES {
        let mut server = ConverseServer::new();
        let mut messages = vec![fixture::user("hello")];
        let accepted = server.check(model, &built(&request(model, messages.clone())));
        let call = AnswerPart::Call {
            id: "t1".into(),
            name: "read".into(),
            input: json!({ "path": "a" }),
        };
        let parts = [
            AnswerPart::Thinking("hm".into()),
            AnswerPart::Text("I read.".into()),
            call,
        ];
        let answer = parts.into_iter().fold(ModelAnswer::default(), ModelAnswer::then);
        let frames = accepted.unwrap().stream(&answer);
        let mut decoder = StreamDecoder::new(Api::BedrockConverse, StreamContext::new("msg_1", 1));
        let mut events = Vec::new();
        decoder.push(&frames, &mut events).unwrap();
        assert!(decoder.is_done(), "{events:?}");
        let mut recorder = AnswerRecorder::default();
        events.iter().for_each(|event| recorder.push(event));
        let answered = recorder.finish().unwrap();
        assert!(answered.usage.input_tokens + answered.usage.cache_write_tokens > 0);
        let thought = |part: &&ContentPart| matches!(part, ContentPart::Thinking(_));
        assert_eq!(answered.message.content.iter().filter(thought).count(), 1);
        messages.push(answered.message.into());
        messages.push(fixture::tool_result("t1", "read", "seen"));
        messages.push(fixture::user("in French"));
        let refused = server
            .check(model, &built(&request(model, messages.clone())))
            .err();
        assert_eq!(refused, None, "{model}");
        let alone = request(
            model,
            messages
                .into_iter()
                .filter(|one| one.role != Role::User)
                .collect(),
        );
        assert_eq!(server.check(model, &built(&alone)).err(), None, "{model}");
    }
}
