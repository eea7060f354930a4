//! Measures how long a session takes to open that has 240,000 events of rounds of a tool: the facts are read,
//! checked against their hashes, decoded and folded for the state alone.
//!
//! `cargo bench -p agentx-sqlite-log --bench opening` prints the elapsed time and the processor time of all
//! threads, each the best of a few rounds; it asserts nothing. A word after `--` chooses one session by the
//! name of its tool. The files with secrets are guarded as in an ordinary session, because each call is
//! decided again; with `unguarded`, nothing is guarded.
#![expect(clippy::expect_used, reason = "a benchmark that cannot go on may fall over")]
#![expect(clippy::print_stdout, reason = "its output is its result")]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agentx_runtime::{Batch, DerivedDigest, Fact, NewLog, SessionFold, SessionLog, Writer, fold_until};
use agentx_sqlite_log::{LogOptions, SqliteLog};
use agentx_testing::fixture;
use agentx_types::*;
use serde_json::json;

/// Events of the session.
const EVENTS: u64 = 240_000;
/// The number of times that the session is opened; the best counts.
const ROUNDS: usize = 7;

fn main() {
    let chosen = std::env::args().skip(1).find(|arg| !arg.starts_with('-'));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    let sessions = [
        ("unguarded", "read", None),
        ("read", "read", Some(fixture::guard())),
        ("bash", "bash", Some(fixture::guard())),
    ];
    for (name, tool, guard) in sessions {
        if chosen.as_deref().is_none_or(|chosen| chosen == name) {
            runtime.block_on(measure(name, tool, guard));
        }
    }
}

async fn measure(name: &str, tool: &'static str, guard: Option<Arc<Guard>>) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("log.db");
    let log = SqliteLog::open(&path, LogOptions::default()).expect("a log");
    Session::begin(&log, tool, guard).await.fill(&log).await;
    drop(log);
    let (mut wall, mut processor) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        let (elapsed, used) = open(&path).await;
        (wall, processor) = (wall.min(elapsed), processor.min(used));
    }
    println!(
        "{EVENTS} events, {name}: {:.0} ms, {:.0} ms of processor time",
        wall.as_secs_f64() * 1e3,
        processor.as_secs_f64() * 1e3
    );
}

async fn open(path: &Path) -> (Duration, Duration) {
    let log = SqliteLog::open(path, LogOptions::default()).expect("a log");
    let (began, used) = (Instant::now(), on_processor());
    let fold = fold_until(log.as_ref(), &fixture::session_id(), u64::MAX)
        .await
        .expect("its fold");
    let times = (began.elapsed(), on_processor() - used);
    assert!(fold.last_seq() >= EVENTS);
    times
}

