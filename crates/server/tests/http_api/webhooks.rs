//! Webhooks: who has no signature gets nothing done, and a delivery is taken in once.

use agentx_config::{ApiKeySource, Secret, WebhookSettings};
use agentx_schedule::DeliveryInbox;
use axum::body::Body;
use axum::http::{Method, StatusCode};
use futures_util::stream;

use crate::http_api::desk::{Desk, Reply, wide};

const BODY: &str = "{\"action\":\"opened\"}";
/// HMAC-SHA256 of the body with the secret `made-up`.
const SIGNATURE: &str = "sha256=0027e07eaf6f838c18b681d7b135f3e8424fdfdd256cd4b91a0fa9e3f767cf88";

fn webhook(name: &str, secret: ApiKeySource) -> WebhookSettings {
    WebhookSettings {
        name: name.into(),
        secret,
        prompt: "Look at it.".into(),
        agent: Some("reviewer".into()),
        model: None,
        workspace: None,
        session: None,
    }
}

async fn desk() -> Desk {
    Desk::set(wide(), |settings| {
        let secret = ApiKeySource::Literal(Secret::new("made-up"));
        let unset = ApiKeySource::Env {
            name: "UNSET".into(),
            value: None,
        };
        settings.webhooks = vec![webhook("ci", secret), webhook("unset", unset)];
    })
    .await
}

async fn deliver(desk: &Desk, name: &str, signature: &str, body: &str) -> Reply {
    let path = format!("/v1/hooks/{name}");
    let ask = desk
        .ask(Method::POST, &path)
        .header("x-hub-signature-256", signature);
    ask.text(body.to_owned()).send().await
}

#[tokio::test]
async fn a_signed_delivery_is_taken_in_once_with_its_prompt() {
    let desk = desk().await;
    let first = deliver(&desk, "ci", SIGNATURE, BODY).await;
    assert_eq!(first.status, StatusCode::ACCEPTED, "{:?}", first.body);
    assert_eq!(first.json()["new"], true);
    let again = deliver(&desk, "ci", SIGNATURE, BODY).await;
    assert_eq!(again.status, StatusCode::ACCEPTED);
    assert_eq!(again.json()["new"], false);
    let settings = desk.state.settings();
    let waiting = DeliveryInbox::at(&settings.data_dir).pending().unwrap();
    assert_eq!(waiting.len(), 1);
    let delivery = &waiting[0];
    assert_eq!(delivery.key, first.json()["delivery"].as_str().unwrap());
    assert!(
        delivery.prompt.starts_with("Look at it.\n\n") && delivery.prompt.contains(BODY),
        "{}",
        delivery.prompt
    );
    assert_eq!(delivery.agent.as_deref(), Some("reviewer"));
    assert_eq!(delivery.workspace, settings.workspace.to_string_lossy());
}

#[tokio::test]
async fn a_delivery_without_a_right_signature_leaves_nothing() {
    let desk = desk().await;
    let long = "x".repeat((256 << 10) + 1);
    for (name, signature, body, status, code) in [
        ("ci", SIGNATURE, "{}", StatusCode::UNAUTHORIZED, "bad_signature"),
        ("ci", "sha256=00", BODY, StatusCode::UNAUTHORIZED, "bad_signature"),
        ("nothing", SIGNATURE, BODY, StatusCode::NOT_FOUND, "not_found"),
        ("unset", SIGNATURE, BODY, StatusCode::CONFLICT, "unavailable"),
        ("ci", SIGNATURE, &long, StatusCode::PAYLOAD_TOO_LARGE, "too_large"),
    ] {
        let reply = deliver(&desk, name, signature, body).await;
        assert_eq!(
            (reply.status, reply.code().as_str()),
            (status, code),
            "{name} {signature}"
        );
        let told = String::from_utf8_lossy(&reply.body).into_owned();
        assert!(!told.contains("made-up"), "{told}");
    }
    let inbox = DeliveryInbox::at(&desk.state.settings().data_dir);
    assert!(inbox.pending().unwrap().is_empty());
}

/// A body that never comes: whoever reads it waits until the time for it is over.
#[tokio::test]
async fn a_delivery_that_cannot_be_right_is_refused_before_its_body() {
    let desk = desk().await;
    for (name, signature, status) in [
        ("nothing", Some(SIGNATURE), StatusCode::NOT_FOUND),
        ("ci", None, StatusCode::UNAUTHORIZED),
        ("ci", Some("sha256=00"), StatusCode::UNAUTHORIZED),
        ("ci", Some("sha1=made-up"), StatusCode::UNAUTHORIZED),
    ] {
        let mut ask = desk.ask(Method::POST, &format!("/v1/hooks/{name}"));
        if let Some(signature) = signature {
            ask = ask.header("x-hub-signature-256", signature);
        }
        let never = Body::from_stream(stream::pending::<std::io::Result<Vec<u8>>>());
        let reply = ask.text(never).send().await;
        assert_eq!(reply.status, status, "{name} {signature:?}");
    }
}
