//! Lays out segments again with different facts, for a redaction. Does not write.
//!
//! A segment is read as a whole and encoded again, as one row. The row keeps its hash, from which the chain
//! continues, and gets a mark with the hash of its new content.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use agentx_runtime::{Digest, Fact};
use agentx_types::{ForkPoint, RedactedSegment, SessionId, hex};
use rusqlite::{Connection, params};

use crate::error::Fault;
use crate::keys::{LAST_SEQ, int, unsigned};
use crate::read::{self, Chain, ChainStop, GoodRow, SessionRange};
use crate::rows::blobs::{EncodedBlobs, find_references};
use crate::rows::codec::{SegmentEncoder, StoredBody};
use crate::rows::redaction_mark;
use crate::rows::segment::{NewRow, seal};

/// A segment with other facts in it.
pub(crate) struct RewrittenSegment {
    /// The row of the session that holds it.
    pub(crate) holder: i64,
    /// The record of the segment.
    pub(crate) record: RedactedSegment,
    /// The row that replaces the rows of the segment.
    pub(crate) row: NewRow,
    /// The blobs that its events name now, and the payloads among them.
    pub(crate) named: EncodedBlobs,
    /// The blobs that the replaced events named before.
    pub(crate) named_before: BTreeSet<Digest>,
}

/// The segments of a session that hold these facts, with the facts in them.
pub(crate) fn rewritten(
    connection: &Connection,
    session: &SessionId,
    row: i64,
    facts: &[Fact],
) -> Result<Vec<RewrittenSegment>, Fault> {
    let mut wanted: BTreeMap<u64, &Fact> = facts.iter().map(|fact| (fact.seq, fact)).collect();
    let mut segments = Vec::new();
    for part in read::parts(connection, row)? {
        // Events behind the end of the part may be in its last segment.
        let whole = SessionRange {
            upto: LAST_SEQ,
            ..part.clone()
        };
        while let Some(seq) = first_in(&wanted, &part) {
            let mut segment = SegmentRead::default();
            segment.read(connection, session, &whole, seq, &wanted)?;
            if segment.events.is_empty() {
                break;
            }
            for seq in &segment.events {
                wanted.remove(seq);
            }
            segments.push(segment.encoded(connection, &whole)?);
        }
    }
    match wanted.into_keys().next() {
        Some(seq) => Err(Fault::Other(format!(
            "session {session} has no event {seq} to replace"
        ))),
        None => Ok(segments),
    }
}

/// The first of these facts that a part has.
fn first_in(wanted: &BTreeMap<u64, &Fact>, part: &SessionRange) -> Option<u64> {
    let after = part.after.saturating_add(1);
    (after <= part.upto)
        .then(|| wanted.range(after..=part.upto).next())
        .flatten()
        .map(|(seq, _)| *seq)
}

/// A segment that was read, with some facts replaced.
#[derive(Default)]
struct SegmentRead {
    facts: Vec<Fact>,
    events: Vec<u64>,
    named_before: BTreeSet<Digest>,
    before: Digest,
    hash: Digest,
    derived: Option<Digest>,
    at: i64,
}

impl SegmentRead {
    /// Reads the segment that holds the event `seq`.
    fn read(
        &mut self,
        connection: &Connection,
        session: &SessionId,
        whole: &SessionRange,
        seq: u64,
        wanted: &BTreeMap<u64, &Fact>,
    ) -> Result<(), Fault> {
        let walked = read::rows(connection, whole, seq, |chain, row| {
            if row.starts && !self.facts.is_empty() {
                return Ok(ControlFlow::Break(()));
            }
            self.take(connection, session, chain, &row, wanted)
        });
        match walked {
            Ok(_) => Ok(()),
            Err(ChainStop::Fault(fault)) => Err(fault),
            Err(ChainStop::Damage(damage)) => Err(damage.error(session).into()),
        }
    }

    fn take(
        &mut self,
        connection: &Connection,
        session: &SessionId,
        chain: &mut Chain,
        row: &GoodRow<'_>,
        wanted: &BTreeMap<u64, &Fact>,
    ) -> Result<ControlFlow<()>, ChainStop> {
        if self.facts.is_empty() {
            self.before = row.before;
        }
        (self.hash, self.derived, self.at) = (row.hash, row.derived, row.at);
        read::events(chain, row, |seq, decoder, body, _| {
            let stored = read::fact(connection, session, seq, decoder, body)?;
            match wanted.get(&seq) {
                Some(fact) => {
                    self.note_named(&stored, body);
                    self.events.push(seq);
                    self.facts.push((*fact).clone());
                }
                None => self.facts.push(stored),
            }
            Ok(ControlFlow::Continue(()))
        })
    }

    fn note_named(&mut self, stored: &Fact, body: &StoredBody<'_>) {
        find_references(&stored.payload_json(), |hash| {
            self.named_before.insert(hash);
        });
        if let StoredBody::InBlob { hash, .. } = body {
            self.named_before.insert(*hash);
        }
    }

    fn encoded(self, connection: &Connection, whole: &SessionRange) -> Result<RewrittenSegment, Fault> {
        let (mut encoder, mut data) = (SegmentEncoder::default(), Vec::new());
        let mut named = EncodedBlobs::default();
        for fact in &self.facts {
            encoder.fact(fact, &mut data, &mut named);
        }
        let first_seq = self.facts.first().map_or(0, |fact| fact.seq);
        let last_seq = self.facts.last().map_or(0, |fact| fact.seq);
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.before).update(&data);
        let redacted = seal(&hasher, self.derived.as_ref(), last_seq, self.at);
        let record = RedactedSegment {
            first_seq,
            last_seq,
            hash: hex(&self.hash),
            redacted_hash: hex(&redacted),
            events: self.events,
            forks: fork_points(connection, whole, first_seq, last_seq)?,
        };
        let row = NewRow {
            first_seq,
            last_seq,
            starts: true,
            at: self.at,
            hash: self.hash,
            derived: self.derived,
            data: redaction_mark::put_before(&data, &redacted),
            packs: true,
        };
        Ok(RewrittenSegment {
            holder: whole.session,
            record,
            row,
            named,
            named_before: self.named_before,
        })
    }
}

/// The forks of a session that continue from an event in this range, with the hashes from which they begin
/// now.
fn fork_points(
    connection: &Connection,
    whole: &SessionRange,
    first_seq: u64,
    last_seq: u64,
) -> Result<Vec<ForkPoint>, Fault> {
    let mut statement = connection.prepare_cached(
        "SELECT DISTINCT at_seq FROM sessions WHERE base = ?1 AND at_seq BETWEEN ?2 AND ?3 ORDER BY at_seq",
    )?;
    let rows = statement.query_map(params![whole.session, int(first_seq), int(last_seq)], |row| {
        unsigned(row, 0)
    })?;
    let places = rows.collect::<Result<Vec<u64>, _>>()?;
    let mut points = Vec::new();
    for seq in places {
        let hash = read::hash_at(connection, whole, seq).map_err(|stop| match stop {
            ChainStop::Fault(fault) => fault,
            ChainStop::Damage(damage) => damage.error(&SessionId::new(whole.name())).into(),
        })?;
        points.extend(hash.map(|hash| ForkPoint {
            seq,
            hash: hex(&hash),
        }));
    }
    Ok(points)
}
