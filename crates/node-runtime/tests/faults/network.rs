//! A network that fails: refused, reset, stalled, half-closed, endless. The partial answer is kept and marked
//! as partial.

use std::time::Duration;

use agentx_node_runtime::model::CallLimits;
use agentx_testing::{Gate, ServerReply, TestServer, refusing_address, wire};
use agentx_types::Api;

use crate::{Caller, answered, check, failing, message, story};

/// A good answer takes less, even on a busy machine.
const SHORT: Duration = Duration::from_millis(800);

fn good() -> ServerReply {
    ServerReply::stream().then(wire::anthropic_text(&["hel", "lo"]))
}

fn begun() -> String {
    wire::anthropic_start() + &wire::anthropic_delta("part")
}

/// A stream that emits `part` and fails, then a good one.
fn broken_then_answered(code: &str) -> Vec<String> {
    let begun = [
        "stream_start 1",
        "usage",
        "text part",
        "usage",
        "stream_end broken",
    ];
    let mut lines: Vec<String> = begun.map(str::to_owned).into();
    lines.push(format!("attempt_failed 1 {code} in 250"));
    lines.extend(answered(2));
    lines
}

/// An attempt that fails before any stream, then a good one.
fn failed_then_answered(code: &str) -> Vec<String> {
    let mut lines = vec![format!("attempt_failed 1 {code} in 250")];
    lines.extend(answered(2));
    lines
}

/// An attempt that the server accepts and that breaks off before the first byte, then a good one. The request
/// that the server read is counted as an estimate.
fn lost_then_answered() -> Vec<String> {
    let lost = [
        "stream_start 1",
        "usage",
        "stream_end broken",
        "attempt_failed 1 stream_broken in 250",
    ];
    let mut lines: Vec<String> = lost.map(str::to_owned).into();
    lines.extend(answered(2));
    lines
}

#[tokio::test]
async fn nobody_listens() {
    let url = format!("http://{}", refusing_address().await);
    let said = Caller::at(&url).call().await;
    assert_eq!(story(&said)[..5], failing("connection_failed"));
    let expected = format!("could not connect to {url}/v1/messages: connection refused (gave up after ");
    assert!(message(&said).starts_with(&expected), "{}", message(&said));
}

#[tokio::test]
async fn no_such_host() {
    let said = Caller::at("http://no-such-host.invalid").call().await;
    assert_eq!(story(&said)[..5], failing("connection_failed"));
    let message = message(&said);
    assert!(message.contains(": its name cannot be resolved ("), "{message}");
}

#[tokio::test]
async fn a_server_without_tls_is_not_asked_again_over_tls() {
    let server = TestServer::start([]).await;
    let said = Caller::at(&server.url().replace("http:", "https:")).call().await;
    let lines = story(&said);
    // A machine without root certificates reports that before it connects.
    let without_roots = ["attempt_failed 1 bad_setup last", "error bad_setup"];
    assert!(
        lines == ["attempt_failed 1 tls last", "error tls"] || lines == without_roots,
        "{lines:?}"
    );
}

#[tokio::test]
async fn the_connection_is_lost_before_any_answer() {
    check(
        vec![ServerReply::reset(), good()],
        failed_then_answered("connection_lost"),
    )
    .await;
    check(
        vec![ServerReply::close(), good()],
        failed_then_answered("connection_lost"),
    )
    .await;
}

#[tokio::test]
async fn the_connection_is_lost_in_the_middle() {
    let streams = [
        ServerReply::stream().then(begun()).then_reset(),
        ServerReply::stream().then(begun()).then_close(),
        ServerReply::stream().then(begun()).then_half_close(),
        ServerReply::stream()
            .until_close()
            .then(begun())
            .then_half_close(),
        ServerReply::stream()
            .claiming_length(100_000)
            .then(begun())
            .then_close(),
        // The transport is complete; the answer has no end.
        ServerReply::stream().then(begun()),
    ];
    for stream in streams {
        // A reset can overtake earlier data: then the whole answer is lost, but never silently.
        let server = TestServer::start([stream, good()]).await;
        let lines = story(&Caller::at(&server.url()).call().await);
        let whole = broken_then_answered("stream_broken");
        let overtaken = lost_then_answered();
        assert!(lines == whole || lines == overtaken, "{lines:?}");
    }
}

#[tokio::test]
async fn an_answer_that_said_why_it_stops_is_whole_though_its_connection_breaks() {
    let whole = wire::anthropic_text(&["hel", "lo"]);
    let end = whole.find("event: message_stop").unwrap();
    // Fewer bytes come than were announced, so the end of the body is a broken connection.
    let reply = ServerReply::stream()
        .claiming_length(100_000)
        .then(&whole.as_bytes()[..end]);
    let server = TestServer::start([reply.then_close()]).await;
    let broken = story(&Caller::at(&server.url()).call().await);
    let server = TestServer::start([good()]).await;
    assert_eq!(broken, story(&Caller::at(&server.url()).call().await));
}

