//! Several people on one session: who drives, who decides, who may see it at all.
#![allow(
    missing_docs,
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests"
)]

use crate::support::*;
use agentx_identity::SecretKey;
use agentx_types::{ApprovalMode, MessageId, SessionId, VISITORS};
use serde_json::{Value, json};

fn message(session: &SessionId, words: &str, epoch: Option<u64>) -> Value {
    json!({"session_id": session, "content": words, "wheel_epoch": epoch})
}

#[tokio::test]
async fn of_two_drivers_at_once_one_drives_and_it_is_on_record() {
    let world = World::new().await;
    let Two {
        session,
        mut desk,
        mut laptop,
        ..
    } = world.desk_and_laptop(ApprovalMode::Auto, "drive").await;
    desk.subscribe(&session, 0, "environment").await;
    laptop.subscribe(&session, 0, "environment").await;
    let (one, two) = tokio::join!(
        desk.ask("user_message", message(&session, "echo desk", None)),
        laptop.ask("user_message", message(&session, "echo laptop", None)),
    );
    let outcomes = [&one["event"], &two["event"]];
    assert!(
        outcomes.contains(&&json!("accepted")) && outcomes.contains(&&json!("refused")),
        "{one} {two}"
    );
    let refused = if one["event"] == "refused" { &one } else { &two };
    assert_eq!(refused["payload"]["problem"]["code"], "denied");
    let events = desk.events_until("stream_end").await;
    let changes: Vec<&Value> = events
        .iter()
        .filter(|event| event["event"] == "wheel_changed")
        .collect();
    assert_eq!(changes.len(), 1, "one outcome");
    let said = tags(&events)
        .into_iter()
        .filter(|tag| *tag == "user_message")
        .count();
    assert_eq!(said, 1);
    world.end().await;
}

#[tokio::test]
async fn the_wheel_is_asked_for_and_handed_over_and_late_words_are_refused() {
    let world = World::new().await;
    let Two {
        session,
        mut desk,
        mut laptop,
        ..
    } = world.desk_and_laptop(ApprovalMode::Auto, "drive").await;
    desk.subscribe(&session, 0, "environment").await;
    laptop.subscribe(&session, 0, "environment").await;
    desk.accepted("user_message", message(&session, "echo mine", None))
        .await;
    let take = json!({"session_id": session, "wish": "take"});
    assert_eq!(laptop.refused("wheel", take).await, "denied");
    laptop
        .accepted("wheel", json!({"session_id": session, "wish": "ask"}))
        .await;
    let asked = desk
        .until(|frame| frame["event"] == "wheel" && frame["payload"]["asked_by"].is_object())
        .await;
    let asker = asked["payload"]["asked_by"].clone();
    assert_eq!(asker["client"], "laptop");
    let handed = desk
        .accepted("wheel", json!({"session_id": session, "wish": {"hand": asker}}))
        .await;
    assert_eq!(handed["result"]["epoch"], 2);
    laptop
        .until(|frame| frame["event"] == "wheel" && frame["payload"]["reason"] == "handed_over")
        .await;
    let late = desk
        .refused("user_message", message(&session, "echo late", Some(1)))
        .await;
    assert_eq!(late, "stale_epoch");
    laptop
        .accepted("user_message", message(&session, "echo bob", Some(2)))
        .await;
    let interrupt = json!({"session_id": session});
    assert_eq!(desk.refused("interrupt", interrupt.clone()).await, "denied");
    laptop.accepted("interrupt", interrupt).await;
    world.end().await;
}

