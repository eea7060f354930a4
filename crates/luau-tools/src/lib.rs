//! Sandboxed Luau as tools and flows: every effect of a script through one door. The page below is
//! `docs/LUAU.md`.
//!
#![doc = include_str!("../../../docs/LUAU.md")]

#[cfg(test)]
mod costs;
mod decode;
mod encode;
mod error;
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
