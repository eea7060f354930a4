//! Sandboxed Luau for tools and flows: every effect of a script goes through one interface. The page below is
//! `docs/LUAU.md`.
//!
//! # How the modules work together
//!
//! ```text
//!  Script ─ compiled once ─┐
//!  invoke.rs  the caller's side: performs effects by the Host, watches the time
//!      │  run_channel.rs  what a run begins with, says, and whether it shall stop
//!      │  inbox.rs        what a lane is told
//!      ▼
//!  lane_pool.rs, lane_worker/     threads, each with many runs in turns
//!      │  vm_pool.rs, vm_template.rs   VMs by owner, a few made ahead
//!      ▼
//!  vm.rs + run.rs   a run in a VM: its globals, what it has used, where it stands
//!      │  natives.rs, prelude.rs   what scripts are given
//!      │  value.rs, stack.rs       JSON to Luau and back, the only place with `unsafe`
//!      └  memory.rs, run_timer.rs  what it is charged with
//! ```
//!
//! Nothing in this crate reads a file, opens a connection or reads the time for a script: the [`Host`] does
//! all of that. Threads belong to this crate, futures to the caller.
//!
#![doc = include_str!("../../../docs/LUAU.md")]

#[cfg(test)]
mod costs;
mod decode;
mod encode;
mod error;
mod flat_part;
mod flat_value;
mod host;
mod inbox;
mod invoke;
mod lane_pool;
mod lane_worker;
mod libraries;
mod limits;
mod long_work;
mod memory;
mod natives;
mod owner;
mod prelude;
mod random;
mod reader;
mod run;
mod run_channel;
mod run_timer;
mod script;
mod spin_wait;
mod stack;
#[cfg(test)]
mod test_counts;
mod time;
mod value;
mod vm;
mod vm_exchange;
mod vm_pool;
mod vm_state;
mod vm_template;
mod wake_queue;

pub use error::{Reason, ScriptError, ScriptMistake};
pub use host::{BoxFuture, EffectError, EffectKind, EffectPlace, Host, HostEffect, Outcome};
pub use lane_pool::Lanes;
pub use libraries::Libraries;
pub use limits::{LimitExceeded, SOURCE_BYTES, ScriptLimits};
pub use owner::Owner;
pub use script::{Script, check};

/// Definitions of `ctx`, `rt` and the rest for editors and `--!strict` scripts: the text of `agentx.d.luau`.
#[must_use]
pub const fn types() -> &'static str {
    include_str!("luau/agentx.d.luau")
}
