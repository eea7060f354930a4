//! Memories over HTTP: the operator decides about proposals, changes and deletes them; nobody else sees them.

use agentx_memory::{MemoryOrigin, MemoryState, NewMemory};
use agentx_node_runtime::open_memories;
use agentx_types::{SessionId, Timestamp};
use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::http_api::desk::{Desk, Reply, wide};

/// Stores a proposal as a model makes it, and returns its number.
fn propose(desk: &Desk, text: &str) -> i64 {
    let proposal = NewMemory {
        state: MemoryState::Proposed,
        origin: Some(MemoryOrigin {
            session: SessionId::new("ses_1"),
            seq: 7,
        }),
        ..NewMemory::of_person(text)
    };
    let store = open_memories(&desk.state.settings()).unwrap();
    store.add(&proposal, Timestamp(5)).unwrap().0.id
}

async fn list(desk: &Desk, query: &str) -> Value {
    let path = format!("/v1/memories{query}");
    desk.get(&path).by(&desk.operator).send().await.ok().json()
}

fn numbers(page: &Value) -> Vec<i64> {
    let items = page["items"].as_array().unwrap().iter();
    items.map(|item| item["id"].as_i64().unwrap()).collect()
}

async fn change(desk: &Desk, number: i64, wish: &Value) -> Reply {
    let path = format!("/v1/memories/{number}");
    desk.ask(Method::PATCH, &path)
        .json(wish)
        .by(&desk.operator)
        .send()
        .await
}

#[tokio::test]
async fn a_proposal_is_accepted_changed_refused_and_taken_back() {
    let desk = Desk::set(wide(), |settings| settings.memory.enabled = true).await;
    let [tea, coffee, water] = ["likes tea", "likes coffee", "likes water"].map(|text| propose(&desk, text));
    let inbox = list(&desk, "?state=proposed").await;
    assert_eq!(numbers(&inbox), [water, coffee, tea]);
    assert_eq!((&inbox["waiting"], &inbox["accepted"]), (&json!(3), &json!(0)));
    assert_eq!(inbox["enabled"], true);
    let first = &inbox["items"][2];
    assert_eq!(
        (&first["text"], &first["session_id"], &first["seq"]),
        (&json!("likes tea"), &json!("ses_1"), &json!(7))
    );

    let accepted = json!({"state": "accepted", "text": "likes green tea"});
    let accepted = change(&desk, tea, &accepted).await.ok().json();
    assert_eq!(
        (&accepted["text"], &accepted["state"]),
        (&json!("likes green tea"), &json!("accepted"))
    );
    change(&desk, coffee, &json!({"state": "refused"})).await.ok();
    let pinned = change(&desk, tea, &json!({"pinned": true})).await.ok().json();
    assert_eq!(pinned["pinned"], true);
    assert_eq!(numbers(&list(&desk, "?state=accepted").await), [tea]);
    assert_eq!(numbers(&list(&desk, "?state=refused").await), [coffee]);
    assert_eq!(numbers(&list(&desk, "?q=green").await), [tea]);
    assert_eq!(numbers(&list(&desk, "?limit=1").await), [water]);

    change(&desk, tea, &json!({"state": "refused"})).await.ok();
    assert_eq!(list(&desk, "").await["accepted"], 0);
    let path = format!("/v1/memories/{water}");
    let delete = || desk.ask(Method::DELETE, &path).by(&desk.operator).send();
    assert_eq!(delete().await.status, StatusCode::NO_CONTENT);
    assert_eq!(delete().await.code(), "not_found");
}

#[tokio::test]
async fn a_change_of_a_memory_that_makes_no_sense_is_refused_and_changes_nothing() {
    let desk = Desk::new().await;
    let number = propose(&desk, "likes tea");
    let long = "x".repeat(1_001);
    for (wish, code) in [
        (json!({}), "bad_request"),
        (json!({"text": " "}), "bad_request"),
        (json!({"text": long}), "bad_request"),
        (json!({"state": "proposed"}), "bad_json"),
        (json!({"txet": "a"}), "bad_request"),
    ] {
        assert_eq!(change(&desk, number, &wish).await.code(), code, "{wish}");
    }
    assert_eq!(
        change(&desk, number + 1, &json!({"pinned": true})).await.code(),
        "not_found"
    );
    let page = list(&desk, "").await;
    assert_eq!(
        (&page["items"][0]["text"], &page["items"][0]["state"]),
        (&json!("likes tea"), &json!("proposed"))
    );
    assert_eq!(page["enabled"], false);
}

#[tokio::test]
async fn members_and_approvers_see_no_memory() {
    let desk = Desk::new().await;
    let path = format!("/v1/memories/{}", propose(&desk, "likes tea"));
    for token in [&desk.ann, &desk.vera] {
        let listed = desk.get("/v1/memories").by(token).send().await;
        assert_eq!(listed.code(), "denied");
        let accept = json!({"state": "accepted"});
        let accepted = desk.ask(Method::PATCH, &path).json(&accept).by(token);
        assert_eq!(accepted.send().await.code(), "denied");
        let deleted = desk.ask(Method::DELETE, &path).by(token);
        assert_eq!(deleted.send().await.code(), "denied");
    }
    assert_eq!(list(&desk, "").await["waiting"], 1);
}
