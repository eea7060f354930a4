//! The first line of the file of a draft, and the content of such a file.

use serde::{Deserialize, Serialize};

/// The place where a draft was typed. It is the first line of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DraftPlace {
    /// The address of the server, in a chat with one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) server: Option<String>,
    /// The session, or the directory of a session that has not begun.
    pub(super) at: String,
}

/// The first line of a file.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct DraftHeader {
    #[serde(flatten)]
    pub(super) place: DraftPlace,
    /// The last event of the place when the text was written: see `DraftKeeper::set_after`. Files of earlier
    /// versions have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) after: Option<u64>,
    /// The place of the cursor in the first text, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) cursor: Option<usize>,
}

/// The texts that were kept at a place.
#[derive(Debug, Default)]
pub(crate) struct KeptDraft {
    pub(crate) texts: Vec<String>,
    /// The state of the place when they were written: see `DraftKeeper::set_after`.
    pub(crate) after: Option<u64>,
    /// The place of the cursor in the first one.
    pub(crate) cursor: Option<usize>,
}
