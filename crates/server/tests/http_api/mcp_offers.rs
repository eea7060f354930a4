//! The offers of `/mcp` beyond calls: pictures in results, files that results name, prompts for the operator
//! alone, streams of subscriptions, and log levels by person.

use std::sync::Arc;

use agentx_runtime::{BoxFuture, PromptWriter, StepMetadata, Tool, ToolContext, ToolOutcome};
use agentx_types::{Access, EffectOutcome, Rule, RuleEffect, ToolSpec};
use axum::http::StatusCode;
use futures_util::StreamExt as _;
use serde_json::{Value, json};

use crate::http_api::desk::{Desk, wide};

/// A tool that only puts words to a model.
struct Greeting;

impl Tool for Greeting {
    fn spec(&self) -> ToolSpec {
        let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
        ToolSpec::new("greeting", "Greets.", schema, Access::Internal)
    }

    fn prompt(&self) -> Option<PromptWriter> {
        Some(Arc::new(|input: &Value| Ok(format!("Greet {}.", input["name"]))))
    }

    fn call(&self, _: Value, _: ToolContext) -> BoxFuture<'static, ToolOutcome> {
        Box::pin(std::future::ready(ToolOutcome::success("hello")))
    }
}

fn request(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
}

async fn answer(desk: &Desk, token: &str, method: &str, params: Value) -> Value {
    let asked = desk.post("/mcp", &request(method, params)).by(token);
    asked.send().await.ok().json()
}

fn stateless() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

#[tokio::test]
async fn a_picture_that_a_tool_reads_reaches_the_client_as_a_picture() {
    let desk = Desk::new().await;
    let header = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89";
    let picture = [&header[..], b"\0\0\0\0IEND\xaeB`\x82"].concat();
    std::fs::write(desk.ann_dir().join("a.png"), picture).unwrap();
    let call = json!({"name": "read", "arguments": {"path": "a.png"}});
    let read = answer(&desk, &desk.ann, "tools/call", call).await;
    let content = &read["result"]["content"];
    assert_eq!(content[1]["type"], "image", "{read}");
    assert_eq!(content[1]["mimeType"], "image/png");
    let data = content[1]["data"].as_str().unwrap();
    assert!(data.starts_with("iVBORw0KGgo"), "{data}");
}

/// A client has no session whose blobs it could read.
#[tokio::test]
async fn what_a_result_names_is_read_by_the_person_who_made_the_call() {
    let desk = Desk::ruled(wide(), &["allow bash: *"]).await;
    let call = json!({"name": "bash", "arguments": {"command": "seq 1 40000"}});
    let called = answer(&desk, &desk.ann, "tools/call", call).await;
    let content = &called["result"]["content"];
    assert!(
        content[0]["text"].as_str().unwrap().contains("all of it is kept"),
        "{called}"
    );
    let link = &content[1];
    let address = link["uri"].as_str().unwrap();
    assert_eq!(link["type"], "resource_link");
    let read = json!({"uri": address});
    let got = answer(&desk, &desk.ann, "resources/read", read.clone()).await;
    let text = got["result"]["contents"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("1\n2\n") && text.ends_with("\n40000\n"));
    // The tool `read` continues where the result was cut, as its words say.
    let blob = address.strip_prefix("agentx://blob/").unwrap();
    let part = json!({"blob": blob, "offset": 20_000, "limit": 1});
    let (text, failed) = super::mcp::called(&desk, &desk.ann, "read", part.clone()).await;
    assert!(!failed && text.contains("20000"), "{text}");
    for token in [&desk.bob, &desk.operator] {
        let refused = answer(&desk, token, "resources/read", read.clone()).await;
        assert_eq!(refused["error"]["code"], -32_002, "{refused}");
        let (text, failed) = super::mcp::called(&desk, token, "read", part.clone()).await;
        assert!(failed, "{text}");
    }
}

#[tokio::test]
async fn prompts_are_for_the_operator_who_wrote_them() {
    let desk = Desk::with_tool(Arc::new(Greeting), |_| {}).await;
    let listed = answer(&desk, &desk.operator, "prompts/list", json!({})).await;
    assert_eq!(listed["result"]["prompts"][0]["name"], "greeting", "{listed}");
    let get = json!({"name": "greeting", "arguments": {"name": "Ada"}});
    let got = answer(&desk, &desk.operator, "prompts/get", get.clone()).await;
    let words = &got["result"]["messages"][0]["content"]["text"];
    assert_eq!(words, "Greet \"Ada\".", "{got}");
    let listed = answer(&desk, &desk.ann, "prompts/list", json!({})).await;
    assert_eq!(listed["result"]["prompts"], json!([]));
    let refused = answer(&desk, &desk.ann, "prompts/get", get).await;
    assert_eq!(refused["error"]["code"], -32_602);
}

