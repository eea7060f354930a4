//! A cron pattern in a time zone. The pattern is searched on the wall clock of the zone, and the zone says
//! which moment a time of that clock is:
//!
//! | the clock | a time of the pattern is |
//! | --- | --- |
//! | shows the time once | that moment |
//! | skips it, because it is set forward | as long after the change as it is after the skipped hour began |
//! | shows it twice, because it is set back | the first of the two |

use agentx_types::Timestamp;
use chrono::{DateTime, Utc};
use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use jiff::tz::TimeZone;

use crate::ScheduleError;

/// The number of times that are passed over at most, because the clock shows them twice or skips them.
const MOST_PASSED: usize = 256;

/// A cron pattern in a time zone.
#[derive(Clone, Debug)]
pub struct Timetable {
    cron: Cron,
    zone: TimeZone,
}

impl Timetable {
    /// Reads a pattern of five fields (minute, hour, day of the month, month, day of the week) or a word such
    /// as `@daily`, and a zone by its name in the IANA database (`Europe/Berlin`, `UTC`).
    ///
    /// # Errors
    /// Returns an error if the pattern is none, or this machine does not know the zone.
    pub fn new(pattern: &str, zone: &str) -> Result<Self, ScheduleError> {
        let parser = CronParser::builder()
            .seconds(Seconds::Disallowed)
            .year(Year::Disallowed)
            .build();
        let cron = parser.parse(pattern).map_err(|error| ScheduleError::Pattern {
            pattern: pattern.to_owned(),
            what: error.to_string(),
        })?;
        let zone = match zone {
            "UTC" => TimeZone::UTC,
            name => TimeZone::get(name).map_err(|_| ScheduleError::Zone {
                zone: name.to_owned(),
            })?,
        };
        Ok(Self { cron, zone })
    }

    /// The first time after this one; `None` if there is none in the years that can be searched.
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        let mut wall = self.wall_clock(after)?;
        for _ in 0..MOST_PASSED {
            wall = self.cron.find_next_occurrence(&wall, false).ok()?;
            let found = self.moment(wall)?;
            if found > after {
                return Some(found);
            }
        }
        None
    }

    /// The latest time until this one; `None` if there is none.
    pub fn latest_until(&self, until: Timestamp) -> Option<Timestamp> {
        let mut wall = self.wall_clock(until)?;
        for passed in 0..MOST_PASSED {
            wall = self.cron.find_previous_occurrence(&wall, passed == 0).ok()?;
            let found = self.moment(wall)?;
            if found <= until {
                return Some(found);
            }
        }
        None
    }

    /// Returns the wall-clock time of the zone at a moment, to the second, as if it were UTC.
    fn wall_clock(&self, at: Timestamp) -> Option<DateTime<Utc>> {
        let at = jiff::Timestamp::from_microsecond(at.0).ok()?;
        let shown = at.to_zoned(self.zone.clone()).datetime();
        let seconds = shown.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second();
        DateTime::from_timestamp(seconds, 0)
    }

    /// The moment at which the clock of the zone shows this.
    fn moment(&self, wall: DateTime<Utc>) -> Option<Timestamp> {
        let shown = jiff::Timestamp::from_second(wall.timestamp()).ok()?;
        let shown = shown.to_zoned(TimeZone::UTC).datetime();
        let moment = shown.to_zoned(self.zone.clone()).ok()?.timestamp();
        Some(Timestamp(moment.as_microsecond()))
    }
}

/// The name of this machine's time zone; `UTC` if it has none.
pub fn system_zone() -> String {
    let zone = TimeZone::system();
    zone.iana_name().unwrap_or("UTC").to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::from_rfc3339(text).unwrap()
    }

    fn times(pattern: &str, zone: &str, from: &str, count: usize) -> Vec<String> {
        let table = Timetable::new(pattern, zone).unwrap();
        let first = table.next_after(at(from));
        let all = std::iter::successors(first, |last| table.next_after(*last));
        all.take(count).map(Timestamp::rfc3339).collect()
    }

    #[test]
    fn workdays_at_eight_are_those_of_the_zone() {
        assert_eq!(
            times("0 8 * * 1-5", "Europe/Berlin", "2026-11-27T07:00:00Z", 2),
            ["2026-11-30T07:00:00Z", "2026-12-01T07:00:00Z"]
        );
        assert_eq!(
            times("0 8 * * 1-5", "Europe/Berlin", "2026-06-05T05:59:59Z", 1),
            ["2026-06-05T06:00:00Z"]
        );
    }

    #[test]
    fn a_time_that_the_clock_skips_comes_after_the_change() {
        // The clock goes from 02:00 to 03:00 on 29 March 2026.
        assert_eq!(
            times("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", 2),
            ["2026-03-29T01:30:00Z", "2026-03-30T00:30:00Z"]
        );
    }

    #[test]
    fn a_time_that_the_clock_shows_twice_counts_once() {
        // The clock goes from 03:00 back to 02:00 on 25 October 2026.
        assert_eq!(
            times("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 2),
            ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]
        );
        assert_eq!(
            times("*/30 2 * * *", "Europe/Berlin", "2026-10-25T01:15:00Z", 1),
            ["2026-10-26T01:00:00Z"]
        );
    }

    #[test]
    fn the_latest_time_until_now_is_found_across_a_change_of_the_clock() {
        let table = Timetable::new("30 2 * * *", "Europe/Berlin").unwrap();
        let latest = |until: &str| table.latest_until(at(until)).map(Timestamp::rfc3339);
        assert_eq!(
            latest("2026-03-29T01:29:59Z").as_deref(),
            Some("2026-03-28T01:30:00Z")
        );
        assert_eq!(
            latest("2026-03-29T01:30:00Z").as_deref(),
            Some("2026-03-29T01:30:00Z")
        );
        assert_eq!(
            latest("2026-10-25T01:45:00Z").as_deref(),
            Some("2026-10-25T00:30:00Z")
        );
    }

    #[test]
    fn what_is_no_pattern_or_no_zone_is_refused_with_the_reason() {
        for pattern in ["", "8", "0 8 * *", "0 0 8 * * 1-5", "60 8 * * *", "0 8 * * MOO"] {
            let refused = Timetable::new(pattern, "UTC").unwrap_err().to_string();
            assert!(
                refused.starts_with(&format!("{pattern:?} is not a cron pattern")),
                "{refused}"
            );
        }
        let refused = Timetable::new("@daily", "Europe/Nowhere")
            .unwrap_err()
            .to_string();
        assert_eq!(refused, "this machine knows no time zone \"Europe/Nowhere\"");
        assert!(Timetable::new("@daily", "UTC").is_ok());
        assert_eq!(
            Timetable::new("0 0 30 2 *", "UTC")
                .unwrap()
                .next_after(Timestamp(0)),
            None
        );
    }
}
