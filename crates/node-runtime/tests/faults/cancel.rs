//! Interrupts in every phase of a call: it ends immediately, reports that, and the server sees the connection
//! close.

use std::sync::Arc;
use std::time::Duration;

use agentx_testing::{EffectorOutput, Gate, Performance, ServerReply, TestServer, fixture, start, wire};
use agentx_types::Api;

use crate::{Caller, RecordedPause, story};

async fn stop(performance: Performance) -> EffectorOutput {
    performance.cancel();
    let ended = tokio::time::timeout(Duration::from_secs(1), performance.finish());
    ended.await.expect("within a second")
}

fn begin(caller: &Caller) -> Performance {
    start(&caller.effector, fixture::call(caller.request()))
}

#[tokio::test]
async fn before_it_begins() {
    let server = TestServer::start([]).await;
    let said = stop(begin(&Caller::at(&server.url()))).await;
    assert_eq!(story(&said), ["stream_end interrupted"]);
    assert_eq!(server.requests().len(), 0);
}

#[tokio::test]
async fn before_the_first_byte() {
    let gate = Gate::closed();
    let server = TestServer::start([ServerReply::stream().wait_at(&gate)]).await;
    let performance = begin(&Caller::at(&server.url()));
    gate.reached().await;
    assert_eq!(story(&stop(performance).await), ["stream_end interrupted"]);
    server.hung_up(1).await;
}

#[tokio::test]
async fn in_the_middle_of_the_answer() {
    let gate = Gate::closed();
    let part = wire::anthropic_start() + &wire::anthropic_delta("part");
    let server = TestServer::start([ServerReply::stream().then(part).then_stall(&gate)]).await;
    let mut performance = begin(&Caller::at(&server.url()));
    assert!(performance.wait_for("text_chunk").await);
    let said = stop(performance).await;
    assert_eq!(
        story(&said),
        [
            "stream_start 1",
            "usage",
            "text part",
            "usage",
            "stream_end interrupted"
        ]
    );
    server.hung_up(1).await;
}

#[tokio::test]
async fn while_a_refusal_is_read() {
    let gate = Gate::closed();
    let server =
        TestServer::start([ServerReply::status(400).until_close().then("{").then_stall(&gate)]).await;
    let performance = begin(&Caller::at(&server.url()));
    gate.reached().await;
    assert_eq!(story(&stop(performance).await), ["stream_end interrupted"]);
    server.hung_up(1).await;
}

#[tokio::test]
async fn between_two_attempts() {
    let part = wire::anthropic_start() + &wire::anthropic_delta("part");
    let server = TestServer::start([
        ServerReply::stream().then(part).then_close(),
        ServerReply::status(500),
    ])
    .await;
    let caller = Caller::with(&server.url(), Api::Anthropic, |parts| {
        parts.pause = Arc::new(RecordedPause::for_ever())
    });
    let mut performance = begin(&caller);
    assert!(performance.wait_for("attempt_failed").await);
    let said = stop(performance).await;
    let expected = [
        "stream_start 1",
        "usage",
        "text part",
        "usage",
        "stream_end broken",
        "attempt_failed 1 stream_broken in 250",
        "stream_end interrupted",
    ];
    assert_eq!(story(&said), expected);
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn after_the_answer_is_whole_it_is_too_late() {
    let server = TestServer::start([ServerReply::stream().then(wire::anthropic_text(&["hello"]))]).await;
    let mut performance = begin(&Caller::at(&server.url()));
    assert!(performance.wait_for("stream_end").await);
    assert_eq!(
        story(&stop(performance).await).last().map(String::as_str),
        Some("stream_end end_turn")
    );
}

#[tokio::test]
async fn a_session_that_is_gone_ends_the_call_without_a_word() {
    let gate = Gate::closed();
    let part = wire::anthropic_start() + &wire::anthropic_delta("part");
    let endless = ServerReply::stream()
        .then(part)
        .then_stall(&gate)
        .then(wire::anthropic_end());
    let server = TestServer::start([endless]).await;
    let mut performance = begin(&Caller::at(&server.url()));
    assert!(performance.wait_for("text_chunk").await);
    gate.open();
    tokio::time::timeout(Duration::from_secs(5), performance.hang_up())
        .await
        .expect("it ends");
}
