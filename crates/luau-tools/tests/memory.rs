//! Attacks of a hostile script with values and memory, as data. Each ends with a correct result or a clean
//! error, even if memory runs out earlier; then its VM serves another script of the same owner, which finds
//! no trace of it.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "memory/tables.rs"]
mod tables;
#[path = "memory/texts.rs"]
mod texts;
#[path = "memory/values.rs"]
mod values;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::support::{Answers, world};
use agentx_luau_tools::{EffectKind, Host, Lanes, Libraries, Owner, ScriptLimits};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// A name, the body of `invoke`, and how it ends.
pub(crate) type Case = (&'static str, &'static str, Ends);

#[derive(Clone, Copy, Debug)]
pub(crate) enum Ends {
    /// With this result, as JSON.
    Is(&'static str),
    /// With an error of the script that says this.
    Fails(&'static str),
    /// With a result that is not JSON, for this reason.
    NoResult(&'static str),
    /// By the limit of memory.
    Memory,
    /// By a limit, or by a refusal before one is reached.
    Stops,
}
use Ends::{Fails, Is, Memory, NoResult, Stops};

const FAMILIES: &[&[Case]] = &[
    values::VALUES,
    texts::TEXTS,
    texts::BUFFERS,
    tables::TABLES,
    tables::NUMBERS,
    tables::ERRORS,
    tables::COROUTINES,
];

fn cases() -> impl Iterator<Item = &'static Case> {
    FAMILIES.iter().copied().flatten()
}

const MEMORY: usize = 16 << 20;

/// Only attacks that end by their time have little of it: all others must not depend on how busy the machine
/// is.
fn limits(memory: usize, ends: Ends) -> ScriptLimits {
    let time = match ends {
        Stops => Duration::from_millis(300),
        _ => Duration::from_secs(60),
    };
    ScriptLimits {
        memory,
        cpu: time,
        turn: time,
        pending: 64,
        output: 64 << 10,
        state: 16 << 10,
        json: 256 << 10,
        ..ScriptLimits::default()
    }
}

fn host() -> Arc<dyn Host> {
    Answers::new(|effect| {
        if effect.kind != EffectKind::Http {
            return world(effect);
        }
        let nested = |levels| (0..levels).fold(Value::Null, |inner, _| json!([inner]));
        Ok(match effect.request["url"].as_str() {
            Some("deep") => json!({"status": 200, "body": nested(500)}),
            Some("huge") => json!({"status": 200, "body": "x".repeat(1 << 20)}),
            Some("bytes") => json!({"status": 200, "body": {"$bytes": "AP8A"}}),
            Some("meta") => json!({"status": 200, "body": "", "__index": {"x": 1}}),
            _ => json!({"status": 200, "body": "", "list": [null, 1, null]}),
        })
    })
}

/// Scripts of one owner, in one VM of one lane.
struct House(Arc<Lanes>, Owner);

impl House {
    fn new() -> Self {
        let lanes = Lanes::new(1);
        Self(Arc::clone(&lanes), Owner::on(lanes))
    }

    /// Runs a script and returns `ok VALUE`, or code and message.
    async fn invoke(&self, source: &str, limits: ScriptLimits) -> String {
        let script = match self.1.compile("attack", source, Libraries::new()) {
            Ok(script) => script,
            Err(error) => return format!("{} {error}", error.code()),
        };
        let run = script.invoke(json!({}), host(), limits, CancellationToken::new());
        match run.await {
            Ok(value) => format!("ok {value}"),
            Err(error) => format!("{} {error}", error.code()),
        }
    }

    async fn attack(&self, (_, body, ends): &Case, memory: usize) -> String {
        let source = format!("leak = {{}} function invoke(ctx, args) \n{body}\nend -- state");
        self.invoke(&source, limits(memory, *ends)).await
    }

    /// Returns the damage to the VM after an attack: a script with little memory finds everything intact if
    /// there is none.
    async fn harm(&self) -> Option<String> {
        let said = self.invoke(HONEST, limits(1 << 20, Is(""))).await;
        let runs = self.0.runs();
        (said != HONEST_SAYS || runs != 0).then(|| format!("afterwards, with {runs} runs: {said}"))
    }
}

/// Uses each way in and out, allocates its own memory, and looks for data that others left.
const HONEST: &str = "function invoke(ctx, args)
    local kept = buffer.create(400000)
    local s = ctx.json.decode(ctx.json.encode({a = {1, 'b', ctx.json.null}, d = ctx.json.array({}), e = buffer.len(kept)}))
    local echo = ctx.await_all(ctx.invoke_async('t', {s}), ctx.async(function() return 1 end))
    local left = {leak, rawget(_G, 'leak'), getmetatable(args), getmetatable(_G) and next(_G, 'invoke')}
    return {echo.args, ('x'):rep(3):upper(), left[1] == nil and left[2] == nil and left[3] == nil}
end";
const HONEST_SAYS: &str = "ok [[{\"a\":[1,\"b\",null],\"d\":[],\"e\":400000}],\"XXX\",true]";

fn is_right(ends: Ends, said: &str) -> bool {
    let (code, text) = said.split_once(' ').unwrap_or((said, ""));
    match ends {
        Is(value) => code == "ok" && text == value,
        Fails(words) => code == "script_error" && text.contains(words),
        NoResult(words) => code == "result" && text.contains(words),
        Memory => code == "limit_memory",
        Stops => code.starts_with("limit_") || code == "script_error",
    }
}

/// Whether it ended for lack of memory: by the limit, or by an error for lack of space on a stack or in a
/// traversal.
fn is_in_want(said: &str) -> bool {
    let no_room = [
        "no memory to go through it",
        "not enough stack slots",
        "too many results",
    ];
    said.starts_with("limit_") || no_room.iter().any(|words| said.contains(words))
}

#[test]
fn there_are_many_and_each_is_another() {
    let names: BTreeSet<_> = cases().map(|(name, ..)| name).collect();
    let bodies: BTreeSet<_> = cases().map(|(_, body, _)| body).collect();
    let all = cases().count();
    assert_eq!((names.len(), bodies.len()), (all, all));
    assert!(all >= 300, "{all}");
}

#[tokio::test]
async fn every_attack_on_memory_ends_cleanly_and_leaves_nothing() {
    let house = House::new();
    let mut wrong = Vec::new();
    for case in cases() {
        let (name, _, ends) = case;
        let said = house.attack(case, MEMORY).await;
        if !is_right(*ends, &said) {
            wrong.push(format!("{name}: {said}\n    wanted: {ends:?}"));
        }
        wrong.extend(house.harm().await.map(|harm| format!("{name}: {harm}")));
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// The memory limits instead of [`MEMORY`]: less than a run takes, and sizes at which texts and tables grow.
const LITTLE: &[usize] = &[0, 1 << 10, 5_000, 16 << 10, 50_001, 100_000, 300_003, 1 << 20];

#[tokio::test]
async fn with_less_memory_an_attack_ends_the_same_or_for_want_of_it() {
    let house = House::new();
    let mut wrong = Vec::new();
    for case in cases() {
        let (name, _, ends) = case;
        for &memory in LITTLE {
            let said = house.attack(case, memory).await;
            if !is_right(*ends, &said) && !is_in_want(&said) {
                wrong.push(format!("{name}, with {memory} bytes: {said}"));
            }
        }
        wrong.extend(house.harm().await.map(|harm| format!("{name}: {harm}")));
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
