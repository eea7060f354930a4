//! Servers at an address: both generations of the protocol, and the outcome of a call if the network or the
//! server fails. The answers are made up after the specification.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot start fails")]

use std::sync::{Arc, Mutex};

use agentx_config::{McpServerSettings, McpTarget, McpValue, Secret};
use agentx_mcp::{KnownServers, McpEnvironment, McpFailure, McpLaunchContext, McpLimits};
use agentx_runtime::ToolOutcome;
use agentx_testing::fixture;
use agentx_tools::ProgramEnvironment;
use agentx_types::{Access, ContentPart, ToolStatus};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// The behaviour of the server.
#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    Legacy,
    /// Answers what it does not know with an empty result, an empty body, an error without an id or a page.
    Empty,
    NoMessage,
    NoId,
    Page,
    Modern,
    Unauthorized,
    Elsewhere,
    CutsCalls,
    Huge,
    Garbage,
    WrongId,
    Twice,
    Endless,
    Silent,
}

impl How {
    /// Returns whether the server speaks only the older generation.
    fn is_older(self) -> bool {
        matches!(
            self,
            Self::Legacy | Self::Empty | Self::NoMessage | Self::NoId | Self::Page
        )
    }
}

/// A server that writes down the heads of its requests.
struct TestServer {
    heads: Arc<Mutex<Vec<String>>>,
    folder: tempfile::TempDir,
    address: String,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl TestServer {
    async fn new(how: How) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}/mcp", listener.local_addr().unwrap());
        let heads = Arc::new(Mutex::new(Vec::new()));
        let kept = heads.clone();
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                let heads = kept.clone();
                connections.spawn(async move { while serve(&mut stream, how, &heads).await {} });
            }
        });
        Self {
            heads,
            folder: tempfile::tempdir().unwrap(),
            address,
            task,
        }
    }

    fn environment(&self) -> McpEnvironment {
        self.environment_with(McpLimits::default().call)
    }

    fn environment_with(&self, call: std::time::Duration) -> McpEnvironment {
        let mut server = McpServerSettings::address("web", &self.address);
        if let McpTarget::Address { headers, .. } = &mut server.target {
            headers.push(McpValue {
                name: "Authorization".into(),
                from: vec!["TOKEN".into()],
                value: Some(Secret::new("Bearer made-up-token")),
            });
        }
        server.hidden.push(Secret::new("made-up-token"));
        let surroundings = McpLaunchContext {
            known: KnownServers::in_directory(self.folder.path()),
            environment: ProgramEnvironment::default(),
            limits: McpLimits {
                call,
                ..McpLimits::default()
            },
        };
        McpEnvironment::new(server, surroundings, [])
    }
}

