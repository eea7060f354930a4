//! The values that a script gets give no access to other runs: a walk over everything reachable from them
//! finds no coroutine and no writable table, and random programs that write wherever they can change nothing
//! in another run of the same VM.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

#[path = "handed/programs.rs"]
mod programs;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::{Answers, world};
use agentx_luau_tools::{
    BoxFuture, EffectKind, Host, HostEffect, Lanes, Libraries, Outcome, Owner, Script, ScriptError,
    ScriptLimits,
};
use programs::Programs;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Walks through keys, values and metatables. Values that the script made itself are left out, because they
/// may hold anything.
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

/// The globals of the older API and the values that they return.
const OLDER: &str = r#"rt = rt, builtin = __builtin, sleep = rt:sleep(0), timer = rt:timeout(0),
    http = rt:http({url = "https://a"}), all = rt:await_all(rt:sleep(0)), any = rt:await_any(rt:sleep(0))"#;

async fn invoke(script: &Script) -> Result<Value, ScriptError> {
    invoke_at(Answers::new(world), script).await
}

async fn invoke_at(host: Arc<dyn Host>, script: &Script) -> Result<Value, ScriptError> {
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

/// Uses everything that others may have damaged, above all the scheduler.
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
    local waiting = work("c", 0)
    ctx.kv.set("mine", "before")
    local held = ctx.invoke("held", {})
    ctx.kv.set("mine", "after")
    ctx.state.count = ctx.state.count + 1
    ctx.log("info", held, waiting:await())
    return {
        both = both, late = late[1], count = #order, wrapped = co(), ready = a:is_ready(), state = ctx.state.count,
        temp = ctx.http.get("https://a").data.temp, text = tostring(a), find = ("abc"):find("b"),
        said = ctx.generate("m", "p"), env = ctx.env("HOME"), held = held, rows = ctx.kv.list("m"), row = ctx.kv.get("mine"),
        tool = ctx.invoke("read", { path = "notes" }), leak = leak or "nothing", nothing = getmetatable({}) == nil,
        OLDER
    }
end"#;

/// The outcome of random programs.
#[derive(Debug, Default)]
struct Tried {
    all: u32,
    /// The programs that had all their values and reached their statements.
    began: u32,
    /// The programs that continued after the last statement.
    came_through: u32,
}

/// A host that answers a call of the tool `held` when the test requests it.
struct HeldHost {
    inner: Arc<Answers>,
    begun: Arc<Notify>,
    go: Arc<Notify>,
}

impl Host for HeldHost {
    fn perform(&self, effect: HostEffect) -> BoxFuture<'static, Outcome> {
        if effect.kind != EffectKind::Invoke || effect.request["tool"] != "held" {
            return self.inner.perform(effect);
        }
        let answer = self.inner.perform(effect);
        self.begun.notify_one();
        let go = Arc::clone(&self.go);
        Box::pin(async move {
            go.notified().await;
            answer.await
        })
    }

    fn observe(&self, effect: HostEffect, seen: BoxFuture<'static, Value>) -> BoxFuture<'static, Outcome> {
        self.inner.observe(effect, seen)
    }
}

/// The order in which the victim and a program run.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Beside {
    /// The program runs from its beginning to its end while the victim waits in its middle.
    Held,
    /// Both take turns on their lane as they come.
    InTurns,
}

/// The observable result of the victim's run: its result, and every effect that it requested.
type Shown = (Result<Value, ScriptError>, Vec<String>);

/// The environment of random programs.
struct Trial<'h> {
    host: &'h dyn Fn() -> Arc<Answers>,
    older: bool,
    /// Whether the program acts through the victim's host: a hole on purpose.
    one_host: bool,
}

