//! The holes of NEXUS: an address is not a password, a signature counts once, and nobody reads what is
//! another person's.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

use agentx_identity::SecretKey;
use serde_json::json;

use crate::support::{NexusWorld, events, proof};

/// In NEXUS the bearer token is the address, and `/stream` needs none.
#[tokio::test]
async fn an_address_opens_nothing() {
    let world = NexusWorld::new().await;
    let ann = world.member("ann").await;
    let key = ann.key.public_key().to_string();
    let chat = json!({"content": "hello"});
    for token in [None, Some(ann.id.as_str()), Some(key.as_str()), Some("0xAbC")] {
        for path in [
            "/api/v1/config",
            "/api/v1/prompts",
            "/api/v1/messages",
            "/api/v1/commands",
            &format!("/api/v1/stream/{}", ann.id),
        ] {
            let refused = world.get(path, token).await;
            assert_eq!(refused.status, 401, "{path} {token:?}");
            assert!(!refused.detail().is_empty());
        }
        for path in [
            "/api/v1/chat",
            "/api/v1/commands/execute",
            "/api/v1/config",
            "/api/v1/prompts",
        ] {
            assert_eq!(
                world.post(path, token, &chat).await.status,
                401,
                "{path} {token:?}"
            );
        }
    }
    let path = format!("/api/v1/ws/{}", ann.id);
    let refused = world.try_socket(&path, Some(ann.id.as_str()), None).await;
    assert_eq!(refused.err(), Some(401));
    world.end().await;
}

#[tokio::test]
async fn nobody_reads_the_conversation_of_another_person() {
    let world = NexusWorld::new().await;
    let (ann, bob) = (world.member("ann").await, world.member("bob").await);
    let secret = json!({"content": "echo a secret of Ann"});
    world
        .post("/api/v1/chat", Some(&ann.token), &secret)
        .await
        .frames();
    let of_bob = world.get("/api/v1/messages", Some(&bob.token)).await.json();
    assert_eq!(of_bob, json!([]));
    for other in [ann.id.to_string(), ann.key.public_key().to_string()] {
        let stream = format!("/api/v1/stream/{other}?follow=true");
        assert_eq!(world.get(&stream, Some(&bob.token)).await.status, 403);
        let socket = format!("/api/v1/ws/{other}");
        let refused = world.try_socket(&socket, Some(&bob.token), None).await;
        assert_eq!(refused.err(), Some(403));
    }
    // A session with the title of conversations that is shared with Bob is not his.
    let sessions = world.get("/v1/sessions", Some(&ann.token)).await.json();
    let session = sessions["items"][0]["session_id"].as_str().unwrap();
    let roles = format!("/v1/sessions/{session}/roles");
    let shared = json!({"person": bob.id, "role": "drive"});
    world.post(&roles, Some(&ann.token), &shared).await.json();
    let carl = world.member("carl").await;
    for person in [&bob, &carl] {
        let theirs = world.get("/api/v1/messages", Some(&person.token)).await.json();
        assert_eq!(theirs, json!([]));
    }
    world.end().await;
}

#[tokio::test]
async fn a_key_is_proved_on_the_socket() {
    let world = NexusWorld::new().await;
    let ann = world.member("ann").await;
    let key = ann.key.public_key().to_string();
    let mut client = world.socket(&format!("/api/v1/ws/{key}"), None).await;
    let challenge = client.next().await.unwrap();
    assert_eq!(challenge["event"], "challenge");
    client.say("hello").await;
    let refused = client.next().await.unwrap();
    assert_eq!(refused["payload"]["details"], "unauthenticated");
    let answer = proof(&ann.key, &challenge["payload"]);
    client
        .send(&json!({"type": "authenticate", "payload": answer}))
        .await;
    let state = client.next().await.unwrap();
    assert_eq!(state["payload"], json!({"visitor": false}));
    client.say("echo hello").await;
    client.until("run_finished").await;
    // The challenge was answered: the same proof is worth nothing any more.
    client
        .send(&json!({"type": "authenticate", "payload": answer}))
        .await;
    assert_eq!(client.closed().await.0, 1008);
    world.end().await;
}

/// NEXUS's signatures have no nonce, so a captured one counts for ever.
#[tokio::test]
async fn a_captured_signature_counts_nowhere_else() {
    let world = NexusWorld::new().await;
    let ann = world.member("ann").await;
    let key = ann.key.public_key().to_string();
    let path = format!("/api/v1/ws/{key}");
    let mut first = world.socket(&path, None).await;
    let challenge = first.next().await.unwrap()["payload"].clone();
    let answer = proof(&ann.key, &challenge);
    first
        .send(&json!({"type": "authenticate", "payload": answer}))
        .await;
    assert_eq!(first.next().await.unwrap()["event"], "connection_state");
    // On another connection, with the old nonce in the frame and without.
    let mut second = world.socket(&path, None).await;
    second.next().await.unwrap();
    second
        .send(&json!({"type": "authenticate", "payload": answer}))
        .await;
    let (code, said) = second.closed().await;
    assert_eq!(code, 1008, "{said}");
    // And over HTTP.
    let replayed = world.post("/v1/auth/token", None, &answer).await;
    assert_eq!(replayed.status, 401);
    world.end().await;
}

