//! Sessions as rows: made, forked, taken over by a writer, listed. Called by the front of the crate, on the
//! writer thread for changes and on a reader for the rest.

use agentx_runtime::{LogError, NewLog, SessionInfo, SessionQuery, WriterInfo};
use agentx_types::{BlobId, NanoUsd, OwnerId, RunStatus, SessionId, SessionRole, Timestamp, Usage};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::database::lock::Locks;
use crate::error::Fault;
use crate::keys::{digest, int, key, last_row, session_row, unsigned};
use crate::read::spending::add_marks;
use crate::read::{self, ChainStop};
use crate::rows::segment::base_hash;
use crate::write::append::{load, mark_deleted};
use crate::write::writer::WriterState;

/// The data that a fork copies from its parent.
struct InheritedByFork {
    base: Option<i64>,
    hash: Option<agentx_runtime::Digest>,
    messages: u64,
    title: String,
    model: String,
}

/// Makes a session. A fork is a row, however long its parent is.
pub(crate) fn create(connection: &Connection, new: &NewLog) -> Result<(), Fault> {
    let taken = connection
        .prepare_cached("SELECT 1 FROM sessions WHERE session_id = ?1")?
        .exists([new.session_id.as_str()])?;
    if taken {
        return Err(LogError::Exists(new.session_id.clone()).into());
    }
    let shared = match &new.parent {
        Some((parent, at_seq)) => shared_with(connection, parent, *at_seq)?,
        None => InheritedByFork {
            base: None,
            hash: None,
            messages: 0,
            title: String::new(),
            model: String::new(),
        },
    };
    let (parent, at_seq) = new
        .parent
        .as_ref()
        .map_or((None, 0), |(id, at_seq)| (Some(id.as_str()), *at_seq));
    connection
        .prepare_cached(
            "INSERT INTO sessions (session_id, owner, parent, at_seq, base, base_hash, created_at, updated_at,
               title, workspace, model, base_messages, messages)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, ?8, ?9, ?10, ?11, ?11)",
        )?
        .execute(params![
            new.session_id.as_str(),
            new.owner.as_str(),
            parent,
            int(at_seq),
            shared.base,
            &base_hash(new.session_id.as_str(), shared.hash.as_ref())[..],
            new.at.0,
            shared.title,
            new.workspace,
            shared.model,
            int(shared.messages),
        ])?;
    Ok(())
}

