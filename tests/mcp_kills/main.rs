//! The program is killed (-9) at random points of calls of an MCP server, which writes its effects into a
//! file. In the end each call is answered once, nothing was done twice, what is answered is true, and no
//! process of a server is left.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use agentx::runtime::{Fact, SessionLog as _};
use agentx::sqlite_log::{LogOptions, SqliteLog};
use agentx::types::{EnvironmentEvent, SessionId, ToolStatus};
use agentx_tests::model_server::{Answer, ModelServer};
use agentx_tests::{BOUND, Random, Running, World};
use nix::sys::signal::kill;
use nix::unistd::Pid;
use serde_json::{Value, json};

/// The minimum number of calls to cut off.
const CALLS: usize = 200;
/// Sessions at once.
const THREADS: usize = 2;
/// The number of programs to kill in one session, each while it makes calls, before the session is checked as
/// a whole.
const KILLS_A_SESSION: usize = 12;
/// Calls in one answer of the model, at most.
const CALLS_AT_ONCE: u64 = 4;
/// A program makes at most so many calls before it is killed.
const MOST_CALLS: u64 = 6;
/// A program is killed at most so long after its last call has begun.
const LONGEST: Duration = Duration::from_millis(8);

/// A model that wants the server's tool called one to four times in each of its answers, until the test ends
/// it.
struct Model {
    server: ModelServer,
    ends: Arc<AtomicBool>,
}

impl Model {
    fn new() -> Self {
        let (next, ends) = (AtomicU64::new(0), Arc::new(AtomicBool::new(false)));
        let is_over = ends.clone();
        let script = move |_: &[u8]| {
            if is_over.load(Ordering::SeqCst) {
                let words = vec!["done".to_owned()];
                return Answer {
                    words,
                    ..Answer::default()
                };
            }
            let number = next.fetch_add(1, Ordering::SeqCst);
            let call = |index| {
                let id = format!("toolu_{number}_{index}");
                (id.clone(), "counting__count".to_owned(), json!({ "id": id }))
            };
            let tools = (0..=number % CALLS_AT_ONCE).map(call).collect();
            Answer {
                tools,
                ..Answer::default()
            }
        };
        let server = ModelServer::start(script).unwrap();
        Self { server, ends }
    }
}

/// A world whose settings have the server, of which the tools are known.
struct Stage {
    world: World,
}

impl Stage {
    fn new(url: &str) -> Self {
        let world = World::new(url);
        let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("mcp_kills/counting_server.sh");
        let arguments = json!([script, world.file("counter"), world.file("pids")]);
        world.config(&format!(
            "mcp:\n  counting:\n    command: sh\n    args: {arguments}\n"
        ));
        world.run(&["mcp", "try", "counting"]).exits(0);
        Self { world }
    }