#[tokio::test]
async fn what_is_sent_again_was_said_once_whoever_drives_by_now() {
    let world = World::new().await;
    let Two {
        session,
        mut desk,
        mut laptop,
        bob_id,
    } = world.desk_and_laptop(ApprovalMode::Auto, "drive").await;
    laptop.subscribe(&session, 0, "environment").await;
    let said = json!({"session_id": session, "content": "echo", "wheel_epoch": 0, "idempotency_key": "k"});
    let first = desk.accepted("user_message", said.clone()).await["seq"].clone();
    assert_eq!(desk.accepted("user_message", said.clone()).await["seq"], first);
    let laptop_seat = json!({"person": bob_id, "client": "laptop"});
    desk.accepted(
        "wheel",
        json!({"session_id": session, "wish": {"hand": laptop_seat}}),
    )
    .await;
    assert_eq!(desk.accepted("user_message", said).await["seq"], first);
    let new = json!({"session_id": session, "content": "echo", "wheel_epoch": 0, "idempotency_key": "n"});
    assert_eq!(desk.refused("user_message", new).await, "stale_epoch");
    world.end().await;
}

#[tokio::test]
async fn a_driver_that_vanishes_leaves_the_wheel() {
    let mut options = options();
    options.limits.patience.gone_ms = 50;
    let world = World::with(options).await;
    let Two {
        session,
        mut desk,
        mut laptop,
        ..
    } = world.desk_and_laptop(ApprovalMode::Auto, "drive").await;
    laptop.subscribe(&session, 0, "environment").await;
    desk.subscribe(&session, 0, "environment").await;
    desk.accepted("user_message", message(&session, "echo mine", None))
        .await;
    drop(desk);
    let free = laptop
        .until(|frame| frame["event"] == "wheel" && frame["payload"]["reason"] == "timed_out")
        .await;
    assert_eq!(free["payload"]["seat"], Value::Null);
    laptop
        .accepted("user_message", message(&session, "echo bob", None))
        .await;
    let reasons: Vec<Value> = laptop
        .events_until("stream_end")
        .await
        .into_iter()
        .filter(|event| event["event"] == "wheel_changed")
        .map(|event| event["payload"]["reason"].clone())
        .collect();
    assert!(reasons.contains(&json!("timed_out")), "{reasons:?}");
    world.end().await;
}

#[tokio::test]
async fn of_racing_approvals_one_is_recorded() {
    let world = World::new().await;
    let Two {
        session,
        mut desk,
        mut laptop,
        bob_id,
    } = world.desk_and_laptop(ApprovalMode::Ask, "approve").await;
    desk.subscribe(&session, 0, "ui").await;
    laptop.subscribe(&session, 0, "ui").await;
    desk.accepted("user_message", message(&session, "run echo hi", None))
        .await;
    let asked = desk.events_until("approval_requested").await;
    let call = asked.last().unwrap()["payload"]["tool_call_id"].clone();
    laptop.events_until("approval_requested").await;
    let approval = json!({"session_id": session, "tool_call_id": call, "decision": "once"});
    let (one, two) = tokio::join!(
        desk.ask("approval", approval.clone()),
        laptop.ask("approval", approval.clone()),
    );
    let outcomes = [&one["event"], &two["event"]];
    assert!(
        outcomes.contains(&&json!("accepted")) && outcomes.contains(&&json!("refused")),
        "{one} {two}"
    );
    desk.events_until("run_finished").await;
    let mut reader = world.client("reader").await;
    reader.subscribe(&session, 0, "environment").await;
    let events = reader.events_until("tool_result").await;
    let approvals: Vec<&Value> = events
        .iter()
        .filter(|event| event["event"] == "approval")
        .collect();
    assert_eq!(approvals.len(), 1);
    // The owner of the session has no name in its facts.
    let by = if one["event"] == "accepted" {
        Value::Null
    } else {
        json!(bob_id.as_str())
    };
    assert_eq!(approvals[0]["payload"]["by"], by);
    let say = message(&session, "echo no", None);
    assert_eq!(
        laptop.refused("user_message", say).await,
        "denied",
        "deciding is not driving"
    );
    world.end().await;
}

