//! Subscriptions: replay and live as one stream, views, resumption, and what belongs to none.
#![allow(
    missing_docs,
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests"
)]

use crate::support::*;
use agentx_runtime::Runtime as _;
use agentx_types::ApprovalMode;
use serde_json::{Value, json};

#[tokio::test]
async fn a_session_is_seen_from_its_first_event_and_goes_on() {
    let world = World::new().await;
    let (session, mut desk) = world.desk(ApprovalMode::Auto).await;
    desk.say(&session, "echo one").await;
    let subscribed = desk.subscribe(&session, 0, "environment").await;
    assert_eq!(subscribed["role"], "own");
    assert_eq!(subscribed["after_seq"], 0);
    let first = desk.events_until("stream_end").await;
    assert_eq!(first[0]["event"], "session_opened");
    desk.say(&session, "echo two").await;
    let second = desk.events_until("stream_end").await;
    let all: Vec<u64> = seqs(&first).into_iter().chain(seqs(&second)).collect();
    let last = *all.last().unwrap();
    assert_eq!(
        all,
        (1..=last).collect::<Vec<_>>(),
        "dense, without a gap or a double"
    );
    let caught_up = desk
        .aside
        .iter()
        .find(|frame| frame["event"] == "caught_up")
        .expect("it is said once");
    assert_eq!(caught_up["payload"]["seq"], subscribed["head_seq"]);
    world.end().await;
}

#[tokio::test]
async fn whoever_comes_back_gets_what_came_after() {
    let world = World::new().await;
    let (session, mut desk) = world.desk(ApprovalMode::Auto).await;
    desk.subscribe(&session, 0, "environment").await;
    desk.say(&session, "echo one").await;
    let all = desk.events_until("stream_end").await;
    for after in [1, 3, all.len() as u64 - 1] {
        let mut other = world.client("other").await;
        let subscribed = other.subscribe(&session, after, "environment").await;
        let head = subscribed["head_seq"].as_u64().unwrap();
        let caught_up = other.notice("caught_up").await;
        assert_eq!(caught_up["payload"]["seq"], head);
        let seen: Vec<u64> = seqs(
            &other
                .aside
                .iter()
                .filter(|f| f["seq"].is_u64())
                .cloned()
                .collect::<Vec<_>>(),
        );
        assert_eq!(seen, (after + 1..=head).collect::<Vec<_>>());
    }
    let ahead = desk_of(&world)
        .await
        .refused(
            "subscribe",
            json!({"session_id": session, "after_seq": 10_000, "view": "environment"}),
        )
        .await;
    assert_eq!(ahead, "refused");
    world.end().await;
}

async fn desk_of(world: &World) -> Client {
    world.client("desk").await
}

#[tokio::test]
async fn each_view_shows_the_same_live_and_replayed() {
    let world = World::new().await;
    let session = world.session(ApprovalMode::Auto).await;
    let mut frames: Vec<Vec<Value>> = Vec::new();
    for (view, last) in [("runtime", "run_finished"), ("ui", "run_finished")] {
        let mut live = world.client("live").await;
        live.subscribe(&session, 0, view).await;
        live.say(&session, "run echo hi").await;
        let seen = live.events_until(last).await;
        let mut later = world.client("later").await;
        later.subscribe(&session, 0, view).await;
        let again = later.events_until(last).await;
        assert_eq!(seen[..again.len()], again[..], "{view}");
        frames.push(seen);
    }
    let places = |frames: &[Value]| -> Vec<(u64, u64)> {
        let place = |frame: &Value| (frame["seq"].as_u64().unwrap(), frame["index"].as_u64().unwrap());
        frames.iter().map(place).collect()
    };
    for seen in &frames {
        let places = places(seen);
        assert!(places.is_sorted() && places.windows(2).all(|two| two[0] != two[1]));
    }
    let ui = tags(&frames[1]);
    for tag in [
        "run_started",
        "text_chunk",
        "tool_call_started",
        "tool_call_finished",
        "run_finished",
    ] {
        assert!(ui.contains(&tag), "{tag} in {ui:?}");
    }
    world.end().await;
}

