//! A request whose answer was lost is sent again, with the same key. It is carried out once, whatever
//! happened in between and whichever server gets it.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

use agentx_types::{ApprovalMode, SessionId};
use serde_json::{Value, json};

use crate::support::*;

/// A frame with the key that its kind and name make.
fn frame(session: &SessionId, kind: &str, command: &str, args: &Value) -> Value {
    let key = format!("key {kind} {command}");
    match kind {
        "interrupt" => json!({"session_id": session, "idempotency_key": key}),
        _ => {
            let name = command.split(' ').next();
            json!({"session_id": session, "command": name, "args": args, "idempotency_key": key})
        }
    }
}

/// Every request with a key but messages and files to restore, and the fact that it becomes. The first input
/// is at work, and the other one waits.
fn requests(
    person: &str,
    (first, later): (&str, &str),
) -> Vec<(&'static str, &'static str, Value, &'static str)> {
    let command = |name, args, fact| ("system_command", name, args, fact);
    vec![
        command("rename", json!({"title": "made up"}), "session_titled"),
        command(
            "ran",
            json!({"command": "ls", "output": "a.txt", "how": "exit 0"}),
            "command_ran",
        ),
        command(
            "share",
            json!({"person": person, "role": "watch"}),
            "access_changed",
        ),
        command("context", json!({"wish": {"condense": {}}}), "condense_requested"),
        command(
            "context pin",
            json!({"wish": {"pin": {"message_id": first, "pinned": true}}}),
            "input_pinned",
        ),
        command("revise", json!({"message_id": later}), "input_revised"),
        ("interrupt", "", Value::Null, "interrupt_requested"),
        command("retry", json!({}), "user_message"),
        command(
            "change",
            json!({"change": {"approval": "deny"}}),
            "config_changed",
        ),
    ]
}

/// The number of facts of each kind in a session.
async fn facts(world: &World, session: &SessionId, fact: &str) -> usize {
    let mut reader = world.client("reader").await;
    reader.subscribe(session, 0, "environment").await;
    reader.until(|frame| frame["event"] == "caught_up").await;
    reader.aside.iter().filter(|frame| frame["event"] == fact).count()
}

#[tokio::test]
async fn each_request_that_comes_twice_is_carried_out_once_at_the_next_server_too() {
    let world = World::new().await;
    let (session, mut desk) = world.desk(ApprovalMode::Ask).await;
    let (_, bob) = world.member("bob");
    desk.subscribe(&session, 0, "environment").await;
    let first = desk.say(&session, "run touch made-up").await;
    desk.find(|frame| frame["event"] == "tool_call").await;
    let later = desk.say(&session, "later").await;
    let inputs = (format!("msg_{first}"), format!("msg_{later}"));
    let requests = requests(bob.as_str(), (&inputs.0, &inputs.1));
    let mut sent = Vec::new();
    for (kind, command, args, fact) in &requests {
        let frame = frame(&session, kind, command, args);
        let before = facts(&world, &session, fact).await;
        let first = desk.accepted(kind, frame.clone()).await["seq"].clone();
        let again = desk.accepted(kind, frame.clone()).await["seq"].clone();
        assert_eq!(first, again, "{kind} {command}");
        assert_eq!(
            facts(&world, &session, fact).await,
            before + 1,
            "{kind} {command}"
        );
        if *kind == "interrupt" {
            desk.find(|frame| frame["event"] == "interrupted").await;
        }
        sent.push((kind, frame, first));
    }
    drop(desk);
    let world = World::again(world.end().await, options()).await;
    let mut before = Vec::new();
    for (.., fact) in &requests {
        before.push(facts(&world, &session, fact).await);
    }
    let mut desk = world.client("desk").await;
    for (kind, frame, first) in sent {
        assert_eq!(desk.accepted(kind, frame.clone()).await["seq"], first, "{frame}");
    }
    for ((.., fact), before) in requests.iter().zip(before) {
        assert_eq!(facts(&world, &session, fact).await, before, "{fact}");
    }
}

#[tokio::test]
async fn an_interrupt_that_comes_late_stops_no_later_run_and_a_key_is_a_persons_own() {
    let world = World::new().await;
    let mut two = world.desk_and_laptop(ApprovalMode::Ask, "drive").await;
    let stop = frame(&two.session, "interrupt", "", &Value::Null);
    // Nothing runs yet.
    let first = two.desk.accepted("interrupt", stop.clone()).await;
    two.desk.subscribe(&two.session, 0, "environment").await;
    two.desk.say(&two.session, "run touch made-up").await;
    two.desk.find(|frame| frame["event"] == "tool_call").await;
    let again = two.desk.accepted("interrupt", stop.clone()).await;
    assert_eq!(first["seq"], again["seq"]);
    assert_eq!(facts(&world, &two.session, "interrupt_requested").await, 0);
    let wheel = json!({"session_id": two.session, "wish": "release"});
    two.desk.accepted("wheel", wheel).await;
    two.laptop.accepted("interrupt", stop).await;
    assert_eq!(
        facts(&world, &two.session, "interrupt_requested").await,
        1,
        "of another person"
    );
}
