//! The approval mode of an agent: the default decision about calls, from the freest to the strictest.

use serde::{Deserialize, Serialize};

/// The default for a call that no rule allows or denies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ApprovalMode {
    /// A person is asked.
    #[default]
    Ask,
    /// A person is asked, except about changes of files in the workspace by the tools that write and edit.
    AcceptEdits,
    /// The call runs.
    Auto,
    /// The call is refused, and the model reads the refusal.
    Deny,
}

impl ApprovalMode {
    /// Returns the mode of the two that allows fewer calls.
    ///
    /// ```
    /// use agentx_types::ApprovalMode::{AcceptEdits, Ask, Auto, Deny};
    /// assert_eq!(Auto.stricter(AcceptEdits), AcceptEdits);
    /// assert_eq!(AcceptEdits.stricter(Ask), Ask);
    /// assert_eq!(Deny.stricter(Ask), Deny);
    /// ```
    #[must_use]
    pub fn stricter(self, other: Self) -> Self {
        if other.strictness() > self.strictness() {
            other
        } else {
            self
        }
    }

    /// The place of the mode among the others: a higher one allows fewer calls.
    pub fn strictness(self) -> u8 {
        match self {
            Self::Auto => 0,
            Self::AcceptEdits => 1,
            Self::Ask => 2,
            Self::Deny => 3,
        }
    }

    /// Returns whether a person is asked about calls that no rule covers.
    pub fn asks(self) -> bool {
        matches!(self, Self::Ask | Self::AcceptEdits)
    }
}
