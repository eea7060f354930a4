//! Rows of the database as memories, and their words in the index.

use agentx_sqlite_log::search_words::indexed_form;
use agentx_types::{SessionId, Timestamp};
use rusqlite::{Connection, Row, params};

use crate::database::SqlResult;
use crate::memory::{Memory, MemoryFilter, MemoryOrigin, MemoryState};

/// The columns that [`memory`] reads, in its order, of the table `memories` under the name `m`.
pub(crate) const COLUMNS: &str = "m.id, m.text, m.state, m.pinned, m.folder, m.session, m.seq, m.revision, \
                                  m.created_at, m.changed_at";

/// Reads a row. A state of a newer version counts as a proposal, which no model is given.
pub(crate) fn memory(row: &Row<'_>) -> rusqlite::Result<Memory> {
    let state: String = row.get(2)?;
    let (folder, session): (String, String) = (row.get(4)?, row.get(5)?);
    let seq: i64 = row.get(6)?;
    let origin = (!session.is_empty()).then(|| MemoryOrigin {
        session: SessionId::new(session),
        seq: u64::try_from(seq).unwrap_or_default(),
    });
    Ok(Memory {
        id: row.get(0)?,
        text: row.get(1)?,
        state: MemoryState::parse(&state).unwrap_or(MemoryState::Proposed),
        pinned: row.get(3)?,
        folder: (!folder.is_empty()).then_some(folder),
        origin,
        revision: row.get(7)?,
        created_at: Timestamp(row.get(8)?),
        changed_at: Timestamp(row.get(9)?),
    })
}

/// Takes what the filter wants, up to `limit`.
pub(crate) fn take(
    rows: impl Iterator<Item = rusqlite::Result<Memory>>,
    filter: &MemoryFilter,
    limit: usize,
) -> SqlResult<Vec<Memory>> {
    let mut taken = Vec::new();
    for row in rows {
        if taken.len() == limit {
            break;
        }
        let memory = row?;
        let workspace = filter.workspace.as_deref();
        if workspace.is_none_or(|workspace| memory.is_for(workspace)) {
            taken.push(memory);
        }
    }
    Ok(taken)
}

/// Puts the words of a text into the index, in place of those before.
pub(crate) fn index(connection: &Connection, id: i64, text: &str) -> SqlResult<()> {
    connection
        .prepare_cached("DELETE FROM memory_words WHERE rowid = ?1")?
        .execute([id])?;
    connection
        .prepare_cached("INSERT INTO memory_words (rowid, text) VALUES (?1, ?2)")?
        .execute(params![id, indexed_form(text)])?;
    Ok(())
}
