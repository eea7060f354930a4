//! Points in time. This crate reads no clock: a [`Timestamp`] always comes from the shell around it.

use serde::{Deserialize, Serialize};

/// Microseconds since the Unix epoch, UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// Whole milliseconds from `earlier` to this point; 0 if the clock went backwards.
    ///
    /// ```
    /// use agentx_types::Timestamp;
    /// assert_eq!(Timestamp(5_000_000).millis_since(Timestamp(2_999_000)), 2001);
    /// assert_eq!(Timestamp(1).millis_since(Timestamp(2)), 0);
    /// ```
    pub fn millis_since(self, earlier: Timestamp) -> u64 {
        u64::try_from((self.0.saturating_sub(earlier.0)) / 1000).unwrap_or(0)
    }
}
