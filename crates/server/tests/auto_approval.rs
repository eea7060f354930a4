//! `--yes` at a server: nobody is asked for as long as the program that wanted it drives, and no longer.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

use agentx_server::wheel::WheelTimeouts;
use agentx_server::{ServerLimits, ServerOptions};
use agentx_types::{ApprovalMode, SessionId};
use serde_json::{Value, json};

use crate::support::*;

/// Returns options with which an absent driver is waited for only briefly.
fn impatient() -> ServerOptions {
    let limits = ServerLimits {
        patience: WheelTimeouts {
            gone_ms: 50,
            ..WheelTimeouts::default()
        },
        ..options().limits
    };
    ServerOptions { limits, ..options() }
}

async fn set_mode(client: &mut Client, session: &SessionId, mode: &str) {
    let change = json!({"session_id": session, "command": "change", "args": {"change": {"approval": mode}}});
    client.accepted("system_command", change).await;
}

fn is_mode(mode: &'static str) -> impl Fn(&Value) -> bool {
    move |frame| frame["event"] == "config_changed" && frame["payload"]["change"]["approval"] == mode
}

/// Has a command run, which is asked about.
async fn is_asked(world: &World, session: &SessionId) {
    let mut client = world.client("phone").await;
    client.subscribe(session, 0, "runtime").await;
    client.say(session, "run echo one").await;
    client.find(|frame| frame["event"] == "approval_requested").await;
}

#[tokio::test]
async fn calls_are_asked_about_again_when_who_wanted_otherwise_is_gone() {
    let world = World::with(impatient()).await;
    let session = world.session(ApprovalMode::Ask).await;
    let mut laptop = world.client("laptop").await;
    laptop.subscribe(&session, 0, "environment").await;
    let mut desk = world.client("desk").await;
    desk.subscribe(&session, 0, "runtime").await;
    set_mode(&mut desk, &session, "auto").await;
    laptop.find(is_mode("auto")).await;
    // It is killed: it says no good-bye.
    drop(desk);
    laptop.find(is_mode("ask")).await;
    is_asked(&world, &session).await;
    world.end().await;
}

#[tokio::test]
async fn calls_are_asked_about_again_when_another_program_drives() {
    let world = World::new().await;
    let session = world.session(ApprovalMode::Ask).await;
    let mut desk = world.client("desk").await;
    desk.subscribe(&session, 0, "environment").await;
    set_mode(&mut desk, &session, "auto").await;
    desk.say(&session, "run echo one").await;
    let mut laptop = world.client("laptop").await;
    laptop.subscribe(&session, 0, "environment").await;
    let take = json!({"session_id": session, "wish": "take"});
    laptop.accepted("wheel", take).await;
    desk.find(is_mode("ask")).await;
    world.end().await;
}

/// A session that was made so, by a server that was killed or ended, asks when the next one opens it.
#[tokio::test]
async fn calls_are_asked_about_again_when_the_server_starts_again() {
    let world = World::new().await;
    let session = world.session(ApprovalMode::Auto).await;
    let data = world.end().await;
    let world = World::again(data, options()).await;
    let mut desk = world.client("desk").await;
    desk.subscribe(&session, 0, "environment").await;
    desk.find(is_mode("ask")).await;
    world.end().await;
}

/// A program that is there still keeps what it wanted, however long that is.
#[tokio::test]
async fn nothing_is_put_back_while_the_program_is_there() {
    let world = World::with(impatient()).await;
    let session = world.session(ApprovalMode::Ask).await;
    let mut desk = world.client("desk").await;
    desk.subscribe(&session, 0, "environment").await;
    set_mode(&mut desk, &session, "auto").await;
    let mut other = world.client("other").await;
    other.subscribe(&session, 0, "environment").await;
    drop(other);
    // Longer than who is gone is waited for, and than the server looks for them.
    for said in ["run echo one", "run echo two", "count to 150"] {
        desk.say(&session, said).await;
        desk.find(|frame| frame["event"] == "stream_end").await;
    }
    assert!(!desk.aside.iter().any(is_mode("ask")));
    world.end().await;
}
