//! Numbers of the command line, refused in words that say what was wanted.

use std::time::Duration;

/// How many of something: one at least.
pub(crate) fn count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("expected a whole number from 1".into()),
        Ok(count) => Ok(count),
    }
}

/// How many of something, or `all` of them.
pub(crate) fn count_or_all(text: &str) -> Result<usize, String> {
    match text {
        "all" => Ok(usize::MAX),
        text => count(text).map_err(|_| "expected a whole number from 1, or `all`".into()),
    }
}

/// A time with its unit, as in `90s`, `10m` or `2h`; `0` is none.
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    let wrong = || "expected a time such as 90s, 10m or 2h".to_owned();
    let digits = text.trim_end_matches(|char: char| char.is_ascii_alphabetic());
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    let seconds = match &text[digits.len()..] {
        "" if number == 0 => 1,
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return Err(wrong()),
    };
    let seconds = number.checked_mul(seconds).filter(|seconds| *seconds <= LONGEST);
    seconds.map(Duration::from_secs).ok_or_else(wrong)
}

/// The longest time that somebody may name, in seconds: a year.
const LONGEST: u64 = 366 * 24 * 3600;

/// The number of an event. Which there are is for the session to say.
pub(crate) fn event(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| "expected the number of an event, counted from 1".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_unit() {
        for (text, seconds) in [("0", 0), ("90s", 90), ("10m", 600), ("2h", 7200)] {
            assert_eq!(time(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in [
            "",
            "10",
            "m",
            "1d",
            "-1s",
            "1.5h",
            "99999999999999999999s",
            "999999h",
            "10 m",
        ] {
            assert!(time(text).is_err(), "{text}");
        }
    }
}
