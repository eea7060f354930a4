//! Adopts the rows of another log, so that a copy has the same bytes as the original. Called by
//! `SessionLog::adopt`, on the writing thread.
//!
//! The rows are not trusted: the chain has to continue the local one, each hash has to be right, and every
//! row has to contain the facts that are already stored. Then they replace the local rows in one transaction.
//! The facts do not change, so the read models do not either.

use std::ops::ControlFlow;

use agentx_runtime::{Adoption, Fact, LogPart, LogPlace, LogRow};
use agentx_types::SessionId;
use rusqlite::{Connection, OptionalExtension as _};

use crate::error::Fault;
use crate::keys::{LAST_SEQ, digest, key, last_row, unsigned};
use crate::read::{self, Chain, ChainStop, SessionRange, redactions};
use crate::rows::ancestor_names::OF;
use crate::rows::blobs::{self, EncodedBlobs};
use crate::rows::chain::StoredRow;
use crate::rows::codec::StoredBody;
use crate::rows::segment::LogEnd;
use crate::write::append::insert;
use crate::write::checked_rows::{CheckedRows, put, refused};
use crate::write::copied_fork;
use crate::write::writer::WriterState;

/// The number of facts that are read in one step.
const PAGE: usize = 1024;

/// Replaces rows of a session. Returns the last event whose row is the other log's.
pub(crate) fn adopt(
    core: &mut WriterState,
    session: &SessionId,
    epoch: u64,
    adoption: &Adoption,
) -> Result<u64, Fault> {
    core.admit(session, epoch, &[])?;
    let (row, last_seq) = match core.sessions.get(session) {
        Some(open) => (open.row, open.tail.last_seq),
        None => return Err(Fault::not_found(session.as_str())),
    };
    let taking = AdoptionInProgress {
        session,
        row,
        last_seq,
        adoption,
    };
    let Some((tail, upto)) = core.transaction(|connection| taking.take(connection))? else {
        return Ok(adoption.before.seq);
    };
    if let Some(open) = core.sessions.get_mut(session) {
        open.tail = tail;
    }
    Ok(upto)
}

struct AdoptionInProgress<'a> {
    session: &'a SessionId,
    row: i64,
    /// The last fact that is here.
    last_seq: u64,
    adoption: &'a Adoption,
}

