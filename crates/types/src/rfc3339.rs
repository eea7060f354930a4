//! Points in time as text, in the form of RFC 3339: models, people and files name them so.

use crate::Timestamp;

/// Microseconds of a second.
const SECOND: i64 = 1_000_000;

impl Timestamp {
    /// The time in UTC, to the second.
    ///
    /// ```
    /// use agentx_types::Timestamp;
    /// assert_eq!(Timestamp(951_782_400_000_000).rfc3339(), "2000-02-29T00:00:00Z");
    /// ```
    pub fn rfc3339(self) -> String {
        let time = self.utc();
        format!(
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
            time.year, time.month, time.day, time.hour, time.minute, time.second
        )
    }

    /// Reads a time with its offset; `None` if the text is none. A leap second is none.
    ///
    /// ```
    /// use agentx_types::Timestamp;
    /// let leap_day = Some(Timestamp(951_782_400_000_000));
    /// assert_eq!(Timestamp::from_rfc3339("2000-02-29T00:00:00Z"), leap_day);
    /// assert_eq!(Timestamp::from_rfc3339("2000-02-29 01:30:00.000+01:30"), leap_day);
    /// assert_eq!(Timestamp::from_rfc3339("2001-02-29T00:00:00Z"), None);
    /// assert_eq!(Timestamp::from_rfc3339("2000-02-29T00:00:00"), None);
    /// ```
    pub fn from_rfc3339(text: &str) -> Option<Self> {
        let (date, time) = (text.get(..10)?, text.get(11..)?);
        if !matches!(text.as_bytes().get(10), Some(b'T' | b't' | b' ')) {
            return None;
        }
        let (clock, zone) = time.split_at(time.find(['Z', 'z', '+', '-'])?);
        let (clock, fraction) = match clock.split_once('.') {
            Some((clock, digits)) => (clock, micros_of(digits)?),
            None => (clock, 0),
        };
        let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
        let [hour, minute, second] = numbers(clock, ':', [2, 2, 2])?;
        if hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let seconds = days_until(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second;
        let local = Self(seconds * SECOND + fraction);
        let read = local.utc();
        if (read.year, read.month, read.day) != (year, month, day) {
            return None;
        }
        Some(Self(local.0 - offset_of(zone)? * SECOND))
    }

    /// The time so many milliseconds later.
    ///
    /// ```
    /// use agentx_types::Timestamp;
    /// assert_eq!(Timestamp(5).after_millis(2), Timestamp(2_005));
    /// ```
    #[must_use]
    pub fn after_millis(self, millis: u64) -> Self {
        let micros = i64::try_from(millis).unwrap_or(i64::MAX).saturating_mul(1_000);
        Self(self.0.saturating_add(micros))
    }
}

/// The days from the Unix epoch until this date. A date that does not exist counts as another one.
fn days_until(year: i64, month: i64, day: i64) -> i64 {
    // Years are counted from March, so that leap days come last.
    let year = year - i64::from(month <= 2);
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The numbers of a text, each with exactly so many digits.
fn numbers<const N: usize>(text: &str, between: char, digits: [usize; N]) -> Option<[i64; N]> {
    let mut found = [0; N];
    let mut parts = text.split(between);
    for (value, digits) in found.iter_mut().zip(digits) {
        let part = parts.next()?;
        if part.len() != digits || !part.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        *value = part.parse().ok()?;
    }
    parts.next().is_none().then_some(found)
}

/// The microseconds of a fraction of a second; what is smaller is left out.
fn micros_of(digits: &str) -> Option<i64> {
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let six: String = digits.chars().chain("000000".chars()).take(6).collect();
    six.parse().ok()
}

/// The seconds by which a zone is ahead of UTC.
fn offset_of(zone: &str) -> Option<i64> {
    if matches!(zone, "Z" | "z") {
        return Some(0);
    }
    let (sign, offset) = zone.split_at_checked(1)?;
    let [hours, minutes] = numbers(offset, ':', [2, 2])?;
    if hours > 23 || minutes > 59 {
        return None;
    }
    let seconds = hours * 3_600 + minutes * 60;
    match sign {
        "+" => Some(seconds),
        "-" => Some(-seconds),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_written_time_is_read_as_the_same_time() {
        for days in (-700_000_i64..2_900_000).step_by(997) {
            let time = Timestamp((days * 86_400 + days.rem_euclid(86_400)) * SECOND);
            assert_eq!(Timestamp::from_rfc3339(&time.rfc3339()), Some(time), "{time:?}");
        }
    }

    #[test]
    fn what_is_no_time_with_an_offset_is_refused() {
        for text in [
            "",
            "tomorrow",
            "2026-11-29",
            "2026-11-29T08:00Z",
            "2026-13-01T00:00:00Z",
            "2026-00-10T00:00:00Z",
            "2026-11-31T00:00:00Z",
            "2026-11-29T24:00:00Z",
            "2026-11-29T23:59:60Z",
            "2026-11-29T08:00:00.Z",
            "2026-11-29T08:00:00+1:00",
            "2026-11-29T08:00:00+24:00",
            "+026-11-29T08:00:00Z",
            "2026-11-29T08:00:00Zé",
            "２０２６-11-29T08:00:00Z",
        ] {
            assert_eq!(Timestamp::from_rfc3339(text), None, "{text:?}");
        }
    }
}
