//! The time by a client's clock, for the model: clients of NEXUS send it with each message, so that "this
//! evening" means something. The message keeps it as a separate text.

use agentx_runtime::time_note;
use jiff::tz::{Offset, TimeZone};

/// The largest difference between a local time and UTC, in minutes.
const MOST_OFFSET: i32 = 14 * 60;

/// Returns the text that tells the model when a message was sent, in the client's local time. `None` if the
/// client sent no time.
///
/// `offset` has the sign of JavaScript's `getTimezoneOffset` and of NEXUS: UTC minus local time, in minutes.
/// It is negative east of Greenwich: -480 in Shanghai.
///
/// # Errors
/// Returns an error that explains the mistake in the values.
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
    let local =
        local(utc, offset).ok_or("client_timestamp_utc is a time in UTC such as 2026-11-21T10:00:00Z")?;
    Ok(Some(time_note(&local)))
}

/// Returns the local time of a time in UTC, with its difference from UTC.
fn local(utc: &str, offset: i32) -> Option<String> {
    let at: jiff::Timestamp = utc.ends_with('Z').then(|| utc.parse().ok())??;
    let zone = TimeZone::fixed(Offset::from_seconds(-60 * offset).ok()?);
    Some(at.to_zoned(zone).strftime("%Y-%m-%d %H:%M:%S%:z").to_string())
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
