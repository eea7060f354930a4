//! Sandboxed Luau as tools and flows: every effect of a script through one door. The page below is `docs/LUAU.md`.
//!
#![doc = include_str!("../../../docs/LUAU.md")]

#[cfg(test)]
mod costs;
#[cfg(test)]
mod counted;
mod decode;
mod encode;
mod error;
mod flat;
mod hatch;
mod host;
mod inbox;
mod invoke;
mod lane;
mod lanes;
mod libraries;
mod limits;
mod line;
mod looks;
mod memory;
mod natives;
mod owner;
mod pieces;
mod prelude;
mod prepared;
mod random;
mod reader;
mod run;
mod script;
mod shared;
mod stack;
mod time;
mod value;
mod vm;
mod vms;
mod wakes;
mod watch;

pub use error::{Reason, ScriptError, ScriptMistake};
pub use host::{BoxFuture, Effect, EffectError, EffectKind, EffectPlace, Host, Outcome};
pub use lanes::Lanes;
pub use libraries::Libraries;
pub use limits::{Limit, Limits, SOURCE_BYTES};
pub use owner::Owner;
pub use script::{Script, check};

/// Definitions of `ctx`, `rt` and the rest for editors and `--!strict` scripts: the text of `agentx.d.luau`.
#[must_use]
pub const fn types() -> &'static str {
    include_str!("luau/agentx.d.luau")
}