#[tokio::test]
async fn a_simple_client_is_told_what_came_of_its_command() {
    let world = World::new().await;
    let (session, mut desk) = world.desk(ApprovalMode::Auto).await;
    desk.subscribe(&session, 0, "ui").await;
    let state = desk.notice("connection_state").await;
    assert_eq!(
        (&state["session_id"], &state["payload"]["visitor"]),
        (&json!(session), &json!(false))
    );
    let rename = json!({"session_id": session, "command": "rename", "args": {"title": "New"}});
    desk.accepted("system_command", rename).await;
    let result = desk
        .aside
        .iter()
        .find(|frame| frame["event"] == "command_result")
        .expect("it is an event too");
    assert_eq!(result["payload"]["result"]["status"], "success");
    let unknown = json!({"session_id": session, "command": "fly", "args": {}});
    assert_eq!(desk.refused("system_command", unknown).await, "unknown_command");
    world.end().await;
}

#[tokio::test]
async fn a_client_pings_and_asks_for_the_commands_over_its_connection() {
    let world = World::new().await;
    let (session, mut desk) = world.desk(ApprovalMode::Auto).await;
    desk.subscribe(&session, 0, "ui").await;
    let ask = |command: &str| json!({"session_id": session, "command": command, "args": {}});
    let pong = desk.accepted("system_command", ask("ping")).await;
    assert_eq!(pong["result"], json!({"pong": true}));
    let help = desk.accepted("system_command", ask("help")).await;
    let commands = help["result"].as_array().unwrap();
    assert!(
        commands.iter().any(|command| command["name"] == "config"),
        "{help}"
    );
    let results = desk
        .aside
        .iter()
        .filter(|frame| frame["event"] == "command_result");
    assert_eq!(results.count(), 2, "each is an event too");
    world.end().await;
}

#[tokio::test]
async fn nexus_7_two_tabs_of_one_person_hear_the_same_session() {
    let world = World::new().await;
    let (session, mut first) = world.desk(ApprovalMode::Auto).await;
    let mut second = world.client_of(&world.operator, "second-tab").await;
    for tab in [&mut first, &mut second] {
        tab.subscribe(&session, 0, "ui").await;
    }
    first.say(&session, "hello").await;
    let mut heard = Vec::new();
    for tab in [&mut first, &mut second] {
        let events = tab.events_until("run_finished").await;
        let tags = tags(&events).join(" ");
        let (run, _) = tags.split_once("run_finished").unwrap();
        heard.push(run.to_owned());
    }
    assert!(heard[0].contains("text_chunk"), "{heard:?}");
    assert_eq!(heard[0], heard[1], "neither takes it from the other");
    world.end().await;
}

#[tokio::test]
async fn files_go_back_by_a_command_and_what_came_of_it_is_told() {
    let world = World::new().await;
    let notes = world.data.path().join("notes.txt");
    std::fs::write(&notes, "one\nhello\n").unwrap();
    let (session, mut desk) = world.desk(ApprovalMode::Auto).await;
    desk.subscribe(&session, 0, "ui").await;
    let seq = desk.say(&session, "replace hello with bye in notes.txt").await;
    desk.events_until("run_finished").await;
    let plan = world.state.runtime().plan_restore(&session, seq).await.unwrap();
    let (path, seen) = (&plan.files[0].path, &plan.files[0].seen);
    let wish = json!({"to_seq": seq, "files": [{"path": path, "seen": seen}]});
    let restore = json!({"session_id": session, "command": "restore", "args": {"wish": wish}});
    let answer = desk.accepted("system_command", restore.clone()).await;
    assert_eq!(answer["result"]["restored"], json!([path]), "{answer}");
    assert_eq!(answer["result"]["seq"], answer["seq"], "it is on record");
    assert_eq!(std::fs::read_to_string(&notes).unwrap(), "one\nhello\n");
    let event = desk.find(|frame| frame["event"] == "command_result").await;
    assert_eq!(event["payload"]["result"]["data"], answer["result"]);
    world.end().await;
}

