//! Connections are cut at random bytes while sessions stream and use tools, and their readers come back by
//! themselves. Each of them ends with what the server has, to the byte: no event twice, none out of order,
//! none missing. What is said twice because nobody knew whether it had come through is one input.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use agentx::node::DATABASE;
use agentx::sqlite_log::{LogOptions, SqliteLog};
use agentx_remote_runtime::{ConnectionState, MirrorTask, RemoteRuntime, keep};
use agentx_runtime::{SessionLog as _, View};
use agentx_tests::proxy::{Cut, Proxy, Weather};
use agentx_tests::remote::{Lost, Seen, Serving, Socket, Web, Who, Worker, mirror};
use agentx_tests::{BOUND, Random, World};
use agentx_types::SessionId;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// The number of connections of our own client to cut, and of others.
const CUTS: [usize; 2] = [250, 300];
/// The number of sessions that stream.
const SESSIONS: usize = 3;
/// The number of readers of each kind in a session.
const READERS: usize = 2;

/// A server, and two bad networks before it: one for the client of this project, which signs only for the
/// place that it dialled, and one for everybody else.
struct Stage {
    worker: Worker,
    world: World,
    server: Serving,
    ours: Proxy,
    others: Proxy,
    who: Who,
    direct: Arc<Web>,
}

impl Stage {
    async fn new(seed: u64) -> Self {
        let worker = Worker::start();
        let world = World::new(&worker.url());
        world.config("approval: auto\n");
        let who = Who::operator(&world, 1);
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 9));
        let (ours, others) = (
            Proxy::start(nowhere, seed),
            Proxy::start(nowhere, seed.wrapping_add(1)),
        );
        let server = Serving::start(&world, &["--origin", &ours.url()]);
        ours.point_to(server.address());
        others.point_to(server.address());
        let direct = Web::new(&server.url(), &who, "direct").signed_in().await;
        Self {
            worker,
            world,
            server,
            ours,
            others,
            who,
            direct: Arc::new(direct),
        }
    }
}

/// The ended runs of a session, as a reader without cuts sees them.
async fn ends_of_runs(stage: &Stage, session: &str) -> watch::Receiver<Vec<String>> {
    let mut socket = Socket::enter(stage.server.address(), &stage.who, "watcher").await;
    socket.subscribe(session, 0, "runtime").await;
    let (sender, ended) = watch::channel(Vec::new());
    tokio::spawn(async move {
        while let Ok(frame) = socket.try_next().await {
            if frame["event"] == "run_finished" {
                let run = frame["payload"]["run_id"].as_str().unwrap().to_owned();
                sender.send_modify(|ended| ended.push(run));
            }
        }
    });
    ended
}

/// Somebody who drives through a bad network: each message is said until it is answered, and some are said
/// once more.
struct Driver {
    address: SocketAddr,
    who: Who,
    session: String,
    socket: Option<Socket>,
    random: Random,
    /// The number of times that a message was sent again.
    again: usize,
}

impl Driver {
    async fn try_say(&mut self, text: &str, key: &str) -> Result<u64, Lost> {
        if self.socket.is_none() {
            self.socket = Some(Socket::try_enter(self.address, &self.who, "driver").await?);
        }
        let socket = self.socket.as_mut().unwrap();
        let payload = json!({"session_id": self.session, "content": text, "idempotency_key": key});
        let answer = socket.try_ask("user_message", payload).await?;
        let accepted = answer.unwrap_or_else(|problem| panic!("{text}: {problem}"));
        Ok(accepted["seq"].as_u64().expect("the event that it became"))
    }

    async fn say(&mut self, text: &str, key: &str) -> u64 {
        loop {
            match self.try_say(text, key).await {
                Ok(seq) => return seq,
                Err(_) => {
                    self.again += 1;
                    self.socket = None;
                }
            }
        }
    }

