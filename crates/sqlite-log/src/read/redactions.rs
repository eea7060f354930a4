//! Compares the replaced segments of a session with the records of their redactions. Called by the check of a
//! whole session, and when the rows of a fork are adopted.
//!
//! A record is a fact of every session that had events of the segment when it was redacted. A fork that was
//! made later finds it among the later events of its parent. If that parent is deleted, so is its record;
//! then the mark of the segment has to do.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use agentx_runtime::Digest;
use agentx_types::{EnvironmentEvent, SessionId, SessionRedacted, hex};
use rusqlite::Connection;

use crate::error::Fault;
use crate::keys::{LAST_SEQ, session_row};
use crate::read::{self, ChainStop, Damage, GoodRow, SessionRange};
use crate::rows::segment::base_hash;

/// The tag of a record.
const RECORD: &str = "session_redacted";

/// A segment with a mark.
pub(crate) struct MarkedSegment {
    pub(crate) first_seq: u64,
    pub(crate) last_seq: u64,
    pub(crate) hash: Digest,
    pub(crate) redacted: Digest,
    /// The part that holds it, as far as the log goes.
    pub(crate) holder: SessionRange,
}

impl MarkedSegment {
    /// The segment of a row with a mark.
    pub(crate) fn of(row: &GoodRow<'_>, last_seq: u64, part: &SessionRange) -> Option<Self> {
        Some(Self {
            first_seq: row.first_seq,
            last_seq,
            hash: row.hash,
            redacted: row.redacted?,
            holder: part.clone(),
        })
    }
}

/// A part whose chain does not begin with the present hash of the events before it.
pub(crate) struct OtherBase {
    pub(crate) part: SessionRange,
    /// The session that the events before it are in.
    pub(crate) holder: Option<SessionRange>,
}

/// The redactions that a walk through a session found.
#[derive(Default)]
pub(crate) struct RedactionsFound {
    pub(crate) records: Vec<SessionRedacted>,
    pub(crate) segments: Vec<MarkedSegment>,
    pub(crate) bases: Vec<OtherBase>,
}

impl RedactionsFound {
    /// Compares everything. Returns how many events were replaced, and what no record explains.
    pub(crate) fn compared(mut self, connection: &Connection) -> Result<(u64, Vec<Damage>), Fault> {
        let mut damages = Vec::new();
        let mut events = 0;
        for segment in std::mem::take(&mut self.segments) {
            match self.events_of(connection, &segment)? {
                Some(count) => events += count,
                None => damages.push(Damage {
                    seq: segment.first_seq,
                    what: unrecorded(is_deleted(connection, &segment.holder)?).to_owned(),
                }),
            }
        }
        for base in std::mem::take(&mut self.bases) {
            if !self.explains(connection, &base)? {
                damages.push(other_base(&base.part));
            }
        }
        Ok((events, damages))
    }

    /// The number of replaced events, as the record of the segment says; `None` if there is none.
    fn events_of(&mut self, connection: &Connection, segment: &MarkedSegment) -> Result<Option<u64>, Fault> {
        if let Some(count) = count_in(&self.records, segment) {
            return Ok(Some(count));
        }
        let later = later_records(connection, &segment.holder)?;
        let count = count_in(&later, segment);
        self.records.extend(later);
        Ok(count)
    }

    /// Returns whether the chain of a part begins with the hash that the events before it had earlier.
    fn explains(&self, connection: &Connection, base: &OtherBase) -> Result<bool, Fault> {
        if begins_with(&self.records, &base.part) {
            return Ok(true);
        }
        let Some(holder) = &base.holder else {
            return Ok(false);
        };
        Ok(begins_with(&later_records(connection, holder)?, &base.part))
    }
}

/// Returns the problem that no record explains what was taken out of a segment. A mark alone proves nothing:
/// anybody who can write the database can set it.
fn unrecorded(holder_is_deleted: bool) -> &'static str {
    if holder_is_deleted {
        "it was replaced, and the session with the record of that is deleted, so nothing says what was taken out"
    } else {
        "it was replaced, and no record says so"
    }
}

/// The finding that a part does not follow the events before it.
pub(crate) fn other_base(part: &SessionRange) -> Damage {
    Damage {
        seq: part.after + 1,
        what: format!(
            "session {} does not follow the events that it was forked from",
            part.name()
        ),
    }
}

/// Returns whether the chain of a part begins with a hash that a record keeps for its place.
pub(crate) fn begins_with(records: &[SessionRedacted], part: &SessionRange) -> bool {
    let segments = records.iter().flat_map(|record| &record.segments);
    let mut places = segments.flat_map(|segment| &segment.forks);
    places.any(|place| {
        let hash = blake3::Hash::from_hex(&place.hash).ok();
        place.seq == part.after
            && hash.is_some_and(|hash| base_hash(part.name(), Some(hash.as_bytes())) == part.base_hash)
    })
}

/// The records among the facts of a session. Damage ends the search.
pub(crate) fn records_in(
    connection: &Connection,
    session: &SessionId,
) -> Result<Vec<SessionRedacted>, Fault> {
    let row = session_row(connection, session)?;
    let mut records = Vec::new();
    for part in read::parts(connection, row)? {
        records.extend(records_of(connection, &part, part.after + 1)?);
    }
    Ok(records)
}

/// The records behind the end of a part, in the session that holds it.
fn later_records(connection: &Connection, part: &SessionRange) -> Result<Vec<SessionRedacted>, Fault> {
    let whole = SessionRange {
        upto: LAST_SEQ,
        ..part.clone()
    };
    records_of(connection, &whole, part.after + 1)
}

fn records_of(
    connection: &Connection,
    part: &SessionRange,
    from: u64,
) -> Result<Vec<SessionRedacted>, Fault> {
    let mut records = Vec::new();
    let session = SessionId::new(part.name());
    let walked = read::rows(connection, part, from, |chain, row| {
        read::events(chain, &row, |seq, decoder, body, _| {
            if body.has_tag(RECORD) && seq <= part.upto {
                let fact = read::fact(connection, &session, seq, decoder, body)?;
                if let EnvironmentEvent::SessionRedacted(record) = &fact.event {
                    records.push(record.clone());
                }
            }
            Ok(ControlFlow::Continue(()))
        })
    });
    match walked {
        Ok(_) | Err(ChainStop::Damage(_)) => Ok(records),
        Err(ChainStop::Fault(fault)) => Err(fault),
    }
}

fn count_in(records: &[SessionRedacted], segment: &MarkedSegment) -> Option<u64> {
    let mut events = BTreeSet::new();
    let mut is_present = false;
    for record in records.iter().flat_map(|record| &record.segments) {
        let is_it = (record.first_seq, record.last_seq) == (segment.first_seq, segment.last_seq)
            && record.hash == hex(&segment.hash);
        if is_it {
            is_present |= record.redacted_hash == hex(&segment.redacted);
            events.extend(record.events.iter().copied());
        }
    }
    is_present.then_some(events.len() as u64)
}

fn is_deleted(connection: &Connection, part: &SessionRange) -> Result<bool, Fault> {
    Ok(connection
        .prepare_cached("SELECT deleted_at IS NOT NULL FROM sessions WHERE id = ?1")?
        .query_row([part.session], |row| row.get(0))?)
}
