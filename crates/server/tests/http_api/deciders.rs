//! The approvers of members' calls, besides the operator, and the decisions that each of them is offered.

use serde_json::{Value, json};

use crate::http_api::desk::Desk;
use crate::http_api::members::Place;

/// The answers of somebody that count, as the state of the session says it to them.
async fn offered(place: &Place<'_>, token: &str) -> Value {
    let path = format!("/v1/sessions/{}/state", place.session);
    let state = place.desk.get(&path).by(token).send().await.ok().json();
    state["pending_approvals"][0]["answers"].clone()
}

/// A session of the owner of this token, in which a command waits for an answer, and that call.
async fn asked<'a>(desk: &'a Desk, token: &str, name: &str) -> (Place<'a>, String) {
    let canary = desk.ann_dir().join(name);
    let place = Place {
        desk,
        session: desk.session(token).await,
        canary,
    };
    let words = format!("run touch {}", place.canary.display());
    let call = place.say(token, &words).await.unwrap();
    (place, call)
}

#[tokio::test]
async fn each_is_told_which_answers_count_and_no_other_does() {
    let desk = Desk::new().await;
    let (of_ann, ann_call) = asked(&desk, &desk.ann, "of-ann").await;
    let (of_operator, own_call) = asked(&desk, &desk.operator, "of-operator").await;
    for (person, role) in [(&desk.bob_id, "drive")] {
        desk.share(&desk.ann, &of_ann.session, person, json!(role)).await;
        desk.share(&desk.operator, &of_operator.session, person, json!(role))
            .await;
    }
    let all = json!(["once", "session", "always", "deny"]);
    for (place, call, token, told) in [
        (&of_ann, &ann_call, &desk.ann, json!(["deny"])),
        (&of_ann, &ann_call, &desk.bob, json!(["deny"])),
        (&of_ann, &ann_call, &desk.vera, json!(["once", "deny"])),
        (&of_ann, &ann_call, &desk.operator, json!(["once", "deny"])),
        (&of_operator, &own_call, &desk.bob, json!(["deny"])),
        (&of_operator, &own_call, &desk.operator, all),
    ] {
        assert_eq!(offered(place, token).await, told);
        for decision in ["once", "session", "always"] {
            if !told.as_array().unwrap().contains(&json!(decision)) {
                let answer = json!({"tool_call_id": call, "decision": decision});
                assert_eq!(place.post(token, "approvals", &answer).await.code(), "denied");
            }
        }
    }
}

/// Whom the operator named allows calls of other members once; in their own sessions, and in the operator's,
/// nothing.
#[tokio::test]
async fn whom_the_operator_named_decides_for_members_and_not_for_themselves() {
    let desk = Desk::new().await;
    let (of_ann, call) = asked(&desk, &desk.ann, "of-ann").await;
    let found = desk.get(&format!("/v1/resolve?prefix={}", of_ann.session));
    let found = found.by(&desk.vera).send().await.ok().json();
    assert_eq!(found["session_id"], json!(of_ann.session), "they are told the id");
    let yes = json!({"tool_call_id": call, "decision": "once"});
    let seq = of_ann.post(&desk.vera, "approvals", &yes).await.ok().json()["seq"].as_u64();
    desk.until_finished(&of_ann.session, seq.unwrap()).await;
    assert!(of_ann.canary.exists());
    let said = of_ann
        .post(&desk.vera, "messages", &json!({"content": "run ls"}))
        .await;
    assert_eq!(said.code(), "denied", "they do not drive it");
    let (driven, call) = asked(&desk, &desk.ann, "driven").await;
    let yes = json!({"tool_call_id": call, "decision": "once"});
    desk.share(&desk.ann, &driven.session, &desk.vera_id, json!("drive"))
        .await;
    assert_eq!(offered(&driven, &desk.vera).await, json!(["deny"]));
    let refused = driven.post(&desk.vera, "approvals", &yes).await;
    assert_eq!(refused.code(), "denied", "who drives allows nothing");
    // Nor does who drove, once they have the wheel no more.
    let no = json!({"tool_call_id": yes["tool_call_id"], "decision": "deny"});
    let seq = driven.post(&desk.vera, "approvals", &no).await.ok().json()["seq"].as_u64();
    desk.until_finished(&driven.session, seq.unwrap()).await;
    desk.release(&desk.ann, &driven.session).await;
    let words = format!("run touch {}", driven.canary.display());
    let call = driven.say(&desk.vera, &words).await.unwrap();
    desk.share(&desk.ann, &driven.session, &desk.vera_id, Value::Null)
        .await;
    assert_eq!(offered(&driven, &desk.vera).await, json!(["deny"]));
    let yes = json!({"tool_call_id": call, "decision": "once"});
    assert_eq!(driven.post(&desk.vera, "approvals", &yes).await.code(), "denied");
    let (own, call) = asked(&desk, &desk.vera, "own").await;
    let yes = json!({"tool_call_id": call, "decision": "once"});
    assert_eq!(own.post(&desk.vera, "approvals", &yes).await.code(), "denied");
    desk.share(&desk.vera, &own.session, &desk.bob_id, json!("own"))
        .await;
    assert_eq!(own.post(&desk.bob, "approvals", &yes).await.code(), "denied");
    let (of_operator, call) = asked(&desk, &desk.operator, "of-operator").await;
    let yes = json!({"tool_call_id": call, "decision": "once"});
    let hidden = of_operator.post(&desk.vera, "approvals", &yes).await;
    assert_eq!(
        hidden.code(),
        "no_session",
        "sessions of the operator are not theirs to see"
    );
    assert!(!own.canary.exists() && !of_operator.canary.exists() && !driven.canary.exists());
}

