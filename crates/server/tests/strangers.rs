//! The limits of unauthenticated clients: how much they may send, how long they may take, and how many of
//! them there may be. Connections here are bare sockets, because the real clients behave.
#![allow(
    missing_docs,
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests"
)]

use std::net::SocketAddr;
use std::time::Duration;

use agentx_server::channel::ConnectionChannel;

use crate::support::*;
use agentx_server::ServerOptions;
use futures_util::SinkExt as _;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

/// A limit of time that is over soon.
const SOON: Duration = Duration::from_millis(300);

const HEALTH: &str = "GET /v1/health HTTP/1.1\r\nhost: localhost\r\n\r\n";

fn address(world: &World) -> SocketAddr {
    world.url.strip_prefix("http://").unwrap().parse().unwrap()
}

/// A connection from this address of this machine.
async fn dial(world: &World, from: &str) -> Bare {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(format!("{from}:0").parse().unwrap()).unwrap();
    let stream = within(socket.connect(address(world))).await.unwrap();
    Bare {
        stream,
        heard: Vec::new(),
    }
}

/// A connection of which only bytes are known.
struct Bare {
    stream: TcpStream,
    heard: Vec<u8>,
}

impl Bare {
    async fn new(world: &World) -> Self {
        dial(world, "127.0.0.1").await
    }

    async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        within(self.stream.write_all(bytes.as_ref())).await.unwrap();
    }

    /// Sends as much as is taken.
    async fn pour(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = within(self.stream.write_all(bytes.as_ref())).await;
    }

    /// The next answer: its head and its body.
    async fn answer(&mut self) -> (String, String) {
        let (head, begin) = loop {
            if let Some(end) = self.heard.windows(4).position(|four| four == b"\r\n\r\n") {
                break (
                    String::from_utf8_lossy(&self.heard[..end]).to_lowercase(),
                    end + 4,
                );
            }
            assert!(
                self.more().await,
                "it ends after {:?}",
                String::from_utf8_lossy(&self.heard)
            );
        };
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        let end = begin + length.map_or(0, |length| length.parse::<usize>().unwrap());
        while self.heard.len() < end {
            assert!(self.more().await, "it ends within {head}");
        }
        let body = String::from_utf8_lossy(&self.heard[begin..end]).into_owned();
        self.heard.drain(..end);
        (head, body)
    }

    async fn status(&mut self) -> u16 {
        let (head, _) = self.answer().await;
        head.split(' ').nth(1).unwrap().parse().unwrap()
    }

    /// Whether there was more.
    async fn more(&mut self) -> bool {
        matches!(within(self.stream.read_buf(&mut self.heard)).await, Ok(1..))
    }

    /// Waits for the end, and says what came before it.
    async fn rest(mut self) -> String {
        while self.more().await {}
        String::from_utf8_lossy(&self.heard).into_owned()
    }
}

async fn world(change: impl FnOnce(&mut ServerOptions)) -> World {
    let mut options = options();
    change(&mut options);
    World::with(options).await
}

/// A frame of a client, masked with zeros; `says` is how long it claims to be.
fn frame(first: u8, says: u64, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first, 0xff];
    bytes.extend(says.to_be_bytes());
    bytes.extend([0; 4]);
    bytes.extend(body);
    bytes
}

/// Returns the answer to an unauthenticated client that sends this.
async fn told(world: &World, bytes: &[u8]) -> Value {
    let mut client = Client::connect(&world.url).await;
    client.notice("hello").await;
    let tokio_tungstenite::MaybeTlsStream::Plain(stream) = client.socket.get_mut() else {
        panic!("it is plain");
    };
    let _ = within(stream.write_all(bytes)).await;
    client.bye().await["code"].clone()
}

#[tokio::test]
async fn somebody_unknown_sends_little_and_somebody_known_much() {
    let world = World::new().await;
    let spaces = vec![b' '; 1 << 20];
    let whole = frame(0x81, 5_000, &spaces[..5_000]);
    let unfinished = frame(0x81, 1 << 20, &spaces[..500_000]);
    let mut parts = frame(0x01, 500, &spaces[..500]);
    (0..20).for_each(|_| parts.extend(frame(0x00, 500, &spaces[..500])));
    for (what, bytes) in [
        ("a frame", whole),
        ("a begun frame", unfinished),
        ("parts", parts),
    ] {
        assert_eq!(told(&world, &bytes).await, 1009, "{what}");
    }
    for (what, kind, body) in [("frames", 0x81, "{}"), ("pings", 0x89, "")] {
        let one = [
            &[kind, 0x80 | u8::try_from(body.len()).unwrap(), 0, 0, 0, 0],
            body.as_bytes(),
        ]
        .concat();
        assert_eq!(told(&world, &one.repeat(40)).await, 1008, "{what}");
    }
    let mut desk = world.client("desk").await;
    let long = desk.ask("ping", json!({"x": "y".repeat(500_000)})).await;
    assert_eq!(long["event"], "accepted", "{long}");
    world.end().await;
}