    /// Continues until it is asked to stop; returns the `seq` of each message by its key.
    async fn run(
        mut self,
        mut ended: watch::Receiver<Vec<String>>,
        stop: Arc<AtomicBool>,
    ) -> (BTreeMap<String, u64>, JoinHandle<()>) {
        let (mut said, mut last) = (BTreeMap::new(), None);
        for number in 0.. {
            if stop.load(Ordering::SeqCst) {
                break;
            }
            let key = format!("{}-{number}", self.session);
            let text = format!("work {key} turns=3 words=40 calls=2 lines=1500 pace=1");
            let seq = self.say(&text, &key).await;
            if self.random.below(2) == 0 {
                self.again += 1;
                assert_eq!(
                    self.say(&text, &key).await,
                    seq,
                    "a message said twice is one message"
                );
            }
            last = Some((text, key.clone()));
            said.insert(key, seq);
            let run = format!("run_{seq}");
            let waited = tokio::time::timeout(BOUND, ended.wait_for(|ended| ended.contains(&run)));
            drop(waited.await.expect("the run ends").expect("the watcher lives"));
        }
        eprintln!(
            "{}: {} messages, {} said again",
            self.session,
            said.len(),
            self.again
        );
        if let Some((text, key)) = &last {
            // Once more, so that the connection is there.
            assert_eq!(self.say(text, key).await, said[key]);
        }
        // Stays at the session, and answers pings, for as long as others are looked at: that who drives goes
        // would be an event.
        let head = said.values().copied().max().unwrap_or(0);
        let stays = tokio::spawn(async move {
            let Some(mut socket) = self.socket else { return };
            socket.subscribe(&self.session, head, "runtime").await;
            while socket.try_next().await.is_ok() {}
        });
        (said, stays)
    }
}

type Driving = JoinHandle<(BTreeMap<String, u64>, JoinHandle<()>)>;

async fn drive(stage: &Stage, session: &str, seed: u64, stop: &Arc<AtomicBool>) -> Driving {
    let driver = Driver {
        address: stage.others.address(),
        who: stage.who.clone(),
        session: session.to_owned(),
        socket: None,
        random: Random::new(seed),
        again: 0,
    };
    let ended = ends_of_runs(stage, session).await;
    tokio::spawn(driver.run(ended, stop.clone()))
}

/// The readers of one session: those that are to have the facts, and those that are to have what they mean.
struct Readers {
    facts: Vec<Arc<Seen>>,
    meaning: Vec<Arc<Seen>>,
}

async fn read(stage: &Stage, session: &str) -> Readers {
    let (mut facts, mut meaning) = (Vec::new(), Vec::new());
    let other = stage.others.address();
    for number in 0..READERS {
        let new = |kind: &str| Arc::new(Seen::new(format!("{kind} {number} of {session}")));
        let name = format!("mirror{number}-{session}");
        let remote = mirror::remote(&stage.ours.url(), &stage.who, &name).await;
        let remote = Arc::new(remote.unwrap());
        let (seen, derived) = (new("mirror"), new("mirror of meaning"));
        mirror::mirror(remote.clone(), session, View::Environment, seen.clone());
        mirror::mirror(remote, session, View::Runtime, derived.clone());
        facts.push(seen);
        meaning.push(derived);

        let web = Web::new(&stage.others.url(), &stage.who, "sse");
        let web = Arc::new(web.signed_in().await);
        for (view, all) in [("environment", &mut facts), ("runtime", &mut meaning)] {
            let seen = new(&format!("event stream of {view}"));
            mirror::event_stream(web.clone(), session, view, seen.clone());
            all.push(seen);
            let seen = new(&format!("socket of {view}"));
            let client = format!("socket{number}-{view}");
            mirror::socket(other, &stage.who, &client, session, view, seen.clone());
            all.push(seen);
        }
    }
    Readers { facts, meaning }
}

/// A mirror in a database of its own, through the bad network.
struct Keeper {
    world: World,
    log: Arc<SqliteLog>,
    remote: RemoteRuntime,
    session: SessionId,
    keeping: MirrorTask,
}

impl Keeper {
    async fn new(stage: &Stage, session: &str) -> Self {
        let world = World::new(&stage.worker.url());
        std::fs::create_dir_all(world.data()).unwrap();
        let log = SqliteLog::open(world.data().join(DATABASE), LogOptions::default()).unwrap();
        let name = format!("keeper-{session}");
        let remote = mirror::remote(&stage.ours.url(), &stage.who, &name)
            .await
            .unwrap();
        let session = SessionId::new(session);
        let keeping = keep(&remote, &session, log.clone(), true).await.unwrap();
        Self {
            world,
            log,
            remote,
            session,
            keeping,
        }
    }

