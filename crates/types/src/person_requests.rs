//! Requests of a person besides messages: stopping a run, another mode for an input, a command.

use serde_json::Value;

use crate::vocabulary::payloads;
use crate::{InputMode, MessageId, OwnerId};

payloads! {
    /// A person wants to stop the run.
    InterruptRequested {
        /// The reason, if one was given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Whether queued inputs keep waiting until a person sends a message. Set while the session is being
        /// closed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        hold: bool,
        /// The person, if not the session's owner.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<OwnerId>,
    }
    /// A person withdraws a queued input, or gives it another mode. An input that is no longer queued does
    /// not change.
    InputRevised {
        /// The input.
        message_id: MessageId,
        /// The new mode; absent if the input is withdrawn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<InputMode>,
        /// The person, if not the session's owner.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<OwnerId>,
    }
    /// A person gives the system a command.
    SystemCommand {
        /// The name, without a slash.
        command: String,
        /// The arguments.
        args: Value,
        /// The person, if not the session's owner.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<OwnerId>,
    }
}
