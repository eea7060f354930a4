//! The record of a redaction: texts were taken out of a recorded session, and its chain of hashes still
//! holds.
//!
//! The facts of a segment with such a text are stored anew without it, next to the hash that the chain goes
//! on from. This fact names both hashes, so that a check accepts exactly these facts in place of the earlier
//! ones.

use serde::{Deserialize, Serialize};

use crate::BlobId;
use crate::vocabulary::payloads;

/// A segment of the log in which events were replaced.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RedactedSegment {
    /// Its first event.
    pub first_seq: u64,
    /// Its last event.
    pub last_seq: u64,
    /// The hash at its end before, in hexadecimal: the chain goes on from it.
    pub hash: String,
    /// The hash of what is stored now, in hexadecimal.
    pub redacted_hash: String,
    /// The events that were replaced.
    pub events: Vec<u64>,
    /// The forks that continue from an event inside the segment, with the hash from which their chains begin.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forks: Vec<ForkPoint>,
}

/// An event from which a fork continues.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ForkPoint {
    /// The last event that both have.
    pub seq: u64,
    /// The hash of everything up to it before the redaction, in hexadecimal.
    pub hash: String,
}

payloads! {
    /// Texts were taken out of the session.
    SessionRedacted {
        /// The names of what was taken out, without the values.
        names: Vec<String>,
        /// The segments in which events were replaced.
        segments: Vec<RedactedSegment>,
        /// The hashes of the contents that were removed although events still name them, in hexadecimal:
        /// contents of files, which are of use only unchanged. Empty in records of earlier versions.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        dropped: Vec<String>,
    }
}

impl SessionRedacted {
    /// The events that were replaced, in order.
    ///
    /// ```
    /// use agentx_types::{RedactedSegment, SessionRedacted};
    /// let segment = RedactedSegment {
    ///     first_seq: 1,
    ///     last_seq: 9,
    ///     hash: "aa".into(),
    ///     redacted_hash: "bb".into(),
    ///     events: vec![3, 4],
    ///     forks: Vec::new(),
    /// };
    /// let redacted = SessionRedacted {
    ///     names: vec!["KEY".into()],
    ///     segments: vec![segment],
    ///     dropped: Vec::new(),
    /// };
    /// assert_eq!(redacted.events().collect::<Vec<_>>(), [3, 4]);
    /// ```
    pub fn events(&self) -> impl Iterator<Item = u64> + '_ {
        self.segments
            .iter()
            .flat_map(|segment| segment.events.iter().copied())
    }

    /// The contents that were removed. The record has no ids of them: a log keeps every blob whose id an
    /// event names.
    pub fn dropped_blobs(&self) -> impl Iterator<Item = BlobId> + '_ {
        self.dropped.iter().map(BlobId::with_suffix)
    }

    /// Returns the form in which a record names removed contents.
    pub fn hashes_of<'a>(blobs: impl IntoIterator<Item = &'a BlobId>) -> Vec<String> {
        let hash = |blob: &BlobId| blob.as_str().strip_prefix(BlobId::PREFIX).map(str::to_owned);
        blobs.into_iter().filter_map(hash).collect()
    }
}
