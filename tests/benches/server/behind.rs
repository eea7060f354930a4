//! A mirror that starts 100,000 events behind.

use std::time::{Duration, Instant};

use agentx::Runtime as _;
use agentx::remote::{ConnectOptions, RemoteRuntime};
use agentx::runtime::{Delivery, View};
use agentx::types::SessionId;

use crate::host::Host;
use crate::identity;
use crate::process::{median, number};
use crate::readers::Readers;
use crate::{built, filled};

const EVENTS: u64 = 100_000;

pub(crate) fn measure() {
    let data = tempfile::tempdir().expect("a directory");
    let id = SessionId::new("ses_bench0000000");
    crate::process::runtime(0).block_on(async {
        let log = built::log_in(data.path());
        let config = agentx::agent::fixtures::config();
        filled::fill(&log, id.clone(), config, EVENTS).await;
    });
    let host = Host::with(data, 0, Duration::from_secs(60));
    let runs = number("AGENTX_BENCH_RUNS", 3) * 3;
    for view in ["environment", "runtime", "ui"] {
        let readers = Readers {
            view,
            ..Readers::of(&host.url, 1, &[id.to_string()])
        };
        let first = readers.start().slowest_ms;
        let rest = median((0..runs).map(|_| readers.start().slowest_ms));
        println!(
            "{EVENTS} events behind, view {view:11}: caught up after {rest:.0} ms (median of {runs}; the very first {first:.0})"
        );
    }
    // The runtime that mirrors reads every event, and derives by itself what it means.
    for view in [View::Environment, View::Runtime] {
        let times = (0..runs).map(|_| crate::process::runtime(2).block_on(mirror(&host.url, &id, view)));
        let ms = median(times);
        println!(
            "{EVENTS} events behind, a remote runtime, view {view:?}: caught up after {ms:.0} ms (median of {runs})"
        );
    }
}

/// The time of a remote runtime from its request until it has caught up, in milliseconds.
async fn mirror(url: &str, id: &SessionId, view: View) -> f64 {
    let options = ConnectOptions::new(url, identity::key(), "mirror");
    let runtime = RemoteRuntime::connect(options).await.expect("a server");
    let begin = Instant::now();
    let mut events = runtime.watch(id, 0, view, false).await.expect("the session");
    while let Some(delivery) = events.next().await {
        assert!(!matches!(delivery, Delivery::CutOff(_)), "{delivery:?}");
    }
    begin.elapsed().as_secs_f64() * 1e3
}