/// Whoever told the model something with a refusal may have caused its next call, and does not allow that.
#[tokio::test]
async fn nobody_allows_what_the_note_of_their_own_refusal_led_to() {
    let desk = Desk::new().await;
    let (of_ann, first) = asked(&desk, &desk.ann, "of-ann").await;
    let (of_operator, own) = asked(&desk, &desk.operator, "of-operator").await;
    desk.share(
        &desk.operator,
        &of_operator.session,
        &desk.bob_id,
        json!("approve"),
    )
    .await;
    for (place, call, owner, token, all) in [
        (&of_ann, first, &desk.ann, &desk.vera, json!(["once", "deny"])),
        (
            &of_operator,
            own,
            &desk.operator,
            &desk.bob,
            json!(["once", "deny"]),
        ),
    ] {
        let words = format!("run touch {}", place.canary.display());
        let no = |call: &str| json!({"tool_call_id": call, "decision": "deny"});
        let said =
            |call: &str| json!({"tool_call_id": call, "decision": "deny", "note": "No, not this file."});
        assert_eq!(offered(place, token).await, all);
        let seq = place.post(token, "approvals", &no(&call)).await.ok().json()["seq"].as_u64();
        desk.until_finished(&place.session, seq.unwrap()).await;
        let call = place.say(owner, &words).await.unwrap();
        assert_eq!(
            offered(place, token).await,
            all,
            "a refusal alone tells the model nothing"
        );
        let seq = place.post(token, "approvals", &said(&call)).await.ok().json()["seq"].as_u64();
        desk.until_finished(&place.session, seq.unwrap()).await;
        let call = place.say(owner, &words).await.unwrap();
        assert_eq!(offered(place, token).await, json!(["deny"]));
        let yes = json!({"tool_call_id": call, "decision": "once"});
        assert_eq!(place.post(token, "approvals", &yes).await.code(), "denied");
        assert!(!place.canary.exists());
    }
}

/// A role in somebody else's session, be it `own`, takes no rule away that was put there, and makes no copy
/// in the owner's name.
#[tokio::test]
async fn who_has_the_role_own_takes_no_rule_away_and_forks_nothing() {
    let desk = Desk::new().await;
    for owner in [&desk.operator, &desk.ann] {
        let session = desk.session(owner).await;
        let place = Place {
            desk: &desk,
            session,
            canary: desk.directory.path().join("canary"),
        };
        for rule in [
            json!({"effect": "deny", "tool": "bash", "argument": "touch *"}),
            json!({"effect": "ask", "tool": "read"}),
        ] {
            let added = json!({"change": {"rule_added": rule}});
            place.post(owner, "changes", &added).await.ok();
        }
        desk.share(owner, &place.session, &desk.bob_id, json!("own"))
            .await;
        desk.release(owner, &place.session).await;
        for rules in [json!([]), json!([{"effect": "ask", "tool": "read"}])] {
            let fewer = json!({"change": {"rules": rules}});
            assert_eq!(place.post(&desk.bob, "changes", &fewer).await.code(), "denied");
        }
        assert_eq!(place.post(&desk.bob, "fork", &json!({})).await.code(), "denied");
        // It is the role that is refused, not the wheel: what makes the session stricter is taken from them.
        let stricter = json!({"change": {"rule_added": {"effect": "deny", "tool": "write"}}});
        place.post(&desk.bob, "changes", &stricter).await.ok();
        place.post(owner, "fork", &json!({})).await.ok();
    }
}

