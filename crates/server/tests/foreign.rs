//! Frames of a member about what is not theirs, frames that make no sense, and values at the edge of what is
//! taken.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

use agentx_types::{ApprovalMode, SessionId};
use serde_json::{Value, json};

use crate::support::*;

/// Frames about the session of somebody else, in which a call waits.
fn about(session: &str, call: &Value, own: &SessionId) -> Vec<(&'static str, Value)> {
    let command = |name: &str, args: Value| {
        let command = json!({"session_id": session, "command": name, "args": args});
        ("system_command", command)
    };
    let person = json!({"person": own, "client": "laptop"});
    vec![
        ("subscribe", json!({"session_id": session})),
        (
            "subscribe",
            json!({"session_id": session, "view": "environment", "after_seq": 0}),
        ),
        ("subscribe", json!({"session_id": session, "after_seq": u64::MAX})),
        ("user_message", json!({"session_id": session, "content": "hello"})),
        (
            "user_message",
            json!({"session_id": session, "content": "hello", "idempotency_key": "of-bob"}),
        ),
        (
            "user_message",
            json!({"session_id": session, "content": "hello", "wheel_epoch": 0}),
        ),
        (
            "approval",
            json!({"session_id": session, "tool_call_id": call, "decision": "once"}),
        ),
        (
            "approval",
            json!({"session_id": session, "tool_call_id": call, "decision": "deny"}),
        ),
        ("interrupt", json!({"session_id": session})),
        ("wheel", json!({"session_id": session, "wish": "take"})),
        ("wheel", json!({"session_id": session, "wish": {"hand": person}})),
        command("rename", json!({"title": "mine"})),
        command("change", json!({"change": {"approval": "auto"}})),
        command("share", json!({"person": "own_visitors", "role": "watch"})),
        command("restore", json!({"wish": {"to_seq": 1, "files": []}})),
        command("revise", json!({"message_id": "msg_1"})),
        command("context", json!({"wish": {"condense": {}}})),
        command("ran", json!({"command": "ls", "output": "", "how": "exit 0"})),
        command("retry", Value::Null),
    ]
}

/// A member gets the same answer for another person's session and for none at all, and nothing happens in the
/// session.
#[tokio::test]
async fn no_frame_of_a_member_reaches_a_session_of_another() {
    let world = World::new().await;
    let ((ann, ann_id), (bob, bob_id)) = (world.member("ann"), world.member("bob"));
    let own = world.session_of(&ann_id, ApprovalMode::Ask).await;
    let of_bob = world.session_of(&bob_id, ApprovalMode::Ask).await;
    let mut bob = world.client_of(&bob, "laptop").await;
    bob.subscribe(&of_bob, 0, "runtime").await;
    let said = json!({"session_id": of_bob, "content": "run touch made-up", "idempotency_key": "of-bob"});
    bob.accepted("user_message", said).await;
    let asked = bob.find(|frame| frame["event"] == "approval_requested").await;
    let call = &asked["payload"]["tool_call_id"];
    let before = world
        .state
        .open(&of_bob)
        .await
        .unwrap()
        .state()
        .await
        .unwrap()
        .last_seq;
    let mut ann = world.client_of(&ann, "laptop").await;
    let of_operator = world.session(ApprovalMode::Ask).await;
    let spaced = format!(" {of_bob}");
    let turned = format!("\u{202e}{of_bob}");
    let long = format!("{of_bob}{}", "0".repeat(100_000));
    let others = [
        of_bob.as_str(),
        of_operator.as_str(),
        "ses_0000000000000000",
        "",
        &spaced,
        &turned,
        &long,
    ];
    for session in others {
        for (kind, payload) in about(session, call, &own) {
            let code = ann.refused(kind, payload).await;
            assert_eq!(code, "no_session", "{kind} {:.40}", session);
        }
    }
    let after = world.state.open(&of_bob).await.unwrap().state().await.unwrap();
    assert_eq!((after.last_seq, after.pending_approvals.len()), (before, 1));
    let told = |frame: &Value| frame.to_string().contains(of_bob.as_str()) && frame["event"] != "refused";
    assert!(!ann.aside.iter().any(told));
    // The same key is another message in her own session.
    let said = json!({"session_id": own, "content": "hello", "idempotency_key": "of-bob"});
    let first = ann.accepted("user_message", said.clone()).await["seq"].clone();
    assert_eq!(ann.accepted("user_message", said).await["seq"], first);
    world.end().await;
}

