//! Appending a batch inside the writer's transaction: the checks, the rows, the blobs, the read models.

use agentx_runtime::{Batch, Fact, LogError, Projection};
use agentx_types::SessionId;
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::error::Fault;
use crate::keys::{LAST_SEQ, int, key, last_row, now, unsigned};
use crate::models;
use crate::rows::blobs::{self, EncodedBlobs};
use crate::rows::segment::{LogEnd, NewRow};
use crate::write::open_session::OpenSession;
use crate::write::writer::{Append, WriterState};

/// The time after now from which on a session was written by a clock that was ahead: a minute. Those of a
/// fact and of the writer of its row differ by less.
const FUTURE_US: i64 = 60 * 1_000_000;

impl WriterState {
    /// Appends inside the open transaction. The outer error means that the transaction has to be rolled back;
    /// the inner one is this append's own, and nothing was written for it.
    pub(crate) fn append(&mut self, append: &Append) -> Result<Result<(), LogError>, Fault> {
        let Append {
            session,
            epoch,
            batch,
            ..
        } = append;
        if let Err(refused) = self.admit(session, *epoch, &batch.facts) {
            return if refused.is_sql() {
                Err(refused)
            } else {
                Ok(Err(self.place.error(refused)))
            };
        }
        let Some(open) = self.sessions.get_mut(session) else {
            return Ok(Err(LogError::NotFound(session.to_string())));
        };
        let connection = &self.connection;
        let mut aside = EncodedBlobs::default();
        let rows = open.tail.extend(&batch.facts, batch.derived, &mut aside);
        for row in &rows {
            insert(connection, open.row, row)?;
        }
        blobs::store_blobs(connection, open.row, &aside)?;
        models::apply(connection, open.row, &batch.projections, &mut open.unindexed)?;
        mark_latest(connection, open, batch)?;
        Ok(Ok(()))
    }

    /// Whether these facts may be appended: the writer is the latest, and the events follow the last one.
    pub(crate) fn admit(&mut self, session: &SessionId, epoch: u64, facts: &[Fact]) -> Result<(), Fault> {
        let fenced = || LogError::Fenced {
            session: session.clone(),
            epoch,
        };
        let (row, current) = match self.sessions.get(session) {
            Some(open) if open.epoch == epoch => (open.row, epoch_of(&self.connection, open.row)?),
            Some(_) => return Err(fenced().into()),
            None => {
                let (row, current) = find(&self.connection, session)?;
                let open = load(&self.connection, row, current)?;
                self.sessions.insert(session.clone(), Box::new(open));
                (row, Some(current))
            }
        };
        if current != Some(epoch) {
            self.sessions.remove(session);
            return Err(current.map_or_else(|| Fault::not_found(session.as_str()), |_| fenced().into()));
        }
        let last_seq = self.sessions.get(session).map_or(0, |open| open.tail.last_seq);
        debug_assert!(self.sessions.get(session).is_none_or(|open| open.row == row));
        check_order(session, last_seq, facts)
    }
}

fn check_order(session: &SessionId, last_seq: u64, facts: &[Fact]) -> Result<(), Fault> {
    let mut known = session;
    for (expected, fact) in (last_seq + 1..).zip(facts) {
        if fact.seq != expected || fact.seq > LAST_SEQ {
            return Err(Fault::Other(format!(
                "event {} cannot be appended to session {session}: the next is {expected}",
                fact.seq
            )));
        }
        // Facts mostly share the allocation of their id with the fact before, which makes the comparison
        // cheap.
        if fact.session_id != *known || fact.index.is_some() {
            return Err(Fault::Other(format!(
                "event {expected} is not a fact of session {session}"
            )));
        }
        known = &fact.session_id;
    }
    Ok(())
}

fn epoch_of(connection: &Connection, row: i64) -> Result<Option<u64>, Fault> {
    let mut statement =
        connection.prepare_cached("SELECT epoch FROM sessions WHERE id = ?1 AND deleted_at IS NULL")?;
    Ok(statement.query_row([row], |row| unsigned(row, 0)).optional()?)
}

fn find(connection: &Connection, session: &SessionId) -> Result<(i64, u64), Fault> {
    connection
        .prepare_cached("SELECT id, epoch FROM sessions WHERE session_id = ?1 AND deleted_at IS NULL")?
        .query_row([session.as_str()], |row| Ok((row.get(0)?, unsigned(row, 1)?)))
        .optional()?
        .ok_or_else(|| Fault::not_found(session.as_str()))
}

