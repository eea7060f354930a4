//! Measures the delay of a script beside hostile ones of other people. Prints milliseconds, asserts nothing.
//!
//! `cargo bench -p agentx-luau-tools --bench neighbour`, or `-- WORD` for the calls that contain the word.
//!
//! The hostile script repeats one expensive call of the library, for each one in `tests/costs`, until its
//! limit ends it. The neighbour waits a millisecond again and again; its delay is the time from the end of
//! such a wait to its next one. The bound is 100 ms.
//!
//! The same is then measured beside additions of long texts in a straight line, which no safepoint
//! interrupts: `-- straight` does only that. And it is measured beside one, two, six and sixteen scripts of
//! another person, on two lanes, that repeatedly compute in a metamethod for most of the time of a turn:
//! `-- overruns` does only that.
#![allow(clippy::unwrap_used, reason = "a benchmark may panic, and prints figures")]

#[allow(dead_code, reason = "the costs are stated for a test")]
#[path = "../tests/costs/table.rs"]
mod table;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use agentx_luau_tools::{
    BoxFuture, EffectKind, Host, HostEffect, Lanes, Libraries, Outcome, Script, ScriptLimits,
};
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

const NEIGHBOUR: &str = "function invoke(ctx) while true do ctx.sleep(0.001) end end";

/// Answers a wait when it is over, and records how late the next one begins.
#[derive(Default)]
struct Waits {
    since: Arc<Mutex<Option<Instant>>>,
    late: Arc<Mutex<Vec<Duration>>>,
}

impl Host for Waits {
    fn perform(&self, effect: HostEffect) -> BoxFuture<'static, Outcome> {
        let since = Arc::clone(&self.since);
        if let Some(since) = since.lock().unwrap().take() {
            self.late.lock().unwrap().push(since.elapsed());
        }
        Box::pin(async move {
            if effect.kind == EffectKind::Sleep {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            *since.lock().unwrap() = Some(Instant::now());
            Ok(Value::Null)
        })
    }
}

/// Answers nothing.
struct Nothing;

impl Host for Nothing {
    fn perform(&self, _: HostEffect) -> BoxFuture<'static, Outcome> {
        Box::pin(std::future::ready(Ok(Value::Null)))
    }
}

/// The hostile scripts beside the neighbour.
#[derive(Clone, Copy)]
struct Hostile {
    scripts: u64,
    /// The people for whom they run.
    people: u64,
    lanes: usize,
}

/// The number of the neighbour's person. Others have the numbers behind it.
const HERS: u64 = 1;

/// Returns the delays of the neighbour, sorted, and the ends of the hostile scripts.
async fn beside(body: &str, hostile: Hostile) -> (Vec<Duration>, String) {
    let lanes = Lanes::new(hostile.lanes);
    let script = |text: &str| Script::compile_on(Arc::clone(&lanes), "x", text, Libraries::new()).unwrap();
    let (waits, stop) = (Waits::default(), CancellationToken::new());
    let (late, since) = (Arc::clone(&waits.late), Arc::clone(&waits.since));
    let neighbour = {
        let (script, stop) = (script(NEIGHBOUR), stop.clone());
        let limits = ScriptLimits {
            effects: u64::MAX,
            person: Some(HERS),
            ..ScriptLimits::default()
        };
        tokio::spawn(async move { script.invoke(json!({}), Arc::new(waits), limits, stop).await })
    };
    let text = format!("function invoke(ctx) while true do pcall(function() {body} end) end end -- state");
    let limits = ScriptLimits {
        cpu: Duration::from_millis(500),
        ..ScriptLimits::default()
    };
    let ended = join_all((0..hostile.scripts).map(|number| {
        let limits = ScriptLimits {
            person: Some(HERS + 1 + number % hostile.people),
            ..limits.clone()
        };
        let script = script(&text);
        async move {
            let cancel = CancellationToken::new();
            let result = script.invoke(json!({}), Arc::new(Nothing), limits, cancel).await;
            result.map_or_else(|error| error.code(), |_| "ok".to_owned())
        }
    }));
    let mut ended = ended.await;
    ended.sort_unstable();
    ended.dedup();
    // It may have been late for all of this time.
    if let Some(since) = since.lock().unwrap().take() {
        late.lock().unwrap().push(since.elapsed());
    }
    stop.cancel();
    let _ = neighbour.await;
    let mut late = std::mem::take(&mut *late.lock().unwrap());
    late.sort_unstable();
    (late, ended.join(", "))
}

/// Scripts that overrun their turns: a metamethod with so many iterations of a loop, called again and again.
fn overrunning() -> impl Iterator<Item = String> {
    [300_000, 1_000_000, 2_000_000, 3_000_000].into_iter().map(|iterations| {
        format!(
            "local t, sum = setmetatable({{}}, {{__index = function() local x = 0 for i = 1, {iterations} do x = x + i % 7 end \
             return x end}}), 0 while true do sum += t.x end"
        )
    })
}

/// Additions in a straight line, in which Luau asks nobody whether time is left: about two seconds in one
/// piece, because each reads a text of 14 MB twice.
fn straight_line() -> String {
    let sum = ["x"; 58].join(" + ");
    format!("local x = ('1'):rep(14e6) local y = {sum}")
}

/// Prints the delays beside hostile scripts; returns the longest.
fn measured(runtime: &tokio::runtime::Runtime, body: &str, hostile: Hostile) -> Duration {
    let (late, ended) = runtime.block_on(beside(body, hostile));
    let ms = |at: usize| {
        late.get(at.min(late.len().saturating_sub(1)))
            .copied()
            .unwrap_or_default()
    };
    let (usual, most) = (ms(late.len() / 2), ms(late.len()));
    let Hostile {
        scripts,
        people,
        lanes,
    } = hostile;
    let body: String = body.chars().take(100).collect();
    println!(
        "{most:>9.1?} at most, {usual:>9.1?} usually, beside {scripts} of {people} people on {lanes} lanes, ended by {ended}: {body}"
    );
    most
}

fn main() {
    let word = std::env::args().nth(1).filter(|word| !word.starts_with('-'));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_time()
        .build()
        .unwrap();
    let mut worst = Duration::ZERO;
    for body in table::COSTS.iter().flat_map(|(_, _, bodies)| bodies.iter()) {
        if word.as_ref().is_some_and(|word| !body.contains(word.as_str())) {
            continue;
        }
        let alone = Hostile {
            scripts: 1,
            people: 1,
            lanes: 1,
        };
        worst = worst.max(measured(&runtime, body, alone));
    }
    println!("{worst:.1?} at most in all");
    if word.as_ref().is_none_or(|word| word == "straight") {
        for (scripts, people, lanes) in [(1, 1, 1), (2, 1, 2), (6, 1, 2), (6, 6, 2)] {
            measured(
                &runtime,
                &straight_line(),
                Hostile {
                    scripts,
                    people,
                    lanes,
                },
            );
        }
    }
    if word.is_some_and(|word| word != "overruns") {
        return;
    }
    for scripts in [1, 2, 6, 16] {
        let bodies = overrunning();
        let crowd = Hostile {
            scripts,
            people: 1,
            lanes: 2,
        };
        let worst = bodies.map(|body| measured(&runtime, &body, crowd)).max();
        println!(
            "{:.1?} at most beside {scripts} scripts that overrun their turns",
            worst.unwrap_or_default()
        );
    }
}
