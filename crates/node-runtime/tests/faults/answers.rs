//! Successful requests: the bytes on the wire, complete answers, and the low cost.

use std::collections::BTreeMap;
use std::sync::Arc;

use agentx_llm::Secret;
use agentx_node_runtime::model::{Endpoint, ModelEffector, ModelParts};
use agentx_runtime::BlobStore as _;
use agentx_testing::{FaultyLog, ServerReply, TestServer, fixture, perform, wire};
use agentx_types::{
    Api, ContentPart, EnvironmentEvent, MediaPart, MediaSource, Message, ModelFellBack, Prices,
};
use serde_json::json;

use crate::{Caller, KEY, answered, check, message, story};

#[tokio::test]
async fn the_request_is_what_the_api_wants() {
    let server = TestServer::start([ServerReply::stream().then(wire::anthropic_text(&["hello"]))]).await;
    Caller::at(&server.url()).call().await;
    let request = server.requests().remove(0);
    assert_eq!(
        (request.method.as_str(), request.path.as_str()),
        ("POST", "/v1/messages")
    );
    assert_eq!(request.header("x-api-key"), Some(KEY));
    assert_eq!(request.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert!(
        request
            .header("user-agent")
            .is_some_and(|agent| agent.starts_with("agentx/"))
    );
    assert_eq!(request.json()["stream"], json!(true));

    let server = TestServer::start([ServerReply::stream().then(wire::chat_text(&["hello"]))]).await;
    Caller::with(&server.url(), Api::OpenaiChat, |_| {}).call().await;
    let request = server.requests().remove(0);
    assert_eq!(request.path, "/chat/completions");
    assert_eq!(
        request.header("authorization"),
        Some(format!("Bearer {KEY}").as_str())
    );
}

#[tokio::test]
async fn events_of_one_piece_are_said_together() {
    let said = check(
        vec![ServerReply::stream().then(wire::anthropic_text(&["hel", "lo"]))],
        answered(1),
    )
    .await;
    assert_eq!(said.batches, [said.events.len()]);
}

#[tokio::test]
async fn one_connection_serves_many_calls() {
    let answer = || ServerReply::stream().then(wire::anthropic_text(&["hello"]));
    let server = TestServer::start((0..5).map(|_| answer())).await;
    let caller = Caller::at(&server.url());
    for _ in 0..5 {
        assert_eq!(story(&caller.call().await), answered(1));
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_understood() {
    let body = json!({
        "id": "msg_wire", "type": "message", "role": "assistant", "model": "test-model",
        "content": [{ "type": "text", "text": "hello" }],
        "stop_reason": "end_turn", "stop_sequence": null, "usage": { "input_tokens": 1, "output_tokens": 1 },
    });
    let server = TestServer::start([ServerReply::json(200, &body)]).await;
    let said = Caller::at(&server.url()).call().await;
    assert_eq!(said.text(), "hello");
    assert_eq!(
        story(&said).last().map(String::as_str),
        Some("stream_end end_turn")
    );

    let error = json!({ "error": { "message": "no such model", "code": "model_not_found" } });
    let server = TestServer::start([ServerReply::json(200, &error)]).await;
    let said = Caller::with(&server.url(), Api::OpenaiChat, |_| {}).call().await;
    assert_eq!(
        story(&said),
        ["attempt_failed 1 not_found last", "error not_found"]
    );
}

#[tokio::test]
async fn pictures_come_from_the_blob_store() {
    let blobs = Arc::new(FaultyLog::new());
    let picture = agentx_testing::vendors::png(2, 2);
    let id = blobs.put_blob(picture.clone()).await.unwrap();
    let server = TestServer::start([ServerReply::stream().then(wire::anthropic_text(&["hello"]))]).await;
    let caller = Caller::with(&server.url(), Api::Anthropic, |parts| parts.blobs = blobs.clone());
    let media = MediaPart {
        media_type: "image/png".into(),
        source: MediaSource::Blob(id),
        name: None,
    };
    let mut message = Message::clone(&fixture::user("look"));
    message.content.push(ContentPart::Image(media));
    let request = fixture::request(Api::Anthropic, vec![message.into()]);
    perform(&caller.effector, fixture::call(request)).await;
    assert!(
        server.requests()[0]
            .json()
            .to_string()
            .contains("iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAA"),
        "base64 of the bytes"
    );
}

#[tokio::test]
async fn nothing_is_sent_to_another_server_than_the_one_that_was_asked_so_far() {
    let server = TestServer::start([ServerReply::stream().then(wire::anthropic_text(&["hello"]))]).await;
    let caller = Caller::at(&server.url());
    let asked_at = async |origin: &str| {
        let mut request = caller.request();
        request.model.server = Some(origin.to_owned());
        perform(&caller.effector, fixture::call(request)).await
    };
    for elsewhere in ["http://localhost:1", "https://api.anthropic.com", ""] {
        let said = asked_at(elsewhere).await;
        assert_eq!(story(&said), ["error other_server"], "{elsewhere}");
        let message = message(&said);
        assert!(
            message.contains(elsewhere) && message.contains(&server.url()),
            "{message}"
        );
    }
    assert_eq!(server.requests().len(), 0);
    let said = asked_at(&server.url()).await;
    assert_eq!(story(&said), answered(1));
}

#[tokio::test]
async fn what_cannot_be_tried_is_said_at_once() {
    let unknown = Caller::with("http://localhost:1", Api::Anthropic, |parts| {
        parts.endpoints.clear()
    });
    let said = unknown.call().await;
    assert_eq!(story(&said), ["error bad_setup"]);
    assert_eq!(message(&said), "no endpoint for the provider `test`");

    let catalog = agentx_llm::Catalog::builtin();
    let keyless = Endpoint::new(catalog.provider("anthropic").unwrap(), None, None);
    let parts = ModelParts::new(
        BTreeMap::from([("test".to_owned(), keyless)]),
        Arc::new(|_| agentx_llm::WireOptions::default()),
        Arc::new(FaultyLog::new()),
    );
    let said = perform(&ModelEffector::new(parts), fixture::call_model("hello")).await;
    assert_eq!(story(&said), ["error missing_key"]);
    assert!(message(&said).contains("ANTHROPIC_API_KEY"), "{}", message(&said));

    let openai = Endpoint::new(catalog.provider("openai").unwrap(), None, Some(Secret::new(KEY)));
    let parts = ModelParts::new(
        BTreeMap::from([("test".to_owned(), openai)]),
        Arc::new(|_| agentx_llm::WireOptions::default()),
        Arc::new(FaultyLog::new()),
    );
    let mut request = fixture::request(Api::OpenaiChat, vec![fixture::user("hello")]);
    request.model.id = "gpt-6-astra".into();
    let said = perform(&ModelEffector::new(parts), fixture::call(request)).await;
    assert_eq!(story(&said), ["error bad_request"]);
    assert!(
        message(&said).contains("/model openai/gpt-6-astra"),
        "{}",
        message(&said)
    );

    assert_eq!(
        story(&Caller::at("not an address").call().await),
        ["error bad_address"]
    );
}

/// These bytes as gzip, whole and in pieces of 7 bytes.
fn gzip(text: &str) -> Vec<u8> {
    use std::io::Write as _;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(text.as_bytes()).unwrap();
    packed.finish().unwrap()
}

#[tokio::test]
async fn an_answer_that_comes_packed_without_being_asked_for_is_read() {
    let packed = gzip(&wire::anthropic_text(&["hel", "lo"]));
    let stream = ServerReply::stream()
        .header("content-encoding", "gzip")
        .then_drip(packed, 7);
    let server = TestServer::start([stream]).await;
    let said = Caller::at(&server.url()).call().await;
    assert_eq!(said.text(), "hello");
    assert_eq!(server.requests()[0].header("accept-encoding"), Some("identity"));

    let error =
        json!({"type": "error", "error": {"type": "invalid_request_error", "message": "no such thing"}});
    let refusal = ServerReply::body(400, "application/json", gzip(&error.to_string()))
        .header("content-encoding", "gzip");
    let server = TestServer::start([refusal]).await;
    let told = story(&Caller::at(&server.url()).call().await).join("\n");
    assert!(told.contains("bad_request"), "{told}");
}

#[tokio::test]
async fn an_answer_that_nobody_can_unpack_is_asked_for_once() {
    for (name, bytes) in [
        ("br", b"\x0b\x02\x80".to_vec()),
        ("gzip", b"no gzip at all".to_vec()),
    ] {
        let reply = ServerReply::stream().header("content-encoding", name).then(bytes);
        let server = TestServer::start([reply.clone(), reply]).await;
        let told = story(&Caller::at(&server.url()).call().await).join("\n");
        assert!(told.contains("bad_response"), "{name}: {told}");
        assert_eq!(server.requests().len(), 1, "{name}");
    }
}

#[tokio::test]
async fn a_stream_that_calls_itself_json_is_read_as_it_comes() {
    let stream = ServerReply::body(200, "application/json", wire::anthropic_text(&["hel", "lo"]));
    let server = TestServer::start([stream]).await;
    let said = Caller::at(&server.url()).call().await;
    assert_eq!(said.text(), "hello");
}

/// A made-up answer of the shape that Anthropic's SDK types give a server-side fallback
/// (`server-side-fallback-2026-07-01`).
#[tokio::test]
async fn another_model_that_goes_on_with_the_answer_is_named_with_its_price() {
    let events = [
        json!({"type": "message_start", "message": {"id": "msg_wire", "type": "message", "role": "assistant",
            "model": "test-model", "content": [], "usage": {"input_tokens": 8, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block":
            {"type": "fallback", "from": {"model": "test-model"}, "to": {"model": "other-model"}}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": "hello"}}),
        json!({"type": "content_block_stop", "index": 1}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}}),
        json!({"type": "message_stop"}),
    ];
    let stream: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    let prices = Prices {
        input: 5,
        ..Prices::default()
    };
    for (known, expected) in [("other-model", Some(Box::new(prices))), ("third-model", None)] {
        let server = TestServer::start([ServerReply::stream().then(stream.clone())]).await;
        let caller = Caller::with(&server.url(), Api::Anthropic, |parts| {
            parts.prices =
                Arc::new(move |provider, model| (provider == "test" && model == known).then_some(prices));
        });
        let said = caller.call().await;
        let fallback = said.events.iter().find_map(|event| match event {
            EnvironmentEvent::ModelFellBack(fallback) => Some(fallback.clone()),
            _ => None,
        });
        let model = "other-model".to_owned();
        assert_eq!(
            fallback,
            Some(ModelFellBack {
                model,
                prices: expected
            })
        );
        assert_eq!(said.text(), "hello");
    }
}

/// A gateway may let another model answer, and report that only once the answer begins.
#[tokio::test]
async fn another_model_that_answers_is_booked_where_its_price_is_known() {
    let prices = Prices {
        input: 5,
        ..Prices::default()
    };
    for (answering, known, is_booked) in [
        ("other-model", "other-model", true),
        ("other-model", "third-model", false),
        ("test-model", "test-model", false),
        ("test-model-20261101", "test-model-20261101", false),
    ] {
        let events = [
            json!({"type": "message_start", "message": {"id": "msg_wire", "type": "message", "role": "assistant",
                "model": answering, "content": [], "usage": {"input_tokens": 8, "output_tokens": 1}}}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "hello"}}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}}),
            json!({"type": "message_stop"}),
        ];
        let stream: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        let server = TestServer::start([ServerReply::stream().then(stream)]).await;
        let caller = Caller::with(&server.url(), Api::Anthropic, |parts| {
            parts.prices = Arc::new(move |_, model| (model == known).then_some(prices));
        });
        let said = caller.call().await;
        let booked = said.events.iter().find_map(|event| match event {
            EnvironmentEvent::ModelFellBack(fallback) => Some(fallback.clone()),
            _ => None,
        });
        let expected = is_booked.then(|| ModelFellBack {
            model: answering.to_owned(),
            prices: Some(Box::new(prices)),
        });
        assert_eq!(booked, expected, "{answering} {known}");
        assert_eq!(said.text(), "hello");
    }
}
