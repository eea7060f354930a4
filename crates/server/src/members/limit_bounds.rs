//! Bounds on the limits of runs, for everybody but the operator.

use std::iter;

use agentx_types::{AgentConfig, Limits, NanoUsd};

/// The reason for refusing answers with more tokens.
pub(crate) const MORE_TOKENS: &str = "`params` would allow answers more tokens";

/// Returns the limits that a change of somebody who is not the operator sets, in a session whose limits are
/// those `before`. A limit that is left out is taken from the settings. No limit may exceed the one in the
/// settings, even if the session already has a higher one. If the person does not own the session (`owns`),
/// no limit may exceed the current one either.
///
/// # Errors
/// Returns the first limit that is wider, with its bound, as text.
pub(crate) fn limits_of_change(
    owns: bool,
    before: Limits,
    settings: Limits,
    sent: Limits,
) -> Result<Limits, String> {
    let most = if owns {
        settings
    } else {
        before.stricter_limits(settings)
    };
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
    let rounds = exceeded_bound(after.max_iterations, most.max_iterations).map(u64::from);
    let cost = exceeded_bound(after.max_cost, most.max_cost).map(|most| most.0);
    let found = [
        ("max_iterations", rounds, ""),
        (
            "max_tokens",
            exceeded_bound(after.max_tokens, most.max_tokens),
            "",
        ),
        ("max_cost", cost, " billionths of a dollar"),
        (
            "max_wall_ms",
            exceeded_bound(after.max_wall_ms, most.max_wall_ms),
            " milliseconds",
        ),
    ];
    found
        .into_iter()
        .find_map(|(name, most, unit)| Some(format!("`limits.{name}` is at most {}{unit}", most?)))
}

/// Returns, as text, that this `params.max_output_tokens` would allow longer answers than the one before.
///
/// If it was not set, a request asked for the longest answer that is known of the model, or left the length
/// to the model's server. Then it has no bound that is known here, and any number may be more.
pub(crate) fn longer_answers(before: &AgentConfig, after: Option<u64>) -> Option<String> {
    let had = before.params.max_output_tokens;
    if after == had {
        return None;
    }
    let models = iter::once(&before.model).chain(&before.fallbacks);
    let unset = models.map(|model| model.api.speaks_messages().then(|| model.longest_answer(None)));
    match had.or_else(|| unset.min().flatten()) {
        None => Some(format!(
            "{MORE_TOKENS}: `params.max_output_tokens` is not set, so the model's server bounds an answer, perhaps by less"
        )),
        Some(most) => exceeded_bound(after, Some(most))
            .map(|most| format!("{MORE_TOKENS}: `params.max_output_tokens` is at most {most}")),
    }
}

/// Returns the bound of a limit that is wider than it.
fn exceeded_bound<T: Ord + Copy>(after: Option<T>, most: Option<T>) -> Option<T> {
    most.filter(|most| after.is_none_or(|after| after > *most))
}

/// Returns these limits, completed by those of the others.
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

#[cfg(test)]
mod tests {
    use agentx_testing::fixture;
    use agentx_types::{Api, ModelParams};

    use super::*;

    fn config(api: Api, fallback: Option<Api>, had: Option<u64>) -> AgentConfig {
        let mut config = fixture::config();
        let mut other = config.model.clone();
        config.model.api = api;
        config.fallbacks = fallback
            .map(|api| {
                other.api = api;
                other.max_output_tokens = 100;
                other
            })
            .into_iter()
            .collect();
        config.params = ModelParams {
            max_output_tokens: had,
            ..ModelParams::default()
        };
        config
    }

    #[test]
    fn a_length_of_answers_that_was_not_set_is_the_one_that_the_request_asked_for_or_unknown() {
        // The old value, the new value, and the bound, or zero if it is unknown.
        let messages = config(Api::Anthropic, None, None);
        let most = messages.model.longest_answer(None);
        let others = config(Api::OpenaiChat, None, None);
        let (small, unknown) = (
            config(Api::Anthropic, Some(Api::Anthropic), None),
            config(Api::Anthropic, Some(Api::OpenaiChat), None),
        );
        let set = config(Api::OpenaiChat, None, Some(200));
        for (before, after, bound) in [
            (&messages, Some(most), None),
            (&messages, Some(most + 1), Some(most)),
            (&small, Some(100), None),
            (&small, Some(101), Some(100)),
            (&unknown, Some(1), Some(0)),
            (&others, Some(1), Some(0)),
            (&others, Some(90_000), Some(0)),
            (&others, None, None),
            (&set, Some(200), None),
            (&set, Some(201), Some(200)),
            (&set, None, Some(200)),
        ] {
            let said = longer_answers(before, after);
            let case = (&before.params, after);
            match bound {
                None => assert_eq!(said, None, "{case:?}"),
                Some(0) => assert!(said.is_some_and(|said| said.contains("is not set")), "{case:?}"),
                Some(most) => assert!(
                    said.is_some_and(|said| said.ends_with(&format!("at most {most}"))),
                    "{case:?}"
                ),
            }
        }
    }
}
