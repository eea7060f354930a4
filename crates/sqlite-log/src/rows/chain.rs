//! The chain of hashes through the rows of one session: each row is checked before its content is used, both
//! when rows are read and when rows of another log are adopted.

use agentx_runtime::{Digest, LogError};
use agentx_types::SessionId;
use rusqlite::Row;

use crate::error::Fault;
use crate::keys::{self, digest, unsigned};
use crate::rows::codec::SegmentDecoder;
use crate::rows::redaction_mark;
use crate::rows::segment::seal;

/// The reason why a walk over rows ended early: the first event that cannot be trusted, and its fault.
#[derive(Debug)]
pub(crate) struct Damage {
    pub(crate) seq: u64,
    pub(crate) what: String,
}

impl Damage {
    pub(crate) fn error(self, session: &SessionId) -> LogError {
        LogError::Corrupt {
            session: session.clone(),
            seq: self.seq,
            what: self.what,
        }
    }
}

/// A reason to stop a walk over rows.
pub(crate) enum ChainStop {
    Damage(Damage),
    Fault(Fault),
}

impl From<rusqlite::Error> for ChainStop {
    fn from(error: rusqlite::Error) -> Self {
        Self::Fault(error.into())
    }
}

impl From<Damage> for ChainStop {
    fn from(damage: Damage) -> Self {
        Self::Damage(damage)
    }
}

/// Follows the chain through the rows of one session.
pub(crate) struct Chain {
    hasher: blake3::Hasher,
    pub(crate) decoder: SegmentDecoder,
    /// The hash of the row before.
    pub(crate) head: Digest,
    /// The last event of the checked rows.
    pub(crate) last_seq: u64,
}

/// A stored row, before it is verified.
pub(crate) struct StoredRow<'a> {
    pub(crate) first_seq: u64,
    pub(crate) last_seq: u64,
    pub(crate) starts: bool,
    pub(crate) at: i64,
    pub(crate) hash: Digest,
    pub(crate) derived: Option<Digest>,
    pub(crate) data: &'a [u8],
}

/// A row whose hash is right.
pub(crate) struct GoodRow<'a> {
    pub(crate) first_seq: u64,
    /// Whether a segment begins here, and the hash of the row before.
    pub(crate) starts: bool,
    pub(crate) before: Digest,
    pub(crate) hash: Digest,
    pub(crate) at: i64,
    pub(crate) derived: Option<Digest>,
    /// The records, without the mark of a redaction.
    pub(crate) data: &'a [u8],
    /// All stored bytes.
    pub(crate) stored: &'a [u8],
    /// The hash of the records, if events in them were replaced: `hash` is that of the earlier ones.
    pub(crate) redacted: Option<Digest>,
}

impl Chain {
    pub(crate) fn new(head: Digest, last_seq: u64) -> Self {
        Self {
            hasher: blake3::Hasher::new(),
            decoder: SegmentDecoder::default(),
            head,
            last_seq,
        }
    }

    /// Adds the next row of the table if it is the one that has to follow.
    pub(crate) fn row<'a>(&mut self, row: &'a Row<'_>) -> Result<GoodRow<'a>, ChainStop> {
        let damage = |what: &str| Damage {
            seq: self.last_seq + 1,
            what: what.to_owned(),
        };
        let first_seq = keys::first_seq(row.get(0)?);
        let last_seq = unsigned(row, 1).map_err(|_| damage("its row has no length"))?;
        let (Ok(starts), Ok(at), Ok(Some(hash)), Ok(derived), Ok(data)) = (
            row.get::<_, i64>(2),
            row.get::<_, i64>(3),
            digest(row, 4),
            digest(row, 5),
            row.get_ref(6)?.as_blob(),
        ) else {
            return Err(damage("its row is not of the right shape").into());
        };
        if !(0..=1).contains(&starts) {
            return Err(damage("its row is not of the right shape").into());
        }
        let stored = StoredRow {
            first_seq,
            last_seq,
            starts: starts == 1,
            at,
            hash,
            derived,
            data,
        };
        Ok(self.take(stored)?)
    }

    /// Adds a row if it is the one that has to follow.
    pub(crate) fn take<'a>(&mut self, row: StoredRow<'a>) -> Result<GoodRow<'a>, Damage> {
        let expected = self.last_seq + 1;
        if row.first_seq != expected {
            let what = format!(
                "it is missing: what follows event {} is event {}",
                self.last_seq, row.first_seq
            );
            return Err(Damage { seq: expected, what });
        }
        if row.starts {
            self.hasher.reset();
            self.hasher.update(&self.head);
            self.decoder = SegmentDecoder::default();
        }
        let (redacted, data) = redaction_mark::split(row.data);
        self.hasher.update(data);
        let seal = seal(&self.hasher, row.derived.as_ref(), row.last_seq, row.at);
        let is_whole = redacted.is_none() || row.starts;
        if row.last_seq < row.first_seq || !is_whole || seal != redacted.unwrap_or(row.hash) {
            let what = "its stored data does not match its stored hash".to_owned();
            return Err(Damage { seq: expected, what });
        }
        let before = std::mem::replace(&mut self.head, row.hash);
        self.last_seq = row.last_seq;
        Ok(GoodRow {
            first_seq: row.first_seq,
            starts: row.starts,
            before,
            hash: row.hash,
            at: row.at,
            derived: row.derived,
            data,
            stored: row.data,
            redacted,
        })
    }
}
