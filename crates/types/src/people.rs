//! The roles of people in a shared session, and the wheel that one of them holds.

use serde::{Deserialize, Serialize};

use crate::OwnerId;
use crate::vocabulary::payloads;

/// The id shared by all unauthenticated visitors.
pub const VISITORS: &str = "own_visitors";

/// The rights of a person in a session. Each role includes the rights of the ones before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SessionRole {
    /// May read the session.
    Watch,
    /// May decide about tool calls.
    Approve,
    /// May send input, stop runs and change the session, while holding the wheel.
    Drive,
    /// May do everything, including giving roles: the owner.
    Own,
}

/// A program of a person.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Seat {
    /// The person.
    pub person: OwnerId,
    /// The name that the person's program chose; it stays the same after a reconnect.
    pub client: String,
}

/// The reason why the driver changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum WheelReason {
    /// The wheel was free, or its holder did not answer the request.
    Taken,
    /// The holder passed the wheel on.
    HandedOver,
    /// The holder released the wheel.
    Released,
    /// The holder was away for too long.
    TimedOut,
}

payloads! {
    /// A command that a person ran outside the conversation has ended. The model reads about it in its next
    /// call; it begins no run.
    CommandRan {
        /// The command line.
        command: String,
        /// The output; of a long output the beginning and the end.
        output: String,
        /// The outcome as text: `exit 0`.
        how: String,
        /// The person, if not the session's owner.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<OwnerId>,
    }
    /// A command that a person ran outside the conversation has ended.
    CommandFinished {
        /// The command line.
        command: String,
        /// The output; of a long output the beginning and the end.
        output: String,
        /// The outcome as text: `exit 0`.
        how: String,
        /// The person, if not the session's owner.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<OwnerId>,
    }
    /// The driver changed.
    WheelChanged {
        /// The driver; `None` if there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seat: Option<Seat>,
        /// Counts the changes, from 1; frames of an earlier driver are refused.
        epoch: u64,
        /// The reason.
        reason: WheelReason,
    }
    /// The role of a person changed.
    AccessChanged {
        /// The person.
        person: OwnerId,
        /// The new role; `None` for none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        role: Option<SessionRole>,
        /// The person who changed it, if it was not the session's owner.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<OwnerId>,
    }
}
