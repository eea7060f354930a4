//! The same over a WebSocket: frames of members and of those who drive, against calls that the operator
//! decides about. And settings that change while sessions are there.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::path::Path;

use agentx_identity::Keyring;
use agentx_types::{ApprovalMode, NanoUsd, SessionId};
use serde_json::{Value, json};

use crate::support::*;

fn all() -> Value {
    json!({"effect": "allow", "tool": "*"})
}

/// Frames that would let a call run, or the next one.
fn frames(session: &SessionId, call: &str) -> Vec<(&'static str, Value)> {
    let command = |command: &str, args: Value| {
        (
            "system_command",
            json!({"session_id": session, "command": command, "args": args}),
        )
    };
    let change = |change: Value| command("change", json!({ "change": change }));
    let answer = |more: Value| {
        let mut payload = json!({"session_id": session, "tool_call_id": call, "decision": "once"});
        payload
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        ("approval", payload)
    };
    vec![
        change(json!({"rules": []})),
        change(json!({"rules": [all()]})),
        change(json!({"rule_added": all()})),
        change(json!({"approval": "auto"})),
        change(json!({"guard": null})),
        change(json!({"server_rules": null})),
        change(json!({"server_rules": {"rules": [all()]}})),
        change(json!({"rules_version": 0})),
        change(json!({"tools": []})),
        command("approve", json!({"tool_call_id": call})),
        command("retry", json!({})),
        command("share", json!({"person": "own_local", "role": "own"})),
        answer(json!({})),
        answer(json!({"decision": "session"})),
        answer(json!({"decision": "always"})),
        answer(json!({"decision": "always", "rule": all()})),
        answer(json!({"rule": all()})),
        answer(json!({"by": "own_local", "limited": false})),
        answer(json!({"note": "the operator says yes"})),
        ("wheel", json!({"session_id": session, "wish": "take"})),
        answer(json!({})),
    ]
}

/// Has the agent want to make a file, and tries every frame; it must not be there.
async fn attacked(client: &mut Client, session: &SessionId, canary: &Path) {
    client.subscribe(session, 0, "runtime").await;
    client
        .say(session, &format!("run touch {}", canary.display()))
        .await;
    let asked = client.find(|frame| frame["event"] == "approval_requested").await;
    let call = asked["payload"]["tool_call_id"].as_str().unwrap().to_owned();
    for (kind, payload) in frames(session, &call) {
        client.ask(kind, payload.clone()).await;
        assert!(!canary.exists(), "{kind} {payload}");
    }
    let no = json!({"session_id": session, "tool_call_id": call, "decision": "deny"});
    client.accepted("approval", no).await;
    client.find(|frame| frame["event"] == "run_finished").await;
    assert!(!canary.exists());
}

/// Whatever the configuration of the session says: here it says that nobody is asked.
#[tokio::test]
async fn no_frame_of_a_member_lets_a_call_run_that_the_operator_decides() {
    let world = World::new().await;
    let (ann, ann_id) = world.member("ann");
    let session = world.session_of(&ann_id, ApprovalMode::Auto).await;
    let mut client = world.client_of(&ann, "laptop").await;
    attacked(&mut client, &session, &world.data.path().join("canary")).await;
    world.end().await;
}

#[tokio::test]
async fn no_frame_of_who_drives_lets_a_call_run_that_the_operator_decides() {
    let world = World::new().await;
    let Two {
        session, mut laptop, ..
    } = world.desk_and_laptop(ApprovalMode::Ask, "drive").await;
    attacked(&mut laptop, &session, &world.data.path().join("canary")).await;
    world.end().await;
}

/// A rule that the operator writes later holds in a session that was made before.
#[tokio::test]
async fn rules_of_the_settings_hold_in_sessions_that_are_older() {
    let world = World::new().await;
    let (ann, ann_id) = world.member("ann");
    let session = world.session_of(&ann_id, ApprovalMode::Ask).await;
    let canary = world.data.path().join("canary");
    let words = format!("run touch {}", canary.display());
    let mut client = world.client_of(&ann, "laptop").await;
    client.subscribe(&session, 0, "runtime").await;
    client.say(&session, &words).await;
    client.find(|frame| frame["event"] == "approval_requested").await;
    let data = world.end().await;
    let rule = json!({"effect": "deny", "tool": "bash", "argument": "touch *"});
    let rules = vec![serde_json::from_value(rule).unwrap()];
    let world = World::ruled(data, options(), rules).await;
    let mut client = world.client_of(&ann, "laptop").await;
    client.subscribe(&session, 0, "runtime").await;
    client.say(&session, &words).await;
    let is_denied = |frame: &Value| frame["event"] == "tool_failed" && frame["payload"]["status"] == "denied";
    client.find(is_denied).await;
    assert!(!canary.exists());
    world.end().await;
}

