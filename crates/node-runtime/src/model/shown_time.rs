//! Times for people, without the parts of a second that say nothing.

use std::time::Duration;

use agentx_types::show_time;

/// A time for people: whole seconds from ten seconds on.
pub(super) fn shown_time(time: Duration) -> String {
    if time < Duration::from_secs(10) {
        show_time(time)
    } else {
        whole_seconds(time)
    }
}

/// A time for people, in whole seconds.
pub(super) fn whole_seconds(wait: Duration) -> String {
    show_time(Duration::from_secs(wait.as_secs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_times_are_shown_in_whole_seconds() {
        for (millis, shown) in [(1_500, "1s500ms"), (12_052, "12s"), (90_000, "1m30s")] {
            assert_eq!(shown_time(Duration::from_millis(millis)), shown);
        }
    }
}
