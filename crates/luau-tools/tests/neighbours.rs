//! Scripts of one owner share a VM: one tries to read or damage another, which notices nothing. Every attack
//! is made by a run that has ended, by one that is waiting, and by one that comes later.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

#[path = "neighbours/held_lane.rs"]
mod held_lane;
#[path = "neighbours/tries.rs"]
mod tries;

use std::sync::Arc;
use std::time::Duration;

use crate::support::{Answers, world};
use crate::table;
use agentx_luau_tools::{
    BoxFuture, EffectKind, Host, HostEffect, Lanes, Libraries, Outcome, Owner, Script, ScriptError,
    ScriptLimits,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tries::{ATTACKS, LOOKS, SECRET, VICTIM};

fn attacker(body: &str) -> String {
    format!(
        "{LOOKS}\nlocal search = search\nfunction invoke(ctx, args)\nlocal look = search\n{body}\n\
         if args.hold then ctx.sleep(1000) end return look(args.secret, ctx)\nend\n-- state random"
    )
}

/// Answers like the test host, but never answers a long sleep.
struct Holds(Arc<Answers>);

impl Host for Holds {
    fn perform(&self, effect: HostEffect) -> BoxFuture<'static, Outcome> {
        if effect.kind == EffectKind::Sleep && effect.request["ms"].as_u64() >= Some(1_000_000) {
            self.0.asked.lock().unwrap().push(effect);
            return Box::pin(std::future::pending());
        }
        self.0.perform(effect)
    }
}

/// A run in progress.
struct Going {
    log: Arc<Answers>,
    task: tokio::task::JoinHandle<Result<Value, ScriptError>>,
}

fn begin(script: &Script, hold: bool) -> Going {
    begin_with(script, hold, 1)
}

/// With this many seconds of processor time.
fn begin_with(script: &Script, hold: bool, cpu: u64) -> Going {
    let log = Answers::new(world);
    let (script, host) = (script.clone(), Arc::new(Holds(Arc::clone(&log))));
    let limits = ScriptLimits {
        memory: 16 << 20,
        cpu: Duration::from_secs(cpu),
        pending: 64,
        ..ScriptLimits::default()
    };
    let args = json!({"hold": hold, "secret": SECRET});
    let task = tokio::spawn(async move { script.invoke(args, host, limits, CancellationToken::new()).await });
    Going { log, task }
}

impl Going {
    /// Completes when it waits forever, or has ended by its own actions.
    async fn held(self) -> Self {
        while !self.log.log().iter().any(|asked| asked.contains("1000000")) && !self.task.is_finished() {
            tokio::task::yield_now().await;
        }
        self
    }

    async fn end(self) -> Result<Value, ScriptError> {
        self.task.await.unwrap()
    }
}

/// The victim and an attacker of one owner, on one lane; each has its own libraries, of the same names.
fn two(attack: &str) -> (Script, Script) {
    let owner = Owner::on(Lanes::new(1));
    let lib = |who: &str| Libraries::new().with("shared", format!("return {{ who = '{who}' }}"));
    let script = |name: &str, text: &str| owner.compile(name, text, lib(name)).unwrap();
    (script("victim", VICTIM), script("attacker", &attacker(attack)))
}

