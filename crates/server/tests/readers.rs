//! A reader of a session has nothing run in it, and misses nothing of what others do there later.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

use agentx_types::VISITORS;
use serde_json::{Value, json};

use crate::support::*;

/// Every frame that is about a session, but those that read it.
fn frames(session: &str) -> Vec<(&'static str, Value)> {
    let command = |name: &str, args: Value| {
        let command = json!({"session_id": session, "command": name, "args": args});
        ("system_command", command)
    };
    vec![
        ("user_message", json!({"session_id": session, "content": "hello"})),
        (
            "approval",
            json!({"session_id": session, "tool_call_id": "call_1", "decision": "once"}),
        ),
        ("interrupt", json!({"session_id": session})),
        ("wheel", json!({"session_id": session, "wish": "take"})),
        command("rename", json!({"title": "mine"})),
        command("change", json!({"change": {"approval": "auto"}})),
        command("share", json!({"person": "own_nobody", "role": "watch"})),
        command("restore", json!({"wish": {"to_seq": 1, "files": []}})),
        command("revise", json!({"message_id": "msg_1"})),
        command("context", json!({"wish": {"condense": {}}})),
        command("ran", json!({"command": "ls", "output": "", "how": "exit 0"})),
        command("retry", Value::Null),
    ]
}

/// A run was cut off. Bob and a visitor look, in every view and with every frame: nothing continues. Then the
/// owner comes, and what they have read is the whole log, each fact once.
#[test]
fn who_only_reads_has_nothing_run_and_reads_on_when_somebody_acts() {
    let data = std::sync::Arc::new(tempfile::tempdir().unwrap());
    let bob = agentx_identity::SecretKey::generate().unwrap();
    let bob_id = agentx_identity::owner_of(bob.public_key());
    let session = cut_off(
        &settings(data.path()),
        &"own_local".into(),
        &[bob_id.as_str(), VISITORS],
    );
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let mut open = options();
        open.allow_visitors = true;
        let world = World::again(data, open).await;
        world.trust("bob", &bob);
        let (node, counts) = (world.state.runtime(), world.state.counts());
        let before = node.info(&session).await.unwrap().last_seq;
        let mut readers = Vec::new();
        for view in ["environment", "runtime", "ui"] {
            let at_laptop = world.client_of(&bob, view).await;
            for mut reader in [at_laptop, world.visitor(view).await] {
                let subscribed = reader.subscribe(&session, 0, view).await;
                assert_eq!(subscribed["role"], "watch");
                reader.notice("caught_up").await;
                for (kind, payload) in frames(session.as_str()) {
                    assert_eq!(reader.refused(kind, payload.clone()).await, "denied", "{payload}");
                }
                readers.push((view, reader));
            }
        }
        assert_eq!(counts.opened.get(), 0, "nobody has opened it");
        assert_eq!(node.info(&session).await.unwrap().last_seq, before);

        let mut desk = world.client("desk").await;
        desk.subscribe(&session, 0, "runtime").await;
        assert_eq!(counts.opened.get(), 1);
        let meant = desk.events_until("run_finished").await;
        let end = meant.last().unwrap()["seq"].clone();
        for (view, mut reader) in readers {
            if view == "environment" {
                let last = reader.find(|frame| frame["seq"] == end).await;
                let mut seen = seqs(
                    &reader
                        .aside
                        .extract_if(.., |frame| frame["seq"].is_u64())
                        .collect::<Vec<_>>(),
                );
                seen.push(last["seq"].as_u64().unwrap());
                assert_eq!(seen, (1..=end.as_u64().unwrap()).collect::<Vec<_>>());
                continue;
            }
            let seen = reader.events_until("run_finished").await;
            if view == "runtime" {
                assert_eq!(seen, meant);
            }
            let places: Vec<(u64, u64)> = seen.iter().map(place).collect();
            assert!(places.windows(2).all(|two| two[0] < two[1]), "{view}: {places:?}");
        }
        world.end().await;
    });
}

fn place(frame: &Value) -> (u64, u64) {
    (frame["seq"].as_u64().unwrap(), frame["index"].as_u64().unwrap())
}
