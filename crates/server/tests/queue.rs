//! The queue of a session is bounded, whichever way inputs come.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;

use agentx_types::{ApprovalMode, SessionId};
use serde_json::{Value, json};

use crate::support::*;

async fn world(queued: u64, queued_bytes: u64) -> World {
    let data = Arc::new(tempfile::tempdir().unwrap());
    World::set(data, options(), |settings| {
        settings.quotas.queued = queued;
        settings.quotas.queued_bytes = queued_bytes;
    })
    .await
}

fn message(session: &SessionId, words: &str, key: &str) -> Value {
    json!({"session_id": session, "content": words, "idempotency_key": key})
}

/// A session whose agent waits for a decision, so that all that is said from now on waits.
async fn busy(world: &World) -> (SessionId, Client) {
    let (session, mut client) = world.desk(ApprovalMode::Ask).await;
    client.subscribe(&session, 0, "runtime").await;
    client
        .accepted("user_message", message(&session, "run touch made-up", "begin"))
        .await;
    client
        .find(|event| event.to_string().contains("approval_requested"))
        .await;
    (session, client)
}

#[tokio::test]
async fn so_many_frames_wait_in_a_session_and_no_more() {
    let world = world(2, 1 << 20).await;
    let (session, mut client) = busy(&world).await;
    let first = client
        .accepted("user_message", message(&session, "one", "k1"))
        .await;
    let ran = json!({"command": "ls", "output": "", "how": "exit 0"});
    let ran = json!({"session_id": session, "command": "ran", "args": ran});
    client.accepted("system_command", ran.clone()).await;
    for (kind, payload) in [
        ("user_message", message(&session, "three", "k3")),
        ("system_command", ran),
    ] {
        let answer = client.ask(kind, payload).await;
        let told = answer.to_string();
        assert!(
            told.contains("queue_full") && told.contains("quotas.queued_messages"),
            "{told}"
        );
        assert!(told.contains("retry_after_ms"), "{told}");
    }
    let again = client
        .accepted("user_message", message(&session, "one", "k1"))
        .await;
    assert_eq!(
        first["payload"]["seq"], again["payload"]["seq"],
        "it was taken before"
    );
    client.accepted("interrupt", json!({"session_id": session})).await;
}

#[tokio::test]
async fn notes_of_commands_wait_while_nothing_runs_and_are_bounded_too() {
    let world = world(64, 1000).await;
    let (session, mut client) = world.desk(ApprovalMode::Ask).await;
    let ran = json!({"command": "cat", "output": "x".repeat(2000), "how": "exit 0"});
    let ran = json!({"session_id": session, "command": "ran", "args": ran});
    client.accepted("system_command", ran.clone()).await;
    assert_eq!(client.refused("system_command", ran).await, "queue_full");
    // A message is looked at at once, and takes the notes along.
    client
        .accepted("user_message", message(&session, "hello", "k"))
        .await;
}
