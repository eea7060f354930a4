//! What running a script costs: beside a bare call of the VM, fresh, and waiting by the thousand. Prints ratios, judges nothing.
//!
//! `cargo bench -p agentx-luau-tools`
#![allow(
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    reason = "a benchmark may panic, and prints figures"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use agentx_luau_tools::{BoxFuture, Effect, Host, Lanes, Libraries, Limits, Outcome, Script};
use futures_util::stream::{self, StreamExt};
use mlua::{Function, Lua, LuaSerdeExt};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

const TRIVIAL: &str = "function invoke(ctx, args) return { city = args.city, n = args.n + 1 } end";
const WAITS: &str = "function invoke(ctx, args) return ctx.http.get('https://a').status end";
const ROUNDS: usize = 20_000;

/// Answers nothing before it is let go.
#[derive(Default)]
struct Holds {
    go: Arc<Notify>,
}

impl Host for Holds {
    fn perform(&self, _: Effect) -> BoxFuture<'static, Outcome> {
        let go = Arc::clone(&self.go);
        Box::pin(async move {
            go.notified().await;
            Ok(json!({"status": 200, "headers": {}, "body": ""}))
        })
    }
}

fn arguments() -> Value {
    json!({
        "city": "北京", "n": 41, "units": "metric", "days": [1, 2, 3, 4, 5, 6, 7],
        "options": {"wind": true, "rain": false, "note": "as short as it can be"},
    })
}

/// The value of a line of `/proc/self/status`, in KiB or as a count.
fn status(name: &str) -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text
        .lines()
        .find(|line| line.starts_with(name))
        .unwrap_or_default();
    let number = line.split_whitespace().nth(1).unwrap_or("0");
    number.parse().unwrap_or(0.0)
}

/// Processor time of the lanes' threads and of this one so far: it tells costs on a machine that does other things too.
fn processor() -> (Duration, Duration) {
    let read = |path: std::path::PathBuf| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let nanos = text.split_whitespace().next().and_then(|word| word.parse().ok());
        Duration::from_nanos(nanos.unwrap_or(0))
    };
    let tasks = std::fs::read_dir("/proc/self/task")
        .into_iter()
        .flatten()
        .flatten();
    let lanes = tasks
        .map(|task| task.path())
        .filter(|task| std::fs::read_to_string(task.join("comm")).is_ok_and(|name| name.starts_with("luau-")))
        .map(|task| read(task.join("schedstat")))
        .sum();
    (lanes, read("/proc/thread-self/schedstat".into()))
}

fn micros(time: Duration, rounds: usize) -> f64 {
    time.as_secs_f64() * 1e6 / rounds as f64
}

/// A function in a VM of its own, arguments and result by serde: what mlua alone costs.
fn bare() -> f64 {
    let lua = Lua::new();
    lua.load(TRIVIAL).exec().unwrap();
    let invoke: Function = lua.globals().get("invoke").unwrap();
    let args = arguments();
    let call = || -> Value {
        let given = lua.to_value(&args).unwrap();
        let got: mlua::Value = invoke.call((mlua::Value::Nil, given)).unwrap();
        lua.from_value(got).unwrap()
    };
    (0..1000).for_each(|_| drop(call()));
    let (_, before) = processor();
    (0..ROUNDS).for_each(|_| drop(call()));
    micros(processor().1.saturating_sub(before), ROUNDS)
}

async fn invoke(script: &Script, host: &Arc<Holds>, args: Value) {
    let host = Arc::clone(host);
    let result = script
        .invoke(args, host, Limits::default(), CancellationToken::new())
        .await;
    result.unwrap();
}