    fn lines(&self, file: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.world.file(file)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn lives(&self, session: Option<&str>) -> Running {
        self.world.run_prompt(session, &["--yes"], "go on")
    }

    /// Waits until no process of a server is left.
    fn wait_for_the_end_of_servers(&self, what: &str) {
        let deadline = Instant::now() + BOUND;
        for pid in self.lines("pids") {
            let process = Pid::from_raw(pid.parse().unwrap());
            while kill(process, None).is_ok() && is_server(&pid) {
                assert!(Instant::now() < deadline, "{what}: the server {pid} is left");
                std::thread::yield_now();
            }
        }
    }

    fn facts(&self, session: &str) -> Vec<Fact> {
        let file = self.world.data().join(agentx::node::DATABASE);
        let log = SqliteLog::open(file, LogOptions::default()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let facts = log.read(&SessionId::new(session), 0, usize::MAX);
        runtime.block_on(facts).unwrap()
    }

    /// Returns the number of times that each call began and ended, by the server's own file.
    fn effects(&self) -> BTreeMap<String, (usize, usize)> {
        let mut effects = BTreeMap::<String, (usize, usize)>::new();
        for line in self.lines("counter") {
            let (word, id) = line.split_once(' ').unwrap();
            let times = effects.entry(id.to_owned()).or_default();
            match word {
                "begin" => times.0 += 1,
                _ => times.1 += 1,
            }
        }
        effects
    }
}

/// Returns whether this process is a server of this test, and not another one that has its number by now.
fn is_server(pid: &str) -> bool {
    let command_line = std::fs::read(format!("/proc/{pid}/cmdline"));
    command_line.is_ok_and(|words| String::from_utf8_lossy(&words).contains("counting_server.sh"))
}

/// Kills the program after so many of its calls have begun, and a moment. Returns its session.
fn kill_in_calls(running: Running, calls: u64, moment: Duration) -> String {
    let begun = Cell::new(0);
    let is_call = |frame: &Value| {
        let is_one = frame["event"] == "action_started" && frame["payload"]["kind"] == "call_tool";
        begun.set(begun.get() + u64::from(is_one));
        is_one && begun.get() > calls
    };
    let frame = running.frame(is_call);
    let deadline = Instant::now() + moment;
    while Instant::now() < deadline {
        std::hint::spin_loop();
    }
    running.kill();
    frame["session_id"].as_str().unwrap().to_owned()
}

/// The totals, so that a test that sees nothing fails.
#[derive(Debug, Default)]
struct Seen {
    answered: usize,
    unknown: usize,
    /// Calls of which the server had done something, and nobody knew.
    done_unknown: usize,
}

/// Each call has one result, had its effect at most once, and the result is true.
fn check(stage: &Stage, session: &str, seen: &mut Seen, what: &str) {
    let (mut begun, mut results) = (BTreeSet::new(), BTreeMap::<String, Vec<ToolStatus>>::new());
    for fact in stage.facts(session) {
        match &fact.event {
            EnvironmentEvent::ActionStarted(started) => {
                let Some(id) = started.tool_call_id.as_ref().map(ToString::to_string) else {
                    continue;
                };
                assert!(begun.insert(id.clone()), "{what}: {id} was handed in twice");
            }
            EnvironmentEvent::ToolResult(result) => {
                let id = result.tool_call_id.to_string();
                results.entry(id).or_default().push(result.status);
            }
            _ => {}
        }
    }
    let effects = stage.effects();
    for id in effects.keys() {
        assert!(begun.contains(id), "{what}: {id} was done and is not on record");
    }
    for id in &begun {
        let [status] = &results.get(id).cloned().unwrap_or_default()[..] else {
            panic!("{what}: {id} has the results {:?}", results.get(id));
        };
        let done = effects.get(id).copied().unwrap_or_default();
        let is_true = match status {
            ToolStatus::Success => done == (1, 1),
            ToolStatus::Unknown => done.0 <= 1 && done.1 <= done.0,
            _ => false,
        };
        assert!(
            is_true,
            "{what}: {id} is {status:?}, and began and ended {done:?} times"
        );
        seen.answered += usize::from(*status == ToolStatus::Success);
        seen.unknown += usize::from(*status == ToolStatus::Unknown);
        seen.done_unknown += usize::from(*status == ToolStatus::Unknown && done.0 == 1);
    }
}

fn one_session(random: &mut Random, seed: u64, seen: &mut Seen) {
    let model = Model::new();
    let stage = Stage::new(&model.server.url());
    let mut session = None;
    for kill in 1..=KILLS_A_SESSION {
        let calls = random.below(MOST_CALLS);
        let moment = Duration::from_micros(random.below(u64::try_from(LONGEST.as_micros()).unwrap()));
        let running = stage.lives(session.as_deref());
        session = Some(kill_in_calls(running, calls, moment));
        let what = format!("seed {seed}, kill {kill} after {calls} calls and {moment:?}");
        stage.wait_for_the_end_of_servers(&what);
    }
    model.ends.store(true, Ordering::SeqCst);
    let session = session.unwrap();
    let what = format!("seed {seed}, session {session}");
    stage.lives(Some(&session)).end().exits(0);
    stage.wait_for_the_end_of_servers(&what);
    check(&stage, &session, seen, &what);
    stage.world.check(&session);
}

#[test]
fn each_call_of_a_server_is_answered_once_whatever_dies() {
    let seed = Random::seed("MCP_KILLS_SEED");
    let cut_off = |number: u64| {
        let (mut random, mut seen) = (Random::new(seed + number), Seen::default());
        while seen.unknown < CALLS / THREADS {
            one_session(&mut random, seed, &mut seen);
        }
        seen
    };
    let seen: Vec<Seen> = std::thread::scope(|scope| {
        let threads = (0..THREADS).map(|number| scope.spawn(move || cut_off(number as u64)));
        let threads: Vec<_> = threads.collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    eprintln!("{seen:?}");
    for seen in seen {
        assert!(seen.answered > 0 && seen.done_unknown > 0, "{seen:?}");
    }
}
