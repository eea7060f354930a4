//! The helpers work as documented: tests of other crates rely on them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use agentx_testing::{
    Gate, LogBuilder, ModelScript, ScriptedModel, ServerReply, TestServer, fixture, perform,
    refusing_address, start,
};
use agentx_types::{EnvironmentEvent as E, StopReason, Vocabulary as _};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

#[tokio::test]
async fn a_scripted_model_gives_its_answers_in_order_and_keeps_the_requests() {
    let model = ScriptedModel::new([
        ModelScript::new()
            .then_thinking("hm")
            .then_call("call_1", "bash", json!({"command": "ls"})),
        ModelScript::text("done").after_failed_attempt("rate_limited"),
        ModelScript::error("unauthorized", "no"),
        ModelScript::text("par").breaking(),
    ]);
    let called = perform(&model, fixture::call_model("a")).await;
    let tags = [
        "stream_start",
        "thinking_chunk",
        "tool_call_start",
        "tool_call_chunk",
        "tool_call",
        "usage",
        "stream_end",
    ];
    assert_eq!(called.tags(), tags);
    assert!(
        matches!(called.events.last(), Some(E::StreamEnd(end)) if end.stop_reason == StopReason::ToolUse)
    );
    let retried = perform(&model, fixture::call_model("b")).await;
    assert_eq!(
        retried.tags(),
        [
            "attempt_failed",
            "stream_start",
            "text_chunk",
            "usage",
            "stream_end"
        ]
    );
    assert!(matches!(&retried.events[1], E::StreamStart(start) if start.attempt == 2));
    assert_eq!(perform(&model, fixture::call_model("c")).await.tags(), ["error"]);
    let broken = perform(&model, fixture::call_model("d")).await;
    assert_eq!(
        broken.tags(),
        [
            "stream_start",
            "text_chunk",
            "usage",
            "stream_end",
            "attempt_failed",
            "error"
        ]
    );
    assert_eq!(
        perform(&model, fixture::call_model("e")).await.tags(),
        ["error"],
        "exhausted"
    );
    let asked: Vec<String> = model
        .requests()
        .iter()
        .map(|request| request.messages[0].text())
        .collect();
    assert_eq!(asked, ["a", "b", "c", "d", "e"]);
}

#[tokio::test]
async fn a_stalled_model_is_released_or_interrupted() {
    let gate = Gate::closed();
    let stalled = || ModelScript::text("one ").then_stall(&gate).then_text("two");
    let model = ScriptedModel::new([stalled(), stalled()]);
    let performance = start(&model, fixture::call_model("a"));
    gate.reached().await;
    performance.cancel();
    let said = performance.finish().await;
    assert_eq!(said.text(), "one ");
    assert!(
        matches!(said.events.last(), Some(E::StreamEnd(end)) if end.stop_reason == StopReason::Interrupted)
    );

    let performance = start(&model, fixture::call_model("a"));
    gate.open();
    assert_eq!(performance.finish().await.text(), "one two");
}

#[test]
fn a_log_is_dense_and_knows_its_runs_and_causes() {
    let log = LogBuilder::opened(fixture::config())
        .user("list")
        .calls("call_1", "bash", json!({"command": "ls"}))
        .result("call_1", "a.txt")
        .answer("one file")
        .build();
    let seqs: Vec<u64> = log.iter().map(|fact| fact.seq).collect();
    assert_eq!(seqs, (1..=12).collect::<Vec<_>>());
    let tags: Vec<&str> = log.iter().map(|fact| fact.event.tag()).collect();
    assert_eq!(
        tags[..7],
        [
            "session_opened",
            "user_message",
            "action_started",
            "stream_start",
            "tool_call",
            "stream_end",
            "action_started"
        ]
    );
    assert_eq!(log[1].run_id, log[11].run_id);
    assert_eq!(log[4].cause, log[2].cause);
    assert_ne!(log[7].cause, log[2].cause);
}

async fn raw(server: &TestServer) -> (Vec<u8>, Option<std::io::ErrorKind>) {
    let mut stream = TcpStream::connect(server.address()).await.unwrap();
    stream
        .write_all(b"POST /v1 HTTP/1.1\r\nX-Key: k\r\ncontent-length: 2\r\n\r\n{}")
        .await
        .unwrap();
    let mut bytes = Vec::new();
    let error = stream
        .read_to_end(&mut bytes)
        .await
        .err()
        .map(|error| error.kind());
    (bytes, error)
}

#[tokio::test]
async fn the_server_misbehaves_as_told() {
    let server = TestServer::start([
        ServerReply::reset(),
        ServerReply::stream()
            .then("data: 1\n\n")
            .then_drip("ab", 1)
            .then_close(),
        ServerReply::body(429, "text/plain", "no")
            .header("retry-after", "2")
            .until_close(),
        ServerReply::status(200).claiming_length(10).then("abc"),
    ])
    .await;
    assert_eq!(
        raw(&server).await,
        (Vec::new(), Some(std::io::ErrorKind::ConnectionReset))
    );
    let (bytes, _) = raw(&server).await;
    let text = String::from_utf8(bytes).unwrap();
    assert!(
        text.ends_with("\r\n\r\n9\r\ndata: 1\n\n\r\n1\r\na\r\n1\r\nb\r\n"),
        "{text}"
    );
    let (bytes, _) = raw(&server).await;
    let text = String::from_utf8(bytes).unwrap();
    assert!(
        text.starts_with("HTTP/1.1 429 Test\r\n")
            && text.contains("retry-after: 2\r\n")
            && text.ends_with("\r\n\r\nno")
    );
    let (bytes, _) = raw(&server).await;
    assert!(
        String::from_utf8(bytes)
            .unwrap()
            .ends_with("content-length: 10\r\n\r\nabc")
    );
    assert_eq!(server.connections(), 4);
    assert_eq!(server.requests()[0].header("x-key"), Some("k"));
    assert_eq!(server.requests()[0].json(), json!({}));
}

#[tokio::test]
async fn nobody_listens_at_a_refusing_address() {
    let error = TcpStream::connect(refusing_address().await).await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
}
