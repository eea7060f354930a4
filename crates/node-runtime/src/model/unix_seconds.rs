//! The time as the clouds count it.

use agentx_types::Timestamp;

/// Whole seconds since 1970.
pub(super) fn unix_seconds(now: Timestamp) -> u64 {
    u64::try_from(now.0 / 1_000_000).unwrap_or_default()
}