#[tokio::test]
async fn a_stream_of_subscriptions_tells_of_sessions_that_change_and_of_no_others() {
    let desk = Desk::new().await;
    let session = desk.session(&desk.ann).await;
    desk.say(&desk.ann, &session, json!("a fine day")).await;
    let address = format!("agentx://sessions/{session}");
    let listen = |address: &str| {
        let wanted = json!({"resourceSubscriptions": [address]});
        request(
            "subscriptions/listen",
            json!({"notifications": wanted, "_meta": stateless()}),
        )
    };
    let body = listen(&address);
    let open = |token: &str, accept: &str| {
        desk.post("/mcp", &body)
            .by(token)
            .header("accept", accept)
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", "subscriptions/listen")
    };
    let without = open(&desk.ann, "application/json").send().await;
    assert_eq!(without.status, StatusCode::BAD_REQUEST);
    let events = "application/json, text/event-stream";
    let of_bob = open(&desk.bob, events).open().await;
    let mut of_bob = of_bob.into_body().into_data_stream();
    let first = String::from_utf8(of_bob.next().await.unwrap().unwrap().to_vec()).unwrap();
    assert!(first.contains("\"resourceSubscriptions\":[]"), "{first}");
    let stream = open(&desk.ann, events).open().await;
    let mut stream = stream.into_body().into_data_stream();
    let first = String::from_utf8(stream.next().await.unwrap().unwrap().to_vec()).unwrap();
    assert!(
        first.contains("notifications/subscriptions/acknowledged") && first.contains(&address),
        "{first}"
    );
    desk.say(&desk.ann, &session, json!("and a fine night")).await;
    let changed = async {
        loop {
            let piece = stream.next().await.unwrap().unwrap();
            let piece = String::from_utf8(piece.to_vec()).unwrap();
            if piece.contains("notifications/resources/updated") {
                return piece;
            }
        }
    };
    let changed = tokio::time::timeout(std::time::Duration::from_secs(30), changed).await;
    let changed = changed.unwrap();
    assert!(changed.contains(&address), "{changed}");
    assert!(
        changed.contains("\"io.modelcontextprotocol/subscriptionId\":7"),
        "{changed}"
    );
}

/// A tool that logs as scripts do.
struct Logging;

impl Tool for Logging {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("logging", "Logs.", json!({"type": "object"}), Access::Run)
    }

    fn call(&self, _: Value, context: ToolContext) -> BoxFuture<'static, ToolOutcome> {
        Box::pin(async move {
            let said = json!({"level": "info", "message": "half"});
            let done = EffectOutcome::Done(Value::Null);
            let logged = context
                .journal
                .end(1, "log", Some(said), done, StepMetadata::default());
            logged.await;
            ToolOutcome::success("logged")
        })
    }
}

#[tokio::test]
async fn a_log_level_holds_for_the_clients_of_the_person_who_set_it() {
    let rule = Rule {
        effect: RuleEffect::Allow,
        tool: "logging".into(),
        argument: None,
        path: None,
        workspace: None,
        origin: None,
    };
    let desk = Desk::with_tool(Arc::new(Logging), |settings| settings.rules = vec![rule]).await;
    let streamed = async |token: &str| {
        let call = request("tools/call", json!({"name": "logging"}));
        let asked = desk.post("/mcp", &call).by(token);
        let reply = asked.header("accept", "application/json, text/event-stream");
        String::from_utf8(reply.send().await.ok().body.to_vec()).unwrap()
    };
    let set = answer(&desk, &desk.ann, "logging/setLevel", json!({"level": "info"})).await;
    assert_eq!(set["result"], json!({}));
    let heard = streamed(&desk.ann).await;
    assert!(
        heard.contains("notifications/message") && heard.contains("\"data\":\"half\""),
        "{heard}"
    );
    let heard = streamed(&desk.bob).await;
    assert!(
        heard.contains("logged") && !heard.contains("notifications/message"),
        "{heard}"
    );
    answer(&desk, &desk.ann, "logging/setLevel", json!({"level": "error"})).await;
    assert!(!streamed(&desk.ann).await.contains("notifications/message"));
}
