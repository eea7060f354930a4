//! A conversation over the WebSocket: chat, a call of a tool, commands, two tabs, and reconnecting.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

use serde_json::{Value, json};

use crate::support::{NexusWorld, events, words};

#[tokio::test]
async fn a_client_chats_and_hears_the_frames_of_nexus() {
    let world = NexusWorld::new().await;
    let ann = world.member("ann").await;
    let path = format!("/api/v1/ws/{}", ann.id);
    let mut client = world.socket(&path, Some(&ann.token)).await;
    let first = client.next().await.unwrap();
    assert_eq!(
        (&first["event"], &first["payload"]),
        (&json!("connection_state"), &json!({"visitor": false}))
    );
    client.say("echo good morning").await;
    let frames = client.until("run_finished").await;
    let names = events(&frames);
    assert_eq!(names.first(), Some(&"run_started"), "{frames:?}");
    assert_eq!(words(&frames), "good morning");
    assert_eq!(
        frames[0]["payload"],
        json!({"owner_key": ann.id, "user_input": "echo good morning"})
    );
    let run = frames[0]["run_id"].as_str().unwrap();
    assert!(run.starts_with("run_"), "{run}");
    assert!(frames.iter().all(|frame| frame["run_id"] == run), "{frames:?}");
    let chunks: Vec<&Value> = frames
        .iter()
        .filter(|frame| frame["event"] == "text_chunk")
        .collect();
    assert!(chunks.iter().all(|chunk| chunk["payload"]["role"] == "AI"));
    assert_eq!(chunks.last().unwrap()["payload"]["is_final"], true);
    assert_eq!(
        frames.last().unwrap()["payload"],
        json!({"status": "completed", "outcome": "completed"})
    );
    // A ping has no answer; the next frame is that of the command.
    client.send(&json!({"type": "ping"})).await;
    let pong = client.command("/ping").await;
    assert_eq!(
        (&pong["command"], &pong["result"]["message"]),
        (&json!("/ping"), &json!("pong"))
    );
    world.end().await;
}

/// NEXUS sends no id, so two calls of one tool at once cannot be told apart.
#[tokio::test]
async fn two_calls_of_one_tool_are_told_apart_by_their_ids() {
    let world = NexusWorld::new().await;
    let ann = world.member("ann").await;
    let mut client = world
        .socket(&format!("/api/v1/ws/{}", ann.id), Some(&ann.token))
        .await;
    client.say("read a.md and b.md").await;
    let frames = client.until("run_finished").await;
    let of = |event: &str| -> Vec<&Value> {
        frames
            .iter()
            .filter(|frame| frame["event"] == event)
            .map(|frame| &frame["payload"])
            .collect()
    };
    let (started, finished) = (of("tool_call_started"), of("tool_call_finished"));
    assert_eq!((started.len(), finished.len()), (2, 2), "{frames:?}");
    assert_ne!(started[0]["tool_call_id"], started[1]["tool_call_id"]);
    for call in started {
        assert_eq!(call["tool_name"], "read");
        assert!(call["args"]["path"].is_string(), "{call}");
        let id = &call["tool_call_id"];
        let end = finished.iter().find(|end| end["tool_call_id"] == *id).unwrap();
        // There are no such files.
        assert_eq!(
            (&end["tool_name"], &end["status"]),
            (&json!("read"), &json!("error"))
        );
        assert!(!end["result"].as_str().unwrap().is_empty());
    }
    world.end().await;
}

/// The scripted model repeats its input, with the note about the time that the server makes of the fields.
#[tokio::test]
async fn the_model_reads_the_time_of_the_client_with_the_sign_of_nexus() {
    let world = NexusWorld::new().await;
    let ann = world.member("ann").await;
    let mut client = world.socket("/api/v1/ws/0x1", Some(&ann.token)).await;
    client.next().await.unwrap();
    for (offset, local) in [(-480, "18:00:00+08:00"), (300, "05:00:00-05:00")] {
        let payload = json!({
            "content": "echo hello", "client_timestamp_utc": "2025-10-12T10:00:00Z",
            "client_timezone_offset": offset,
        });
        client
            .send(&json!({"type": "user_message", "payload": payload}))
            .await;
        let frames = client.until("run_finished").await;
        let read = words(&frames);
        assert!(read.contains(&format!("2025-10-12 {local}")), "{read}");
        assert_eq!(frames[0]["payload"]["user_input"], "echo hello");
    }
    world.end().await;
}

