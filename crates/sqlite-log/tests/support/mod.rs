//! Shared parts of the log's tests: facts of every kind, logs in their own directories, a runtime for
//! futures.
#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    reason = "each test file uses a part of it"
)]

use std::future::Future;
use std::ops::{ControlFlow, RangeInclusive};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use agentx_runtime::{Batch, Digest, Fact, LogError, NewLog, Projection, SessionLog, Writer};
use agentx_sqlite_log::{LogOptions, SqliteLog};
use agentx_types::*;
use serde_json::json;

pub fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(future)
}

/// Runs a test of a promise of every log on a database, and on the log in memory.
pub fn on_both(test: impl AsyncFn(&dyn SessionLog)) {
    run(test(&*SqliteLog::open_in_memory().unwrap()));
    run(test(&agentx_runtime::MemoryLog::new()));
}

/// A database in its own directory.
pub struct Home {
    pub directory: tempfile::TempDir,
}

impl Home {
    pub fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    pub fn path(&self) -> PathBuf {
        self.directory.path().join("data/log.db")
    }

    pub fn open(&self) -> Arc<SqliteLog> {
        SqliteLog::open(self.path(), LogOptions::default()).unwrap()
    }

    /// Opens the database as another program does.
    pub fn sql(&self) -> rusqlite::Connection {
        let connection = rusqlite::Connection::open(self.path()).unwrap();
        connection.pragma_update(None, "synchronous", "OFF").unwrap();
        connection
    }
}

pub fn session() -> SessionId {
    SessionId::new("ses_1")
}

pub fn owner() -> OwnerId {
    OwnerId::new("own_1")
}

pub fn new_log(id: &str) -> NewLog {
    NewLog::new(SessionId::new(id), owner(), Timestamp(1_000), "work")
}

pub fn fork_of(id: &str, parent: &str, at_seq: u64) -> NewLog {
    new_log(id).with_parent(SessionId::new(parent), at_seq)
}

pub fn text(words: &str) -> EnvironmentEvent {
    TextChunk { text: words.into() }.into()
}

pub fn stream_end() -> EnvironmentEvent {
    StreamEnd {
        stop_reason: StopReason::EndTurn,
        raw: None,
    }
    .into()
}

pub fn user(words: &str) -> EnvironmentEvent {
    UserMessage {
        message_id: MessageId::new("msg_1"),
        content: vec![ContentPart::text(words)],
        mode: InputMode::Queue,
        idempotency_key: None,
        by: None,
        answer_schema: None,
    }
    .into()
}

pub fn stream_start() -> EnvironmentEvent {
    StreamStart {
        message_id: MessageId::new("msg_2"),
        model: "m".into(),
        attempt: 1,
    }
    .into()
}

pub fn tool_result(details: serde_json::Value) -> EnvironmentEvent {
    ToolResult {
        tool_call_id: ToolCallId::new("call_1"),
        result: vec![ContentPart::text("done")],
        is_error: false,
        status: ToolStatus::Success,
        details: Some(details),
    }
    .into()
}

/// An event with the plainest context.
pub fn fact_of(session: &SessionId, seq: u64, event: EnvironmentEvent) -> Fact {
    let at = Timestamp(1_700_000_000_000_000 + seq as i64 * 1_000);
    let agent = Some(AgentStateId::new("agt_1"));
    Arc::new(EventDraft::new(Source::Environment, agent, event).into_envelope(session.clone(), seq, at))
}

pub fn facts(first_seq: u64, events: impl IntoIterator<Item = EnvironmentEvent>) -> Vec<Fact> {
    (first_seq..)
        .zip(events)
        .map(|(seq, event)| fact_of(&session(), seq, event))
        .collect()
}

pub fn digest(n: u64) -> Digest {
    *blake3::hash(&n.to_le_bytes()).as_bytes()
}

pub fn batch(facts: Vec<Fact>) -> Batch {
    let derived = digest(facts.last().map_or(0, |fact| fact.seq));
    Batch::new(facts, derived)
}

pub fn projecting(facts: Vec<Fact>, projections: Vec<Projection>) -> Batch {
    batch(facts).with_projections(projections)
}

pub fn message(seq: u64, id: &str, role: Role, text: &str) -> Projection {
    Projection::Message {
        seq,
        message_id: MessageId::new(id),
        agent_state_id: AgentStateId::new("agt_1"),
        role,
        text: text.into(),
    }
}

/// A session, created and attached.
pub async fn begin(log: &dyn SessionLog) -> Writer {
    log.create(new_log("ses_1")).await.unwrap();
    log.attach(&session()).await.unwrap()
}

