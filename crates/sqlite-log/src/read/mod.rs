//! Reads facts, and checks each row against the hash chain. Called by `SessionLog::read`, the check of a
//! whole session and search.
//!
//! The events of a fork are in several sessions: a chain of *parts*, root first, each with its range of
//! `seq`. Damaged facts are never returned: a read returns the good ones before the damage, and the next one
//! the error.

pub(crate) mod events_hash;
pub(crate) mod message_text;
pub(crate) mod redactions;
pub(crate) mod scan;
pub(crate) mod spending;
pub(crate) mod stored_rows;
pub(crate) mod verify;

use std::ops::ControlFlow;
use std::sync::Arc;

use agentx_runtime::{Digest, Fact};
use agentx_types::{Envelope, EnvironmentEvent, SessionId, Timestamp};
use rusqlite::{Connection, OptionalExtension as _};

use crate::error::Fault;
use crate::keys::{self, LAST_SEQ, digest, key, session_row, unsigned};
use crate::rows::ancestor_names::chain_name;
use crate::rows::blobs;
pub(crate) use crate::rows::chain::{Chain, ChainStop, Damage, GoodRow};
use crate::rows::codec::{SegmentDecoder, StoredBody};

/// A range of events in one session.
#[derive(Clone, Debug)]
pub(crate) struct SessionRange {
    /// The session's row.
    pub(crate) session: i64,
    pub(crate) id: String,
    /// The hash that its chain begins with.
    pub(crate) base_hash: Digest,
    /// The `seq` after which its own events begin.
    pub(crate) after: u64,
    /// The last event that belongs to the part.
    pub(crate) upto: u64,
}

impl SessionRange {
    /// The id of the session of this chain.
    pub(crate) fn name(&self) -> &str {
        chain_name(&self.id)
    }
}

/// The parts of a session, root first.
pub(crate) fn parts(connection: &Connection, session: i64) -> Result<Vec<SessionRange>, Fault> {
    let mut parts = Vec::new();
    let mut next = Some(session);
    let mut upto = LAST_SEQ;
    while let Some(session) = next {
        let mut statement = connection
            .prepare_cached("SELECT session_id, base_hash, at_seq, base FROM sessions WHERE id = ?1")?;
        let (part, base) = statement.query_row([session], |row| {
            let base_hash = digest(row, 1)?.unwrap_or_default();
            let part = SessionRange {
                session,
                id: row.get(0)?,
                base_hash,
                after: unsigned(row, 2)?,
                upto,
            };
            Ok((part, row.get::<_, Option<i64>>(3)?))
        })?;
        upto = upto.min(part.after);
        parts.push(part);
        // A damaged file may say that a session is its own ancestor.
        next = base.filter(|base| parts.iter().all(|part| part.session != *base));
    }
    parts.reverse();
    Ok(parts)
}

const ROWS: &str = "SELECT id, last_seq, starts, at, hash, derived, data FROM batches
                    WHERE id BETWEEN ?1 AND ?2 ORDER BY id";

/// The chain at the beginning of the segment that holds `seq`, and the key of its first row.
fn open_segment(connection: &Connection, part: &SessionRange, seq: u64) -> Result<(Chain, i64), Fault> {
    let lowest = key(part.session, 0);
    let start: Option<i64> = connection
        .prepare_cached(
            "SELECT id FROM batches WHERE id BETWEEN ?1 AND ?2 AND starts = 1 ORDER BY id DESC LIMIT 1",
        )?
        .query_row([lowest, key(part.session, seq)], |row| row.get(0))
        .optional()?;
    let start = start.unwrap_or(lowest);
    let before = connection
        .prepare_cached("SELECT hash FROM batches WHERE id BETWEEN ?1 AND ?2 ORDER BY id DESC LIMIT 1")?
        .query_row([lowest, start - 1], |row| digest(row, 0))
        .optional()?;
    Ok(match before {
        Some(hash) => (
            Chain::new(hash.unwrap_or_default(), keys::first_seq(start) - 1),
            start,
        ),
        None => (Chain::new(part.base_hash, part.after), lowest),
    })
}