#[tokio::test]
async fn a_visitor_sends_short_frames_for_as_long_as_they_like() {
    let world = world(|options| options.allow_visitors = true).await;
    let mut visitor = world.visitor("tab").await;
    for _ in 0..20 {
        visitor.accepted("ping", json!({"x": "y".repeat(10_000)})).await;
        within(visitor.socket.send(Message::Ping(vec![1; 100].into())))
            .await
            .unwrap();
    }
    for _ in 0..400 {
        within(visitor.socket.send(Message::Pong(vec![1; 100].into())))
            .await
            .unwrap();
    }
    visitor.accepted("ping", json!({})).await;
    visitor.raw("x".repeat(20_000)).await;
    let bye = visitor.bye().await;
    assert_eq!(bye["code"], 1009);
    let reason = bye["reason"].as_str().unwrap();
    assert!(reason.contains("a visitor has at most 16 KiB"), "{reason}");
    world.end().await;
}

#[tokio::test]
async fn bodies_of_somebody_unknown_are_not_waited_for() {
    let world = World::new().await;
    for (path, length, status) in [
        ("/v1/sessions", 10_000_000, 401),
        ("/v1/import", 10_000_000, 401),
        ("/v1/auth/token", 4_097, 413),
        ("/v1/auth/challenge", 5_000, 413),
        ("/v1/auth/challenge", 4_096, 200),
        ("/v1/nothing", 10_000_000, 404),
    ] {
        let mut bare = Bare::new(&world).await;
        bare.send(format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
        ))
        .await;
        if length > 65_536 {
            // Nothing of it has come, and nothing of it has to.
            assert_eq!(bare.status().await, status, "{path}");
        } else {
            bare.send(vec![b' '; length]).await;
            assert_eq!(bare.status().await, status, "{path}");
        }
    }
    let mut bare = Bare::new(&world).await;
    bare.pour(format!(
        "GET / HTTP/1.1\r\nhost: localhost\r\nx: {}",
        "y".repeat(20_000)
    ))
    .await;
    assert_eq!(bare.status().await, 431);
    world.end().await;
}

#[tokio::test]
async fn after_a_body_that_nobody_read_the_next_request_is_answered_or_the_client_is_told() {
    let world = World::new().await;
    let head = |more: &str| format!("POST /v1/sessions HTTP/1.1\r\nhost: localhost\r\n{more}\r\n\r\n");
    // A short body that comes late is read, and the connection continues.
    let mut bare = Bare::new(&world).await;
    for _ in 0..5 {
        bare.send(head("content-length: 4096")).await;
        tokio::task::yield_now().await;
        bare.send(" ".repeat(10)).await;
        tokio::task::yield_now().await;
        bare.send(" ".repeat(4_086)).await;
        let (answer, _) = bare.answer().await;
        assert!(
            answer.starts_with("http/1.1 401") && !answer.contains("connection: close"),
            "{answer}"
        );
        bare.send(HEALTH).await;
        assert_eq!(bare.status().await, 200);
    }
    // A long one is not, nor one whose length nobody knows, which the answer says; and the answer is not lost
    // under it.
    for (more, body) in [
        ("content-length: 5000", " ".repeat(5_000)),
        ("content-length: 65000", " ".repeat(65_000)),
        ("content-length: 5000000", " ".repeat(5_000_000)),
        (
            "transfer-encoding: chunked",
            "5\r\n     \r\n".to_owned() + "0\r\n\r\n",
        ),
        ("transfer-encoding: chunked", "5\r\n     \r\n".repeat(200_000)),
    ] {
        let mut bare = Bare::new(&world).await;
        bare.send(head(more)).await;
        bare.pour(body).await;
        let (answer, body) = bare.answer().await;
        assert!(
            answer.starts_with("http/1.1 401") && answer.contains("connection: close"),
            "{answer}"
        );
        assert!(body.contains("unauthenticated"), "{body}");
        assert_eq!(bare.rest().await, "");
    }
    // A client that asks first does not get a 100 for an unwanted body.
    let mut bare = Bare::new(&world).await;
    bare.send(head("content-length: 10\r\nexpect: 100-continue"))
        .await;
    let (answer, _) = bare.answer().await;
    assert!(
        answer.starts_with("http/1.1 401") && answer.contains("connection: close"),
        "{answer}"
    );
    world.end().await;
}