#[tokio::test]
async fn a_server_that_stalls_is_left_and_not_asked_again() {
    let limits = CallLimits {
        first_byte: SHORT,
        idle: SHORT,
        ..CallLimits::default()
    };
    let gate = Gate::closed();
    let part = [
        "stream_start 1",
        "usage",
        "text part",
        "usage",
        "stream_end broken",
    ];
    // The request was taken, and read.
    let taken = ["stream_start 1", "usage", "stream_end broken"];
    let cases = [
        (ServerReply::status(200).wait_at(&gate), &part[..0]),
        (ServerReply::stream().then_stall(&gate), &taken[..]),
        (
            ServerReply::stream().then(": comment\n\n").then_stall(&gate),
            &taken[..],
        ),
        (ServerReply::stream().then(begun()).then_stall(&gate), &part[..]),
    ];
    for (stalled, before) in cases {
        let server = TestServer::start([stalled, good()]).await;
        let said = Caller::limited(&server.url(), limits).call().await;
        let last = ["attempt_failed 1 timeout last", "error timeout"];
        assert_eq!(story(&said), [before, &last].concat());
        assert!(
            message(&said).contains("it may still be working, so"),
            "{}",
            message(&said)
        );
        server.hung_up(1).await;
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_refusal_that_stalls_is_a_refusal() {
    let limits = CallLimits {
        idle: SHORT,
        ..CallLimits::default()
    };
    let gate = Gate::closed();
    let stalled = ServerReply::status(401)
        .until_close()
        .then("{\"error\":")
        .then_stall(&gate);
    let server = TestServer::start([stalled]).await;
    let said = Caller::limited(&server.url(), limits).call().await;
    assert_eq!(
        story(&said),
        ["attempt_failed 1 unauthorized 401 last", "error unauthorized"]
    );
}

#[tokio::test]
async fn an_answer_without_end_is_left() {
    let limits = CallLimits {
        total: Some(SHORT),
        ..CallLimits::default()
    };
    let endless = ServerReply::stream().then_drip(": ping\n\n".repeat(4_000_000), 8);
    let server = TestServer::start([endless, good()]).await;
    let said = Caller::limited(&server.url(), limits).call().await;
    assert_eq!(
        story(&said),
        [
            "stream_start 1",
            "usage",
            "stream_end broken",
            "attempt_failed 1 timeout last",
            "error timeout"
        ]
    );

    let limits = CallLimits {
        max_body_bytes: 100_000,
        ..CallLimits::default()
    };
    let endless = ServerReply::stream().then_drip(": ping\n\n".repeat(100_000), 8_000);
    let server = TestServer::start([endless]).await;
    let said = Caller::limited(&server.url(), limits).call().await;
    assert_eq!(
        story(&said),
        ["attempt_failed 1 bad_response last", "error bad_response"]
    );
    assert_eq!(message(&said), "the answer is longer than 100000 bytes");
}

#[tokio::test]
async fn a_line_of_100_mb_is_not_swallowed() {
    let line = ServerReply::stream().then("data: ").then_flood(b'x', 100_000_000);
    let server = TestServer::start([line]).await;
    let said = Caller::at(&server.url()).call().await;
    assert_eq!(
        story(&said),
        ["attempt_failed 1 bad_response last", "error bad_response"]
    );
    server.hung_up(1).await;

    let after_text = ServerReply::stream()
        .then(begun())
        .then("data: ")
        .then_flood(b'x', 100_000_000);
    let lines = [
        "stream_start 1",
        "usage",
        "text part",
        "usage",
        "stream_end broken",
        "attempt_failed 1 bad_response last",
        "error bad_response",
    ];
    check(vec![after_text], lines.map(str::to_owned).into()).await;
}

#[tokio::test]
async fn what_is_no_event_stream_is_said_to_be_none() {
    let page = ServerReply::body(200, "text/html", "<html>Welcome to my router</html>");
    let lines = ["attempt_failed 1 bad_response last", "error bad_response"].map(str::to_owned);
    let said = check(vec![page], lines.into()).await;
    assert!(
        message(&said).contains("Welcome to my router") && message(&said).contains("base URL"),
        "{}",
        message(&said)
    );
    let noise = ServerReply::stream().then("\u{7}\u{0}junk\njunk\n\n");
    check(vec![noise, good()], failed_then_answered("bad_response")).await;
    let empty = ServerReply::stream();
    check(vec![empty, good()], lost_then_answered()).await;
}

#[tokio::test]
async fn an_error_event_after_200_is_an_error() {
    let overloaded = wire::anthropic_error("overloaded_error", "Overloaded");
    let first = ServerReply::stream().then(overloaded.clone());
    check(vec![first, good()], failed_then_answered("overloaded")).await;
    let middle = ServerReply::stream().then(begun()).then(overloaded);
    check(vec![middle, good()], broken_then_answered("overloaded")).await;
    let hopeless = ServerReply::stream()
        .then(begun())
        .then(wire::anthropic_error("invalid_request_error", "no"));
    let lines = [
        "stream_start 1",
        "usage",
        "text part",
        "usage",
        "stream_end broken",
        "attempt_failed 1 bad_request last",
        "error bad_request",
    ];
    let said = check(vec![hopeless], lines.map(str::to_owned).into()).await;
    let told = message(&said);
    assert!(
        told.starts_with("anthropic at 127.0.0.1:") && told.ends_with(" says: no"),
        "{told}"
    );
}

#[tokio::test]
async fn a_slow_drip_gives_the_same_events() {
    let dripping = ServerReply::stream().then_drip(wire::anthropic_text(&["hel", "lo"]), 1);
    check(vec![dripping], answered(1)).await;
}

#[tokio::test]
async fn openai_chat_breaks_in_the_same_way() {
    let whole = wire::chat_text(&["hel", "lo"]);
    let cut = whole.find("lo\"").unwrap();
    let server = TestServer::start([
        ServerReply::stream().then(&whole.as_bytes()[..cut]),
        ServerReply::stream().then(whole),
    ])
    .await;
    let lines = story(&Caller::with(&server.url(), Api::OpenaiChat, |_| {}).call().await);
    assert_eq!(
        lines[..5],
        [
            "stream_start 1",
            "text hel",
            "usage",
            "stream_end broken",
            "attempt_failed 1 stream_broken in 250"
        ]
    );
    assert_eq!(
        lines[5..],
        ["stream_start 2", "text hello", "usage", "stream_end end_turn"]
    );
}
