//! Times of logs: `2025-01-27T22:44:56.900854`, with or without an offset. OpenHands writes local times
//! without one; they are read as UTC, because a log does not say where it was written.

use agentx_types::Timestamp;
use jiff::tz::TimeZone;

/// Reads a time; `None` if the text is not one.
pub(crate) fn read(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    let with_offset = text.parse::<jiff::Timestamp>().ok();
    let time = with_offset.or_else(|| TimeZone::UTC.to_timestamp(text.parse().ok()?).ok())?;
    Some(Timestamp(time.as_microsecond()))
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
