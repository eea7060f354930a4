//! Replaces facts of sessions, because a text in them has to go. Called by `SessionLog::redact`, on the
//! writing thread.
//!
//! Everything happens in one transaction: the segments that hold the facts are rewritten, blobs that nothing
//! else names are removed, the read models get the present words, and each session that shares the events
//! gets the record. A process that dies in between has changed nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use agentx_runtime::{Digest, Fact, RedactedSession, Redaction, RedactionPlan};
use agentx_types::{EnvironmentEvent, RedactedSegment, SessionId};
use rusqlite::{Connection, params};

use crate::error::Fault;
use crate::keys::{LAST_SEQ, int, session_row};
use crate::models::reworded;
use crate::read::{self, ChainStop, SessionRange};
use crate::rows::blobs::{self, EncodedBlobs, find_references};
use crate::rows::codec::StoredBody;
use crate::write::append::{insert, load};
use crate::write::rewritten::{RewrittenSegment, rewritten};
use crate::write::writer::WriterState;

/// Returns the changes that a redaction would make.
pub(crate) fn plan(
    connection: &Connection,
    session: &SessionId,
    facts: &[Fact],
) -> Result<RedactionPlan, Fault> {
    let row = session_row(connection, session)?;
    let segments = rewritten(connection, session, row, facts)?;
    let mut sessions = readers(connection, &segments)?;
    if !sessions.contains(session) {
        sessions.push(session.clone());
    }
    Ok(RedactionPlan {
        segments: records_of(&segments),
        sessions,
    })
}

/// Replaces the facts.
pub(crate) fn redact(core: &mut WriterState, redaction: &Redaction) -> Result<(), Fault> {
    for changed in &redaction.sessions {
        let facts = changed
            .record
            .as_ref()
            .map_or(&[][..], |batch| batch.facts.as_slice());
        core.admit(&changed.session_id, changed.epoch, facts)?;
    }
    core.transaction(|connection| {
        // Deleted content is overwritten.
        connection.pragma_update(None, "secure_delete", true)?;
        let done = replace(connection, redaction);
        connection.pragma_update(None, "secure_delete", "FAST")?;
        done
    })?;
    // They are loaded again with the next append.
    for changed in &redaction.sessions {
        core.sessions.remove(&changed.session_id);
    }
    Ok(())
}

fn replace(connection: &Connection, redaction: &Redaction) -> Result<(), Fault> {
    let row = session_row(connection, &redaction.session_id)?;
    let segments = rewritten(connection, &redaction.session_id, row, &redaction.facts)?;
    check_records(redaction, &records_of(&segments))?;
    let mut unnamed = BTreeSet::new();
    for segment in &segments {
        insert(connection, segment.holder, &segment.row)?;
        blobs::store_blobs(connection, segment.holder, &segment.named)?;
        let now: BTreeSet<Digest> = segment.named.references.iter().map(|(_, hash)| *hash).collect();
        unnamed.extend(
            segment
                .named_before
                .difference(&now)
                .map(|hash| (segment.holder, *hash)),
        );
    }
    forget_unnamed(connection, &unnamed)?;
    let mut gone: BTreeSet<Digest> = unnamed.iter().map(|(_, hash)| *hash).collect();
    gone.extend(drop_blobs(connection, row, redaction)?);
    for changed in &redaction.sessions {
        change(connection, changed)?;
    }
    for hash in gone {
        connection
            .prepare_cached(
                "DELETE FROM blobs WHERE hash = ?1 AND NOT EXISTS (SELECT 1 FROM blob_refs WHERE hash = ?1)",
            )?
            .execute([&hash[..]])?;
    }
    Ok(())
}

fn records_of(segments: &[RewrittenSegment]) -> Vec<RedactedSegment> {
    segments.iter().map(|segment| segment.record.clone()).collect()
}

/// A record says what is replaced, or a check would not accept it: a fork may have been made since it was
/// planned.
fn check_records(redaction: &Redaction, segments: &[RedactedSegment]) -> Result<(), Fault> {
    let batches = redaction
        .sessions
        .iter()
        .filter_map(|changed| changed.record.as_ref());
    let mut facts = batches.flat_map(|batch| &batch.facts);
    let is_other = facts.any(|fact| match &fact.event {
        EnvironmentEvent::SessionRedacted(recorded) => recorded.segments != segments,
        _ => true,
    });
    if is_other {
        return Err(Fault::Other(format!(
            "session {} changed meanwhile, for example by a fork; nothing was redacted: try again",
            redaction.session_id
        )));
    }
    Ok(())
}

