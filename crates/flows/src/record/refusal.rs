//! The outcome of a step that asked no model: the reason, which a repetition reads again.

use agentx_luau_tools::EffectError;
use agentx_types::EffectOutcome;

/// Instead of an answer: the reason why the model was not called.
pub(crate) const REFUSED: &str = "refused";

/// Returns the recorded reason why the model was not called.
pub(crate) fn refusal(recorded: Option<&EffectOutcome>) -> Option<EffectError> {
    match recorded {
        Some(EffectOutcome::Done(value)) => EffectError::from_value(value.get(REFUSED)?),
        _ => None,
    }
}
