//! AgentX as an MCP server, in front of parts that are made up: what a client gets, right and wrong.
#![allow(clippy::unwrap_used, reason = "a test that cannot start fails")]

use std::sync::Arc;

use agentx_mcp::{ClientAnswer, ClientQuestion, ServedCall, ServedDocument, ServedParts, serve};
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
        let tools = [
            ("echo", Access::Read),
            ("wait", Access::Run),
            ("ask", Access::Run),
        ];
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
                "ask" => {
                    let first = asked(&call, "first").await;
                    let second = asked(&call, "second").await;
                    ToolOutcome::success(format!("{first} {second}"))
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

/// The answer to a question of a call, in words.
async fn asked(call: &ServedCall, key: &str) -> String {
    let question = ClientQuestion {
        key: key.to_owned(),
        message: format!("The {key}?"),
        schema: json!({"type": "object", "properties": {"n": {"type": "integer"}}}),
    };
    match call.questions.ask(question).await {
        Some(ClientAnswer::Accepted(content)) => format!("{key}={}", content["n"]),
        Some(ClientAnswer::Declined) => format!("{key} declined"),
        None => format!("{key} unasked"),
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

/// The metadata of a request in the version without a handshake.
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

/// The capabilities of a client that shows forms to a person.
fn askable() -> Value {
    let mut meta = without_handshake();
    meta["io.modelcontextprotocol/clientCapabilities"]["elicitation"] = json!({});
    meta
}

#[tokio::test]
async fn a_client_with_a_handshake_is_asked_before_the_answer() {
    let mut client = Client::new();
    let capable = json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}});
    client.ask("initialize", capable).await;
    let first = client.ask("tools/call", json!({"name": "ask"})).await;
    assert_eq!(first["method"], "elicitation/create");
    assert_eq!(first["params"]["message"], "The first?");
    assert_eq!(
        first["params"]["requestedSchema"]["properties"]["n"]["type"],
        "integer"
    );
    // A response to nothing is ignored.
    client
        .send(r#"{"jsonrpc":"2.0","id":"none","result":{"action":"accept"}}"#)
        .await;
    let result = json!({"action": "accept", "content": {"n": 7}});
    client
        .send(&json!({"jsonrpc": "2.0", "id": first["id"], "result": result}).to_string())
        .await;
    let second = client.heard().await;
    assert_eq!(second["params"]["message"], "The second?");
    let error = json!({"code": -32_601, "message": "no"});
    client
        .send(&json!({"jsonrpc": "2.0", "id": second["id"], "error": error}).to_string())
        .await;
    let called = client.heard().await;
    assert_eq!(called["id"], 1);
    assert_eq!(called["result"]["content"][0]["text"], "first=7 second unasked");
}

#[tokio::test]
async fn a_client_that_shows_no_forms_is_not_asked() {
    let mut client = Client::new();
    let incapable = json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {"url": {}}}});
    client.ask("initialize", incapable).await;
    for params in [
        json!({"name": "ask"}),
        json!({"name": "ask", "_meta": without_handshake()}),
    ] {
        let called = client.ask("tools/call", params).await;
        assert_eq!(
            called["result"]["content"][0]["text"],
            "first unasked second unasked"
        );
    }
}

#[tokio::test]
async fn a_call_without_a_handshake_is_suspended_by_its_questions_and_taken_up_by_their_answers() {
    let mut client = Client::new();
    let call = |more: Value| {
        let mut params = json!({"name": "ask", "arguments": {"text": "t"}, "_meta": askable()});
        for (key, value) in more.as_object().unwrap() {
            params[key] = value.clone();
        }
        params
    };
    // Answers to what was not asked yet count for nothing.
    let early = json!({"inputResponses": {"first": {"action": "accept", "content": {"n": 0}}}});
    let first = client.ask("tools/call", call(early)).await["result"].clone();
    assert_eq!(first["resultType"], "input_required");
    let asks = &first["inputRequests"]["first"];
    assert_eq!(
        (&asks["method"], &asks["params"]["message"]),
        (&json!("elicitation/create"), &json!("The first?"))
    );
    let state = first["requestState"].as_str().unwrap().to_owned();
    // Another call, and a state that was changed, are refused, and the state counts still.
    let other = json!({"name": "ask", "arguments": {"text": "u"}, "requestState": state, "_meta": askable()});
    let changed = call(json!({"requestState": format!("{state}-TAMPERED")}));
    for params in [other, changed, call(json!({"requestState": 7}))] {
        let refused = client.ask("tools/call", params).await;
        assert_eq!(refused["error"]["code"], -32_602, "{refused}");
    }
    // What is missing is asked again, under another state.
    let missing = call(json!({"requestState": state, "inputResponses": {"first": 12_345}}));
    let again = client.ask("tools/call", missing).await["result"].clone();
    assert_eq!(again["inputRequests"], first["inputRequests"]);
    assert_ne!(again["requestState"], first["requestState"]);
    let responses = json!({"first": {"action": "accept", "content": {"n": 7}}, "other": {}});
    let answers = call(json!({"requestState": again["requestState"], "inputResponses": responses}));
    let second = client.ask("tools/call", answers.clone()).await["result"].clone();
    assert_eq!(
        second["inputRequests"]["second"]["params"]["message"],
        "The second?"
    );
    // A state is used once.
    let refused = client.ask("tools/call", answers).await;
    assert_eq!(refused["error"]["code"], -32_602, "{refused}");
    let responses = json!({"second": {"action": "decline"}});
    let last = call(json!({"requestState": second["requestState"], "inputResponses": responses}));
    let done = client.ask("tools/call", last).await["result"].clone();
    assert_eq!(
        (&done["resultType"], &done["content"][0]["text"]),
        (&json!("complete"), &json!("first=7 second declined"))
    );
}

/// A client that asks for ever and answers nothing keeps a bounded number of calls.
#[tokio::test]
async fn a_client_with_too_many_suspended_calls_is_not_asked() {
    let mut client = Client::new();
    let params = json!({"name": "ask", "_meta": askable()});
    for _ in 0..16 {
        let asked = client.ask("tools/call", params.clone()).await;
        assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    }
    let called = client.ask("tools/call", params).await;
    assert_eq!(
        called["result"]["content"][0]["text"],
        "first unasked second unasked"
    );
}
