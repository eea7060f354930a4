//! When a run has to end. Limits are part of the configuration, so they can be raised while a run is under way.

use agentx_types::{Limits, NanoUsd, Usage};

/// What a run has used up so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    /// How often the model was answered with tool results.
    pub(crate) iterations: u32,
    /// Tokens of all model calls.
    pub(crate) usage: Usage,
    /// Money of all model calls.
    pub(crate) cost: NanoUsd,
}

/// A limit that is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reached {
    /// Stable, for programs.
    pub(crate) code: &'static str,
    /// For people and the model.
    pub(crate) message: String,
}

/// The limit that forbids another round of tools, if one does.
pub(crate) fn reached(limits: &Limits, spent: &Spent) -> Option<Reached> {
    if let Some(max) = limits.max_iterations
        && spent.iterations >= max
    {
        let message = format!("the limit of {max} tool rounds in one run is reached");
        return Some(Reached {
            code: "iteration_limit",
            message,
        });
    }
    let tokens = spent.usage.input_tokens
        + spent.usage.output_tokens
        + spent.usage.cache_read_tokens
        + spent.usage.cache_write_tokens;
    if let Some(max) = limits.max_tokens
        && tokens >= max
    {
        let message = format!("the limit of {max} tokens in one run is reached ({tokens} used)");
        return Some(Reached {
            code: "token_limit",
            message,
        });
    }
    if let Some(max) = limits.max_cost
        && spent.cost >= max
    {
        let message = format!(
            "the limit of {:.4} dollars in one run is reached ({:.4} spent)",
            max.as_usd(),
            spent.cost.as_usd()
        );
        return Some(Reached {
            code: "cost_limit",
            message,
        });
    }
    None
}

/// What the model is told when the end is near; once in a run: three rounds before it, or earlier than that for small limits.
pub(crate) fn warning(limits: &Limits, iterations: u32) -> Option<String> {
    let max = limits.max_iterations?;
    let early = 3.min(max / 2);
    let left = max.checked_sub(iterations)?;
    (early > 0 && left == early).then(|| {
        format!("[{left} tool rounds are left in this run, then no more tools can be used. Finish what matters and answer.]")
    })
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
                &Spent {
                    iterations,
                    ..Spent::default()
                },
            )
            .map(|r| r.code)
        };
        assert_eq!([at(0), at(1), at(2)], [None, None, Some("iteration_limit")]);
    }

    #[test]
    fn money_and_tokens_count() {
        let spent = Spent {
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
    fn the_model_is_warned_once_near_the_end() {
        let limits = Limits {
            max_iterations: Some(50),
            ..Limits::default()
        };
        let warned: Vec<u32> = (0..=50).filter(|i| warning(&limits, *i).is_some()).collect();
        assert_eq!(warned, [47]);
        assert!(
            warning(
                &Limits {
                    max_iterations: Some(1),
                    ..Limits::default()
                },
                0
            )
            .is_none()
        );
    }
}