/// A member without a session sees their own directory, and nothing of the operator's folder.
#[tokio::test]
async fn a_members_agent_tells_nothing_of_the_operators_folder() {
    let desk = Desk::with_instructions("Made up: the operator's plans.").await;
    let agent = |token: &str| desk.get("/v1/agent").by(token).send();
    let own = agent(&desk.operator).await.ok().json();
    assert!(own.to_string().contains("the operator's plans"));
    let shown = agent(&desk.ann).await.ok().json();
    assert_eq!(shown["workspace"], json!(desk.ann_dir().to_string_lossy()));
    let without = shown.to_string().replace(&*desk.ann_dir().to_string_lossy(), "");
    let root = std::fs::canonicalize(desk.directory.path()).unwrap();
    assert!(!without.contains("plans") && !without.contains(&*root.to_string_lossy()));
    let session = desk.session(&desk.ann).await;
    let facts = desk.seen(&format!("/v1/sessions/{session}/state")).await;
    assert!(!facts.to_string().contains("plans"));
}

/// A name of a program is shown in lines about people: it cannot read as more than a name.
#[tokio::test]
async fn no_program_calls_itself_what_reads_as_somebody_else() {
    let desk = Desk::new().await;
    let long = "a".repeat(65);
    for name in [
        "pc watches · you at desk",
        "a b",
        "a\u{9b}2J",
        "a\u{202e}b",
        "",
        &long,
    ] {
        let asked = desk.get("/v1/me").by(&desk.ann);
        let asked = asked.header_bytes("agentx-client", name.as_bytes());
        assert_eq!(asked.send().await.code(), "bad_request", "{name:?}");
    }
    let asked = desk
        .get("/v1/me")
        .by(&desk.ann)
        .header("agentx-client", "pc-1.home_2");
    asked.send().await.ok();
}

/// The ids of a list.
async fn listed(desk: &Desk, query: &str, token: &str) -> Vec<String> {
    let page = desk.get(&format!("/v1/sessions?{query}")).by(token).send().await;
    let page = page.ok().json();
    let items = page["items"].as_array().unwrap().iter();
    items
        .map(|info| info["session_id"].as_str().unwrap().to_owned())
        .collect()
}

/// An approver finds the waiting sessions of all members; a member finds their own.
#[tokio::test]
async fn sessions_that_wait_are_listed_for_who_decides() {
    let desk = Desk::new().await;
    let (of_operator, _) = asked(&desk, &desk.operator, "of-operator").await;
    let (of_ann, call) = asked(&desk, &desk.ann, "of-ann").await;
    let quiet = desk.session(&desk.ann).await;
    let own = [of_operator.session.clone()];
    let waiting = [of_ann.session.clone(), of_operator.session.clone()];
    for (query, token, expected) in [
        ("waiting=true&members=true", &desk.operator, &waiting[..]),
        ("waiting=true", &desk.operator, &own[..]),
        ("waiting=true&members=true", &desk.vera, &waiting[..1]),
        ("waiting=true&members=true", &desk.ann, &waiting[..1]),
        ("waiting=true&members=true", &desk.bob, &[]),
        ("members=true", &desk.bob, &[]),
        ("", &desk.vera, &[]),
        ("", &desk.operator, &own[..]),
    ] {
        assert_eq!(listed(&desk, query, token).await, expected, "{query}");
    }
    let mut all = vec![quiet.clone(), of_ann.session.clone(), of_operator.session.clone()];
    let mut found = listed(&desk, "members=true", &desk.operator).await;
    let mut pages = listed(&desk, "members=true&limit=1", &desk.operator).await;
    assert_eq!(pages.pop().as_ref(), found.first());
    all.sort();
    found.sort();
    assert_eq!(found, all, "the operator's list has members' sessions too");
    let no = json!({"tool_call_id": call, "decision": "deny"});
    let seq = of_ann.post(&desk.ann, "approvals", &no).await.ok().json()["seq"].as_u64();
    desk.until_finished(&of_ann.session, seq.unwrap()).await;
    assert_eq!(
        listed(&desk, "waiting=true&members=true", &desk.operator).await,
        own
    );
}
