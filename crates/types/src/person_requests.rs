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
    /// A request of a client was carried out. It is recorded with the event of the request, in the same
    /// commit, so that the request is known if it comes again because its answer was lost.
    RequestRecorded {
        /// The key of the request: different for each request, the same when it is sent again. The key of
        /// another person than the session's owner begins with the person's id.
        idempotency_key: String,
        /// The event that the request became; the latest event if there was nothing to do.
        seq: u64,
        /// A hash of what was requested, so that the key is refused for another request; absent in logs older
        /// than this field.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<String>,
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