#[tokio::test]
async fn a_server_answers_to_its_own_names_alone() {
    let world = World::new().await;
    let mut bare = Bare::new(&world).await;
    for (path, more, status) in [
        ("/v1/health", "host: rebound.example", 421),
        ("/v1/health", "host: 127.0.0.1:1", 200),
        ("/v1/health", "host: localhost\r\nhost: localhost", 400),
        ("/v1/health", "x: y", 400),
        ("http://rebound.example/v1/health", "host: localhost", 421),
        ("/v1/nothing", "host: rebound.example", 421),
        ("/metrics", "host: rebound.example", 421),
    ] {
        bare.send(format!("GET {path} HTTP/1.1\r\n{more}\r\n\r\n")).await;
        assert_eq!(bare.status().await, status, "{path} {more}");
    }
    let mut request = socket_url(&world.url).into_client_request().unwrap();
    request
        .headers_mut()
        .insert("host", "rebound.example".parse().unwrap());
    let refused = within(tokio_tungstenite::connect_async(request))
        .await
        .unwrap_err();
    assert!(refused.to_string().contains("421"), "{refused}");
    world.end().await;
}

#[tokio::test]
async fn one_address_does_not_take_the_places_of_others() {
    let world = world(|options| {
        options.limits.connections = 10;
        options.limits.connections_per_address = 3;
    })
    .await;
    let mut idle = Vec::new();
    for _ in 0..3 {
        let mut bare = dial(&world, "127.0.0.2").await;
        bare.send(HEALTH).await;
        assert_eq!(bare.status().await, 200);
        idle.push(bare);
    }
    let (head, body) = dial(&world, "127.0.0.2").await.answer().await;
    assert!(
        head.starts_with("http/1.1 429") && head.contains("retry-after: 1"),
        "{head}"
    );
    let problem: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(
        (&problem["code"], &problem["status"]),
        (&json!("too_many"), &json!(429))
    );
    // Others come in; and who says who they are counts no more for the address.
    let mut known = Vec::new();
    for name in ["one", "two", "three", "four"] {
        known.push(world.client(name).await);
    }
    // Where one goes there is room for one.
    drop(idle.pop());
    within(async {
        loop {
            let mut bare = dial(&world, "127.0.0.2").await;
            bare.send(HEALTH).await;
            if bare.status().await == 200 {
                break;
            }
        }
    })
    .await;
    world.end().await;
}

#[tokio::test]
async fn everybody_beyond_the_bound_of_an_address_reads_why() {
    let world = world(|options| options.limits.connections_per_address = 1).await;
    let mut held = dial(&world, "127.0.0.2").await;
    held.send(HEALTH).await;
    assert_eq!(held.status().await, 200);
    // Refused clients that say nothing, more of them than the server waits for at the same time.
    let mut silent = Vec::new();
    for _ in 0..260 {
        silent.push(dial(&world, "127.0.0.2").await);
    }
    let mut asking = Vec::new();
    for _ in 0..20 {
        let mut bare = dial(&world, "127.0.0.2").await;
        bare.send(HEALTH).await;
        asking.push(bare);
    }
    for mut bare in asking.into_iter().chain(silent) {
        let (head, body) = bare.answer().await;
        assert!(
            head.starts_with("http/1.1 429") && body.contains("too_many"),
            "{head} {body}"
        );
        assert_eq!(bare.rest().await, "");
    }
    world.end().await;
}

/// A token of the operator, for connections without TLS.
fn token_of(world: &World) -> String {
    let auth = world.state.auth();
    let now = world.state.now_ms();
    let challenge = auth.open_challenge("127.0.0.1", now).unwrap();
    auth.token(
        &world.operator.public_key().to_string(),
        (challenge.nonce.clone(), challenge.expires_at_ms),
        &agentx_identity::sign_challenge(&world.operator, &challenge).to_string(),
        (&ConnectionChannel::Plain, "127.0.0.1", now),
    )
    .unwrap_or_else(|problem| panic!("{problem:?}"))
    .token
}

