//! Measures the log against raw SQLite: streamed deltas made durable, disk space, reading, forking, opening.
//! Asserts nothing; `cargo bench -p agentx-sqlite-log`. Each figure is the best of a few rounds, each ratio
//! is of one run.
#![allow(clippy::unwrap_used, reason = "a bench may stop at the first error")]
#![allow(clippy::print_stdout, reason = "its output is its result")]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agentx_runtime::{Batch, Fact, NewLog, Projection, SessionLog, Writer};
use agentx_sqlite_log::{LogOptions, SqliteLog};
use agentx_types::*;
use serde_json::json;

const ROUNDS: usize = 5;

fn main() {
    // `cargo bench -p agentx-sqlite-log -- session` runs one part.
    let part = std::env::args().skip(1).find(|arg| !arg.starts_with('-'));
    let wanted = |name: &str| part.as_deref().is_none_or(|part| part == name);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        if wanted("stream") {
            println!("streamed deltas made durable: one session, 200,000 deltas of 5 bytes, or 2,000 batches of them");
            for size in [1, 16, 64, 256, 512, 1024] {
                stream(size).await;
            }
        }
        if wanted("disk") {
            println!("disk: 1 MiB of text in 5-byte deltas, with its message indexed");
            for size in [1, 64, 512, 1024] {
                disk(size).await;
            }
        }
        if wanted("session") {
            session_of_100_000().await;
        }
    });
}

fn words(n: u64) -> String {
    // Five bytes each, without much repetition.
    let n = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    let mut word: String = (0..4)
        .map(|i| char::from(b'a' + ((n >> (i * 5)) % 26) as u8))
        .collect();
    word.push(' ');
    word
}

fn session() -> SessionId {
    SessionId::new("ses_0199a3f2c4d57e1b")
}

fn fact(seq: u64, event: EnvironmentEvent) -> Fact {
    Arc::new(Envelope {
        seq,
        index: None,
        at: Timestamp(1_763_629_200_000_000 + seq as i64 * 12_345),
        source: Source::Environment,
        session_id: session(),
        agent_state_id: Some(AgentStateId::new("agt_0199a3f2c4d57e1b")),
        run_id: Some(RunId::of_input(2)),
        cause: Some(ActionId::following(2, 0)),
        event,
        newer: None,
    })
}

fn deltas(count: u64) -> Vec<Fact> {
    let first = fact(1, TextChunk { text: words(1) }.into());
    let next = |seq| {
        let mut next = (*first).clone();
        next.seq = seq;
        next.at = Timestamp(first.at.0 + seq as i64 * 12_345);
        next.event = TextChunk { text: words(seq) }.into();
        Arc::new(next)
    };
    (1..=count).map(next).collect()
}

fn batch(facts: &[Fact]) -> Batch {
    Batch::new(facts.to_vec(), [7; 32])
}

async fn begin(path: &Path) -> (Arc<SqliteLog>, Writer) {
    let log = SqliteLog::open(path, LogOptions::default()).unwrap();
    log.create(new_log(session(), None)).await.unwrap();
    let writer = log.attach(&session()).await.unwrap();
    (log, writer)
}

fn new_log(session_id: SessionId, parent: Option<(SessionId, u64)>) -> NewLog {
    let new = NewLog::new(session_id, OwnerId::new("own_1"), Timestamp(0), "/work");
    match parent {
        Some((parent, at_seq)) => new.with_parent(parent, at_seq),
        None => new,
    }
}

