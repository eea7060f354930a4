//! Requests of a member about what is not theirs: blobs by their digest, ids by their beginning, words of
//! others, copies.

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::http_api::desk::Desk;

/// The bytes of a made-up picture: they need not be one.
const PICTURE: &str = "bWFkZSB1cCBwaWN0dXJl";
const WORDS: &str = "the made-up harvest of bob";

/// A session of Bob's that has words and a picture of his, and the picture's id.
async fn of_bob(desk: &Desk) -> (String, String) {
    let session = desk.session(&desk.bob).await;
    let picture =
        json!({"type": "file", "media_type": "application/octet-stream", "source": {"base64": PICTURE}});
    let content = json!([{"type": "text", "text": WORDS}, picture]);
    desk.say(&desk.bob, &session, content).await;
    let path = format!("/v1/sessions/{session}/export");
    let export = desk.get(&path).by(&desk.bob).send().await.ok();
    let export = String::from_utf8_lossy(&export.body).into_owned();
    let at = export.find("b3_").unwrap();
    let blob = export[at..]
        .split(|char: char| !char.is_alphanumeric() && char != '_')
        .next();
    (session, blob.unwrap().to_owned())
}

#[tokio::test]
async fn nothing_of_anothers_session_is_had_by_knowing_its_names() {
    let desk = Desk::new().await;
    let (theirs, blob) = of_bob(&desk).await;
    let own = desk.session(&desk.ann).await;
    let has = format!("/v1/blobs/{blob}?session={theirs}");
    assert_eq!(
        desk.get(&has).by(&desk.bob).send().await.ok().body,
        "made up picture"
    );
    let short = &theirs["ses_".len()..][..6];
    let get = |path: String| (Method::GET, path, Value::Null);
    let post = |path: String, body: Value| (Method::POST, path, body);
    let picture =
        json!([{"type": "file", "media_type": "application/octet-stream", "source": {"blob": blob}}]);
    let attempts = [
        get(format!("/v1/blobs/{blob}?session={theirs}")),
        get(format!("/v1/blobs/{blob}?session={own}")),
        get(format!("/v1/blobs/{blob}")),
        get(format!("/v1/blobs/{}?session={own}", blob.to_uppercase())),
        post(
            format!("/v1/sessions/{own}/messages"),
            json!({"content": picture}),
        ),
        post(
            format!("/v1/sessions/{own}/messages"),
            json!({"content": [{"type": "tool_result", "tool_call_id": "c", "content": picture, "is_error": false}]}),
        ),
        get(format!("/v1/resolve?prefix={theirs}")),
        get(format!("/v1/resolve?prefix={short}")),
        get("/v1/resolve?prefix=%25".to_owned()),
        get("/v1/resolve?prefix=ses_%5F%25".to_owned()),
        get(format!("/v1/usage?session={theirs}")),
        get(format!("/v1/sessions/{theirs}%00")),
        get(format!("/v1/sessions/{own}%2F..%2F{theirs}/state")),
        post(format!("/v1/sessions/{theirs}/fork"), json!({"at_seq": 1})),
        post(
            format!("/v1/sessions/{own}/fork"),
            json!({"at_seq": 1, "session_id": theirs, "owner": "own_local"}),
        ),
        post(format!("/v1/sessions/{own}/fork"), json!({"at_seq": 0})),
        post(format!("/v1/sessions/{own}/fork"), json!({"at_seq": u64::MAX})),
    ];
    for (method, path, body) in attempts {
        let ask = desk.ask(method, &path).by(&desk.ann);
        let ask = if body.is_null() { ask } else { ask.json(&body) };
        let reply = ask.send().await;
        let text = String::from_utf8_lossy(&reply.body).into_owned();
        assert!(!reply.status.is_server_error(), "{path}: {text}");
        assert!(
            !text.contains(WORDS) && !text.contains("made up picture"),
            "{path}: {text}"
        );
        let is_copy = path.ends_with("/fork") && reply.status == StatusCode::CREATED;
        if is_copy {
            let copy = reply.json()["session_id"].as_str().unwrap().to_owned();
            let state = desk
                .get(&format!("/v1/sessions/{copy}"))
                .by(&desk.bob)
                .send()
                .await;
            assert_eq!(state.code(), "no_session", "a copy is of whoever makes it");
        } else {
            assert!(
                reply.status.is_client_error() || text == "[]",
                "{path}: {} {text}",
                reply.status
            );
        }
    }
}

/// Searches and lists show nothing of others, whatever is searched for, and none of it is too strange to be
/// answered.
#[tokio::test]
async fn searches_and_lists_show_nothing_of_others() {
    let desk = Desk::new().await;
    let (theirs, _) = of_bob(&desk).await;
    for caller in [&desk.ann, &desk.bob] {
        desk.say(caller, &desk.session(caller).await, json!("hello"))
            .await;
    }
    let cursor = desk
        .get("/v1/sessions?limit=1")
        .by(&desk.bob)
        .send()
        .await
        .ok()
        .json()["next"]
        .clone();
    let cursor = cursor.as_str().expect("Bob has a second page").to_owned();
    let words = [
        "harvest",
        "%22harvest",
        "harv*",
        "*",
        "NEAR(harvest)",
        "title:harvest",
        "%27%20OR%201=1--",
        "%F0%9F%8C%BE",
        "%E2%80%AE",
    ];
    let searches = words.map(|words| format!("/v1/search?q={words}&limit=200"));
    let lists = [
        "",
        "?members=true",
        "?waiting=true&members=true",
        "?workspace=/",
        "?limit=0",
        "?limit=1000000",
        "?before=-1",
    ];
    let lists = lists.map(|query| format!("/v1/sessions{query}"));
    let cursors = [cursor.as_str(), "x", "", "%00", "%F0%9F%8C%BE"]
        .map(|cursor| format!("/v1/sessions?cursor={cursor}"));
    // Bob finds what the others may not find.
    for path in [&searches[0], &lists[0], &cursors[0]] {
        let own = desk.get(path).by(&desk.bob).send().await.ok();
        assert!(String::from_utf8_lossy(&own.body).contains(&theirs), "{path}");
    }
    for path in searches.iter().chain(&lists).chain(&cursors) {
        let reply = desk.get(path).by(&desk.ann).send().await;
        let text = String::from_utf8_lossy(&reply.body);
        assert!(!reply.status.is_server_error(), "{path}: {text}");
        assert!(
            !text.contains("harvest") || text.contains("bad_request"),
            "{path}: {text}"
        );
        assert!(!text.contains(&theirs), "{path}: {text}");
    }
}