pub async fn append_each(log: &dyn SessionLog, writer: &Writer, facts: &[Fact]) {
    for fact in facts {
        log.append(writer, batch(vec![fact.clone()])).await.unwrap();
    }
}

/// Returns all facts, and checks that read and lent facts are the same: all of them, and a part from the
/// middle.
pub async fn all(log: &dyn SessionLog, id: &str) -> Vec<Fact> {
    let read = log.read(&SessionId::new(id), 0, usize::MAX).await.unwrap();
    let (lent, end) = lent(log, id, 0..=u64::MAX, usize::MAX).await;
    end.unwrap();
    assert_lent(&lent, &read);
    let some = read.len() / 2;
    for length in [1, 3, 40] {
        let upto = (some + length).min(read.len());
        let (lent, end) = self::lent(log, id, some as u64..=upto as u64, usize::MAX).await;
        end.unwrap();
        assert_lent(&lent, &read[some..upto]);
    }
    let (lent, end) = self::lent(log, id, some as u64..=u64::MAX, 1).await;
    end.unwrap();
    assert_eq!(lent.len(), 1.min(read.len() - some));
    read
}

/// Checks that lent facts equal the read ones, fact by fact; chunks in one context may come as one.
pub fn assert_lent(lent: &[Fact], read: &[Fact]) {
    let mut left = read.iter();
    for one in lent {
        let mut whole = Envelope::clone(left.next().unwrap());
        while whole.seq < one.seq {
            let next = left.next().unwrap();
            let text = words_of(&next.event).unwrap();
            match &mut whole.event {
                EnvironmentEvent::TextChunk(chunk) => chunk.text.push_str(text),
                EnvironmentEvent::ThinkingChunk(chunk) => chunk.text.push_str(text),
                other => panic!("{other:?} is joined with {next:?}"),
            }
            let event = std::mem::replace(&mut whole.event, next.event.clone());
            assert_eq!(event.tag(), next.event.tag());
            let before = Envelope {
                seq: next.seq,
                at: next.at,
                event: next.event.clone(),
                ..whole
            };
            assert_eq!(before, **next, "they differ in more than text and time");
            whole = Envelope { event, ..before };
        }
        assert_eq!(whole, **one);
    }
    assert_eq!(left.next(), None);
}

fn words_of(event: &EnvironmentEvent) -> Option<&str> {
    match event {
        EnvironmentEvent::TextChunk(chunk) => Some(&chunk.text),
        EnvironmentEvent::ThinkingChunk(chunk) => Some(&chunk.text),
        _ => None,
    }
}

/// Lends at most so many facts after the first and up to the last of `range`. Returns them and the result of
/// lending.
pub async fn lent(
    log: &dyn SessionLog,
    id: &str,
    range: RangeInclusive<u64>,
    most: usize,
) -> (Vec<Fact>, Result<(), LogError>) {
    let lent = Arc::new(Mutex::new(Vec::new()));
    let shared = lent.clone();
    let take = move |fact: &mut Envelope<EnvironmentEvent>| {
        let mut lent = shared.lock().unwrap();
        lent.push(Fact::new(fact.clone()));
        if lent.len() < most {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    };
    let (after, upto) = range.into_inner();
    let end = log.scan(&SessionId::new(id), after, upto, Box::new(take)).await;
    let lent = std::mem::take(&mut *lent.lock().unwrap());
    (lent, end)
}

pub async fn assert_good(log: &dyn SessionLog, id: &str) {
    let report = log.verify(&SessionId::new(id)).await.unwrap();
    assert_eq!(report.problems, Vec::<String>::new(), "{report:?}");
    assert_eq!(report.good_events, report.last_seq);
}

pub fn is_not_found<T>(result: &Result<T, LogError>) -> bool {
    matches!(result, Err(LogError::NotFound(_)))
}

/// A conversation: two turns of `deltas` deltas each, with a tool.
pub fn conversation(deltas: usize) -> Vec<EnvironmentEvent> {
    let mut events = vec![user("看看会话日志 please")];
    for turn in 0..2 {
        events.push(stream_start());
        events.extend((0..deltas).map(|n| {
            if n % 7 == 0 {
                ThinkingChunk {
                    text: format!("hm{n}"),
                }
                .into()
            } else {
                text(&format!("w{n} "))
            }
        }));
        events.push(
            ToolCall {
                tool_call_id: ToolCallId::new(format!("call_{turn}")),
                name: "bash".into(),
                input: json!({"command": "ls", "big": "x".repeat(turn * 5000)}),
                invalid: None,
            }
            .into(),
        );
        events.push(stream_end());
        events.push(tool_result(json!({"exit": 0})));
    }
    events
}
