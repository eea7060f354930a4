//! Attacks by hostile scripts, as data: each ends by its limit with a result that gives the reason, while
//! another script continues.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::{Answers, world};
use agentx_luau_tools::{EffectError, EffectKind, Host, Lanes, Libraries, Script, ScriptLimits};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::table::{ATTACKS, Attack, Ends};

/// Builds of the VM without optimisation are slower; the limits are those of a tool, only shorter.
const CPU: Duration = Duration::from_millis(300);
const WALL: Duration = Duration::from_millis(1500);
/// Far beyond both: the machine may be busy with other programs.
const PATIENCE: Duration = Duration::from_secs(20);

/// Time is short only for attacks that may end by it. The others end by their own actions, however busy the
/// machine is.
fn limits(attack: &Attack) -> ScriptLimits {
    let by_time = attack.ends.may_say("limit_cpu") || attack.ends.may_say("limit_wall");
    let (cpu, wall) = if by_time {
        (CPU, WALL)
    } else {
        (PATIENCE, PATIENCE)
    };
    ScriptLimits {
        cpu,
        wall,
        memory: 16 << 20,
        requests: 50,
        effects: 500,
        pending: 64,
        agents: 4,
        output: 64 << 10,
        state: 16 << 10,
        json: 256 << 10,
        ..ScriptLimits::default()
    }
}

fn host() -> Arc<dyn Host> {
    Answers::new(|effect| match effect.kind {
        EffectKind::Http if effect.request["url"] == "huge" => {
            Ok(json!({"status": 200, "headers": {}, "body": "x".repeat(1 << 20)}))
        }
        EffectKind::Http if effect.request["url"] == "deep" => Ok(json!({"body": deep(500)})),
        EffectKind::Http if effect.request["url"] == "nested" => {
            Ok(json!({"status": 200, "body": format!("{}{}", "[".repeat(5000), "]".repeat(5000))}))
        }
        EffectKind::Env => Err(EffectError::new("denied", "this name is not granted")),
        _ => world(effect),
    })
}

fn deep(levels: usize) -> Value {
    (0..levels).fold(Value::Null, |inner, _| json!([inner]))
}

/// Returns the outcome of an attack in one line: the value, or the code and the message.
async fn outcome(lanes: &Arc<Lanes>, attack: &Attack) -> (String, Duration) {
    let libraries = Libraries::new()
        .with("evil", "while true do end")
        .with("me", "return require('me')");
    let began = Instant::now();
    let result = match Script::compile_on(Arc::clone(lanes), "attack", &attack.source(), libraries) {
        Err(error) => Err(error),
        Ok(script) => {
            script
                .invoke(json!({}), host(), limits(attack), CancellationToken::new())
                .await
        }
    };
    let took = began.elapsed();
    match result {
        Ok(value) => (format!("ok {value}"), took),
        Err(error) => (format!("{} {error}", error.code()), took),
    }
}

fn is_right(ends: &Ends, said: &str) -> bool {
    match ends {
        Ends::With(value) => said == format!("ok {value}"),
        Ends::Code(code) => said.split(' ').next() == Some(code),
        Ends::Says(code, words) => said.starts_with(code) && said.contains(words),
        Ends::OneOf(codes) => codes.iter().any(|code| said.split(' ').next() == Some(code)),
    }
}

/// A script unrelated to the attacks, on the same lanes: the number of its successful runs meanwhile.
async fn bystander(lanes: Arc<Lanes>, stop: CancellationToken) -> usize {
    let source = "function invoke(ctx, args) return ctx.generate('m', 'p') end";
    let script = Script::compile_on(lanes, "bystander", source, Libraries::new()).unwrap();
    let mut rounds = 0;
    loop {
        let result = script
            .invoke(
                json!({}),
                Answers::new(world),
                ScriptLimits::default(),
                CancellationToken::new(),
            )
            .await;
        assert_eq!(result.unwrap(), json!("m: p"));
        rounds += 1;
        if stop.is_cancelled() {
            return rounds;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_attack_ends_and_says_why_while_another_script_goes_on() {
    assert!(ATTACKS.len() >= 200, "{} attacks", ATTACKS.len());
    let lanes = Lanes::new(2);
    let mut wrong = Vec::new();
    for attack in ATTACKS {
        let stop = CancellationToken::new();
        let other = tokio::spawn(bystander(Arc::clone(&lanes), stop.clone()));
        let (said, took) = outcome(&lanes, attack).await;
        stop.cancel();
        let rounds = other.await.unwrap();
        if !is_right(&attack.ends, &said) {
            wrong.push(format!("{}: {said}", attack.name));
        }
        if took > PATIENCE {
            wrong.push(format!("{}: took {took:?}: {said}", attack.name));
        }
        let lasted = ["limit_cpu", "limit_wall"]
            .iter()
            .any(|code| said.starts_with(code));
        if lasted && rounds < 3 {
            wrong.push(format!("{}: nothing else ran", attack.name));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_exhausts_its_memory_ends_alone_in_its_vm() {
    let source = "function invoke(ctx, args)
        local kept = {args.n}
        ctx.sleep(0.02)
        if args.bomb then local s = ('x'):rep(1e6) while true do s = s .. s end end
        for i = 1, 20 do ctx.sleep(0.005) kept[1] += 1 end
        return kept[1]
    end";
    let script = Script::compile_on(Lanes::new(1), "shared", source, Libraries::new()).unwrap();
    let runs: Vec<_> = (0..20)
        .map(|n| {
            let script = script.clone();
            tokio::spawn(async move {
                script
                    .invoke(
                        json!({"n": n, "bomb": n % 4 == 0}),
                        host(),
                        limits_of_time(),
                        CancellationToken::new(),
                    )
                    .await
            })
        })
        .collect();
    for (n, run) in runs.into_iter().enumerate() {
        let result = run.await.unwrap();
        if n % 4 == 0 {
            assert_eq!(result.unwrap_err().code(), "limit_memory");
        } else {
            assert_eq!(result.unwrap(), json!(n + 20));
        }
    }
}

fn limits_of_time() -> ScriptLimits {
    ScriptLimits {
        memory: 16 << 20,
        ..ScriptLimits::default()
    }
}