/// The processor time of all threads of this process; the elapsed time if the system does not report it.
fn on_processor() -> Duration {
    let threads = std::fs::read_dir("/proc/self/task")
        .into_iter()
        .flatten()
        .flatten();
    let used = threads.filter_map(|thread| {
        let told = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        told.split(' ').next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(used.sum())
}

/// A session that is being written.
struct Session {
    tool: &'static str,
    writer: Writer,
    fold: SessionFold,
    digest: DerivedDigest,
    batches: Vec<Batch>,
    facts: Vec<Fact>,
    /// The action that was requested last.
    asked: Option<ActionId>,
}

impl Session {
    async fn begin(log: &SqliteLog, tool: &'static str, guard: Option<Arc<Guard>>) -> Self {
        let limits = Limits {
            max_iterations: Some(u32::MAX),
            ..Limits::default()
        };
        let slides = Condensing {
            at_percent: 0,
            tail: 8,
            ..Condensing::default()
        };
        let config = AgentConfig {
            limits,
            condensing: Some(Box::new(slides)),
            guard,
            ..fixture::config()
        };
        let id = fixture::session_id();
        let new = NewLog::new(id.clone(), OwnerId::new("own_1"), Timestamp(0), "/workspace");
        log.create(new).await.expect("a session");
        let mut session = Self {
            tool,
            writer: log.attach(&id).await.expect("its writer"),
            fold: SessionFold::new(id),
            digest: DerivedDigest::default(),
            batches: Vec::new(),
            facts: Vec::new(),
            asked: None,
        };
        let opened = SessionOpened {
            owner: OwnerId::new("own_1"),
            config: Box::new(config),
            program: "bench".into(),
        };
        session.say(Source::System, opened);
        let message = UserMessage {
            message_id: MessageId::new("msg_1"),
            content: vec![ContentPart::text("Go on until it is done.")],
            mode: InputMode::Queue,
            idempotency_key: None,
            by: None,
            answer_schema: None,
        };
        session.say(Source::User, message);
        session.commit();
        session
    }

    async fn fill(mut self, log: &SqliteLog) {
        while self.fold.last_seq() < EVENTS {
            self.round();
            for batch in std::mem::take(&mut self.batches) {
                log.append(&self.writer, batch).await.expect("an append");
            }
        }
    }

    /// An answer that calls the tool, with the output and the result of the call: nine events.
    fn round(&mut self) {
        let seq = self.fold.last_seq();
        let start = StreamStart {
            message_id: MessageId::with_suffix(format_args!("{seq}_0")),
            model: "m".into(),
            attempt: 1,
        };
        self.say(Source::Environment, start);
        self.commit();
        let id = ToolCallId::with_suffix(format_args!("{seq}_0"));
        let name = self.tool;
        let input = match name {
            "bash" => {
                json!({ "command": format!("cd src && cargo test --lib case_{seq} 2>&1 | tail -n 40") })
            }
            _ => json!({ "path": format!("src/file_{seq}.rs") }),
        };
        let announced = ToolCallStart {
            tool_call_id: id.clone(),
            name: name.into(),
        };
        self.say(Source::Environment, announced);
        let call = ToolCall {
            tool_call_id: id.clone(),
            name: name.into(),
            input,
            invalid: None,
        };
        self.say(Source::Environment, call);
        let usage = Usage {
            input_tokens: 4_000,
            output_tokens: 60,
            ..Usage::default()
        };
        self.say(Source::Environment, UsageReport { usage });
        let end = StreamEnd {
            stop_reason: StopReason::ToolUse,
            raw: None,
        };
        self.say(Source::Environment, end);
        self.commit();
        let text = format!("test case_{seq} ... ok\n").repeat(16);
        let output = ToolOutputChunk {
            tool_call_id: id.clone(),
            channel: OutputChannel::Stdout,
            text: text.clone(),
        };
        self.say(Source::Environment, output);
        self.commit();
        let result = ToolResult {
            tool_call_id: id,
            result: vec![ContentPart::text(text)],
            is_error: false,
            status: ToolStatus::Success,
            details: Some(
                json!({"exit_code": 0, "signal": null, "timed_out": false, "duration_ms": 3, "blob": null}),
            ),
        };
        self.say(Source::Environment, result);
        self.commit();
    }

    /// Ends a batch, as a driver does after each answer of the world.
    fn commit(&mut self) {
        let facts = std::mem::take(&mut self.facts);
        self.batches.push(Batch::new(facts, self.digest.value()));
    }

    /// Adds a fact, and the start of the action that follows from it.
    fn say(&mut self, source: Source, event: impl Into<EnvironmentEvent>) {
        let mut draft = EventDraft::new(source, Some(fixture::agent_state_id()), event.into());
        draft.cause = self.asked.clone().filter(|_| source != Source::User);
        let at = Timestamp(1_763_629_200_000_000 + self.fold.next_seq() as i64 * 12_345);
        let fact = Arc::new(self.fold.mint(draft, at));
        let derived = self.fold.apply(&fact);
        self.digest.add(&fact, &derived);
        self.facts.push(fact);
        for action in derived.actions {
            let kind = action.body.kind();
            let tool_call_id = match &action.body {
                ActionBody::CallTool(call) => Some(call.tool_call_id.clone()),
                _ => None,
            };
            self.asked = Some(action.action_id);
            self.say(
                Source::System,
                ActionStarted {
                    kind,
                    tool_call_id,
                    due_at: None,
                },
            );
        }
    }
}
