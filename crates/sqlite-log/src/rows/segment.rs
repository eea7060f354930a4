//! From batches to rows: facts are laid out, chained by hashes and packed. Only the writer thread calls it.
//!
//! A *segment* is a run of rows that share one record stream; its first row can be read without anything
//! before it. The hash of a row is BLAKE3 over the hash at the end of the segment before, the segment's bytes
//! up to the row's end, and the row's seal (its derived digest, last `seq` and time). So the rows of a
//! segment can be packed into one, which keeps the hash of the last: nothing changes for a reader or for the
//! chain.

use agentx_runtime::{Digest, Fact};
use agentx_types::EnvironmentEvent;

use crate::rows::blobs::EncodedBlobs;
use crate::rows::codec::{INLINE_LIMIT, SegmentEncoder};

/// A segment is closed once it has this many bytes.
pub(crate) const SEGMENT_BYTES: usize = 32 * 1024;
/// An open segment is packed once it has this many rows.
pub(crate) const SEGMENT_ROWS: usize = 256;
/// Rows that are longer than this on average are not worth packing.
const PACKED_ENOUGH: usize = 8 * 1024;

/// Approximate size of the record of a streamed word, for reserving memory.
const CHUNK_BYTES: usize = 12;

/// A row of the `batches` table, about to be written.
#[derive(Debug)]
pub(crate) struct NewRow {
    pub(crate) first_seq: u64,
    pub(crate) last_seq: u64,
    /// Whether a segment begins here.
    pub(crate) starts: bool,
    /// The time at which the log took its last event.
    pub(crate) at: i64,
    pub(crate) hash: Digest,
    /// `None` if a batch continues in the next row.
    pub(crate) derived: Option<Digest>,
    pub(crate) data: Vec<u8>,
    /// Whether it replaces all earlier rows of its segment.
    pub(crate) packs: bool,
}

struct Segment {
    encoder: SegmentEncoder,
    hasher: blake3::Hasher,
    first_seq: u64,
    rows: usize,
    bytes: Vec<u8>,
    /// The offset in `bytes` at which the current row begins.
    row_start: usize,
    row_first_seq: u64,
}

/// The end of a session's log, and its open segment.
pub(crate) struct LogEnd {
    /// The `seq` of the last event.
    pub(crate) last_seq: u64,
    head: Digest,
    segment: Option<Segment>,
}

impl LogEnd {
    /// A log that ends at `last_seq` with the hash `head`; the next event begins a new segment.
    pub(crate) fn new(last_seq: u64, head: Digest) -> Self {
        Self {
            last_seq,
            head,
            segment: None,
        }
    }

    /// Lays out a batch as rows, in the order in which they have to be written.
    pub(crate) fn extend(
        &mut self,
        facts: &[Fact],
        derived: Digest,
        aside: &mut EncodedBlobs,
    ) -> Vec<NewRow> {
        let mut rows = Vec::with_capacity(1);
        let mut stream_ended = false;
        let room = (facts.len() * CHUNK_BYTES).min(SEGMENT_BYTES + INLINE_LIMIT);
        for (index, fact) in facts.iter().enumerate() {
            let is_last = index + 1 == facts.len();
            stream_ended |= matches!(fact.event, EnvironmentEvent::StreamEnd(_));
            let segment = self
                .segment
                .get_or_insert_with(|| Segment::open(&self.head, fact.seq, room));
            segment.encoder.fact(fact, &mut segment.bytes, aside);
            let is_full = segment.bytes.len() >= SEGMENT_BYTES;
            if is_full || is_last {
                let closes = is_full || stream_ended;
                let row = segment.row(fact, is_last.then_some(derived), closes);
                self.head = row.hash;
                self.last_seq = row.last_seq;
                rows.push(row);
                if closes {
                    self.segment = None;
                }
            }
        }
        rows
    }
}

impl Segment {
    fn open(head: &Digest, first_seq: u64, room: usize) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(head);
        Self {
            encoder: SegmentEncoder::default(),
            hasher,
            first_seq,
            rows: 0,
            bytes: Vec::with_capacity(room),
            row_start: 0,
            row_first_seq: first_seq,
        }
    }

    fn row(&mut self, last: &Fact, derived: Option<Digest>, closes: bool) -> NewRow {
        self.hasher.update(&self.bytes[self.row_start..]);
        self.rows += 1;
        let is_small = self.bytes.len() < self.rows * PACKED_ENOUGH;
        let packs = self.rows > 1 && ((closes && is_small) || self.rows >= SEGMENT_ROWS);
        let (first_seq, from) = if packs {
            (self.first_seq, 0)
        } else {
            (self.row_first_seq, self.row_start)
        };
        let row = NewRow {
            first_seq,
            last_seq: last.seq,
            starts: first_seq == self.first_seq,
            at: last.at.0,
            hash: seal(&self.hasher, derived.as_ref(), last.seq, last.at.0),
            derived,
            data: self.bytes[from..].to_vec(),
            packs,
        };
        if packs {
            self.rows = 1;
        }
        self.row_start = self.bytes.len();
        self.row_first_seq = last.seq + 1;
        row
    }
}

/// The hash of a row: of the bytes in `hasher`, then of the row's own fields.
pub(crate) fn seal(hasher: &blake3::Hasher, derived: Option<&Digest>, last_seq: u64, at: i64) -> Digest {
    let mut hasher = hasher.clone();
    hasher.update(&[u8::from(derived.is_some())]);
    hasher.update(derived.unwrap_or(&[0; 32]));
    hasher.update(&last_seq.to_le_bytes());
    hasher.update(&at.to_le_bytes());
    *hasher.finalize().as_bytes()
}

/// Returns the hash that a session's chain begins with: of its id and, for a fork, the hash of all shared
/// events.
pub(crate) fn base_hash(session_id: &str, shared: Option<&Digest>) -> Digest {
    let mut hasher = blake3::Hasher::new_derive_key("agentx session log 1");
    hasher.update(shared.unwrap_or(&[0; 32]));
    hasher.update(session_id.as_bytes());
    *hasher.finalize().as_bytes()
}
