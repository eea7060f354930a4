//! Performs the effects of a host that are not recorded.

use agentx_luau_tools::{BoxFuture, EffectError, HostEffect, Outcome};
use agentx_runtime::StepMetadata;
use agentx_types::EffectOutcome;

/// The outcome of a performed effect.
#[derive(Clone, Debug, PartialEq)]
pub struct PerformedEffect {
    /// The outcome for the run.
    pub outcome: Outcome,
    /// The metadata only for the record: the cost, and changes of a file.
    pub extras: StepMetadata,
}

impl From<Outcome> for PerformedEffect {
    fn from(outcome: Outcome) -> Self {
        Self {
            outcome,
            extras: StepMetadata::default(),
        }
    }
}

/// Performs effects for real. Every effect comes here at most once in the life of its call, except for one
/// that a crash cut off and that is harmless to repeat.
pub trait EffectPerformer: Send + Sync + 'static {
    /// Performs an effect. It is called in the order of the steps; the future is polled when the effect may
    /// begin. `again` means that a crash cut the effect off and it is repeated.
    fn perform(&self, effect: HostEffect, again: bool) -> BoxFuture<'static, PerformedEffect>;

    /// Waits until the effect is permitted or refused, before it is recorded as begun: a person may be asked.
    /// `None` if that needs no waiting; then [`Self::perform`] refuses.
    fn permit(&self, effect: &HostEffect) -> Option<BoxFuture<'static, Result<(), EffectError>>> {
        let _ = effect;
        None
    }

    /// Returns the outcome of an effect that ends at once: `emit`, `log`, `now`, `random`, `uuid`, `env`, and
    /// the values that a script keeps with its agent.
    fn at_once(&self, effect: &HostEffect) -> Outcome;

    /// Remembers an effect that is not performed, because its outcome is recorded.
    fn remember(&self, effect: &HostEffect, outcome: Option<&EffectOutcome>);

    /// Returns whether a tool may be called twice.
    fn repeatable(&self, tool: &str) -> bool;
}
