//! Several people on one session through the remote runtime: who is there, who drives, who may decide, and
//! the errors for all others.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;

use agentx::identity::{SecretKey, Trusted, TrustedAs, owner_of};
use agentx::remote::{People, Presence, RemoteRuntime};
use agentx::runtime::{
    ApprovalInput, LogError, OpenRequest, Runtime as _, RuntimeError, Session, SharingFact, View,
};
use agentx::types::wire::WheelWish;
use agentx::types::{
    AccessChanged, ApprovalDecision, ApprovalMode, EnvironmentEvent, OwnerId, RuntimeEvent, Seat, SessionId,
    SessionRole, ToolCallId, ToolSpec, WheelChanged, WheelReason,
};
use agentx_testing::ModelScript;
use serde_json::json;

use crate::place::{Place, input, soon};

/// Somebody whom the server knows as a member.
async fn member(place: &Place, client: &str) -> (Arc<RemoteRuntime>, OwnerId) {
    let key = SecretKey::generate().unwrap();
    let trusted = Trusted {
        public_key: *key.public_key(),
        name: Some(client.to_owned()),
        role: TrustedAs::Member,
    };
    place.keyring().trust(trusted).unwrap();
    let person = owner_of(key.public_key());
    (place.connect(key, client).await, person)
}

async fn resume(runtime: &RemoteRuntime, session: &SessionId) -> Arc<dyn Session> {
    runtime
        .open(OpenRequest::Resume(session.clone(), vec![]))
        .await
        .unwrap()
}

