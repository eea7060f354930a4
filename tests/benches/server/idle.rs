//! The costs of an idle server: 10,000 sessions, and 2,000 connections.

use std::time::{Duration, Instant};

use agentx::types::{AgentConfig, SessionId};
use serde_json::Value;

use crate::desk::Desk;
use crate::host::{Host, agent, settings};
use crate::process::{median, number};
use crate::readers::Readers;
use crate::{built, filled};

const SESSIONS: usize = 10_000;
/// As many as a connection may follow.
const AT_ONCE: usize = 250;
const CONNECTIONS: usize = 2_000;
/// Events of each session.
const EVENTS: u64 = 52;

pub(crate) fn sessions() {
    let empty = alone();
    let data = tempfile::tempdir().expect("a directory");
    let ids = write(data.path(), &agent(&settings(data.path())));
    let host = Host::with(data, 0, Duration::from_secs(3));
    let mut desk = host.desk();
    lists(&mut desk);
    let listed = host.role.resident();
    opens(&host, &ids);
    let kib = |bytes: f64| bytes / 1024.0 / SESSIONS as f64;
    println!(
        "resident, listed:              {:.2} KiB a session",
        kib(listed - empty)
    );
    let before = host.role.resident();
    let connections = SESSIONS / AT_ONCE;
    let reading = Readers {
        subscriptions: AT_ONCE,
        ..Readers::of(&host.url, connections, &ids)
    }
    .start();
    let open = host.role.resident();
    println!(
        "resident, all open and followed: {:.2} KiB a session   ({connections} connections; the slowest had its {AT_ONCE} after {:.0} ms)",
        kib(open - before),
        reading.slowest_ms
    );
    drop(reading);
    let wait = Instant::now();
    while host.role.open_files() > 200 && wait.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(200));
    }
    std::thread::sleep(Duration::from_secs(6));
    println!(
        "resident, put away again:      {:.2} KiB a session",
        kib(host.role.resident() - empty)
    );
    lists(&mut host.desk());
}

/// The costs of a server without sessions.
fn alone() -> f64 {
    let host = Host::start(0);
    host.desk().get("/v1/sessions?limit=50");
    host.role.resident()
}

fn write(data: &std::path::Path, agent: &AgentConfig) -> Vec<String> {
    let runtime = crate::process::runtime(0);
    runtime.block_on(async {
        let log = built::log_in(data);
        let mut ids = Vec::new();
        for index in 0..SESSIONS {
            let id = SessionId::new(format!("ses_bench{index:07}"));
            filled::fill(&log, id.clone(), agent.clone(), EVENTS).await;
            ids.push(id.to_string());
        }
        ids
    })
}

fn lists(desk: &mut Desk) {
    let runs = 21;
    let first = median((0..runs).map(|_| desk.get("/v1/sessions?limit=50").0));
    let (mut all, mut count, mut cursor) = (0.0, 0, String::new());
    loop {
        let (took, page) = desk.get(&format!("/v1/sessions?limit=200{cursor}"));
        all += took;
        count += page["items"].as_array().map_or(0, Vec::len);
        match &page["next"] {
            Value::String(next) => cursor = format!("&cursor={next}"),
            _ => break,
        }
    }
    println!("list: the first 50 {first:.2} ms (median of {runs}); all {count} in pages of 200: {all:.0} ms");
}

fn opens(host: &Host, ids: &[String]) {
    let runs = usize::try_from(number("AGENTX_BENCH_RUNS", 3)).expect("a number") * 7;
    let step = ids.len() / (runs + 1);
    let picked = || ids.iter().skip(3).step_by(step).take(runs);
    let open = median(picked().map(|id| {
        Readers::of(&host.url, 1, std::slice::from_ref(id))
            .start()
            .slowest_ms
    }));
    let mut desk = host.desk();
    let state = median(picked().map(|id| desk.get(&format!("/v1/sessions/{id}/state")).0));
    println!("open one: subscribed and caught up {open:.2} ms; its state {state:.2} ms (median of {runs})");
}

pub(crate) fn connections() {
    for follows in [false, true] {
        let seen = median((0..number("AGENTX_BENCH_RUNS", 3)).map(|_| connection(follows)));
        let what = if follows {
            "following one session"
        } else {
            "following nothing"
        };
        println!("{CONNECTIONS} connections, {what}: {seen:.1} KiB each");
    }
}

/// KiB of each.
fn connection(follows: bool) -> f64 {
    let host = Host::start(1);
    let one = Readers {
        subscriptions: usize::from(follows),
        ..Readers::of(&host.url, 1, &host.sessions)
    };
    let _first = one.start();
    let before = host.role.resident();
    let all = Readers {
        connections: CONNECTIONS,
        ..one
    };
    let _all = all.start();
    std::thread::sleep(Duration::from_secs(2));
    (host.role.resident() - before) / 1024.0 / CONNECTIONS as f64
}