/// A signature that was not used on its connection counts nowhere else, before and after.
#[tokio::test]
async fn an_unused_signature_of_a_connection_counts_over_no_other() {
    let world = NexusWorld::new().await;
    let ann = world.member("ann").await;
    let path = format!("/api/v1/ws/{}", ann.key.public_key());
    let mut first = world.socket(&path, None).await;
    let challenge = first.next().await.unwrap()["payload"].clone();
    let mut over_http = proof(&ann.key, &challenge);
    for name in ["nonce", "expires_at_ms"] {
        over_http[name] = challenge[name].clone();
    }
    let refused = world.post("/v1/auth/token", None, &over_http).await;
    assert_eq!(refused.status, 401);
    let answer = proof(&ann.key, &challenge);
    let mut second = world.socket(&path, None).await;
    second.next().await.unwrap();
    second
        .send(&json!({"type": "authenticate", "payload": answer}))
        .await;
    let (code, said) = second.closed().await;
    assert_eq!(code, 1008, "{said}");
    first
        .send(&json!({"type": "authenticate", "payload": answer}))
        .await;
    assert_eq!(first.next().await.unwrap()["event"], "connection_state");
    world.end().await;
}

#[tokio::test]
async fn a_wrong_signature_or_an_unknown_key_ends_the_connection() {
    let world = NexusWorld::new().await;
    let ann = world.member("ann").await;
    let stranger = SecretKey::generate().unwrap();
    let key = ann.key.public_key().to_string();
    for (name, path) in [
        ("another key's signature", key.clone()),
        ("a stranger", stranger.public_key().to_string()),
        ("the path of somebody else", "own_local".to_owned()),
    ] {
        let mut client = world.socket(&format!("/api/v1/ws/{path}"), None).await;
        let challenge = client.next().await.unwrap()["payload"].clone();
        let answer = match name {
            "another key's signature" => {
                let mut forged = proof(&stranger, &challenge);
                forged["public_key"] = json!(key);
                forged
            }
            "a stranger" => proof(&stranger, &challenge),
            _ => proof(&ann.key, &challenge),
        };
        client
            .send(&json!({"type": "authenticate", "payload": answer}))
            .await;
        let (code, said) = client.closed().await;
        assert_eq!(code, 1008, "{name}: {said}");
        assert!(!said.is_empty(), "{name}");
    }
    world.end().await;
}

#[tokio::test]
async fn a_visitor_gets_guidance_and_nothing_else() {
    let world = NexusWorld::open_to_visitors().await;
    let ann = world.member("ann").await;
    let secret = json!({"content": "echo a secret"});
    world
        .post("/api/v1/chat", Some(&ann.token), &secret)
        .await
        .frames();
    let mut client = world.socket(&format!("/api/v1/ws/{}", ann.id), None).await;
    let state = client.next().await.unwrap();
    assert_eq!(state["payload"], json!({"visitor": true}));
    let challenge = client.next().await.unwrap();
    client.say("echo hello").await;
    let frames = client.until("run_finished").await;
    assert_eq!(events(&frames), ["run_started", "text_chunk", "run_finished"]);
    assert_eq!(frames[2]["payload"]["status"], "visitor_guidance_sent");
    assert_eq!(frames[0]["payload"]["owner_key"], "own_visitors");
    let identity = client.command("/identity").await;
    assert_eq!(identity["result"]["status"], "error");
    client.send(&json!({"type": "interrupt"})).await;
    assert_eq!(client.next().await.unwrap()["event"], "error");
    let guided = world.post("/api/v1/chat", None, &secret).await.frames();
    assert_eq!(guided[2]["payload"]["status"], "visitor_guidance_sent");
    for path in ["/api/v1/messages", "/api/v1/config", "/api/v1/prompts"] {
        assert_eq!(world.get(path, None).await.status, 403, "{path}");
    }
    let wish = json!({"overrides": {}});
    assert_eq!(world.post("/api/v1/config", None, &wish).await.status, 403);
    // A visitor who proves a key is a person.
    let answer = proof(&ann.key, &challenge["payload"]);
    client
        .send(&json!({"type": "authenticate", "payload": answer}))
        .await;
    assert_eq!(client.next().await.unwrap()["payload"], json!({"visitor": false}));
    client.say("echo now").await;
    client.until("run_finished").await;
    world.end().await;
}

#[tokio::test]
async fn a_browser_sends_its_token_as_a_subprotocol_and_other_pages_are_refused() {
    let world = NexusWorld::new().await;
    let ann = world.member("ann").await;
    let path = format!("/api/v1/ws/{}", ann.id);
    let protocols = format!("nexus.v1, agentx.bearer.{}", ann.token);
    let mut client = world.try_socket(&path, None, Some(&protocols)).await.unwrap();
    assert_eq!(client.next().await.unwrap()["payload"], json!({"visitor": false}));
    let foreign = ["origin: https://elsewhere.example"];
    let refused = world
        .ask("GET", "/api/v1/messages", Some(&ann.token), None, &foreign)
        .await;
    assert_eq!(refused.status, 403, "{refused:?}");
    world.end().await;
}