/// One after the other, or so many at once: microseconds of each in all, on the lane and for the caller.
async fn warm(at_once: usize) -> (f64, f64, f64) {
    let script = Script::compile_on(Lanes::new(1), "trivial", TRIVIAL, Libraries::new()).unwrap();
    let (host, args) = (Arc::new(Holds::default()), arguments());
    let all = |rounds: usize| {
        let calls = stream::iter(0..rounds).map(|_| invoke(&script, &host, args.clone()));
        calls.buffer_unordered(at_once).for_each(|()| async {})
    };
    all(1000).await;
    let (began, before) = (Instant::now(), processor());
    all(ROUNDS).await;
    let after = processor();
    (
        micros(began.elapsed(), ROUNDS),
        micros(after.0.saturating_sub(before.0), ROUNDS),
        micros(after.1.saturating_sub(before.1), ROUNDS),
    )
}

/// A script that never ran: compiled, in a VM of its own, called once.
async fn first() -> (f64, f64) {
    let lanes = Lanes::new(1);
    let host = Arc::new(Holds::default());
    let rounds = 300;
    let mut compiling = Duration::ZERO;
    let began = Instant::now();
    for _ in 0..rounds {
        let from = Instant::now();
        let script = Script::compile_on(Arc::clone(&lanes), "first", TRIVIAL, Libraries::new()).unwrap();
        compiling += from.elapsed();
        invoke(&script, &host, arguments()).await;
    }
    (micros(compiling, rounds), micros(began.elapsed(), rounds))
}

/// So many runs that wait for the web at once, of so many scripts: KiB for each, and the threads that there are more.
async fn waiting(runs: usize, scripts: usize) -> (f64, f64, f64) {
    let lanes = Lanes::new(2);
    let scripts: Vec<Script> = (0..scripts)
        .map(|_| Script::compile_on(Arc::clone(&lanes), "waits", WAITS, Libraries::new()).unwrap())
        .collect();
    let host = Arc::new(Holds::default());
    let (memory, threads) = (status("VmRSS"), status("Threads"));
    let began = Instant::now();
    let tasks: Vec<_> = (0..runs)
        .map(|n| {
            let (script, host) = (scripts[n % scripts.len()].clone(), Arc::clone(&host));
            tokio::spawn(async move { invoke(&script, &host, json!({})).await })
        })
        .collect();
    // All wait as soon as each has asked the host, which holds one more of itself for each.
    while Arc::strong_count(&host.go) < runs + 1 {
        tokio::task::yield_now().await;
    }
    let took = micros(began.elapsed(), runs);
    let each = (status("VmRSS") - memory) / runs as f64;
    let more = status("Threads") - threads;
    host.go.notify_waiters();
    for task in tasks {
        task.await.unwrap();
    }
    (took, each, more)
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let (took, each, more) = runtime.block_on(waiting(1000, 1));
    println!(
        "1,000 runs of a script wait in ctx.http: {took:.1} µs and {each:.1} KiB each, {:.1} MiB in all, {more} threads more",
        each * 1000.0 / 1024.0
    );
    let (took, each, more) = runtime.block_on(waiting(1000, 100));
    println!(
        "1,000 runs of 100 scripts wait: {took:.1} µs and {each:.1} KiB each, {:.1} MiB in all, {more} threads more",
        each * 1000.0 / 1024.0
    );
    let (took, each, _) = runtime.block_on(waiting(200, 200));
    println!("200 runs of 200 scripts wait, a VM each: {took:.1} µs and {each:.1} KiB each");
    let bare = bare();
    println!("bare call of mlua: {bare:.2} µs of processor time");
    for at_once in [64, 1] {
        let (took, lane, caller) = runtime.block_on(warm(at_once));
        println!(
            "trivial invoke, warm, {at_once} at once: {lane:.2} µs of its lane, {:.2}× the bare call (bar 1.5), {caller:.2} µs of the caller; {took:.2} µs by the clock",
            lane / bare
        );
    }
    let (compiling, first) = runtime.block_on(first());
    println!(
        "a script that never ran: {compiling:.1} µs to compile, {first:.1} µs with its VM and its first call"
    );
}