/// Messages and commands of a driver are recorded as theirs, whatever their client claims.
#[tokio::test]
async fn words_and_commands_of_a_driver_are_on_record_as_theirs() {
    let world = World::new().await;
    let mut two = world.desk_and_laptop(ApprovalMode::Auto, "drive").await;
    let session = two.session.clone();
    let claim = json!({"command": "ls", "output": "made up", "how": "exit 0", "by": "own_local"});
    let ran = json!({"session_id": session, "command": "ran", "args": claim});
    let mut facts = Vec::new();
    for client in [&mut two.desk, &mut two.laptop] {
        client.accepted("system_command", ran.clone()).await;
        let seq = client.say(&session, "echo hello").await;
        client.subscribe(&session, seq - 2, "environment").await;
        facts.extend(client.events_until("stream_end").await);
        let release = json!({"session_id": session, "wish": "release"});
        client.accepted("wheel", release).await;
    }
    let by = |tag: &str| -> Vec<Value> {
        let facts = facts.iter().filter(|fact| fact["event"] == tag);
        facts.map(|fact| fact["payload"]["by"].clone()).collect()
    };
    let wanted = [Value::Null, json!(two.bob_id)];
    assert_eq!(by("user_message"), wanted);
    assert_eq!(by("command_ran"), wanted);
    world.end().await;
}

/// Other actions of a person are recorded as theirs, whatever their client claims: all of these requests
/// claim another author.
#[tokio::test]
async fn whatever_a_person_causes_is_on_record_as_theirs() {
    let world = World::new().await;
    let mut two = world.desk_and_laptop(ApprovalMode::Ask, "own").await;
    let session = two.session.clone();
    let forged = |mut args: Value| {
        args["by"] = json!("own_somebody");
        args
    };
    for client in [&mut two.desk, &mut two.laptop] {
        let first = client.say(&session, "run sleep 9").await;
        let waits = client.say(&session, "echo later").await;
        let (first, waits) = (MessageId::with_suffix(first), MessageId::with_suffix(waits));
        let pin = json!({"message_id": first, "pinned": true});
        let rule = json!({"tool": "write", "effect": "deny"});
        let commands = [
            ("revise", json!({"message_id": waits})),
            ("context", json!({"wish": {"pin": pin}})),
            ("change", json!({"change": {"rule_added": rule}})),
            ("share", json!({"person": "own_ann", "role": "watch"})),
            ("rename", json!({"title": "Lunch"})),
        ];
        for (command, args) in commands {
            let wrong = json!({"session_id": session, "command": command, "args": forged(args.clone())});
            let refused = client.ask("system_command", wrong).await;
            assert_eq!(refused["event"], "refused", "{command}: {refused}");
            let frame = json!({"session_id": session, "command": command, "args": args});
            client.accepted("system_command", forged(frame)).await;
        }
        let interrupt = forged(json!({"session_id": session}));
        client.accepted("interrupt", interrupt).await;
        let retry = json!({"session_id": session, "command": "retry", "args": {}});
        client.accepted("system_command", forged(retry)).await;
        let release = json!({"session_id": session, "wish": "release"});
        client.accepted("wheel", release).await;
    }
    two.desk.subscribe(&session, 0, "environment").await;
    two.desk.notice("caught_up").await;
    let facts = two.desk.events_until("session_titled").await;
    let by = |tag: &str| -> Vec<Value> {
        let facts = facts
            .iter()
            .filter(|fact| fact["event"] == tag && fact["source"] == "user");
        let mut by: Vec<Value> = facts.map(|fact| fact["payload"]["by"].clone()).collect();
        by.dedup();
        by
    };
    let wanted = [Value::Null, json!(two.bob_id)];
    let tags = [
        "user_message",
        "input_revised",
        "input_pinned",
        "config_changed",
        "access_changed",
        "session_titled",
        "interrupt_requested",
    ];
    for tag in tags {
        assert_eq!(by(tag), wanted, "{tag}");
    }
    world.end().await;
}

