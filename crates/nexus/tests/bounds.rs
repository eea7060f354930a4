//! The bounds: sizes of frames and bodies, frames that cannot be read, and time without a proof.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

use std::time::Duration;

use agentx_server::{ServerLimits, ServerOptions};
use serde_json::{Value, json};

use crate::support::{NexusWorld, nexus_options};

fn message(bytes: usize) -> Value {
    json!({"type": "user_message", "payload": {"content": "x".repeat(bytes)}})
}

#[tokio::test]
async fn a_client_without_a_proof_sends_little() {
    let world = NexusWorld::new().await;
    // More than 4 KiB, and more than the socket reads at all.
    for bytes in [5 << 10, 64 << 10] {
        let mut client = world.socket("/api/v1/ws/0x1", None).await;
        client.next().await.unwrap();
        client.send(&message(bytes)).await;
        assert_eq!(client.closed().await.0, 1009, "{bytes}");
    }
    let mut client = world.socket("/api/v1/ws/0x1", None).await;
    client.next().await.unwrap();
    for _ in 0..33 {
        client.send(&json!({"type": "ping"})).await;
    }
    assert_eq!(client.closed().await.0, 1008);
    world.end().await;
}

#[tokio::test]
async fn a_client_with_a_token_sends_more_but_not_without_end() {
    let world = NexusWorld::new().await;
    let ann = world.member("ann").await;
    let path = format!("/api/v1/ws/{}", ann.id);
    let mut client = world.socket(&path, Some(&ann.token)).await;
    client.send(&message(100 << 10)).await;
    client.until("run_finished").await;
    client.send(&message(300 << 10)).await;
    assert_eq!(client.closed().await.0, 1009);
    let large = json!({"content": "x".repeat(300 << 10)});
    let refused = world.post("/api/v1/chat", Some(&ann.token), &large).await;
    assert_eq!(refused.status, 413);
    world.end().await;
}

#[tokio::test]
async fn frames_that_are_none_are_answered_and_bounded() {
    let world = NexusWorld::new().await;
    let ann = world.member("ann").await;
    let path = format!("/api/v1/ws/{}", ann.id);
    let mut client = world.socket(&path, Some(&ann.token)).await;
    client.next().await.unwrap();
    for _ in 0..32 {
        client.raw("{").await;
        let frame = client.next().await.unwrap();
        assert_eq!(
            (&frame["event"], &frame["payload"]["details"]),
            (&json!("error"), &json!("bad_frame"))
        );
    }
    client.raw("{").await;
    assert_eq!(client.closed().await.0, 1008);
    let mut client = world.socket(&path, Some(&ann.token)).await;
    client
        .send(&json!({"type": "user_message", "payload": {"content": ""}}))
        .await;
    let refused = client.until("error").await;
    assert_eq!(refused.last().unwrap()["payload"]["details"], "bad_request");
    world.end().await;
}

#[tokio::test]
async fn a_client_that_proves_nothing_is_cut_off() {
    let options = ServerOptions {
        limits: ServerLimits {
            authenticate: Duration::from_millis(50),
            ..nexus_options().limits
        },
        ..nexus_options()
    };
    let world = NexusWorld::with(options, |_| {}).await;
    let mut client = world.socket("/api/v1/ws/0x1", None).await;
    let (code, said) = client.closed().await;
    assert_eq!(code, 1008, "{said}");
    world.end().await;
}

#[tokio::test]
async fn connections_of_a_person_are_counted() {
    let world = NexusWorld::with(nexus_options(), |settings| {
        // Each socket counts as one, and the stream of the session that it reads as another.
        settings.quotas.connections = Some(2);
    })
    .await;
    let ann = world.member("ann").await;
    let path = format!("/api/v1/ws/{}", ann.id);
    let mut first = world.socket(&path, Some(&ann.token)).await;
    first.command("/ping").await;
    let refused = world.try_socket(&path, Some(&ann.token), None).await;
    assert_eq!(refused.err(), Some(429));
    let stream = format!("/api/v1/stream/{}", ann.id);
    assert_eq!(world.get(&stream, Some(&ann.token)).await.status, 429);
    world.end().await;
}

#[tokio::test]
async fn trust_that_ends_closes_the_connection() {
    let options = ServerOptions {
        limits: ServerLimits {
            heartbeat: Duration::from_millis(20),
            ..nexus_options().limits
        },
        ..nexus_options()
    };
    let world = NexusWorld::with(options, |_| {}).await;
    let ann = world.member("ann").await;
    let path = format!("/api/v1/ws/{}", ann.id);
    let mut client = world.socket(&path, Some(&ann.token)).await;
    client.command("/ping").await;
    agentx_identity::Keyring::at(world.data.path())
        .untrust(ann.key.public_key())
        .unwrap();
    assert_eq!(client.closed().await.0, 1008);
    assert_eq!(
        world.try_socket(&path, Some(&ann.token), None).await.err(),
        Some(401)
    );
    world.end().await;
}