#[tokio::test]
async fn a_message_that_is_sent_twice_is_one_message() {
    let world = World::new().await;
    let (session, mut desk) = world.desk(ApprovalMode::Auto).await;
    let message = json!({"session_id": session, "content": "echo once", "idempotency_key": "k1"});
    let first = desk.accepted("user_message", message.clone()).await["seq"].clone();
    drop(desk);
    let mut again = world.client("desk").await;
    assert_eq!(again.accepted("user_message", message).await["seq"], first);
    again.subscribe(&session, 0, "environment").await;
    let events = again.events_until("stream_end").await;
    let said = tags(&events)
        .into_iter()
        .filter(|tag| *tag == "user_message")
        .count();
    assert_eq!(said, 1);
    world.end().await;
}

#[tokio::test]
async fn one_connection_has_many_subscriptions_and_one_of_each() {
    let mut options = options();
    options.limits.subscriptions = 2;
    let world = World::with(options).await;
    let mut sessions = Vec::new();
    for _ in 0..3 {
        sessions.push(world.session(ApprovalMode::Auto).await);
    }
    let mut desk = world.client("desk").await;
    desk.subscribe(&sessions[0], 0, "environment").await;
    desk.subscribe(&sessions[1], 0, "runtime").await;
    let subscribe = |index: usize| json!({"session_id": sessions[index], "view": "ui"});
    assert_eq!(desk.refused("subscribe", subscribe(0)).await, "refused");
    assert_eq!(desk.refused("subscribe", subscribe(2)).await, "too_many");
    desk.accepted("unsubscribe", json!({"session_id": sessions[0]}))
        .await;
    let twice = desk
        .refused("unsubscribe", json!({"session_id": sessions[0]}))
        .await;
    assert_eq!(twice, "refused");
    desk.subscribe(&sessions[2], 0, "ui").await;
    desk.say(&sessions[0], "echo unseen").await;
    desk.say(&sessions[2], "echo seen").await;
    desk.aside.clear();
    let events = desk.events_until("run_finished").await;
    assert!(
        events
            .iter()
            .all(|event| event["session_id"] != json!(sessions[0]))
    );
    world.end().await;
}

#[tokio::test]
async fn a_session_is_put_away_when_idle_and_opened_again() {
    let mut options = options();
    options.limits.idle = std::time::Duration::from_millis(50);
    options.limits.heartbeat = std::time::Duration::from_millis(10);
    let world = World::with(options).await;
    let (session, mut desk) = world.desk(ApprovalMode::Auto).await;
    desk.subscribe(&session, 0, "environment").await;
    desk.say(&session, "echo one").await;
    desk.events_until("stream_end").await;
    assert_eq!(world.state.rooms().open_rooms(), 1);
    desk.accepted("unsubscribe", json!({"session_id": session})).await;
    within(async {
        while world.state.rooms().open_rooms() > 0 {
            desk.notice("ping").await;
        }
    })
    .await;
    desk.subscribe(&session, 0, "environment").await;
    desk.say(&session, "echo two").await;
    let mut events = desk.events_until("stream_end").await;
    events.extend(desk.events_until("stream_end").await);
    let tags = tags(&events);
    let writers = tags.iter().filter(|tag| **tag == "writer_attached").count();
    assert!(writers >= 2, "{tags:?}");
    world.end().await;
}

#[tokio::test]
async fn a_deleted_session_is_gone_for_who_reads_it() {
    let world = World::new().await;
    let (session, mut desk) = world.desk(ApprovalMode::Auto).await;
    desk.subscribe(&session, 0, "environment").await;
    let caller = agentx_server::Caller {
        name: None,
        person: "own_local".into(),
        operator: true,
        approver: false,
        visitor: false,
        line: "own_local".into(),
        seat: agentx_types::Seat {
            person: "own_local".into(),
            client: "http".into(),
        },
    };
    world.state.delete(&caller, &session).await.unwrap();
    let ended = desk.notice("unsubscribed").await;
    assert_eq!(ended["payload"]["problem"]["code"], "no_session");
    let say = json!({"session_id": session, "content": "echo"});
    assert_eq!(desk.refused("user_message", say).await, "no_session");
    world.end().await;
}
