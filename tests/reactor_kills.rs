//! A program whose sessions are served by reactors that come and go is killed (-9) at random points, 200
//! times, and continues each time. In the end each action is settled once, nothing was performed twice, and
//! no call was lost. A ledger outside of the sessions, which the tools themselves write, has the calls that
//! were performed.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};

use agentx::runtime::{Fact, SessionLog as _, SessionQuery};
use agentx::sqlite_log::{LogOptions, SqliteLog};
use agentx::types::{ActionId, ActionKind, EnvironmentEvent, RunStatus, StopReason, ToolStatus};
use agentx_tests::{BOUND, Random};

/// The total number of programs to kill.
const KILLS: u64 = 200;
/// The number of them with the same sessions.
const KILLS_A_WORLD: u64 = 10;
/// A program tells at most so much before it is killed.
const MOST_TOLD: u64 = 40;

/// A program while it lives.
struct Life {
    child: Child,
    told: Receiver<()>,
}

impl Life {
    fn begin(folder: &Path, seed: u64, life: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_reactors-worker"))
            .arg(folder)
            .args([&seed.to_string(), life])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (sender, told) = channel();
        std::thread::spawn(move || {
            for _line in out.lines().map_while(Result::ok) {
                // After a kill nobody counts any more.
                let _ = sender.send(());
            }
        });
        Self { child, told }
    }

    /// Kills the worker after so many lines of its output.
    fn dies_after(mut self, told: u64, what: &str) {
        for count in 0..told {
            if let Err(error) = self.told.recv_timeout(BOUND) {
                panic!("{what}: it told {count} of {told} lines: {error}");
            }
        }
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits until it has ended by itself.
    fn ends(mut self, what: &str) {
        loop {
            match self.told.recv_timeout(BOUND) {
                Ok(()) => {}
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    self.child.kill().unwrap();
                    panic!("{what}: the last life does not end");
                }
            }
        }
        assert!(
            self.child.wait().unwrap().success(),
            "{what}: the last life failed"
        );
    }
}

/// The number of times that a call began and ended, by session and call.
type Ledger = BTreeMap<(String, String), (usize, usize)>;

fn ledger(folder: &Path) -> Ledger {
    let text = std::fs::read_to_string(folder.join("ledger")).unwrap();
    let mut ledger = Ledger::new();
    for line in text.lines() {
        let [word, session, call] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("no line of a ledger: {line}");
        };
        let times = ledger.entry((session.to_owned(), call.to_owned())).or_default();
        match word {
            "begin" => times.0 += 1,
            "end" => times.1 += 1,
            _ => panic!("no line of a ledger: {line}"),
        }
    }
    ledger
}

/// The actions of a log.
#[derive(Default)]
struct Settled {
    /// All ends of each call.
    results: BTreeMap<String, Vec<ToolStatus>>,
    /// The number of times that each call was handed in.
    started: BTreeMap<String, usize>,
    /// Calls of answers that are complete.
    called: BTreeSet<String>,
}

impl Settled {
    fn of(facts: &[Fact], what: &str) -> Self {
        let (mut this, mut asked, mut answering) = (Self::default(), None::<ActionId>, BTreeSet::new());
        for (index, fact) in facts.iter().enumerate() {
            assert_eq!(fact.seq, index as u64 + 1, "{what}: seq is dense");
            match &fact.event {
                EnvironmentEvent::ActionStarted(started) if started.kind == ActionKind::CallModel => {
                    assert_eq!(
                        asked, None,
                        "{what}: the model is asked again before it has answered"
                    );
                    asked.clone_from(&fact.cause);
                }
                EnvironmentEvent::ActionStarted(started) => {
                    let call = started.tool_call_id.as_ref().unwrap();
                    *this.started.entry(call.to_string()).or_default() += 1;
                }
                EnvironmentEvent::ToolCall(call) => drop(answering.insert(call.tool_call_id.to_string())),
                EnvironmentEvent::StreamEnd(end) => {
                    assert_eq!(asked.take(), fact.cause, "{what}: a model call is settled twice");
                    assert!(matches!(
                        end.stop_reason,
                        StopReason::ToolUse | StopReason::EndTurn
                    ));
                    this.called.append(&mut answering);
                }
                // The part of the answer until its process died is set aside, and the model is asked again.
                EnvironmentEvent::WriterAttached(_) => {
                    asked = None;
                    answering.clear();
                }
                EnvironmentEvent::ToolResult(result) => {
                    let call = result.tool_call_id.to_string();
                    this.results.entry(call).or_default().push(result.status);
                }
                _ => {}
            }
        }
        assert_eq!(asked, None, "{what}: the last model call is not settled");
        this
    }
}

