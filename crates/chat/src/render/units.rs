//! Writes figures for people: tokens, money, times.

use std::fmt::Display;

use agentx::runtime::{Clock as _, SystemClock};
use agentx::types::{NanoUsd, Timestamp, Usage};

/// Returns a number such as `950`, `12.3k` or `1.2M`.
pub fn count(n: u64) -> String {
    match n {
        0..=999 => n.to_string(),
        1_000..=999_949 => format!("{:.1}k", n as f64 / 1e3),
        _ => format!("{:.1}M", n as f64 / 1e6),
    }
}

/// Returns a size such as `950 B`, `12.3 KiB` or `1.2 MiB`.
pub fn bytes(n: u64) -> String {
    let mut n = n as f64;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if n < 1024.0 {
            return match unit {
                "B" => format!("{n:.0} B"),
                unit => format!("{n:.1} {unit}"),
            };
        }
        n /= 1024.0;
    }
    format!("{n:.1} TiB")
}

/// Returns a number with its noun, such as `1 file` or `3 files`, for nouns whose plural ends with an s.
pub fn counted<N: Display + PartialEq + From<u8>>(n: N, what: &str) -> String {
    let end = if n == N::from(1) { "" } else { "s" };
    format!("{n} {what}{end}")
}

/// Dollars with as many digits as say something.
pub(crate) fn money(cost: NanoUsd) -> String {
    let usd = cost.as_usd();
    match cost.0 {
        0 => "$0".into(),
        1..9_950_000 => format!("${usd:.4}"),
        // Tenths of a cent, unless there are none.
        9_950_000..99_500_000 => {
            let text = format!("${usd:.3}");
            text.strip_suffix('0').unwrap_or(&text).to_owned()
        }
        _ => format!("${usd:.2}"),
    }
}

/// Returns a note if a run has spent its cost limit or more: the limit stops only the next call, not the
/// current one.
pub fn over_limit(cost: NanoUsd, limit: Option<NanoUsd>) -> Option<String> {
    let limit = limit.filter(|limit| cost >= *limit && cost.0 > 0)?;
    let digits = |cost: NanoUsd| match cost.0 {
        0..100_000 => format!("${}", cost.as_usd()),
        100_000..1_000_000_000 => format!("${:.4}", cost.as_usd()),
        _ => money(cost),
    };
    Some(format!(
        "the limit of {} for one run is reached: this run cost {}",
        digits(limit),
        digits(cost)
    ))
}

/// Returns the cost of calls: `~$0.02` if a part of it is estimated, `$0.02+?` if a part of it is unknown.
pub fn cost(cost: NanoUsd, usage: &Usage) -> String {
    let unknown = if usage.is_unpriced() { "+?" } else { "" };
    format!("{}{}{unknown}", about(usage), money(cost))
}

/// The sign for a cost that is unknown because the model has no price.
pub(crate) const NO_PRICE: &str = "$?";

/// Returns the cost of calls, or `$?` if the price of the model is unknown.
pub(crate) fn cost_of(cost: NanoUsd, usage: &Usage, has_no_price: bool) -> String {
    if (has_no_price || usage.is_unpriced()) && cost.0 == 0 && *usage != Usage::default() {
        NO_PRICE.into()
    } else {
        self::cost(cost, usage)
    }
}

/// Returns a total: `$0.12+?` if the price of some calls is unknown, `$?` if no price is known.
pub fn sum(cost: NanoUsd, usage: &Usage, has_unpriced: bool) -> String {
    if has_unpriced && cost.0 > 0 && !usage.is_unpriced() {
        format!("{}+?", self::cost(cost, usage))
    } else {
        cost_of(cost, usage, has_unpriced)
    }
}

/// The sign before estimated numbers.
fn about(usage: &Usage) -> &'static str {
    if usage.is_estimated() { "~" } else { "" }
}

/// Returns a duration such as `0.3s`, `12s`, `3m 05s` or `2h 05m`.
pub fn duration(millis: u64) -> String {
    let seconds = millis / 1000;
    match seconds {
        0..=9 => format!("{:.1}s", millis as f64 / 1e3),
        10..=59 => format!("{seconds}s"),
        60..=3599 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m", seconds / 3600, seconds % 3600 / 60),
    }
}

/// Returns the time since `then` in words.
pub(crate) fn ago(then: Timestamp, now: Timestamp) -> String {
    let seconds = now.millis_since(then) / 1000;
    match seconds {
        0..=59 => "just now".into(),
        60..=3599 => format!("{} min ago", seconds / 60),
        3600..=86_399 => format!("{} h ago", seconds / 3600),
        _ => format!("{} d ago", seconds / 86_400),
    }
}