/// Calls `visit` with each good row of a part from the segment on that holds `from`.
pub(crate) fn rows(
    connection: &Connection,
    part: &SessionRange,
    from: u64,
    mut visit: impl FnMut(&mut Chain, GoodRow<'_>) -> Result<ControlFlow<()>, ChainStop>,
) -> Result<ControlFlow<()>, ChainStop> {
    let (mut chain, start) = open_segment(connection, part, from).map_err(ChainStop::Fault)?;
    let mut statement = connection.prepare_cached(ROWS)?;
    let mut rows = statement.query([start, key(part.session, part.upto)])?;
    loop {
        let row = match rows.next() {
            Ok(Some(row)) => row,
            Ok(None) => return Ok(ControlFlow::Continue(())),
            Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseCorrupt) => {
                return Err(Damage {
                    seq: chain.last_seq + 1,
                    what: error.to_string(),
                }
                .into());
            }
            Err(error) => return Err(error.into()),
        };
        let good = chain.row(row)?;
        if visit(&mut chain, good)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
}

/// Calls `visit` with each event of a good row: its `seq`, the decoder that has its time and context, and its
/// body.
pub(crate) fn events(
    chain: &mut Chain,
    row: &GoodRow<'_>,
    mut visit: impl FnMut(u64, &SegmentDecoder, &StoredBody<'_>, usize) -> Result<ControlFlow<()>, ChainStop>,
) -> Result<ControlFlow<()>, ChainStop> {
    let mut input = row.data;
    for seq in row.first_seq..=chain.last_seq {
        let body = next_body(&mut chain.decoder, seq, &mut input)?;
        if visit(seq, &chain.decoder, &body, row.data.len() - input.len())?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    ends(chain, input)?;
    Ok(ControlFlow::Continue(()))
}

/// The event `seq`, which is the next one in a row.
pub(crate) fn next_body<'a>(
    decoder: &mut SegmentDecoder,
    seq: u64,
    input: &mut &'a [u8],
) -> Result<StoredBody<'a>, Damage> {
    let damage = |what| Damage { seq, what };
    let body = decoder.next(input).map_err(damage)?;
    body.ok_or_else(|| damage("its row ends before it".to_owned()))
}

/// A row has no more than its events.
pub(crate) fn ends(chain: &Chain, rest: &[u8]) -> Result<(), Damage> {
    if rest.is_empty() {
        return Ok(());
    }
    Err(Damage {
        seq: chain.last_seq,
        what: "its row continues after it".to_owned(),
    })
}

/// Maximum number of bytes of facts in one page, however many facts are requested.
pub(crate) const PAGE_BYTES: usize = 4 << 20;

/// Returns up to `limit` facts of a session after `after_seq`.
pub(crate) fn facts(
    connection: &Connection,
    session: &SessionId,
    after_seq: u64,
    limit: usize,
) -> Result<Vec<Fact>, Fault> {
    page(connection, session, after_seq, (limit, usize::MAX))
}

/// The same, up to this many bytes; the first fact is always included.
pub(crate) fn page(
    connection: &Connection,
    session: &SessionId,
    after_seq: u64,
    (limit, most_bytes): (usize, usize),
) -> Result<Vec<Fact>, Fault> {
    let row = session_row(connection, session)?;
    let mut page = FactPage {
        facts: Vec::with_capacity(limit.min(4096)),
        bytes: 0,
        limit,
        most_bytes,
    };
    for part in parts(connection, row)?
        .iter()
        .filter(|part| part.upto > after_seq)
    {
        if page.is_full() {
            break;
        }
        match part_facts(connection, session, part, after_seq, &mut page) {
            Ok(()) => {}
            Err(ChainStop::Fault(fault)) => return Err(fault),
            Err(ChainStop::Damage(_)) if !page.facts.is_empty() => break,
            Err(ChainStop::Damage(damage)) => return Err(damage.error(session).into()),
        }
    }
    Ok(page.facts)
}

/// The facts that have been read.
struct FactPage {
    facts: Vec<Fact>,
    bytes: usize,
    limit: usize,
    most_bytes: usize,
}

impl FactPage {
    fn is_full(&self) -> bool {
        self.facts.len() >= self.limit || self.bytes >= self.most_bytes
    }

    /// Returns whether it has room for a fact of this many bytes.
    fn takes(&mut self, bytes: usize) -> bool {
        let takes =
            !self.is_full() && (self.facts.is_empty() || self.bytes.saturating_add(bytes) <= self.most_bytes);
        // A fact that did not fit is the first one of the next page.
        self.bytes = if takes {
            self.bytes + bytes
        } else {
            self.most_bytes
        };
        takes
    }
}

fn part_facts(
    connection: &Connection,
    session: &SessionId,
    part: &SessionRange,
    after_seq: u64,
    page: &mut FactPage,
) -> Result<(), ChainStop> {
    let from = after_seq.max(part.after) + 1;
    let flow = rows(connection, part, from, |chain, row| {
        events(chain, &row, |seq, decoder, body, _| {
            if seq > part.upto || page.is_full() {
                return Ok(ControlFlow::Break(()));
            }
            if seq >= from {
                let aside = aside(connection, body, seq)?;
                if !page.takes(body.len() + aside.as_ref().map_or(0, String::len)) {
                    return Ok(ControlFlow::Break(()));
                }
                let fact = fact_of(session, seq, decoder, body, aside.as_deref())?;
                page.facts.push(Arc::new(fact));
            }
            Ok(ControlFlow::Continue(()))
        })
    });
    flow.map(|_| ())
}

pub(crate) fn fact(
    connection: &Connection,
    session: &SessionId,
    seq: u64,
    decoder: &SegmentDecoder,
    body: &StoredBody<'_>,
) -> Result<Fact, ChainStop> {
    envelope(connection, session, seq, decoder, body).map(Arc::new)
}

/// The same for a reader that shares it with nobody.
pub(crate) fn envelope(
    connection: &Connection,
    session: &SessionId,
    seq: u64,
    decoder: &SegmentDecoder,
    body: &StoredBody<'_>,
) -> Result<Envelope<EnvironmentEvent>, ChainStop> {
    let aside = aside(connection, body, seq)?;
    fact_of(session, seq, decoder, body, aside.as_deref())
}

/// Reads the part of an event that is stored in a blob.
fn aside(connection: &Connection, body: &StoredBody<'_>, seq: u64) -> Result<Option<String>, ChainStop> {
    match body {
        StoredBody::InBlob { hash, .. } => blob_payload(connection, hash, seq).map(Some),
        _ => Ok(None),
    }
}

fn fact_of(
    session: &SessionId,
    seq: u64,
    decoder: &SegmentDecoder,
    body: &StoredBody<'_>,
    aside: Option<&str>,
) -> Result<Envelope<EnvironmentEvent>, ChainStop> {
    let damage = |what| Damage { seq, what };
    let read = body.event(aside).map_err(damage)?;
    let context = decoder.context().map_err(damage)?;
    Ok(Envelope {
        seq,
        index: None,
        at: Timestamp(decoder.at),
        source: context.source,
        session_id: session.clone(),
        agent_state_id: context.agent.clone(),
        run_id: context.run.clone(),
        cause: context.cause.clone(),
        event: read.event,
        newer: read.newer,
    })
}

pub(crate) fn blob_payload(connection: &Connection, hash: &Digest, seq: u64) -> Result<String, ChainStop> {
    blobs::payload(connection, hash).map_err(|fault| match fault {
        Fault::Log(error) => Damage {
            seq,
            what: error.to_string(),
        }
        .into(),
        Fault::Other(what) => Damage { seq, what }.into(),
        fault @ Fault::Sql(_) => ChainStop::Fault(fault),
    })
}

/// The hash of everything up to and including event `seq` of a part: a fork at that event continues from it.
/// It depends only on the events, not on their division into rows.
pub(crate) fn hash_at(
    connection: &Connection,
    part: &SessionRange,
    seq: u64,
) -> Result<Option<Digest>, ChainStop> {
    let mut found = None;
    let mut hasher = blake3::Hasher::new();
    let _ = rows(connection, part, seq, |chain, row| {
        if row.starts {
            hasher.reset();
            hasher.update(&row.before);
        }
        let mut consumed = 0;
        let flow = events(chain, &row, |at, _, _, end| {
            consumed = end;
            let is_found = at == seq;
            Ok(if is_found {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            })
        })?;
        hasher.update(&row.data[..consumed]);
        found = flow.is_break().then(|| *hasher.finalize().as_bytes());
        Ok(flow)
    })?;
    Ok(found)
}
