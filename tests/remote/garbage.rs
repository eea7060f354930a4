//! The server refuses nonsense with a reason and within a bound: garbage, a gigabyte, a later version, the
//! wrong order, half a frame and silence. Somebody who follows a session meanwhile notices nothing.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agentx_tests::remote::raw::{BINARY, CLOSE, Ended, PING, Raw, TEXT, frame, header};
use agentx_tests::remote::{Lost, Seen, Serving, Socket, Web, Who, Worker, mirror};
use agentx_tests::{BOUND, Random, World};
use serde_json::{Value, json};

/// Within this a server has said what it thinks of something that is there whole.
const SOON: Duration = Duration::from_secs(20);
/// More is never taken of something that is too big.
const TOO_MUCH: usize = 64 << 20;
/// The number of bytes of a gigabyte.
const GIGABYTE: u64 = 1 << 30;
/// The most memory that the server has had, whatever it was sent.
const MEMORY_KIB: u64 = 512 << 10;
/// Nobody else waits longer than this for the next event, with all that continues beside it.
const NOTICED: Duration = Duration::from_secs(5);

/// A server with a session that streams, and somebody who follows it.
struct Stage {
    _worker: Worker,
    world: World,
    server: Serving,
    who: Who,
    web: Web,
    session: String,
    bystander: Arc<Seen>,
    gaps: tokio::task::JoinHandle<Duration>,
}

impl Stage {
    async fn new() -> Self {
        Self::with(&[]).await
    }

    /// The same, by a server that is started with more than the address.
    async fn with(args: &[&str]) -> Self {
        let worker = Worker::start();
        let world = World::new(&worker.url());
        world.config("approval: auto\n");
        let who = Who::operator(&world, 1);
        let server = Serving::start(&world, args);
        let web = Web::new(&server.url(), &who, "driver").signed_in().await;
        let session = web.new_session().await;
        let bystander = Arc::new(Seen::new("the bystander"));
        let address = server.address();
        mirror::socket(
            address,
            &who,
            "bystander",
            &session,
            "environment",
            bystander.clone(),
        );
        let other = Socket::enter(address, &who, "watch").await;
        let gaps = tokio::spawn(longest_gap(other, session.clone()));
        Self {
            _worker: worker,
            world,
            server,
            who,
            web,
            session,
            bystander,
            gaps,
        }
    }

    fn address(&self) -> SocketAddr {
        self.server.address()
    }

    async fn enter(&self) -> Raw {
        Raw::enter(self.address(), &self.who).await
    }

    /// Begins to stream, for longer than the test takes.
    async fn streams(&self) {
        let text = "work stream turns=1 words=100000 pace=10";
        self.web.say(&self.session, text, "stream").await.done();
        self.bystander.comes_to(20).await;
    }

    /// The bystander has all, in order, and never had to wait.
    async fn ends(self) {
        let path = format!("/v1/sessions/{}/interrupt", self.session);
        self.web.post(&path, &json!({})).await;
        let gap = tokio::time::timeout(BOUND, self.gaps).await.unwrap().unwrap();
        let log = self.web.export(&self.session).await;
        self.bystander.comes_to(log.len()).await;
        self.bystander.is(&log);
        eprintln!("{} events; the longest wait for one was {gap:?}", log.len());
        assert!(gap < NOTICED, "somebody else waited for {gap:?}");
        let peak = self.server.running().peak_kib();
        assert!(peak < MEMORY_KIB, "{peak} KiB");
        self.server.stop().exits(0);
        self.world.check(&self.session);
    }
}

/// The longest time between two events of a run, to its end.
async fn longest_gap(mut socket: Socket, session: String) -> Duration {
    socket.subscribe(&session, 0, "runtime").await;
    socket.event("run_started").await;
    let (mut longest, mut last) = (Duration::ZERO, Instant::now());
    loop {
        let frame = socket.try_next().await.unwrap();
        if !frame["seq"].is_u64() {
            continue;
        }
        longest = longest.max(last.elapsed());
        last = Instant::now();
        if frame["event"] == "run_finished" {
            return longest;
        }
    }
}

