//! Gemini: each rule, broken once.

use agentx_testing::vendors::{AnswerPart, GEMINI_RULES, GeminiServer, ModelAnswer, VendorRefusal};
use serde_json::{Value, json};

use crate::{Case, each_rule_is_broken_once};

/// The called model; the key is only for these tests, and is removed before a request is checked.
const MODEL: &str = "made_up_model";

/// A conversation with a signed call and its result.
fn good(rule: &str) -> Value {
    let schema = json!({ "type": "object", "properties": { "at": { "type": "string" } } });
    let mut request = json!({
        MODEL: "gemini-3.8-flash",
        "systemInstruction": { "parts": [{ "text": "be good" }] },
        "generationConfig": { "thinkingConfig": { "includeThoughts": true, "thinkingLevel": "low" } },
        "tools": [{ "functionDeclarations": [{ "name": "look", "description": "", "parametersJsonSchema": schema }] }],
        "contents": [
            { "role": "user", "parts": [{ "text": "look" }] },
            { "role": "model", "parts": [
                { "text": "I think", "thought": true },
                { "functionCall": { "id": "c1", "name": "look", "args": {} }, "thoughtSignature": signed() },
                { "functionCall": { "id": "c2", "name": "look", "args": {} } },
            ] },
            { "role": "user", "parts": [
                { "functionResponse": { "id": "c1", "name": "look", "response": { "output": "seen" } } },
                { "functionResponse": { "id": "c2", "name": "look", "response": { "output": "seen" } } },
            ] },
        ],
    });
    if rule == "gemini-vertex-id" {
        for at in [1, 2] {
            for part in request["contents"][at]["parts"].as_array_mut().unwrap() {
                for kind in ["functionCall", "functionResponse"] {
                    if let Some(fields) = part[kind].as_object_mut() {
                        fields.remove("id");
                    }
                }
                part.as_object_mut().unwrap().retain(|_, value| !value.is_null());
            }
        }
    }
    request
}

/// A signature that the server made for the model.
fn signed() -> String {
    let asked = json!({ "contents": [{ "role": "user", "parts": [{ "text": "hi" }] }] });
    let accepted = GeminiServer::new()
        .check(
            "/v1beta/models/gemini-3.8-flash:streamGenerateContent",
            asked.to_string().as_bytes(),
        )
        .unwrap();
    let call = AnswerPart::Call {
        id: "c1".into(),
        name: "look".into(),
        input: json!({}),
    };
    let stream = accepted.stream(&ModelAnswer::default().then(call));
    let (_, rest) = stream.split_once("\"thoughtSignature\":\"").unwrap();
    rest.split_once('"').unwrap().0.to_owned()
}

fn check(rule: &str, request: &Value) -> Option<VendorRefusal> {
    let mut server = match rule {
        "gemini-vertex-id" => GeminiServer::new().vertex(),
        "gemini-window" => GeminiServer::new().with_window(300),
        _ => GeminiServer::new(),
    };
    let mut body = request.clone();
    let model = body.as_object_mut().unwrap().remove(MODEL).unwrap();
    let path = format!(
        "/v1beta/models/{}:streamGenerateContent?alt=sse",
        model.as_str().unwrap()
    );
    server.check(&path, body.to_string().as_bytes()).err()
}

fn parts(request: &mut Value, at: usize) -> &mut Vec<Value> {
    request["contents"][at]["parts"].as_array_mut().unwrap()
}

fn thinking(request: &mut Value, model: &str, field: &str, value: Value) {
    *request = json!({ MODEL: model, "contents": [request["contents"][0]] });
    request["generationConfig"]["thinkingConfig"][field] = value;
}