/// Answers one request. Returns whether another may follow.
async fn serve(stream: &mut TcpStream, how: How, heads: &Mutex<Vec<String>>) -> bool {
    let Some((head, body)) = request(stream).await else {
        return false;
    };
    heads.lock().unwrap().push(head.clone());
    let message: Value = serde_json::from_str(&body).unwrap_or_default();
    let (id, method) = (
        message["id"].clone(),
        message["method"].as_str().unwrap_or_default(),
    );
    let region = json!({"type": "string", "x-mcp-header": "Region"});
    let schema = json!({"type": "object", "properties": {"region": region}});
    let tool = json!({"name": "echo", "description": "Says it again.", "inputSchema": schema});
    let modern = |mut result: Value| {
        if !how.is_older() {
            result["resultType"] = "complete".into();
        }
        json!({"jsonrpc": "2.0", "id": id, "result": result})
    };
    let info = json!({"name": "made-up", "version": "1"});
    let answer = match method {
        _ if head.starts_with("GET") => return reply(stream, "405 Method Not Allowed", "").await,
        _ if how == How::Unauthorized => {
            let status = "401 Unauthorized\r\nwww-authenticate: Bearer realm=\"made-up-token\"";
            return reply(stream, status, "").await;
        }
        _ if how == How::Elsewhere => {
            return reply(stream, "307 Temporary Redirect\r\nlocation: /other", "").await;
        }
        "server/discover" if how == How::Legacy => {
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "Method not found"}})
        }
        "server/discover" if how == How::Empty => json!({"jsonrpc": "2.0", "id": id, "result": {}}),
        "server/discover" if how == How::NoMessage => json!({}),
        "server/discover" if how == How::NoId => {
            json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": "Not initialized"}})
        }
        "server/discover" if how == How::Page => {
            return reply(stream, "200 OK\r\ncontent-type: text/html", "<p>made up").await;
        }
        "server/discover" => modern(json!({
            "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "serverInfo": info, "ttlMs": 0, "cacheScope": "private"
        })),
        "initialize" => modern(
            json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}),
        ),
        "tools/list" => modern(json!({"tools": [tool], "ttlMs": 0, "cacheScope": "private"})),
        "tools/call" if how == How::CutsCalls => return false,
        "tools/call" if how == How::Garbage => {
            return reply(stream, "200 OK\r\ncontent-type: application/json", "{\"half").await;
        }
        "tools/call" if matches!(how, How::Endless | How::Silent) => return endless(stream, how).await,
        "tools/call" if matches!(how, How::WrongId | How::Twice) => {
            let body = forged(how, &id);
            return reply(stream, "200 OK\r\ncontent-type: text/event-stream", &body).await;
        }
        "tools/call" if how == How::Huge => {
            modern(json!({"content": [{"type": "text", "text": "x".repeat(9 << 20)}]}))
        }
        "tools/call" => modern(json!({"content": [{"type": "text", "text": "echo of made-up-token"}]})),
        _ => return reply(stream, "202 Accepted", "").await,
    };
    reply(
        stream,
        "200 OK\r\ncontent-type: application/json",
        &answer.to_string(),
    )
    .await
}

/// A stream with two answers to one call, or with an answer to a call that nobody made.
fn forged(how: How, id: &Value) -> String {
    let answer = |id: &Value, said: &str| {
        let text = json!([{"type": "text", "text": said}]);
        let result = json!({"resultType": "complete", "content": text});
        format!(
            "data: {}\n\n",
            json!({"jsonrpc": "2.0", "id": id, "result": result})
        )
    };
    match how {
        How::Twice => answer(id, "first") + &answer(id, "second"),
        _ => answer(&json!(4711), "forged"),
    }
}

/// A stream without an end: of log messages, or of nothing.
async fn endless(stream: &mut TcpStream, how: How) -> bool {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let params = json!({"level": "info", "data": "flood"});
    let message = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": params});
    let event = match how {
        How::Endless => format!("data: {message}\n\n").repeat(100),
        _ => String::new(),
    };
    let mut going = stream.write_all(head.as_bytes()).await.is_ok();
    while going {
        going = stream.write_all(event.as_bytes()).await.is_ok();
        if how == How::Silent {
            // Until the client goes away.
            going = stream.read(&mut [0; 64]).await.is_ok_and(|read| read > 0);
        }
    }
    false
}

async fn request(stream: &mut TcpStream) -> Option<(String, String)> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).to_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok());
    let length: usize = length.unwrap_or(0);
    while bytes.len() < head_end + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let first = String::from_utf8_lossy(&bytes[..4]).into_owned();
    let body = String::from_utf8_lossy(&bytes[head_end..]).into_owned();
    Some((format!("{first}{}", &head[4..]), body))
}

