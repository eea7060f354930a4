//! The world behind a host: performs what is not on record.

use agentx_luau_tools::{BoxFuture, EffectError, HostEffect, Outcome};
use agentx_runtime::Extras;
use agentx_types::EffectOutcome;

/// What an effect came to in the world.
#[derive(Clone, Debug, PartialEq)]
pub struct PerformedEffect {
    /// For the run.
    pub outcome: Outcome,
    /// For the record alone: what it cost, what it made of a file.
    pub also: Extras,
}

impl From<Outcome> for PerformedEffect {
    fn from(outcome: Outcome) -> Self {
        Self {
            outcome,
            also: Extras::default(),
        }
    }
}

/// Performs effects for real. Every effect comes here at most once in the life of its call, but for one that a crash cut off
/// and that is harmless to repeat.
pub trait World: Send + Sync + 'static {
    /// Performs an effect. It is called in the order of the steps; the future is polled when the effect may begin. `again` says
    /// that a crash cut it off and it is done anew.
    fn perform(&self, effect: HostEffect, again: bool) -> BoxFuture<'static, PerformedEffect>;

    /// Waits until it is known whether the effect may be performed, before it is on record as begun: a person may be asked. `None` where
    /// that needs no waiting; then [`Self::perform`] says what is refused.
    fn permit(&self, effect: &HostEffect) -> Option<BoxFuture<'static, Result<(), EffectError>>> {
        let _ = effect;
        None
    }

    /// What comes of an effect that is over at once: `emit`, `log`, `now`, `random`, `uuid`, `env`,
    /// and what a script keeps with its agent.
    fn at_once(&self, effect: &HostEffect) -> Outcome;

    /// Takes note of an effect that is not performed, because its outcome is on record.
    fn remember(&self, effect: &HostEffect, outcome: Option<&EffectOutcome>);

    /// Whether a tool may be called twice.
    fn repeatable(&self, tool: &str) -> bool;
}
