//! The property on which flows rely: with the same arguments and the same outcome of each step, a script does
//! the same, in whatever order the outcomes come.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::support::{Replays, script};
use agentx_luau_tools::{
    BoxFuture, EffectError, EffectKind, Host, HostEffect, Outcome, Script, ScriptError, ScriptLimits,
};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// Runs a program: a list of operations, some of them concurrent, which all append to one shared list.
const INTERPRETER: &str = r#"--!strict
local seen = {}
local function note(...)
    table.insert(seen, table.concat({ ... }, " "))
end
local run
local function attempt(name, f, ...)
    local ok, value = pcall(f, ...)
    note(name, tostring(ok), tostring(value))
end
local ops = {
    generate = function(ctx, op) attempt("generate", ctx.generate, "m", op.text) end,
    sleep = function(ctx, op) ctx.sleep(op.n / 1000) note("slept", op.n) end,
    kv = function(ctx, op) attempt("kv", ctx.kv.get, op.text) end,
    random = function(ctx) note("random", ctx.random(100), math.random()) end,
    count = function(ctx) ctx.state.count = (ctx.state.count or 0) + 1 note("count", ctx.state.count) end,
    now = function(ctx) note("now", tostring(ctx.now())) end,
    async = function(ctx, op)
        ctx.async(run, ctx, op.body)
    end,
    all = function(ctx, op)
        local tasks = {}
        for i, body in op.bodies do tasks[i] = ctx.async(run, ctx, body) end
        ctx.await_all(tasks)
        note("all")
    end,
    any = function(ctx, op)
        local tasks = {}
        for i, body in op.bodies do tasks[i] = ctx.async(run, ctx, body) end
        local _, which = ctx.await_any(tasks)
        note("any", tostring(which))
    end,
    timeout = function(ctx, op)
        attempt("timeout", ctx.timeout, op.n / 1000, run, ctx, op.body)
    end,
    ready = function(ctx, op)
        local p = ctx.timeout(op.n / 1000)
        note("ready", tostring(p:is_ready()))
        attempt("generate", ctx.generate, "m", op.text)
        note("ready", tostring(p:is_ready()))
    end,
    coroutine = function(ctx, op)
        local next = coroutine.wrap(function()
            for _, one in op.body do
                run(ctx, { one })
                coroutine.yield(one.op)
            end
        end)
        for _ in op.body do note(next()) end
    end,
}
run = function(ctx, body)
    for _, op in body do
        ops[op.op](ctx, op)
    end
    return #body
end
function invoke(ctx, args)
    run(ctx, args.program)
    return seen
end
"#;

fn program_list() -> impl Strategy<Value = Vec<Value>> {
    let leaf = prop_oneof![
        "[a-c]".prop_map(|text| json!({"op": "generate", "text": text})),
        (0..4u64).prop_map(|n| json!({"op": "sleep", "n": n})),
        "[a-c]".prop_map(|text| json!({"op": "kv", "text": text})),
        Just(json!({"op": "random"})),
        Just(json!({"op": "count"})),
        Just(json!({"op": "now"})),
        (0..4u64, "[a-c]").prop_map(|(n, text)| json!({"op": "ready", "n": n, "text": text})),
    ];
    let op = leaf.prop_recursive(3, 24, 4, |inner| {
        let body = prop::collection::vec(inner, 1..4);
        let bodies = prop::collection::vec(body.clone(), 1..4);
        prop_oneof![
            body.clone().prop_map(|body| json!({"op": "async", "body": body})),
            bodies
                .clone()
                .prop_map(|bodies| json!({"op": "all", "bodies": bodies})),
            bodies.prop_map(|bodies| json!({"op": "any", "bodies": bodies})),
            (0..4u64, body.clone()).prop_map(|(n, body)| json!({"op": "timeout", "n": n, "body": body})),
            body.prop_map(|body| json!({"op": "coroutine", "body": body})),
        ]
    });
    prop::collection::vec(op, 1..6)
}

fn programs() -> impl Strategy<Value = Value> {
    program_list().prop_map(|ops| json!({ "program": ops }))
}

/// The requests and outcomes, by step.
type Recorded = BTreeMap<u64, (EffectKind, Value, Outcome)>;

/// Answers by a seed, after a number of the runtime's turns that follows from the seed, and records.
struct Chance {
    seed: u64,
    recorded: Arc<Mutex<Recorded>>,
}

fn mix(seed: u64, step: u64) -> u64 {
    let mut z = seed ^ step.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z ^ (z >> 27)
}

