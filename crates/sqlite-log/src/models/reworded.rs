//! Gives the read models of a session other words, after a redaction replaced facts. Called by
//! `write/redact.rs`.

use agentx_runtime::Projection;
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::error::Fault;
use crate::models::{preview, word_index};

/// Replaces the words of messages that the session has, and its title.
pub(crate) fn reword(
    connection: &Connection,
    session: i64,
    messages: &[Projection],
    title: Option<&str>,
) -> Result<(), Fault> {
    for message in messages {
        let Projection::Message { message_id, text, .. } = message else {
            continue;
        };
        let known: Option<i64> = connection
            .prepare_cached("SELECT id FROM messages WHERE session = ?1 AND message_id = ?2")?
            .query_row(params![session, message_id.as_str()], |row| row.get(0))
            .optional()?;
        // Messages of shared events are those of another session.
        let Some(row) = known else { continue };
        connection
            .prepare_cached("UPDATE messages SET preview = ?2 WHERE id = ?1")?
            .execute(params![row, preview(text)])?;
        word_index::index(connection, row, text)?;
    }
    if let Some(title) = title {
        connection
            .prepare_cached("UPDATE sessions SET title = ?2 WHERE id = ?1")?
            .execute(params![session, title])?;
    }
    Ok(())
}
