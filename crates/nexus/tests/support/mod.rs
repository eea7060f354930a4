//! Shared helpers: a server with NEXUS's routes, people with keys, and clients that know the protocol alone.
#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "each test file uses a part of it"
)]

use std::time::Duration;

use agentx_config::{CommandLineSetting, ConfigPaths, LoadRequest, Settings, load};
use agentx_identity::{AuthChallenge, Keyring, SecretKey, Trusted, TrustedAs, owner_of, sign_challenge};
use agentx_node_runtime::NodeRuntime;
use agentx_server::{ServerLimits, ServerOptions, bind};
use agentx_types::{ApprovalMode, OwnerId};
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

/// The time limit of any wait.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A server with data of its own.
pub struct NexusWorld {
    pub data: tempfile::TempDir,
    pub url: String,
    pub operator: SecretKey,
    stop: Option<oneshot::Sender<()>>,
    running: JoinHandle<()>,
}

/// A member with a key.
pub struct NexusPerson {
    pub key: SecretKey,
    pub id: OwnerId,
    pub token: String,
}

pub fn nexus_options() -> ServerOptions {
    ServerOptions {
        listen: ([127, 0, 0, 1], 0).into(),
        limits: ServerLimits {
            rate: 10_000,
            burst: 10_000,
            ..ServerLimits::default()
        },
        ..ServerOptions::default()
    }
}

fn settings(data: &std::path::Path) -> Settings {
    let place = data.to_string_lossy().into_owned();
    let lookup = move |name: &str| matches!(name, "HOME" | "AGENTX_DATA").then(|| place.clone());
    let request = LoadRequest {
        places: ConfigPaths::find(data, &lookup).unwrap(),
        lookup: &lookup,
        flags: Vec::<CommandLineSetting>::new(),
    };
    Settings {
        members_dir: data.join("members"),
        ..load(request).unwrap().settings
    }
}

impl NexusWorld {
    pub async fn new() -> Self {
        Self::with(nexus_options(), |_| {}).await
    }

    /// The same with visitors.
    pub async fn open_to_visitors() -> Self {
        let options = ServerOptions {
            allow_visitors: true,
            ..nexus_options()
        };
        Self::with(options, |_| {}).await
    }

    pub async fn with(options: ServerOptions, change: impl FnOnce(&mut Settings)) -> Self {
        let data = tempfile::tempdir().unwrap();
        let mut settings = settings(data.path());
        settings.approval = ApprovalMode::Auto;
        change(&mut settings);
        let keyring = Keyring::open(data.path()).unwrap();
        let operator = keyring.identity_or_new().unwrap();
        let runtime = std::sync::Arc::new(NodeRuntime::from_settings(&settings, "nexus-test").unwrap());
        let server = bind(runtime, &settings, keyring, options).await.unwrap();
        let routes = agentx_nexus::routes(&server);
        let server = server.with_routes(routes);
        let (stop, stopped) = oneshot::channel();
        let url = server.url().to_owned();
        let running = tokio::spawn(async move {
            let told = async {
                let _ = stopped.await;
            };
            server.run(told).await.unwrap();
        });
        Self {
            data,
            url,
            operator,
            stop: Some(stop),
            running,
        }
    }

    /// A member with a key and a token.
    pub async fn member(&self, name: &str) -> NexusPerson {
        let key = SecretKey::generate().unwrap();
        let trusted = Trusted {
            public_key: *key.public_key(),
            name: Some(name.to_owned()),
            role: TrustedAs::Member,
        };
        Keyring::at(self.data.path()).trust(trusted).unwrap();
        let token = self.token(&key).await;
        NexusPerson {
            id: owner_of(key.public_key()),
            key,
            token,
        }
    }

    /// A token by the existing challenge.
    pub async fn token(&self, key: &SecretKey) -> String {
        let challenge = self.post("/v1/auth/challenge", None, &json!({})).await.json();
        let answer = proof(key, &challenge);
        let token = self.post("/v1/auth/token", None, &answer).await.json();
        token["token"].as_str().unwrap().to_owned()
    }

    pub async fn get(&self, path: &str, token: Option<&str>) -> NexusReply {
        self.ask("GET", path, token, None, &[]).await
    }

