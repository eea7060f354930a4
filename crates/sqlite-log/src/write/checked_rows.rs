//! Verified rows of another log, and their storage in this one.

use agentx_runtime::{LogPart, LogRow};
use agentx_types::SessionId;
use rusqlite::Connection;

use crate::error::Fault;
use crate::rows::blobs::{self, EncodedBlobs};
use crate::rows::segment::NewRow;
use crate::write::append::insert;

/// Rows of one part that were found to be good, and the blobs that they name.
pub(crate) struct CheckedRows<'a> {
    pub(crate) part: &'a LogPart,
    pub(crate) rows: &'a [LogRow],
    pub(crate) named: EncodedBlobs,
}

/// Returns the error for rows that are refused.
pub(crate) fn refused(session: &SessionId, what: &str) -> Fault {
    Fault::Other(format!(
        "the fetched rows of session {session} are not taken: {what}. The local session stays unchanged"
    ))
}

/// Writes rows as they came.
pub(crate) fn put(connection: &Connection, session: i64, checked: &CheckedRows<'_>) -> Result<(), Fault> {
    for row in checked.rows {
        let row = NewRow {
            first_seq: row.first_seq,
            last_seq: row.last_seq,
            starts: row.starts,
            at: row.at.0,
            hash: row.hash,
            derived: row.derived,
            data: row.data.clone(),
            packs: false,
        };
        insert(connection, session, &row)?;
    }
    blobs::store_blobs(connection, session, &checked.named)
}
