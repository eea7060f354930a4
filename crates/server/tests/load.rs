//! Many who read a long session at once, and those who want something else meanwhile.
#![allow(
    missing_docs,
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests"
)]

use crate::support::*;
use agentx_types::ApprovalMode;
use futures_util::{StreamExt as _, stream};
use serde_json::json;

/// A session of somebody with one message of so many bytes.
async fn long_session(world: &World, client: &mut Client, bytes: usize) -> agentx_types::SessionId {
    let session = world.session(ApprovalMode::Auto).await;
    let payload = json!({"session_id": session, "content": "long ".repeat(bytes / 5)});
    client.accepted("user_message", payload).await;
    session
}

/// Reads without a look at what is long.
async fn until_caught_up(reader: &mut Client) {
    loop {
        let message = within(reader.socket.next()).await.unwrap().unwrap();
        let text = message.to_text().unwrap_or_default();
        if text.len() < 1000 && text.contains("caught_up") {
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_many_read_a_long_message_others_go_on() {
    let mut options = options();
    options.limits.frame_bytes = 4 << 20;
    let world = World::with(options).await;
    let mut desk = world.client("desk").await;
    let session = long_session(&world, &mut desk, 1_000_000).await;
    let mut readers = Vec::new();
    for (n, view) in ["environment", "runtime", "ui"]
        .iter()
        .cycle()
        .take(60)
        .enumerate()
    {
        let mut reader = world.client(&format!("reader{n}")).await;
        let payload = json!({"session_id": session, "after_seq": 0, "view": view});
        reader.send("subscribe", payload).await;
        readers.push(reader);
    }
    // Nobody takes anything yet: whoever has a turn loses it when their piece is read, not when it is taken.
    let other = world.session(ApprovalMode::Auto).await;
    desk.say(&other, "echo one").await;
    let mut late = world.client("late").await;
    late.subscribe(&other, 0, "ui").await;
    late.notice("caught_up").await;
    stream::iter(readers)
        .for_each_concurrent(None, |mut reader| async move {
            until_caught_up(&mut reader).await;
        })
        .await;
    world.end().await;
}