/// Loads the writer's state of a session from the database.
pub(crate) fn load(connection: &Connection, row: i64, epoch: u64) -> Result<OpenSession, Fault> {
    let (at_seq, base_hash) = connection
        .prepare_cached("SELECT at_seq, base_hash FROM sessions WHERE id = ?1")?
        .query_row([row], |row| {
            Ok((
                unsigned(row, 0)?,
                crate::keys::digest(row, 1)?.unwrap_or_default(),
            ))
        })?;
    let (last_seq, head) =
        last_row(connection, row)?.map_or((at_seq, base_hash), |(last_seq, _, hash)| (last_seq, hash));
    Ok(OpenSession {
        row,
        epoch,
        tail: LogEnd::new(last_seq, head),
        stale: false,
        running: false,
        unindexed: models::Unindexed::default(),
    })
}

pub(crate) fn insert(connection: &Connection, session: i64, row: &NewRow) -> Result<(), Fault> {
    if row.packs {
        connection
            .prepare_cached("DELETE FROM batches WHERE id BETWEEN ?1 AND ?2")?
            .execute([key(session, row.first_seq), key(session, row.last_seq)])?;
    }
    connection
        .prepare_cached(
            "INSERT INTO batches (id, last_seq, starts, at, hash, derived, data)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            key(session, row.first_seq),
            int(row.last_seq),
            row.starts,
            row.at,
            &row.hash[..],
            row.derived.as_ref().map(|derived| &derived[..]),
            &row.data[..],
        ])?;
    Ok(())
}

/// Keeps the time of the latest activity in `sessions`. A run in progress only sets a mark, once: updating
/// the row and its list index for each batch would double the writes of a commit.
fn mark_latest(connection: &Connection, open: &mut OpenSession, batch: &Batch) -> Result<(), Fault> {
    let Some(last) = batch.facts.last() else {
        return Ok(());
    };
    let status = batch
        .projections
        .iter()
        .rev()
        .find_map(|projection| match projection {
            Projection::Status(status) => Some(status),
            _ => None,
        });
    if status.is_none() && !batch.facts.iter().any(|fact| fact.event.is_activity()) {
        return Ok(());
    }
    open.running = status.map_or(open.running, |status| !status.is_final());
    if open.running
        || (batch.projections.is_empty() && batch.facts.iter().all(|fact| fact.event.is_unlisted()))
    {
        if !open.stale {
            connection
                .prepare_cached(
                    "UPDATE sessions SET stale = 1, updated_at = max(updated_at, coalesce(?2, updated_at)) WHERE id = ?1",
                )?
                .execute(params![open.row, beyond_future(connection, open.row)?])?;
            open.stale = true;
        }
        return Ok(());
    }
    let at = beyond_future(connection, open.row)?.map_or(last.at.0, |beyond| beyond.max(last.at.0));
    connection
        .prepare_cached("UPDATE sessions SET stale = 0, updated_at = ?2 WHERE id = ?1")?
        .execute(params![open.row, at])?;
    open.stale = false;
    Ok(())
}

/// Returns a time for a session in which something happens now, if its owner has sessions of a time that is
/// still to come, because the clock was ahead: it is later than those of the others, so that this session is
/// the latest one. Their own times stay: a clock that is behind would make them old.
fn beyond_future(connection: &Connection, row: i64) -> Result<Option<i64>, Fault> {
    let sql = "SELECT max(latest + (id <> ?1)) FROM (
          SELECT s.id AS id, s.updated_at AS latest FROM sessions s
            WHERE s.owner = (SELECT owner FROM sessions WHERE id = ?1) AND s.deleted_at IS NULL AND s.stale = 0
              AND s.updated_at > ?2
          UNION ALL
          SELECT s.id, max(s.updated_at, coalesce((SELECT b.at FROM batches b
              WHERE b.id >= s.id << 36 AND b.id < (s.id + 1) << 36 ORDER BY b.id DESC LIMIT 1), s.updated_at))
            FROM sessions s
            WHERE s.owner = (SELECT owner FROM sessions WHERE id = ?1) AND s.deleted_at IS NULL AND s.stale = 1)
        WHERE latest > ?2";
    let soon = now().0.saturating_add(FUTURE_US);
    let found = connection
        .prepare_cached(sql)?
        .query_row([row, soon], |found| found.get(0))?;
    Ok(found)
}

/// Marks a session as deleted; its events stay until nothing needs them.
pub(crate) fn mark_deleted(connection: &Connection, row: i64) -> Result<(), Fault> {
    connection
        .prepare_cached("UPDATE sessions SET deleted_at = ?2, stale = 0 WHERE id = ?1")?
        .execute(params![row, now().0])?;
    Ok(())
}
