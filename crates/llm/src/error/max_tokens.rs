//! Recognises that a provider refuses the requested maximum length of an answer, and finds the length that it
//! allows.
//!
//! Sources of the words: Anthropic ("max_tokens: 128000 > 64000, which is the maximum allowed number of
//! output tokens"), OpenAI ("max_tokens is too large: 32000. This model supports at most 16384 completion
//! tokens", <https://github.com/ChatGPTNextWeb/NextChat/issues/3195>), Groq ("`max_tokens` must be less than
//! or equal to `8192`"), DeepSeek and DashScope ("the valid range of max_tokens is [1, 8192]", "Range of
//! max_tokens should be [1, 8192]"), Volcano ("expected a value <= 12288",
//! <https://github.com/Gitlawb/openclaude/issues/331>), Bedrock ("The maximum tokens you requested exceeds
//! the model limit of 8192"), Gemini ("the supported range is from 1 (inclusive) to 8193 (exclusive)",
//! <https://github.com/stackblitz-labs/bolt.diy/issues/955>). Servers that count the answer as part of the
//! window name the size of the input: see [`super::overflow`].

use super::ErrorCode;
use super::overflow::number_after;

/// Returns whether a message, in lower case, is about the longest answer.
pub(super) fn is_max_tokens_refusal(message: &str) -> bool {
    const NAMES: &[&str] = &[
        "max_tokens",
        "max_completion_tokens",
        "max_output_tokens",
        "maxtokens",
        "maxoutputtokens",
        "maximum tokens you requested",
        "maximum allowed number of output tokens",
    ];
    const WRONG: &[&str] = &[
        "too large",
        "maximum allowed",
        "at most",
        "less than",
        "range",
        "maximum value",
        "<=",
        "exceeds the model limit",
    ];
    let has = |pieces: &[&str]| pieces.iter().any(|piece| message.contains(piece));
    has(NAMES) && has(WRONG) && !has(&["exceed context limit", "budget_tokens", "reasoning.max_tokens"])
}

/// Returns the allowed maximum length of an answer in tokens, if the refusal is about it and names it.
pub(super) fn allowed(code: ErrorCode, message: &str) -> Option<u64> {
    let message = message.to_ascii_lowercase();
    if code != ErrorCode::BadRequest || !is_max_tokens_refusal(&message) {
        return None;
    }
    let after = |phrase: &str| number_after(&message, phrase);
    let below = || {
        let first_too_large = after("must be less than ").or_else(|| after("(inclusive) to "));
        first_too_large.map(|number| number.saturating_sub(1))
    };
    let named = || {
        [
            "at most ",
            "or equal to `",
            "or equal to ",
            "<= ",
            "[1, ",
            "[1,",
            " > ",
            "limit of ",
        ]
        .iter()
        .find_map(|phrase| after(phrase))
    };
    named().or_else(below).filter(|tokens| *tokens > 0)
}