/// A rule that the operator writes while the server runs holds at once, in a session that is open.
#[tokio::test]
async fn rules_of_the_settings_hold_without_a_restart() {
    let world = World::new().await;
    let (ann, ann_id) = world.member("ann");
    let sessions = [
        world.session_of(&ann_id, ApprovalMode::Ask).await,
        world.session(ApprovalMode::Ask).await,
    ];
    let canary = world.data.path().join("canary");
    let words = format!("run touch {}", canary.display());
    let mut clients = [world.client_of(&ann, "laptop").await, world.client("desk").await];
    for (client, session) in clients.iter_mut().zip(&sessions) {
        client.subscribe(session, 0, "runtime").await;
    }
    let rule = json!({"effect": "deny", "tool": "bash", "argument": "touch *"});
    let mut settings = settings(world.data.path());
    let denies: Vec<agentx_types::Rule> = vec![serde_json::from_value(rule).unwrap()];
    settings.rules = denies.clone();
    world.state.renew(&settings).await;
    for (client, session) in clients.iter_mut().zip(&sessions) {
        client.say(session, &words).await;
        let is_denied =
            |frame: &Value| frame["event"] == "tool_failed" && frame["payload"]["status"] == "denied";
        client.find(is_denied).await;
    }
    settings.rules.clear();
    world.state.renew(&settings).await;
    for (client, session) in clients.iter_mut().zip(&sessions) {
        client.say(session, &words).await;
        client.find(|frame| frame["event"] == "approval_requested").await;
    }
    settings.rules = denies;
    world.state.renew(&settings).await;
    for client in &mut clients {
        let is_closed =
            |frame: &Value| frame["event"] == "tool_failed" && frame["payload"]["status"] == "denied";
        let closed = client.find(is_closed).await["payload"]["error"].to_string();
        assert!(closed.contains("it came while the call waited"), "{closed}");
        assert!(closed.contains("Not allowed: the rule"), "{closed}");
        assert!(
            !closed.contains("refused this call"),
            "nobody refused it: {closed}"
        );
    }
    assert!(!canary.exists());
    world.end().await;
}

/// A rule that is written into a file of the settings holds for the next call of a session that is open: the
/// session asks for it, before the server looks at its files by itself.
#[tokio::test]
async fn a_rule_in_a_changed_file_holds_for_the_next_call() {
    let data = std::sync::Arc::new(tempfile::tempdir().unwrap());
    let file = data.path().join("rules.json");
    std::fs::write(&file, "[]").unwrap();
    let (base, read) = (settings(data.path()), file.clone());
    let reload = agentx_server::reload_when_changed(vec![file.clone()], move || {
        let text = std::fs::read_to_string(&read).map_err(|error| error.to_string())?;
        let rules = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        Ok(agentx_config::Settings {
            rules,
            ..base.clone()
        })
    });
    let world = World::reloading(data, reload).await;
    let (session, mut desk) = world.desk(ApprovalMode::Auto).await;
    desk.subscribe(&session, 0, "runtime").await;
    let ended = |frame: &Value| {
        frame["event"] == "tool_failed" && frame["payload"]["status"] == "denied"
            || frame["event"] == "tool_completed"
    };
    for number in 0..3 {
        desk.say(&session, &format!("run echo made-up-{number}")).await;
        assert_eq!(desk.find(ended).await["event"], "tool_completed");
        let rule =
            json!([{"effect": "deny", "tool": "bash", "argument": format!("echo made-up-{number} *")}]);
        std::fs::write(&file, rule.to_string()).unwrap();
        desk.say(&session, &format!("run echo made-up-{number} again"))
            .await;
        assert_eq!(desk.find(ended).await["event"], "tool_failed", "{number}");
    }
    world.end().await;
}