#[tokio::test]
async fn a_stranger_learns_nothing() {
    let world = World::new().await;
    let session = world.session(ApprovalMode::Auto).await;
    let (bob, _) = world.member("bob");
    let mut laptop = world.client_of(&bob, "laptop").await;
    let nowhere = SessionId::new("ses_nowhere");
    for session in [&session, &nowhere] {
        let call = "call_1";
        for (kind, payload) in [
            ("subscribe", json!({"session_id": session})),
            ("user_message", message(session, "echo", None)),
            ("interrupt", json!({"session_id": session})),
            (
                "approval",
                json!({"session_id": session, "tool_call_id": call, "decision": "once"}),
            ),
            ("wheel", json!({"session_id": session, "wish": "take"})),
            (
                "system_command",
                json!({"session_id": session, "command": "rename", "args": {"title": "x"}}),
            ),
            ("system_command", json!({"session_id": session, "command": "fly"})),
        ] {
            let answer = laptop.ask(kind, payload).await;
            let problem = &answer["payload"]["problem"];
            assert_eq!(problem["code"], "no_session", "{kind}: {answer}");
            assert_eq!(problem["detail"], format!("no session {session}"));
        }
    }
    world.end().await;
}

#[tokio::test]
async fn visitors_see_what_is_shared_with_them_and_touch_nothing() {
    let mut options = options();
    options.allow_visitors = true;
    let world = World::with(options).await;
    let session = world.session(ApprovalMode::Auto).await;
    let other = world.session(ApprovalMode::Auto).await;
    let mut desk = world.client("desk").await;
    desk.share(&session, VISITORS, Some("watch")).await;
    let drive = json!({"person": VISITORS, "role": "drive"});
    let drive = json!({"session_id": session, "command": "share", "args": drive});
    assert_eq!(desk.refused("system_command", drive).await, "refused");
    let mut visitor = world.visitor("tab").await;
    assert_eq!(visitor.subscribe(&session, 0, "ui").await["role"], "watch");
    let unshared = visitor.refused("subscribe", json!({"session_id": other})).await;
    assert_eq!(unshared, "no_session");
    let say = message(&session, "echo", None);
    assert_eq!(visitor.refused("user_message", say).await, "denied");
    world.end().await;
}

/// Members may not do less than people whom the server does not know.
#[tokio::test]
async fn members_may_watch_what_visitors_may_and_no_longer() {
    let mut options = options();
    options.allow_visitors = true;
    let world = World::with(options).await;
    let session = world.session(ApprovalMode::Auto).await;
    let (key, _) = world.member("bob");
    let mut desk = world.client("desk").await;
    let mut bob = world.client_of(&key, "laptop").await;
    let unshared = bob.refused("subscribe", json!({"session_id": session})).await;
    assert_eq!(unshared, "no_session");
    desk.share(&session, VISITORS, Some("watch")).await;
    assert_eq!(bob.subscribe(&session, 0, "ui").await["role"], "watch");
    assert_eq!(
        bob.refused("user_message", message(&session, "echo", None)).await,
        "denied"
    );
    desk.share(&session, VISITORS, None).await;
    let again = bob.refused("user_message", message(&session, "echo", None)).await;
    assert_eq!(again, "no_session");
    world.end().await;
}

#[tokio::test]
async fn who_may_see_it_no_longer_is_told_and_loses_the_wheel() {
    let world = World::new().await;
    let Two {
        session,
        mut desk,
        mut laptop,
        bob_id,
    } = world.desk_and_laptop(ApprovalMode::Auto, "drive").await;
    laptop.subscribe(&session, 0, "environment").await;
    desk.subscribe(&session, 0, "environment").await;
    laptop
        .accepted("user_message", message(&session, "echo bob", None))
        .await;
    desk.share(&session, bob_id.as_str(), None).await;
    let ended = laptop.notice("unsubscribed").await;
    assert_eq!(ended["payload"]["problem"]["code"], "no_session");
    let say = message(&session, "echo more", None);
    assert_eq!(laptop.refused("user_message", say).await, "no_session");
    desk.find(|frame| frame["event"] == "wheel" && frame["payload"]["reason"] == "released")
        .await;
    desk.accepted("user_message", message(&session, "echo mine", None))
        .await;
    world.end().await;
}

