//! Removes data that nothing refers to any more, in steps that are short enough for appends to come between
//! them. Called by `collect_garbage` and `retain`.
//!
//! A deleted session is removed once no fork needs its events; otherwise only the events after the last fork
//! are removed. A blob is removed when no session names it and it was not stored within the grace period.

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::error::Fault;
use crate::keys::{first_seq, int, key, unsigned};
use crate::models;

/// Maximum number of rows that a step removes.
const STEP_ROWS: i64 = 256;
/// The number of pages that are returned to the file system in one step.
const STEP_PAGES: u64 = 1_024;

/// The state of a collection between two steps.
#[derive(Clone, Copy, Debug)]
pub(crate) enum GcStage {
    Sessions,
    /// Blobs with a row number after this.
    Blobs(i64),
    Done,
}

/// Does one step. Returns the freed bytes and the next stage.
pub(crate) fn step(
    connection: &Connection,
    stage: GcStage,
    blobs_before: i64,
) -> Result<(u64, GcStage), Fault> {
    overwriting(connection, |connection| one_step(connection, stage, blobs_before))
}

/// Does `work` so that data that goes is overwritten, not only unlinked. Appends, which pack rows all the
/// time, overwrite only what they need not write another page for.
pub(super) fn overwriting<T>(
    connection: &Connection,
    work: impl FnOnce(&Connection) -> Result<T, Fault>,
) -> Result<T, Fault> {
    connection.pragma_update(None, "secure_delete", true)?;
    let done = work(connection);
    connection.pragma_update(None, "secure_delete", "FAST")?;
    done
}

/// The number of pages of the word index that are merged in one step.
const MERGED_PAGES: i64 = 256;

/// Merges a part of the index of words, so that words of removed messages go. Returns whether there is more
/// to do. The first step begins a merge of everything.
pub(super) fn merge_words(connection: &Connection, is_first: bool) -> Result<bool, Fault> {
    let pages = if is_first { -MERGED_PAGES } else { MERGED_PAGES };
    let changes = || connection.query_row("SELECT total_changes()", [], |row| row.get::<_, i64>(0));
    let before = changes()?;
    connection
        .prepare_cached("INSERT INTO words (words, rank) VALUES ('merge', ?1)")?
        .execute([pages])?;
    // The row that gives the command counts as one change.
    Ok(changes()?.saturating_sub(before) > 1)
}

fn one_step(connection: &Connection, stage: GcStage, blobs_before: i64) -> Result<(u64, GcStage), Fault> {
    match stage {
        GcStage::Sessions => Ok(match session_to_trim(connection)? {
            Some((session, needed)) => (trim(connection, session, needed)?, GcStage::Sessions),
            None => (0, GcStage::Blobs(0)),
        }),
        GcStage::Blobs(after) => remove_blobs(connection, after, blobs_before),
        GcStage::Done => Ok((0, GcStage::Done)),
    }
}

/// A deleted session with unneeded data, and the last event that its forks need; `None` if they need none.
fn session_to_trim(connection: &Connection) -> Result<Option<(i64, Option<u64>)>, Fault> {
    let mut statement = connection.prepare_cached(
        "SELECT s.id, (SELECT max(f.at_seq) FROM sessions f WHERE f.base = s.id) AS needed FROM sessions s
         WHERE s.deleted_at IS NOT NULL AND (needed IS NULL
           OR EXISTS (SELECT 1 FROM batches b WHERE b.id > (s.id << 36) + needed AND b.id < (s.id + 1) << 36)
           OR EXISTS (SELECT 1 FROM messages m WHERE m.session = s.id)) LIMIT 1",
    )?;
    let found = statement.query_row([], |row| {
        let needed: Option<i64> = row.get(1)?;
        Ok((row.get(0)?, needed.and_then(|needed| u64::try_from(needed).ok())))
    });
    Ok(found.optional()?)
}

/// Removes a part of the unneeded data of a deleted session: read models first, then facts from the end, its
/// row last.
fn trim(connection: &Connection, session: i64, needed: Option<u64>) -> Result<u64, Fault> {
    if models::clear(connection, session, STEP_ROWS)? > 0 {
        return Ok(0);
    }
    let from = needed.map_or(key(session, 0), |seq| key(session, seq) + 1);
    let (freed, lowest) = connection
        .prepare_cached(
            "SELECT coalesce(sum(length(data)), 0), min(id) FROM
               (SELECT id, data FROM batches WHERE id >= ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3)",
        )?
        .query_row([from, key(session + 1, 0), STEP_ROWS], |row| {
            Ok((unsigned(row, 0)?, row.get::<_, Option<i64>>(1)?))
        })?;
    let mut blobs = 0;
    match (lowest, needed) {
        (Some(lowest), _) => {
            blobs = forget_references(connection, session, first_seq(lowest))?;
            connection
                .prepare_cached("DELETE FROM batches WHERE id >= ?1 AND id < ?2")?
                .execute([lowest, key(session + 1, 0)])?;
        }
        (None, None) => {
            forget_references(connection, session, 0)?;
            connection
                .prepare_cached("DELETE FROM sessions WHERE id = ?1")?
                .execute([session])?;
        }
        (None, Some(_)) => {}
    }
    Ok(freed + blobs)
}

