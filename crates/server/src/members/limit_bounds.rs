//! Bounds on the limits of runs, for everybody but the operator.

use agentx_types::{Limits, NanoUsd};

/// Returns the limits that a change of somebody who is not the operator sets, in a session whose limits are those
/// `before`. A limit that is left out is taken from the settings. No limit may exceed the one in the settings, even if
/// the session already has a higher one. If the person does not own the session (`owns`), no limit may exceed the
/// current one either.
///
/// # Errors
/// Returns the first limit that is wider, with its bound, as text.
pub(crate) fn limits_of_change(
    owns: bool,
    before: Limits,
    settings: Limits,
    sent: Limits,
) -> Result<Limits, String> {
    let most = if owns { settings } else { before.within(settings) };
    if let Some(what) = wider_than(most, or_those_of(sent, most)) {
        return Err(what);
    }
    let asked = or_those_of(sent, settings);
    match wider_than(most, asked) {
        Some(what) => Err(format!(
            "{what}, and a limit that is left out counts as that of the server's settings"
        )),
        None => Ok(asked),
    }
}

/// Returns the first limit that is wider than `most`, with its bound, as text.
pub(crate) fn wider_than(most: Limits, after: Limits) -> Option<String> {
    let rounds = beyond(after.max_iterations, most.max_iterations).map(u64::from);
    let cost = beyond(after.max_cost, most.max_cost).map(|most| most.0);
    let found = [
        ("max_iterations", rounds, ""),
        ("max_tokens", beyond(after.max_tokens, most.max_tokens), ""),
        ("max_cost", cost, " billionths of a dollar"),
        (
            "max_wall_ms",
            beyond(after.max_wall_ms, most.max_wall_ms),
            " milliseconds",
        ),
    ];
    found
        .into_iter()
        .find_map(|(name, most, unit)| Some(format!("`limits.{name}` is at most {}{unit}", most?)))
}

/// Returns the bound of a limit that is wider than it.
fn beyond<T: Ord + Copy>(after: Option<T>, most: Option<T>) -> Option<T> {
    most.filter(|most| after.is_none_or(|after| after > *most))
}

/// Returns these limits, and where there is none that of the others.
fn or_those_of(limits: Limits, others: Limits) -> Limits {
    Limits {
        max_iterations: limits.max_iterations.or(others.max_iterations),
        max_tokens: limits.max_tokens.or(others.max_tokens),
        max_cost: limits.max_cost.or(others.max_cost),
        max_wall_ms: limits.max_wall_ms.or(others.max_wall_ms),
    }
}

/// Returns the wider limit of each pair.
pub(crate) fn widest(one: Limits, other: Limits) -> Limits {
    fn most<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
        Some(one?.max(other?))
    }
    Limits {
        max_iterations: most(one.max_iterations, other.max_iterations),
        max_tokens: most(one.max_tokens, other.max_tokens),
        max_cost: most::<NanoUsd>(one.max_cost, other.max_cost),
        max_wall_ms: most(one.max_wall_ms, other.max_wall_ms),
    }
}
