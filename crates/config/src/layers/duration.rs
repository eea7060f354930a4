//! Reads a time that a person writes with its units, in a setting or on the command line.

/// Reads a time with its units as milliseconds: `500ms`, `90s`, `10m`, `2h`, `30d`, `4w`, or several such as
/// `1h30m`. Returns `None` for any other text, also for a number without a unit.
///
/// ```
/// use agentx_config::parse_duration;
/// assert_eq!(parse_duration("1h30m"), Some(5_400_000));
/// assert_eq!(parse_duration("2w"), parse_duration("14d"));
/// assert_eq!(parse_duration("90"), None);
/// ```
pub fn parse_duration(words: &str) -> Option<u64> {
    let mut rest = words.trim();
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).filter(|at| *at > 0)?;
        let (count, tail) = rest.split_at(digits);
        let unit_end = tail
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_end);
        let millis = match unit {
            "ms" => 1,
            "s" => 1_000,
            "m" | "min" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            "w" => 604_800_000,
            _ => return None,
        };
        total = total.checked_add(count.parse::<u64>().ok()?.checked_mul(millis)?)?;
        rest = tail.trim_start();
    }
    (!words.trim().is_empty()).then_some(total)
}