impl AdoptionInProgress<'_> {
    /// `None` if nothing can be done now.
    fn take(&self, connection: &Connection) -> Result<Option<(LogEnd, u64)>, Fault> {
        let Adoption { rows, before, .. } = self.adoption;
        let own = self.own_part()?;
        let parts = read::parts(connection, self.row)?;
        let Some(here) = parts.last() else {
            return Ok(None);
        };
        // A fork that was kept unchanged, from its first event on, is one of two rows from now on.
        let links = own.after_seq > 0 && here.after == 0;
        let rows = &rows[..rows.partition_point(|row| row.last_seq <= self.last_seq)];
        let Some(last) = rows.last() else { return Ok(None) };
        if (links && last.last_seq < own.after_seq) || depended_on(connection, self.row, before.seq)? {
            return Ok(None);
        }
        self.check_before(connection, here, own, links)?;
        let checked = self.check(connection, rows)?;
        let rest = self.rest(connection, last.last_seq)?;
        let records = if links {
            redactions::records_in(connection, self.session)?
        } else {
            Vec::new()
        };
        connection
            .prepare_cached("DELETE FROM batches WHERE id BETWEEN ?1 AND ?2")?
            .execute([key(self.row, before.seq + 1), key(self.row, LAST_SEQ)])?;
        for part in &checked {
            if part.part == own {
                put(connection, self.row, part)?;
            }
        }
        if links {
            let parent = self.adoption.parent.as_ref();
            let parent = parent.map(|(parent, _)| parent);
            copied_fork::link(
                connection,
                self.session,
                self.row,
                &checked,
                own,
                parent,
                &records,
            )?;
        }
        let mut tail = LogEnd::new(
            last.last_seq,
            if last.last_seq > own.after_seq {
                last.hash
            } else {
                own.base_hash
            },
        );
        let mut aside = EncodedBlobs::default();
        for row in tail.extend(&rest, self.adoption.derived, &mut aside) {
            insert(connection, self.row, &row)?;
        }
        blobs::store_blobs(connection, self.row, &aside)?;
        Ok(Some((tail, last.last_seq)))
    }

    /// The part that is the session's own, if the parts follow each other.
    fn own_part(&self) -> Result<&LogPart, Fault> {
        let mut after = 0;
        let parts = &self.adoption.parts;
        for part in parts.iter().take(parts.len().saturating_sub(1)) {
            if part.after_seq != after || part.upto_seq <= after || part.session_id.as_str().contains(OF) {
                return Err(self.refused("its parts do not follow each other"));
            }
            after = part.upto_seq;
        }
        match parts.last() {
            Some(own) if own.session_id != *self.session => Err(self.refused("they are of another session")),
            Some(own) if own.after_seq == after => Ok(own),
            _ => Err(self.refused("its parts do not follow each other")),
        }
    }

    /// Checks that the rows continue the local ones.
    fn check_before(
        &self,
        connection: &Connection,
        here: &SessionRange,
        own: &LogPart,
        links: bool,
    ) -> Result<(), Fault> {
        let before = self.adoption.before;
        let first = self.adoption.parts.first();
        if links {
            let begins = first.is_some_and(|first| before.seq == 0 && before.hash == first.base_hash);
            return if begins {
                Ok(())
            } else {
                Err(self.refused("they do not begin where the session does"))
            };
        }
        if (own.after_seq, own.base_hash) != (here.after, here.base_hash) {
            return Err(self.refused("the session there begins with something else"));
        }
        if place_at(connection, here, before.seq)? != Some(before) {
            let what = format!("they do not follow the local event {}", before.seq);
            return Err(self.refused(&what));
        }
        Ok(())
    }

    /// Checks the rows of each part: their hashes have to be right, and their facts have to equal the local
    /// ones.
    fn check<'b>(
        &'b self,
        connection: &Connection,
        rows: &'b [LogRow],
    ) -> Result<Vec<CheckedRows<'b>>, Fault> {
        let before = self.adoption.before;
        let mut here = LocalFacts::new(connection, self.session, before.seq);
        let mut checked = Vec::new();
        let mut left = rows;
        for (index, part) in self.adoption.parts.iter().enumerate() {
            let is_own = index + 1 == self.adoption.parts.len();
            let belongs = |row: &&LogRow| is_own || row.last_seq <= part.upto_seq;
            let (rows, others) = left.split_at(left.iter().take_while(belongs).count());
            left = others;
            if rows.is_empty() {
                continue;
            }
            let begins = before.seq.max(part.after_seq) == before.seq;
            let place = if begins {
                before
            } else {
                LogPlace {
                    seq: part.after_seq,
                    hash: part.base_hash,
                }
            };
            let mut named = EncodedBlobs::default();
            let walked = compare(connection, self.session, place, rows, &mut here, &mut named);
            walked.map_err(|stop| match stop {
                ChainStop::Fault(fault) => fault,
                ChainStop::Damage(damage) => self.refused(&format!("event {}: {}", damage.seq, damage.what)),
            })?;
            checked.push(CheckedRows { part, rows, named });
        }
        Ok(checked)
    }

    /// The facts here that no row reaches.
    fn rest(&self, connection: &Connection, after: u64) -> Result<Vec<Fact>, Fault> {
        let rest = read::facts(connection, self.session, after, usize::MAX)?;
        if rest.last().map_or(after, |fact| fact.seq) != self.last_seq {
            return Err(self.refused("the local session is damaged"));
        }
        Ok(rest)
    }

    fn refused(&self, what: &str) -> Fault {
        refused(self.session, what)
    }
}

/// Returns whether a fork that was made here continues from an event after `seq`: its chain begins with the
/// bytes that are here.
fn depended_on(connection: &Connection, row: i64, seq: u64) -> Result<bool, Fault> {
    let mut statement =
        connection.prepare_cached("SELECT 1 FROM sessions WHERE base = ?1 AND at_seq > ?2")?;
    Ok(statement.exists([row, crate::keys::int(seq)])?)
}

