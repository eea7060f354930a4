//! A real process is killed (-9) at random moments in the middle of turns that stream and use tools. After
//! each death, and at the end: everything that was printed is in the log, to the byte; `seq` is dense; the
//! log is as it was written; every tool call has one result; no call had its effect twice; replay equals
//! live; and the session continues.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use agentx::runtime::{Fact, SessionLog};
use agentx::sqlite_log::{LogOptions, SqliteLog};
use agentx::types::{EnvironmentEvent, SessionId};
use agentx_tests::model_server::ModelServer;
use agentx_tests::{Signed, program};

/// The total number of processes to kill.
const KILLS: usize = 300;
/// The number of them in one session, before the session is checked as a whole.
const KILLS_A_SESSION: usize = 15;
/// A process is killed at most so long after its start.
const LONGEST: Duration = Duration::from_millis(260);
/// So long each event of an answer waits, so that a kill may come between any two.
const PACE: Duration = Duration::from_millis(1);

/// Small, and the same everywhere: a failure names the seed that it came with.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// A model that thinks, then mostly wants one or two commands run, each of which writes its own id into a
/// file: once, if all is well. It answers as the default model of Anthropic does, and refuses thinking whose
/// beginning changed.
fn model() -> ModelServer {
    let next = AtomicU64::new(0);
    let script = move |_: &[u8]| {
        let number = next.fetch_add(1, Ordering::SeqCst);
        let answer = Signed::thinking(&format!("thought {number}")).says("some words");
        if number % 4 == 3 {
            return answer.paced(PACE);
        }
        let calls = 0..=number % 2;
        let answer = calls.fold(answer, |answer, index| {
            let id = format!("toolu_{number}_{index}");
            let command = format!(
                "echo {id} >> counter; echo begun; sleep 0.0{}; echo done",
                index + 1
            );
            answer.runs(&id, &command)
        });
        answer.paced(PACE)
    };
    ModelServer::start(script).unwrap()
}

struct World {
    home: tempfile::TempDir,
    url: String,
}

impl World {
    fn new(url: String) -> Self {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("ws")).unwrap();
        Self { home, url }
    }

    fn workspace(&self) -> PathBuf {
        self.home.path().join("ws")
    }

    fn start(&self, session: Option<&SessionId>, out: &Path) -> Child {
        let mut command = Command::new(program());
        command.args([
            "run",
            "--yes",
            "--output-format",
            "stream-json",
            "--view",
            "environment",
        ]);
        if let Some(session) = session {
            command.args(["--session", session.as_str()]);
        }
        command
            .arg("go on")
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.home.path())
            .env("ANTHROPIC_BASE_URL", &self.url)
            .env("ANTHROPIC_API_KEY", "sk-made-up")
            .current_dir(self.workspace())
            .stdin(Stdio::null())
            .stdout(std::fs::File::create(out).unwrap())
            .stderr(std::fs::File::create(out.with_extension("err")).unwrap())
            .spawn()
            .unwrap()
    }

    fn log(&self) -> Arc<SqliteLog> {
        let data = self.home.path().join(".local/share/agentx");
        SqliteLog::open(data.join(agentx::node::DATABASE), LogOptions::default()).unwrap()
    }
}