/// Sends a text that makes no sense; the connection continues.
async fn is_refused(raw: &mut Raw, text: &str, codes: &[&str]) {
    let short: String = text.chars().take(200).collect();
    raw.send(&frame(TEXT, text.as_bytes())).await.unwrap();
    let code = loop {
        let answer = raw
            .frame(SOON)
            .await
            .unwrap_or_else(|error| panic!("{short}: {error}"));
        match answer["event"].as_str() {
            Some("refused") => break answer["payload"]["problem"]["code"].as_str().unwrap().to_owned(),
            Some("accepted" | "bye") => panic!("{short}: {answer}"),
            _ => {}
        }
    };
    assert!(
        codes.contains(&code.as_str()),
        "{short}: {code}, and not one of {codes:?}"
    );
    // It still works.
    let ping = json!({"type": "ping", "id": "still", "payload": {}});
    raw.say(&ping).await.unwrap();
    loop {
        let answer = raw.frame(SOON).await.unwrap();
        if answer["event"] == "accepted" && answer["payload"]["id"] == "still" {
            return;
        }
    }
}

fn client_frame(kind: &str, payload: Value) -> String {
    json!({"type": kind, "id": "x", "payload": payload}).to_string()
}

/// The codes that may say that a frame makes no sense.
const BAD: &[&str] = &["bad_request", "bad_frame"];
/// Those of a frame that there is not.
const UNKNOWN: &[&str] = &["unknown_type", "bad_frame"];

/// Texts that are not frames.
fn broken_texts() -> Vec<(String, &'static [&'static str])> {
    let mut random = Random::new(7);
    let noise = (0..500).map(|_| char::from(32 + u8::try_from(random.below(90)).unwrap()));
    let mut table = vec![
        (noise.collect(), BAD),
        ("[".repeat(100_000), BAD),
        ("{\"type\":".repeat(20_000), BAD),
        (
            json!({"type": "ping", "id": "i".repeat(65), "payload": {}}).to_string(),
            BAD,
        ),
    ];
    for text in [
        "",
        "null",
        "[]",
        "{\"type\":\"ping\"",
        "{\"type\":\"ping\"}{\"type\":\"ping\"}",
        "{\"type\":7,\"id\":\"x\",\"payload\":{}}",
        "{\"type\":\"ping\",\"id\":7,\"payload\":{}}",
        "{\"type\":\"ping\",\"id\":\"x\",\"payload\":[]}",
        "{\"type\":\"ping\",\"id\":\"x\",\"payload\":7}",
    ] {
        table.push((text.to_owned(), BAD));
    }
    for text in [
        "{}".to_owned(),
        client_frame("teleport", json!({"to": "the moon"})),
        client_frame("Subscribe", json!({})),
    ] {
        table.push((text, UNKNOWN));
    }
    table
}

/// Frames that make no sense.
fn wrong_frames(session: &str) -> Vec<(String, &'static [&'static str])> {
    let long = "k".repeat(10_000);
    let wrong = [
        ("subscribe", json!({"view": "future"})),
        ("subscribe", json!({"after_seq": -1})),
        ("subscribe", json!({"after_seq": 1.5})),
        ("user_message", json!({})),
        ("user_message", json!({"content": 7})),
        ("user_message", json!({"content": []})),
        ("user_message", json!({"content": "x", "mode": "later"})),
        ("user_message", json!({"content": "x", "idempotency_key": long})),
        ("approval", json!({"tool_call_id": "t"})),
        ("wheel", json!({"wish": "steal"})),
        ("system_command", json!({"command": "rename"})),
        (
            "system_command",
            json!({"command": "rename", "args": {"title": 7}}),
        ),
        (
            "system_command",
            json!({"command": "rename", "args": {"title": long}}),
        ),
    ];
    let of = |id: &str, kind: &str, more: &Value| {
        let mut payload = more.clone();
        payload["session_id"] = id.into();
        client_frame(kind, payload)
    };
    let mut table: Vec<(String, &'static [&'static str])> = wrong
        .iter()
        .map(|(kind, more)| (of(session, kind, more), BAD))
        .collect();
    table.push((client_frame("subscribe", json!({})), BAD));
    table.push((client_frame("subscribe", json!({"session_id": 7})), BAD));
    let explode = of(session, "system_command", &json!({"command": "explode"}));
    table.push((explode, &["unknown_command"]));
    for id in [
        "",
        "ses_none",
        "../../etc/passwd",
        "ses_\u{0}",
        &"s".repeat(100_000),
    ] {
        for (kind, more) in [
            ("subscribe", json!({})),
            ("user_message", json!({"content": "x"})),
        ] {
            table.push((of(id, kind, &more), &["no_session", "bad_request"]));
        }
    }
    table
}