fn function(request: &mut Value) -> &mut Value {
    &mut request["tools"][0]["functionDeclarations"][0]
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table with a row for each rule")]
fn each_rule_refuses_what_breaks_it() {
    let cases: &[Case] = &[
        ("gemini-json", |request| request["contents"] = json!([])),
        ("gemini-json-with-tools", |request| {
            request[MODEL] = json!("gemini-2.5-flash");
            request["generationConfig"] = json!({ "responseMimeType": "application/json" })
        }),
        ("gemini-path", |request| request[MODEL] = json!("")),
        ("gemini-unknown-field", |request| request["max_tokens"] = json!(1)),
        ("gemini-unknown-field", |request| {
            request["contents"][1]["parts"][1]["functionCall"]["arguments"] = json!({})
        }),
        ("gemini-vertex-id", |request| {
            request["contents"][1]["parts"][1]["functionCall"]["id"] = json!("c1")
        }),
        ("gemini-role", |request| {
            request["contents"][1]["role"] = json!("assistant")
        }),
        ("gemini-empty-parts", |request| parts(request, 0).clear()),
        ("gemini-part", |request| parts(request, 0).push(json!({}))),
        ("gemini-call-turn", |request| {
            request["contents"].as_array_mut().unwrap().remove(0);
        }),
        ("gemini-results", |request| {
            parts(request, 2).pop();
        }),
        ("gemini-results", |request| {
            request["contents"].as_array_mut().unwrap().remove(1);
        }),
        ("gemini-results", |request| {
            request["contents"].as_array_mut().unwrap().pop();
        }),
        ("gemini-result", |request| {
            request["contents"][2]["parts"][0]["functionResponse"]["id"] = json!("c2")
        }),
        ("gemini-result", |request| {
            request["contents"][2]["parts"][0]["functionResponse"]["response"] = json!("seen")
        }),
        ("gemini-last-role", |request| {
            let said = json!({ "role": "model", "parts": [{ "text": "I saw" }] });
            request["contents"].as_array_mut().unwrap().push(said);
        }),
        ("gemini-unsigned", |request| {
            let call = parts(request, 1)[1].as_object_mut().unwrap();
            call.remove("thoughtSignature");
        }),
        ("gemini-signature", |request| {
            request[MODEL] = json!("gemini-3.5-flash")
        }),
        ("gemini-name", |request| {
            request["contents"][1]["parts"][1]["functionCall"]["name"] = json!("")
        }),
        ("gemini-name", |request| function(request)["name"] = json!("7zip")),
        ("gemini-schema", |request| {
            function(request)["parametersJsonSchema"] = json!({ "properties": {} })
        }),
        ("gemini-schema", |request| {
            let schema = json!({ "type": "OBJECT", "properties": { "n": { "type": "INTEGER", "exclusiveMinimum": 0 } } });
            *function(request) = json!({ "name": "look", "parameters": schema });
        }),
        ("gemini-ref", |request| {
            let schema = &mut function(request)["parametersJsonSchema"];
            schema["properties"]["at"] = json!({ "$ref": "#/$defs/at", "title": "At" });
        }),
        ("gemini-thinking-level", |request| {
            thinking(request, "gemini-2.5-pro", "thinkingLevel", json!("low"))
        }),
        ("gemini-thinking-level", |request| {
            thinking(request, "gemini-3.8-flash", "thinkingLevel", json!("minimal"))
        }),
        ("gemini-thinking-budget", |request| {
            thinking(request, "gemini-2.5-pro", "thinkingBudget", json!(0))
        }),
        ("gemini-thinking-budget", |request| {
            thinking(request, "gemini-2.5-flash", "thinkingBudget", json!(52_428))
        }),
        ("gemini-thinking-budget", |request| {
            thinking(request, "gemini-4-argon", "thinkingBudget", json!(1_024))
        }),
        ("gemini-media", |request| {
            let gif = json!({ "inlineData": { "mimeType": "image/gif", "data": "R0lGODlhAQABAAAAADs=" } });
            parts(request, 0).push(gif);
        }),
        ("gemini-media", |request| {
            let broken = json!({ "inlineData": { "mimeType": "image/png", "data": "aGVsbG8=" } });
            request["contents"][2]["parts"][0]["functionResponse"]["parts"] = json!([broken]);
        }),
        ("gemini-window", |request| {
            parts(request, 0)[0] = json!({ "text": "word ".repeat(400) })
        }),
    ];
    each_rule_is_broken_once(cases, GEMINI_RULES, &[], check, good);
}

#[test]
fn earlier_turns_and_calls_of_nobody_need_no_signature_of_this_model() {
    let mut earlier = good("");
    parts(&mut earlier, 1)[1]
        .as_object_mut()
        .unwrap()
        .remove("thoughtSignature");
    let more = json!([
        { "role": "model", "parts": [{ "text": "I saw" }] }, { "role": "user", "parts": [{ "text": "and?" }] },
    ]);
    let contents = earlier["contents"].as_array_mut().unwrap();
    contents.extend(more.as_array().cloned().unwrap());
    assert_eq!(check("", &earlier), None, "the user has spoken since");
    let mut unknown = good("");
    parts(&mut unknown, 1)[1]["thoughtSignature"] = json!("skip_thought_signature_validator");
    assert_eq!(check("", &unknown), None);
}

#[test]
fn what_the_server_read_before_is_read_from_its_cache() {
    let mut server = GeminiServer::new();
    let path = "/v1beta/models/gemini-3.8-flash:streamGenerateContent";
    let mut request = good("");
    request.as_object_mut().unwrap().remove(MODEL);
    server.check(path, request.to_string().as_bytes()).unwrap();
    let more = json!([
        { "role": "model", "parts": [{ "text": "I saw" }] }, { "role": "user", "parts": [{ "text": "and?" }] },
    ]);
    let contents = request["contents"].as_array_mut().unwrap();
    contents.extend(more.as_array().cloned().unwrap());
    let second = server.check(path, request.to_string().as_bytes()).unwrap();
    assert!(second.counted.cache_read > 0, "{second:?}");
    let stream = second.stream(&ModelAnswer::text("Hello."));
    assert!(stream.contains(&format!(
        "\"cachedContentTokenCount\":{}",
        second.counted.cache_read
    )));
}
