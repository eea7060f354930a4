//! The choices of a random history: inputs, answers of models, ends of answers, and limits.

use agentx_types::*;

pub(crate) fn pick<T: Clone>(from: &[T], choice: u8) -> T {
    from[usize::from(choice) % from.len()].clone()
}

pub(crate) fn said(choice: u8) -> &'static str {
    pick(
        &[
            "play",
            "play it",
            "weather",
            "volume 5",
            "chess",
            "hm",
            "",
            "volume up",
        ],
        choice,
    )
}

/// Returns an answer of a model, for routers and for other agents.
pub(crate) fn answer(choice: u8) -> &'static str {
    pick(
        &[
            "play",
            "weather\nplay: title=x",
            "-",
            "I do not know",
            "chess",
            "volume: pct=1\nvolume: pct=2\nweather",
            "",
            "chess\nvolume: pct=loud, x=y",
        ],
        choice,
    )
}

pub(crate) fn reason(choice: u8) -> StopReason {
    use StopReason::*;
    pick(
        &[
            EndTurn,
            EndTurn,
            EndTurn,
            Broken,
            Interrupted,
            MaxTokens,
            ContextWindow,
            Refusal,
            PauseTurn,
        ],
        choice,
    )
}

pub(crate) fn limits(choice: u8) -> Limits {
    Limits {
        max_tokens: pick(&[None, Some(25), Some(0), None], choice),
        max_wall_ms: pick(&[None, Some(50), None, Some(1_000)], choice / 4),
        ..Limits::default()
    }
}

/// Returns the change of a waiting input; `None` withdraws it.
pub(crate) fn revised(choice: u8) -> Option<InputMode> {
    pick(
        &[
            None,
            Some(InputMode::Queue),
            Some(InputMode::Steer),
            Some(InputMode::Interrupt),
        ],
        choice,
    )
}