/// Raw SQLite: the texts of a batch as one blob, one transaction per batch, on this thread, with no checks,
/// hashes, read models, sessions or other threads.
fn raw(path: &Path, facts: &[Fact], size: usize) -> Duration {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection
        .execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
             CREATE TABLE raw (id INTEGER PRIMARY KEY, data BLOB NOT NULL);",
        )
        .unwrap();
    let started = Instant::now();
    for facts in facts.chunks(size) {
        // The minimum of work: each text with its length and time, as many bytes as the log's records.
        let mut data = Vec::with_capacity(facts.len() * 9);
        for fact in facts {
            let EnvironmentEvent::TextChunk(chunk) = &fact.event else {
                continue;
            };
            data.push(chunk.text.len() as u8);
            data.extend_from_slice(&(fact.at.0 as u32).to_le_bytes()[..3]);
            data.extend_from_slice(chunk.text.as_bytes());
        }
        connection.prepare_cached("BEGIN").unwrap().execute([]).unwrap();
        connection
            .prepare_cached("INSERT INTO raw (data) VALUES (?1)")
            .unwrap()
            .execute([&data])
            .unwrap();
        connection.prepare_cached("COMMIT").unwrap().execute([]).unwrap();
    }
    started.elapsed()
}

async fn ours(path: &Path, batches: Vec<Batch>, ahead: usize) -> Duration {
    let (log, writer) = begin(path).await;
    let started = Instant::now();
    let mut waiting = std::collections::VecDeque::new();
    for batch in batches {
        let mut append = log.append(&writer, batch);
        if ahead == 1 {
            append.await.unwrap();
            continue;
        }
        // Queues it without waiting for its commit.
        let ready = std::future::poll_fn(|cx| std::task::Poll::Ready(append.as_mut().poll(cx))).await;
        if ready.is_pending() {
            waiting.push_back(append);
        }
        if waiting.len() >= ahead {
            waiting.pop_front().unwrap().await.unwrap();
        }
    }
    for append in waiting {
        append.await.unwrap();
    }
    started.elapsed()
}

async fn stream(size: usize) {
    // Enough batches for both to checkpoint more than once: with fewer, raw SQLite does not checkpoint at
    // all.
    let facts = deltas((2_000 * size as u64).max(200_000));
    let mut best = [Duration::MAX; 3];
    for _ in 0..ROUNDS {
        let directory = tempfile::tempdir().unwrap();
        best[0] = best[0].min(raw(&directory.path().join("raw.db"), &facts, size));
        for (slot, ahead) in [(1, 1), (2, 32)] {
            let batches = facts.chunks(size).map(batch).collect();
            let path = directory.path().join(format!("{ahead}/log.db"));
            best[slot] = best[slot].min(ours(&path, batches, ahead).await);
        }
    }
    let rate = |time: Duration| facts.len() as f64 / time.as_secs_f64();
    println!(
        "  batches of {size:4}: {:9.0}/s one by one ({:.2}x raw), {:9.0}/s with 32 under way ({:.2}x raw), raw {:9.0}/s",
        rate(best[1]),
        rate(best[1]) / rate(best[0]),
        rate(best[2]),
        rate(best[2]) / rate(best[0]),
        rate(best[0]),
    );
}

async fn disk(size: usize) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.db");
    let facts = deltas(1024 * 1024 / 5 + 1);
    let (log, writer) = begin(&path).await;
    for facts in facts.chunks(size) {
        log.append(&writer, batch(facts)).await.unwrap();
    }
    let seq = facts.len() as u64 + 1;
    let end = fact(
        seq,
        StreamEnd {
            stop_reason: StopReason::EndTurn,
            raw: None,
        }
        .into(),
    );
    let text = (1..seq).map(words).collect();
    let message = Projection::Message {
        seq,
        message_id: MessageId::new("msg_1"),
        agent_state_id: AgentStateId::new("agt_0199a3f2c4d57e1b"),
        role: Role::Assistant,
        text,
    };
    log.append(
        &writer,
        Batch::new(vec![end], [7; 32]).with_projections(vec![message]),
    )
    .await
    .unwrap();
    drop((log, writer));
    let bytes = std::fs::metadata(&path).unwrap().len();
    println!(
        "  batches of {size:4}: {:.2} MiB (bar 4)",
        bytes as f64 / (1024.0 * 1024.0)
    );
}

