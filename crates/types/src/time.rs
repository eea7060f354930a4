//! Points in time. This crate reads no clock: a [`Timestamp`] always comes from the shell around it.

use serde::{Deserialize, Serialize};

/// Microseconds since the Unix epoch, UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// Whole milliseconds from `earlier` to this point; 0 if the clock went backwards.
    ///
    /// ```
    /// use agentx_types::Timestamp;
    /// assert_eq!(Timestamp(5_000_000).millis_since(Timestamp(2_999_000)), 2001);
    /// assert_eq!(Timestamp(1).millis_since(Timestamp(2)), 0);
    /// ```
    pub fn millis_since(self, earlier: Timestamp) -> u64 {
        u64::try_from((self.0.saturating_sub(earlier.0)) / 1000).unwrap_or(0)
    }

    /// Whole milliseconds since the Unix epoch; 0 before it.
    pub fn unix_millis(self) -> u64 {
        self.millis_since(Timestamp(0))
    }

    /// The date and time in UTC.
    ///
    /// ```
    /// use agentx_types::Timestamp;
    /// let leap_day = Timestamp(951_782_400_000_000).utc();
    /// assert_eq!((leap_day.year, leap_day.month, leap_day.day, leap_day.hour), (2000, 2, 29, 0));
    /// ```
    pub fn utc(self) -> UtcTime {
        let seconds = self.0.div_euclid(1_000_000);
        let second = seconds.rem_euclid(86_400);
        let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
        // Years are counted from March, so that leap days come last.
        let shifted = seconds.div_euclid(86_400) + 719_468;
        let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * of_year + 2) / 153;
        let month = if from_march < 10 {
            from_march + 3
        } else {
            from_march - 9
        };
        UtcTime {
            year: year_of_era + era * 400 + i64::from(month <= 2),
            month,
            day: of_year - (153 * from_march + 2) / 5 + 1,
            hour,
            minute,
            second,
        }
    }
}

/// A date and time of the Gregorian calendar in UTC. Months and days count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names of the fields say all")]
pub struct UtcTime {
    pub year: i64,
    pub month: i64,
    pub day: i64,
    pub hour: i64,
    pub minute: i64,
    pub second: i64,
}
