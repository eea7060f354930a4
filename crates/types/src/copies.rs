//! Facts with which a copy of a session begins its own life: a fork, or an import of a document. Both leave
//! work in progress to the original.

use crate::SessionId;
use crate::vocabulary::payloads;

payloads! {
    /// The session continues from a point in another one.
    SessionForked {
        /// The other one.
        parent: SessionId,
        /// The last event that both have.
        at_seq: u64,
        /// Whether queued inputs keep waiting until a person sends a message, as with `interrupt_requested`.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        hold: bool,
    }
    /// The session was read from a document up to this event. Work in progress in the original is not
    /// continued, and queued inputs wait until a person sends a message, as with `interrupt_requested`.
    SessionImported {
        /// The directory in which all agents of the session work from now on, whatever the document says;
        /// absent in logs older than this field.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        workspace: Option<String>,
    }
}