/// Returns the result of a victim that runs alone.
async fn undisturbed() -> Value {
    begin(&two("").0, false).end().await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_script_reaches_or_spoils_another_of_the_same_owner() {
    let want = undisturbed().await;
    assert_eq!(want["lib"], "victim");
    let mut wrong = Vec::new();
    for (name, body) in ATTACKS {
        let (victim, attacker) = two(body);
        let mut check = |when: &str, got: Result<Value, ScriptError>| {
            if got.as_ref() != Ok(&want) {
                wrong.push(format!("{name}, {when}: {got:?}"));
            }
        };
        let ended = begin(&attacker, false).end().await;
        check("after a run that ended", begin(&victim, false).end().await);
        let waits = begin(&attacker, true).held().await;
        check("beside a run that waits", begin(&victim, false).end().await);
        let held = begin(&victim, true).held().await;
        let looked = begin(&attacker, false).end().await;
        check("beside all of them", begin(&victim, false).end().await);
        let (asked, before) = (held.log.log(), waits.log.log().len());
        assert!(!held.task.is_finished(), "{:?}", held.end().await);
        held.task.abort();
        check("after a run that was dropped", begin(&victim, false).end().await);
        assert!(asked.iter().any(|asked| asked.contains(SECRET)), "{asked:?}");
        for found in [ended, looked] {
            if found == Ok(json!(true)) {
                wrong.push(format!("{name}: it found the secret"));
            }
        }
        if waits.log.log().len() > before + 64 {
            wrong.push(format!("{name}: it goes on while it waits"));
        }
        waits.task.abort();
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_attack_leaves_its_neighbours_as_they_were() {
    let want = undisturbed().await;
    let owner = Owner::on(Lanes::new(1));
    let libraries = || Libraries::new().with("shared", "return { who = 'victim' }");
    let victim = owner.compile("victim", VICTIM, libraries()).unwrap();
    let held = begin(&victim, true).held().await;
    let mut wrong = Vec::new();
    for attack in table::ATTACKS {
        let evil = Libraries::new()
            .with("evil", "while true do end")
            .with("shared", "while true do end")
            .with("me", "return require('me')");
        if let Ok(script) = owner.compile("attack", &attack.source(), evil) {
            let limits = ScriptLimits {
                cpu: Duration::from_millis(100),
                wall: Duration::from_millis(300),
                memory: 16 << 20,
                ..ScriptLimits::default()
            };
            let _ = script
                .invoke(json!({}), Answers::new(world), limits, CancellationToken::new())
                .await;
        }
        let got = begin(&victim, false).end().await;
        if got.as_ref() != Ok(&want) {
            wrong.push(format!("{}: {got:?}", attack.name));
        }
    }
    assert!(!held.task.is_finished(), "{:?}", held.end().await);
    held.task.abort();
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_of_a_run_goes_on_when_it_has_ended() {
    let (victim, attacker) =
        two("ctx.async(function() while true do ctx.sleep(0.001) ctx.emit('evil') end end) ctx.sleep(0.003)");
    let run = begin(&attacker, false);
    let log = Arc::clone(&run.log);
    assert_eq!(run.end().await.unwrap(), json!(false));
    let asked = log.log().len();
    for _ in 0..20 {
        begin(&victim, false).end().await.unwrap();
    }
    assert_eq!(log.log().len(), asked);
}

/// Makes much garbage in small pieces and keeps nothing.
const MAKES_GARBAGE: &str = "function invoke(ctx)
    for i = 1, 150 do local s = ('x'):rep(3e5) .. i ctx.now() end
    return 'done'
end";
/// Allocates more and more, and frees it, again and again, until it is asked to end.
const HOLDS: &str = "function invoke(ctx, args)
    for i = 1, 40 do
        local kept = {}
        for n = 1, 10 do kept[n] = ('y'):rep(1e6) .. n ctx.now() end
    end
    return 'done'
end";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_holds_is_not_charged_to_another() {
    let owner = Owner::on(Lanes::new(1));
    let compile = |text: &str| owner.compile("x", text, Libraries::new()).unwrap();
    let (makes, holds) = (compile(MAKES_GARBAGE), compile(HOLDS));
    // All of them are in one VM: they begin before any has taken much.
    let all: Vec<_> = (0..4)
        .flat_map(|_| [begin_with(&makes, false, 60), begin_with(&holds, false, 60)])
        .collect();
    for run in all {
        assert_eq!(run.end().await, Ok(json!("done")));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_ends_by_its_own_limit_beside_those_that_hold_much() {
    let owner = Owner::on(Lanes::new(1));
    let compile = |text: &str| owner.compile("x", text, Libraries::new()).unwrap();
    let holds = compile("function invoke(ctx, args) local s = ('y'):rep(1e7) ctx.sleep(1000) return #s end");
    let grows = compile(
        "function invoke(ctx) local t = {} for i = 1, 40 do ctx.now() t[i] = ('z'):rep(1e6) .. i end return #t end",
    );
    let small = compile("function invoke(ctx) for i = 1, 50 do ctx.now() end return 'done' end");
    let grown = begin(&grows, false);
    let held = begin(&holds, true).held().await;
    assert_eq!(begin(&small, false).end().await, Ok(json!("done")));
    assert_eq!(grown.end().await.unwrap_err().code(), "limit_memory");
    assert_eq!(begin(&small, false).end().await, Ok(json!("done")));
    assert_eq!(
        begin(&grows, false).end().await.unwrap_err().code(),
        "limit_memory"
    );
    held.task.abort();
}
