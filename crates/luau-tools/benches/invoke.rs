//! The cost of running a script: compared with a bare call of the VM, fresh, and with thousands that wait.
//! Prints ratios, asserts nothing.
//!
//! `cargo bench -p agentx-luau-tools`, or only a part: `-- memory`, `-- warm`, `-- computing`, `-- fresh`;
//! and for a profiler `-- crowd`, `-- alone`: warm invokes and nothing else
//!
//! **A trivial invoke, warm.** Both sides get a copy of the same JSON arguments and return the result as
//! JSON. The bare call is mlua alone on the measuring thread: `LuaSerdeExt` both ways around
//! `Function::call`, in a VM without sandbox, limits and interrupts. The invoke is all of `Script::invoke`:
//! to the lane's thread and back, its own globals, limits, a coroutine, a watch; alone, each is awaited
//! before the next, and 64 at once are in one `buffer_unordered`. The third figure is a bare call with a
//! hand-written conversion, which is the best that mlua can do. Rounds of the two alternate, so that other
//! programs affect both; the printed figures are medians over the rounds. Processor time is that of the
//! lane's thread and of the caller's, including the lane's spinning and the kernel's work to wake either. The
//! time of a round trip to another thread through channels of std without any work is printed too, with
//! sleeping and with spinning threads.
//!
//! **A fresh script.** The time from a compiled script to its first result, minus a warm call: with a VM that
//! the lane prepared when it was idle, and in a crowd of fresh scripts, where each makes its own. Its memory
//! is the growth of the process by scripts that each wait in their own VM, compared with empty VMs of mlua.
#![allow(
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    reason = "a benchmark may panic, and prints figures"
)]

mod bare;
mod hops;
mod measure;

use std::sync::Arc;
use std::time::{Duration, Instant};

use agentx_luau_tools::{
    BoxFuture, Host, HostEffect, Lanes, Libraries, Outcome, Owner, Script, ScriptLimits,
};
use bare::Bare;
use futures_util::future::join_all;
use futures_util::stream::{self, StreamExt};
use measure::{lanes_sleep, median, micros, processor, status};
use mlua::Lua;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

const TRIVIAL: &str = "function invoke(ctx, args) return { city = args.city, n = args.n + 1 } end";
const WAITS: &str = "function invoke(ctx, args) return ctx.http.get('https://a').status end";
const COMPUTES: &str =
    "function invoke() local sum = 0 for turn = 1, 5e6 do sum = (sum + turn) % 1009 end return sum end";
/// The number of iterations of its loop.
const TURNS: u32 = 5_000_000;
const ROUNDS: usize = 20_000;

/// Answers nothing before it is released.
#[derive(Default)]
struct Holds {
    go: Arc<Notify>,
}

impl Host for Holds {
    fn perform(&self, _: HostEffect) -> BoxFuture<'static, Outcome> {
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

async fn invoke(script: &Script, host: &Arc<Holds>, args: Value) {
    let host = Arc::clone(host);
    let result = script
        .invoke(args, host, ScriptLimits::default(), CancellationToken::new())
        .await;
    result.unwrap();
}

/// A script that is warm.
struct Warm {
    script: Script,
    host: Arc<Holds>,
    args: Value,
}

impl Warm {
    fn new() -> Self {
        let script = Script::compile_on(Lanes::new(1), "trivial", TRIVIAL, Libraries::new()).unwrap();
        Self {
            script,
            host: Arc::default(),
            args: arguments(),
        }
    }

