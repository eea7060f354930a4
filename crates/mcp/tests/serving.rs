//! AgentX as an MCP server, in front of parts that are made up: what a client gets, right and wrong.
#![allow(clippy::unwrap_used, reason = "a test that cannot start fails")]

use std::sync::Arc;

use agentx_mcp::{ServedCall, ServedDocument, ServedParts, serve};
use agentx_runtime::{BoxFuture, ToolOutcome};
use agentx_types::{Access, ToolSpec, ToolStatus};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

struct Parts;

impl ServedParts for Parts {
    fn tools(&self) -> BoxFuture<'_, Vec<ToolSpec>> {
        let schema = json!({"properties": {"text": {"type": "string"}}});
        let tools = [("echo", Access::Read), ("wait", Access::Run)];
        let spec = |(name, access)| ToolSpec::new(name, "Made up.", schema.clone(), access);
        Box::pin(std::future::ready(tools.map(spec).to_vec()))
    }

    fn call(&self, mut call: ServedCall) -> BoxFuture<'_, ToolOutcome> {
        Box::pin(async move {
            call.progress.say("begins");
            match call.tool.as_str() {
                "wait" => {
                    call.cancel.cancelled().await;
                    ToolOutcome::failed(ToolStatus::Interrupted, "stopped")
                }
                _ => ToolOutcome::success(call.arguments["text"].as_str().unwrap_or_default()),
            }
        })
    }

    fn documents(&self) -> BoxFuture<'_, Result<Vec<ServedDocument>, String>> {
        let document = ServedDocument {
            address: "agentx://sessions/ses_1".into(),
            name: "ses_1".into(),
            title: "Made up".into(),
            version: 1,
        };
        Box::pin(std::future::ready(Ok(vec![document])))
    }

    fn read<'a>(&'a self, address: &'a str) -> BoxFuture<'a, Result<Option<String>, String>> {
        let text = (address == "agentx://sessions/ses_1").then(|| "# Made up".to_owned());
        Box::pin(std::future::ready(Ok(text)))
    }
}

/// A client at the other end of a pipe.
struct Client {
    to: WriteHalf<DuplexStream>,
    from: Lines<BufReader<ReadHalf<DuplexStream>>>,
    server: JoinHandle<std::io::Result<()>>,
}

impl Client {
    fn new() -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (input, output) = tokio::io::split(theirs);
        let served = serve(
            Arc::new(Parts),
            BufReader::new(input),
            output,
            CancellationToken::new(),
        );
        let (from, to) = tokio::io::split(ours);
        Self {
            to,
            from: BufReader::new(from).lines(),
            server: tokio::spawn(served),
        }
    }

    async fn send(&mut self, line: &str) {
        self.to.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    async fn heard(&mut self) -> Value {
        let line = self.from.next_line().await.unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }

    async fn ask(&mut self, method: &str, params: Value) -> Value {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.send(&request.to_string()).await;
        self.heard().await
    }
}

#[tokio::test]
async fn a_client_gets_tools_calls_and_documents_in_its_version() {
    let mut client = Client::new();
    for (wanted, given) in [("2025-06-18", "2025-06-18"), ("1999-01-01", "2025-11-25")] {
        let begun = client.ask("initialize", json!({"protocolVersion": wanted})).await;
        assert_eq!(begun["result"]["protocolVersion"], given);
    }
    client
        .send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .await;
    let listed = client.ask("tools/list", json!({})).await;
    let tools = &listed["result"]["tools"];
    assert_eq!(
        (&tools[0]["name"], &tools[1]["annotations"]["readOnlyHint"]),
        (&json!("echo"), &json!(false))
    );
    assert_eq!(tools[0]["inputSchema"]["type"], "object");
    assert!(listed["result"].get("resultType").is_none());
    let called = client
        .ask("tools/call", json!({"name": "echo", "arguments": {"text": "hi"}}))
        .await;
    assert_eq!(
        called["result"],
        json!({"content": [{"type": "text", "text": "hi"}], "isError": false})
    );
    let documents = client.ask("resources/list", json!({})).await;
    let address = documents["result"]["resources"][0]["uri"].clone();
    let read = client.ask("resources/read", json!({"uri": address})).await;
    assert_eq!(read["result"]["contents"][0]["text"], "# Made up");
    assert_eq!(client.ask("ping", json!({})).await["result"], json!({}));
    let meta = without_handshake();
    let listed = client.ask("tools/list", json!({ "_meta": meta })).await;
    assert_eq!(
        (&listed["result"]["resultType"], &listed["result"]["ttlMs"]),
        (&json!("complete"), &json!(0))
    );
}

/// What a request says of itself in the version without a handshake.
fn without_handshake() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

#[tokio::test]
async fn the_version_without_a_handshake_refuses_what_it_does_not_have() {
    let mut client = Client::new();
    for method in ["initialize", "ping"] {
        let refused = client.ask(method, json!({ "_meta": without_handshake() })).await;
        assert_eq!(refused["error"]["code"], -32_601, "{refused}");
    }
    let read = json!({"uri": "agentx://sessions/none", "_meta": without_handshake()});
    let error = client.ask("resources/read", read).await["error"].clone();
    assert_eq!(
        (&error["code"], &error["data"]["uri"]),
        (&json!(-32_602), &json!("agentx://sessions/none"))
    );
    let mut incomplete = without_handshake();
    incomplete["io.modelcontextprotocol/clientCapabilities"].take();
    let refused = client.ask("tools/list", json!({ "_meta": incomplete })).await;
    assert_eq!(refused["error"]["code"], -32_602, "{refused}");
}

#[tokio::test]
async fn whatever_is_wrong_is_answered_and_the_server_goes_on() {
    let mut client = Client::new();
    for (line, code) in [
        ("{".to_owned(), -32_700),
        (format!("\"{}\"", "x".repeat(9 << 20)), -32_700),
        (
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#.to_owned(),
            -32_600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"nothing"}"#.to_owned(),
            -32_601,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"none"}}"#.to_owned(),
            -32_602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#.to_owned(),
            -32_602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"x"}}"#.to_owned(),
            -32_002,
        ),
    ] {
        client.send(&line).await;
        assert_eq!(
            client.heard().await["error"]["code"],
            code,
            "{}",
            &line[..line.len().min(80)]
        );
    }
    client
        .send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}"#)
        .await;
    assert_eq!(client.ask("ping", json!({})).await["result"], json!({}));
}

#[tokio::test]
async fn a_call_says_its_progress_holds_up_nobody_and_is_cancelled() {
    let mut client = Client::new();
    let wait = json!({"jsonrpc": "2.0", "id": "w", "method": "tools/call", "params": {"name": "wait", "_meta": {"progressToken": 5}}});
    client.send(&wait.to_string()).await;
    let progress = client.heard().await;
    assert_eq!(
        progress["params"],
        json!({"progressToken": 5, "progress": 1, "message": "begins"})
    );
    assert_eq!(
        client.ask("ping", json!({})).await["id"],
        1,
        "another request is answered meanwhile"
    );
    client
        .send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"w"}}"#)
        .await;
    assert_eq!(client.heard().await["result"]["isError"], true);
    client.send(&wait.to_string()).await;
    client.heard().await;
    client.to.shutdown().await.unwrap();
    client.server.await.unwrap().unwrap();
}
