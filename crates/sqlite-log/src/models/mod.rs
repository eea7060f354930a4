//! The read models: data of lists, messages, spending. The writer changes them in the transaction that
//! appends their facts; they can be dropped and rebuilt.

pub(crate) mod reminders;
pub(crate) mod reworded;
pub(crate) mod word_index;

use agentx_runtime::{Projection, is_own_command, title_from};
use agentx_types::{MessageId, OwnerId, Role, SessionRole};
use rusqlite::{Connection, OptionalExtension as _, params};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Fault;
use crate::keys::int;

/// Maximum number of characters of a message that are kept for lists.
const PREVIEW_CHARS: usize = 200;

/// A word of a closed set, in its JSON form.
pub(crate) fn word_of(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}

/// Returns the value of a word; `None` for a word of a newer version.
pub(crate) fn of_word<T: DeserializeOwned>(word: String) -> Option<T> {
    serde_json::from_value(serde_json::Value::String(word)).ok()
}

/// Applies changes in order. The words of messages wait in `unindexed` until a run ends: FTS5 writes several
/// pages a transaction, which would be most of the writes of a short turn.
pub(crate) fn apply(
    connection: &Connection,
    session: i64,
    projections: &[Projection],
    unindexed: &mut Unindexed,
) -> Result<(), Fault> {
    // A turn goes through several states; only the last of a batch can be seen.
    let last_status = projections
        .iter()
        .rposition(|projection| matches!(projection, Projection::Status(_)));
    for (index, projection) in projections.iter().enumerate() {
        if !matches!(projection, Projection::Status(_)) || Some(index) == last_status {
            apply_one(connection, session, projection, unindexed)?;
        }
    }
    let run_ended =
        |projection: &Projection| matches!(projection, Projection::Status(status) if status.is_final());
    if unindexed.bytes > UNINDEXED_BYTES || projections.iter().any(run_ended) {
        unindexed.flush(connection)?;
    }
    Ok(())
}

/// Maximum number of bytes of text that may wait for the index.
const UNINDEXED_BYTES: usize = 256 << 10;

/// Messages whose words are not in the index yet: their rows and texts. If the process dies first, the next
/// writer finds them by their absence.
#[derive(Default)]
pub(crate) struct Unindexed {
    waiting: Vec<(i64, String)>,
    bytes: usize,
}

impl Unindexed {
    pub(crate) fn add(&mut self, message: i64, text: &str) {
        self.bytes += text.len();
        self.waiting.push((message, text.to_owned()));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(crate) fn flush(&mut self, connection: &Connection) -> Result<(), Fault> {
        for (message, text) in &self.waiting {
            word_index::index(connection, *message, text)?;
        }
        *self = Self::default();
        Ok(())
    }
}

fn apply_one(
    connection: &Connection,
    session: i64,
    projection: &Projection,
    unindexed: &mut Unindexed,
) -> Result<(), Fault> {
    match projection {
        Projection::Title(title) => set(
            connection,
            "UPDATE sessions SET title = ?2 WHERE id = ?1",
            session,
            title,
        ),
        Projection::Model(model) => set(
            connection,
            "UPDATE sessions SET model = ?2 WHERE id = ?1",
            session,
            model,
        ),
        Projection::Status(status) => set(
            connection,
            "UPDATE sessions SET status = ?2 WHERE id = ?1",
            session,
            &word_of(status),
        ),
        Projection::Message { .. } => apply_message(connection, session, projection, unindexed),
        Projection::Spent { .. } => spend(connection, session, projection),
        Projection::Role { person, role } => set_role(connection, session, person, *role),
        Projection::Reminder(due_at) => reminders::set_reminder(connection, session, *due_at),
        Projection::Unshared => {
            connection
                .prepare_cached("DELETE FROM roles WHERE session = ?1")?
                .execute([session])?;
            Ok(())
        }
        // A kind that a later version adds does not concern the data here.
        _ => Ok(()),
    }
}

/// Keeps the excerpt of a message, and makes a title of the first message of a person.
fn apply_message(
    connection: &Connection,
    session: i64,
    projection: &Projection,
    unindexed: &mut Unindexed,
) -> Result<(), Fault> {
    let Projection::Message {
        seq,
        message_id,
        agent_state_id,
        role,
        text,
    } = projection
    else {
        return Ok(());
    };
    let shown = MessageExcerpt {
        seq: int(*seq),
        agent_state_id: agent_state_id.as_str(),
        role: word_of(role),
        preview: preview(text),
    };
    let row = keep_message(connection, session, message_id, &shown)?;
    unindexed.add(row, text);
    if *role == Role::User {
        set(
            connection,
            "UPDATE sessions SET title = ?2 WHERE id = ?1 AND title = ''",
            session,
            &title_from(text),
        )?;
    }
    if *role == Role::User && !is_own_command(text) {
        replace_command(connection, session, row, &title_from(text))?;
    }
    Ok(())
}

/// Replaces a title that was taken from a command of the person, if the message in this row has their first
/// words.
fn replace_command(connection: &Connection, session: i64, row: i64, title: &str) -> Result<(), Fault> {
    connection
        .prepare_cached(
            "UPDATE sessions SET title = ?2 WHERE id = ?1 AND title LIKE '!%' AND NOT EXISTS (
               SELECT 1 FROM messages WHERE session = ?1 AND id <> ?3 AND role = ?4
                 AND preview NOT LIKE '<ran!_by!_%' ESCAPE '!')",
        )?
        .execute(params![session, title, row, word_of(&Role::User)])?;
    Ok(())
}