fn shared_with(connection: &Connection, parent: &SessionId, at_seq: u64) -> Result<InheritedByFork, Fault> {
    let row = session_row(connection, parent)?;
    let parts = read::parts(connection, row)?;
    let last_seq = last_row(connection, row)?.map(|(last_seq, ..)| last_seq);
    let last_seq = last_seq.or(parts.last().map(|part| part.after)).unwrap_or(0);
    if at_seq > last_seq {
        return Err(Fault::Other(format!(
            "session {parent} ends at event {last_seq}: no fork at {at_seq}"
        )));
    }
    let (title, model) = connection
        .prepare_cached("SELECT title, model FROM sessions WHERE id = ?1")?
        .query_row([row], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let holder = parts
        .iter()
        .find(|part| at_seq > part.after && at_seq <= part.upto);
    let Some(holder) = holder else {
        return Ok(InheritedByFork {
            base: None,
            hash: None,
            messages: 0,
            title: String::new(),
            model,
        });
    };
    let hash = read::hash_at(connection, holder, at_seq).map_err(|stop| match stop {
        ChainStop::Fault(fault) => fault,
        ChainStop::Damage(damage) => damage.error(parent).into(),
    })?;
    let messages = messages_upto(connection, &parts, at_seq)?;
    let title = if messages > 0 { title } else { String::new() };
    Ok(InheritedByFork {
        base: Some(holder.session),
        hash,
        messages,
        title,
        model,
    })
}

/// Returns the number of messages in the first `at_seq` events.
fn messages_upto(connection: &Connection, parts: &[read::SessionRange], at_seq: u64) -> Result<u64, Fault> {
    for part in parts.iter().rev().filter(|part| part.after < at_seq) {
        let number = connection
            .prepare_cached(
                "SELECT number FROM messages WHERE session = ?1 AND seq <= ?2 ORDER BY seq DESC, number DESC LIMIT 1",
            )?
            .query_row(params![part.session, int(at_seq.min(part.upto))], |row| unsigned(row, 0))
            .optional()?;
        if let Some(number) = number {
            return Ok(number);
        }
    }
    Ok(0)
}

/// The statement of [`take_over`].
const TAKE_OVER: &str = "UPDATE sessions SET epoch = epoch + 1, stale = 0,
    updated_at = CASE stale WHEN 0 THEN updated_at ELSE max(updated_at, coalesce((SELECT b.at FROM batches b
      WHERE b.id >= sessions.id << 36 AND b.id < (sessions.id + 1) << 36 ORDER BY b.id DESC LIMIT 1), updated_at)) END
    WHERE id = ?1 RETURNING epoch";

/// Counts up the epoch of a session, so that every earlier writer is refused from now on. If an earlier
/// writer died in a run, the time of its last facts becomes that of the session, because the opening makes no
/// session more recent. Returns the epoch and the last `seq`.
pub(crate) fn take_over(core: &mut WriterState, session: &SessionId) -> Result<(u64, u64), Fault> {
    let open = core.transaction(|connection| {
        let row = session_row(connection, session)?;
        let epoch = connection
            .prepare_cached(TAKE_OVER)?
            .query_row([row], |row| unsigned(row, 0))?;
        crate::write::pack::pack_last_segment(connection, row)?;
        crate::models::word_index::catch_up(connection, session, row)?;
        load(connection, row, epoch)
    })?;
    let attached = (open.epoch, open.tail.last_seq);
    core.sessions.insert(session.clone(), Box::new(open));
    Ok(attached)
}

/// Hides a session.
pub(crate) fn delete(core: &mut WriterState, session: &SessionId) -> Result<(), Fault> {
    core.transaction(|connection| mark_deleted(connection, session_row(connection, session)?))?;
    core.sessions.remove(session);
    Ok(())
}

/// The columns of a [`SessionInfo`]; `updated_at` and `last_seq` come from the last row of facts if
/// necessary.
const INFO: &str = "SELECT s.session_id, s.owner, s.title, s.workspace, s.model, s.status, s.created_at,
    CASE s.stale WHEN 0 THEN s.updated_at ELSE max(s.updated_at, coalesce((SELECT b.at FROM batches b
      WHERE b.id >= s.id << 36 AND b.id < (s.id + 1) << 36 ORDER BY b.id DESC LIMIT 1), s.updated_at)) END AS latest,
    coalesce((SELECT b.last_seq FROM batches b
      WHERE b.id >= s.id << 36 AND b.id < (s.id + 1) << 36 ORDER BY b.id DESC LIMIT 1), s.at_seq),
    s.messages, s.input_tokens, s.output_tokens, s.cache_read_tokens, s.cache_write_tokens, s.reasoning_tokens,
    s.cost, s.parent, s.at_seq, s.epoch FROM sessions s WHERE s.deleted_at IS NULL";

fn info_of(row: &Row<'_>) -> rusqlite::Result<(SessionInfo, u64)> {
    let parent: Option<String> = row.get(16)?;
    let at_seq = unsigned(row, 17)?;
    let usage = Usage {
        input_tokens: unsigned(row, 10)?,
        output_tokens: unsigned(row, 11)?,
        cache_read_tokens: unsigned(row, 12)?,
        cache_write_tokens: unsigned(row, 13)?,
        reasoning_tokens: unsigned(row, 14)?,
        ..Usage::default()
    };
    let text = |column| row.get::<_, String>(column);
    let id = SessionId::new(row.get_ref(0)?.as_str()?);
    let owner = OwnerId::new(row.get_ref(1)?.as_str()?);
    let info = SessionInfo::new(id, owner, Timestamp(row.get(6)?))
        .with_title(text(2)?)
        .with_workspace(text(3)?)
        .with_model(text(4)?)
        .with_status(row.get::<_, Option<String>>(5)?.and_then(crate::models::of_word))
        .with_last_event(unsigned(row, 8)?, Timestamp(row.get(7)?))
        .with_messages(unsigned(row, 9)?)
        .with_spent(usage, NanoUsd(unsigned(row, 15)?))
        .with_parent(parent.map(|parent| (SessionId::new(parent), at_seq)));
    Ok((info, unsigned(row, 18)?))
}

/// Adds the fields that are not in its row: which of its tokens are estimated or have no known price, and its
/// writer.
fn completed(connection: &Connection, (mut info, epoch): (SessionInfo, u64), locks: &Locks) -> SessionInfo {
    let row = session_row(connection, &info.session_id).unwrap_or_default();
    add_marks(connection, &mut info.usage, row, None);
    info.writer = locks
        .holder(&info.session_id)
        .map(|process| WriterInfo { process, epoch });
    info
}

/// Returns the list entry of one session.
pub(crate) fn info(
    connection: &Connection,
    locks: &Locks,
    session: &SessionId,
) -> Result<SessionInfo, Fault> {
    let found = connection
        .prepare_cached(&format!("{INFO} AND s.session_id = ?1"))?
        .query_row([session.as_str()], info_of)
        .optional()?;
    found
        .map(|found| completed(connection, found, locks))
        .ok_or_else(|| Fault::not_found(session.as_str()))
}

/// Sessions, the latest first. Only few have a row that is out of date: they are being written, or their
/// writer died.
pub(crate) fn list(
    connection: &Connection,
    locks: &Locks,
    query: &SessionQuery,
) -> Result<Vec<SessionInfo>, Fault> {
    let narrowed = "AND s.owner = ?1 AND (?2 IS NULL OR s.workspace = ?2)";
    let exact = format!(
        "{INFO} AND s.stale = 0 {narrowed} AND s.updated_at < ?3 ORDER BY s.updated_at DESC, s.session_id DESC LIMIT ?4"
    );
    let stale = format!(
        "{INFO} AND s.stale = 1 {narrowed} AND latest < ?3 ORDER BY latest DESC, s.session_id DESC LIMIT ?4"
    );
    let before = query.before.map_or(i64::MAX, |before| before.0);
    let mut found = Vec::new();
    for sql in [exact, stale] {
        let mut statement = connection.prepare_cached(&sql)?;
        let values = params![
            query.owner.as_str(),
            query.workspace,
            before,
            int(query.limit as u64)
        ];
        for row in statement.query_map(values, info_of)? {
            found.push(row?);
        }
    }
    found.sort_by(|(one, _), (other, _)| {
        (other.updated_at, &other.session_id).cmp(&(one.updated_at, &one.session_id))
    });
    found.truncate(query.limit);
    Ok(found
        .into_iter()
        .map(|found| completed(connection, found, locks))
        .collect())
}

/// Sessions of others in which the query's owner has a role, the latest first.
pub(crate) fn shared(
    connection: &Connection,
    locks: &Locks,
    query: &SessionQuery,
) -> Result<Vec<SessionInfo>, Fault> {
    let sql = format!(
        "{INFO} AND s.id IN (SELECT r.session FROM roles r WHERE r.person = ?1) AND s.owner <> ?1
           AND (?2 IS NULL OR s.workspace = ?2) AND latest < ?3 ORDER BY latest DESC, s.session_id DESC LIMIT ?4"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let values = params![
        query.owner.as_str(),
        query.workspace,
        query.before.map_or(i64::MAX, |before| before.0),
        int(query.limit as u64)
    ];
    let found = statement.query_map(values, info_of)?;
    found
        .map(|found| Ok(completed(connection, found?, locks)))
        .collect::<Result<Vec<_>, Fault>>()
}

/// Returns the owner of a session and the role of `person`, if they are not the owner.
pub(crate) fn access(
    connection: &Connection,
    session: &SessionId,
    person: &OwnerId,
) -> Result<(OwnerId, Option<SessionRole>), Fault> {
    let found = connection
        .prepare_cached(
            "SELECT s.owner, r.role FROM sessions s LEFT JOIN roles r ON r.person = ?2 AND r.session = s.id
             WHERE s.deleted_at IS NULL AND s.session_id = ?1",
        )?
        .query_row(params![session.as_str(), person.as_str()], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, Option<String>>(1)?))
        })
        .optional()?;
    let (owner, role) = found.ok_or_else(|| Fault::not_found(session.as_str()))?;
    Ok((OwnerId::new(owner), role.and_then(crate::models::of_word)))
}

