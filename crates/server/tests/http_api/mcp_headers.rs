//! Arguments that clients of `/mcp` repeat in headers, as the schema of a tool marks them.

use std::sync::Arc;

use agentx_runtime::{BoxFuture, Tool, ToolContext, ToolOutcome};
use agentx_types::{Access, ToolSpec};
use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::http_api::desk::{Ask, Desk, Reply, rule_of};

/// A tool that names the header of one of its arguments.
struct Routed;

impl Tool for Routed {
    fn spec(&self) -> ToolSpec {
        let region = json!({"type": "string", "x-mcp-header": "Region"});
        let schema = json!({"type": "object", "properties": {"region": region}});
        ToolSpec::new("routed", "Goes to a region.", schema, Access::Run)
    }

    fn call(&self, input: Value, _: ToolContext) -> BoxFuture<'static, ToolOutcome> {
        let region = input["region"].as_str().unwrap_or("nowhere").to_owned();
        Box::pin(std::future::ready(ToolOutcome::success(region)))
    }
}

async fn desk() -> Desk {
    Desk::with_tool(Arc::new(Routed), |settings| {
        settings.rules = vec![rule_of("allow routed: *")];
        settings.rules[0].argument = None;
    })
    .await
}

/// A call in the version without a handshake.
fn call<'a>(desk: &'a Desk, arguments: &Value) -> Ask<'a> {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": "routed", "arguments": arguments, "_meta": meta});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    desk.post("/mcp", &body)
        .by(&desk.ann)
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", "routed")
}

fn assert_mismatch(reply: &Reply) {
    assert_eq!(
        (reply.status, &reply.json()["error"]["code"]),
        (StatusCode::BAD_REQUEST, &json!(-32_020))
    );
}

#[tokio::test]
async fn a_header_that_repeats_an_argument_has_to_say_the_same() {
    let desk = desk().await;
    let (eu, nowhere) = (json!({"region": "eu"}), json!({}));
    for (arguments, value, said) in [
        (&eu, Some("eu"), "eu"),
        (&eu, Some("=?base64?ZXU=?="), "eu"),
        (&nowhere, None, "nowhere"),
    ] {
        let mut asks = call(&desk, arguments);
        if let Some(value) = value {
            asks = asks.header("mcp-param-region", value);
        }
        let reply = asks.send().await.ok().json();
        assert_eq!(reply["result"]["content"][0]["text"], said, "{reply}");
    }
    for (arguments, value) in [(&eu, "us"), (&eu, "=?base64?ZXU?="), (&nowhere, "eu")] {
        let asks = call(&desk, arguments).header("mcp-param-region", value);
        assert_mismatch(&asks.send().await);
    }
    assert_mismatch(&call(&desk, &eu).send().await);
    let twice = call(&desk, &eu).header("mcp-param-region", "eu");
    assert_mismatch(&twice.header("mcp-param-region", "eu").send().await);
    // The status of a mismatch comes before a stream of events could begin.
    let streams = call(&desk, &eu).header("accept", "application/json, text/event-stream");
    assert_mismatch(&streams.header("mcp-param-region", "us").send().await);
}

#[tokio::test]
async fn a_client_of_a_version_with_a_handshake_repeats_no_arguments() {
    let desk = desk().await;
    let params = json!({"name": "routed", "arguments": {"region": "eu"}});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let reply = desk.post("/mcp", &body).by(&desk.ann).send().await.ok().json();
    assert_eq!(reply["result"]["content"][0]["text"], "eu", "{reply}");
    let other = desk
        .post("/mcp", &body)
        .by(&desk.ann)
        .header("mcp-param-region", "us");
    assert_mismatch(&other.send().await);
}
