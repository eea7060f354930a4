//! The server is killed (-9) at random moments under twenty clients, and comes back at the same place. They
//! reconnect by themselves. Nothing that any of them ever showed is missing afterwards; each message whose
//! arrival was confirmed is there once and had one run; every tool call has one result, and none had its
//! effect twice.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use agentx_remote_runtime::RemoteRuntime;
use agentx_runtime::{OpenRequest, Runtime as _, RuntimeError, Session, UserInput, View};
use agentx_tests::remote::{Seen, Serving, Socket, Web, Who, Worker, mirror};
use agentx_tests::{BOUND, Random, World};
use agentx_types::SessionId;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

/// The number of times to kill the server.
const KILLS: usize = 100;
/// The number of sessions.
const SESSIONS: usize = 5;
/// The number of clients that watch each; one more drives.
const WATCHERS: usize = 3;
/// Of so many deaths one comes before the server has done much; the others come while sessions stream.
const EARLY: usize = 4;
/// A server that fails is killed after so long.
const LONGEST: Duration = Duration::from_secs(5);

/// A server that is asked to end is gone within this, with what the machine is slow.
const IN_TIME: Duration = Duration::from_secs(8);

/// The events of one session that each client received.
struct Watched {
    session: String,
    facts: Vec<Arc<Seen>>,
    meaning: Vec<Arc<Seen>>,
    driving: JoinHandle<BTreeMap<String, u64>>,
}

/// Somebody who says one thing after the other, each until it is confirmed.
struct Driver {
    session: Arc<dyn Session>,
    /// The events that this client itself shows.
    meaning: Arc<Seen>,
}

