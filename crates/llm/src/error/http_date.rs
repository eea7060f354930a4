//! Dates of `retry-after`: the forms that RFC 9110 (§5.6.7) allows, and the deviations of servers that write
//! their headers by hand: `UTC` for `GMT`, a day of one digit, names of days and months in any case.

use std::time::UNIX_EPOCH;

use agentx_types::Timestamp;

/// The time of a date; `None` if the text is not a date, or one before 1970.
pub(super) fn parse(text: &str) -> Option<Timestamp> {
    let date = httpdate::parse_http_date(text).ok();
    let date = date.or_else(|| httpdate::parse_http_date(&usual_form(text)?).ok())?;
    let micros = date.duration_since(UNIX_EPOCH).ok()?.as_micros();
    i64::try_from(micros).ok().map(Timestamp)
}

/// The date as RFC 9110 writes it: `Sun, 06 Nov 1994 08:49:37 GMT`. The name of the day follows from the
/// date, and is not compared with it.
fn usual_form(text: &str) -> Option<String> {
    let mut words = text.split([' ', ',', '-']).filter(|word| !word.is_empty());
    let (_, day, month) = (words.next()?, words.next()?, words.next()?);
    let (year, time, zone) = (words.next()?, words.next()?, words.next()?);
    if words.next().is_some() || !["GMT", "UTC"].contains(&zone) || !month.is_ascii() {
        return None;
    }
    let month = format!(
        "{}{}",
        month.get(..1)?.to_uppercase(),
        month.get(1..)?.to_lowercase()
    );
    let year = match (year.len(), year.parse::<u16>().ok()?) {
        (2, year @ 0..=69) => 2000 + year,
        (2, year) => 1900 + year,
        (_, year) => year,
    };
    Some(format!("Sun, {day:0>2} {month} {year:04} {time} GMT"))
}