#[tokio::test]
async fn commands_answer_with_command_result() {
    let world = NexusWorld::new().await;
    let ann = world.member("ann").await;
    let mut client = world.socket("/api/v1/ws/0xAbC", Some(&ann.token)).await;
    let identity = client.command("/identity").await;
    assert_eq!(identity["result"]["data"]["public_key"], json!(ann.id));
    let help = client.command("help").await;
    let names: Vec<&str> = help["result"]["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|command| command["name"].as_str().unwrap())
        .collect();
    for name in [
        "help", "clear", "theme", "ping", "identity", "config", "prompt", "history",
    ] {
        assert!(names.contains(&name), "{name} {names:?}");
    }
    for (line, said) in [
        ("/identity delete", "agentx identity untrust"),
        ("/clear", "your own program"),
        ("/config", "/api/v1/config"),
        ("/retry", "unknown command"),
        ("/nonsense", "unknown command"),
    ] {
        let refused = client.command(line).await;
        assert_eq!(refused["result"]["status"], "error", "{refused}");
        let message = refused["result"]["message"].as_str().unwrap();
        assert!(message.contains(said), "{message}");
    }
    world.end().await;
}

/// In NEXUS the second tab takes the events of the first one.
#[tokio::test]
async fn two_tabs_hear_the_same_conversation() {
    let world = NexusWorld::new().await;
    let ann = world.member("ann").await;
    let path = format!("/api/v1/ws/{}", ann.id);
    let mut one = world.socket(&path, Some(&ann.token)).await;
    let mut other = world.socket(&path, Some(&ann.token)).await;
    for tab in [&mut one, &mut other] {
        // The answer comes when the tab follows the conversation.
        tab.command("/ping").await;
    }
    one.say("echo one").await;
    let first = one.until("run_finished").await;
    assert_eq!(other.until("run_finished").await, first);
    other.say("echo two").await;
    let second = one.until("run_finished").await;
    assert_eq!(words(&second), "two");
    assert_eq!(other.until("run_finished").await, second);
    world.end().await;
}

#[tokio::test]
async fn a_client_that_was_cut_off_continues_after_its_last_frame() {
    let world = NexusWorld::new().await;
    let ann = world.member("ann").await;
    let path = format!("/api/v1/ws/{}", ann.id);
    let mut client = world.socket(&path, Some(&ann.token)).await;
    client.next().await.unwrap();
    client.say("count to 5").await;
    let whole = client.until("run_finished").await;
    drop(client);
    for seen in [0, 1, whole.len() - 2] {
        let id = whole[seen]["id"].as_str().unwrap();
        let mut client = world
            .socket(&format!("{path}?after={id}"), Some(&ann.token))
            .await;
        let mut rest = client.until("run_finished").await;
        assert_eq!(rest.remove(0)["event"], "connection_state");
        assert_eq!(rest, whole[seen + 1..], "after {id}");
    }
    // Without a place, only what happens from now on comes.
    let mut client = world.socket(&path, Some(&ann.token)).await;
    client.say("echo later").await;
    let frames = client.until("run_finished").await;
    assert_eq!(events(&frames)[..2], ["connection_state", "run_started"]);
    assert_eq!(words(&frames), "later");
    world.end().await;
}

#[tokio::test]
async fn a_call_that_waits_is_decided_and_a_run_is_stopped() {
    let world = NexusWorld::new().await;
    let ann = world.member("ann").await;
    let mut client = world
        .socket(&format!("/api/v1/ws/{}", ann.id), Some(&ann.token))
        .await;
    // Members may not allow a command of theirs; they may refuse it.
    client.say("run ls").await;
    let frames = client.until("approval_requested").await;
    let asked = &frames.last().unwrap()["payload"];
    assert_eq!(asked["tool_name"], "bash", "{asked}");
    let decision = json!({"tool_call_id": asked["tool_call_id"], "decision": "once"});
    client
        .send(&json!({"type": "approval", "payload": decision}))
        .await;
    let refused = client.until("error").await;
    assert_eq!(refused.last().unwrap()["payload"]["details"], "denied");
    let decision = json!({"tool_call_id": asked["tool_call_id"], "decision": "deny"});
    client
        .send(&json!({"type": "approval", "payload": decision}))
        .await;
    client.until("run_finished").await;
    client.say("run ls").await;
    client.until("approval_requested").await;
    client.send(&json!({"type": "interrupt"})).await;
    let end = client.until("run_finished").await;
    assert_eq!(
        end.last().unwrap()["payload"],
        json!({"status": "error", "outcome": "interrupted"})
    );
    world.end().await;
}

#[tokio::test]
async fn a_deleted_conversation_is_followed_by_a_new_one() {
    let world = NexusWorld::new().await;
    let ann = world.member("ann").await;
    let path = format!("/api/v1/ws/{}", ann.id);
    let mut client = world.socket(&path, Some(&ann.token)).await;
    client.say("echo one").await;
    client.until("run_finished").await;
    let sessions = world.get("/v1/sessions", Some(&ann.token)).await.json();
    let session = &sessions["items"][0];
    assert_eq!(session["title"], "NEXUS");
    let gone = format!("/v1/sessions/{}", session["session_id"].as_str().unwrap());
    let deleted = world.ask("DELETE", &gone, Some(&ann.token), None, &[]).await;
    assert_eq!(deleted.status, 204);
    assert_eq!(client.closed().await.0, 1013);
    // The session is remembered, but gone.
    let messages = world.get("/api/v1/messages", Some(&ann.token)).await.json();
    assert_eq!(messages, json!([]));
    let mut client = world.socket(&path, Some(&ann.token)).await;
    client.say("echo two").await;
    assert_eq!(words(&client.until("run_finished").await), "two");
    world.end().await;
}
