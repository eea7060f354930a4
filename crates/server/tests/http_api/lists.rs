//! Lists: pages that fit together, what is shared among what is your own, messages, search, ids.

use agentx_runtime::Runtime as _;
use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::http_api::desk::{Desk, wide};

async fn page(desk: &Desk, token: &str, path: &str) -> (Vec<String>, Option<String>) {
    let page = desk.get(path).by(token).send().await.ok().json();
    let ids = page["items"].as_array().unwrap().iter();
    let ids = ids.map(|item| item["session_id"].as_str().unwrap().to_owned());
    (ids.collect(), page["next"].as_str().map(str::to_owned))
}

#[tokio::test]
async fn pages_of_sessions_fit_together() {
    let desk = Desk::new().await;
    let first = desk.session(&desk.ann).await;
    let ann = desk
        .get(&format!("/v1/sessions/{first}"))
        .by(&desk.ann)
        .send()
        .await
        .ok()
        .json();
    let runtime = desk
        .state
        .runtime_of(&agentx_types::OwnerId::new(ann["owner"].as_str().unwrap()));
    for _ in 0..12 {
        runtime.fork(&first.as_str().into(), None).await.unwrap();
    }
    let (all, next) = page(&desk, &desk.ann, "/v1/sessions?limit=50").await;
    assert_eq!((all.len(), next), (13, None));
    let mut found = Vec::new();
    let mut path = "/v1/sessions?limit=5".to_owned();
    loop {
        let (ids, next) = page(&desk, &desk.ann, &path).await;
        found.extend(ids);
        let Some(next) = next else { break };
        path = format!("/v1/sessions?limit=5&cursor={next}");
    }
    assert_eq!(found, all);
    assert_eq!(
        page(&desk, &desk.bob, "/v1/sessions").await.0,
        Vec::<String>::new()
    );
    let elsewhere = page(&desk, &desk.ann, "/v1/sessions?workspace=/elsewhere").await;
    assert_eq!(elsewhere.0.len(), 0);
    for wrong in [
        "limit=0",
        "limit=1001",
        "limit=x",
        "cursor=x",
        "before=x",
        "limit=1&limit=2",
    ] {
        let reply = desk
            .get(&format!("/v1/sessions?{wrong}"))
            .by(&desk.ann)
            .send()
            .await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{wrong}");
        assert_eq!(reply.code(), "bad_request");
    }
}

#[tokio::test]
async fn what_is_shared_is_listed_and_found_by_its_id_until_it_is_not() {
    let desk = Desk::new().await;
    let (own, shared) = (desk.session(&desk.bob).await, desk.session(&desk.ann).await);
    let ids = async || {
        let mut ids = page(&desk, &desk.bob, "/v1/sessions").await.0;
        ids.sort();
        ids
    };
    let resolve = async |prefix: &str| {
        desk.get(&format!("/v1/resolve?prefix={prefix}"))
            .by(&desk.bob)
            .send()
            .await
    };
    assert_eq!(ids().await, std::slice::from_ref(&own));
    assert_eq!(resolve(&shared).await.code(), "no_session");
    desk.share(&desk.ann, &shared, &desk.bob_id, json!("watch")).await;
    let mut both = vec![own.clone(), shared.clone()];
    both.sort();
    assert_eq!(ids().await, both);
    assert_eq!(
        resolve(&shared[..12]).await.ok().json()["session_id"],
        json!(shared)
    );
    let many = resolve("ses_").await;
    assert_eq!(
        (many.status, many.code().as_str()),
        (StatusCode::CONFLICT, "ambiguous")
    );
    let seen = desk
        .get(&format!("/v1/sessions/{shared}"))
        .by(&desk.bob)
        .send()
        .await
        .ok();
    assert_eq!(seen.json()["role"], "watch");
    desk.share(&desk.ann, &shared, &desk.bob_id, Value::Null).await;
    assert_eq!(ids().await, [own]);
}

/// Members find what visitors find.
#[tokio::test]
async fn what_visitors_may_watch_is_listed_and_found_by_members() {
    let mut open = wide();
    open.allow_visitors = true;
    let desk = Desk::with(open).await;
    let session = desk.session(&desk.ann).await;
    assert!(page(&desk, &desk.bob, "/v1/sessions").await.0.is_empty());
    desk.share(&desk.ann, &session, agentx_types::VISITORS, json!("watch"))
        .await;
    for token in [&desk.ann, &desk.bob] {
        let listed = page(&desk, token, "/v1/sessions").await.0;
        assert_eq!(listed, std::slice::from_ref(&session));
        let path = format!("/v1/resolve?prefix={session}");
        let found = desk.get(&path).by(token).send().await.ok().json();
        assert_eq!(found["session_id"], session);
    }
}

#[tokio::test]
async fn messages_come_in_pages_and_words_are_found_by_their_owner() {
    let desk = Desk::new().await;
    let session = desk.session(&desk.ann).await;
    desk.say(&desk.ann, &session, json!("hello marmalade")).await;
    desk.say(
        &desk.ann,
        &session,
        json!([{"type": "text", "text": "and again"}]),
    )
    .await;
    let messages = async |query: String| {
        let path = format!("/v1/sessions/{session}/messages?{query}");
        desk.get(&path).by(&desk.ann).send().await.ok().json()
    };
    let all = messages(String::new()).await;
    let all = all["items"].as_array().unwrap();
    assert_eq!(all.len(), 4, "{all:?}");
    assert_eq!(all[0]["message"]["content"][0]["text"], "hello marmalade");
    assert_eq!(all[1]["message"]["role"], "assistant");
    let (mut found, mut query) = (Vec::new(), "limit=1".to_owned());
    loop {
        let page = messages(query).await;
        found.extend(page["items"].as_array().unwrap().clone());
        let Some(next) = page["next"].as_str() else { break };
        query = format!("limit=1&cursor={next}");
    }
    assert_eq!(&found, all);
    let search = async |token: &str| {
        desk.get("/v1/search?q=marmalade")
            .by(token)
            .send()
            .await
            .ok()
            .json()
    };
    let hits = search(&desk.ann).await;
    assert_eq!(hits[0]["session_id"], json!(session));
    assert_eq!(search(&desk.bob).await, json!([]));
}

#[tokio::test]
async fn a_page_of_messages_ends_early_where_it_is_long() {
    let desk = Desk::new().await;
    let session = desk.session(&desk.ann).await;
    let long = "x".repeat(1_500_000);
    for number in 0..4 {
        desk.say(&desk.ann, &session, json!(format!("{number} {long}")))
            .await;
    }
    let (mut pages, mut cursor) = (Vec::new(), String::new());
    loop {
        let path = format!("/v1/sessions/{session}/messages?limit=500{cursor}");
        let page = desk.get(&path).by(&desk.ann).send().await.ok();
        assert!(page.body.len() < 8 << 20, "{} bytes", page.body.len());
        let page = page.json();
        pages.push(page["items"].as_array().unwrap().clone());
        let Some(next) = page["next"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert!(pages.len() > 1 && pages.iter().all(|page| !page.is_empty()));
    let all: Vec<_> = pages.concat();
    let said: Vec<_> = all
        .iter()
        .filter(|item| item["message"]["role"] == "user")
        .collect();
    assert_eq!(said.len(), 4, "none is missing and none comes twice");
    for (number, item) in said.iter().enumerate() {
        let text = item["message"]["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with(&number.to_string()), "in order");
    }
}