/// A frame that makes no sense is refused, whatever came before it, and the connection continues.
#[tokio::test]
async fn frames_that_make_no_sense_are_refused_one_by_one() {
    let world = World::new().await;
    let (session, mut desk) = world.desk(ApprovalMode::Ask).await;
    let nested = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let id = session.as_str();
    let frames = [
        "".to_owned(),
        "null".to_owned(),
        "[]".to_owned(),
        "{}".to_owned(),
        "{\"type\":\"subscribe\"}".to_owned(),
        format!(r#"{{"type":"subscribe","id":"x","payload":{nested}}}"#),
        format!(r#"{{"type":"subscribe","id":"x","payload":{{"session_id":"{id}","session_id":"ses_1"}}}}"#),
        format!(r#"{{"type":"subscribe","id":"x","id":"y","payload":{{"session_id":"{id}"}}}}"#),
        format!(r#"{{"type":"subscribe","id":"x","payload":{{"session_id":"{id}","after_seq":-1}}}}"#),
        format!(r#"{{"type":"subscribe","id":"x","payload":{{"session_id":"{id}","after_seq":1e400}}}}"#),
        format!(
            r#"{{"type":"subscribe","id":"x","payload":{{"session_id":"{id}","after_seq":18446744073709551616}}}}"#
        ),
        format!(r#"{{"type":"subscribe","id":"x","payload":{{"session_id":"{id}","view":"Runtime"}}}}"#),
        format!(r#"{{"type":"subscribe","id":7,"payload":{{"session_id":"{id}"}}}}"#),
        format!(
            r#"{{"type":"subscribe","id":"{}","payload":{{"session_id":"{id}"}}}}"#,
            "x".repeat(65)
        ),
        format!(r#"{{"type":"user_message","id":"x","payload":{{"session_id":"{id}","content":"\ud800"}}}}"#),
        format!(r#"{{"type":"user_message","id":"x","payload":{{"session_id":"{id}"}}}}"#),
        format!(
            r#"{{"type":"wheel","id":"x","payload":{{"session_id":"{id}","wish":{{"take":true,"release":1}}}}}}"#
        ),
        format!(r#"{{"type":"approval","id":"x","payload":{{"session_id":"{id}","decision":"once"}}}}"#),
        r#"{"type":"hello","id":"x","payload":{}}"#.to_owned(),
        r#"{"type":"authenticate","id":"x","payload":{"client":"again"}}"#.to_owned(),
        format!(r#"{{"type":"unsubscribe","id":"x","payload":{{"session_id":"{id}"}}}}"#),
    ];
    for frame in frames {
        desk.raw(frame.clone()).await;
        let refused = desk.notice("refused").await;
        let code = refused["payload"]["problem"]["code"].as_str().unwrap();
        assert!(
            ["bad_frame", "unknown_type", "refused"].contains(&code),
            "{code}: {frame:.100}"
        );
    }
    desk.accepted("ping", json!({})).await;
    world.end().await;
}

/// A limited value is accepted up to its limit, counted in characters, and not beyond.
#[tokio::test]
async fn limits_are_taken_up_to_their_edge() {
    let world = World::new().await;
    let (session, mut desk) = world.desk(ApprovalMode::Ask).await;
    let title = |length: usize| {
        let args = json!({"title": "好".repeat(length)});
        (
            "system_command",
            json!({"session_id": session, "command": "rename", "args": args}),
        )
    };
    let key = |length: usize| {
        let key = "é".repeat(length);
        (
            "user_message",
            json!({"session_id": session, "content": "hello", "idempotency_key": key}),
        )
    };
    for ((kind, payload), is_taken) in [
        (title(200), true),
        (title(201), false),
        (key(255), true),
        (key(256), false),
        (key(0), false),
    ] {
        let answer = desk.ask(kind, payload).await;
        assert_eq!(answer["event"] == "accepted", is_taken, "{answer}");
    }
    let seat = "\u{202e}\u{7}好";
    let hand = json!({"session_id": session, "wish": {"hand": {"person": "own_nobody", "client": seat}}});
    assert_eq!(desk.refused("wheel", hand).await, "refused");
    world.end().await;
}
