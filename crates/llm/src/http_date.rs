//! Dates in HTTP headers (RFC 9110 §5.6.7): the usual form and the two old ones. `retry-after` may hold one.

/// Seconds since the Unix epoch.
///
/// The result is in seconds since 1970, UTC. All three forms of RFC 9110 are read:
///
/// ```text
/// Sun, 06 Nov 1994 08:49:37 GMT
/// Sunday, 06-Nov-94 08:49:37 GMT
/// Sun Nov  6 08:49:37 1994
/// ```
pub(crate) fn parse(text: &str) -> Option<i64> {
    let words: Vec<&str> = text
        .split([' ', ',', '-'])
        .filter(|word| !word.is_empty())
        .collect();
    match words.as_slice() {
        // Sun Nov  6 08:49:37 1994
        [_, month, day, time, year] if time.contains(':') => seconds(day, month, year, time),
        // Sun, 06 Nov 1994 08:49:37 GMT and Sunday, 06-Nov-94 08:49:37 GMT
        [_, day, month, year, time, "GMT" | "UTC"] => seconds(day, month, year, time),
        _ => None,
    }
}

fn seconds(day: &str, month: &str, year: &str, time: &str) -> Option<i64> {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let month = MONTHS.iter().position(|name| name.eq_ignore_ascii_case(month))? as i64 + 1;
    let day: i64 = day.parse().ok().filter(|day| (1..=31).contains(day))?;
    let year: i64 = match (year.len(), year.parse::<i64>().ok()?) {
        (2, year @ 0..=69) => 2000 + year,
        (2, year @ 70..) => 1900 + year,
        (_, year @ 1970..=9999) => year,
        _ => return None,
    };
    let mut clock = time.split(':').map(|part| part.parse::<i64>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    let in_range = (0..24).contains(&hour) && (0..60).contains(&minute) && (0..=60).contains(&second);
    in_range.then(|| days(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second)
}

/// Days from the epoch to a date of the Gregorian calendar (Hinnant's days_from_civil).
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let shifted_month = (month + 9) % 12;
    let day_of_year = (153 * shifted_month + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn all_three_forms_are_the_same_second() {
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
        ] {
            assert_eq!(parse(text), Some(784_111_777), "{text}");
        }
        assert_eq!(parse("Thu, 29 Feb 2024 00:00:00 GMT"), Some(1_709_164_800));
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in [
            "",
            "soon",
            "12",
            "Sun, 99 Nov 1994 08:49:37 GMT",
            "Sun, 06 Foo 1994 08:49:37 GMT",
            "a b c d e f",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
