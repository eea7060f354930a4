//! Requests to restore files, and their answers.

use agentx_types::{BlobId, FileFailed, SessionId, Timestamp};
use serde::{Deserialize, Serialize};

/// A preview of restoring files to their state before an event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RestorePlan {
    /// The session whose files these are.
    pub session_id: SessionId,
    /// The event.
    pub to_seq: u64,
    /// The files that the session changed since, and that are not as they were then.
    pub files: Vec<PlannedFile>,
}

/// The effect of a restore on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RestoreEffect {
    /// The file is removed: it did not exist then.
    Removed,
    /// The file is re-created: it is missing now.
    BroughtBack,
    /// The file's content is replaced.
    Changed,
}

/// The reason why a person has to be asked about a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RestoreConflict {
    /// Another program or person changed it after the session.
    ChangedSince {
        /// The time of the change, from the file; absent if the file is gone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<Timestamp>,
        /// The call of this session that ran at that time, if one did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        during: Option<String>,
    },
    /// Another program or person changed it between two changes of the session; restoring undoes that too.
    ChangedBetween {
        /// The event that found it changed.
        seq: u64,
    },
    /// An earlier restore would be undone, and the session changed the file after that one.
    ChangedByAgent {
        /// The event of the latest such change.
        seq: u64,
    },
    /// It changed while a command of the session ran, which may have been the command or somebody else.
    DuringCommand {
        /// The event of the first such change.
        seq: u64,
    },
    /// The session does not record the file's last state.
    NotKnown,
    /// The file is outside the workspace.
    Outside,
}

/// A file that would be put back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlannedFile {
    /// The path of the file: absolute, without links.
    pub path: String,
    /// The path relative to the workspace if it is inside, otherwise as `path`.
    pub shown: String,
    /// The effect on it.
    pub happens: RestoreEffect,
    /// The hash of its current content; absent if there is no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<BlobId>,
    /// The reason why a person has to be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<RestoreConflict>,
    /// The reason why it cannot be put back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked: Option<String>,
    /// Lines that would come.
    pub added: usize,
    /// Lines that would go.
    pub removed: usize,
    /// The change as a unified diff from the present text; empty for binary files.
    pub diff: String,
}

/// The files that a person wants to restore.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RestoreRequest {
    /// The event before which the files had the wanted content.
    pub to_seq: u64,
    /// The files to restore.
    pub files: Vec<RestoreFile>,
}

/// A file to put back, as it was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RestoreFile {
    /// The path of the file.
    pub path: String,
    /// The hash of its content when the person decided; a file with another content is not restored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<BlobId>,
}

/// The outcome of a restore.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RestoreReport {
    /// The event that records the restore, for undoing it; absent if no file was changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The restored files.
    pub restored: Vec<String>,
    /// Directories that went too: the session had made them for files that went, and they were empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub directories: Vec<String>,
    /// The files that were not restored.
    pub failed: Vec<FileFailed>,
}

impl RestoreRequest {
    /// Creates a request for every file of a plan that needs no question, and for those that `also` selects.
    pub fn of(plan: &RestorePlan, mut also: impl FnMut(&PlannedFile) -> bool) -> Self {
        let wanted = |file: &&PlannedFile| file.blocked.is_none() && (file.doubt.is_none() || also(file));
        let files = plan.files.iter().filter(wanted).map(|file| RestoreFile {
            path: file.path.clone(),
            seen: file.seen.clone(),
        });
        Self {
            to_seq: plan.to_seq,
            files: files.collect(),
        }
    }
}