/// Returns the tokens that fit into one call, with a `?` if that is only assumed.
pub(crate) fn window(tokens: u64, is_assumed: bool) -> String {
    let unknown = if is_assumed { "?" } else { "" };
    format!("{}{unknown}", count(tokens))
}

/// Returns the share of a window that these tokens fill: `48 %`, or `<1 %`.
pub(crate) fn share(tokens: u64, window: u64) -> String {
    match tokens.saturating_mul(100) / window.max(1) {
        0 if tokens > 0 => "<1 %".into(),
        percent => format!("{percent} %"),
    }
}

/// Tokens in words: `12.3k in (9.0k cached), 400 out`; `~12.3k in, …` if some are estimated.
pub fn usage(usage: &Usage) -> String {
    let read = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens;
    let cached = match usage.cache_read_tokens {
        0 => String::new(),
        cached => format!(" ({} cached)", count(cached)),
    };
    format!(
        "{}{} in{cached}, {} out",
        about(usage),
        count(read),
        count(usage.output_tokens)
    )
}

/// The clock of this machine.
pub fn now() -> Timestamp {
    SystemClock.now()
}

/// A limit of time, short: `10m`, `15s`, `24h`.
pub(crate) fn short_limit(ms: u64) -> String {
    let seconds = ms.div_ceil(1_000);
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7_200 => format!("{}m", seconds.div_ceil(60)),
        _ => match (seconds.div_ceil(60) / 60, seconds.div_ceil(60) % 60) {
            (hours, 0) => format!("{hours}h"),
            (hours, minutes) => format!("{hours}h {minutes:02}m"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_spent_its_limit_is_told() {
        let told = |cost, limit: Option<u64>| over_limit(NanoUsd(cost), limit.map(NanoUsd));
        assert_eq!(told(5, None), None);
        assert_eq!(told(5, Some(6)), None);
        assert_eq!(
            told(13_000_000, Some(10_000_000)).as_deref(),
            Some("the limit of $0.0100 for one run is reached: this run cost $0.0130")
        );
        assert_eq!(
            told(6_700_000, Some(1_000)).as_deref(),
            Some("the limit of $0.000001 for one run is reached: this run cost $0.0067")
        );
    }

    #[test]
    fn figures_are_short() {
        assert_eq!(
            [count(950), count(12_345), count(999_999), count(1_200_000)],
            ["950", "12.3k", "1.0M", "1.2M"]
        );
        assert_eq!(
            [
                money(NanoUsd(0)),
                money(NanoUsd(4_500_000)),
                money(NanoUsd(1_234_000_000))
            ],
            ["$0", "$0.0045", "$1.23"]
        );
        let shares = [share(0, 1_000), share(9, 1_000), share(480, 1_000)];
        assert_eq!(shares, ["0 %", "<1 %", "48 %"]);
        for (nano, told) in [
            (9_900_000, "$0.0099"),
            (9_999_000, "$0.01"),
            (10_000_000, "$0.01"),
            (15_000_000, "$0.015"),
            (20_000_000, "$0.02"),
            (37_400_000, "$0.037"),
            (99_400_000, "$0.099"),
            (99_900_000, "$0.10"),
            (123_000_000, "$0.12"),
        ] {
            assert_eq!(money(NanoUsd(nano)), told, "{nano}");
        }
        assert_eq!(
            [
                duration(300),
                duration(12_000),
                duration(185_000),
                duration(7_500_000)
            ],
            ["0.3s", "12s", "3m 05s", "2h 05m"]
        );
        assert_eq!(
            [bytes(950), bytes(12_595), bytes(5 << 20), bytes(3 << 40)],
            ["950 B", "12.3 KiB", "5.0 MiB", "3.0 TiB"]
        );
        assert_eq!(
            [
                counted(0_u64, "file"),
                counted(1_usize, "file"),
                counted(12_u32, "file")
            ],
            ["0 files", "1 file", "12 files"]
        );
        assert_eq!(ago(Timestamp(0), Timestamp(7_200_000_000)), "2 h ago");
    }

    #[test]
    fn limits_of_time_are_short() {
        assert_eq!(
            [
                short_limit(600_000),
                short_limit(14_250),
                short_limit(119_500),
                short_limit(0)
            ],
            ["10m", "15s", "2m", "0s"]
        );
        assert_eq!(
            [
                short_limit(7_200_000),
                short_limit(86_340_000),
                short_limit(86_400_000)
            ],
            ["2h", "23h 59m", "24h"]
        );
    }
}