/// A blob that was stored later than this after the event that names it may be one that another session is
/// about to name, in microseconds.
const NAMED_AT_ONCE: i64 = 5_000_000;

/// Gives up the blobs that a session names first at `seq` or later, whose rows are still there. Removes those
/// that only this session named and that were stored for it; others wait for the grace period. Returns their
/// bytes.
fn forget_references(connection: &Connection, session: i64, seq: u64) -> Result<u64, Fault> {
    let mut statement = connection.prepare_cached(
        "DELETE FROM blobs WHERE id IN (
           SELECT b.id FROM blob_refs r JOIN blobs b ON b.hash = r.hash WHERE r.session = ?1 AND r.seq >= ?2
             AND NOT EXISTS (SELECT 1 FROM blob_refs o WHERE o.hash = r.hash AND o.session <> ?1)
             AND b.touched_at <= ?3 + (SELECT w.at FROM batches w WHERE w.id BETWEEN ?4 AND ?4 + r.seq
               ORDER BY w.id DESC LIMIT 1))
         RETURNING size",
    )?;
    let removed = statement.query_map(
        params![session, int(seq), NAMED_AT_ONCE, key(session, 0)],
        |row| unsigned(row, 0),
    )?;
    let removed = removed.collect::<Result<Vec<u64>, _>>()?;
    connection
        .prepare_cached("DELETE FROM blob_refs WHERE session = ?1 AND seq >= ?2")?
        .execute([session, int(seq)])?;
    Ok(removed.iter().sum())
}

fn remove_blobs(connection: &Connection, after: i64, before: i64) -> Result<(u64, GcStage), Fault> {
    let mut statement = connection.prepare_cached(
        "SELECT b.id, b.size FROM blobs b WHERE b.id > ?1 AND b.touched_at < ?2
           AND NOT EXISTS (SELECT 1 FROM blob_refs r WHERE r.hash = b.hash) ORDER BY b.id LIMIT 16",
    )?;
    let rows = statement.query_map([after, before], |row| {
        Ok((row.get::<_, i64>(0)?, unsigned(row, 1)?))
    })?;
    let rows = rows.collect::<Result<Vec<_>, _>>()?;
    let Some((last, _)) = rows.last().copied() else {
        return Ok((0, GcStage::Done));
    };
    for (row, _) in &rows {
        connection
            .prepare_cached("DELETE FROM blobs WHERE id = ?1")?
            .execute([row])?;
    }
    Ok((rows.iter().map(|(_, size)| size).sum(), GcStage::Blobs(last)))
}

/// Returns some empty pages to the file system. Returns their size in bytes.
pub(crate) fn give_back(connection: &Connection) -> Result<u64, Fault> {
    let number = |name: &str| connection.pragma_query_value(None, name, |row| unsigned(row, 0));
    let before = number("freelist_count")?;
    let mut statement = connection.prepare(&format!("PRAGMA incremental_vacuum({STEP_PAGES})"))?;
    let mut rows = statement.query([])?;
    // Each of its steps frees one page.
    while rows.next()?.is_some() {}
    let given = before.saturating_sub(number("freelist_count")?);
    Ok(given.saturating_mul(number("page_size")?))
}

/// Undeleted sessions without forks whose last event is older than `before`.
pub(crate) fn older_than(connection: &Connection, before: i64) -> Result<Vec<String>, Fault> {
    let mut statement = connection.prepare_cached(
        "SELECT s.session_id, CASE s.stale WHEN 0 THEN s.updated_at ELSE max(s.updated_at, coalesce((SELECT b.at FROM batches b
           WHERE b.id >= s.id << 36 AND b.id < (s.id + 1) << 36 ORDER BY b.id DESC LIMIT 1), s.updated_at)) END AS latest
         FROM sessions s WHERE s.deleted_at IS NULL AND latest < ?1
           AND NOT EXISTS (SELECT 1 FROM sessions f WHERE f.base = s.id AND f.deleted_at IS NULL)",
    )?;
    let ids = statement
        .query_map(params![before], |row| row.get(0))?
        .collect::<Result<Vec<_>, _>>()?;
    Ok(ids)
}
