//! The waiting time that a provider names only in its message.

use serde_json::{Map, Value};

use super::extracted::Extracted;

/// The words before the time, in lower case.
const BEFORE: &[&str] = &[
    "try again in ",
    "retry in ",
    "retry after ",
    "try again after ",
    "please wait ",
    "reset in ",
    "resets in ",
];

/// Milliseconds that a message asks to wait, if it does.
pub(super) fn in_words(message: &str) -> Option<u64> {
    let message = message.to_ascii_lowercase();
    BEFORE
        .iter()
        .filter_map(|phrase| message.split_once(phrase))
        .find_map(|(_, rest)| time(rest))
}

/// Reads the fields of an error object: Google's `RetryInfo` has `retryDelay: "4s"`
/// (<https://github.com/googleapis/googleapis/blob/master/google/rpc/error_details.proto>), OpenRouter passes
/// on `X-RateLimit-Reset` in `metadata.headers`, and ChatGPT has `resets_in_seconds` and `resets_at`, in
/// seconds since 1970 (<https://github.com/earendil-works/pi/issues/4172>).
pub(super) fn note_fields(object: &Map<String, Value>, into: &mut Extracted) {
    let delay = object.get("retryDelay").and_then(Value::as_str).and_then(time);
    into.wait_ms = into.wait_ms.or(delay);
    into.of_a_day |= names_a_day(object);
    let headers = object
        .get("metadata")
        .and_then(|metadata| metadata.get("headers"));
    let reset = headers.and_then(|headers| headers.get("X-RateLimit-Reset"));
    let reset = reset.and_then(|reset| reset.as_str().map_or_else(|| reset.as_u64(), time_or_delay_ms));
    into.resets_at_ms = into.resets_at_ms.or(reset.filter(|at| *at >= MILLIS));
    let seconds = |key: &str| object.get(key)?.as_u64()?.checked_mul(1_000);
    into.wait_ms = into.wait_ms.or_else(|| seconds("resets_in_seconds"));
    into.resets_at_ms = into.resets_at_ms.or_else(|| seconds("resets_at"));
}

/// Codes of a limit that lasts for hours: ChatGPT's, and those of Z.AI's plans for five hours, a week or a
/// month (<https://docs.z.ai/api-reference/api-code>).
const USED_UP: &[&str] = &[
    "usage_limit_reached",
    "1308",
    "1310",
    "1316",
    "1317",
    "1318",
    "1319",
    "1320",
    "1321",
];
/// Words for the same, in lower case: Z.AI "Usage limit reached for 5 hour. Your limit will reset at …", Kimi
/// "You've reached your usage limit for this billing cycle" (made up after its page), Cerebras "Tokens per
/// day limit exceeded".
const USED_UP_WORDS: &[&str] = &[
    "usage limit reached",
    "usage limit has been reached",
    "reached your usage limit",
    "per day limit exceeded",
];

/// Returns whether a limit is used up that lasts for hours, without a named waiting time.
pub(super) fn is_used_up(said: &Extracted) -> bool {
    let message = said.message.to_ascii_lowercase();
    let is_named = said.words.iter().any(|word| USED_UP.contains(&word.as_str()))
        || USED_UP_WORDS.iter().any(|words| message.contains(words));
    is_named && said.wait_ms.is_none() && said.resets_at_ms.is_none() && in_words(&message).is_none()
}

/// The words about a quota for a whole day: Gemini's "reset at midnight Pacific time"
/// (<https://ai.google.dev/gemini-api/docs/rate-limits>).
pub(super) const UNTIL_MIDNIGHT: &str =
    "this quota is one per day, which begins again at midnight Pacific time";

/// Returns whether Google's `QuotaFailure` names a quota of a day:
/// `GenerateRequestsPerDayPerProjectPerModel-FreeTier`. Nevertheless the `retryDelay` next to it is less than
/// a minute (<https://github.com/UKGovernmentBEIS/inspect_ai/issues/5526>).
fn names_a_day(object: &Map<String, Value>) -> bool {
    let violations = object.get("violations").and_then(Value::as_array);
    let ids = violations.into_iter().flatten();
    let mut ids = ids.filter_map(|violation| violation.get("quotaId")?.as_str());
    ids.any(|id| id.contains("PerDay"))
}

/// A point in time in milliseconds since 1970; smaller numbers are seconds, or a time to wait, depending on
/// the source.
pub(super) fn time_or_delay_ms(text: &str) -> Option<u64> {
    text.trim().parse().ok().filter(|at| *at >= MILLIS)
}

/// The year 2001.
const MILLIS: u64 = 1_000_000_000_000;

/// The time at the beginning of a text: numbers with their units, one after the other.
fn time(text: &str) -> Option<u64> {
    let mut rest = text;
    let mut sum = None;
    loop {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let Ok(number) = rest[..digits].parse::<f64>() else {
            return sum.map(|ms: f64| ms.ceil() as u64);
        };
        let after = rest[digits..].trim_start_matches(' ');
        let letters = after
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(after.len());
        let Some(unit) = millis(&after[..letters]) else {
            return sum.map(|ms: f64| ms.ceil() as u64);
        };
        sum = Some(sum.unwrap_or_default() + number * unit);
        rest = after[letters..].trim_start_matches(' ');
    }
}

/// Milliseconds of a unit.
fn millis(unit: &str) -> Option<f64> {
    Some(match unit {
        "ms" | "millisecond" | "milliseconds" => 1.0,
        "s" | "sec" | "secs" | "second" | "seconds" => 1_000.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60_000.0,
        "h" | "hour" | "hours" => 3_600_000.0,
        "d" | "day" | "days" => 86_400_000.0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::in_words;

    #[test]
    fn times_in_words_are_read() {
        for (message, expected) in [
            ("Please try again in 1.5s. Visit https://example.com", Some(1_500)),
            ("Please try again in 579ms.", Some(579)),
            ("Please try again in 1m0.363142857s.", Some(60_364)),
            ("Please retry in 34.074824224s.", Some(34_075)),
            ("Please retry after 26 seconds.", Some(26_000)),
            ("Try again in 1 hour 5 minutes", Some(3_900_000)),
            ("Please wait 62391 seconds before retrying.", Some(62_391_000)),
            (
                "Please wait 10 hours 58 minutes before trying again.",
                Some(39_480_000),
            ),
            (
                "Please wait for your limit to reset in 3 hours 49 minutes or",
                Some(13_740_000),
            ),
            ("try again in 8 s", Some(8_000)),
            ("Please wait a moment before trying again", None),
            ("Please try again in a moment", None),
            ("Please try again later", None),
            ("try again in 3 fortnights", None),
            ("try again in 1.2.3s", None),
            ("retry in ", None),
        ] {
            assert_eq!(in_words(message), expected, "{message}");
        }
    }
}