    pub async fn post(&self, path: &str, token: Option<&str>, body: &Value) -> NexusReply {
        self.ask("POST", path, token, Some(body.to_string()), &[]).await
    }

    /// Asks, and reads the whole answer.
    pub async fn ask(
        &self,
        method: &str,
        path: &str,
        token: Option<&str>,
        body: Option<String>,
        headers: &[&str],
    ) -> NexusReply {
        let mut stream = self.send(method, path, token, body, headers).await;
        let mut answer = Vec::new();
        within(stream.read_to_end(&mut answer)).await.unwrap();
        NexusReply::read(&answer)
    }

    /// Asks, and returns the connection.
    pub async fn send(
        &self,
        method: &str,
        path: &str,
        token: Option<&str>,
        body: Option<String>,
        headers: &[&str],
    ) -> TcpStream {
        let host = self.url.strip_prefix("http://").unwrap();
        let mut request = format!("{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n");
        if let Some(token) = token {
            request += &format!("authorization: Bearer {token}\r\n");
        }
        for header in headers {
            request += &format!("{header}\r\n");
        }
        let body = body.unwrap_or_default();
        request += &format!(
            "content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut stream = TcpStream::connect(host).await.unwrap();
        within(stream.write_all(request.as_bytes())).await.unwrap();
        stream
    }

    /// Opens a WebSocket at a path.
    pub async fn socket(&self, path: &str, token: Option<&str>) -> NexusClient {
        let opened = self.try_socket(path, token, None).await;
        opened.unwrap_or_else(|status| panic!("the socket was refused: {status}"))
    }

    /// Opens a WebSocket; returns the status if it is refused.
    pub async fn try_socket(
        &self,
        path: &str,
        token: Option<&str>,
        protocols: Option<&str>,
    ) -> Result<NexusClient, u16> {
        let url = format!("{}{path}", self.url.replace("http://", "ws://"));
        let mut request = url.into_client_request().unwrap();
        if let Some(token) = token {
            let value = format!("Bearer {token}").parse().unwrap();
            request.headers_mut().insert("authorization", value);
        }
        if let Some(protocols) = protocols {
            let value = protocols.parse().unwrap();
            request.headers_mut().insert("sec-websocket-protocol", value);
        }
        match within(tokio_tungstenite::connect_async(request)).await {
            Ok((socket, _)) => Ok(NexusClient { socket }),
            Err(tokio_tungstenite::tungstenite::Error::Http(answer)) => Err(answer.status().as_u16()),
            Err(error) => panic!("{error}"),
        }
    }

    /// Ends the server as a signal would.
    pub async fn end(mut self) {
        let _ = self.stop.take().unwrap().send(());
        within(self.running).await.unwrap();
    }
}

/// The answer to a challenge.
pub fn proof(key: &SecretKey, challenge: &Value) -> Value {
    let signed = AuthChallenge {
        nonce: challenge["nonce"].as_str().unwrap().to_owned(),
        origin: challenge["origin"].as_str().unwrap().to_owned(),
        expires_at_ms: challenge["expires_at_ms"].as_u64().unwrap(),
    };
    json!({
        "public_key": key.public_key().to_string(),
        "signature": sign_challenge(key, &signed).to_string(),
        "nonce": challenge["nonce"],
        "expires_at_ms": challenge["expires_at_ms"],
    })
}

/// Waits, but not for ever.
pub async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, work).await.expect("in time")
}

/// An answer over HTTP.
#[derive(Debug)]
pub struct NexusReply {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl NexusReply {
    fn read(answer: &[u8]) -> Self {
        let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap();
        let head = String::from_utf8(answer[..end].to_vec()).unwrap();
        let body = &answer[end + 4..];
        let is_chunked = head.to_lowercase().contains("transfer-encoding: chunked");
        let body = if is_chunked { joined(body) } else { body.to_vec() };
        Self {
            status: head[9..12].parse().unwrap(),
            head,
            body: String::from_utf8(body).unwrap(),
        }
    }