    /// Ends with the server's log: the same facts in the very same rows, and a log that can be checked where
    /// there is no server.
    async fn ends(mut self, facts: &[String], original: &SqliteLog) {
        let last = facts.len() as u64;
        loop {
            let mut kept = self.keeping.progress();
            let there = tokio::time::timeout(BOUND, kept.wait_for(|kept| kept.seq >= last));
            match there.await.expect("it comes so far") {
                Ok(kept) => {
                    assert_eq!(kept.missing_blobs, 0, "blobs come with their facts");
                    break;
                }
                // A request other than events did not get through; it continues at the same point.
                Err(_) => {
                    let why = self.keeping.ended().await.unwrap_err();
                    eprintln!("the keeper begins again: {why}");
                    self.keeping = keep(&self.remote, &self.session, self.log.clone(), true)
                        .await
                        .unwrap();
                }
            }
        }
        let end = self.keeping.stop().await.unwrap();
        assert_eq!((end.seq, end.rows), (last, last));
        let rows = mirror::rows_of(original, &self.session).await;
        assert!(
            mirror::rows_of(self.log.as_ref(), &self.session).await == rows,
            "its rows are the server's"
        );
        let head = original.verify(&self.session).await.unwrap().head;
        assert_eq!(self.log.verify(&self.session).await.unwrap().head, head);
        let kept = self.log.read(&self.session, 0, usize::MAX).await.unwrap();
        let kept: Vec<String> = kept
            .iter()
            .map(|fact| serde_json::to_string(&**fact).unwrap())
            .collect();
        assert!(kept == facts, "what is kept is what the server has");
        drop((self.log, self.remote));
        self.world.check(self.session.as_str());
    }
}

/// The weathers that follow each other until there were enough cuts.
fn weathers() -> Vec<Weather> {
    let cuts = vec![Cut::Reset, Cut::Reset, Cut::Finish];
    vec![
        Weather {
            cut_after: Some(1..20_000),
            cuts: cuts.clone(),
            ..Weather::default()
        },
        Weather {
            cut_after: Some(1_000..60_000),
            cuts: cuts.clone(),
            delay: Duration::from_millis(15),
            ..Weather::default()
        },
        Weather {
            cut_after: Some(3_000..30_000),
            cuts,
            stall: Some((2_000..20_000, Duration::from_millis(40))),
            bytes_per_second: Some(2_000_000),
            ..Weather::default()
        },
    ]
}

async fn storm(stage: &Stage) {
    let weathers = weathers();
    let steps = 2 * weathers.len();
    for (step, weather) in weathers.iter().cycle().take(steps).enumerate() {
        for (proxy, wanted) in [(&stage.ours, CUTS[0]), (&stage.others, CUTS[1])] {
            proxy.weather(weather.clone());
            let so_far = wanted * step / steps;
            proxy.until(|tally| tally.cuts() >= so_far).await;
            // All at once, as when a server's network goes away.
            proxy.cut_all(Cut::Reset);
        }
    }
    stage.ours.until(|tally| tally.cuts() >= CUTS[0]).await;
    stage.others.until(|tally| tally.cuts() >= CUTS[1]).await;
    stage.ours.calm();
    stage.others.calm();
}

