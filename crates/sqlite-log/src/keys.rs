//! Encodings of numbers: row keys of `batches`, and unsigned numbers in SQLite's signed ones.

use agentx_runtime::{Clock as _, Digest, SystemClock};
use agentx_types::{SessionId, Timestamp};
use rusqlite::types::{FromSqlError, ValueRef};
use rusqlite::{Connection, OptionalExtension as _, Row};

use crate::error::Fault;

/// The number of bits of a row's key that hold its first `seq`.
const SEQ_BITS: u32 = 36;
/// The largest `seq` that a session can have.
pub(crate) const LAST_SEQ: u64 = (1 << SEQ_BITS) - 1;

/// The key of the row of `session` that begins with `seq`.
pub(crate) fn key(session: i64, seq: u64) -> i64 {
    (session << SEQ_BITS) | seq.min(LAST_SEQ) as i64
}

/// The `seq` that a row with this key begins with.
pub(crate) fn first_seq(key: i64) -> u64 {
    key as u64 & LAST_SEQ
}

/// An unsigned number as SQLite keeps it.
pub(crate) fn int(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// A number that is never negative unless the file is damaged.
pub(crate) fn unsigned(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    Ok(u64::try_from(row.get::<_, i64>(column)?).unwrap_or(0))
}

/// A hash, if there is one.
pub(crate) fn digest(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Digest>> {
    match row.get_ref(column)? {
        ValueRef::Null => Ok(None),
        value => {
            let bytes = value.as_blob()?;
            Ok(Some(bytes.try_into().map_err(|_| {
                FromSqlError::InvalidBlobSize {
                    expected_size: 32,
                    blob_size: bytes.len(),
                }
            })?))
        }
    }
}

/// The time of this machine.
pub(crate) fn now() -> Timestamp {
    SystemClock.now()
}

/// The row number of a session that was not deleted.
pub(crate) fn session_row(connection: &Connection, session: &SessionId) -> Result<i64, Fault> {
    connection
        .prepare_cached("SELECT id FROM sessions WHERE session_id = ?1 AND deleted_at IS NULL")?
        .query_row([session.as_str()], |row| row.get(0))
        .optional()?
        .ok_or_else(|| Fault::not_found(session.as_str()))
}

/// Returns the last `seq` of a session's own rows, its time and its hash. `None` if it has no row.
pub(crate) fn last_row(connection: &Connection, session: i64) -> Result<Option<(u64, i64, Digest)>, Fault> {
    let mut statement = connection.prepare_cached(
        "SELECT last_seq, at, hash FROM batches WHERE id BETWEEN ?1 AND ?2 ORDER BY id DESC LIMIT 1",
    )?;
    let row = statement
        .query_row([key(session, 0), key(session, LAST_SEQ)], |row| {
            Ok((
                unsigned(row, 0)?,
                row.get(1)?,
                digest(row, 2)?.unwrap_or_default(),
            ))
        })
        .optional()?;
    Ok(row)
}
