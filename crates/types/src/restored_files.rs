//! Restoring files to an earlier state: the records in the log before and after.

use serde::{Deserialize, Serialize};

use crate::vocabulary::payloads;
use crate::{BlobId, OwnerId};

/// A file as it was at some time. Its bytes are a blob.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileImage {
    /// The content.
    pub blob: BlobId,
    /// The permissions, as Unix numbers them, if they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
}

/// A file that is put back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileReplaced {
    /// The absolute path, without links.
    pub path: String,
    /// The file before the restore; `None` if it did not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<FileImage>,
    /// The file after the restore; `None` if it is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub becomes: Option<FileImage>,
}

/// A file that could not be put back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileFailed {
    /// The path.
    pub path: String,
    /// The reason why it was not restored.
    pub what: String,
}

payloads! {
    /// A person has files put back.
    FilesRestoring {
        /// Files are to be as they were before this event.
        to_seq: u64,
        /// The files, each with its content before and after.
        files: Vec<FileReplaced>,
        /// The person, if not the session's owner.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<OwnerId>,
    }
    /// Files were put back, all but those that are named.
    FilesRestored {
        /// The `files_restoring` that this ends.
        restoring: u64,
        /// The files that were not restored.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        failed: Vec<FileFailed>,
    }
}
