//! The types that a [`SessionReader`](super::SessionReader) and its source exchange.
//!
//! The guarantees of `SessionReader` hold if a source obeys two rules:
//!
//! 1. After [`SourceStart`], it omits nothing after the point that it was asked for without a
//!    [`SourceItem::Cut`].
//! 2. It returns facts in the order of their `seq`, except facts that it repeats.

use std::sync::Arc;

use agentx_types::{Envelope, RuntimeEvent, SessionId};

use super::{Delivery, Fact};
use crate::SessionFold;

/// The content that a source returns while it is live. It is set when the reader is created, and decides who
/// folds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveContent {
    /// Facts: their meaning is derived here.
    Facts,
    /// Derived events, after each fact that the source returns: the process that committed the facts derived
    /// them.
    Derived,
}

/// The beginning of a source, also after a cut.
#[derive(Debug)]
pub enum SourceStart {
    /// The source brings events from now on. The log has everything up to this fact, and perhaps more.
    Log(u64),
    /// The source pushes everything after [`SessionReader::overlap`](super::SessionReader::overlap), perhaps
    /// among facts that are known or come too early.
    Stream {
        /// The last fact that existed, if the source does not [report it itself](SourceItem::CaughtUp).
        head: Option<u64>,
        /// The state of the session at some known point, if the source returns everything after that instead.
        fold: Option<Box<SessionFold>>,
    },
}

/// An item that a source returns while it is live.
#[derive(Clone, Debug)]
pub enum SourceItem {
    /// A fact.
    Fact(Fact),
    /// An event that was derived from a fact.
    Derived(Arc<Envelope<RuntimeEvent>>),
    /// The log now has everything up to this fact.
    Log(u64),
    /// The source has brought everything that existed when it began, up to this fact.
    CaughtUp(u64),
    /// Events may be missing from now on. The reader asks the source to begin again; items from before the
    /// cut stay valid.
    Cut,
}

/// The next step of a reader.
#[derive(Debug)]
pub enum ReaderStep {
    /// Deliver this.
    Deliver(Delivery),
    /// Have the source begin, or begin again, after [`SessionReader::known`](super::SessionReader::known), or
    /// as a stream after [`SessionReader::overlap`](super::SessionReader::overlap); then
    /// [`SessionReader::source_began`](super::SessionReader::source_began).
    Begin,
    /// Read the log; then [`SessionReader::folded`](super::SessionReader::folded), or
    /// [`SessionReader::page`](super::SessionReader::page).
    Read(PastRequest),
    /// Wait for items of the source; then [`SessionReader::feed`](super::SessionReader::feed).
    Wait,
    /// The reader needs nothing more.
    End,
    /// The reader cannot deliver anything more.
    Missing(Gap),
    /// The log of this session went back: the event with this `seq` differs from the one before, or is
    /// missing. No event of the new history was delivered.
    WentBack(SessionId, u64),
}

/// A request for events from before the source began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PastRequest {
    /// The state of the session after this fact, or at any point before: the facts in between are requested.
    Fold(u64),
    /// The facts after this one.
    Facts(u64),
}

/// Facts that should have come but did not: the source is broken. This is not a cut, because beginning again
/// would bring the same. The reader's owner has to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The `seq` of the first missing fact.
    pub first: u64,
    /// The `seq` of the last missing fact.
    pub last: u64,
}

impl std::fmt::Display for Gap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the events {} to {} did not come", self.first, self.last)
    }
}