/// The first event of a session that names a blob; the events that it shares with others are its own here.
pub(crate) fn names_blob(
    connection: &Connection,
    session: &SessionId,
    blob: &BlobId,
) -> Result<Option<u64>, Fault> {
    let row = session_row(connection, session)?;
    let Some(hash) = crate::rows::blobs::hash_of(blob) else {
        return Ok(None);
    };
    for part in read::parts(connection, row)? {
        let named = connection
            .prepare_cached("SELECT seq FROM blob_refs WHERE session = ?1 AND hash = ?2 AND seq <= ?3")?
            .query_row(params![part.session, &hash[..], int(part.upto)], |row| {
                unsigned(row, 0)
            })
            .optional()?;
        if named.is_some() {
            return Ok(named);
        }
    }
    Ok(None)
}

/// Sessions whose last run has not ended.
pub(crate) fn under_way(connection: &Connection) -> Result<Vec<(SessionId, OwnerId)>, Fault> {
    let mut statement = connection.prepare_cached(
        "SELECT session_id, owner, status FROM sessions WHERE deleted_at IS NULL AND status IS NOT NULL ORDER BY id",
    )?;
    let rows = statement.query_map([], |row| {
        let status = crate::models::of_word::<RunStatus>(row.get(2)?);
        let session = SessionId::new(row.get_ref(0)?.as_str()?);
        let owner = OwnerId::new(row.get_ref(1)?.as_str()?);
        Ok((status, session, owner))
    })?;
    let mut found = Vec::new();
    for row in rows {
        let (status, session, owner) = row?;
        if status.is_some_and(|status| !status.is_final()) {
            found.push((session, owner));
        }
    }
    Ok(found)
}

