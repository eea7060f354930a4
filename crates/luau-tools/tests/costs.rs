//! Every function of the library, with arguments as large as memory allows, in a loop that continues after
//! errors: the script ends by a limit, and a neighbour in the same VM still succeeds. The time that the
//! neighbour waits is tested in `src/lanes/lane_worker/turn_tests.rs`, where a test can count turns.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "costs/table.rs"]
mod table;

use std::time::Duration;

use crate::support::{Answers, world};
use agentx_luau_tools::{Lanes, Libraries, Owner, ScriptLimits};
use serde_json::json;
use table::COSTS;
use tokio_util::sync::CancellationToken;

/// The body for functions that have none in the table.
const LARGE: &str = "local f, text, list = NAME, ('a'):rep(1e6), table.create(1e5, 1)
    for _, call in {
        function() f(text) end, function() f(list) end, function() f(text, text) end, function() f(list, 1, 1e9) end,
        function() f(table.unpack(list)) end, function() f(1e308, -1e308, 1 / 0) end, function() f(rt, text) end,
    } do pcall(call) end";

fn bodies() -> Vec<String> {
    let generic = |names: &str| {
        let names = names.split(' ').filter(|name| !name.ends_with('*'));
        names.map(|name| LARGE.replace("NAME", name)).collect()
    };
    let all = COSTS.iter().map(|(_, names, bodies)| match bodies {
        [] => generic(names),
        bodies => bodies.iter().map(|&body| body.to_owned()).collect::<Vec<_>>(),
    });
    all.flatten().collect()
}

fn limits() -> ScriptLimits {
    ScriptLimits {
        cpu: Duration::from_millis(60),
        wall: Duration::from_secs(20),
        requests: 50,
        effects: 200,
        ..ScriptLimits::default()
    }
}

/// Waits often, so that its turn comes while the other computes.
const NEIGHBOUR: &str = "function invoke(ctx) for _ = 1, 8 do ctx.sleep(0.002) end return 'done' end";

async fn invoke(owner: &Owner, text: &str, limits: ScriptLimits) -> String {
    let script = owner.compile("x", text, Libraries::new()).unwrap();
    let run = script.invoke(json!({}), Answers::new(world), limits, CancellationToken::new());
    match run.await {
        Ok(value) => value.to_string(),
        Err(error) => error.code(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_function_in_a_loop_ends_by_a_limit_and_its_neighbour_succeeds() {
    let owner = Owner::on(Lanes::new(1));
    let mut wrong = Vec::new();
    for body in bodies() {
        let neighbour = {
            let owner = owner.clone();
            tokio::spawn(async move { invoke(&owner, NEIGHBOUR, ScriptLimits::default()).await })
        };
        let text =
            format!("function invoke(ctx) while true do pcall(function() {body} end) end end -- state");
        let code = invoke(&owner, &text, limits()).await;
        let beside = neighbour.await.unwrap();
        if !code.starts_with("limit_") || beside != "\"done\"" {
            wrong.push(format!("{code}, its neighbour {beside}: {body}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