/// A silent program on the same machine, or behind the same `ssh -L`, locks out nobody who is known.
#[tokio::test]
async fn who_has_a_token_comes_in_although_their_address_has_no_room() {
    let world = world(|options| options.limits.connections_per_address = 2).await;
    let token = token_of(&world);
    let _silent = (Bare::new(&world).await, Bare::new(&world).await);
    let with = |header: &str| format!("GET /v1/me HTTP/1.1\r\nhost: localhost\r\n{header}\r\n");
    let mut known = Vec::new();
    for _ in 0..3 {
        let mut bare = Bare::new(&world).await;
        bare.send(with(&format!("authorization: Bearer {token}\r\n")))
            .await;
        assert_eq!(bare.status().await, 200);
        known.push(bare);
    }
    for header in ["", "authorization: Bearer made-up\r\n"] {
        let mut bare = Bare::new(&world).await;
        bare.send(with(header)).await;
        let (head, body) = bare.answer().await;
        assert!(
            head.starts_with("http/1.1 429") && body.contains("too_many"),
            "{head} {body}"
        );
        assert_eq!(bare.rest().await, "");
    }
    world.end().await;
}

#[tokio::test]
async fn a_token_over_http_makes_a_connection_known() {
    let world = world(|options| options.limits.connections_per_address = 2).await;
    let token = token_of(&world);
    let mut all = Vec::new();
    for _ in 0..5 {
        let mut bare = Bare::new(&world).await;
        bare.send(format!(
            "GET /v1/me HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\r\n"
        ))
        .await;
        assert_eq!(bare.status().await, 200);
        all.push(bare);
    }
    world.end().await;
}

/// Sends a byte now and then until the other side has enough.
async fn drips(world: &World, begin: &str) -> String {
    let bare = Bare::new(world).await;
    let (mut from, mut to) = bare.stream.into_split();
    let begin = begin.to_owned();
    let dripping = tokio::spawn(async move {
        let mut ticks = tokio::time::interval(Duration::from_millis(20));
        let mut sent = to.write_all(begin.as_bytes()).await;
        while sent.is_ok() {
            ticks.tick().await;
            sent = to.write_all(b"x").await;
        }
    });
    let mut said = Vec::new();
    let _ = within(from.read_to_end(&mut said)).await;
    dripping.abort();
    String::from_utf8_lossy(&said).into_owned()
}

#[tokio::test]
async fn who_says_nothing_or_says_it_slowly_is_cut_off() {
    let world = world(|options| {
        options.limits.head = SOON;
        options.limits.keep = 2 * SOON;
        options.limits.body = SOON;
        options.limits.authenticate = SOON;
    })
    .await;
    assert_eq!(Bare::new(&world).await.rest().await, "", "nothing");
    assert_eq!(
        drips(&world, "GET /v1/health HTTP/1.1\r\nhost: local").await,
        "",
        "a dripping head"
    );
    let body = "POST /v1/auth/token HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 4000\r\n\r\n{";
    let slow = drips(&world, body).await;
    assert!(
        slow.starts_with("HTTP/1.1 408") && slow.contains("slow_body"),
        "{slow}"
    );
    // After an answer: nothing more, and a head that drips.
    let mut kept = Bare::new(&world).await;
    kept.send(HEALTH).await;
    assert_eq!(kept.status().await, 200);
    assert_eq!(kept.rest().await, "");
    let dripped = drips(&world, &format!("{HEALTH}GET /v1/health HTTP/1.1\r\nhost: local")).await;
    assert_eq!(dripped.matches("HTTP/1.1").count(), 1, "{dripped}");
    let mut silent = Client::connect(&world.url).await;
    assert_eq!(silent.bye().await["code"], 1008);
    world.end().await;
}

#[tokio::test]
async fn half_closed_connections_and_resets_end_and_pipelined_requests_are_answered_in_order() {
    let world = World::new().await;
    let mut pipelined = Bare::new(&world).await;
    let not_found = HEALTH.replace("health", "nothing");
    pipelined.send([HEALTH, &not_found].concat().repeat(50)).await;
    for _ in 0..50 {
        assert_eq!((pipelined.status().await, pipelined.status().await), (200, 404));
    }
    let mut half = Bare::new(&world).await;
    half.send("POST /v1/auth/token HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10\r\n\r\n{")
        .await;
    half.stream.shutdown().await.unwrap();
    assert!(!half.rest().await.starts_with("HTTP/1.1 2"));
    let reset = Bare::new(&world).await;
    reset.stream.set_zero_linger().unwrap();
    drop(reset);
    drop(pipelined);
    within(async {
        while world.state.counts().connections.get() > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    world.end().await;
}