#[tokio::test]
async fn people_see_each_other() {
    let world = World::new().await;
    let (session, mut desk) = world.desk(ApprovalMode::Auto).await;
    desk.subscribe(&session, 0, "environment").await;
    let mut phone = world.client("phone").await;
    phone.subscribe(&session, 0, "environment").await;
    let both = |frame: &Value| {
        frame["event"] == "presence" && frame["payload"]["people"].as_array().unwrap().len() == 2
    };
    desk.until(both).await;
    phone.until(both).await;
    drop(phone);
    let alone = |frame: &Value| {
        frame["event"] == "presence" && frame["payload"]["people"].as_array().unwrap().len() == 1
    };
    desk.until(alone).await;
    world.end().await;
}

#[tokio::test]
async fn only_the_operator_lets_an_agent_do_more() {
    let world = World::new().await;
    let (bob, bob_id) = world.member("bob");
    let session = world.session_of(&bob_id, ApprovalMode::Ask).await;
    let mut laptop = world.client_of(&bob, "laptop").await;
    let change =
        |change: Value| json!({"session_id": session, "command": "change", "args": {"change": change}});
    let rule = json!({"effect": "allow", "tool": "*"});
    for widening in [
        json!({"approval": "auto"}),
        json!({"rule_added": rule}),
        json!({"rules": [rule]}),
        json!({"tools": []}),
    ] {
        assert_eq!(laptop.refused("system_command", change(widening)).await, "denied");
    }
    laptop
        .accepted("system_command", change(json!({"approval": "deny"})))
        .await;
    let nonsense = laptop
        .refused("system_command", change(json!({"approval": "perhaps"})))
        .await;
    assert_eq!(nonsense, "bad_request");
    world.end().await;
}

#[tokio::test]
async fn a_key_that_is_trusted_no_more_is_let_go() {
    let mut options = options();
    options.limits.heartbeat = std::time::Duration::from_millis(20);
    let world = World::with(options).await;
    let (bob, _) = world.member("bob");
    let mut laptop = world.client_of(&bob, "laptop").await;
    agentx_identity::Keyring::at(world.data.path())
        .untrust(bob.public_key())
        .unwrap();
    assert_eq!(laptop.bye().await["code"], 1008);
    world.end().await;
}

#[tokio::test]
async fn an_unknown_key_is_refused() {
    let world = World::new().await;
    let mut client = Client::connect(&world.url).await;
    let hello = client.notice("hello").await;
    let eve = SecretKey::generate().unwrap();
    let challenge = agentx_identity::AuthChallenge {
        nonce: hello["payload"]["nonce"].as_str().unwrap().to_owned(),
        origin: hello["payload"]["origin"].as_str().unwrap().to_owned(),
        expires_at_ms: hello["payload"]["expires_at_ms"].as_u64().unwrap(),
    };
    let who = json!({
        "public_key": eve.public_key().to_string(),
        "signature": agentx_identity::sign_challenge(&eve, &challenge).to_string(),
        "client": "eve",
    });
    assert_eq!(client.refused("authenticate", who).await, "unknown_person");
    assert_eq!(client.bye().await["code"], 1008);
    assert!(client.next().await.is_none());
    world.end().await;
}

#[tokio::test]
async fn a_wish_that_is_refused_opens_no_session() {
    let mut options = options();
    options.allow_visitors = true;
    let world = World::with(options.clone()).await;
    let session = world.session(ApprovalMode::Auto).await;
    let mut desk = world.client("desk").await;
    desk.share(&session, VISITORS, Some("watch")).await;
    drop(desk);
    let data = world.end().await;
    let world = World::again(data, options).await;
    let mut guest = world.visitor("guest").await;
    let call = json!({"session_id": session, "tool_call_id": "call_1", "decision": "once"});
    for (kind, wish) in [
        ("interrupt", json!({"session_id": session})),
        ("approval", call),
        ("user_message", message(&session, "hello", None)),
    ] {
        assert_eq!(guest.refused(kind, wish).await, "denied", "{kind}");
        assert_eq!(world.state.rooms().open_rooms(), 0, "{kind}");
    }
    world.end().await;
}
