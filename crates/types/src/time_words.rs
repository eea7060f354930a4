//! Lengths of time as text, in the form of the settings.

use std::time::Duration;

/// Formats a length of time: `45s`, `10m`, `23h59m`; `0s` for zero. Less than a millisecond is left out.
///
/// ```
/// use std::time::Duration;
///
/// use agentx_types::show_time;
///
/// assert_eq!(show_time(Duration::from_secs(86_399)), "23h59m59s");
/// assert_eq!(show_time(Duration::from_millis(1_500)), "1s500ms");
/// ```
pub fn show_time(time: Duration) -> String {
    let units = [
        (86_400_000, "d"),
        (3_600_000, "h"),
        (60_000, "m"),
        (1_000, "s"),
        (1, "ms"),
    ];
    let mut rest = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let mut shown = String::new();
    for (size, unit) in units {
        if rest >= size {
            shown.push_str(&format!("{}{unit}", rest / size));
            rest %= size;
        }
    }
    if shown.is_empty() { "0s".into() } else { shown }
}
