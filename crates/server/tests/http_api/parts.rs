//! Partial and conditional answers: ETags, ranges, compression; and errors, each with its own status.

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::http_api::desk::{Desk, wide};

/// Ten bytes in base64, as a picture that is none.
fn picture() -> Value {
    json!([{"type": "image", "media_type": "image/png", "source": {"base64": "MDEyMzQ1Njc4OQ=="}}])
}

/// A session of Ann's with a picture, and the path of the picture.
async fn with_picture(desk: &Desk) -> (String, String) {
    let session = desk.session(&desk.ann).await;
    desk.say(&desk.ann, &session, picture()).await;
    let path = format!("/v1/sessions/{session}/messages");
    let messages = desk.get(&path).by(&desk.ann).send().await.ok().json();
    let blob = messages["items"][0]["message"]["content"][0]["source"]["blob"].clone();
    let path = format!("/v1/blobs/{}?session={session}", blob.as_str().unwrap());
    (session, path)
}

#[tokio::test]
async fn a_blob_comes_whole_in_part_or_not_again() {
    let desk = Desk::new().await;
    let (_, path) = with_picture(&desk).await;
    let whole = desk.get(&path).by(&desk.ann).send().await.ok();
    assert_eq!(&whole.body[..], b"0123456789");
    assert_eq!(whole.header("accept-ranges"), "bytes");
    assert_eq!(whole.header("x-content-type-options"), "nosniff");
    let tag = whole.header("etag").to_owned();
    let known = desk
        .get(&path)
        .by(&desk.ann)
        .header("if-none-match", &tag)
        .send()
        .await;
    assert_eq!((known.status, known.body.len()), (StatusCode::NOT_MODIFIED, 0));
    assert_eq!(known.header("etag"), tag);
    for (range, status, bytes, content_range) in [
        ("bytes=2-4", 206, "234", "bytes 2-4/10"),
        ("bytes=-2", 206, "89", "bytes 8-9/10"),
        ("bytes=7-", 206, "789", "bytes 7-9/10"),
        ("bytes=0-0,5-5", 200, "0123456789", ""),
    ] {
        let part = desk.get(&path).by(&desk.ann).header("range", range).send().await;
        assert_eq!(part.status.as_u16(), status, "{range}");
        assert_eq!(&part.body[..], bytes.as_bytes(), "{range}");
        assert_eq!(part.header("content-range"), content_range);
    }
    let beyond = desk
        .get(&path)
        .by(&desk.ann)
        .header("range", "bytes=10-")
        .send()
        .await;
    assert_eq!(
        (beyond.status, beyond.code().as_str()),
        (StatusCode::RANGE_NOT_SATISFIABLE, "bad_range")
    );
    assert_eq!(beyond.header("content-range"), "bytes */10");
    let older = desk
        .get(&path)
        .by(&desk.ann)
        .header("range", "bytes=2-4")
        .header("if-range", "\"other\"");
    assert_eq!(older.send().await.status, StatusCode::OK);
    let head = desk.ask(Method::HEAD, &path).by(&desk.ann).send().await.ok();
    assert_eq!((head.header("content-length"), head.body.len()), ("10", 0));
}

#[tokio::test]
async fn a_blob_is_seen_by_those_who_may_see_a_session_that_has_it() {
    let desk = Desk::new().await;
    let (session, path) = with_picture(&desk).await;
    let blob = path.split(['/', '?']).nth(3).unwrap().to_owned();
    let seen = async |path: &str| desk.get(path).by(&desk.bob).send().await;
    assert_eq!(seen(&path).await.code(), "no_session");
    // Bob writes the id down in a session of his own: that does not make it his.
    let own = desk.session(&desk.bob).await;
    desk.say(&desk.bob, &own, json!(format!("look at {blob}"))).await;
    let by_own = format!("/v1/blobs/{blob}?session={own}");
    assert_eq!(seen(&by_own).await.code(), "no_blob");
    let borrowed =
        json!({"content": [{"type": "image", "media_type": "image/png", "source": {"blob": blob}}]});
    let borrowed = desk
        .post(&format!("/v1/sessions/{own}/messages"), &borrowed)
        .by(&desk.bob);
    assert_eq!(borrowed.send().await.code(), "no_blob");
    desk.share(&desk.ann, &session, &desk.bob_id, json!("watch"))
        .await;
    assert_eq!(&seen(&path).await.ok().body[..], b"0123456789");
    assert_eq!(seen("/v1/blobs/b3_0?session=ses_0").await.code(), "no_session");
    assert_eq!(seen(&format!("/v1/blobs/{blob}")).await.code(), "bad_request");
}

#[tokio::test]
async fn what_is_known_is_not_told_again() {
    let desk = Desk::new().await;
    let session = desk.session(&desk.ann).await;
    desk.say(&desk.ann, &session, json!("hello")).await;
    let context = format!("/v1/sessions/{session}/context");
    for path in [
        "/v1/models",
        "/v1/tools",
        "/v1/agent",
        "/v1/openapi.json",
        &context,
    ] {
        let first = desk.get(path).by(&desk.ann).send().await.ok();
        let tag = first.header("etag").to_owned();
        assert!(tag.starts_with("W/\""), "{path} {tag}");
        let tags = format!("\"other\", {tag}");
        let again = desk
            .get(path)
            .by(&desk.ann)
            .header("if-none-match", &tags)
            .send()
            .await;
        assert_eq!(
            (again.status, again.body.len()),
            (StatusCode::NOT_MODIFIED, 0),
            "{path}"
        );
        let other = desk
            .get(path)
            .by(&desk.ann)
            .header("if-none-match", "\"other\"")
            .send()
            .await;
        assert_eq!(other.body, first.body, "{path}");
    }
}

