//! Packs the rows of an earlier writer's segment, which no longer changes. Called when a session gets a new
//! writer.

use std::ops::ControlFlow;

use agentx_runtime::Digest;
use rusqlite::Connection;

use crate::error::Fault;
use crate::keys::last_row;
use crate::read::{self, ChainStop};
use crate::rows::segment::NewRow;
use crate::write::append::insert;

/// Packs the rows of a session's last segment into one. A reader gets the same facts as before. Damaged rows
/// are not touched, so that good ones before them stay readable.
pub(crate) fn pack_last_segment(connection: &Connection, session: i64) -> Result<(), Fault> {
    let Some((last_seq, ..)) = last_row(connection, session)? else {
        return Ok(());
    };
    let parts = read::parts(connection, session)?;
    let Some(own) = parts.last() else { return Ok(()) };
    let mut count = 0;
    let mut packed = NewRow {
        first_seq: 0,
        last_seq,
        starts: true,
        at: 0,
        hash: Digest::default(),
        derived: None,
        data: Vec::new(),
        packs: true,
    };
    let walked = read::rows(connection, own, last_seq, |chain, row| {
        if count == 0 {
            packed.first_seq = row.first_seq;
        }
        count += 1;
        packed.last_seq = chain.last_seq;
        packed.at = row.at;
        packed.hash = chain.head;
        packed.derived = row.derived;
        packed.data.extend_from_slice(row.data);
        Ok(ControlFlow::Continue(()))
    });
    match walked {
        Ok(_) if count > 1 => insert(connection, session, &packed),
        Ok(_) | Err(ChainStop::Damage(_)) => Ok(()),
        Err(ChainStop::Fault(fault)) => Err(fault),
    }
}
