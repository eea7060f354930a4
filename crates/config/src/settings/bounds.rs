//! The valid ranges of the settings of model calls, of condensing, of loops and of quotas, for settings, new
//! sessions and changes of a session.

use agentx_types::{Condensing, ModelParams};

use crate::layers::getter::{SettingsGetter, mistake};
use crate::layers::value::{MOST_TEMPERATURE, Value};
use crate::mistake::ConfigMistake;

/// The longest answer or reasoning that may be asked for, in tokens: no model's is near it.
pub(crate) const MOST_TOKENS: u64 = 1_000_000_000;
/// The most exchanges that may be kept as they are.
pub(crate) const MOST_TAIL: u64 = 100_000;

/// The most equal calls that a setting may allow.
pub(crate) const MOST_REPETITIONS: u64 = 1_000_000;

/// The most slow requests of each kind that a person may have at once: a server reads the history of as many
/// at once on a machine with 16 processors.
pub(crate) const MOST_TURNS: u64 = 8;

/// The keys that are about such a value, with what it may be.
const KEYS: [(&str, u64, u64); 10] = [
    ("params.max_output_tokens", 1, MOST_TOKENS),
    ("params.thinking_tokens", 0, MOST_TOKENS),
    ("condense.at", 0, 100),
    ("condense.keep", 0, MOST_TAIL),
    ("stuck.nudge_after", 2, MOST_REPETITIONS),
    ("stuck.stop_after", 2, MOST_REPETITIONS),
    ("stuck.nudge_after_errors", 2, MOST_REPETITIONS),
    ("stuck.stop_after_errors", 2, MOST_REPETITIONS),
    ("quotas.visitor_share", 0, 100),
    ("quotas.turns", 1, MOST_TURNS),
];

/// Reports settings with a value out of range as mistakes.
pub(crate) fn check_keys(get: &SettingsGetter<'_>, mistakes: &mut Vec<ConfigMistake>) {
    for (key, least, most) in KEYS {
        let Some(set) = get.merged.sourced(key) else {
            continue;
        };
        if let Value::Count(count) = set.value
            && !(least..=most).contains(&count)
        {
            let what = format!("{key} is {count}; it may be {least} to {most}");
            mistakes.push(mistake(&set.origin, key, what, None));
        }
    }
}

/// Checks the settings of a model call.
///
/// # Errors
/// Returns the invalid value and its range.
pub fn check_params(params: &ModelParams) -> Result<(), String> {
    let temperature = params.temperature.unwrap_or_default();
    if !(0.0..=MOST_TEMPERATURE).contains(&temperature) {
        return Err(format!(
            "`temperature` is {temperature:?}; it may be 0 to {MOST_TEMPERATURE}"
        ));
    }
    let tokens = params.max_output_tokens.unwrap_or(1);
    if !(1..=MOST_TOKENS).contains(&tokens) {
        return Err(format!(
            "`max_output_tokens` is {tokens}; it may be 1 to {MOST_TOKENS}"
        ));
    }
    let thinking = params.thinking_tokens.unwrap_or_default();
    if thinking > MOST_TOKENS {
        return Err(format!(
            "`thinking_tokens` is {thinking}; it may be 0 to {MOST_TOKENS}"
        ));
    }
    Ok(())
}

/// Checks the settings of condensing.
///
/// # Errors
/// Returns the invalid value and its range.
pub fn check_condensing(condensing: Option<&Condensing>) -> Result<(), String> {
    let Some(condensing) = condensing else {
        return Ok(());
    };
    if condensing.at_percent > 100 {
        return Err(format!(
            "`at_percent` is {}; it may be 0 to 100",
            condensing.at_percent
        ));
    }
    if u64::from(condensing.tail) > MOST_TAIL {
        return Err(format!(
            "`tail` is {}; it may be 0 to {MOST_TAIL}",
            condensing.tail
        ));
    }
    for (name, count) in [
        ("masks", condensing.masks),
        ("masks_web", condensing.masks_web),
        ("recent", condensing.recent),
        ("summary_after", condensing.summary_after),
    ] {
        let count = count.map_or(0, u64::from);
        if count > MOST_TAIL {
            return Err(format!("`{name}` is {count}; it may be 0 to {MOST_TAIL}"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_make_no_sense_are_named_with_what_they_may_be() {
        let params = |temperature, max_output_tokens, thinking_tokens| ModelParams {
            temperature,
            max_output_tokens,
            thinking_tokens,
        };
        for good in [
            ModelParams::default(),
            params(Some(0.0), Some(1), Some(0)),
            params(Some(2.0), Some(MOST_TOKENS), Some(MOST_TOKENS)),
        ] {
            assert_eq!(check_params(&good), Ok(()));
        }
        for (bad, named) in [
            (params(Some(-5.0), None, None), "`temperature` is -5.0"),
            (params(Some(1e308), None, None), "`temperature` is 1e308"),
            (params(Some(f64::NAN), None, None), "`temperature` is NaN"),
            (params(None, Some(0), None), "`max_output_tokens` is 0"),
            (params(None, Some(u64::MAX), None), "`max_output_tokens` is 1844"),
            (params(None, None, Some(u64::MAX)), "`thinking_tokens` is 1844"),
        ] {
            let refused = check_params(&bad).unwrap_err();
            assert!(refused.starts_with(named), "{refused}");
        }
        let condensing = |at_percent, tail| Condensing {
            at_percent,
            tail,
            ..Condensing::default()
        };
        assert_eq!(check_condensing(None), Ok(()));
        assert_eq!(check_condensing(Some(&condensing(100, 100_000))), Ok(()));
        assert!(check_condensing(Some(&condensing(255, 8))).is_err());
        assert!(check_condensing(Some(&condensing(80, u32::MAX))).is_err());
        let endless = Condensing {
            recent: Some(u32::MAX),
            ..condensing(80, 8)
        };
        assert!(check_condensing(Some(&endless)).is_err());
    }
}
