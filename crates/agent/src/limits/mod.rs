//! Limits that end a run. They are part of the configuration, so they can be raised while a run is in
//! progress.
//!
//! A limit is reached when usage equals it. Work in progress finishes; the next model call is not made. Time
//! is not checked here: it is a timer of the run (`run_lifecycle/wall_time.rs`). Without a limit nothing ends
//! a run.

pub(crate) mod ancestor_budgets;
pub(crate) mod raise;
pub(crate) mod stop_cause;

use agentx_types::{Limits, NanoUsd, Usage};

/// The spending of a run until now, including that of its tools and of the agents below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunSpending {
    /// The number of times that the model was answered with tool results.
    pub(crate) iterations: u32,
    /// Tokens of all model calls.
    pub(crate) usage: Usage,
    /// Money of all model calls.
    pub(crate) cost: NanoUsd,
}

/// A limit that is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReachedLimit {
    /// The code for programs; it is stable.
    pub(crate) code: &'static str,
    /// The message for people and the model.
    pub(crate) message: String,
}

/// The limit that forbids another round of tools, if one does.
///
/// | limit | code | compared with |
/// | --- | --- | --- |
/// | `max_iterations` | `iteration_limit` | rounds of tools in the run |
/// | `max_tokens` | `token_limit` | the tokens of all its model calls |
/// | `max_cost` | `cost_limit` | their price |
///
/// Rounds come first: if two limits are reached, this one is named.
///
/// | `max_iterations` | rounds so far | result |
/// | --- | --- | --- |
/// | 2 | 1 | `None` |
/// | 2 | 2 | `iteration_limit` |
/// | 0 | 0 | `iteration_limit` |
/// | none | any | `None`, if the other limits are not reached |
pub(crate) fn reached(limits: &Limits, spent: &RunSpending) -> Option<ReachedLimit> {
    if let Some(max) = limits.max_iterations
        && spent.iterations >= max
    {
        let message = format!("the limit of {max} tool rounds in one run is reached");
        return Some(ReachedLimit {
            code: "iteration_limit",
            message,
        });
    }
    used_up(limits, spent, None)
}

/// The limit that forbids another model call, with or without tools.
///
/// Tokens are those that a provider counts for the context (`context_tokens`), of all calls together. `whose`
/// names the agent with these limits, if it is not the reader of the message.
pub(crate) fn used_up(limits: &Limits, spent: &RunSpending, whose: Option<&str>) -> Option<ReachedLimit> {
    let run = whose.map_or_else(|| "one run".to_owned(), |name| format!("one run of agent {name}"));
    let tokens = spent.usage.context_tokens();
    if let Some(max) = limits.max_tokens
        && tokens >= max
    {
        let message = format!("the limit of {max} tokens in {run} is reached ({tokens} used)");
        return Some(ReachedLimit {
            code: "token_limit",
            message,
        });
    }
    if let Some(max) = limits.max_cost
        && spent.cost >= max
    {
        let message = format!(
            "the limit of {:.4} dollars in {run} is reached ({:.4} spent)",
            max.as_usd(),
            spent.cost.as_usd()
        );
        return Some(ReachedLimit {
            code: "cost_limit",
            message,
        });
    }
    None
}

/// The number of rounds that are left, if the model should know that the end is near.
///
/// That is the case for the last three rounds, or for the last half of a limit below six, and never if
/// nothing is left.
///
/// | limit | rounds after which the model is warned | value |
/// | --- | --- | --- |
/// | 50 | 47, 48, 49 | 3, 2, 1 |
/// | 5 | 3, 4 | 2, 1 |
/// | 2 | 1 | 1 |
/// | 1, 0, none | – | – |
pub(crate) fn near_end(limits: &Limits, iterations: u32) -> Option<u32> {
    let max = limits.max_iterations?;
    let left = max.checked_sub(iterations)?;
    (1..=3.min(max / 2)).contains(&left).then_some(left)
}

/// The warning to the model when the end is near.
pub(crate) fn warning(left: u32) -> String {
    let rounds = if left == 1 {
        "1 tool round is".to_owned()
    } else {
        format!("{left} tool rounds are")
    };
    format!("[{rounds} left in this run, then no more tools can be used. Finish what matters and answer.]")
}

