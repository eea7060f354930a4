//! The roles of people in a session that several people see, and the wheel that one of them holds.

use serde::{Deserialize, Serialize};

use crate::OwnerId;
use crate::vocabulary::payloads;

/// The id shared by all unauthenticated visitors.
pub const VISITORS: &str = "own_visitors";

/// What a person may do in a session. Each may do what the ones before it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SessionRole {
    /// See it.
    Watch,
    /// Decide about tool calls.
    Approve,
    /// Say something, stop it, change it, while holding the wheel.
    Drive,
    /// All of it, and say who else may: whose session it is.
    Own,
}

/// One program of one person.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Seat {
    /// Who.
    pub person: OwnerId,
    /// Which of their programs, as it named itself; the same after it has connected again.
    pub client: String,
}

/// Why the wheel changed hands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WheelReason {
    /// The wheel was free, or its holder did not answer the request.
    Taken,
    /// The holder passed the wheel on.
    HandedOver,
    /// Who had it let it go.
    Released,
    /// Who had it was gone for too long.
    TimedOut,
}

payloads! {
    /// A command that a person ran beside the conversation has ended. The model reads of it with its next call; it begins no run.
    CommandRan {
        /// The command line.
        command: String,
        /// What it printed; of a long output the beginning and the end.
        output: String,
        /// How it ended, in words: `exit 0`.
        how: String,
        /// Who, where it is not the owner of the session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<OwnerId>,
    }
    /// A command that a person ran beside the conversation has ended.
    CommandFinished {
        /// The command line.
        command: String,
        /// What it printed; of a long output the beginning and the end.
        output: String,
        /// How it ended, in words: `exit 0`.
        how: String,
        /// Who, where it is not the owner of the session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<OwnerId>,
    }
    /// Another one drives.
    WheelChanged {
        /// Who drives now; `None` where nobody does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seat: Option<Seat>,
        /// Counts the changes, from 1; what a driver of an earlier one sends is refused.
        epoch: u64,
        /// Why.
        reason: WheelReason,
    }
    /// A person may do more or less than before.
    AccessChanged {
        /// Who.
        person: OwnerId,
        /// What they may do from now on; `None` for nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        role: Option<SessionRole>,
        /// The person who says so, where it is not the owner of the session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<OwnerId>,
    }
}
