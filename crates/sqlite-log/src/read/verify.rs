//! Checks every stored byte of a session: order, hashes, records, blobs. Called by `SessionLog::verify`.
//!
//! Damage is reported as text, with the first event that cannot be trusted; nothing is changed.

use std::ops::ControlFlow;

use agentx_runtime::{Digest, VerifyReport};
use agentx_types::{EnvironmentEvent, SessionId};
use rusqlite::Connection;

use crate::error::Fault;
use crate::keys::{digest, int, last_row, session_row, unsigned};
use crate::read::redactions::{MarkedSegment, OtherBase, RedactionsFound};
use crate::read::{self, ChainStop, Damage, SessionRange};
use crate::rows::blobs;
use crate::rows::codec::StoredBody;
use crate::rows::segment::base_hash;

/// Checks a session and the events that it shares with others.
pub(crate) fn verify(connection: &Connection, session: &SessionId) -> Result<VerifyReport, Fault> {
    let row = session_row(connection, session)?;
    let parts = read::parts(connection, row)?;
    let mut findings = VerifyFindings::default();
    let mut last_seq = 0;
    let mut head = Digest::default();
    let mut shared: Option<Digest> = None;
    let mut holder = None;
    let mut redactions = RedactionsFound::default();
    for (index, part) in parts.iter().enumerate() {
        if part.upto <= part.after && index + 1 < parts.len() {
            continue;
        }
        if compare_base(connection, part, shared, &mut findings)? {
            redactions.bases.push(OtherBase {
                part: part.clone(),
                holder: holder.take(),
            });
        }
        (last_seq, head) = check_part(connection, part, &mut findings, &mut redactions)?;
        holder = Some(part.clone());
        check_references(connection, part, &mut findings)?;
        shared = match parts.get(index + 1) {
            Some(next) => tolerate(
                read::hash_at(connection, part, next.after.min(part.upto)),
                &mut findings,
            )?
            .flatten(),
            None => None,
        };
    }
    check_read_models(connection, row, last_seq, &mut findings)?;
    let (redacted_events, unexplained) = redactions.compared(connection)?;
    unexplained.into_iter().for_each(|damage| findings.add(damage));
    Ok(VerifyReport {
        session_id: session.clone(),
        good_events: findings
            .first_bad
            .map_or(last_seq, |seq| seq.saturating_sub(1).min(last_seq)),
        last_seq,
        head: blake3::Hash::from_bytes(head).to_hex().to_string(),
        problems: findings.problems,
        redacted_events,
    })
}

#[derive(Default)]
struct VerifyFindings {
    first_bad: Option<u64>,
    problems: Vec<String>,
}

impl VerifyFindings {
    fn add(&mut self, damage: Damage) {
        self.first_bad = Some(self.first_bad.map_or(damage.seq, |seq| seq.min(damage.seq)));
        let problem = format!("event {}: {}", damage.seq, damage.what);
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }
}

/// Damage is a finding; anything else ends the check.
fn tolerate<T>(result: Result<T, ChainStop>, findings: &mut VerifyFindings) -> Result<Option<T>, Fault> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(ChainStop::Fault(fault)) => Err(fault),
        Err(ChainStop::Damage(damage)) => {
            findings.add(damage);
            Ok(None)
        }
    }
}

/// Compares the beginning of a chain with the hash of its session's id and the shared events, and adds shared
/// events that are missing to the findings. Returns whether the beginning is another one.
fn compare_base(
    connection: &Connection,
    part: &SessionRange,
    shared: Option<Digest>,
    findings: &mut VerifyFindings,
) -> Result<bool, Fault> {
    let is_fork: bool = connection
        .prepare_cached("SELECT base IS NOT NULL FROM sessions WHERE id = ?1")?
        .query_row([part.session], |row| row.get(0))?;
    if is_fork && shared.is_none() {
        let what = "the events that it follows are missing or damaged".to_owned();
        findings.add(Damage {
            seq: part.after + 1,
            what,
        });
        return Ok(false);
    }
    Ok(base_hash(part.name(), shared.as_ref()) != part.base_hash)
}

/// Checks the rows of a part. Returns their end.
fn check_part(
    connection: &Connection,
    part: &SessionRange,
    findings: &mut VerifyFindings,
    redactions: &mut RedactionsFound,
) -> Result<(u64, Digest), Fault> {
    let mut end = (part.after, part.base_hash);
    let walked = read::rows(connection, part, part.after + 1, |chain, row| {
        end = (chain.last_seq, chain.head);
        redactions
            .segments
            .extend(MarkedSegment::of(&row, chain.last_seq, part));
        read::events(chain, &row, |seq, decoder, body, _| {
            let payload = match body {
                StoredBody::InBlob { hash, .. } => Some(read::blob_payload(connection, hash, seq)?),
                _ => None,
            };
            let decoded = body
                .event(payload.as_deref())
                .map_err(|what| Damage { seq, what })?;
            if let EnvironmentEvent::SessionRedacted(record) = decoded.event {
                redactions.records.push(record);
            }
            decoder.context().map_err(|what| Damage { seq, what })?;
            Ok(ControlFlow::Continue(()))
        })
    });
    tolerate(walked, findings)?;
    if let Some((last_seq, _, hash)) = last_row(connection, part.session)?
        && last_seq > end.0
    {
        end = (last_seq, hash);
    }
    if end.0 < part.upto && part.upto != crate::keys::LAST_SEQ {
        let what = format!("events up to {} are missing", part.upto);
        findings.add(Damage { seq: end.0 + 1, what });
    }
    Ok((end.0.min(part.upto), end.1))
}

/// Checks that every blob that existed when an event named it still exists, and is unchanged.
fn check_references(
    connection: &Connection,
    part: &SessionRange,
    findings: &mut VerifyFindings,
) -> Result<(), Fault> {
    let mut statement = connection.prepare_cached(
        "SELECT seq, hash FROM blob_refs WHERE session = ?1 AND present = 1 AND seq <= ?2 ORDER BY seq",
    )?;
    let mut rows = statement.query([part.session, int(part.upto)])?;
    while let Some(row) = rows.next()? {
        let (seq, hash) = (unsigned(row, 0)?, digest(row, 1)?.unwrap_or_default());
        if let Some(what) = blobs::fault_of(connection, &hash)? {
            findings.add(Damage { seq, what });
        }
    }
    Ok(())
}

/// Read models never run ahead of the facts: if they do, the end of the log is missing.
fn check_read_models(
    connection: &Connection,
    session: i64,
    last_seq: u64,
    findings: &mut VerifyFindings,
) -> Result<(), Fault> {
    let known: u64 = connection
        .prepare_cached(
            "SELECT max (coalesce((SELECT max(seq) FROM messages WHERE session = ?1), 0),
                         coalesce((SELECT max(seq) FROM spent WHERE session = ?1), 0))",
        )?
        .query_row([session], |row| unsigned(row, 0))?;
    if known > last_seq {
        let what = format!("it is missing, as are all up to event {known} at least");
        findings.add(Damage {
            seq: last_seq + 1,
            what,
        });
    }
    Ok(())
}