/// Kills it after `delay`, unless it has ended by itself. The wait is what is tested here: it is the moment
/// of the death.
fn kill_after(child: &mut Child, delay: Duration) -> bool {
    let deadline = Instant::now() + delay;
    while Instant::now() < deadline {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        std::thread::park_timeout(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    true
}

/// The whole lines that it printed: frames.
fn printed(out: &Path) -> Vec<serde_json::Value> {
    let mut text = String::new();
    std::fs::File::open(out)
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

async fn facts(log: &SqliteLog, session: &SessionId) -> Vec<Fact> {
    log.read(session, 0, usize::MAX).await.unwrap()
}

/// Checks that all printed events are in the log, and that the log is complete.
async fn check_after_death(log: &SqliteLog, session: &SessionId, frames: &[serde_json::Value], what: &str) {
    let facts = facts(log, session).await;
    for (index, fact) in facts.iter().enumerate() {
        assert_eq!(fact.seq, index as u64 + 1, "{what}: seq is dense");
    }
    for frame in frames.iter().filter(|frame| frame["type"] != "result") {
        let seq = usize::try_from(frame["seq"].as_u64().unwrap()).unwrap();
        let kept = facts
            .get(seq - 1)
            .unwrap_or_else(|| panic!("{what}: event {seq} was printed and is not in the log"));
        assert_eq!(
            serde_json::to_value(kept.as_ref()).unwrap(),
            *frame,
            "{what}: event {seq} is another one"
        );
    }
    let report = log.verify(session).await.unwrap();
    assert!(report.problems.is_empty(), "{what}: {:?}", report.problems);
}

/// Every call has one result, and no effect happened twice.
async fn check_calls(world: &World, log: &SqliteLog, session: &SessionId, what: &str) {
    let mut results: BTreeMap<String, usize> = BTreeMap::new();
    let mut called = BTreeSet::new();
    let mut meant = BTreeSet::new();
    for fact in facts(log, session).await {
        match &fact.event {
            EnvironmentEvent::ToolCall(call) => drop(called.insert(call.tool_call_id.to_string())),
            EnvironmentEvent::ActionStarted(started) => {
                meant.extend(started.tool_call_id.as_ref().map(ToString::to_string))
            }
            EnvironmentEvent::ToolResult(result) => {
                *results.entry(result.tool_call_id.to_string()).or_default() += 1
            }
            _ => {}
        }
    }
    for id in &meant {
        assert_eq!(results.get(id), Some(&1), "{what}: results of {id}");
    }
    for (id, count) in &results {
        assert!(
            called.contains(id) && *count == 1,
            "{what}: {id} has {count} results"
        );
    }
    let counter = std::fs::read_to_string(world.workspace().join("counter")).unwrap_or_default();
    let mut seen = BTreeSet::new();
    for id in counter.lines() {
        assert!(seen.insert(id), "{what}: {id} had its effect twice");
        assert!(
            meant.contains(id),
            "{what}: {id} had its effect and was never on record"
        );
    }
}

async fn only_session(log: &SqliteLog) -> Option<SessionId> {
    let query = agentx::runtime::SessionQuery {
        owner: "own_local".into(),
        workspace: None,
        limit: 64,
        before: None,
    };
    log.list(query)
        .await
        .unwrap()
        .into_iter()
        .find(|info| info.last_seq > 0)
        .map(|info| info.session_id)
}

async fn one_session(url: &str, random: &mut Random, seed: u64) -> usize {
    let world = World::new(url.to_owned());
    let out = world.home.path().join("out");
    let mut session = None;
    let mut killed = 0;
    let mut what = String::new();
    while killed < KILLS_A_SESSION {
        let delay = Duration::from_micros(random.below(u64::try_from(LONGEST.as_micros()).unwrap()));
        let mut child = world.start(session.as_ref(), &out);
        killed += usize::from(kill_after(&mut child, delay));
        what = format!("seed {seed}, death {killed}, after {delay:?}");
        let log = world.log();
        session = match session {
            Some(known) => Some(known),
            None => only_session(&log).await,
        };
        if let Some(session) = &session {
            check_after_death(&log, session, &printed(&out), &what).await;
        }
    }
    let status = world.start(session.as_ref(), &out).wait().unwrap();
    let said = std::fs::read_to_string(out.with_extension("err")).unwrap();
    assert!(status.success(), "{what}: the session does not go on: {said}");
    let log = world.log();
    let session = match session {
        Some(session) => session,
        None => only_session(&log).await.unwrap(),
    };
    check_after_death(&log, &session, &printed(&out), &what).await;
    check_calls(&world, &log, &session, &what).await;
    let replay = Command::new(program())
        .args(["replay", session.as_str()])
        .env_clear()
        .env("HOME", world.home.path())
        .output()
        .unwrap();
    assert!(
        replay.status.success(),
        "{what}: {}",
        String::from_utf8_lossy(&replay.stderr)
    );
    killed
}

#[test]
fn every_call_gets_one_result_whatever_dies() {
    let seed = std::env::var("KILLS_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or_else(|| u64::from(std::process::id()));
    let model = model();
    let url = model.url();
    let mut random = Random(seed);
    let mut killed = 0;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    while killed < KILLS {
        killed += runtime.block_on(one_session(&url, &mut random, seed));
    }
    assert!(killed >= KILLS);
}