/// Frames in the wrong order, on connections of their own.
async fn wrong_order(stage: &Stage) {
    let subscribe = json!({"session_id": stage.session});
    let early = ["subscribe", "user_message", "wheel", "teleport"].map(async |early| {
        let (mut raw, _) = Raw::dial(stage.address()).await;
        let text = client_frame(early, subscribe.clone());
        raw.send(&frame(TEXT, text.as_bytes())).await.unwrap();
        is_turned_away(&mut raw, early).await;
    });
    futures_util::future::join_all(early).await;
    // The challenge of another connection is worth nothing here.
    let (_other, hello) = Raw::dial(stage.address()).await;
    let (mut raw, _) = Raw::dial(stage.address()).await;
    let mut answer = stage.who.answer(&hello);
    answer["client"] = "raw".into();
    let text = client_frame("authenticate", answer);
    raw.send(&frame(TEXT, text.as_bytes())).await.unwrap();
    is_turned_away(&mut raw, "a signature for another connection").await;
    // A client that has signed in does not sign in again.
    let mut raw = stage.enter().await;
    let again = client_frame("authenticate", json!({"client": "raw"}));
    is_refused(&mut raw, &again, &["bad_request", "refused", "authenticated"]).await;
    // A binary message is refused, and so is the end of a subscription that never began.
    raw.send(&frame(BINARY, &[0; 1000])).await.unwrap();
    assert_eq!(raw.frame(SOON).await.unwrap()["event"], "refused");
    let early = client_frame("unsubscribe", json!({"session_id": stage.session}));
    is_refused(&mut raw, &early, &["refused"]).await;
    let subscribe = client_frame("subscribe", subscribe);
    raw.send(&frame(TEXT, subscribe.as_bytes())).await.unwrap();
    is_refused_in_the_stream(&mut raw, &subscribe).await;
}

