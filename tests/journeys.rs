//! Journeys over the real program and a model server on a real socket: in each state of a run it is
//! interrupted, and killed and started again; tools and servers misbehave; the world around it is broken. The
//! tests check the output for people and for programs, and that the session continues.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "journeys/bound_thinking.rs"]
mod bound_thinking;
#[path = "journeys/condensing.rs"]
mod condensing;
#[path = "journeys/faults.rs"]
mod faults;
#[path = "journeys/interrupts.rs"]
mod interrupts;
#[path = "journeys/library.rs"]
mod library;
#[path = "journeys/loops.rs"]
mod loops;
#[path = "journeys/restarts.rs"]
mod restarts;
#[path = "journeys/tools.rs"]
mod tools;
#[path = "journeys/worlds.rs"]
mod worlds;

use agentx::runtime::SessionLog as _;
use agentx::sqlite_log::{LogOptions, SqliteLog};
use agentx::types::SessionId;
use agentx_tests::{Ran, World};
use serde_json::Value;

/// All facts of the session that the program spoke of.
fn facts(world: &World, ran: &Ran) -> Vec<Value> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let session = SessionId::new(ran.session());
    let log = SqliteLog::open(world.data().join(agentx::node::DATABASE), LogOptions::default()).unwrap();
    let facts = runtime.block_on(log.read(&session, 0, usize::MAX)).unwrap();
    facts
        .iter()
        .map(|fact| serde_json::to_value(&**fact).unwrap())
        .collect()
}

/// The statuses of the results of a call that are in these facts.
fn results_of(facts: &[Value], call: &str) -> Vec<String> {
    let results = facts
        .iter()
        .filter(|fact| fact["event"] == "tool_result" && fact["payload"]["tool_call_id"] == call);
    results
        .map(|fact| fact["payload"]["status"].as_str().unwrap().to_owned())
        .collect()
}

/// The names of these facts.
fn names(facts: &[Value]) -> Vec<&str> {
    facts.iter().map(|fact| fact["event"].as_str().unwrap()).collect()
}
