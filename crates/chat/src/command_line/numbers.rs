//! Parsers of numbers on the command line, whose errors say what is expected.

use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

use agentx::config::parse_duration;

/// The message of [`count`] and its neighbours about any other input.
const WANTED: &str = "expected a whole number from 1";

/// Reads a whole number from 1.
///
/// # Errors
/// Returns the expected form.
pub fn count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err(WANTED.into()),
        Ok(count) => Ok(count),
    }
}

/// Reads a limit of a server: a whole number from 1.
///
/// # Errors
/// Returns the expected form.
pub fn at_least_one(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| WANTED.into())
}

/// Reads a rate: a whole number from 1.
///
/// # Errors
/// Returns the expected form.
pub fn rate(text: &str) -> Result<NonZeroU32, String> {
    text.parse().map_err(|_| WANTED.into())
}

/// Reads a whole number from 1, or `all`.
///
/// # Errors
/// Returns the expected form.
pub fn count_or_all(text: &str) -> Result<usize, String> {
    match text {
        "all" => Ok(usize::MAX),
        text => count(text).map_err(|_| "expected a whole number from 1, or `all`".into()),
    }
}

/// Reads a time with its units, such as `90s`, `10m`, `2h`, `30d` or `4w`, at most a year; `0` is no time at
/// all.
///
/// # Errors
/// Returns the expected form.
pub fn time(text: &str) -> Result<Duration, String> {
    let wrong = || "expected a time such as 90s, 10m, 2h, 30d or 4w, at most a year".to_owned();
    let millis = if text == "0" {
        Some(0)
    } else {
        parse_duration(text)
    };
    let time = Duration::from_millis(millis.ok_or_else(wrong)?);
    (time <= LONGEST).then_some(time).ok_or_else(wrong)
}

/// Maximum time: a year.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

/// Reads the number of an event; the session decides later whether there is one.
///
/// # Errors
/// Returns the expected form.
pub fn event(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| "expected the number of an event, counted from 1".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_at_least_one() {
        assert_eq!(at_least_one("7").map(NonZeroUsize::get), Ok(7));
        assert_eq!(rate("7").map(NonZeroU32::get), Ok(7));
        for wrong in ["0", "-1", "x", ""] {
            assert_eq!(at_least_one(wrong), Err(WANTED.to_owned()), "{wrong}");
            assert_eq!(rate(wrong), Err(WANTED.to_owned()), "{wrong}");
        }
    }

    #[test]
    fn a_time_has_a_unit() {
        for (text, seconds) in [
            ("0", 0),
            ("90s", 90),
            ("10m", 600),
            ("2h", 7200),
            ("1h30m", 5400),
            ("90d", 7_776_000),
            ("4w", 2_419_200),
        ] {
            assert_eq!(time(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in [
            "",
            "10",
            "m",
            "367d",
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
