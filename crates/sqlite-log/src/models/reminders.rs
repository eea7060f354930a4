//! The read model of reminders: the first one of each session that has any, so that a watch finds due ones
//! without a fold of each session.

use agentx_types::{OwnerId, SessionId, Timestamp};
use rusqlite::{Connection, params};

use crate::error::Fault;

/// Records the time of the first reminder of a session, or that it has none.
pub(crate) fn set_reminder(
    connection: &Connection,
    session: i64,
    due_at: Option<Timestamp>,
) -> Result<(), Fault> {
    match due_at {
        Some(due_at) => connection
            .prepare_cached("INSERT OR REPLACE INTO reminders (session, due_at) VALUES (?1, ?2)")?
            .execute(params![session, due_at.0])?,
        None => connection
            .prepare_cached("DELETE FROM reminders WHERE session = ?1")?
            .execute([session])?,
    };
    Ok(())
}

/// Sessions with a reminder that is not due, or that nobody has told yet. A database from before reminders
/// that can only be read has no table of them, and no session in it has one.
pub(crate) fn reminding(connection: &Connection) -> Result<Vec<(SessionId, OwnerId)>, Fault> {
    let has_table: bool = connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'reminders')")?
        .query_row([], |row| row.get(0))?;
    if !has_table {
        return Ok(Vec::new());
    }
    let mut statement = connection.prepare_cached(
        "SELECT s.session_id, s.owner FROM reminders r CROSS JOIN sessions s ON s.id = r.session
         WHERE s.deleted_at IS NULL ORDER BY r.due_at",
    )?;
    let rows = statement.query_map([], |row| {
        let session = SessionId::new(row.get_ref(0)?.as_str()?);
        Ok((session, OwnerId::new(row.get_ref(1)?.as_str()?)))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