    pub fn json(&self) -> Value {
        assert_eq!(self.status, 200, "{self:?}");
        serde_json::from_str(&self.body).unwrap()
    }

    /// The refusal, in NEXUS's form.
    pub fn detail(&self) -> String {
        let body: Value = serde_json::from_str(&self.body).unwrap();
        body["detail"].as_str().unwrap().to_owned()
    }

    /// The frames of a stream of server-sent events.
    pub fn frames(&self) -> Vec<Value> {
        assert_eq!(self.status, 200, "{self:?}");
        frames_in(&self.body)
    }
}

/// The frames in the text of a stream.
pub fn frames_in(text: &str) -> Vec<Value> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("data: "));
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The bytes of a body in chunks.
fn joined(mut body: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    while let Some(end) = body.windows(2).position(|bytes| bytes == b"\r\n") {
        let length = usize::from_str_radix(std::str::from_utf8(&body[..end]).unwrap(), 16).unwrap();
        if length == 0 {
            break;
        }
        all.extend_from_slice(&body[end + 2..end + 2 + length]);
        body = &body[end + 4 + length..];
    }
    all
}

/// A client of the WebSocket.
pub struct NexusClient {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
}

impl NexusClient {
    pub async fn send(&mut self, frame: &Value) {
        self.raw(&frame.to_string()).await;
    }

    pub async fn raw(&mut self, text: &str) {
        within(self.socket.send(Message::text(text))).await.unwrap();
    }

    /// A message without a time, which the scripted model would repeat.
    pub async fn say(&mut self, words: &str) {
        let payload = json!({"content": words, "client_timestamp_utc": "", "client_timezone_offset": 0});
        self.send(&json!({"type": "user_message", "payload": payload}))
            .await;
    }

    pub async fn command(&mut self, line: &str) -> Value {
        let payload = json!({"command": line, "auth": {"publicKey": "0x1", "signature": "0x2"}});
        self.send(&json!({"type": "system_command", "payload": payload}))
            .await;
        let frames = self.until("command_result").await;
        frames.last().unwrap()["payload"].clone()
    }

    /// The next frame; `None` at the end.
    pub async fn next(&mut self) -> Option<Value> {
        loop {
            match within(self.socket.next()).await {
                Some(Ok(Message::Text(text))) => {
                    let frame: Value = serde_json::from_str(text.as_str()).unwrap();
                    assert!(
                        frame["event"].is_string()
                            && frame["run_id"].is_string()
                            && frame["payload"].is_object(),
                        "{frame}"
                    );
                    return Some(frame);
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => return None,
                Some(Ok(_)) => {}
            }
        }
    }

    /// All frames up to one with this event.
    pub async fn until(&mut self, event: &str) -> Vec<Value> {
        let mut all: Vec<Value> = Vec::new();
        let wait = async {
            while all.last().is_none_or(|last| last["event"] != event) {
                all.push(self.next().await.expect("it goes on"));
            }
        };
        if tokio::time::timeout(PATIENCE, wait).await.is_err() {
            panic!("no {event}: {all:?}");
        }
        all
    }

    /// The code with which the server closes the connection, and the words of its last error.
    pub async fn closed(&mut self) -> (u16, String) {
        let mut said = String::new();
        loop {
            match within(self.socket.next()).await {
                Some(Ok(Message::Text(text))) => {
                    let frame: Value = serde_json::from_str(text.as_str()).unwrap();
                    said = frame["payload"]["message"]
                        .as_str()
                        .unwrap_or_default()
                        .to_owned();
                }
                Some(Ok(Message::Close(Some(close)))) => return (close.code.into(), said),
                Some(Ok(_)) => {}
                other => panic!("no reason: {other:?} after {said}"),
            }
        }
    }
}

/// The events of frames.
pub fn events(frames: &[Value]) -> Vec<&str> {
    frames
        .iter()
        .map(|frame| frame["event"].as_str().unwrap())
        .collect()
}

/// The words of an answer.
pub fn words(frames: &[Value]) -> String {
    let chunks = frames.iter().filter(|frame| frame["event"] == "text_chunk");
    chunks
        .map(|frame| frame["payload"]["chunk"].as_str().unwrap())
        .collect()
}
