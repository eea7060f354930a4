//! Stores the copy of a fork as a fork. The events that it shares with its ancestors go into hidden sessions,
//! as those of a deleted session do while a fork needs them. Called when the rows of a fork are adopted.
//!
//! Such a session is called `ANCESTOR@FORK`: it holds only the events that this fork shares, does not
//! conflict with a copy of the ancestor itself, and is collected when the fork is deleted.

use agentx_runtime::LogPart;
use agentx_types::{SessionId, SessionRedacted};
use rusqlite::{Connection, params};

use crate::error::Fault;
use crate::keys::{int, now};
use crate::read::{self, ChainStop, SessionRange, redactions};
use crate::rows::ancestor_names::OF;
use crate::rows::segment::base_hash;
use crate::write::checked_rows::{CheckedRows, put, refused};

/// Keeps the shared rows, and lets the session continue from them. `records` are those of its redactions.
pub(crate) fn link(
    connection: &Connection,
    session: &SessionId,
    row: i64,
    checked: &[CheckedRows<'_>],
    own: &LogPart,
    parent: Option<&SessionId>,
    records: &[SessionRedacted],
) -> Result<(), Fault> {
    let mut base: Option<i64> = None;
    let mut shared = None;
    for part in checked.iter().filter(|checked| checked.part != own) {
        check_base(session, part.part, shared.as_ref(), records)?;
        let ancestor = keep_ancestor(connection, session, row, part, base)?;
        let hash = read::hash_at(connection, &ancestor, ancestor.upto).map_err(|stop| match stop {
            ChainStop::Fault(fault) => fault,
            ChainStop::Damage(damage) => refused(session, &damage.what),
        })?;
        (base, shared) = (Some(ancestor.session), hash);
    }
    check_base(session, own, shared.as_ref(), records)?;
    connection
        .prepare_cached(
            "UPDATE sessions SET parent = ?2, at_seq = ?3, base = ?4, base_hash = ?5,
               base_messages = (SELECT count(*) FROM messages WHERE session = ?1 AND seq <= ?3) WHERE id = ?1",
        )?
        .execute(params![
            row,
            parent.map(SessionId::as_str),
            int(own.after_seq),
            base,
            &own.base_hash[..],
        ])?;
    forget_spent(connection, row, own.after_seq)
}

/// Checks that a chain begins with the hash of its session's id and the shared events.
fn check_base(
    session: &SessionId,
    part: &LogPart,
    shared: Option<&agentx_runtime::Digest>,
    records: &[SessionRedacted],
) -> Result<(), Fault> {
    if base_hash(part.session_id.as_str(), shared) == part.base_hash {
        return Ok(());
    }
    // It was forked before the events were redacted.
    let begun = SessionRange {
        session: 0,
        id: part.session_id.to_string(),
        base_hash: part.base_hash,
        after: part.after_seq,
        upto: part.upto_seq,
    };
    if redactions::begins_with(records, &begun) {
        return Ok(());
    }
    let id = &part.session_id;
    Err(refused(
        session,
        &format!("session {id} does not follow the events that it was forked from"),
    ))
}

fn keep_ancestor(
    connection: &Connection,
    session: &SessionId,
    row: i64,
    checked: &CheckedRows<'_>,
    base: Option<i64>,
) -> Result<SessionRange, Fault> {
    let part = checked.part;
    let name = format!("{}{OF}{session}", part.session_id);
    // Data of an earlier copy of this fork may not be collected yet.
    connection
        .prepare_cached("UPDATE sessions SET session_id = session_id || ?2 || id WHERE session_id = ?1")?
        .execute(params![name, OF.to_string()])?;
    let ancestor = connection
        .prepare_cached(
            "INSERT INTO sessions (session_id, owner, at_seq, base, base_hash, created_at, updated_at, deleted_at,
               workspace, base_messages, messages)
             SELECT ?2, owner, ?3, ?4, ?5, created_at, created_at, ?6, workspace, 0, 0 FROM sessions WHERE id = ?1
             RETURNING id",
        )?
        .query_row(
            params![row, name, int(part.after_seq), base, &part.base_hash[..], now().0],
            |row| row.get(0),
        )?;
    put(connection, ancestor, checked)?;
    Ok(SessionRange {
        session: ancestor,
        id: name,
        base_hash: part.base_hash,
        after: part.after_seq,
        upto: part.upto_seq,
    })
}

/// Removes the cost of shared events: it belongs to the session that they come from.
fn forget_spent(connection: &Connection, row: i64, at_seq: u64) -> Result<(), Fault> {
    connection
        .prepare_cached("DELETE FROM spent WHERE session = ?1 AND seq <= ?2")?
        .execute([row, int(at_seq)])?;
    connection
        .prepare_cached("DELETE FROM estimated WHERE session = ?1 AND seq <= ?2")?
        .execute([row, int(at_seq)])?;
    connection
        .prepare_cached("DELETE FROM unpriced WHERE session = ?1 AND seq <= ?2")?
        .execute([row, int(at_seq)])?;
    connection
        .prepare_cached(
            "UPDATE sessions SET (input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, cost)
               = (SELECT coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0),
                   coalesce(sum(cache_read_tokens), 0), coalesce(sum(cache_write_tokens), 0),
                   coalesce(sum(reasoning_tokens), 0), coalesce(sum(cost), 0) FROM spent WHERE session = ?1)
             WHERE id = ?1",
        )?
        .execute([row])?;
    Ok(())
}
