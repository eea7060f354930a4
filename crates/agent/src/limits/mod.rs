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

#[cfg(test)]
mod tests {
    use super::*;

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
