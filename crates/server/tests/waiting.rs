//! The connections that are notified of members' waiting calls.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

use agentx_identity::{Keyring, SecretKey, Trusted, TrustedAs, owner_of};
use agentx_types::{ApprovalMode, OwnerId, SessionId};
use serde_json::{Value, json};

use crate::support::*;

fn is_told(frame: &Value) -> bool {
    frame["event"] == "approval_waiting"
}

fn approver(world: &World) -> (SecretKey, OwnerId) {
    let key = SecretKey::generate().unwrap();
    let trusted = Trusted {
        public_key: *key.public_key(),
        name: Some("vera".to_owned()),
        role: TrustedAs::Approver,
    };
    Keyring::at(world.data.path()).trust(trusted).unwrap();
    let owner = owner_of(key.public_key());
    (key, owner)
}

/// Has the agent of a session want to make a file, and waits until it asks.
async fn asks(client: &mut Client, session: &SessionId) -> Value {
    client.subscribe(session, 0, "runtime").await;
    client.say(session, "run touch made-up").await;
    client.find(|frame| frame["event"] == "approval_requested").await["payload"]["tool_call_id"].clone()
}

/// Returns whether the client was notified of a call in this session.
async fn was_told(client: &mut Client, session: &SessionId) -> bool {
    client.accepted("ping", json!({})).await;
    let is_of = |frame: &Value| is_told(frame) && frame["payload"]["session_id"] == json!(session);
    client.aside.iter().any(is_of)
}

#[tokio::test]
async fn who_may_decide_is_told_of_a_members_call_and_nobody_else() {
    let world = World::new().await;
    let ((ann, ann_id), (bob, _), (vera, vera_id)) =
        (world.member("ann"), world.member("bob"), approver(&world));
    // Connections are notified in the order in which they were opened.
    let mut others = [
        world.client_of(&bob, "bob").await,
        world.client_of(&ann, "ann").await,
    ];
    let mut of_vera = world.client_of(&vera, "vera").await;
    let mut desk = world.client("desk").await;

    let session = world.session_of(&ann_id, ApprovalMode::Ask).await;
    let call = asks(&mut others[1], &session).await;
    let told = json!({
        "session_id": session, "owner": ann_id, "owner_name": "ann", "tool_call_id": call, "name": "bash",
    });
    assert_eq!(desk.find(is_told).await["payload"], told);
    assert_eq!(of_vera.find(is_told).await["payload"], told);
    for other in &mut others {
        assert!(!was_told(other, &session).await);
    }
    let mut later = world.client("later").await;
    assert_eq!(
        later.find(is_told).await["payload"],
        told,
        "who comes later is told, too"
    );

    let own = world.session_of(&vera_id, ApprovalMode::Ask).await;
    asks(&mut of_vera, &own).await;
    desk.find(|frame| is_told(frame) && frame["payload"]["session_id"] == json!(own))
        .await;
    assert!(
        !was_told(&mut of_vera, &own).await,
        "nobody decides about calls of their own"
    );

    let of_operator = world.session(ApprovalMode::Ask).await;
    asks(&mut later, &of_operator).await;
    for other in [&mut of_vera, &mut desk] {
        assert!(!was_told(other, &of_operator).await);
    }
}