#[tokio::test]
async fn long_answers_are_compressed_and_short_ones_are_not() {
    let desk = Desk::new().await;
    let ask = |path: &'static str| desk.get(path).by(&desk.ann).header("accept-encoding", "gzip");
    assert_eq!(
        ask("/v1/openapi.json")
            .send()
            .await
            .ok()
            .header("content-encoding"),
        "gzip"
    );
    assert_eq!(ask("/v1/me").send().await.ok().header("content-encoding"), "");
}

#[tokio::test]
async fn mistakes_are_problems_each_with_its_status() {
    let mut options = wide();
    options.limits.body_bytes = 1 << 20;
    let desk = Desk::with(options).await;
    let session = desk.session(&desk.ann).await;
    let messages = format!("/v1/sessions/{session}/messages");
    let post = || desk.ask(Method::POST, &messages).by(&desk.ann);
    let json = || post().header("content-type", "application/json; charset=utf-8");
    let long = format!("{{\"content\": \"{}\"}}", "x".repeat(1 << 20));
    let cases = [
        (desk.get("/v1/nothing"), 404, "not_found"),
        (desk.get("/"), 404, "not_found"),
        (desk.ask(Method::PUT, "/v1/sessions"), 405, "method_not_allowed"),
        (post().text("{}"), 415, "unsupported_media_type"),
        (
            post().header("content-type", "text/plain").text("hello"),
            415,
            "unsupported_media_type",
        ),
        (json().text("{"), 422, "bad_json"),
        (json().text("{\"content\": \"a\"} x"), 422, "bad_json"),
        (json().text("{\"content\": 7}"), 422, "bad_json"),
        (json().text("[\"a\"]"), 422, "bad_json"),
        (
            json().text("{\"content\": [{\"type\": \"thinking\", \"text\": \"mine\"}]}"),
            400,
            "bad_request",
        ),
        (json().text("{\"content\": []}"), 400, "bad_request"),
        (json().text(long), 413, "too_large"),
        (
            json().header("idempotency-key", "").text("{}"),
            400,
            "bad_request",
        ),
        (desk.get("/v1/search").by(&desk.ann), 400, "bad_request"),
        (
            desk.get("/v1/me").header("authorization", "Basic x"),
            401,
            "unauthenticated",
        ),
    ];
    for (ask, status, code) in cases {
        let reply = ask.send().await;
        assert_eq!((reply.status.as_u16(), reply.code().as_str()), (status, code));
        assert_eq!(reply.header("cache-control"), "no-store");
    }
    let put = desk.ask(Method::PUT, "/v1/sessions").send().await;
    assert!(put.header("allow").contains("POST"), "{:?}", put.headers);
    let change = json!({"change": {"limits": {"max_iterations": -1}}});
    let wrong = desk
        .post(&format!("/v1/sessions/{session}/changes"), &change)
        .by(&desk.ann);
    let wrong = wrong.send().await;
    assert_eq!(wrong.code(), "bad_json");
    let problem = wrong.json();
    assert_eq!(problem["data"]["path"], "change", "{problem}");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.starts_with("change: limits.max_iterations: "), "{problem}");
    assert_eq!(problem["data"]["line"], 1);
}

#[tokio::test]
async fn who_asks_too_often_is_told_when_to_come_back() {
    let mut options = wide();
    (options.limits.rate, options.limits.burst) = (1, 20);
    let desk = Desk::with(options).await;
    let mut last = desk.get("/v1/me").by(&desk.ann).send().await;
    for _ in 0..40 {
        last = desk.get("/v1/me").by(&desk.ann).send().await;
    }
    assert_eq!(
        (last.status, last.code().as_str()),
        (StatusCode::TOO_MANY_REQUESTS, "rate_limited")
    );
    assert_eq!(last.header("retry-after"), "1");
    assert!(last.json()["retry_after_ms"].as_u64().unwrap() <= 1000);
    desk.get("/v1/me").by(&desk.bob).send().await.ok();
}

/// A part of a message in no valid form is the mistake of its sender, whoever they are.
#[tokio::test]
async fn a_part_with_another_form_of_type_or_bytes_is_a_bad_request() {
    let desk = Desk::new().await;
    for token in [&desk.ann, &desk.operator] {
        let session = desk.session(token).await;
        let path = format!("/v1/sessions/{session}/messages");
        for (kind, bytes, said) in [
            ("text/html\r\nx: y", "aGVsbG8=", "control characters"),
            ("text/plain\u{0}", "aGVsbG8=", "control characters"),
            ("text/plain", "no base64!", "not valid base64"),
        ] {
            let file = json!({"type": "file", "media_type": kind, "source": {"base64": bytes}});
            let refused = desk
                .post(&path, &json!({"content": [file]}))
                .by(token)
                .send()
                .await;
            assert_eq!(
                (refused.status.as_u16(), refused.code().as_str()),
                (400, "bad_request"),
                "{kind:?}"
            );
            let detail = refused.json()["detail"].as_str().unwrap().to_owned();
            assert!(detail.contains(said), "{detail}");
        }
    }
}