/// The totals, so that a test that sees nothing fails.
#[derive(Debug, Default)]
struct Seen {
    succeeded: usize,
    unknown: usize,
    cut_off: usize,
}

/// Each call has one result, was performed at most once, and the result is true.
fn check(session: &str, settled: &Settled, ledger: &Ledger, seen: &mut Seen, what: &str) {
    for call in &settled.called {
        assert!(
            settled.results.contains_key(call),
            "{what}: {session} {call} was lost"
        );
    }
    for (call, started) in &settled.started {
        assert_eq!(
            *started, 1,
            "{what}: {session} {call} was handed in {started} times"
        );
        assert!(
            settled.results.contains_key(call),
            "{what}: {session} {call} is not settled"
        );
    }
    for (call, results) in &settled.results {
        let [status] = results[..] else {
            panic!(
                "{what}: {session} {call} is settled {} times: {results:?}",
                results.len()
            );
        };
        assert!(
            settled.called.contains(call),
            "{what}: nobody called {session} {call}"
        );
        let key = (session.to_owned(), call.clone());
        let performed = ledger.get(&key).copied().unwrap_or_default();
        let is_true = match status {
            ToolStatus::Success => performed == (1, 1),
            ToolStatus::Unknown => performed.0 <= 1 && performed.1 <= performed.0,
            // Nobody served it, or it was stopped before it began.
            _ => performed == (0, 0),
        };
        assert!(
            is_true,
            "{what}: {session} {call} is {status:?}, and began and ended {performed:?} times"
        );
        seen.succeeded += usize::from(status == ToolStatus::Success);
        seen.unknown += usize::from(status == ToolStatus::Unknown);
        seen.cut_off += usize::from(performed == (1, 0));
    }
}

async fn check_world(folder: &Path, seen: &mut Seen, what: &str) {
    let log = SqliteLog::open(folder.join("log.db"), LogOptions::default()).unwrap();
    let ledger = ledger(folder);
    let query = SessionQuery {
        owner: "own_test".into(),
        workspace: None,
        limit: usize::MAX,
        before: None,
    };
    let mut on_record = BTreeSet::new();
    for info in log
        .list(query)
        .await
        .unwrap()
        .iter()
        .filter(|info| info.last_seq > 0)
    {
        let session = info.session_id.as_str();
        assert_eq!(info.status, Some(RunStatus::Completed), "{what}: {session}");
        let facts = log.read(&info.session_id, 0, usize::MAX).await.unwrap();
        let settled = Settled::of(&facts, what);
        check(session, &settled, &ledger, seen, what);
        on_record.extend(settled.started.into_keys().map(|call| (session.to_owned(), call)));
        let report = log.verify(&info.session_id).await.unwrap();
        assert!(report.problems.is_empty(), "{what}: {:?}", report.problems);
    }
    for key in ledger.keys() {
        assert!(
            on_record.contains(key),
            "{what}: {key:?} was performed and is not on record"
        );
    }
}

#[test]
fn each_action_is_settled_once_whatever_dies_while_reactors_come_and_go() {
    let seed = Random::seed("REACTOR_KILLS_SEED");
    let mut random = Random::new(seed);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.unwrap();
    let (mut killed, mut seen) = (0, Seen::default());
    while killed < KILLS {
        let folder = tempfile::tempdir().unwrap();
        for _ in 0..KILLS_A_WORLD {
            killed += 1;
            let what = format!("seed {seed}, death {killed}");
            let life = Life::begin(folder.path(), random.below(1 << 30), "endless");
            life.dies_after(random.below(MOST_TOLD), &what);
        }
        let what = format!("seed {seed}, after {killed} deaths");
        Life::begin(folder.path(), random.below(1 << 30), "last").ends(&what);
        runtime.block_on(check_world(folder.path(), &mut seen, &what));
    }
    eprintln!("{seen:?}");
    assert!(
        seen.succeeded > 0 && seen.unknown > 0 && seen.cut_off > 0,
        "{seen:?}"
    );
}