async fn reply(stream: &mut TcpStream, status: &str, body: &str) -> bool {
    let text = format!(
        "HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(text.as_bytes()).await.is_ok()
}

async fn call(environment: &McpEnvironment) -> ToolOutcome {
    let tool = environment.tools().into_iter().next().unwrap();
    tool.call(json!({"region": "a\nb"}), fixture::tool_context("/"))
        .await
}

fn text(outcome: &ToolOutcome) -> &str {
    outcome
        .content
        .iter()
        .find_map(ContentPart::as_text)
        .unwrap_or_default()
}

#[tokio::test]
async fn both_generations_of_the_protocol_are_spoken() {
    for (how, protocol) in [
        (How::Legacy, "2025-06-18"),
        (How::Empty, "2025-06-18"),
        (How::NoMessage, "2025-06-18"),
        (How::NoId, "2025-06-18"),
        (How::Page, "2025-06-18"),
        (How::Modern, "2026-07-28"),
    ] {
        let server = TestServer::new(how).await;
        let environment = server.environment();
        let known = environment.connect().await.unwrap();
        assert_eq!(known.identity.unwrap().protocol, protocol);
        let spec = &environment.specs()[0];
        assert_eq!(spec.access, Access::Network);
        assert_eq!(spec.reach.as_ref().unwrap().hosts, ["127.0.0.1"]);
        let outcome = call(&environment).await;
        assert_eq!(
            (outcome.status, text(&outcome)),
            (ToolStatus::Success, "echo of [hidden]")
        );
        environment.close().await;
        let heads = server.heads.lock().unwrap();
        let posts = heads.iter().filter(|head| head.starts_with("POST"));
        assert!(posts.clone().count() > 2);
        for head in posts {
            assert!(head.contains("authorization: bearer made-up-token"), "{head}");
        }
    }
}

/// The tool is known from an earlier start, and the client that calls it has to know what its server wants
/// all the same.
#[tokio::test]
async fn a_call_repeats_the_arguments_that_its_server_wants_in_headers() {
    for (how, is_repeated) in [(How::Modern, true), (How::Legacy, false)] {
        let server = TestServer::new(how).await;
        let first = server.environment();
        first.connect().await.unwrap();
        first.close().await;
        let environment = server.environment();
        assert_eq!(call(&environment).await.status, ToolStatus::Success);
        environment.close().await;
        let heads = server.heads.lock().unwrap();
        // The heads are written in small letters.
        let repeats = heads
            .iter()
            .filter(|head| head.contains("mcp-param-region: =?base64?yqpi?="));
        assert_eq!(repeats.count(), usize::from(is_repeated), "{heads:?}");
    }
}

#[tokio::test]
async fn what_refuses_or_leads_elsewhere_says_so_and_gets_no_header_there() {
    let server = TestServer::new(How::Unauthorized).await;
    let failure = server.environment().connect().await.unwrap_err();
    assert_eq!(failure, McpFailure::Unauthorized);
    let server = TestServer::new(How::Elsewhere).await;
    let failure = server.environment().connect().await.unwrap_err().to_string();
    assert!(!failure.contains("made-up-token"), "{failure}");
    let heads = server.heads.lock().unwrap();
    assert!(heads.iter().all(|head| !head.contains("/other")), "{heads:?}");
}

#[tokio::test]
async fn a_call_that_is_cut_off_is_unknown_and_one_that_never_left_is_not() {
    for (how, status, why) in [
        (How::CutsCalls, ToolStatus::Unknown, "ended"),
        (How::Huge, ToolStatus::Unknown, "ended"),
        (How::Garbage, ToolStatus::Unknown, "ended"),
        (How::WrongId, ToolStatus::Unknown, ""),
        (How::Twice, ToolStatus::Success, "first"),
        (How::Endless, ToolStatus::Unknown, "sent more than 50000 messages"),
        (How::Silent, ToolStatus::Unknown, "did not answer within 1 s"),
    ] {
        let server = TestServer::new(how).await;
        let limit = std::time::Duration::from_secs(if matches!(how, How::WrongId | How::Silent) {
            1
        } else {
            60
        });
        let environment = server.environment_with(limit);
        environment.connect().await.unwrap();
        let outcome = call(&environment).await;
        assert_eq!(outcome.status, status, "{how:?}: {outcome:?}");
        assert!(text(&outcome).contains(why), "{how:?}: {outcome:?}");
        let heads = server.heads.lock().unwrap();
        let calls = heads
            .iter()
            .filter(|head| head.contains("mcp-method: tools/call"));
        assert_eq!(calls.count(), 1, "{how:?}: {heads:?}");
    }
    let server = TestServer::new(How::Modern).await;
    let environment = server.environment();
    environment.connect().await.unwrap();
    environment.close().await;
    server.task.abort();
    while TcpStream::connect(server.address["http://".len()..].trim_end_matches("/mcp"))
        .await
        .is_ok()
    {
        tokio::task::yield_now().await;
    }
    let outcome = call(&environment).await;
    assert_eq!(outcome.status, ToolStatus::Failed, "{outcome:?}");
    assert!(text(&outcome).contains("Nothing was done"), "{outcome:?}");
}