fn set_role(
    connection: &Connection,
    session: i64,
    person: &OwnerId,
    role: Option<SessionRole>,
) -> Result<(), Fault> {
    match role {
        Some(role) => connection
            .prepare_cached("INSERT OR REPLACE INTO roles (person, session, role) VALUES (?1, ?2, ?3)")?
            .execute(params![person.as_str(), session, word_of(&role)])?,
        None => connection
            .prepare_cached("DELETE FROM roles WHERE person = ?1 AND session = ?2")?
            .execute(params![person.as_str(), session])?,
    };
    Ok(())
}

fn set(connection: &Connection, sql: &str, session: i64, value: &str) -> Result<(), Fault> {
    connection.prepare_cached(sql)?.execute(params![session, value])?;
    Ok(())
}

/// An excerpt of a message, for lists.
struct MessageExcerpt<'a> {
    seq: i64,
    agent_state_id: &'a str,
    role: String,
    preview: &'a str,
}

/// Keeps the excerpt of a message in its row; in a new row, which is counted, if the session has none with
/// this id.
fn keep_message(
    connection: &Connection,
    session: i64,
    message_id: &MessageId,
    shown: &MessageExcerpt<'_>,
) -> Result<i64, Fault> {
    let known: Option<i64> = connection
        .prepare_cached("SELECT id FROM messages WHERE session = ?1 AND message_id = ?2")?
        .query_row(params![session, message_id.as_str()], |row| row.get(0))
        .optional()?;
    let MessageExcerpt {
        seq,
        agent_state_id,
        role,
        preview,
    } = shown;
    if let Some(row) = known {
        connection
            .prepare_cached(
                "UPDATE messages SET seq = ?2, agent_state_id = ?3, role = ?4, preview = ?5 WHERE id = ?1",
            )?
            .execute(params![row, seq, agent_state_id, role, preview])?;
        return Ok(row);
    }
    let number: i64 = connection
        .prepare_cached("UPDATE sessions SET messages = messages + 1 WHERE id = ?1 RETURNING messages")?
        .query_row([session], |row| row.get(0))?;
    connection
        .prepare_cached(
            "INSERT INTO messages (session, seq, number, message_id, agent_state_id, role, preview)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            session,
            seq,
            number,
            message_id.as_str(),
            agent_state_id,
            role,
            preview
        ])?;
    Ok(connection.last_insert_rowid())
}

