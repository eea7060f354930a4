//! What a person wants beside what they say: an end of what runs, another time for an input, a command.

use serde_json::Value;

use crate::vocabulary::payloads;
use crate::{InputMode, MessageId, OwnerId};

payloads! {
    /// A person wants what runs to stop.
    InterruptRequested {
        /// Why, if it was said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Whether inputs that wait go on waiting until a person says something. Set where the session is being closed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        hold: bool,
        /// Who, where it is not the owner of the session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<OwnerId>,
    }
    /// A person takes back an input that waits, or wants it looked at sooner or later. One that waits no more stays as it was.
    InputRevised {
        /// The input.
        message_id: MessageId,
        /// When it is looked at from now on; absent where it is taken back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mode: Option<InputMode>,
        /// Who, where it is not the owner of the session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<OwnerId>,
    }
    /// A person gives the system a command.
    SystemCommand {
        /// Its name, without a slash.
        command: String,
        /// Its arguments.
        args: Value,
        /// Who, where it is not the owner of the session.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<OwnerId>,
    }
}