async fn is_refused_in_the_stream(raw: &mut Raw, text: &str) {
    raw.send(&frame(TEXT, text.as_bytes())).await.unwrap();
    let mut answers = Vec::new();
    while answers.len() < 2 {
        let answer = raw.frame(SOON).await.unwrap();
        if answer["payload"]["id"] == "x" {
            answers.push(answer["event"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(answers, ["accepted", "refused"]);
}

/// The connection is refused something and then ended.
async fn is_turned_away(raw: &mut Raw, what: &str) {
    let ended = raw
        .ends(SOON)
        .await
        .unwrap_or_else(|error| panic!("{what}: {error}"));
    says_why(&ended, what);
}

fn says_why(ended: &Ended, what: &str) {
    let reasons = ["refused", "bye"];
    let says = ended
        .frames
        .iter()
        .any(|frame| reasons.contains(&frame["event"].as_str().unwrap_or_default()));
    assert!(says || ended.code.is_some(), "{what}: no reason: {ended:?}");
    let accepted = ended.frames.iter().any(|frame| frame["event"] == "accepted");
    assert!(!accepted, "{what}: {ended:?}");
}

/// Bytes that are not frames of a client, and the close codes that say so.
async fn broken_frames(stage: &Stage) {
    let mut unmasked = frame(TEXT, b"{}");
    unmasked[1] &= 0x7f;
    unmasked.drain(2..6);
    let mut reserved = frame(TEXT, b"{}");
    reserved[0] |= 0x40;
    let cases: Vec<(&str, Vec<u8>, &[u16])> = vec![
        ("a frame that is not masked", unmasked, &[1002]),
        ("a bit that means nothing", reserved, &[1002]),
        ("an opcode that there is not", frame(3, b"{}"), &[1002]),
        ("a ping of 126 bytes", frame(PING, &[0; 126]), &[1002]),
        ("a ping in pieces", header(PING, false, 0), &[1002]),
        ("an end without a beginning", frame(0, b"{}"), &[1002]),
        ("text that is not text", frame(TEXT, &[0xff; 20]), &[1007]),
        ("a close code that there is not", frame(CLOSE, &[0, 1]), &[1002]),
        ("a frame of 1.1 MiB", frame(TEXT, &vec![b' '; 1_153_434]), &[1009]),
    ];
    for (what, bytes, codes) in cases {
        let mut raw = stage.enter().await;
        // It may be gone before it has read all.
        let _ = raw.send(&bytes).await;
        let ended = raw
            .ends(SOON)
            .await
            .unwrap_or_else(|error| panic!("{what}: {error}"));
        let code = ended.code.or_else(|| bye_code(&ended));
        assert!(
            code.is_some_and(|code| codes.contains(&code)),
            "{what}: {code:?} and not {codes:?}: {ended:?}"
        );
    }
}

fn bye_code(ended: &Ended) -> Option<u16> {
    let bye = ended.frames.iter().find(|frame| frame["event"] == "bye")?;
    u16::try_from(bye["payload"]["code"].as_u64()?).ok()
}

/// Sends until nobody takes it; returns how many bytes were taken.
async fn pour(raw: &mut Raw, begin: &[u8], piece: &[u8]) -> Result<usize, Lost> {
    let mut poured = 0;
    if raw.send(begin).await.is_err() {
        return Ok(0);
    }
    while (poured as u64) < GIGABYTE {
        if raw.send(piece).await.is_err() {
            return Ok(poured);
        }
        poured += piece.len();
        if poured > TOO_MUCH {
            return Err(format!("{poured} bytes were taken"));
        }
    }
    Ok(poured)
}

/// A gigabyte, in one frame, in many, and as the body of a request.
async fn gigabytes(stage: &Stage) {
    let piece = vec![b' '; 64 << 10];
    let mut continued = header(0, false, piece.len() as u64);
    continued.extend(&piece);
    let chunk = [b"10000\r\n".as_slice(), &piece, b"\r\n"].concat();
    let socket = [
        ("one frame", header(TEXT, true, GIGABYTE), &piece),
        ("many frames", header(TEXT, false, 0), &continued),
    ];
    for (what, begin, piece) in socket {
        let mut raw = stage.enter().await;
        let poured = pour(&mut raw, &begin, piece)
            .await
            .unwrap_or_else(|error| panic!("{what}: {error}"));
        let ended = raw.ends(SOON).await.unwrap();
        eprintln!("{what}: {poured} bytes were taken, then {ended:?}");
    }
    let token = stage.web.token().await;
    let messages = format!("/v1/sessions/{}/messages", stage.session);
    let known = format!("authorization: Bearer {token}\r\n");
    for (path, who) in [("/v1/auth/token", ""), (messages.as_str(), known.as_str())] {
        let head = |length: &str| {
            let kind = "content-type: application/json";
            let head = format!("POST {path} HTTP/1.1\r\nhost: localhost\r\n{who}{kind}\r\n{length}\r\n\r\n");
            head.into_bytes()
        };
        // If it says beforehand how long it is, nothing of it has to come.
        let mut raw = Raw::connect(stage.address()).await;
        raw.send(&head(&format!("content-length: {GIGABYTE}")))
            .await
            .unwrap();
        let answer = raw.head(SOON).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 413"), "{path}: {answer}");
        let mut raw = Raw::connect(stage.address()).await;
        let poured = pour(&mut raw, &head("transfer-encoding: chunked"), &chunk)
            .await
            .unwrap_or_else(|error| panic!("{path}: {error}"));
        eprintln!("{path} in chunks: {poured} bytes were taken");
    }
}

/// Requests that are none.
async fn broken_requests(stage: &Stage) {
    let mut random = Random::new(11);
    let noise: Vec<u8> = (0..4_096)
        .map(|_| u8::try_from(random.below(256)).unwrap())
        .collect();
    let line = |line: &str| format!("{line}\r\nhost: localhost\r\nconnection: close\r\n\r\n").into_bytes();
    let table: Vec<(&str, Vec<u8>)> = vec![
        ("noise", noise),
        ("a greeting of TLS", vec![22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]),
        ("another protocol", b"SSH-2.0-OpenSSH_9.2\r\n".to_vec()),
        ("no such version", line("GET /v1/health HTTP/7.3")),
        (
            "a header of a megabyte",
            line(&format!("GET /v1/health HTTP/1.1\r\nx: {}", "y".repeat(1 << 20))),
        ),
        (
            "two lengths",
            line("POST /v1/auth/token HTTP/1.1\r\ncontent-length: 3\r\ncontent-length: 4"),
        ),
    ];
    for (what, bytes) in table {
        let mut raw = Raw::connect(stage.address()).await;
        let _ = raw.send(&bytes).await;
        let said = raw
            .rest(SOON)
            .await
            .unwrap_or_else(|error| panic!("{what}: it goes on: {error}"));
        let is_refused = said.is_empty() || said.starts_with("HTTP/1.1 4") || said.starts_with("HTTP/1.1 5");
        assert!(is_refused, "{what}: {said}");
    }
    for (what, version, headers) in [
        ("a later WebSocket", 14, "sec-websocket-protocol: agentx.v1\r\n"),
        ("a later protocol", 13, "sec-websocket-protocol: agentx.v2\r\n"),
    ] {
        let mut raw = Raw::connect(stage.address()).await;
        let head = raw.upgrade(version, headers).await.unwrap();
        assert!(head.starts_with("HTTP/1.1 4"), "{what}: {head}");
    }
}

/// Requests whose answer says what was wrong.
async fn wrong_requests(stage: &Stage) {
    let session = &stage.session;
    let messages = format!("/v1/sessions/{session}/messages");
    let deep = "[".repeat(200_000);
    let table: Vec<(&str, String, Option<&str>, &[u16])> = vec![
        ("GET", "/v1/nothing".into(), None, &[404]),
        ("GET", "/".into(), None, &[200, 404]),
        ("DELETE", "/v1/health".into(), None, &[405]),
        ("POST", messages.clone(), Some("{"), &[400, 422]),
        ("POST", messages.clone(), Some(&deep), &[400, 422]),
        ("POST", messages.clone(), Some("[]"), &[400, 422]),
        ("POST", messages.clone(), Some("{\"content\":[]}"), &[400, 422]),
        (
            "GET",
            format!("/v1/sessions/{session}/events?after_seq=x"),
            None,
            &[400],
        ),
        (
            "GET",
            format!("/v1/sessions/{session}/events?view=future"),
            None,
            &[400],
        ),
        ("GET", "/v1/sessions?limit=0".into(), None, &[400]),
        ("GET", "/v1/sessions?limit=999999999999".into(), None, &[400]),
        ("GET", "/v1/sessions?cursor=%00%ff".into(), None, &[400]),
        ("GET", "/v1/sessions/%ff%fe".into(), None, &[400, 404]),
        ("GET", "/v1/sessions/..%2f..%2fetc%2fpasswd".into(), None, &[404]),
        (
            "GET",
            format!("/v1/blobs/zzz?session={session}"),
            None,
            &[400, 404],
        ),
    ];
    for (method, path, body, statuses) in table {
        let answered = stage
            .web
            .try_raw(method, &path, &[], body.map(str::to_owned))
            .await
            .unwrap_or_else(|error| panic!("{method} {path}: {error}"));
        let what = format!("{method} {path}: {answered}");
        assert!(statuses.contains(&answered.status), "{what}");
        if answered.status >= 400 {
            let kind = answered.headers.get("content-type").unwrap();
            assert_eq!(kind, "application/problem+json", "{what}");
            assert!(!answered.code().is_empty(), "{what}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_makes_no_sense_is_refused_and_nobody_else_notices() {
    let stage = Stage::new().await;
    stage.streams().await;
    let mut raw = stage.enter().await;
    for (text, codes) in broken_texts().into_iter().chain(wrong_frames(&stage.session)) {
        is_refused(&mut raw, &text, codes).await;
    }
    wrong_order(&stage).await;
    broken_frames(&stage).await;
    broken_requests(&stage).await;
    wrong_requests(&stage).await;
    gigabytes(&stage).await;
    stage.ends().await;
}

/// Says something, and then nothing more; says after how long the other side had enough.
async fn silence(what: &'static str, mut raw: Raw, bytes: Vec<u8>, bound: Duration) {
    let began = Instant::now();
    raw.send(&bytes).await.unwrap();
    let said = raw.rest(bound).await;
    eprintln!("{what}: ended after {:?}", began.elapsed());
    assert!(said.is_ok(), "{what}: it is still there after {bound:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_says_half_of_something_and_then_nothing_is_let_go_in_time() {
    let stage = Stage::new().await;
    stage.streams().await;
    let bound = Duration::from_secs(58);
    let address = stage.address();
    let mut half = header(TEXT, true, 1_000);
    half.extend([b' '; 500]);
    let mut piece = header(TEXT, false, 3);
    piece.extend(b"{\"t");
    let request =
        b"POST /v1/auth/challenge HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    let body = [request.as_slice(), b"content-length: 100\r\n\r\n{"].concat();
    let token = stage.web.token().await;
    let known = format!(
        "POST /v1/sessions/{}/messages HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: 100\r\n\r\n{{",
        stage.session
    );
    let entered = || async { stage.enter().await };
    let dialled = || async { Raw::dial(address).await.0 };
    let cases = [
        ("nothing at all", Raw::connect(address).await, vec![]),
        (
            "half a head of a request",
            Raw::connect(address).await,
            request.to_vec(),
        ),
        ("half a body", Raw::connect(address).await, body),
        (
            "half a message over HTTP",
            Raw::connect(address).await,
            known.into_bytes(),
        ),
        ("not who it is", dialled().await, vec![]),
        ("half of who it is", dialled().await, half.clone()),
        ("half a frame", entered().await, half),
        ("a piece of a message", entered().await, piece),
        ("nothing once it is known", entered().await, vec![]),
    ];
    let mut all = tokio::task::JoinSet::new();
    for (what, raw, bytes) in cases {
        all.spawn(silence(what, raw, bytes, bound));
    }
    while let Some(ended) = all.join_next().await {
        ended.unwrap();
    }
    stage.ends().await;
}

/// The number of requests at once, which grows back by one each second: a client that continues asking uses
/// it up, however busy the machine is.
const AT_ONCE: usize = 60;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_asks_too_often_is_told_so_and_nobody_else_is() {
    let stage = Stage::with(&["--max-rate", "1", "--max-burst", &AT_ONCE.to_string()]).await;
    stage.streams().await;
    let other = Who::member(&stage.world, 9);
    let mut raw = Raw::enter(stage.address(), &other).await;
    let ping = frame(TEXT, client_frame("ping", json!({})).as_bytes());
    raw.send(&ping.repeat(2 * AT_ONCE)).await.unwrap();
    assert_eq!(refusal(&mut raw).await, "rate_limited");
    // A client that continues all the same is disconnected; bytes that it still sends may get a reset.
    let sent = raw.send(&ping.repeat(5_000)).await;
    let ended = raw.ends(SOON).await.unwrap();
    eprintln!("5000 frames at once: sent {sent:?}, closed {:?}", ended.code);
    let web = Web::new(&stage.server.url(), &other, "flood").signed_in().await;
    let mut answered = 0;
    let refused = loop {
        let asked = web.ask("GET", "/v1/me", None).await;
        if asked.status != 200 {
            break asked;
        }
        answered += 1;
        assert!(answered < 10 * AT_ONCE, "{answered} requests are answered");
    };
    assert!(answered >= AT_ONCE, "{answered} requests are answered: {refused}");
    assert_eq!((refused.status, refused.code().as_str()), (429, "rate_limited"));
    assert_eq!(stage.web.ask("GET", "/v1/me", None).await.status, 200);
    stage.ends().await;
}

/// Reads on to the first refusal, and returns its code.
async fn refusal(raw: &mut Raw) -> String {
    loop {
        let frame = raw.frame(SOON).await.unwrap();
        if frame["event"] == "refused" {
            return frame["payload"]["problem"]["code"].as_str().unwrap().to_owned();
        }
    }
}
