//! The history of one file: each change by the session, with the content before and after.

use std::collections::BTreeSet;
use std::ops::Range;

use agentx_types::{BlobId, Envelope, EnvironmentEvent, FileImage, Timestamp};
use serde_json::Value;

/// Says of a change that a restore made it, and no tool.
pub(super) const RESTORE: &str = "rewind";

/// The tool whose outcome lists the files that its command changed, as far as they are kept.
pub(super) const COMMANDS: &str = "bash";

/// The state of a path at some time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileVersion {
    /// Nothing.
    Absent,
    /// A file with this content.
    File(FileImage),
    /// The content is not recorded in any fact.
    Unknown,
}

impl FileVersion {
    /// The bytes that were there, by their hash; `None` if there was no file or it is not known.
    pub fn blob(&self) -> Option<&BlobId> {
        match self {
            Self::File(image) => Some(&image.blob),
            Self::Absent | Self::Unknown => None,
        }
    }

    /// Returns whether this is the present content of the path: no file, or a file with these bytes. An
    /// unknown version equals nothing.
    pub fn matches(&self, present: Option<&BlobId>) -> bool {
        match self {
            Self::Absent => present.is_none(),
            Self::File(image) => present == Some(&image.blob),
            Self::Unknown => false,
        }
    }
}

/// A change of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct FileChange {
    /// The event that records it.
    pub seq: u64,
    /// The time of the change.
    pub at: Timestamp,
    /// The tool that made it, or `rewind`.
    pub by: String,
    /// The state before.
    pub before: FileVersion,
    /// The state after.
    pub after: FileVersion,
    /// Whether it is known to have happened; if not, the file may still have its former content.
    pub confirmed: bool,
    /// The directories created for it, outermost first.
    pub made: Vec<String>,
}

/// All changes of a file, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileHistory {
    pub(super) changes: Vec<FileChange>,
}

impl FileHistory {
    /// Returns the changes, in order.
    pub fn changes(&self) -> &[FileChange] {
        &self.changes
    }

    /// Returns whether the session changed it at this event or later.
    pub fn is_touched_since(&self, seq: u64) -> bool {
        self.changes.last().is_some_and(|last| last.seq >= seq)
    }

    /// Returns the state before this event, as far as the session knows.
    pub fn version_before(&self, seq: u64) -> &FileVersion {
        match self.changes.iter().find(|change| change.seq >= seq) {
            Some(change) => &change.before,
            None => self.end(),
        }
    }

    /// Returns the state that the session left.
    pub fn end(&self) -> &FileVersion {
        self.changes
            .last()
            .map_or(&FileVersion::Unknown, |last| &last.after)
    }

    /// Returns the state that the session would have left without these events.
    pub(super) fn end_without(&self, events: &BTreeSet<u64>) -> &FileVersion {
        let mut changes = self.changes.iter().rev();
        match changes.find(|change| !events.contains(&change.seq)) {
            Some(last) => &last.after,
            None => self
                .changes
                .first()
                .map_or(&FileVersion::Unknown, |first| &first.before),
        }
    }

    /// Returns whether the file is as the session left it: `present` is the last version that the session
    /// wrote. Until its last change is confirmed, the version before that change is accepted as well.
    pub fn left(&self, present: Option<&BlobId>) -> bool {
        self.changes.last().is_some_and(|last| {
            last.after.matches(present) || !last.confirmed && last.before.matches(present)
        })
    }

    /// The latest change since this event that a tool made. A restore only brings back what was there before.
    pub fn work_since(&self, seq: u64) -> Option<&FileChange> {
        let mut latest_first = self.changes.iter().rev();
        latest_first.find(|change| change.seq >= seq && change.by != RESTORE)
    }

    /// Returns whether a tool changed it in this range of events.
    pub fn is_worked_on_in(&self, events: Range<u64>) -> bool {
        let mut changes = self.changes.iter();
        changes.any(|change| events.contains(&change.seq) && change.by != RESTORE)
    }

    /// The first change since this event that was found after a command. Somebody else may have made it while
    /// the command ran.
    pub fn change_by_command_since(&self, seq: u64) -> Option<&FileChange> {
        let mut changes = self.changes.iter();
        changes.find(|change| change.seq >= seq && change.by == COMMANDS)
    }

    /// The first change since this event that found another version than the previous change had left:
    /// somebody else changed the file in between.
    pub fn foreign_since(&self, seq: u64) -> Option<&FileChange> {
        let pairs = self.changes.windows(2);
        pairs
            .filter(|pair| pair[0].seq >= seq)
            .find(|pair| {
                let (one, next) = (&pair[0], &pair[1]);
                let expected = one.after == FileVersion::Unknown || next.before == FileVersion::Unknown;
                let same = match &next.before {
                    FileVersion::Absent => one.after == FileVersion::Absent,
                    FileVersion::File(image) => one.after.matches(Some(&image.blob)),
                    FileVersion::Unknown => true,
                };
                let undone = !one.confirmed && one.before.blob() == next.before.blob();
                !(expected || same || undone)
            })
            .map(|pair| &pair[1])
    }
}

/// Returns the file and its change, from the outcome of `write` or `edit`, or an entry of that of `bash`.
pub(super) fn change_of(
    details: &Value,
    tool: &str,
    fact: &Envelope<EnvironmentEvent>,
) -> Option<(String, FileChange)> {
    let path = details.get("path")?.as_str()?;
    let created = details.get("created")?.as_bool()?;
    let removed = details
        .get("removed")
        .and_then(Value::as_bool)
        .unwrap_or_default();
    let number = |key: &str| details.get(key).and_then(Value::as_u64);
    let mode = |key: &str| number(key).and_then(|mode| u32::try_from(mode).ok());
    let file = |key: &str, mode: Option<u32>| match details.get(key).and_then(Value::as_str) {
        Some(blob) => FileVersion::File(FileImage {
            blob: BlobId::new(blob),
            mode,
        }),
        None => FileVersion::Unknown,
    };
    let change = FileChange {
        seq: fact.seq,
        at: fact.at,
        by: tool.to_owned(),
        before: if created {
            FileVersion::Absent
        } else {
            file("pre_image", mode("pre_mode").or(mode("mode")))
        },
        after: if removed {
            FileVersion::Absent
        } else {
            file("post_image", mode("mode"))
        },
        confirmed: true,
        made: texts(details.get("directories")),
    };
    Some((path.to_owned(), change))
}

fn texts(value: Option<&Value>) -> Vec<String> {
    let items = value.and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}
