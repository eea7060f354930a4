//! Sandboxed Luau for tools and flows: every effect of a script goes through one interface. The page below is
//! `docs/LUAU.md`.
//!
//! # How the modules work together
//!
//! ```text
//!  script/, compile/  made once ─┐
//!  invoke.rs  the caller's side: performs effects by the Host, watches the time
//!      │  run/run_channel.rs  what a run begins with, says, and whether it shall stop
//!      │  waiting/            how the caller waits, and is woken
//!      │  lanes/inbox.rs, lanes/lane_command.rs   what a lane is told
//!      ▼
//!  lanes/lane_pool.rs, lanes/lane_worker/   threads, each with many runs in turns
//!      │  lanes/lane_set.rs           whose runs have which thread
//!      │  lanes/turn_queue.rs         who has the next turn: the person, and the run, that used least
//!      │  vm/pool.rs, vm/template.rs  VMs by owner, a few made ahead
//!      ▼
//!  vm/ + run/   a run in a VM: its globals, what it has used, where it stands
//!      │  vm/natives.rs, vm/prelude.rs     what scripts are given
//!      │  json/                            JSON outside of a VM: text, and flat values between threads
//!      │  value/, stack.rs                 JSON to Luau and back, the only place with `unsafe`
//!      │  exchange.rs                      the value on its way, and when a safepoint has work
//!      └  vm/memory.rs, run/run_timer.rs   what it is charged with
//! ```
//!
//! Nothing in this crate reads a file, opens a connection or reads the time for a script: the [`Host`] does
//! all of that. Threads belong to this crate, futures to the caller.
//!
#![doc = include_str!("../../../docs/LUAU.md")]

mod compile;
#[cfg(test)]
mod cost_tests;
mod error;
mod exchange;
mod host;
mod invoke;
mod json;
mod lanes;
mod limits;
mod run;
mod script;
mod stack;
#[cfg(test)]
mod test_counts;
mod value;
mod vm;
mod waiting;

pub use compile::compiler::check;
pub use compile::libraries::Libraries;
pub use error::{Reason, ScriptError, ScriptMistake};
pub use host::{BoxFuture, EffectError, EffectKind, EffectPlace, Host, HostEffect, Outcome};
pub use lanes::lane_pool::Lanes;
pub use limits::{LimitExceeded, SOURCE_BYTES, ScriptLimits};
pub use script::Script;
pub use script::owner::Owner;

/// Definitions of `ctx`, `rt` and the rest for editors and `--!strict` scripts: the text of `agentx.d.luau`.
#[must_use]
pub const fn types() -> &'static str {
    include_str!("luau/agentx.d.luau")
}
