//! Connections as such: who is let in, garbage, limits, slow readers, and the end of the server.
#![allow(
    missing_docs,
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests"
)]

use std::time::Duration;

use crate::support::*;
use agentx_server::channel::ConnectionChannel;
use agentx_types::ApprovalMode;
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{Error, Message};

#[tokio::test]
async fn nothing_happens_before_somebody_says_who_they_are() {
    let mut options = options();
    // Long enough for what is tried before, on a machine that is busy.
    options.limits.authenticate = Duration::from_secs(2);
    let world = World::with(options).await;
    let session = world.session(ApprovalMode::Auto).await;
    let mut client = Client::connect(&world.url).await;
    let hello = client.notice("hello").await;
    assert_eq!(hello["payload"]["protocol"], 1);
    assert_eq!(hello["payload"]["origin"], world.url.as_str());
    let early = client.refused("subscribe", json!({"session_id": session})).await;
    assert_eq!(early, "unauthenticated");
    client.accepted("ping", json!({})).await;
    assert_eq!(client.bye().await["code"], 1008, "it took too long");
    world.end().await;
}

#[tokio::test]
async fn a_signature_counts_for_its_own_connection_alone() {
    let world = World::new().await;
    let mut first = Client::connect(&world.url).await;
    let hello = first.notice("hello").await;
    let answer = first.authenticate(&hello, &world.operator, "desk").await;
    assert_eq!(answer["result"]["person"], "own_local");
    let again = first.refused("authenticate", json!({"client": "desk"})).await;
    assert_eq!(again, "refused");
    let challenge = agentx_identity::AuthChallenge {
        nonce: hello["payload"]["nonce"].as_str().unwrap().to_owned(),
        origin: hello["payload"]["origin"].as_str().unwrap().to_owned(),
        expires_at_ms: hello["payload"]["expires_at_ms"].as_u64().unwrap(),
    };
    let captured = json!({
        "public_key": world.operator.public_key().to_string(),
        "signature": agentx_identity::sign_challenge(&world.operator, &challenge).to_string(),
        "client": "desk",
    });
    let mut second = Client::connect(&world.url).await;
    second.notice("hello").await;
    assert_eq!(second.refused("authenticate", captured).await, "bad_signature");
    assert_eq!(second.bye().await["code"], 1008);
    world.end().await;
}

async fn token(world: &World) -> String {
    let state = &world.state;
    let challenge = state.auth().open_challenge("127.0.0.1", state.now_ms()).unwrap();
    let signature = agentx_identity::sign_challenge(&world.operator, &challenge);
    let key = world.operator.public_key().to_string();
    let issued = state.auth().token(
        &key,
        (challenge.nonce.clone(), challenge.expires_at_ms),
        &signature.to_string(),
        (&ConnectionChannel::Plain, "127.0.0.1", state.now_ms()),
    );
    let again = state.auth().token(
        &key,
        (challenge.nonce, challenge.expires_at_ms),
        &signature.to_string(),
        (&ConnectionChannel::Plain, "127.0.0.1", state.now_ms()),
    );
    assert_eq!(again.err().unwrap().code, "stale_challenge");
    issued.unwrap_or_else(|problem| panic!("{problem:?}")).token
}