fn access(person: &OwnerId, role: Option<SessionRole>) -> SharingFact {
    SharingFact::Access(AccessChanged {
        person: person.clone(),
        role,
        by: None,
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_shared_is_not_there_and_a_role_is_what_it_says() {
    let place = Place::remote().await;
    let mut talk = place.open(ApprovalMode::Ask).await;
    let id = talk.session.id().clone();
    let (theirs, person) = member(&place, "laptop").await;
    assert_eq!(theirs.owner(), &person);
    let not_there = |error: RuntimeError| matches!(error, RuntimeError::Log(LogError::NotFound(_)));
    assert!(not_there(
        theirs.watch(&id, 0, View::Runtime, true).await.err().unwrap()
    ));
    assert!(not_there(
        theirs
            .open(OpenRequest::Resume(id.clone(), vec![]))
            .await
            .err()
            .unwrap()
    ));

    talk.session
        .record_sharing(access(&person, Some(SessionRole::Watch)))
        .await
        .unwrap();
    let session = resume(&theirs, &id).await;
    let denied = session.send(input("may I?")).await.unwrap_err();
    assert!(matches!(denied, RuntimeError::Denied(_)), "{denied:?}");
    let denied = session
        .record_sharing(access(&person, Some(SessionRole::Own)))
        .await
        .unwrap_err();
    assert!(matches!(denied, RuntimeError::Denied(_)), "{denied:?}");
    let mut watching = session.subscribe(0, View::Runtime).await.unwrap();

    talk.session
        .record_sharing(access(&person, Some(SessionRole::Approve)))
        .await
        .unwrap();
    place
        .model
        .push(ModelScript::call("call_1", "bash", json!({ "command": "true" })));
    place.model.push(ModelScript::text("done"));
    talk.say("do it").await;
    talk.until(|event| matches!(event, RuntimeEvent::ApprovalRequested(_)))
        .await;
    let decision = ApprovalInput::new(ToolCallId::new("call_1"), ApprovalDecision::Once);
    let seq = session.approve(decision.clone()).await.unwrap();
    let late = talk.session.approve(decision).await.unwrap_err();
    assert!(matches!(late, RuntimeError::Refused(_)), "{late:?}");
    talk.ends().await;
    let facts = place.facts(&id).await;
    let fact = &facts[usize::try_from(seq).unwrap() - 1].event;
    assert!(matches!(fact, EnvironmentEvent::Approval(approval) if approval.by.as_ref() == Some(&person)));

    talk.session.record_sharing(access(&person, None)).await.unwrap();
    while soon(watching.next()).await.is_some() {}
    assert!(not_there(session.state().await.unwrap_err()));
}

/// Waits until the server says so of those who are there.
async fn until(presence: &mut Presence, so: impl Fn(&People) -> bool) {
    while !so(&presence.now()) {
        assert!(soon(presence.changed()).await);
    }
}

/// Whether the wheel is known, and somebody has it, or nobody.
fn is_driven_by(people: &People, seat: Option<&Seat>) -> bool {
    people
        .wheel
        .as_ref()
        .is_some_and(|wheel| wheel.seat.as_ref() == seat)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_drives_and_what_a_former_driver_says_is_refused() {
    let place = Place::remote().await;
    let talk = place.open(ApprovalMode::Auto).await;
    let id = talk.session.id().clone();
    let ours = place.remote.clone().unwrap();
    let (theirs, person) = member(&place, "laptop").await;
    talk.session
        .record_sharing(access(&person, Some(SessionRole::Drive)))
        .await
        .unwrap();
    let mut at_ours = soon(ours.presence(&id)).await.unwrap();
    let mut at_theirs = soon(theirs.presence(&id)).await.unwrap();
    let session = resume(&theirs, &id).await;
    let _watching = session.subscribe(0, View::Runtime).await.unwrap();

    talk.session.rename("ours".into()).await.unwrap();
    let me = Seat {
        person: ours.owner().clone(),
        client: "test".into(),
    };
    let them = Seat {
        person: person.clone(),
        client: "laptop".into(),
    };
    until(&mut at_theirs, |people| is_driven_by(people, Some(&me))).await;
    let denied = session.send(input("me too")).await.unwrap_err();
    assert!(matches!(denied, RuntimeError::Denied(_)), "{denied:?}");

    theirs.wheel(&id, WheelWish::Ask).await.unwrap();
    let they_ask = |people: &People| {
        let wheel = people.wheel.as_ref();
        wheel.is_some_and(|wheel| wheel.asked_by.as_ref() == Some(&them))
    };
    until(&mut at_ours, they_ask).await;
    let hand = SharingFact::Wheel(WheelChanged {
        seat: Some(them.clone()),
        epoch: 0,
        reason: WheelReason::HandedOver,
    });
    talk.session.record_sharing(hand).await.unwrap();
    until(&mut at_theirs, |people| is_driven_by(people, Some(&them))).await;
    place.model.push(ModelScript::text("hello"));
    session.send(input("now me")).await.unwrap();
    let people = at_theirs.now();
    assert_eq!(people.role, Some(SessionRole::Drive));
    let late = talk
        .session
        .send(input("I still have something to say"))
        .await
        .unwrap_err();
    let refused = matches!(&late, RuntimeError::Denied(_))
        || matches!(&late, RuntimeError::Remote { code, .. } if code == "stale_epoch");
    assert!(refused, "{late:?}");

    // Leaving releases the wheel.
    session.close().await;
    until(&mut at_ours, |people| is_driven_by(people, None)).await;
    talk.session.rename("ours again".into()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_there_is_seen_to_come_and_go() {
    let place = Place::remote().await;
    let talk = place.open(ApprovalMode::Auto).await;
    let id = talk.session.id().clone();
    let (theirs, person) = member(&place, "laptop").await;
    talk.session
        .record_sharing(access(&person, Some(SessionRole::Watch)))
        .await
        .unwrap();
    let mut people = soon(place.remote.clone().unwrap().presence(&id)).await.unwrap();
    let is_there = |people: &People| people.present.iter().any(|present| present.seat.person == person);
    let watching = theirs.watch(&id, 0, View::Runtime, true).await.unwrap();
    until(&mut people, is_there).await;
    drop(watching);
    until(&mut people, |people| !is_there(people)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_has_sessions_of_their_own() {
    let place = Place::remote().await;
    let (theirs, person) = member(&place, "laptop").await;
    let agent = theirs.default_agent().await.unwrap();
    let offered = theirs.tools();
    let is_offered = |tool: &ToolSpec| offered.iter().any(|one| one.name == tool.name);
    assert!(!agent.tools.is_empty() && agent.tools.iter().all(is_offered));
    let config = place.config(ApprovalMode::Ask);
    let session = theirs
        .open(OpenRequest::New(Box::new(config.clone())))
        .await
        .unwrap();
    let state = session.state().await.unwrap();
    assert_ne!(
        state.config.workspace, config.workspace,
        "where members work is the server's to say"
    );
    assert_eq!(
        place
            .node
            .for_owner(person)
            .info(session.id())
            .await
            .unwrap()
            .session_id,
        *session.id()
    );
    let ours = place.runtime.watch(session.id(), 0, View::Runtime, false).await;
    assert!(
        ours.is_ok(),
        "the operator decides about a member's calls, so they see them"
    );
    let wide = place.config(ApprovalMode::Auto);
    let denied = theirs.open(OpenRequest::New(Box::new(wide))).await.err().unwrap();
    assert!(matches!(denied, RuntimeError::Denied(_)), "{denied:?}");
    let said = input("hello").key(Some("key".into()));
    place.model.push(ModelScript::text("hello"));
    session.send(said).await.unwrap();
}