fn spend(connection: &Connection, session: i64, projection: &Projection) -> Result<(), Fault> {
    let Projection::Spent {
        seq,
        run_id,
        model,
        usage,
        cost,
    } = projection
    else {
        return Ok(());
    };
    let tokens = [
        int(usage.input_tokens),
        int(usage.output_tokens),
        int(usage.cache_read_tokens),
        int(usage.cache_write_tokens),
        int(usage.reasoning_tokens),
    ];
    let [input, output, read, write, reasoning] = tokens;
    let added = connection
        .prepare_cached(
            "INSERT INTO spent VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            session,
            int(*seq),
            run_id.as_ref().map(|run| run.as_str()),
            model,
            input,
            output,
            read,
            write,
            reasoning,
            int(cost.0)
        ])?;
    if added == 1 && usage.is_estimated() {
        connection
            .prepare_cached("INSERT OR REPLACE INTO estimated VALUES (?1, ?2, ?3)")?
            .execute([session, int(*seq), int(usage.estimated_tokens)])?;
    }
    // If the cost is 0, no price is known, and the call's own row shows that.
    if added == 1 && usage.is_unpriced() && cost.0 > 0 {
        connection
            .prepare_cached("INSERT OR REPLACE INTO unpriced VALUES (?1, ?2, ?3)")?
            .execute([session, int(*seq), int(usage.unpriced_tokens)])?;
    }
    if added == 1 {
        connection
            .prepare_cached(
                "UPDATE sessions SET input_tokens = input_tokens + ?2, output_tokens = output_tokens + ?3,
                   cache_read_tokens = cache_read_tokens + ?4, cache_write_tokens = cache_write_tokens + ?5,
                   reasoning_tokens = reasoning_tokens + ?6, cost = cost + ?7 WHERE id = ?1",
            )?
            .execute(params![
                session,
                input,
                output,
                read,
                write,
                reasoning,
                int(cost.0)
            ])?;
    }
    Ok(())
}

/// Drops the read models of a session and makes them from `projections`; those of events that it shares with
/// its parent are the parent's and left out.
pub(crate) fn rebuild(
    connection: &Connection,
    session: i64,
    projections: &[Projection],
) -> Result<(), Fault> {
    clear(connection, session, i64::MAX)?;
    let at_seq: i64 = connection
        .prepare_cached(
            "UPDATE sessions SET title = '', model = '', status = NULL, messages = base_messages, input_tokens = 0,
               output_tokens = 0, cache_read_tokens = 0, cache_write_tokens = 0, reasoning_tokens = 0, cost = 0
             WHERE id = ?1 RETURNING at_seq",
        )?
        .query_row([session], |row| row.get(0))?;
    let mut unindexed = Unindexed::default();
    projections.iter().try_for_each(|projection| match projection {
        Projection::Message { seq, .. } | Projection::Spent { seq, .. } if int(*seq) <= at_seq => Ok(()),
        projection => apply_one(connection, session, projection, &mut unindexed),
    })?;
    unindexed.flush(connection)
}

/// Removes up to `limit` messages of a session with their words, its spending and its roles. Returns the
/// number of removed messages.
pub(crate) fn clear(connection: &Connection, session: i64, limit: i64) -> Result<usize, Fault> {
    let rows = connection
        .prepare_cached("SELECT id FROM messages WHERE session = ?1 LIMIT ?2")?
        .query_map([session, limit], |row| row.get(0))?
        .collect::<Result<Vec<i64>, _>>()?;
    for row in &rows {
        connection
            .prepare_cached("DELETE FROM words WHERE rowid = ?1")?
            .execute([row])?;
        connection
            .prepare_cached("DELETE FROM messages WHERE id = ?1")?
            .execute([row])?;
    }
    connection
        .prepare_cached("DELETE FROM spent WHERE session = ?1")?
        .execute([session])?;
    connection
        .prepare_cached("DELETE FROM estimated WHERE session = ?1")?
        .execute([session])?;
    connection
        .prepare_cached("DELETE FROM unpriced WHERE session = ?1")?
        .execute([session])?;
    connection
        .prepare_cached("DELETE FROM roles WHERE session = ?1")?
        .execute([session])?;
    reminders::set_reminder(connection, session, None)?;
    Ok(rows.len())
}

fn preview(text: &str) -> &str {
    cut(text, PREVIEW_CHARS)
}

fn cut(text: &str, chars: usize) -> &str {
    text.char_indices()
        .nth(chars)
        .map_or(text, |(end, _)| &text[..end])
}
