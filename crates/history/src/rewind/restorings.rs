//! Restores of files, and how to undo them. A restore may have been interrupted: then it and the one that
//! completed it are undone together.

use agentx_types::{Envelope, EnvironmentEvent, FilesRestoring, Timestamp};
use serde::Serialize;

/// Files that were put back.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Restoring {
    /// The `seq` of the event that recorded it.
    pub seq: u64,
    /// The time.
    pub at: Timestamp,
    /// The event before which the files had the wanted content.
    pub to_seq: u64,
    /// The paths of the files.
    pub files: Vec<String>,
    /// Whether its end is not recorded. Then any of the files may be unchanged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unfinished: bool,
    /// The first of the restores that are undone together: this one and, directly before it, those that
    /// were cut off and that it repeats.
    pub first: u64,
    /// Whether it undoes another one.
    #[serde(skip)]
    pub is_undo: bool,
    /// The files of the undone restore that an undo has not put back so far, because it kept them or failed.
    /// Known only of the latest one.
    #[serde(skip)]
    pub left: Vec<String>,
}

impl Restoring {
    /// Records the start of a restore, after these. `changed_since` returns whether a tool changed a file
    /// after an event.
    pub(super) fn begun(
        fact: &Envelope<EnvironmentEvent>,
        restoring: &FilesRestoring,
        before: &[Self],
        changed_since: impl Fn(u64) -> bool,
    ) -> Self {
        let to_seq = restoring.to_seq;
        let is_undo = before.iter().any(|earlier| earlier.seq == to_seq);
        // Two rewinds to different inputs are one change of mind: the way back leads to before the first.
        let repeats = |last: &&Self| last.unfinished && (last.to_seq == to_seq || !last.is_undo && !is_undo);
        let cut_off = before
            .last()
            .filter(repeats)
            .filter(|last| !changed_since(last.seq));
        Self {
            seq: fact.seq,
            at: fact.at,
            to_seq,
            files: restoring.files.iter().map(|file| file.path.clone()).collect(),
            unfinished: true,
            first: cut_off.map_or(fact.seq, |cut_off| cut_off.first),
            is_undo,
            left: Vec::new(),
        }
    }

    /// Whether it undid another one, to its end. An undo of it goes the opposite way.
    pub fn is_finished_undo(&self) -> bool {
        self.is_undo && !self.unfinished
    }

    /// The event to before which an undo goes. An interrupted restoring is completed and not undone, so that
    /// repeating the same command does not go the opposite way.
    pub fn undo_to(&self) -> u64 {
        if self.unfinished && self.is_undo {
            self.to_seq
        } else {
            self.first
        }
    }
}