/// 90,000 deltas and 10,000 other events, alternately.
fn history() -> Vec<Fact> {
    let call = || ToolCallId::new("call_0199a3f2c4d57e1b");
    (1..=100_000u64)
        .map(|seq| {
            let event = match seq % 100 {
                0 => StreamEnd {
                    stop_reason: StopReason::ToolUse,
                    raw: None,
                }
                .into(),
                1 => StreamStart {
                    message_id: MessageId::new("msg_1"),
                    model: "m".into(),
                    attempt: 1,
                }
                .into(),
                2 => ActionStarted {
                    kind: ActionKind::CallTool,
                    tool_call_id: Some(call()),
                    due_at: None,
                }
                .into(),
                3 => ToolResult {
                    tool_call_id: call(),
                    result: vec![ContentPart::text("a line of output\n".repeat(8))],
                    is_error: false,
                    status: ToolStatus::Success,
                    details: Some(json!({"exit_code": 0, "duration_ms": 12})),
                }
                .into(),
                n @ 4..=9 => ToolOutputChunk {
                    tool_call_id: call(),
                    channel: OutputChannel::Stdout,
                    text: format!("line {n} of the output\n"),
                }
                .into(),
                _ => TextChunk { text: words(seq) }.into(),
            };
            fact(seq, event)
        })
        .collect()
}

/// Returns the time from no file at all to the first durable event.
async fn first_event(path: &Path) -> Duration {
    let started = Instant::now();
    let (fresh, writer) = begin(path).await;
    fresh.append(&writer, batch(&deltas(1))).await.unwrap();
    started.elapsed()
}

async fn session_of_100_000() {
    println!("a session of 100,000 events, 90,000 of them deltas");
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.db");
    let (log, writer) = begin(&path).await;
    for facts in history().chunks(50) {
        log.append(&writer, batch(facts)).await.unwrap();
    }
    drop((log, writer));
    let mut open = Duration::MAX;
    let mut read = [Duration::MAX; 3];
    let mut forks = Vec::new();
    let mut attach = Duration::MAX;
    let mut start = Duration::MAX;
    let mut verify = Duration::MAX;
    let mut close = Duration::ZERO;
    for round in 0..ROUNDS {
        let started = Instant::now();
        let log = SqliteLog::open(&path, LogOptions::default()).unwrap();
        open = open.min(started.elapsed());
        for (slot, page) in [(0, 1_000_000), (1, 4096), (2, 512)] {
            let started = Instant::now();
            let mut last_seq = 0;
            while let Some(last) = log.read(&session(), last_seq, page).await.unwrap().last() {
                last_seq = last.seq;
            }
            read[slot] = read[slot].min(started.elapsed());
        }
        let started = Instant::now();
        assert!(log.verify(&session()).await.unwrap().problems.is_empty());
        verify = verify.min(started.elapsed());
        for at_seq in [1, 50_000, 99_950, 100_000] {
            let started = Instant::now();
            let id = SessionId::new(format!("ses_{round}_{at_seq}"));
            log.create(new_log(id, Some((session(), at_seq)))).await.unwrap();
            forks.push(started.elapsed());
        }
        let started = Instant::now();
        drop(log.attach(&session()).await.unwrap());
        attach = attach.min(started.elapsed());
        let started = Instant::now();
        drop(log);
        close = close.max(started.elapsed());
        start = start.min(first_event(&directory.path().join(format!("fresh{round}/log.db"))).await);
    }
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    println!(
        "  open {:.2} ms (bar 3), attach {:.2} ms, close {:.2} ms",
        ms(open),
        ms(attach),
        ms(close)
    );
    println!(
        "  no file yet, to the first event that is durable: {:.2} ms",
        ms(start)
    );
    let [whole, large, small] = read.map(ms);
    println!(
        "  read: {whole:.1} ms at once, {large:.1} ms in pages of 4096, {small:.1} ms in pages of 512 (bar 25)"
    );
    println!("  verify: {:.1} ms", ms(verify));
    forks.sort();
    let (median, worst) = (forks[forks.len() / 2], forks[forks.len() - 1]);
    println!(
        "  fork: {:.2} ms, {:.2} ms at worst (bar 2)",
        ms(median),
        ms(worst)
    );
}
