//! The cost of recording: an effect through the recording host into a session's queue, compared with the same
//! effect without it; and the time in which a flow of 10,000 recorded effects is replayed.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark prints, and fails by panicking"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use agentx_flows::{EffectPerformer, PerformedEffect, RecordingHost, Secrets};
use agentx_luau_tools::{BoxFuture, EffectKind, Host, HostEffect, Libraries, Outcome, Script, ScriptLimits};
use agentx_runtime::{EventSink, FactBatch, Journal};
use agentx_testing::fixture;
use agentx_types::{
    ActionBody, CallTool, EffectEnded, EffectOutcome, EnvironmentEvent, RecordedEffects, ToolCallId,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

const EFFECTS: u64 = 9_999;
const ROUNDS: usize = 7;

/// A world in which every effect ends at once.
struct Nothing;

impl EffectPerformer for Nothing {
    fn perform(&self, _: HostEffect, _: bool) -> BoxFuture<'static, PerformedEffect> {
        Box::pin(std::future::ready(Ok(json!("value")).into()))
    }

    fn at_once(&self, _: &HostEffect) -> Outcome {
        Ok(json!("value"))
    }

    fn remember(&self, _: &HostEffect, _: Option<&EffectOutcome>) {}

    fn repeatable(&self, _: &str) -> bool {
        true
    }
}

struct Bare;

impl Host for Bare {
    fn perform(&self, effect: HostEffect) -> BoxFuture<'static, Outcome> {
        Box::pin(async move { Nothing.perform(effect, false).await.outcome })
    }
}

/// Receives events, commits them at once and keeps them.
async fn keep(mut queue: mpsc::Receiver<FactBatch>) -> RecordedEffects {
    let mut recorded = RecordedEffects::default();
    let mut batch = Vec::new();
    while queue.recv_many(&mut batch, 256).await > 0 {
        for said in batch.drain(..) {
            for draft in said.drafts {
                match draft.event {
                    EnvironmentEvent::EffectStarted(started) => recorded.started(&started),
                    EnvironmentEvent::EffectEnded(ended) => recorded.ended(&EffectEnded::clone(&ended)),
                    _ => {}
                }
            }
            if let Some(committed) = said.committed {
                let _ = committed.send(Ok(1));
            }
        }
    }
    recorded
}

async fn perform_all(host: &dyn Host, kind: EffectKind) -> Duration {
    let began = Instant::now();
    for step in 1..=EFFECTS {
        let request = json!({"key": "a key", "number": step});
        host.perform(HostEffect {
            step,
            kind,
            request,
            place: None,
        })
        .await
        .unwrap();
    }
    began.elapsed()
}

fn journal(queue: mpsc::Sender<FactBatch>, recorded: Arc<RecordedEffects>) -> Journal {
    let action = fixture::call_tool("call_1", "flow", json!({}));
    let ActionBody::CallTool(call) = action.body.clone() else {
        panic!("it is a call of a tool")
    };
    Journal::of_call(
        EventSink::for_action(queue, &action),
        &CallTool { recorded, ..call },
        None,
    )
}

async fn run(kind: EffectKind) -> (Duration, Duration, RecordedEffects) {
    let (queue, said) = mpsc::channel(256);
    let kept = tokio::spawn(keep(said));
    let journal = journal(queue, Arc::default());
    let opened = RecordingHost::open(
        journal,
        Secrets::default(),
        "hash",
        CancellationToken::new(),
        |_| Nothing,
    );
    let (host, finish) = opened.unwrap();
    let with = perform_all(&host, kind).await;
    drop(host);
    finish.flush().await;
    let without = perform_all(&Bare, kind).await;
    (with, without, kept.await.unwrap())
}

async fn resume(recorded: Arc<RecordedEffects>) -> Duration {
    let (queue, said) = mpsc::channel(256);
    let kept = tokio::spawn(keep(said));
    let text = "function invoke(ctx, args) local n = 0 for i = 1, 9999 do n += #ctx.uuid() end return n end";
    let script = Script::compile("flow", text, Libraries::new()).unwrap();
    let began = Instant::now();
    let journal = journal(queue, recorded);
    let opened = RecordingHost::open(
        journal,
        Secrets::default(),
        "hash",
        CancellationToken::new(),
        |_| Nothing,
    );
    let (host, finish) = opened.unwrap();
    let came_to = script
        .invoke(
            Value::Null,
            Arc::new(host.clone()),
            ScriptLimits::default(),
            CancellationToken::new(),
        )
        .await;
    assert_eq!(came_to.unwrap(), json!(49_995));
    host.check_end().unwrap();
    let took = began.elapsed();
    drop(host);
    finish.flush().await;
    drop(kept);
    took
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    for (name, kind) in [
        ("over at once (uuid)", EffectKind::Uuid),
        ("noted (kv_get)", EffectKind::KvGet),
        ("announced (generate)", EffectKind::Generate),
    ] {
        let mut each = Vec::new();
        for _ in 0..ROUNDS {
            let (with, without, _) = runtime.block_on(runtime.spawn(run(kind))).unwrap();
            each.push((with.as_secs_f64() - without.as_secs_f64()) * 1e6 / EFFECTS as f64);
        }
        println!(
            "recording an effect, {name}: {:.1} µs beyond the effect",
            median(each)
        );
    }
    let mut recorded = RecordedEffects::default();
    for step in 0..=EFFECTS {
        let (kind, input, value) = match step {
            0 => ("script", json!({"hash": "hash"}), Value::Null),
            _ => ("uuid", json!({}), json!("12345")),
        };
        recorded.ended(&EffectEnded {
            tool_call_id: ToolCallId::new("call_1"),
            step,
            kind: kind.into(),
            input: Some(Box::new(input)),
            outcome: Box::new(EffectOutcome::Done(value)),
            bill: None,
            details: None,
        });
    }
    let recorded = Arc::new(recorded);
    let rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            runtime
                .block_on(runtime.spawn(resume(recorded.clone())))
                .unwrap()
                .as_secs_f64()
                * 1e3
        })
        .collect();
    println!(
        "a flow of 10,000 effects is where it was after {:.0} ms",
        median(rounds)
    );
}
