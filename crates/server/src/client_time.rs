//! The time by a client's clock, for the model: clients of NEXUS send it with each message, so that "this
//! evening" means something. The message keeps it as a separate text.

use agentx_runtime::time_note;

/// The largest difference between a local time and UTC, in minutes.
const MOST_OFFSET: i32 = 14 * 60;
const DAY: i32 = 24 * 60;

/// Returns the text that tells the model when a message was sent, in the client's local time. `None` if the
/// client sent no time.
///
/// `offset` has the sign of JavaScript's `getTimezoneOffset` and of NEXUS: UTC minus local time, in minutes.
/// It is negative east of Greenwich: -480 in Shanghai.
///
/// # Errors
/// Returns an error that tells the client what is wrong with the values.
pub(crate) fn note(utc: Option<&str>, offset: Option<i32>) -> Result<Option<String>, String> {
    let Some(utc) = utc else {
        return match offset {
            Some(_) => Err("client_timezone_offset requires client_timestamp_utc".into()),
            None => Ok(None),
        };
    };
    let offset = offset.unwrap_or(0);
    if !(-MOST_OFFSET..=MOST_OFFSET).contains(&offset) {
        return Err(format!(
            "client_timezone_offset is UTC minus local time in minutes, from -{MOST_OFFSET} to {MOST_OFFSET}"
        ));
    }
    let time = parse(utc).ok_or("client_timestamp_utc is a time in UTC such as 2026-11-21T10:00:00Z")?;
    Ok(Some(time_note(&time.local(offset))))
}

/// A time in UTC.
struct Utc {
    year: i32,
    month: i32,
    day: i32,
    /// Since midnight.
    minute: i32,
    second: i32,
}

fn parse(text: &str) -> Option<Utc> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let digits = |text: &str, count: usize| {
        let is_number = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse::<i32>().ok()).flatten()
    };
    let mut date = date.split('-');
    let (year, month, day) = (date.next()?, date.next()?, date.next()?);
    let mut time = time.split(':');
    let (hour, minute, second) = (time.next()?, time.next()?, time.next()?);
    if date.next().is_some() || time.next().is_some() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (year, month, day) = (digits(year, 4)?, digits(month, 2)?, digits(day, 2)?);
    let (hour, minute, second) = (digits(hour, 2)?, digits(minute, 2)?, digits(second, 2)?);
    let is_date = (1..=12).contains(&month) && (1..=days_in(year, month)).contains(&day);
    let is_time = hour < 24 && minute < 60 && second <= 60;
    (is_date && is_time).then_some(Utc {
        year,
        month,
        day,
        minute: hour * 60 + minute,
        second,
    })
}

fn days_in(year: i32, month: i32) -> i32 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

impl Utc {
    /// Returns the local time, with its difference from UTC.
    fn local(mut self, offset: i32) -> String {
        self.minute -= offset;
        if self.minute < 0 {
            self.minute += DAY;
            self.day -= 1;
        } else if self.minute >= DAY {
            self.minute -= DAY;
            self.day += 1;
        }
        if self.day < 1 {
            (self.year, self.month) = match self.month {
                1 => (self.year - 1, 12),
                month => (self.year, month - 1),
            };
            self.day = days_in(self.year, self.month);
        } else if self.day > days_in(self.year, self.month) {
            (self.year, self.month) = match self.month {
                12 => (self.year + 1, 1),
                month => (self.year, month + 1),
            };
            self.day = 1;
        }
        let (sign, east) = if offset > 0 { ('-', offset) } else { ('+', -offset) };
        format!(
            "{:04}-{:02}-{:02} {:02}:{:02}:{:02}{sign}{:02}:{:02}",
            self.year,
            self.month,
            self.day,
            self.minute / 60,
            self.minute % 60,
            self.second,
            east / 60,
            east % 60,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_offset_has_the_sign_of_nexus() {
        for (utc, offset, local) in [
            (
                "2026-11-21T10:00:00.123Z",
                Some(-480),
                "2026-11-21 18:00:00+08:00",
            ),
            ("2026-11-21T10:00:00Z", Some(-90), "2026-11-21 11:30:00+01:30"),
            ("2026-11-21T10:00:00Z", Some(300), "2026-11-21 05:00:00-05:00"),
            ("2026-11-21T10:00:00Z", None, "2026-11-21 10:00:00+00:00"),
            ("2026-12-31T23:30:00Z", Some(-60), "2027-01-01 00:30:00+01:00"),
            ("2028-03-01T00:10:00Z", Some(60), "2028-02-29 23:10:00-01:00"),
            ("2026-01-01T00:00:00Z", Some(1), "2025-12-31 23:59:00-00:01"),
        ] {
            let expected = format!("[Sent at {local} by the sender's clock.]");
            assert_eq!(note(Some(utc), offset), Ok(Some(expected)));
        }
        assert_eq!(note(None, None), Ok(None));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for utc in [
            "",
            "now",
            "2026-11-21",
            "2026-11-21T10:00:00",
            "2026-11-21T10:00:00+08:00",
            "2026-02-29T10:00:00Z",
            "2026-13-01T10:00:00Z",
            "2026-11-21T24:00:00Z",
            "2026-11-21T10:00Z",
            "2026-11-2１T10:00:00Z",
            "2026-+1-21T10:00:00Z",
            "2026-11-21T10:00:00.xZ",
        ] {
            assert!(note(Some(utc), None).is_err(), "{utc}");
        }
        let utc = Some("2026-11-21T10:00:00Z");
        for offset in [i32::MIN, -841, 841, i32::MAX] {
            assert!(note(utc, Some(offset)).is_err(), "{offset}");
        }
        assert!(note(None, Some(0)).is_err());
    }
}
