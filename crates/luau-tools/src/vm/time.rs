//! `parse_time`: a date of ISO 8601 as seconds since 1970. Pure, so it is not an effect.
//!
//! Years are those of the Gregorian calendar, even before its introduction. A date without a zone is in UTC,
//! because a script must not see where its host runs. Leap seconds are ignored.

/// The maximum number of bytes of a date: a longer text is none, and is not read.
const LONGEST: usize = 256;

/// The same as [`parse`], for bytes that may be no text.
pub(crate) fn parse_bytes(bytes: &[u8]) -> Option<f64> {
    (bytes.len() <= LONGEST).then_some(())?;
    parse(std::str::from_utf8(bytes).ok()?)
}

/// `2024-01-01`, `2024-01-01T08:00:00`, `…:00.5Z`, `…+08:00`; a space may stand for `T`. `None` for anything
/// else.
fn parse(text: &str) -> Option<f64> {
    let text = text.trim();
    let (date, rest) = (text.get(..10)?, text.get(10..)?);
    let mut parts = date.split('-');
    let (year, month, day) = (
        number(parts.next()?, 4)?,
        number(parts.next()?, 2)?,
        number(parts.next()?, 2)?,
    );
    let valid = (1..=12).contains(&month) && (1..=days_in(year, month)).contains(&day);
    if !valid {
        return None;
    }
    #[allow(clippy::cast_precision_loss, reason = "a few million days")]
    let days = days_since_1970(year, month, day) as f64;
    let seconds = match rest.chars().next() {
        None => 0.0,
        Some('T' | 't' | ' ') => clock(rest.get(1..)?)?,
        Some(_) => return None,
    };
    Some(days * 86_400.0 + seconds)
}

/// `hh:mm[:ss[.fraction]][Z|±hh[:]mm]` as seconds.
fn clock(text: &str) -> Option<f64> {
    let at = text.find(['Z', 'z', '+', '-']).unwrap_or(text.len());
    let (time, zone) = text.split_at(at);
    let mut parts = time.split(':');
    let (hour, minute) = (number(parts.next()?, 2)?, number(parts.next()?, 2)?);
    let second: f64 = match parts.next() {
        None => 0.0,
        Some(text) if text.starts_with(|c: char| c.is_ascii_digit()) => text.parse().ok()?,
        Some(_) => return None,
    };
    let valid = hour <= 24 && minute < 60 && (0.0..=60.0).contains(&second) && parts.next().is_none();
    valid.then_some(())?;
    #[allow(clippy::cast_precision_loss, reason = "a day has few seconds")]
    Some((hour * 3600 + minute * 60) as f64 + second - offset(zone)?)
}

/// Seconds by which a zone is ahead of UTC; `Z` is none.
#[allow(clippy::cast_precision_loss, reason = "a day has few seconds")]
fn offset(zone: &str) -> Option<f64> {
    let sign = match zone.chars().next() {
        None => return Some(0.0),
        Some('Z' | 'z') => return (zone.len() == 1).then_some(0.0),
        Some('-') => -1.0,
        Some(_) => 1.0,
    };
    let digits: String = zone.chars().skip(1).filter(|c| *c != ':').collect();
    let (hours, minutes) = (number(digits.get(..2)?, 2)?, number(digits.get(2..)?, 2)?);
    Some(sign * (hours * 3600 + minutes * 60) as f64)
}

/// A number of exactly this many digits.
fn number(text: &str, digits: usize) -> Option<i64> {
    let plain = text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

/// Returns the number of days of a month.
const fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days of the proleptic Gregorian calendar.
const fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year - era * 400;
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, parse, parse_bytes};

    #[test]
    fn a_text_that_is_too_long_for_a_date_is_none() {
        let date = |digits: usize| format!("2024-01-01T00:00:00.{}", "0".repeat(digits));
        let short = "2024-01-01T00:00:00.".len();
        assert_eq!(
            parse_bytes(date(LONGEST - short).as_bytes()),
            Some(1_704_067_200.0)
        );
        assert_eq!(parse_bytes(date(LONGEST - short + 1).as_bytes()), None);
        assert_eq!(parse_bytes(b"\xff"), None);
    }

    #[test]
    fn dates_are_read_and_others_refused() {
        let table = [
            ("2024-01-01T00:00:00Z", Some(1_704_067_200.0)),
            ("2024-01-01", Some(1_704_067_200.0)),
            ("2024-01-01T08:00:00+08:00", Some(1_704_067_200.0)),
            ("2024-01-01T00:00:00.500Z", Some(1_704_067_200.5)),
            ("1969-12-31 23:59", Some(-60.0)),
            ("2024-02-29", Some(1_709_164_800.0)),
            ("2023-02-29", None),
            ("not a date", None),
            ("", None),
            ("2024-01-01Tx", None),
            ("2024-01-01T00:00:00+8", None),
        ];
        for (text, seconds) in table {
            assert_eq!(parse(text), seconds, "{text}");
        }
    }
}
