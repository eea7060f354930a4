//! The past of a session as a rewind shows it: the messages of people, and what cannot be undone.

use agentx_types::{MessageId, Timestamp};
use serde::Serialize;
use serde_json::Value;

/// A message of a person.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PastInput {
    /// The number of the input, from 1.
    pub number: usize,
    /// The `seq` of the event that recorded it.
    pub seq: u64,
    /// The message.
    pub message_id: MessageId,
    /// The time.
    pub at: Timestamp,
    /// The texts of the message.
    pub texts: Vec<String>,
    /// Whether it has no content: after a run that failed, such an input calls the model again, as `/retry`
    /// does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retry: bool,
    /// Whether the agent was working when it was sent. Going back to before it keeps the part of that answer
    /// that had come by then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub amid: bool,
    /// Whether a part of that answer had come by then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub received: bool,
}

/// An effect that a rewind does not undo.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IrreversibleEffect {
    /// The event that records its end.
    pub seq: u64,
    /// The tool.
    pub tool: String,
    /// The arguments.
    pub input: Value,
    /// The time of its beginning.
    pub from: Timestamp,
    /// The time of its end.
    pub until: Timestamp,
    /// The number of files that a command changed and that a rewind restores all the same; `None` if nobody
    /// looked at the files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<usize>,
    /// Files that may have been changed and are not kept, because of a limit.
    #[serde(default, skip_serializing_if = "is_none")]
    pub files_not_kept: u64,
}

/// The effects that a rewind to before an event would not undo.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IrreversibleEffects {
    /// Inputs, that one included.
    pub inputs: usize,
    /// Messages of people and of the model.
    pub messages: usize,
    /// Files that were changed.
    pub files: Vec<String>,
    /// The number of effects that cannot be undone.
    pub beyond: usize,
}

fn is_none(count: &u64) -> bool {
    *count == 0
}