    /// Runs the script sequentially, or this many times at once: returns the microseconds of each on the
    /// lane, for the caller, and by the clock.
    async fn rounds(&self, rounds: usize, at_once: usize) -> [f64; 3] {
        let (began, before) = (Instant::now(), processor());
        let calls = (0..rounds).map(|_| invoke(&self.script, &self.host, self.args.clone()));
        if at_once == 1 {
            for call in calls {
                call.await;
            }
        } else {
            let calls = stream::iter(calls).buffer_unordered(at_once);
            calls.for_each(|()| async {}).await;
        }
        let after = processor();
        [
            micros(after.0.saturating_sub(before.0), rounds),
            micros(after.1.saturating_sub(before.1), rounds),
            micros(began.elapsed(), rounds),
        ]
    }
}

fn warm(runtime: &tokio::runtime::Runtime) {
    let bare = Bare::new(TRIVIAL, arguments());
    let (warm, fewer) = (Warm::new(), ROUNDS / 10);
    bare.serde(fewer);
    runtime.block_on(warm.rounds(fewer, 64));
    let (mut serde, mut hand, mut many, mut single) = (vec![], vec![], vec![], vec![]);
    for _ in 0..11 {
        serde.push(bare.serde(ROUNDS));
        many.push(runtime.block_on(warm.rounds(ROUNDS, 64)));
        hand.push(bare.by_hand(ROUNDS));
        single.push(runtime.block_on(warm.rounds(ROUNDS / 4, 1)));
    }
    let at = |all: &[[f64; 2]], part: usize| median(all.iter().map(|round| round[part]).collect());
    let (serde, hand) = ([at(&serde, 0), at(&serde, 1)], [at(&hand, 0), at(&hand, 1)]);
    println!(
        "bare call of mlua: {:.2} µs of the processor, {:.2} µs by the clock; with a conversion by hand {:.2} and {:.2} µs",
        serde[0], serde[1], hand[0], hand[1]
    );
    for (at_once, all) in [(64, many), (1, single)] {
        let hop = median(
            (0..5)
                .map(|_| runtime.block_on(hops::hop(&arguments(), ROUNDS / 4, at_once)))
                .collect(),
        );
        println!("to another thread and back, {at_once} at once: {hop:.2} µs by the clock");
        if at_once == 1 {
            let awake = median((0..5).map(|_| hops::awake(&arguments(), ROUNDS / 4)).collect());
            println!("the same where neither thread ever sleeps: {awake:.2} µs by the clock");
        }
        let of = |part: &dyn Fn(&[f64; 3]) -> f64| median(all.iter().map(part).collect());
        let (lane, caller, clock) = (of(&|r| r[0]), of(&|r| r[1]), of(&|r| r[2]));
        let both = of(&|r| r[0] + r[1]);
        let beside = |time: f64, part: usize| {
            format!(
                "{time:.2} µs, {:.2}× ({:.2}×)",
                time / serde[part],
                time / hand[part]
            )
        };
        println!(
            "trivial invoke, warm, {at_once} at once, beside the bare call (by hand): clock {}; processor: lane {}, caller {caller:.2} µs, both {}",
            beside(clock, 1),
            beside(lane, 0),
            beside(both, 0)
        );
    }
}

/// A script that computes without effects, compared with the bare call of the same: the cost of the limits in
/// each iteration of a loop.
fn computing(runtime: &tokio::runtime::Runtime) {
    let bare = Bare::new(COMPUTES, json!({}));
    let script = Script::compile_on(Lanes::new(1), "computes", COMPUTES, Libraries::new()).unwrap();
    let host = Arc::<Holds>::default();
    let (mut alone, mut limited) = (vec![], vec![]);
    for _ in 0..9 {
        alone.push(bare.serde(1)[1]);
        let began = Instant::now();
        runtime.block_on(invoke(&script, &host, json!({})));
        limited.push(micros(began.elapsed(), 1));
    }
    let (alone, limited) = (median(alone), median(limited));
    println!(
        "a loop of {TURNS} turns: {:.1} ns each, {:.2}× of the same without limits",
        1e3 * limited / f64::from(TURNS),
        limited / alone
    );
}

/// Warm invokes and nothing else, this many at once.
fn profiled(runtime: &tokio::runtime::Runtime, at_once: usize) {
    let [lane, caller, clock] = runtime.block_on(Warm::new().rounds(50 * ROUNDS, at_once));
    println!("{at_once} at once: lane {lane:.2} µs, caller {caller:.2} µs, clock {clock:.2} µs");
}

/// The owners of the scripts.
#[derive(Clone, Copy)]
enum Owners {
    /// Scripts of one owner, which share VMs.
    One,
    /// Scripts of different owners: one VM each.
    Each,
}

impl Owners {
    /// Compiles `count` scripts of the same text.
    fn scripts(self, lanes: &Arc<Lanes>, text: &str, count: usize) -> Vec<Script> {
        let one = Owner::on(Arc::clone(lanes));
        let owner = || match self {
            Self::One => one.clone(),
            Self::Each => Owner::on(Arc::clone(lanes)),
        };
        let compile = |_| owner().compile("script", text, Libraries::new()).unwrap();
        (0..count).map(compile).collect()
    }
}

/// Scripts that never ran: microseconds to compile one; its first call, and its second; a first call in a
/// crowd. Before each, the lane has finished its preparations, as between two scripts that a person runs.
async fn fresh(owners: Owners) -> [f64; 4] {
    let lanes = Lanes::new(1);
    let host = Arc::new(Holds::default());
    let (mut compiling, mut first, mut second) = (vec![], vec![], vec![]);
    let mut looks = tokio::time::interval(Duration::from_millis(1));
    // They stay, as the tools of an agent do; and one has run before.
    let owner = Owner::on(Arc::clone(&lanes));
    let mut kept = owners.scripts(&lanes, TRIVIAL, 1);
    kept.push(owner.compile("first", TRIVIAL, Libraries::new()).unwrap());
    invoke(&kept[1], &host, arguments()).await;
    for _ in 0..100 {
        // It is polled only now and then: the scheduler later delays a thread that polls all the time.
        looks.tick().await;
        while !lanes_sleep() {
            looks.tick().await;
        }
        let began = Instant::now();
        let owner = match owners {
            Owners::One => owner.clone(),
            Owners::Each => Owner::on(Arc::clone(&lanes)),
        };
        let script = owner.compile("fresh", TRIVIAL, Libraries::new()).unwrap();
        compiling.push(micros(began.elapsed(), 1));
        for times in [&mut first, &mut second] {
            let began = Instant::now();
            invoke(&script, &host, arguments()).await;
            times.push(micros(began.elapsed(), 1));
        }
        kept.push(script);
    }
    let mut crowd = vec![];
    for _ in 0..5 {
        let scripts = owners.scripts(&lanes, TRIVIAL, 64);
        let began = Instant::now();
        let calls = scripts.iter().map(|script| invoke(script, &host, arguments()));
        join_all(calls).await;
        crowd.push(micros(began.elapsed(), 64));
    }
    [median(compiling), median(first), median(second), median(crowd)]
}

/// KiB of an empty VM of mlua.
fn empty(vms: usize) -> (f64, Vec<Lua>) {
    let before = status("VmRSS");
    let all: Vec<_> = (0..vms).map(|_| Lua::new()).collect();
    ((status("VmRSS") - before) / vms as f64, all)
}

/// Measures `runs` runs of `scripts` scripts that wait for the web at once: returns the KiB for each, and the
/// additional threads.
async fn waiting(runs: usize, scripts: usize, owners: Owners) -> (f64, f64, f64) {
    let lanes = Lanes::new(2);
    let scripts = owners.scripts(&lanes, WAITS, scripts);
    let host = Arc::new(Holds::default());
    let (memory, threads) = (status("VmRSS"), status("Threads"));
    let began = Instant::now();
    let tasks: Vec<_> = (0..runs)
        .map(|n| {
            let (script, host) = (scripts[n % scripts.len()].clone(), Arc::clone(&host));
            tokio::spawn(async move { invoke(&script, &host, json!({})).await })
        })
        .collect();
    // All wait as soon as each has sent its request to the host, which is then referenced once more for each.
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

/// Measures the memory of waiting runs, each in its own process, because freed memory would distort the next
/// figure.
fn memory() {
    let (alone, _kept) = empty(200);
    println!("a VM of mlua with nothing in it: {alone:.1} KiB");
    for (runs, scripts, owners) in [
        (200, 200, "one"),
        (200, 200, "each"),
        (1000, 1, "one"),
        (1000, 100, "one"),
        (1000, 20, "each"),
        (1000, 1000, "each"),
    ] {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child.args(["waiting", &runs.to_string(), &scripts.to_string(), owners]);
        assert!(child.status().unwrap().success());
    }
}

fn waits(runtime: &tokio::runtime::Runtime, mut how: impl Iterator<Item = String>) {
    let mut number = || how.next().unwrap().parse().unwrap();
    let (runs, scripts) = (number(), number());
    let (owners, whose) = match how.next().as_deref() {
        Some("each") => (Owners::Each, "an owner each, and so a VM each"),
        _ => (Owners::One, "one owner"),
    };
    let (took, each, more) = runtime.block_on(waiting(runs, scripts, owners));
    println!(
        "{runs} runs of {scripts} scripts of {whose} wait in ctx.http: {took:.1} µs and {each:.1} KiB each, VMs included, {:.1} MiB in \
         all, {more} threads more",
        each * runs as f64 / 1024.0
    );
}

fn main() {
    let part = std::env::args().nth(1).filter(|part| !part.starts_with('-'));
    let wanted = |name: &str| part.as_deref().is_none_or(|part| part == name);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    if part.as_deref() == Some("waiting") {
        return waits(&runtime, std::env::args().skip(2));
    }
    for (name, at_once) in [("crowd", 64), ("alone", 1)] {
        if part.as_deref() == Some(name) {
            profiled(&runtime, at_once);
        }
    }
    if wanted("memory") {
        memory();
    }
    if wanted("warm") {
        warm(&runtime);
    }
    if wanted("computing") {
        computing(&runtime);
    }
    let kinds = [
        (Owners::One, "that was there"),
        (Owners::Each, "that was prepared"),
    ];
    for (owners, vm) in kinds.into_iter().filter(|_| wanted("fresh")) {
        let [compiling, first, second, crowd] = runtime.block_on(fresh(owners));
        println!(
            "a fresh script in a VM {vm}: {compiling:.1} µs to compile; its first call {first:.1} µs, its second {second:.1} µs: \
             {:.1} µs until it was ready; {crowd:.1} µs each where 64 fresh scripts come at once",
            first - second
        );
    }
}