/// The note to the model about tokens, money and time that are nearly used up: what is left of each limit of
/// which at most a fifth is left. `None` if none is so near, or it is reached. `used_ms` is the time of the
/// run.
///
/// | `max_tokens` | used | note |
/// | --- | --- | --- |
/// | 100 | 79 | `None` |
/// | 100 | 80 | `20 of 100 tokens are left …` |
/// | 100 | 100 | `None` |
pub(crate) fn budget_note(limits: &Limits, spent: &RunSpending, used_ms: u64) -> Option<String> {
    let left = |max: Option<u64>, used: u64| {
        let max = max?;
        let left = max
            .checked_sub(used)
            .filter(|left| *left > 0 && *left <= max / 5)?;
        Some((left, max))
    };
    let usd = |nano: u64| NanoUsd(nano).as_usd();
    let tokens = left(limits.max_tokens, spent.usage.context_tokens())
        .map(|(left, max)| format!("{left} of {max} tokens"));
    let cost = left(limits.max_cost.map(|max| max.0), spent.cost.0)
        .map(|(left, max)| format!("{:.4} of {:.4} dollars", usd(left), usd(max)));
    let time = left(limits.max_wall_ms, used_ms)
        .map(|(left, max)| format!("{} of {} seconds", left.div_ceil(1_000), max.div_ceil(1_000)));
    let all: Vec<String> = tokens.into_iter().chain(cost).chain(time).collect();
    (!all.is_empty()).then(|| {
        format!(
            "[{} are left in this run, and no model is asked beyond that. Finish what matters and answer.]",
            all.join(" and ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_fifth_of_each_budget_is_told() {
        let limits = Limits {
            max_tokens: Some(100),
            max_cost: Some(NanoUsd(1_000_000_000)),
            max_wall_ms: Some(60_000),
            ..Limits::default()
        };
        let told = |tokens, cost, used_ms| {
            let spent = RunSpending {
                iterations: 0,
                usage: Usage {
                    input_tokens: tokens,
                    ..Usage::default()
                },
                cost: NanoUsd(cost),
            };
            budget_note(&limits, &spent, used_ms).unwrap_or_default()
        };
        assert_eq!(told(79, 0, 0), "");
        assert!(told(80, 0, 0).starts_with("[20 of 100 tokens are left in this run"));
        assert_eq!(told(100, 0, 0), "", "a limit that is reached ends the run");
        let all = told(99, 900_000_000, 48_000);
        assert!(
            all.starts_with("[1 of 100 tokens and 0.1000 of 1.0000 dollars and 12 of 60 seconds are left"),
            "{all}"
        );
        assert!(budget_note(&Limits::default(), &RunSpending::default(), 9).is_none());
    }

    #[test]
    fn the_round_after_the_last_is_refused() {
        let limits = Limits {
            max_iterations: Some(2),
            ..Limits::default()
        };
        let at = |iterations| {
            reached(
                &limits,
                &RunSpending {
                    iterations,
                    ..RunSpending::default()
                },
            )
            .map(|r| r.code)
        };
        assert_eq!([at(0), at(1), at(2)], [None, None, Some("iteration_limit")]);
    }

    #[test]
    fn money_and_tokens_count() {
        let spent = RunSpending {
            cost: NanoUsd(5),
            usage: Usage {
                input_tokens: 7,
                ..Usage::default()
            },
            iterations: 0,
        };
        let code = |limits| reached(&limits, &spent).map(|r| r.code);
        assert_eq!(
            code(Limits {
                max_cost: Some(NanoUsd(5)),
                ..Limits::default()
            }),
            Some("cost_limit")
        );
        assert_eq!(
            code(Limits {
                max_tokens: Some(7),
                ..Limits::default()
            }),
            Some("token_limit")
        );
        assert_eq!(
            code(Limits {
                max_tokens: Some(8),
                ..Limits::default()
            }),
            None
        );
    }

    #[test]
    fn the_end_is_near_in_the_last_rounds() {
        let near = |max: u32| -> Vec<u32> {
            let limits = Limits {
                max_iterations: Some(max),
                ..Limits::default()
            };
            (0..=max).filter(|i| near_end(&limits, *i).is_some()).collect()
        };
        assert_eq!(near(50), [47, 48, 49]);
        assert_eq!(near(2), [1]);
        assert!(near(1).is_empty() && near(0).is_empty());
        assert!(near_end(&Limits::default(), 9).is_none());
    }

    #[test]
    fn absurd_usage_does_not_overflow() {
        let usage = Usage {
            input_tokens: u64::MAX,
            output_tokens: u64::MAX,
            ..Usage::default()
        };
        let limits = Limits {
            max_tokens: Some(1),
            ..Limits::default()
        };
        let spent = RunSpending {
            usage,
            ..RunSpending::default()
        };
        assert_eq!(reached(&limits, &spent).map(|r| r.code), Some("token_limit"));
    }
}
