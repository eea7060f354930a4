//! Calls that take long: a server that is down for a minute, a model that reasons silently, an answer that
//! streams for most of an hour. The clock is tokio's, paused and advanced by hand; the server is real. Each
//! answer is requested, and so paid for, once.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use agentx_node_runtime::model::{Backoff, SystemBackoff};
use agentx_runtime::{BoxFuture, CallSlots, Effector as _, EventSink, SessionScope};
use agentx_testing::{Gate, Performance, ServerReply, TestServer, fixture, start, wire};
use agentx_types::{Api, EnvironmentEvent as E, SessionId};
use tokio_util::sync::CancellationToken;

use crate::{Caller, RecordedPause, line, story};

/// Waits on tokio's clock, without randomness: always the shortest wait.
struct Patient;

impl Backoff for Patient {
    fn wait(&self, time: Duration) -> BoxFuture<'static, ()> {
        SystemBackoff.wait(time)
    }

    fn jitter(&self) -> f64 {
        0.0
    }
}

/// While this value lives, the paused clock moves only by hand, even while all tasks wait for a socket.
pub(crate) fn hold_the_clock() -> Sender<()> {
    let (sender, receiver) = channel::<()>();
    tokio::task::spawn_blocking(move || receiver.recv());
    sender
}

pub(crate) fn caller(url: &str) -> Caller {
    Caller::with(url, Api::Anthropic, |parts| parts.pause = Arc::new(Patient))
}

pub(crate) fn overloaded() -> ServerReply {
    let error = serde_json::json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } });
    ServerReply::json(529, &error)
}