impl Trial<'_> {
    async fn alone(&self, victim: &Script) -> Shown {
        let go = Arc::new(Notify::new());
        go.notify_one();
        self.beside(victim, &go, &Arc::default(), (self.host)()).await
    }

    async fn beside(
        &self,
        victim: &Script,
        go: &Arc<Notify>,
        begun: &Arc<Notify>,
        inner: Arc<Answers>,
    ) -> Shown {
        let host = HeldHost {
            inner: Arc::clone(&inner),
            begun: Arc::clone(begun),
            go: Arc::clone(go),
        };
        let got = invoke_at(Arc::new(host), victim).await;
        begun.notify_one();
        let mut effects = inner.log();
        // Whether something was there before the wait depends on timing.
        effects.retain(|asked| !asked.starts_with("any "));
        (got, effects)
    }

    /// Runs a program together with the victim. Returns the victim's result, the end of the program, and its
    /// effects.
    async fn both(&self, victim: &Script, program: &Script, how: Beside) -> (Shown, Shown) {
        let (go, begun): (Arc<Notify>, Arc<Notify>) = Default::default();
        if how == Beside::InTurns {
            go.notify_one();
            begun.notify_one();
        }
        let of_victim = (self.host)();
        let of_program = if self.one_host {
            Arc::clone(&of_victim)
        } else {
            (self.host)()
        };
        let hostile = async {
            begun.notified().await;
            let ended = invoke_at(of_program.clone(), program).await;
            go.notify_one();
            (ended, of_program.log())
        };
        tokio::join!(self.beside(victim, &go, &begun, of_victim), hostile)
    }

    /// Runs random programs, together with the victim in the same VM and once more afterwards. Returns the
    /// difference in the victim's result, if there is one.
    async fn run(&self, seed: u64, count: u32) -> (Tried, Option<String>) {
        let owner = Owner::on(Lanes::new(1));
        let compile = |text: &str| owner.compile("x", text, Libraries::new()).unwrap();
        let uses_older = "slept = { rt:sleep(0):await() }, timer = rt:timeout(0):cancel()";
        let victim = VICTIM.replace("OLDER", if self.older { uses_older } else { "" });
        let victim = compile(&(victim + "\n-- state"));
        let want = self.alone(&victim).await;
        let result = want.0.as_ref().unwrap();
        assert_eq!(
            (&result["both"], &result["state"]),
            (&json!(["a", "b"]), &json!(2))
        );
        for kind in ["kv_set", "kv_get", "env ", "http ", "invoke "] {
            assert!(
                want.1.iter().any(|asked| asked.starts_with(kind)),
                "{kind}: {:?}",
                want.1
            );
        }
        let (mut programs, mut tried) = (Programs::new(seed), Tried::default());
        for number in 0..count {
            let text = programs.next(self.older);
            let how = if number % 2 == 0 {
                Beside::Held
            } else {
                Beside::InTurns
            };
            let (beside, (ended, log)) = self.both(&victim, &compile(&text), how).await;
            let says = |word: &str| u32::from(log.iter().any(|line| line.contains(word)));
            tried.all += 1;
            tried.began += says(programs::BEGAN);
            tried.came_through += says(programs::CAME_THROUGH);
            for (when, got) in [("beside", beside), ("after", self.alone(&victim).await)] {
                if got != want {
                    let found =
                        format!("{got:?} {when} program {number} ({how:?}), which ended {ended:?}:\n{text}");
                    return (tried, Some(found));
                }
            }
        }
        (tried, None)
    }
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
    // Half a minute at most by default; `AGENTX_RANDOM_SCRIPTS=100000` runs more.
    let count = std::env::var("AGENTX_RANDOM_SCRIPTS").map_or(600, |count| count.parse().unwrap());
    let seed = seed();
    for older in [false, true] {
        let trial = Trial {
            host: &|| Answers::new(world),
            older,
            one_host: false,
        };
        let (tried, changed) = trial.run(seed, count / 2).await;
        eprintln!("{tried:?}");
        assert_eq!(changed, None);
        // A program may use up a limit, such as its memory.
        let most = tried.all * 9 / 10;
        assert!(tried.began >= most && tried.came_through >= most / 2, "{tried:?}");
    }
}

/// A hole on purpose: a host that gives the emitted and logged values of one run to the next one as its
/// state.
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
        let trial = Trial {
            host: &host,
            older,
            one_host: false,
        };
        let (tried, changed) = trial.run(seed, 500).await;
        assert!(changed.is_some(), "nothing is noticed: {tried:?}");
    }
}

/// Another one: the requests of a program count as requests of the concurrent victim, whose result stays the
/// same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_programs_that_act_in_the_name_of_another_run_are_noticed() {
    for older in [false, true] {
        let trial = Trial {
            host: &|| Answers::new(world),
            older,
            one_host: true,
        };
        let (tried, changed) = trial.run(seed(), 10).await;
        assert!(changed.is_some(), "nothing is noticed: {tried:?}");
    }
}

/// A former hole: the promise led to the run's own task, and a coroutine that was stored there got the next
/// run of the VM.
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
