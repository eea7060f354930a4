//! What a script is handed leads nowhere: a walk over everything that can be reached from it finds no coroutine and no table that
//! can be written, and random programs that write wherever they can change nothing of another run in the same VM.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

#[path = "handed/programs.rs"]
mod programs;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::{Answers, world};
use agentx_luau_tools::{EffectKind, Lanes, Libraries, Owner, Script, ScriptError, ScriptLimits};
use programs::Programs;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// Walks through keys, values and metatables. What the script made itself is left out, for it may hold anything.
const WALK: &str = r#"
function invoke(ctx)
    local function raised(f, ...) return (select(2, pcall(f, ...))) end
    local task = ctx.async(function() ctx.sleep(0) return {} end)
    local failed = ctx.async(function() ctx.sleep(0) error("x") end)
    local roots = {
        ctx = ctx, task = task, failed = failed, bell = ctx.timeout(0), agent = ctx.create_agent("a", {}),
        error = raised(ctx.sleep, "x"), awaited = raised(failed.await, failed), wrong = raised(task.await, {}),
        all = raised(ctx.await_all, 1), json = ctx.json.null, array = getmetatable(ctx.json.array({})),
        response = getmetatable(ctx.http.get("https://a")), text = getmetatable(""), state = getmetatable(ctx.state),
        string = string, table = table, math = math, coroutine = coroutine, debug = debug, os = os, buffer = buffer,
        utf8 = utf8, bit32 = bit32, vector = vector, OLDER
    }
    local seen, wrong = {}, {}
    local function look(value, way)
        if type(value) == "thread" then table.insert(wrong, way .. " is a coroutine") end
        if type(value) ~= "table" or seen[value] then return end
        seen[value] = true
        if not table.isfrozen(value) then table.insert(wrong, way .. " can be written") end
        look(getmetatable(value), way .. ":meta")
        for key, inner in next, value do
            look(key, way .. ":key")
            look(inner, way .. "." .. tostring(key))
        end
    end
    for name, root in roots do look(root, name) end
    pcall(task.await, task)
    return ctx.json.array(wrong)
end"#;

/// The globals of the older API and what they hand out.
const OLDER: &str = r#"rt = rt, builtin = __builtin, sleep = rt:sleep(0), timer = rt:timeout(0),
    http = rt:http({url = "https://a"}), all = rt:await_all(rt:sleep(0)), any = rt:await_any(rt:sleep(0))"#;

async fn invoke(script: &Script) -> Result<Value, ScriptError> {
    invoke_at(Answers::new(world), script).await
}

async fn invoke_at(host: Arc<Answers>, script: &Script) -> Result<Value, ScriptError> {
    let limits = ScriptLimits {
        cpu: Duration::from_secs(5),
        memory: 16 << 20,
        pending: 64,
        ..ScriptLimits::default()
    };
    script
        .invoke(json!({}), host, limits, CancellationToken::new())
        .await
}

#[tokio::test]
async fn nothing_leads_to_a_coroutine_or_can_be_written() {
    for older in ["", OLDER] {
        let text = WALK.replace("OLDER", older) + "\n-- state";
        let script = Script::compile("walk", &text, Libraries::new()).unwrap();
        assert_eq!(invoke(&script).await, Ok(json!([])), "with {older:?}");
    }
}

/// Uses what others may have spoilt, the scheduler above all.
const VICTIM: &str = r#"
function invoke(ctx)
    local order = {}
    local function work(name, time)
        return ctx.async(function() ctx.sleep(time) table.insert(order, name) return name end)
    end
    local a, b = work("a", 0.001), work("b", 0)
    local late = { pcall(ctx.timeout, 0, function() ctx.sleep(1) end) }
    local both = { ctx.await_all(a, b) }
    local co = coroutine.wrap(function() coroutine.yield(7) end)
    return {
        both = both, late = late[1], count = #order, wrapped = co(), ready = a:is_ready(), state = ctx.state.count,
        temp = ctx.http.get("https://a").data.temp, text = tostring(a), find = ("abc"):find("b"),
        said = ctx.generate("m", "p"), leak = leak or "nothing", nothing = getmetatable({}) == nil,
        OLDER
    }
end"#;

/// What became of random programs.
#[derive(Debug, Default)]
struct Tried {
    all: u32,
    /// Those that had all their values and went on to their statements.
    began: u32,
    /// Those that went on after the last of them.
    came_through: u32,
}

