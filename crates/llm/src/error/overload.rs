//! Recognises an overload that a server or a gateway reports as its own failure (500, 502, …): words about
//! load, capacity or a time limit. Such a failure ends on its own, while a 500 without such words may be the
//! refusal of a request.
//!
//! Anthropic's servers answer with a 500 `api_error` "Internal server error" while they fail
//! (<https://platform.claude.com/docs/en/api/errors>), and a gateway passes these words on. Servers of other
//! makers that know Anthropic's API use the type for anything, but with words of their own.

use super::Extracted;

/// Pieces of messages and of types, in lower case, with spaces for underscores.
const PHRASES: &[&str] = &[
    "overloaded",
    "server overload",
    "system overload",
    "high demand",
    "high load",
    "heavy load",
    "over capacity",
    "at capacity",
    "full capacity",
    "max capacity",
    "maximum capacity",
    "no capacity",
    "out of capacity",
    "not enough capacity",
    "insufficient capacity",
    "lack of capacity",
    "capacity exceeded",
    "capacity exhausted",
    "capacity constraints",
    "queue is full",
    "service unavailable",
    "serviceunavailable",
    "temporarily unavailable",
    "timed out",
    "timeout",
    "time-out",
    "deadline exceeded",
];

/// Anthropic's type and message of a failure.
const INTERNAL: (&str, &str) = ("api_error", "internal server error");

/// Returns whether a 5xx reports an overload. `message` is the provider's, in lower case.
pub(super) fn is_overload(status: Option<u16>, extracted: &Extracted, message: &str) -> bool {
    let is_failure = status.is_some_and(|status| (500..600).contains(&status));
    let (kind, words) = INTERNAL;
    let is_internal = || message.trim() == words && extracted.words.iter().any(|word| word == kind);
    is_failure
        && (names_load(message)
            || extracted
                .words
                .iter()
                .any(|word| names_load(&word.replace('_', " ")))
            || is_internal())
}

fn names_load(text: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_alphanumeric());
    PHRASES.iter().any(|phrase| text.contains(phrase)) || words.any(|word| word == "busy")
}
