//! Chat and the long stream as server-sent events.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

use serde_json::json;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

use crate::support::{NexusWorld, events, frames_in, within, words};

/// Reads a stream until it has this text.
async fn read_until(stream: &mut TcpStream, text: &str) -> String {
    let mut read = String::new();
    let mut piece = [0; 4096];
    while !read.contains(text) {
        let length = within(stream.read(&mut piece)).await.unwrap();
        assert!(length > 0, "no {text}: {read}");
        read.push_str(std::str::from_utf8(&piece[..length]).unwrap());
    }
    read
}

#[tokio::test]
async fn a_chat_streams_the_run_of_its_message_and_ends() {
    let world = NexusWorld::new().await;
    let ann = world.member("ann").await;
    let message =
        |words: &str| json!({"content": words, "client_timestamp_utc": "", "client_timezone_offset": 0});
    let reply = world
        .post("/api/v1/chat", Some(&ann.token), &message("echo hello"))
        .await;
    assert!(
        reply
            .head
            .to_lowercase()
            .contains("content-type: text/event-stream"),
        "{}",
        reply.head
    );
    assert!(
        reply.body.contains("event: run_started\ndata: "),
        "{}",
        reply.body
    );
    let frames = reply.frames();
    assert_eq!(events(&frames).first(), Some(&"run_started"));
    assert_eq!(events(&frames).last(), Some(&"run_finished"));
    assert_eq!(words(&frames), "hello");
    assert_eq!(frames[0]["payload"]["user_input"], "echo hello");
    // Each stream has its own run, also if the next message comes before the end.
    let (ask_one, ask_two) = (message("count to 20"), message("echo two"));
    let (one, two) = tokio::join!(
        world.post("/api/v1/chat", Some(&ann.token), &ask_one),
        world.post("/api/v1/chat", Some(&ann.token), &ask_two),
    );
    for (reply, input) in [(one, "count to 20"), (two, "echo two")] {
        let frames = reply.frames();
        assert_eq!(frames[0]["payload"]["user_input"], input, "{frames:?}");
        assert_eq!(frames.last().unwrap()["payload"]["status"], "completed");
        assert!(frames.iter().all(|frame| frame["run_id"] == frames[0]["run_id"]));
    }
    world.end().await;
}

/// The run ends with the fact that a person stopped it, and not with one of its own.
#[tokio::test]
async fn a_chat_ends_when_its_run_is_stopped() {
    let world = NexusWorld::new().await;
    let ann = world.member("ann").await;
    let message = json!({"content": "run ls"});
    let body = Some(message.to_string());
    let mut stream = world
        .send("POST", "/api/v1/chat", Some(&ann.token), body, &[])
        .await;
    let mut read = read_until(&mut stream, "approval_requested").await;
    let mut client = world.socket("/api/v1/ws/0x1", Some(&ann.token)).await;
    client.command("/ping").await;
    client.send(&json!({"type": "interrupt"})).await;
    read += &read_until(&mut stream, "run_finished").await;
    let mut rest = String::new();
    within(stream.read_to_string(&mut rest)).await.unwrap();
    assert!((read + &rest).contains("\"outcome\":\"interrupted\""));
    world.end().await;
}

/// Nothing else says so while an earlier run waits for a person.
#[tokio::test]
async fn a_chat_ends_when_its_message_is_taken_back() {
    let world = NexusWorld::new().await;
    let ann = world.member("ann").await;
    let (token, chat) = (Some(ann.token.as_str()), "/api/v1/chat");
    let say = |words: &str| Some(json!({"content": words}).to_string());
    let mut first = world.send("POST", chat, token, say("run ls"), &[]).await;
    read_until(&mut first, "approval_requested").await;
    let mut second = world.send("POST", chat, token, say("echo later"), &[]).await;
    let mut read = read_until(&mut second, "\r\n\r\n").await;
    let sessions = world.get("/v1/sessions", token).await.json();
    let session = format!(
        "/v1/sessions/{}",
        sessions["items"][0]["session_id"].as_str().unwrap()
    );
    let state = world.get(&format!("{session}/state"), token).await.json();
    let revision = json!({"message_id": state["queued"][0][0]}).to_string();
    let program = ["agentx-client: nexus"];
    let path = format!("{session}/revisions");
    let revised = world.ask("POST", &path, token, Some(revision), &program).await;
    assert_eq!(revised.status, 200, "{state} {revised:?}");
    within(second.read_to_string(&mut read)).await.unwrap();
    assert!(
        read.contains("event: error") && read.contains("not_run"),
        "{read}"
    );
    world.end().await;
}

/// NEXUS has no resumption; its page tells people to send the message again, which asks the model again.
#[tokio::test]
async fn a_chat_that_was_cut_off_continues_and_is_not_asked_again() {
    let world = NexusWorld::new().await;
    let ann = world.member("ann").await;
    let message = json!({"content": "count to 5", "idempotency_key": "k1"});
    let whole = world
        .post("/api/v1/chat", Some(&ann.token), &message)
        .await
        .frames();
    let last = format!("last-event-id: {}", whole[1]["id"].as_str().unwrap());
    let again = world
        .ask(
            "POST",
            "/api/v1/chat",
            Some(&ann.token),
            Some(message.to_string()),
            &[&last],
        )
        .await;
    assert_eq!(again.frames(), whole[2..]);
    let messages = world.get("/api/v1/messages", Some(&ann.token)).await.json();
    assert_eq!(messages.as_array().unwrap().len(), 2, "{messages}");
    world.end().await;
}

#[tokio::test]
async fn the_long_stream_begins_with_the_state_of_the_connection() {
    let world = NexusWorld::new().await;
    let ann = world.member("ann").await;
    let path = format!("/api/v1/stream/{}", ann.id);
    let mut stream = world.send("GET", &path, Some(&ann.token), None, &[]).await;
    let read = read_until(&mut stream, "\n\n").await;
    let frame = &frames_in(&read)[0];
    // NEXUS's code sends `{"visitor": …}`, its page a frame.
    assert_eq!(
        (&frame["visitor"], &frame["payload"]),
        (&json!(false), &json!({"visitor": false}))
    );
    let follow = format!("{path}?follow=true");
    let mut stream = world.send("GET", &follow, Some(&ann.token), None, &[]).await;
    read_until(&mut stream, "connection_state").await;
    world
        .post("/api/v1/chat", Some(&ann.token), &json!({"content": "echo hi"}))
        .await
        .frames();
    let read = read_until(&mut stream, "run_finished").await;
    assert!(read.contains("event: run_started"), "{read}");
    world.end().await;
}
