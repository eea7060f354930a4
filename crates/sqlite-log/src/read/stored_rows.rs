//! Rows as they are stored, for another log that adopts them. Called by `SessionLog::rows`.
//!
//! A fork shares events with its parent, and only these may be returned, so the row with the last shared
//! event is cut after it. A fork continues from the hash of the shared bytes, which is the same for the cut
//! row.

use std::ops::ControlFlow;

use agentx_runtime::{LogPart, LogPlace, LogRow, LogRows};
use agentx_types::{SessionId, Timestamp};
use rusqlite::Connection;

use crate::error::Fault;
use crate::keys::{LAST_SEQ, last_row, session_row};
use crate::read::{self, Chain, ChainStop, GoodRow, SessionRange};
use crate::rows::segment::seal;

/// Approximate size of a row besides its data.
const ROW_BYTES: usize = 128;

/// Whole segments of one part, from the one on that holds the event after `after_seq`.
pub(crate) fn rows(
    connection: &Connection,
    session: &SessionId,
    after_seq: u64,
    most_bytes: usize,
) -> Result<LogRows, Fault> {
    let row = session_row(connection, session)?;
    let parts = read::parts(connection, row)?;
    let own = parts.len() - 1;
    let own_end = match last_row(connection, row)? {
        Some((seq, _, hash)) => LogPlace { seq, hash },
        None => LogPlace {
            seq: parts[own].after,
            hash: parts[own].base_hash,
        },
    };
    let wanted = parts.iter().position(|part| part.upto > after_seq);
    let part = wanted.unwrap_or(own);
    let mut taken = RowsRead {
        part: &parts[part],
        most_bytes,
        bytes: 0,
        hasher: blake3::Hasher::new(),
        before: own_end,
        rows: Vec::new(),
        next: (part < own).then_some(parts[part].upto),
    };
    let from = after_seq.max(parts[part].after).saturating_add(1);
    if part < own || from <= own_end.seq {
        let walked = read::rows(connection, &parts[part], from, |chain, row| {
            taken.take(chain, &row)
        });
        let _ = walked.map_err(|stop| match stop {
            ChainStop::Fault(fault) => fault,
            ChainStop::Damage(damage) => damage.error(session).into(),
        })?;
    }
    let RowsRead {
        before, rows, next, ..
    } = taken;
    Ok(LogRows {
        part,
        before,
        rows,
        next_after_seq: next,
        parts: parts.iter().map(|part| to_log_part(part, own_end.seq)).collect(),
    })
}

fn to_log_part(part: &SessionRange, own_end: u64) -> LogPart {
    LogPart {
        session_id: SessionId::new(part.name()),
        base_hash: part.base_hash,
        after_seq: part.after,
        upto_seq: if part.upto == LAST_SEQ { own_end } else { part.upto },
    }
}

/// The rows that were read.
struct RowsRead<'a> {
    part: &'a SessionRange,
    most_bytes: usize,
    bytes: usize,
    /// The hasher of the segment, for a part that ends inside its session.
    hasher: blake3::Hasher,
    before: LogPlace,
    rows: Vec<LogRow>,
    next: Option<u64>,
}

impl RowsRead<'_> {
    fn take(&mut self, chain: &mut Chain, row: &GoodRow<'_>) -> Result<ControlFlow<()>, ChainStop> {
        if row.starts && self.bytes >= self.most_bytes {
            self.next = Some(row.first_seq - 1);
            return Ok(ControlFlow::Break(()));
        }
        if self.rows.is_empty() {
            self.before = LogPlace {
                seq: row.first_seq - 1,
                hash: row.before,
            };
        }
        let whole = LogRow {
            first_seq: row.first_seq,
            last_seq: chain.last_seq,
            starts: row.starts,
            at: Timestamp(row.at),
            hash: row.hash,
            derived: row.derived,
            data: row.stored.to_vec(),
        };
        let taken = self.shared(chain, row, whole)?;
        self.bytes += taken.data.len() + ROW_BYTES;
        self.rows.push(taken);
        Ok(ControlFlow::Continue(()))
    }

    /// The row, without the facts after the end of the part.
    fn shared(&mut self, chain: &mut Chain, row: &GoodRow<'_>, whole: LogRow) -> Result<LogRow, ChainStop> {
        let upto = self.part.upto;
        if upto == LAST_SEQ {
            return Ok(whole);
        }
        if row.starts {
            self.hasher.reset();
            self.hasher.update(&row.before);
        }
        let (mut end, mut at) = (0, 0);
        // Each row is read, since the next one of its segment cannot be read without it.
        let _ = read::events(chain, row, |seq, decoder, _, consumed| {
            (end, at) = (consumed, decoder.at);
            Ok(if seq == upto {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            })
        })?;
        self.hasher.update(&row.data[..end]);
        if whole.last_seq <= upto {
            return Ok(whole);
        }
        Ok(LogRow {
            last_seq: upto,
            at: Timestamp(at),
            hash: seal(&self.hasher, None, upto, at),
            derived: None,
            data: row.data[..end].to_vec(),
            ..whole
        })
    }
}
