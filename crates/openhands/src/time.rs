//! Reads times of logs: `2025-01-27T22:44:56.900854`, with or without an offset. OpenHands writes local times
//! without an offset. They are read as UTC, because a log does not say where it was written.

use agentx_types::Timestamp;

/// Reads a time; `None` if the text is not one.
pub(crate) fn read(text: &str) -> Option<Timestamp> {
    let (date, clock) = text.trim().split_once(['T', ' '])?;
    let mut date = date.splitn(3, '-').map(str::parse::<i64>);
    let (year, month, day) = (date.next()?.ok()?, date.next()?.ok()?, date.next()?.ok()?);
    if !(1..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let (clock, offset) = split_offset(clock)?;
    let micros = days(year, month, day) * 86_400_000_000 + time_of_day(clock)? - offset;
    Some(Timestamp(micros))
}

/// Returns the days since 1970-01-01 in the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March here, so that the leap day is the last one.
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    year * 365 + year / 4 - year / 100 + year / 400 + day_of_year - 719_468
}

/// Returns the time of day, and the offset from UTC in microseconds.
fn split_offset(clock: &str) -> Option<(&str, i64)> {
    if let Some(clock) = clock.strip_suffix(['Z', 'z']) {
        return Some((clock, 0));
    }
    let Some(at) = clock.rfind(['+', '-']) else {
        return Some((clock, 0));
    };
    let (clock, offset) = clock.split_at(at);
    let sign = if offset.starts_with('-') { -1 } else { 1 };
    let (hours, minutes) = offset.get(1..)?.split_once(':')?;
    let minutes = hours.parse::<i64>().ok()? * 60 + minutes.parse::<i64>().ok()?;
    (minutes.abs() < 24 * 60).then_some((clock, sign * minutes * 60_000_000))
}

/// Returns the microseconds since midnight.
fn time_of_day(clock: &str) -> Option<i64> {
    let (whole, fraction) = clock.split_once('.').unwrap_or((clock, ""));
    let mut parts = whole.splitn(3, ':');
    let mut next = |most: i64| {
        let number = parts.next().unwrap_or("0").parse::<i64>().ok()?;
        (0..=most).contains(&number).then_some(number)
    };
    let seconds = next(23)? * 3600 + next(59)? * 60 + next(60)?;
    if !fraction.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let micros: String = fraction.chars().chain("000000".chars()).take(6).collect();
    Some(seconds * 1_000_000 + micros.parse::<i64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_microseconds_of_utc() {
        for (text, micros) in [
            ("1970-01-01T00:00:00", Some(0)),
            ("2025-01-27T22:44:56.900854", Some(1_738_017_896_900_854)),
            ("2024-02-29T12:00:00.5Z", Some(1_709_208_000_500_000)),
            ("2024-02-29 13:00:00.5+01:00", Some(1_709_208_000_500_000)),
            ("2024-02-29T07:30:00.5-04:30", Some(1_709_208_000_500_000)),
            ("2024-13-01T00:00:00", None),
            ("2024-01-01T25:00:00", None),
            ("2024-01-01T00:00:00.x", None),
            ("yesterday", None),
            ("", None),
        ] {
            assert_eq!(read(text).map(|time| time.0), micros, "{text}");
        }
    }
}