/// Runs random programs, and after each of them the victim in the same VM: what the victim found changed, if it did.
async fn try_programs(
    host: impl Fn() -> Arc<Answers>,
    older: bool,
    (seed, count): (u64, u32),
) -> (Tried, Option<String>) {
    let owner = Owner::on(Lanes::new(1));
    let compile = |text: &str| owner.compile("x", text, Libraries::new()).unwrap();
    let uses_older = "slept = { rt:sleep(0):await() }, timer = rt:timeout(0):cancel()";
    let victim = VICTIM.replace("OLDER", if older { uses_older } else { "" });
    let victim = compile(&(victim + "\n-- state"));
    let want = invoke_at(host(), &victim).await.unwrap();
    assert_eq!((&want["both"], &want["state"]), (&json!(["a", "b"]), &json!(1)));
    let (mut programs, mut tried) = (Programs::new(seed), Tried::default());
    for number in 0..count {
        let text = programs.next(older);
        let at = host();
        let ended = invoke_at(Arc::clone(&at), &compile(&text)).await;
        let log = at.log();
        let says = |word: &str| u32::from(log.iter().any(|line| line.contains(word)));
        tried.all += 1;
        tried.began += says(programs::BEGAN);
        tried.came_through += says(programs::CAME_THROUGH);
        let got = invoke_at(host(), &victim).await;
        if got.as_ref() != Ok(&want) {
            let found = format!("{got:?}, after program {number}, which ended {ended:?}:\n{text}");
            return (tried, Some(found));
        }
    }
    (tried, None)
}

/// The seed that the environment gives, else one of this process; it is printed.
fn seed() -> u64 {
    let given = std::env::var("AGENTX_RANDOM_SEED").ok();
    let seed = given.map_or_else(|| u64::from(std::process::id()), |seed| seed.parse().unwrap());
    eprintln!("AGENTX_RANDOM_SEED={seed}");
    seed
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_programs_change_nothing_of_another_run() {
    // Some seconds by default; `AGENTX_RANDOM_SCRIPTS=100000` for a longer look.
    let count = std::env::var("AGENTX_RANDOM_SCRIPTS").map_or(1_000, |count| count.parse().unwrap());
    let seed = seed();
    for older in [false, true] {
        let host = || Answers::new(world);
        let (tried, changed) = try_programs(host, older, (seed, count / 2)).await;
        eprintln!("{tried:?}");
        assert_eq!(changed, None);
        // A program may use up a limit on its way, as its memory.
        let most = tried.all * 9 / 10;
        assert!(tried.began >= most && tried.came_through >= most / 2, "{tried:?}");
    }
}

/// A hole on purpose: a host that hands the next run as its state what one run has emitted or logged.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_programs_that_reach_another_run_are_noticed() {
    let seed = seed();
    for older in [false, true] {
        let count = Arc::new(Mutex::new(1));
        let host = || {
            let count = Arc::clone(&count);
            Answers::new(move |effect| {
                let mut count = count.lock().unwrap();
                match effect.kind {
                    EffectKind::Emit | EffectKind::Log => *count += 1,
                    EffectKind::StateGet => return Ok(json!({"count": *count})),
                    _ => {}
                }
                world(effect)
            })
        };
        let (tried, changed) = try_programs(host, older, (seed, 500)).await;
        assert!(changed.is_some(), "nothing is noticed: {tried:?}");
    }
}

/// As it was done once: the promise led to the run's own task, and a coroutine that was put there got the next run of the VM.
#[tokio::test]
async fn no_script_puts_its_coroutine_in_the_place_of_the_next_run() {
    let owner = Owner::on(Lanes::new(1));
    let compile = |text: &str| owner.compile("x", text, Libraries::new()).unwrap();
    let attacker = compile(
        "function invoke(ctx)
            local p, main = ctx.async(function() ctx.sleep(0) return 1 end), nil
            ctx.async(function() main = p.waiters[1].task end)
            p:await()
            main.co = coroutine.create(function() ctx.emit('evil') end)
            return 'reached'
        end",
    );
    let victim = compile("function invoke(ctx) ctx.sleep(0) return 'mine' end");
    for _ in 0..2 {
        assert!(invoke(&attacker).await.is_err(), "it has no way to a task");
        assert_eq!(invoke(&victim).await, Ok(json!("mine")));
    }
}