async fn open(world: &World, headers: &[(&'static str, String)]) -> Result<(Client, Option<String>), u16> {
    let mut request = socket_url(&world.url).into_client_request().unwrap();
    for (name, value) in headers {
        request.headers_mut().insert(*name, value.parse().unwrap());
    }
    match within(tokio_tungstenite::connect_async(request)).await {
        Ok((socket, response)) => {
            let chosen = response.headers().get("sec-websocket-protocol");
            let chosen = chosen.map(|name| name.to_str().unwrap().to_owned());
            Ok((Client::of(socket), chosen))
        }
        Err(Error::Http(response)) => Err(response.status().as_u16()),
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn a_browser_brings_its_token_as_a_subprotocol() {
    let world = World::new().await;
    let token = token(&world).await;
    let offered = |token: &str| {
        [(
            "sec-websocket-protocol",
            format!("agentx.v1, agentx.bearer.{token}"),
        )]
    };
    let (mut tab, chosen) = open(&world, &offered(&token)).await.ok().unwrap();
    assert_eq!(chosen.as_deref(), Some("agentx.v1"));
    let session = world.session(ApprovalMode::Auto).await;
    tab.subscribe(&session, 0, "ui").await;
    let named = tab.accepted("authenticate", json!({"client": "tab-1"})).await;
    assert_eq!(named["result"]["person"], "own_local");
    assert_eq!(open(&world, &offered("wrong")).await.err(), Some(401));
    let header = [("authorization", format!("Bearer {token}"))];
    let (mut script, chosen) = open(&world, &header).await.ok().unwrap();
    assert_eq!(chosen, None);
    script.subscribe(&session, 0, "ui").await;
    world.end().await;
}

#[tokio::test]
async fn pages_of_other_origins_are_turned_away() {
    let mut options = options();
    options.allow_origins = vec!["https://page.example".into()];
    let world = World::with(options).await;
    for (origin, expected) in [
        (world.url.clone(), None),
        ("https://page.example".into(), None),
        ("https://evil.example".into(), Some(403)),
        ("null".into(), Some(403)),
    ] {
        let opened = open(&world, &[("origin", origin.clone())]).await;
        assert_eq!(opened.err(), expected, "{origin}");
    }
    world.end().await;
}

#[tokio::test]
async fn garbage_is_refused_and_nobody_else_notices() {
    let world = World::new().await;
    let (session, mut desk) = world.desk(ApprovalMode::Auto).await;
    desk.subscribe(&session, 0, "environment").await;
    let mut mad = world.client("mad").await;
    for text in [
        "",
        "{",
        "[]",
        "null",
        "\"hello\"",
        "{\"type\":1}",
        &"[".repeat(100_000),
    ] {
        mad.raw(text).await;
        let refused = mad.notice("refused").await;
        assert_eq!(refused["payload"]["problem"]["code"], "bad_frame", "{refused}");
    }
    within(mad.socket.send(Message::binary(vec![0_u8; 100])))
        .await
        .unwrap();
    assert_eq!(
        mad.notice("refused").await["payload"]["problem"]["code"],
        "bad_frame"
    );
    assert_eq!(
        mad.refused("teleport", json!({"to": "mars"})).await,
        "unknown_type"
    );
    mad.accepted("ping", json!({})).await;
    desk.say(&session, "echo fine").await;
    desk.events_until("stream_end").await;
    world.end().await;
}

#[tokio::test]
async fn a_frame_that_is_too_large_ends_the_connection() {
    let mut options = options();
    options.limits.frame_bytes = 10_000;
    let world = World::with(options).await;
    let mut desk = world.client("desk").await;
    desk.raw("x".repeat(20_000)).await;
    assert_eq!(desk.bye().await["code"], 1009);
    // The head of a frame of 1 GB, and then silence.
    let mut liar = world.client("liar").await;
    let tokio_tungstenite::MaybeTlsStream::Plain(stream) = liar.socket.get_mut() else {
        panic!("it is plain");
    };
    let mut head = vec![0x81, 0xff];
    head.extend((1_u64 << 30).to_be_bytes());
    head.extend([1, 2, 3, 4]);
    within(stream.write_all(&head)).await.unwrap();
    assert_eq!(liar.bye().await["code"], 1009);
    world.end().await;
}

#[tokio::test]
async fn who_asks_too_often_is_slowed_down_and_then_let_go() {
    let mut options = options();
    options.limits.rate = 1;
    options.limits.burst = 3;
    let world = World::with(options).await;
    let mut desk = world.client("desk").await;
    for _ in 0..2 {
        desk.accepted("ping", json!({})).await;
    }
    let answer = desk.ask("ping", json!({})).await;
    let problem = &answer["payload"]["problem"];
    assert_eq!(problem["code"], "rate_limited");
    assert!(problem["retry_after_ms"].as_u64().unwrap() > 0);
    for _ in 0..40 {
        let _ = within(desk.socket.send(Message::text("{}"))).await;
    }
    assert_eq!(desk.bye().await["code"], 1008);
    world.end().await;
}

#[tokio::test]
async fn there_are_only_so_many_connections() {
    let mut options = options();
    options.limits.connections = 3;
    options.limits.connections_per_person = 2;
    let world = World::with(options).await;
    let first = world.client("one").await;
    let _second = world.client("two").await;
    let mut third = Client::connect(&world.url).await;
    let mut raw = tokio::net::TcpStream::connect(world.url.strip_prefix("http://").unwrap())
        .await
        .unwrap();
    let mut answer = Vec::new();
    let _ = within(raw.read_to_end(&mut answer)).await;
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    assert!(head.starts_with("HTTP/1.1 503"), "{answer}");
    let problem: Value = serde_json::from_str(body).unwrap();
    assert_eq!(
        (&problem["code"], &problem["status"]),
        (&json!("full"), &json!(503))
    );
    assert!(problem["retry_after_ms"].is_u64(), "{problem}");
    let hello = third.notice("hello").await;
    let payload = {
        let challenge = agentx_identity::AuthChallenge {
            nonce: hello["payload"]["nonce"].as_str().unwrap().to_owned(),
            origin: hello["payload"]["origin"].as_str().unwrap().to_owned(),
            expires_at_ms: hello["payload"]["expires_at_ms"].as_u64().unwrap(),
        };
        json!({
            "public_key": world.operator.public_key().to_string(),
            "signature": agentx_identity::sign_challenge(&world.operator, &challenge).to_string(),
            "client": "three",
        })
    };
    third.send("authenticate", payload).await;
    assert_eq!(third.bye().await["code"], 1013);
    drop(third);
    drop(first);
    // Their places are free again, soon.
    within(async {
        while world.state.counts().connections.get() > 1 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    world.client("four").await;
    world.end().await;
}

#[tokio::test]
async fn signs_of_life_come_and_silence_is_death() {
    let mut options = options();
    options.limits.heartbeat = Duration::from_millis(50);
    // Nobody reads for the one while the other connects, which takes a while on a machine that is busy.
    options.limits.silence = Duration::from_secs(3);
    let world = World::with(options).await;
    let mut alive = world.client("alive").await;
    // It reads, so its WebSocket answers pings by itself.
    for _ in 0..80 {
        assert!(alive.notice("ping").await["payload"]["at"].is_i64());
    }
    assert_eq!(world.state.counts().sockets.get(), 1);
    let dead = world.client("dead").await;
    assert_eq!(world.state.counts().sockets.get(), 2);
    within(async {
        while world.state.counts().sockets.get() > 1 {
            alive.notice("ping").await;
        }
    })
    .await;
    drop(dead);
    world.end().await;
}

#[tokio::test]
async fn a_slow_reader_is_cut_off_alone_and_comes_back() {
    let mut options = options();
    options.limits.waiting_frames = 64;
    options.limits.waiting_bytes = 1 << 20;
    let world = World::with(options).await;
    let (session, mut desk) = world.desk(ApprovalMode::Auto).await;
    let mut slow = world.client("slow").await;
    slow.subscribe(&session, 0, "environment").await;
    slow.notice("caught_up").await;
    desk.subscribe(&session, 0, "environment").await;
    let words = format!("echo {}", "word ".repeat(40_000));
    let mut said = 0;
    while world.state.counts().overrun.get() == 0 && said < 200 {
        desk.say(&session, &words).await;
        let interrupt = json!({"session_id": session});
        desk.accepted("interrupt", interrupt).await;
        desk.events_until("interrupted").await;
        said += 1;
    }
    assert_eq!(world.state.counts().overrun.get(), 1, "after {said}");
    let mut last = 0;
    let mut bye = Value::Null;
    while let Some(frame) = slow.next().await {
        if let Some(seq) = frame["seq"].as_u64() {
            assert!(last == 0 || seq == last + 1, "{seq} after {last}");
            last = seq;
        } else if frame["event"] == "bye" {
            bye = frame["payload"].clone();
        }
    }
    assert!(bye.is_null() || bye["code"] == 1013, "{bye}");
    let mut back = world.client("slow").await;
    let head = back.subscribe(&session, last, "environment").await["head_seq"]
        .as_u64()
        .unwrap();
    let mut seen = Vec::new();
    while seen.last() != Some(&head) {
        let frame = back.until(|frame| frame["seq"].is_u64()).await;
        seen.push(frame["seq"].as_u64().unwrap());
    }
    assert_eq!(seen, (last + 1..=head).collect::<Vec<_>>());
    world.end().await;
}

#[tokio::test]
async fn the_end_is_said_and_what_ran_goes_on_record() {
    let mut patient = options();
    // It ends by itself, and not because there was no more time.
    patient.limits.shutdown = 3 * PATIENCE;
    let world = World::with(patient).await;
    let (session, mut desk) = world.desk(ApprovalMode::Auto).await;
    desk.subscribe(&session, 0, "environment").await;
    desk.say(&session, "count to 20000").await;
    desk.events_until("text_chunk").await;
    let began = std::time::Instant::now();
    let data = world.end().await;
    assert!(began.elapsed() < Duration::from_secs(5));
    let bye = desk.bye().await;
    assert_eq!(
        (&bye["code"], &bye["retry_after_ms"]),
        (&json!(1001), &json!(1000))
    );
    assert!(
        within(desk.socket.next())
            .await
            .is_none_or(|end| end.is_err() || end.unwrap().is_close())
    );
    let world = World::again(data, options()).await;
    let mut desk = world.client("desk").await;
    desk.subscribe(&session, 0, "environment").await;
    let events = desk.events_until("interrupted").await;
    assert!(tags(&events).contains(&"text_chunk"));
    world.end().await;
}

/// A process that dies, as far as one process can play that: its tasks are gone from one moment to the next.
#[test]
fn what_was_under_way_when_the_server_died_goes_on() {
    let runtime = || tokio::runtime::Runtime::new().unwrap();
    let first = runtime();
    let (world, session) = first.block_on(async {
        let world = World::new().await;
        let session = world.session(ApprovalMode::Auto).await;
        let mut desk = world.client("desk").await;
        desk.subscribe(&session, 0, "environment").await;
        desk.say(&session, "count to 100").await;
        desk.events_until("text_chunk").await;
        (world, session)
    });
    // A server that is dropped ends well, and stops what runs. This one is to die.
    first.shutdown_timeout(PATIENCE);
    let data = world.data.clone();
    drop(world);
    runtime().block_on(async {
        let world = World::again(data, options()).await;
        within(async {
            while world.state.rooms().open_rooms() == 0 {
                tokio::task::yield_now().await;
            }
        })
        .await;
        let mut desk = world.client("desk").await;
        desk.subscribe(&session, 0, "runtime").await;
        let events = desk.events_until("run_finished").await;
        let end = &events.last().unwrap()["payload"];
        assert_eq!(end["status"], "completed", "{end}");
        assert!(tags(&events).contains(&"session_resumed"));
        world.end().await;
    });
}

#[tokio::test]
async fn what_would_show_more_than_was_meant_is_not_started() {
    let data = tempfile::tempdir().unwrap();
    let settings = settings(data.path());
    let runtime =
        std::sync::Arc::new(agentx_node_runtime::NodeRuntime::from_settings(&settings, "t").unwrap());
    let keyring = agentx_identity::Keyring::open(data.path()).unwrap();
    let mut beyond = options();
    beyond.listen = ([0, 0, 0, 0], 0).into();
    let mut nameless = beyond.clone();
    nameless.insecure_listen = true;
    let mut odd = options();
    odd.origin = Some("agents.example/path".into());
    for options in [beyond, nameless.clone(), odd] {
        let bound = agentx_server::bind(runtime.clone(), &settings, keyring.clone(), options).await;
        assert!(matches!(bound, Err(agentx_server::ServerError::Options(_))));
    }
    nameless.origin = Some("https://agents.example".into());
    let server = agentx_server::bind(runtime, &settings, keyring, nameless)
        .await
        .unwrap();
    assert_eq!(server.state().auth().origin(), "https://agents.example");
}
