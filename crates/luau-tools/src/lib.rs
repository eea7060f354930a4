//! Sandboxed Luau for tools and flows.

mod host;
mod limits;

pub use host::{BoxFuture, Effect, EffectError, EffectKind, Host, Outcome};
pub use limits::{Limit, Limits, SOURCE_BYTES};
