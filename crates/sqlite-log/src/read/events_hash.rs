//! The hash of a session's events up to one of them, which people keep outside of the database to notice
//! later that the log was rewritten. Called by `SessionLog::hash_at`.

use std::ops::ControlFlow;

use agentx_runtime::EventsHash;
use agentx_types::SessionId;
use rusqlite::Connection;

use crate::error::Fault;
use crate::keys::session_row;
use crate::read::{self, ChainStop, SessionRange};

/// Returns the hash of the events up to `seq`; `None` if the session has no such event.
pub(crate) fn hash_at(
    connection: &Connection,
    session: &SessionId,
    seq: u64,
) -> Result<Option<EventsHash>, Fault> {
    let row = session_row(connection, session)?;
    let parts = read::parts(connection, row)?;
    let Some(part) = parts.iter().rfind(|part| part.after < seq && seq <= part.upto) else {
        return Ok(None);
    };
    match of_part(connection, part, seq) {
        Ok(found) => Ok(found),
        Err(ChainStop::Fault(fault)) => Err(fault),
        Err(ChainStop::Damage(damage)) => Err(damage.error(session).into()),
    }
}

/// The hash up to an event of this part, and whether its segment has replaced events.
fn of_part(connection: &Connection, part: &SessionRange, seq: u64) -> Result<Option<EventsHash>, ChainStop> {
    let Some(hash) = read::hash_at(connection, part, seq)? else {
        return Ok(None);
    };
    let mut redacted = false;
    let _ = read::rows(connection, part, seq, |chain, row| {
        redacted |= row.redacted.is_some();
        Ok(if chain.last_seq >= seq {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        })
    })?;
    Ok(Some(EventsHash {
        hash: blake3::Hash::from_bytes(hash).to_hex().to_string(),
        redacted,
    }))
}
