//! No event contains a key, whatever a server does. (Every other test here checks its events for the key,
//! too.)

use std::collections::BTreeMap;
use std::sync::Arc;

use agentx_llm::Secret;
use agentx_llm::{Catalog, WireOptions};
use agentx_node_runtime::model::{Endpoint, ModelEffector, ModelParts};
use agentx_testing::{FaultyLog, ServerReply, TestServer, fixture, perform, refusing_address, wire};
use serde_json::json;

use crate::{Caller, KEY, message, story};

#[tokio::test]
async fn a_server_that_repeats_the_key_is_not_quoted() {
    let said = format!("Incorrect API key provided: {KEY}. See your account.");
    let refusal = ServerReply::json(
        401,
        &json!({ "error": { "type": "authentication_error", "message": said } }),
    );
    let page = ServerReply::body(200, "text/html", format!("<p>you sent {KEY}</p>"));
    let event = ServerReply::stream().then(wire::anthropic_error("invalid_request_error", &said));
    for reply in [refusal, page, event] {
        let server = TestServer::start([reply]).await;
        let said = Caller::at(&server.url()).call().await;
        assert!(message(&said).contains("<hidden>"), "{}", message(&said));
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let other = TestServer::start([ServerReply::stream().then(wire::anthropic_text(&["hello"]))]).await;
    let redirect = ServerReply::status(307).header("location", &format!("{}/v1/messages", other.url()));
    let server = TestServer::start([redirect]).await;
    let said = Caller::at(&server.url()).call().await;
    assert_eq!(
        story(&said),
        ["attempt_failed 1 redirected 307 last", "error redirected"]
    );
    assert!(message(&said).contains(&other.url()), "{}", message(&said));
    assert_eq!(other.connections(), 0);
}

#[tokio::test]
async fn a_password_in_the_address_is_sent_and_not_said() {
    let server = TestServer::start([ServerReply::status(404)]).await;
    let with_user = |address: std::net::SocketAddr| format!("http://someone:hunter22@{address}");
    let said = Caller::at(&with_user(server.address())).call().await;
    assert!(!said.json().contains("hunter22"), "{}", said.json());
    let said = Caller::at(&with_user(refusing_address().await)).call().await;
    assert!(
        !said.json().contains("hunter22") && !said.json().contains("someone"),
        "{}",
        said.json()
    );
}

#[tokio::test]
async fn extra_headers_are_sent_and_not_said() {
    let server = TestServer::start([ServerReply::body(
        400,
        "text/plain",
        "bad header gateway-secret-77",
    )])
    .await;
    let catalog = Catalog::builtin();
    let endpoint = Endpoint::new(
        catalog.provider("anthropic").unwrap(),
        Some(&server.url()),
        Some(Secret::new(KEY)),
    )
    .with_header("x-gateway", Secret::new("gateway-secret-77"));
    let parts = ModelParts::new(
        BTreeMap::from([("test".to_owned(), endpoint)]),
        Arc::new(|_| WireOptions::default()),
        Arc::new(FaultyLog::new()),
    );
    let said = perform(&ModelEffector::new(parts), fixture::call_model("hello")).await;
    assert_eq!(
        server.requests()[0].header("x-gateway"),
        Some("gateway-secret-77")
    );
    assert!(!said.json().contains("gateway-secret-77"), "{}", said.json());
}

#[test]
fn what_is_printed_for_debugging_holds_no_key() {
    let catalog = Catalog::builtin();
    let endpoint = Endpoint::new(
        catalog.provider("anthropic").unwrap(),
        None,
        Some(Secret::new(KEY)),
    );
    assert!(!format!("{endpoint:?}").contains(KEY));
}