/// The sessions, except deleted ones, that have events of these segments.
fn readers(connection: &Connection, segments: &[RewrittenSegment]) -> Result<Vec<SessionId>, Fault> {
    let holders: BTreeSet<i64> = segments.iter().map(|segment| segment.holder).collect();
    let mut statement = connection
        .prepare_cached("SELECT id, session_id, base FROM sessions WHERE deleted_at IS NULL ORDER BY id")?;
    let rows = statement.query_map([], |row| {
        let (row, id, base) = (
            row.get::<_, i64>(0)?,
            row.get::<_, String>(1)?,
            row.get::<_, Option<i64>>(2)?,
        );
        Ok((row, id, base.is_some()))
    })?;
    let all = rows.collect::<Result<Vec<_>, _>>()?;
    let mut found = Vec::new();
    for (row, id, is_fork) in all {
        if !is_fork && !holders.contains(&row) {
            continue;
        }
        let parts = read::parts(connection, row)?;
        let has_some = |segment: &RewrittenSegment| {
            let holder = parts.iter().find(|part| part.session == segment.holder);
            holder.is_some_and(|part| segment.record.first_seq <= part.upto)
        };
        if segments.iter().any(has_some) {
            found.push(SessionId::new(id));
        }
    }
    Ok(found)
}

/// Removes or corrects the references to blobs that replaced events named and that their replacements do not
/// name.
fn forget_unnamed(connection: &Connection, unnamed: &BTreeSet<(i64, Digest)>) -> Result<(), Fault> {
    let holders: BTreeSet<i64> = unnamed.iter().map(|(holder, _)| *holder).collect();
    for holder in holders {
        let hashes: BTreeSet<Digest> = unnamed
            .iter()
            .filter(|(of, _)| *of == holder)
            .map(|(_, hash)| *hash)
            .collect();
        let still = named_by_others(connection, holder, &hashes)?;
        for hash in &hashes {
            match still.get(hash) {
                Some(seq) => connection
                    .prepare_cached("UPDATE blob_refs SET seq = ?3 WHERE session = ?1 AND hash = ?2")?
                    .execute(params![holder, &hash[..], int(*seq)])?,
                None => connection
                    .prepare_cached("DELETE FROM blob_refs WHERE session = ?1 AND hash = ?2")?
                    .execute(params![holder, &hash[..]])?,
            };
        }
    }
    Ok(())
}

/// Returns which of these blobs a session's own events name, and the first event of each.
fn named_by_others(
    connection: &Connection,
    holder: i64,
    hashes: &BTreeSet<Digest>,
) -> Result<BTreeMap<Digest, u64>, Fault> {
    let mut found = BTreeMap::new();
    let Some(own) = read::parts(connection, holder)?.pop() else {
        return Ok(found);
    };
    let whole = SessionRange {
        upto: LAST_SEQ,
        ..own
    };
    let walked = read::rows(connection, &whole, whole.after + 1, |chain, row| {
        read::events(chain, &row, |seq, _, body, _| {
            let mut note = |hash: Digest| {
                if hashes.contains(&hash) {
                    found.entry(hash).or_insert(seq);
                }
            };
            match body {
                StoredBody::Inline { payload, .. } => find_references(payload.as_bytes(), note),
                StoredBody::InBlob { hash, .. } => {
                    note(*hash);
                    let payload = read::blob_payload(connection, hash, seq)?;
                    find_references(payload.as_bytes(), note);
                }
                StoredBody::Text(_) | StoredBody::Thinking(_) => {}
            }
            Ok(ControlFlow::Continue(()))
        })
    });
    match walked {
        Ok(_) => Ok(found),
        Err(ChainStop::Fault(fault)) => Err(fault),
        Err(ChainStop::Damage(damage)) => Err(damage.error(&SessionId::new(whole.name())).into()),
    }
}

/// Takes the blobs of which nothing is to be left from the sessions. Returns their hashes.
fn drop_blobs(connection: &Connection, row: i64, redaction: &Redaction) -> Result<Vec<Digest>, Fault> {
    let hashes: Vec<Digest> = redaction.dropped.iter().filter_map(blobs::hash_of).collect();
    let mut rows: BTreeSet<i64> = BTreeSet::new();
    rows.extend(read::parts(connection, row)?.iter().map(|part| part.session));
    for changed in &redaction.sessions {
        rows.insert(session_row(connection, &changed.session_id)?);
    }
    for hash in &hashes {
        for row in &rows {
            connection
                .prepare_cached("DELETE FROM blob_refs WHERE session = ?1 AND hash = ?2")?
                .execute(params![row, &hash[..]])?;
        }
    }
    Ok(hashes)
}

/// Gives a session its present words, and appends the record.
fn change(connection: &Connection, changed: &RedactedSession) -> Result<(), Fault> {
    let row = session_row(connection, &changed.session_id)?;
    reworded::reword(connection, row, &changed.messages, changed.title.as_deref())?;
    let Some(batch) = &changed.record else {
        return Ok(());
    };
    let mut tail = load(connection, row, changed.epoch)?.tail;
    let mut named = EncodedBlobs::default();
    for row_of_record in tail.extend(&batch.facts, batch.derived, &mut named) {
        insert(connection, row, &row_of_record)?;
    }
    blobs::store_blobs(connection, row, &named)
}