/// Ids that begin with `prefix`, with or without the part that all ids have.
pub(crate) fn resolve(
    connection: &Connection,
    owner: &OwnerId,
    prefix: &str,
) -> Result<Vec<SessionId>, Fault> {
    let mut found = Vec::new();
    for prefix in [prefix.to_owned(), format!("{}{prefix}", SessionId::PREFIX)] {
        let mut statement = connection.prepare_cached(
            "SELECT session_id FROM sessions WHERE deleted_at IS NULL AND owner = ?1 AND session_id >= ?2
               AND session_id < ?3 ORDER BY session_id LIMIT 10",
        )?;
        let end = format!("{prefix}\u{10ffff}");
        for id in statement.query_map(params![owner.as_str(), prefix, end], |row| {
            row.get::<_, String>(0)
        })? {
            found.push(SessionId::new(id?));
        }
    }
    found.sort();
    found.dedup();
    found.truncate(10);
    Ok(found)
}

/// The digests that are kept with a session's own rows.
pub(crate) fn digests(
    connection: &Connection,
    session: &SessionId,
) -> Result<Vec<(u64, agentx_runtime::Digest)>, Fault> {
    let row = session_row(connection, session)?;
    let mut statement = connection
        .prepare_cached("SELECT last_seq, derived FROM batches WHERE id >= ?1 AND id < ?2 ORDER BY id")?;
    let rows = statement.query_map([key(row, 0), key(row + 1, 0)], |row| {
        Ok((unsigned(row, 0)?, digest(row, 1)?))
    })?;
    let mut digests = Vec::new();
    for row in rows {
        if let (last_seq, Some(digest)) = row? {
            digests.push((last_seq, digest));
        }
    }
    Ok(digests)
}
