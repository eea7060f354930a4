//! The words of messages, in the index of the search. A writer adds them when a run ends. If it dies before
//! that, the next writer adds the missing ones.

use agentx_types::{AgentStateId, SessionId};
use rusqlite::{Connection, params};

use crate::error::Fault;
use crate::keys::unsigned;
use crate::read::message_text::text_of;
use crate::search_words::indexed_form;

/// Adds the words of a message to the index.
pub(crate) fn index(connection: &Connection, message: i64, text: &str) -> Result<(), Fault> {
    connection
        .prepare_cached("DELETE FROM words WHERE rowid = ?1")?
        .execute([message])?;
    connection
        .prepare_cached("INSERT INTO words (rowid, text) VALUES (?1, ?2)")?
        .execute(params![message, indexed_form(text)])?;
    Ok(())
}

/// Indexes the latest messages of a session whose writer died before it did.
pub(crate) fn catch_up(connection: &Connection, session: &SessionId, row: i64) -> Result<(), Fault> {
    let mut statement = connection.prepare_cached(
        "SELECT m.id, m.seq, m.agent_state_id, m.preview,
           EXISTS (SELECT 1 FROM words_docsize d WHERE d.id = m.id)
         FROM messages m WHERE m.session = ?1 ORDER BY m.seq DESC, m.number DESC",
    )?;
    let mut rows = statement.query([row])?;
    while let Some(found) = rows.next()? {
        if found.get(4)? {
            return Ok(());
        }
        let agent = AgentStateId::new(found.get_ref(2)?.as_str().unwrap_or_default());
        let preview: String = found.get(3)?;
        let text = text_of(connection, session, &agent, unsigned(found, 1)?, &preview);
        index(connection, found.get(0)?, &text.unwrap_or(preview))?;
    }
    Ok(())
}