impl Driver {
    async fn run(self, stop: Arc<AtomicBool>) -> BTreeMap<String, u64> {
        let mut confirmed = BTreeMap::new();
        for number in 0.. {
            if stop.load(Ordering::SeqCst) {
                break;
            }
            let key = format!("{}-{number}", self.session.id());
            let seq = self.say(&key).await;
            confirmed.insert(key, seq);
            let ends = format!(r#""event":"run_finished","payload":{{"run_id":"run_{seq}""#);
            self.meaning.has(&ends).await;
        }
        // It stays until all is looked at: that it goes would be an event.
        std::mem::forget(self.session);
        confirmed
    }

    async fn say(&self, key: &str) -> u64 {
        loop {
            let input = UserInput::text(format!("work {key} turns=3 words=25 calls=1 pace=2"))
                .key(Some(key.to_owned()));
            match self.session.send(input).await {
                Ok(seq) => return seq,
                // It was lost too often: whether it came through is not known, so it is said again.
                Err(RuntimeError::Unreachable { .. }) => {}
                Err(error) => panic!("{key}: {error}"),
            }
        }
    }
}

async fn client(url: &str, who: &Who, name: &str) -> Arc<RemoteRuntime> {
    Arc::new(mirror::remote(url, who, name).await.unwrap())
}

/// One session with those who drive and watch it.
async fn begin(url: &str, who: &Who, web: &Web, stop: &Arc<AtomicBool>) -> Watched {
    let session = web.new_session().await;
    let (mut facts, mut meaning) = (Vec::new(), Vec::new());
    for number in 0..WATCHERS {
        let runtime = client(url, who, &format!("watcher{number}-{session}")).await;
        let view = if number == 0 {
            View::Runtime
        } else {
            View::Environment
        };
        let seen = Arc::new(Seen::new(format!("watcher {number} of {session}")));
        mirror::mirror(runtime, &session, view, seen.clone());
        if number == 0 { &mut meaning } else { &mut facts }.push(seen);
    }
    let runtime = client(url, who, &format!("driver-{session}")).await;
    let seen = Arc::new(Seen::new(format!("driver of {session}")));
    mirror::mirror(runtime.clone(), &session, View::Runtime, seen.clone());
    meaning.push(seen.clone());
    let request = OpenRequest::Resume(SessionId::new(session.as_str()), vec![]);
    let driver = Driver {
        session: runtime.open(request).await.unwrap(),
        meaning: seen,
    };
    Watched {
        session,
        facts,
        meaning,
        driving: tokio::spawn(driver.run(stop.clone())),
    }
}

/// Waits for the moment of the next death: shortly after the start, or when so much more was shown.
async fn fate(watched: &[Watched], random: &mut Random) {
    if random.below(EARLY as u64) == 0 {
        let delay = Duration::from_micros(random.below(200_000));
        let _ = tokio::time::timeout(delay, std::future::pending::<()>()).await;
        return;
    }
    let readers: Vec<Arc<Seen>> = watched.iter().flat_map(|part| part.facts.clone()).collect();
    let reader = random.one_of(&readers).unwrap();
    let enough = reader.count() + usize::try_from(random.below(200)).unwrap();
    reader.comes_within(enough, LONGEST).await;
}

fn parsed(lines: &[String]) -> Vec<Value> {
    let parse = |line: &String| serde_json::from_str(line).unwrap();
    lines.iter().map(parse).collect()
}

/// Checks that each confirmed message is in the log once, at the confirmed `seq`, and had one run.
fn check_messages(facts: &[Value], meaning: &[Value], confirmed: &BTreeMap<String, u64>) {
    let mut kept: BTreeMap<String, u64> = BTreeMap::new();
    for fact in facts.iter().filter(|fact| fact["event"] == "user_message") {
        let key = fact["payload"]["idempotency_key"].as_str().unwrap();
        let before = kept.insert(key.to_owned(), fact["seq"].as_u64().unwrap());
        assert_eq!(before, None, "{key} is there twice");
    }
    assert_eq!(&kept, confirmed);
    let wanted: BTreeSet<String> = confirmed.values().map(|seq| format!("run_{seq}")).collect();
    for name in ["run_started", "run_finished"] {
        let mut runs = BTreeSet::new();
        for event in meaning.iter().filter(|event| event["event"] == name) {
            let run = event["payload"]["run_id"].as_str().unwrap().to_owned();
            assert!(runs.insert(run), "twice: {event}");
        }
        assert_eq!(runs, wanted, "{name}");
    }
    let failed: Vec<&Value> = meaning
        .iter()
        .filter(|event| event["event"] == "run_finished" && event["payload"]["status"] != "completed")
        .collect();
    assert!(failed.is_empty(), "{failed:?}");
}

/// Every call has one result, and no effect happened twice.
fn check_calls(facts: &[Value], effects: &[String]) {
    let ids = |name: &str| -> Vec<String> {
        let of_name = facts.iter().filter(|fact| fact["event"] == name);
        of_name
            .map(|fact| fact["payload"]["tool_call_id"].as_str().unwrap().to_owned())
            .collect()
    };
    let (called, results) = (ids("tool_call"), ids("tool_result"));
    let once: BTreeSet<&String> = results.iter().collect();
    assert_eq!(once.len(), results.len(), "a call has more than one result");
    for id in &once {
        assert!(called.contains(id), "{id} has a result and was never made");
    }
    let meant: BTreeSet<&str> = facts
        .iter()
        .filter(|fact| fact["event"] == "action_started")
        .filter_map(|fact| fact["payload"]["tool_call_id"].as_str())
        .collect();
    for id in &meant {
        assert!(once.contains(&(*id).to_owned()), "{id} has no result");
    }
    for id in effects {
        let count = effects.iter().filter(|other| *other == id).count();
        assert_eq!(count, 1, "{id} had its effect {count} times");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_that_was_shown_is_missing_however_the_server_dies() {
    let mut random = Random::new(Random::seed("SERVER_KILLS_SEED"));
    let worker = Worker::start();
    let world = World::new(&worker.url());
    world.config("approval: auto\n");
    let who = Who::operator(&world, 1);
    let mut server = Serving::start(&world, &[]);
    let (url, address): (String, SocketAddr) = (server.url(), server.address());
    let web = Web::new(&url, &who, "direct").signed_in().await;
    let stop = Arc::new(AtomicBool::new(false));
    let mut watched = Vec::new();
    for _ in 0..SESSIONS {
        watched.push(begin(&url, &who, &web, &stop).await);
    }
    for _ in 0..KILLS {
        fate(&watched, &mut random).await;
        server.kill();
        server = Serving::begin(&world, address, &[]);
    }
    server.is_there();
    stop.store(true, Ordering::SeqCst);
    let web = Web::new(&url, &who, "direct").signed_in().await;
    let mut sessions = Vec::new();
    for part in watched {
        let confirmed = tokio::time::timeout(2 * BOUND, part.driving).await;
        let confirmed = confirmed.expect("the driver ends").unwrap();
        check(
            &world,
            &web,
            &part.session,
            (&part.facts, &part.meaning),
            &confirmed,
        )
        .await;
        sessions.push(part.session);
    }
    eprintln!(
        "{KILLS} deaths, asked {} times",
        worker.asked().values().sum::<usize>()
    );
    server.stop().exits(0);
    for session in sessions {
        world.check(&session);
    }
}

type Shown<'a> = (&'a [Arc<Seen>], &'a [Arc<Seen>]);

async fn check(world: &World, web: &Web, session: &str, shown: Shown<'_>, confirmed: &BTreeMap<String, u64>) {
    let (facts, meaning) = (web.export(session).await, web.meaning(session).await);
    for (all, log) in [(shown.0, &facts), (shown.1, &meaning)] {
        for seen in all {
            seen.comes_to(log.len()).await;
            seen.is(log);
        }
    }
    let (facts, meaning) = (parsed(&facts), parsed(&meaning));
    check_messages(&facts, &meaning, confirmed);
    let effects = std::fs::read_to_string(world.file("counter")).unwrap_or_default();
    let effects = effects.lines().filter(|line| line.contains(session));
    let effects: Vec<String> = effects
        .map(|line| line.split(' ').next().unwrap().to_owned())
        .collect();
    check_calls(&facts, &effects);
    eprintln!(
        "{session}: {} messages, {} facts, {} effects",
        confirmed.len(),
        facts.len(),
        effects.len()
    );
}

/// A server that has to end while it streams notifies all clients, commits and ends in time; the clients come
/// back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_asked_to_end_says_so_and_is_gone_in_time() {
    let worker = Worker::start();
    let world = World::new(&worker.url());
    world.config("approval: auto\n");
    let who = Who::operator(&world, 1);
    let server = Serving::start(&world, &[]);
    let (url, address) = (server.url(), server.address());
    let web = Web::new(&url, &who, "direct").signed_in().await;
    let session = web.new_session().await;
    let seen = Arc::new(Seen::new("the mirror"));
    mirror::mirror(
        client(&url, &who, "mirror").await,
        &session,
        View::Environment,
        seen.clone(),
    );
    let text = "work end turns=1 words=100000 pace=2";
    web.say(&session, text, "end").await.done();
    let mut socket = Socket::enter(address, &who, "socket").await;
    socket.subscribe(&session, 0, "environment").await;
    let stream = web.follow(&session, "environment", None).await;
    seen.comes_to(100).await;
    let began = Instant::now();
    server.stop().exits(0);
    let took = began.elapsed();
    assert!(took < IN_TIME, "it took {took:?}");
    let (before, _) = socket.is_closed().await;
    let bye = before.last().unwrap();
    assert_eq!(
        (&bye["event"], &bye["payload"]["code"]),
        (&json!("bye"), &json!(1001))
    );
    assert_eq!(bye["payload"]["retry_after_ms"], 1000, "{bye}");
    drop(stream);
    // All received events are in the log, and the session continues.
    let server = Serving::at(&world, address, &[]);
    let web = Web::new(&url, &who, "direct").signed_in().await;
    web.say(&session, "work on turns=1 words=3", "on").await.done();
    let shown = seen.count();
    seen.has(r#""text":"on-0-2 ""#).await;
    assert!(seen.count() > shown);
    let facts = web.export(&session).await;
    seen.is_kept_in(&facts);
    eprintln!("the end took {took:?}");
    server.stop().exits(0);
    world.check(&session);
}