/// A run of a member whose money is used up is stopped, and says why; a call that waits for a person
/// continues waiting.
#[tokio::test]
async fn a_run_ends_when_the_money_of_its_owner_is_used_up() {
    let rule = json!({"effect": "allow", "tool": "bash", "argument": "tail *"});
    let rules = vec![serde_json::from_value(rule).unwrap()];
    let data = std::sync::Arc::new(tempfile::tempdir().unwrap());
    let world = World::ruled(data, options(), rules).await;
    let (ann, ann_id) = world.member("ann");
    let [runs, asks, says] = [
        world.dear_session_of(&ann_id, ApprovalMode::Ask).await,
        world.dear_session_of(&ann_id, ApprovalMode::Ask).await,
        world.dear_session_of(&ann_id, ApprovalMode::Ask).await,
    ];
    let mut client = world.client_of(&ann, "laptop").await;
    for session in [&runs, &asks, &says] {
        client.subscribe(session, 0, "runtime").await;
    }
    client.say(&runs, "run tail -f /dev/null").await;
    client.find(|frame| frame["event"] == "tool_executing").await;
    client.say(&runs, "this waits").await;
    client.say(&asks, "run touch made-up").await;
    let asked = client.find(|frame| frame["event"] == "approval_requested").await;
    // One cent is left, and an answer in a third session costs more.
    let most = NanoUsd(spent_by(&world.state, &ann_id).await.0 + CENT.0);
    let mut settings = agentx_config::Settings::clone(&world.state.settings());
    settings.quotas.cost = Some(most);
    world.state.renew(&settings).await;
    client.say(&says, "hello").await;
    let finished = |session: &SessionId| {
        let session = json!(session);
        move |frame: &Value| frame["event"] == "run_finished" && frame["session_id"] == session
    };
    let said = client.find(finished(&says)).await;
    assert_eq!(said["payload"]["status"], "completed");
    let ended = client.find(finished(&runs)).await;
    assert_eq!(ended["payload"]["status"], "interrupted");
    let spent = spent_by(&world.state, &ann_id).await;
    assert!(spent > most, "{spent:?}");
    let why = ended["payload"]["reason"].to_string();
    for words in [
        format!("have cost {} ", dollars(spent)),
        format!("limit per member is {} (`quotas.daily_cost`)", dollars(most)),
    ] {
        assert!(why.contains(&words), "{why}");
    }
    // What waits begins no run, whatever its mode becomes.
    let held = world.state.open(&runs).await.unwrap().state().await.unwrap();
    assert!(held.run.is_none_or(|run| run.status.is_final()));
    let args = json!({"message_id": held.queued[0].0, "mode": "steer"});
    let hastened = json!({"session_id": runs, "command": "revise", "args": args});
    assert_eq!(client.refused("system_command", hastened).await, "quota_usage");
    let waits = world.state.open(&asks).await.unwrap().state().await.unwrap();
    assert_eq!(waits.pending_approvals.len(), 1);
    // Nothing begins by an answer, either: the call is not made, and who denies it ends the run.
    let answer = |decision: &str| {
        let call = &asked["payload"]["tool_call_id"];
        json!({"session_id": asks, "tool_call_id": call, "decision": decision})
    };
    let mut desk = world.client("desk").await;
    assert_eq!(desk.refused("approval", answer("once")).await, "quota_usage");
    let mut denied = answer("deny");
    denied["note"] = json!("no files <here>");
    client.accepted("approval", denied).await;
    let ended = client.find(finished(&asks)).await;
    assert_eq!(ended["payload"]["status"], "interrupted");
    let why = ended["payload"]["reason"].as_str().unwrap();
    let note = "the owner denied the call with the note \"no files  here \"; ";
    assert!(
        why.starts_with(note) && why.contains("`quotas.daily_cost`"),
        "{why}"
    );
    let spent_then = spent_by(&world.state, &ann_id).await;
    assert_eq!(spent_then, spent, "no model was called");
    world.end().await;
}

/// Runs and waiting calls of a removed member are stopped.
#[tokio::test]
async fn runs_of_somebody_who_is_trusted_no_more_are_stopped() {
    let world = World::new().await;
    let (ann, ann_id) = world.member("ann");
    let session = world.session_of(&ann_id, ApprovalMode::Ask).await;
    let mut laptop = world.client_of(&ann, "laptop").await;
    laptop.subscribe(&session, 0, "runtime").await;
    laptop.say(&session, "run touch made-up").await;
    laptop.find(|frame| frame["event"] == "approval_requested").await;
    let mut desk = world.client("desk").await;
    desk.subscribe(&session, 0, "runtime").await;
    Keyring::at(world.data.path()).untrust(ann.public_key()).unwrap();
    let ended = desk.find(|frame| frame["event"] == "run_finished").await;
    let why = ended["payload"]["reason"].as_str().unwrap();
    assert!(
        why.contains("the owner of this session is no longer trusted by this server"),
        "{why}"
    );
    world.end().await;
}
