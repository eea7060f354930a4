//! Amounts of money in sentences for people.

use agentx_types::NanoUsd;

/// Returns the message that a member has spent the amount that the quota allows.
pub(crate) fn too_dear(cost: NanoUsd, most: NanoUsd) -> String {
    format!(
        "the owner's sessions have cost {} within 24 hours, and this server's limit per member is {} (`quotas.daily_cost`): try again later",
        dollars(cost),
        dollars(most)
    )
}

/// Returns the message that a member has spent the amount with what `estimated` is of calls without a bill.
pub(crate) fn too_dear_by_estimate(cost: NanoUsd, estimated: NanoUsd, most: NanoUsd) -> String {
    format!(
        "the owner's sessions and calls have cost {} within 24 hours, {} of it estimated for calls that run now, and this server's limit per member is {} (`quotas.daily_cost`): try again when they have ended",
        dollars(cost),
        dollars(estimated),
        dollars(most)
    )
}

/// Returns the message that the rest of that amount is needed for `others` runs and calls without a bill.
pub(crate) fn too_dear_with(cost: NanoUsd, most: NanoUsd, others: u64) -> String {
    format!(
        "the owner's sessions have cost {} within 24 hours, {others} of their runs and calls have no bill yet, and this server's limit per member is {} (`quotas.daily_cost`): try again when they have ended",
        dollars(cost),
        dollars(most)
    )
}

/// Returns the message that a call may start no further model call, because the person's spending and the
/// possible cost of running model calls reach the amount.
pub(crate) fn too_dear_to_continue(cost: NanoUsd, most: NanoUsd) -> String {
    format!(
        "the owner's sessions and calls have cost {} within 24 hours, model calls under way included, and this server's limit per member is {} (`quotas.daily_cost`): try again later",
        dollars(cost),
        dollars(most)
    )
}

fn dollars(amount: NanoUsd) -> String {
    match amount.0 / 10_000_000 {
        0 if amount.0 == 0 => "$0".to_owned(),
        0 => format!("${:.9}", amount.as_usd())
            .trim_end_matches('0')
            .to_owned(),
        cents => format!("${}.{:02}", cents / 100, cents % 100),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_said_in_dollars() {
        assert_eq!(dollars(NanoUsd(1_234_000_000)), "$1.23");
        assert_eq!(dollars(NanoUsd(50_000_000)), "$0.05");
        assert_eq!(
            dollars(NanoUsd(1_000_000)),
            "$0.001",
            "it is not said to be nothing"
        );
        assert_eq!(dollars(NanoUsd(0)), "$0");
    }
}