/// Checks that every message is in the log once, at the `seq` of its answer, and had one run.
fn check_inputs(facts: &[String], meaning: &[String], said: &BTreeMap<String, u64>) {
    let parsed = |lines: &[String]| -> Vec<Value> {
        lines
            .iter()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let mut kept = BTreeMap::new();
    for fact in parsed(facts) {
        if fact["event"] == "user_message" {
            let key = fact["payload"]["idempotency_key"].as_str().unwrap().to_owned();
            let before = kept.insert(key, fact["seq"].as_u64().unwrap());
            assert_eq!(before, None, "it is there twice: {fact}");
        }
    }
    assert_eq!(&kept, said);
    let meaning = parsed(meaning);
    for name in ["run_started", "run_finished"] {
        let mut runs: Vec<String> = meaning
            .iter()
            .filter(|event| event["event"] == name)
            .map(|event| event["payload"]["run_id"].as_str().unwrap().to_owned())
            .collect();
        runs.sort();
        let mut wanted: Vec<String> = said.values().map(|seq| format!("run_{seq}")).collect();
        wanted.sort();
        assert_eq!(runs, wanted, "{name}: one for each message");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_reader_ends_with_the_servers_log_whatever_is_cut() {
    let seed = Random::seed("CUTS_SEED");
    let stage = Stage::new(seed).await;
    let stop = Arc::new(AtomicBool::new(false));
    let mut parts = Vec::new();
    for number in 0..SESSIONS {
        let session = stage.direct.new_session().await;
        let driving = drive(&stage, &session, seed + number as u64, &stop).await;
        let (readers, keeper) = (read(&stage, &session).await, Keeper::new(&stage, &session).await);
        parts.push((session.clone(), driving, readers, keeper));
    }
    storm(&stage).await;
    let original = SqliteLog::open(stage.world.data().join(DATABASE), LogOptions::default()).unwrap();
    stop.store(true, Ordering::SeqCst);
    let mut sessions = Vec::new();
    for (session, driving, readers, keeper) in parts {
        // The driver stays until everything is checked: leaving would be an event.
        let (said, driver) = driving.await.unwrap();
        let facts = stage.direct.export(&session).await;
        let meaning = stage.direct.meaning(&session).await;
        for (all, log) in [(&readers.facts, &facts), (&readers.meaning, &meaning)] {
            for seen in all {
                seen.comes_to(log.len()).await;
                seen.is(log);
            }
        }
        keeper.ends(&facts, &original).await;
        check_inputs(&facts, &meaning, &said);
        eprintln!(
            "{session}: {} facts, {} derived events, {} readers",
            facts.len(),
            meaning.len(),
            2 * readers.facts.len()
        );
        sessions.push(session);
        driver.abort();
    }
    eprintln!(
        "ours: {:?}\nothers: {:?}",
        stage.ours.tally(),
        stage.others.tally()
    );
    let asked = stage.worker.asked();
    assert!(asked.values().all(|times| *times == 3), "{asked:?}");
    stage.server.stop().exits(0);
    for session in sessions {
        stage.world.check(&session);
    }
}

/// Says what there is to do and waits until all of it has come to each reader, without anything being cut.
async fn comes_through(stage: &Stage, weather: Weather) {
    let session = stage.direct.new_session().await;
    let mut ended = ends_of_runs(stage, &session).await;
    stage.ours.weather(weather.clone());
    stage.others.weather(weather);
    let readers = read(stage, &session).await;
    let mut driver = Driver {
        address: stage.others.address(),
        who: stage.who.clone(),
        session: session.clone(),
        socket: None,
        random: Random::new(1),
        again: 0,
    };
    let text = "work slow turns=3 words=500 calls=2 lines=1500 pace=3";
    let seq = driver.say(text, "slow").await;
    let run = format!("run_{seq}");
    let ends = ended.wait_for(|ended| ended.contains(&run));
    drop(tokio::time::timeout(BOUND, ends).await.expect("the run ends"));
    let (facts, meaning) = (
        stage.direct.export(&session).await,
        stage.direct.meaning(&session).await,
    );
    for (all, log) in [(&readers.facts, &facts), (&readers.meaning, &meaning)] {
        for seen in all {
            seen.comes_to(log.len()).await;
            seen.is(log);
        }
    }
    let tallies = [stage.ours.tally(), stage.others.tally()];
    eprintln!("{} facts came through: {tallies:?}", facts.len());
    assert_eq!(driver.again, 0, "nothing had to be said twice");
    // Of ours each has a socket and what it asks over HTTP; of the others each has one, and a token for two
    // of them.
    let made: usize = tallies.iter().map(|tally| tally.connections).sum();
    assert!(
        made <= 3 * READERS + 6 * READERS,
        "{made} connections: they come and go"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_network_that_is_slow_and_stalls_is_waited_for() {
    let stage = Stage::new(3).await;
    let weather = Weather {
        delay: Duration::from_millis(300),
        bytes_per_second: Some(300_000),
        stall: Some((20_000..100_000, Duration::from_millis(1_500))),
        ..Weather::default()
    };
    comes_through(&stage, weather).await;
    assert!(stage.ours.tally().stalls > 0 && stage.others.tally().stalls > 0);
    stage.server.stop().exits(0);
}

/// A connection that died without a word is noticed by what does not come, and recreated.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_fell_silent_is_noticed() {
    let stage = Stage::new(4).await;
    let session = stage.direct.new_session().await;
    let remote = mirror::remote(&stage.ours.url(), &stage.who, "mirror").await;
    let remote = Arc::new(remote.unwrap());
    let seen = Arc::new(Seen::new("the mirror"));
    mirror::mirror(remote.clone(), &session, View::Environment, seen.clone());
    let text = "work silent turns=1 words=100000 pace=5";
    stage.direct.say(&session, text, "silent").await.done();
    seen.comes_to(100).await;
    stage.ours.cut_all(Cut::Silence);
    let silenced = seen.count();
    let mut connection = remote.connection();
    let lost = connection.wait_for(|state| matches!(state, ConnectionState::Waiting { .. }));
    drop(
        tokio::time::timeout(BOUND, lost)
            .await
            .expect("it is noticed")
            .unwrap(),
    );
    assert!(seen.count() < silenced + 100, "nothing came");
    let stop = format!("/v1/sessions/{session}/interrupt");
    stage.direct.post(&stop, &json!({})).await;
    let facts = stage.direct.export(&session).await;
    seen.comes_to(facts.len()).await;
    assert_eq!(seen.lines()[..facts.len()], facts[..]);
    stage.server.stop().exits(0);
}