/// Advances the clock by each wait between attempts until an answer begins; returns the total.
async fn wait_for_an_answer(call: &mut Performance) -> Duration {
    let (mut seen, mut waited) = (0, Duration::ZERO);
    loop {
        assert!(call.next().await.is_some(), "{:?}", story(call.output()));
        for event in &call.output().events[seen..] {
            match event {
                E::AttemptFailed(failed) => {
                    let wait = Duration::from_millis(failed.retry_in_ms.expect("another attempt"));
                    tokio::time::advance(wait + Duration::from_millis(1)).await;
                    waited += wait;
                }
                E::StreamStart(_) => return waited,
                other => panic!("{}", line(other)),
            }
        }
        seen = call.output().events.len();
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_stays_open_after_the_reason_to_stop_ends_the_answer_in_seconds() {
    let _held = hold_the_clock();
    for (api, whole, end) in [
        (Api::OpenaiChat, wire::chat_text(&["all of it"]), "data: [DONE]"),
        (
            Api::Anthropic,
            wire::anthropic_text(&["all of it"]),
            "event: message_stop",
        ),
    ] {
        let open = Gate::closed();
        let answer = whole[..whole.find(end).unwrap()].to_owned();
        let server = TestServer::start([ServerReply::stream().then(answer).then_stall(&open)]).await;
        let caller = Caller::with(&server.url(), api, |parts| parts.pause = Arc::new(Patient));
        let mut call = start(&caller.effector, fixture::call(caller.request()));
        assert!(call.wait_for("text_chunk").await);
        tokio::time::advance(Duration::from_secs(6)).await;
        assert!(call.wait_for("stream_end").await, "{:?}", story(call.output()));
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_minute_of_failures_five_silent_minutes_and_forty_minutes_of_answer_are_one_call() {
    let _held = hold_the_clock();
    let silent = Gate::closed();
    let minutes: Vec<Gate> = (0..40).map(|_| Gate::closed()).collect();
    let answer = minutes.iter().fold(
        ServerReply::stream()
            .wait_at(&silent)
            .then(wire::anthropic_start()),
        |reply, minute| reply.then(wire::anthropic_delta("x")).then_stall(minute),
    );
    let answer = answer.then(wire::anthropic_end());
    let failures = 9;
    let server = TestServer::start((0..failures).map(|_| overloaded()).chain([answer])).await;
    let caller = caller(&server.url());
    let mut call = start(&caller.effector, fixture::call(caller.request()));
    let opens = async {
        silent.reached().await;
        tokio::time::advance(Duration::from_secs(5 * 60)).await;
        silent.open();
    };
    let (waited, ()) = tokio::join!(wait_for_an_answer(&mut call), opens);
    assert!(waited >= Duration::from_secs(60), "{waited:?}");
    for minute in minutes {
        minute.reached().await;
        tokio::time::advance(Duration::from_secs(60)).await;
        minute.open();
    }
    let lines = story(&call.finish().await);
    let text = format!("text {}", "x".repeat(40));
    assert!(lines.contains(&text), "{lines:?}");
    assert_eq!(lines.last().map(String::as_str), Some("stream_end end_turn"));
    let begun = lines.iter().filter(|line| line.starts_with("stream_start"));
    assert_eq!(begun.count(), 1, "{lines:?}");
    assert_eq!(server.requests().len(), failures + 1);
}

#[tokio::test(start_paused = true)]
async fn silence_within_an_answer_may_last_five_minutes() {
    let _held = hold_the_clock();
    let silent = Gate::closed();
    let begun = wire::anthropic_start() + &wire::anthropic_delta("hel");
    let rest = wire::anthropic_delta("lo") + &wire::anthropic_end();
    let server = TestServer::start([ServerReply::stream().then(begun).then_stall(&silent).then(rest)]).await;
    let caller = caller(&server.url());
    let mut call = start(&caller.effector, fixture::call(caller.request()));
    assert!(call.wait_for("text_chunk").await);
    tokio::time::advance(Duration::from_secs(5 * 60)).await;
    silent.open();
    assert_eq!(story(&call.finish().await), crate::answered(1));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stays_away_is_given_up_after_ten_minutes() {
    let _held = hold_the_clock();
    let server = TestServer::start((0..100).map(|_| overloaded())).await;
    let caller = caller(&server.url());
    let began = tokio::time::Instant::now();
    let mut call = start(&caller.effector, fixture::call(caller.request()));
    let mut seen = 0;
    while call.next().await.is_some() {
        for event in &call.output().events[seen..] {
            if let E::AttemptFailed(failed) = event {
                let wait = Duration::from_millis(failed.retry_in_ms.unwrap_or_default());
                tokio::time::advance(wait + Duration::from_millis(1)).await;
            }
        }
        seen = call.output().events.len();
    }
    let (said, took) = (call.finish().await, began.elapsed());
    assert!((600..610).contains(&took.as_secs()), "{took:?}");
    let told = crate::message(&said);
    assert!(
        told.contains("Overloaded (gave up after") && told.contains(" in 10m"),
        "{told}"
    );
}

#[tokio::test]
async fn a_person_who_does_not_want_to_wait_ends_the_pause_of_this_session_alone() {
    let good = ServerReply::stream().then(wire::anthropic_text(&["hel", "lo"]));
    let server = TestServer::start([overloaded(), good]).await;
    let pause = Arc::new(RecordedPause::for_ever());
    let caller = Caller::with(&server.url(), Api::Anthropic, |parts| parts.pause = pause.clone());
    let (session, other) = (SessionId::new("ses_a"), SessionId::new("ses_b"));
    let (queue, mut said) = tokio::sync::mpsc::channel(16);
    let action = fixture::call(caller.request());
    let sink = EventSink::in_session(
        queue,
        &action,
        SessionScope::new(session.clone(), CallSlots::default()),
    );
    let call = tokio::spawn(caller.effector.perform(action, sink, CancellationToken::new()));
    let failed = said.recv().await.unwrap();
    assert_eq!(
        line(&failed.drafts[0].event),
        "attempt_failed 1 overloaded 529 in 250"
    );
    caller.effector.retry_now(&other);
    pause.is_waited_for().await;
    assert_eq!(server.requests().len(), 1, "nobody of this session wants that");
    caller.effector.retry_now(&session);
    let mut lines = Vec::new();
    while let Some(said) = said.recv().await {
        lines.extend(said.drafts.iter().map(|draft| line(&draft.event)));
    }
    call.await.unwrap();
    assert_eq!(
        lines.last().map(String::as_str),
        Some("stream_end end_turn"),
        "{lines:?}"
    );
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn comments_alone_keep_an_answer_alive_for_an_hour_and_no_longer() {
    let _held = hold_the_clock();
    // Each arrives well within the idle limit, even if the socket is read a few steps later.
    let step = Duration::from_secs(60);
    let gates: Vec<Gate> = (0..64).map(|_| Gate::closed()).collect();
    let reply = gates.iter().fold(ServerReply::stream(), |reply, gate| {
        reply.then(": made-up comment\n\n").then_stall(gate)
    });
    let server = TestServer::start([reply.then(": the last\n\n").then_stall(&Gate::closed())]).await;
    let caller = caller(&server.url());
    let call = start(&caller.effector, fixture::call(caller.request()));
    let time = async {
        for gate in &gates {
            gate.reached().await;
            tokio::time::advance(step).await;
            gate.open();
        }
        std::future::pending::<()>().await;
    };
    // The last gates are not reached: the call has ended before.
    let said = tokio::select! {
        said = call.finish() => said,
        () = time => panic!("it goes on without end"),
    };
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
    assert!(
        crate::message(&said).contains("without sending any text"),
        "{}",
        crate::message(&said)
    );
    assert_eq!(server.requests().len(), 1);
}