/// The end of the row here that ends with this event.
fn place_at(connection: &Connection, part: &SessionRange, seq: u64) -> Result<Option<LogPlace>, Fault> {
    if seq == part.after {
        let hash = part.base_hash;
        return Ok(Some(LogPlace { seq, hash }));
    }
    if last_row(connection, part.session)?.is_none_or(|(last_seq, ..)| last_seq < seq) {
        return Ok(None);
    }
    let mut statement = connection.prepare_cached(
        "SELECT last_seq, hash FROM batches WHERE id BETWEEN ?1 AND ?2 ORDER BY id DESC LIMIT 1",
    )?;
    let found = statement.query_row([key(part.session, 0), key(part.session, seq)], |row| {
        Ok(LogPlace {
            seq: unsigned(row, 0)?,
            hash: digest(row, 1)?.unwrap_or_default(),
        })
    });
    Ok(found.optional()?.filter(|place| place.seq == seq))
}

fn compare(
    connection: &Connection,
    session: &SessionId,
    place: LogPlace,
    rows: &[LogRow],
    here: &mut LocalFacts<'_>,
    named: &mut EncodedBlobs,
) -> Result<(), ChainStop> {
    let mut chain = Chain::new(place.hash, place.seq);
    for (index, row) in rows.iter().enumerate() {
        if index == 0 && !row.starts {
            return Err(damage(row.first_seq, "no segment begins there").into());
        }
        let stored = StoredRow {
            first_seq: row.first_seq,
            last_seq: row.last_seq,
            starts: row.starts,
            at: row.at.0,
            hash: row.hash,
            derived: row.derived,
            data: &row.data,
        };
        let good = chain.take(stored)?;
        let _ = read::events(&mut chain, &good, |seq, decoder, body, _| {
            name_blobs(connection, seq, body, named).map_err(ChainStop::Fault)?;
            let there = read::fact(connection, session, seq, decoder, body)?;
            let is_same = here
                .next()
                .map_err(ChainStop::Fault)?
                .is_some_and(|here| *here == *there);
            if !is_same {
                return Err(damage(seq, "it is not the event that is here").into());
            }
            Ok(ControlFlow::Continue(()))
        })?;
    }
    Ok(())
}

fn damage(seq: u64, what: &str) -> read::Damage {
    read::Damage {
        seq,
        what: what.to_owned(),
    }
}

/// Records the blobs that an event names, and checks that its own payload is here.
fn name_blobs(
    connection: &Connection,
    seq: u64,
    body: &StoredBody<'_>,
    named: &mut EncodedBlobs,
) -> Result<(), Fault> {
    let mut note = |payload: &str| {
        blobs::find_references(payload.as_bytes(), |hash| named.references.push((seq, hash)));
    };
    match body {
        StoredBody::Inline { payload, .. } => note(payload),
        StoredBody::InBlob { hash, .. } => {
            note(&blobs::payload(connection, hash)?);
            named.references.push((seq, *hash));
        }
        StoredBody::Text(_) | StoredBody::Thinking(_) => {}
    }
    Ok(())
}

/// Reads the local facts one after the other.
struct LocalFacts<'a> {
    connection: &'a Connection,
    session: &'a SessionId,
    at: u64,
    page: std::vec::IntoIter<Fact>,
}

impl<'a> LocalFacts<'a> {
    fn new(connection: &'a Connection, session: &'a SessionId, at: u64) -> Self {
        Self {
            connection,
            session,
            at,
            page: Vec::new().into_iter(),
        }
    }

    fn next(&mut self) -> Result<Option<Fact>, Fault> {
        if self.page.as_slice().is_empty() {
            self.page = read::facts(self.connection, self.session, self.at, PAGE)?.into_iter();
        }
        let next = self.page.next();
        if let Some(fact) = &next {
            self.at = fact.seq;
        }
        Ok(next)
    }
}