async fn turns(count: u64) {
    for _ in 0..count {
        tokio::task::yield_now().await;
    }
}

impl Chance {
    fn note(&self, effect: HostEffect, outcome: BoxFuture<'static, Outcome>) -> BoxFuture<'static, Outcome> {
        let recorded = Arc::clone(&self.recorded);
        Box::pin(async move {
            let outcome = outcome.await;
            let entry = (effect.kind, effect.request, outcome.clone());
            recorded.lock().unwrap().insert(effect.step, entry);
            outcome
        })
    }
}

impl Host for Chance {
    fn perform(&self, effect: HostEffect) -> BoxFuture<'static, Outcome> {
        let chance = mix(self.seed, effect.step);
        let outcome = match (effect.kind, chance % 5) {
            (EffectKind::Generate | EffectKind::KvGet, 0) => {
                Err(EffectError::new("unavailable", "by chance"))
            }
            (EffectKind::Generate | EffectKind::KvGet, _) => Ok(json!(format!("text {}", chance % 97))),
            (EffectKind::StateGet, _) => Ok(json!({"count": chance % 7})),
            (EffectKind::Random, _) => Ok(json!(chance >> 11)),
            (EffectKind::Now, _) => Ok(json!((chance >> 34) as f64 / 8.0)),
            _ => Ok(Value::Null),
        };
        let after = chance % 40;
        self.note(
            effect,
            Box::pin(async move {
                turns(after).await;
                outcome
            }),
        )
    }

    fn observe(&self, effect: HostEffect, seen: BoxFuture<'static, Value>) -> BoxFuture<'static, Outcome> {
        self.note(effect, Box::pin(async move { Ok(seen.await) }))
    }
}

/// Gives recorded outcomes after other delays than those of the first run.
struct Delayed {
    inner: Arc<Replays>,
    seed: u64,
}

impl Host for Delayed {
    fn perform(&self, effect: HostEffect) -> BoxFuture<'static, Outcome> {
        let after = mix(self.seed, effect.step) % 40;
        let outcome = self.inner.perform(effect);
        Box::pin(async move {
            turns(after).await;
            outcome.await
        })
    }

    fn observe(&self, effect: HostEffect, _: BoxFuture<'static, Value>) -> BoxFuture<'static, Outcome> {
        self.perform(effect)
    }
}

async fn invoke(script: &Script, args: &Value, host: Arc<dyn Host>) -> Result<Value, ScriptError> {
    script
        .invoke(
            args.clone(),
            host,
            ScriptLimits::default(),
            CancellationToken::new(),
        )
        .await
}

/// Returns the differences between a run and its replay; empty if there are none.
async fn differences(script: &Script, args: &Value, seed: u64) -> Vec<String> {
    let recorded = Arc::new(Mutex::new(BTreeMap::new()));
    let chance = Chance {
        seed,
        recorded: Arc::clone(&recorded),
    };
    let first = invoke(script, args, Arc::new(chance)).await;
    let recorded = recorded.lock().unwrap().clone();
    // Effects that were begun and not awaited before the end have no outcome; nothing observed one.
    let steps = recorded.len();
    let replays = Arc::new(Replays::of(recorded));
    let delayed = Delayed {
        inner: Arc::clone(&replays),
        seed: seed.rotate_left(17) ^ 5,
    };
    let second = invoke(script, args, Arc::new(delayed)).await;
    let mut differs = replays.differs();
    if first != second {
        differs.push(format!("results: {first:?} and {second:?} ({steps} steps)"));
    }
    differs
}

#[test]
fn a_replay_does_what_the_first_run_did() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let script = script(INTERPRETER);
    let mut runner = TestRunner::new(ProptestConfig {
        cases: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    runner
        .run(&(programs(), any::<u64>()), |(args, seed)| {
            let differs = runtime.block_on(differences(&script, &args, seed));
            prop_assert!(differs.is_empty(), "{}", differs.join("\n"));
            Ok(())
        })
        .unwrap();
}

#[test]
fn another_outcome_is_another_run() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let script = script(INTERPRETER);
    let args = json!({"program": [{"op": "random"}, {"op": "generate", "text": "a"}]});
    let run = |seed| {
        let chance = Chance {
            seed,
            recorded: Arc::default(),
        };
        runtime.block_on(invoke(&script, &args, Arc::new(chance)))
    };
    assert_eq!(run(1).unwrap(), run(1).unwrap());
    assert_ne!(run(1).unwrap(), run(2).unwrap());
}
