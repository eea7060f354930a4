//! Model calls against a real HTTP server that misbehaves, or answers faster than anybody reads. Each case is
//! a list of replies and the exact events that follow. Nothing sleeps: waits between attempts are recorded,
//! not waited for, and limits are milliseconds where they are the subject.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod answers;
mod cancel;
mod clouds;
mod cut_off;
mod flow;
mod hours;
mod network;
mod proxy;
mod secrets;
mod status;
mod whole_run;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentx_llm::Secret;
use agentx_llm::{Catalog, WireOptions};
use agentx_node_runtime::model::{Backoff, CallLimits, Endpoint, ModelEffector, ModelParts};
use agentx_runtime::BoxFuture;
use agentx_testing::{EffectorOutput, FaultyLog, SimulatedClock, TestServer, fixture, perform};
use agentx_types::{Api, EnvironmentEvent as E, ModelRequest, StopReason, Vocabulary as _};

/// The key of every call here. No event may contain it.
pub(crate) const KEY: &str = "sk-test-Very+Secret/key";

/// Records the waits instead of waiting, or waits forever for tests of interrupts.
#[derive(Debug, Default)]
pub(crate) struct RecordedPause {
    waits: Mutex<Vec<Duration>>,
    waited: tokio::sync::Notify,
    for_ever: bool,
}

impl RecordedPause {
    pub(crate) fn for_ever() -> Self {
        Self {
            for_ever: true,
            ..Self::default()
        }
    }

    /// Completes when somebody waits.
    pub(crate) async fn is_waited_for(&self) {
        self.waited.notified().await;
    }

    pub(crate) fn millis(&self) -> Vec<u128> {
        self.waits
            .lock()
            .unwrap()
            .iter()
            .map(Duration::as_millis)
            .collect()
    }
}

impl Backoff for RecordedPause {
    fn wait(&self, time: Duration) -> BoxFuture<'static, ()> {
        self.waits.lock().unwrap().push(time);
        self.waited.notify_one();
        if self.for_ever {
            Box::pin(std::future::pending())
        } else {
            Box::pin(std::future::ready(()))
        }
    }

    fn jitter(&self) -> f64 {
        0.0
    }
}

/// An effector for one server, and its parts.
pub(crate) struct Caller {
    pub(crate) effector: ModelEffector,
    pub(crate) pause: Arc<RecordedPause>,
    pub(crate) api: Api,
}

impl Caller {
    pub(crate) fn at(url: &str) -> Self {
        Self::with(url, Api::Anthropic, |_| {})
    }

    pub(crate) fn with(url: &str, api: Api, change: impl FnOnce(&mut ModelParts)) -> Self {
        let pause = Arc::new(RecordedPause::default());
        let catalog = Catalog::builtin();
        let name = if api == Api::Anthropic {
            "anthropic"
        } else {
            "openai"
        };
        let provider = catalog.provider(name).unwrap();
        let endpoint = Endpoint::new(provider, Some(url), Some(Secret::new(KEY)));
        let mut parts = ModelParts {
            clock: Arc::new(SimulatedClock::default()),
            pause: pause.clone(),
            ..ModelParts::new(
                BTreeMap::from([("test".to_owned(), endpoint)]),
                Arc::new(|_| WireOptions::default()),
                Arc::new(FaultyLog::new()),
            )
        };
        change(&mut parts);
        Self {
            effector: ModelEffector::new(parts),
            pause,
            api,
        }
    }

    pub(crate) fn limited(url: &str, limits: CallLimits) -> Self {
        Self::with(url, Api::Anthropic, |parts| parts.limits = limits)
    }

    pub(crate) fn request(&self) -> ModelRequest {
        fixture::request(self.api, vec![fixture::user("hello")])
    }

    /// Performs one call to its end; no event contains the key.
    pub(crate) async fn call(&self) -> EffectorOutput {
        let performed = perform(&self.effector, fixture::call(self.request()));
        let said = tokio::time::timeout(Duration::from_secs(20), performed)
            .await
            .expect("a call ends");
        assert!(!said.json().contains(KEY), "{}", said.json());
        said
    }
}

/// The events as short lines: `text hel`, `stream_end broken`, `attempt_failed 1 rate_limited 429 in 250`, …
pub(crate) fn story(said: &EffectorOutput) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for event in &said.events {
        match (event, lines.last_mut()) {
            (E::TextChunk(chunk), Some(last)) if last.starts_with("text ") => last.push_str(&chunk.text),
            _ => lines.push(line(event)),
        }
    }
    lines
}

pub(crate) fn line(event: &E) -> String {
    match event {
        E::StreamStart(start) => format!("stream_start {}", start.attempt),
        E::TextChunk(chunk) => format!("text {}", chunk.text),
        E::StreamEnd(end) => match end.stop_reason {
            StopReason::Broken => "stream_end broken".into(),
            StopReason::Interrupted => "stream_end interrupted".into(),
            StopReason::EndTurn => "stream_end end_turn".into(),
            other => format!("stream_end {other:?}"),
        },
        E::AttemptFailed(failed) => {
            let status = failed
                .status
                .map(|status| format!(" {status}"))
                .unwrap_or_default();
            let next = failed.retry_in_ms.map_or("last".into(), |ms| format!("in {ms}"));
            format!("attempt_failed {} {}{status} {next}", failed.attempt, failed.code)
        }
        E::ErrorOccurred(error) => format!("error {}", error.code),
        other => other.tag().to_owned(),
    }
}

/// The lines of a complete answer `hello` in this attempt.
pub(crate) fn answered(attempt: u32) -> Vec<String> {
    vec![
        format!("stream_start {attempt}"),
        "usage".into(),
        "text hello".into(),
        "usage".into(),
        "stream_end end_turn".into(),
    ]
}

/// The first lines of attempts that all fail in the same way without any stream.
pub(crate) fn failing(code_and_status: &str) -> Vec<String> {
    [(1, 250), (2, 500), (3, 1000), (4, 2000), (5, 4000)]
        .iter()
        .map(|(attempt, next)| format!("attempt_failed {attempt} {code_and_status} in {next}"))
        .collect()
}

/// The last `error`'s message.
pub(crate) fn message(said: &EffectorOutput) -> String {
    match said.events.last() {
        Some(E::ErrorOccurred(error)) => error.message.clone(),
        other => panic!("no error at the end: {other:?}"),
    }
}

/// Performs one call against these replies; checks the story and the number of requests.
pub(crate) async fn check(
    replies: Vec<agentx_testing::ServerReply>,
    expected: Vec<String>,
) -> EffectorOutput {
    let count = replies.len();
    let server = TestServer::start(replies).await;
    let said = Caller::at(&server.url()).call().await;
    assert_eq!(story(&said), expected);
    assert_eq!(server.requests().len(), count, "one request for each reply");
    said
}
