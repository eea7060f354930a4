//! Sums of the ledger of costs, and the sizes of sessions on disk. Called by `SessionLog::usage` and
//! `SessionLog::stored`.
//!
//! The ledger has no times and no causes. The time of a cost is that of the row of facts that paid for the
//! call, and the cause is read from that fact.

use std::collections::{BTreeMap, HashMap};

use agentx_runtime::{Since, SpendCause, StoredSize, UsageBy, UsageQuery, UsageRow};
use agentx_types::{BlobId, NanoUsd, OwnerId, SessionId, Usage};
use rusqlite::{Connection, Row, params};

use crate::error::Fault;
use crate::keys::{LAST_SEQ, digest, int, key, session_row, unsigned};
use crate::read::facts;
use crate::rows::blobs::id_of;

/// Each paid call, with its session, model and time. A row of facts has the date of its last one.
const SPENT: &str = "
  SELECT session_id, title, seq, model, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens,
         reasoning_tokens, cost, at, date(at / 1000000, 'unixepoch', 'localtime'), session
  FROM (SELECT s.session_id, s.title, p.seq, p.model, p.input_tokens, p.output_tokens, p.cache_read_tokens,
               p.cache_write_tokens, p.reasoning_tokens, p.cost, p.session,
               (SELECT b.at FROM batches b WHERE b.id <= (p.session << 36) + p.seq ORDER BY b.id DESC LIMIT 1) AS at
        FROM spent p JOIN sessions s ON s.id = p.session WHERE s.owner = ?1 AND s.deleted_at IS NULL
          AND (?3 IS NULL OR s.session_id = ?3))
  WHERE at >= ?2";

/// The sum for one key, and its sort key.
struct GroupSum {
    row: UsageRow,
    last_at: i64,
}

/// Returns the sums of costs.
pub(crate) fn usage(connection: &Connection, query: &UsageQuery) -> Result<Vec<UsageRow>, Fault> {
    let since = begins(connection, query.since.as_ref())?;
    let mut statement = connection.prepare_cached(SPENT)?;
    let only = query.session.as_ref().map(SessionId::as_str);
    let mut rows = statement.query(params![query.owner.as_str(), since, only])?;
    let mut sums: HashMap<String, GroupSum> = HashMap::new();
    while let Some(row) = rows.next()? {
        let key = key_of(connection, query.by, row)?;
        let sum = sums.entry(key.clone()).or_insert_with(|| GroupSum::of(key));
        if query.by == UsageBy::Session {
            sum.row.title = Some(row.get(1)?);
        }
        sum.add(row)?;
        add_marks(
            connection,
            &mut sum.row.usage,
            row.get(12)?,
            Some(unsigned(row, 2)?),
        );
    }
    let mut sums: Vec<GroupSum> = sums.into_values().collect();
    sums.sort_by(|one, other| {
        let (a, b) = (&one.row, &other.row);
        match query.by {
            UsageBy::Session => (other.last_at, &a.key).cmp(&(one.last_at, &b.key)),
            UsageBy::Day | UsageBy::DayModel => a.key.cmp(&b.key),
            UsageBy::Model | UsageBy::Cause => {
                (b.cost, b.usage.context_tokens(), &a.key).cmp(&(a.cost, a.usage.context_tokens(), &b.key))
            }
        }
    });
    Ok(sums.into_iter().map(|sum| sum.row).collect())
}

impl GroupSum {
    fn of(key: String) -> Self {
        Self {
            row: UsageRow::new(key),
            last_at: i64::MIN,
        }
    }

    fn add(&mut self, row: &Row<'_>) -> Result<(), Fault> {
        self.row.calls += 1;
        let usage = Usage {
            input_tokens: unsigned(row, 4)?,
            output_tokens: unsigned(row, 5)?,
            cache_read_tokens: unsigned(row, 6)?,
            cache_write_tokens: unsigned(row, 7)?,
            reasoning_tokens: unsigned(row, 8)?,
            ..Usage::default()
        };
        let cost = NanoUsd(unsigned(row, 9)?);
        if cost.0 == 0 && usage != Usage::default() {
            self.row.unpriced_models.insert(row.get(3)?);
        }
        self.row.usage += usage;
        self.row.cost += cost;
        self.last_at = self.last_at.max(row.get(10)?);
        Ok(())
    }
}

/// Adds the tokens of a session, or of its fact `seq`, that are estimated or whose price is not fully known.
pub(crate) fn add_marks(connection: &Connection, usage: &mut Usage, session: i64, seq: Option<u64>) {
    let marked = |sum| marked_tokens(connection, sum, session, seq);
    usage.estimated_tokens += marked(
        "SELECT coalesce(sum(tokens), 0) FROM estimated WHERE session = ?1 AND (?2 IS NULL OR seq = ?2)",
    );
    usage.unpriced_tokens += marked(
        "SELECT coalesce(sum(tokens), 0) FROM unpriced WHERE session = ?1 AND (?2 IS NULL OR seq = ?2)",
    );
}

/// Returns this sum of tokens; 0 for an early, read-only database without the table.
fn marked_tokens(connection: &Connection, sum: &str, session: i64, seq: Option<u64>) -> u64 {
    let found = connection.prepare_cached(sum).and_then(|mut statement| {
        statement.query_row(params![session, seq.map(int)], |row| unsigned(row, 0))
    });
    found.unwrap_or_default()
}

/// The first microsecond that counts.
fn begins(connection: &Connection, since: Option<&Since>) -> Result<i64, Fault> {
    match since {
        None => Ok(i64::MIN),
        Some(Since::At(at)) => Ok(at.0),
        Some(Since::Day(day)) => {
            let seconds: Option<i64> =
                connection.query_row("SELECT unixepoch(?1, 'utc')", [day], |row| row.get(0))?;
            let seconds = seconds.ok_or_else(|| Fault::Other(format!("there is no day {day:?}")))?;
            Ok(seconds.saturating_mul(1_000_000))
        }
    }
}

fn key_of(connection: &Connection, by: UsageBy, row: &Row<'_>) -> Result<String, Fault> {
    Ok(match by {
        UsageBy::Session => row.get(0)?,
        UsageBy::Model => row.get(3)?,
        UsageBy::Day => row.get(11)?,
        UsageBy::DayModel => {
            let (day, model): (String, String) = (row.get(11)?, row.get(3)?);
            format!("{day} {model}")
        }
        UsageBy::Cause => {
            let session = SessionId::new(row.get_ref(0)?.as_str().unwrap_or_default());
            let seq = unsigned(row, 2)?;
            let paid = facts(connection, &session, seq.saturating_sub(1), 1)?.pop();
            // An unreadable fact counts as an answer.
            let cause = paid.map_or(SpendCause::Answer, |fact| SpendCause::of(&fact.event));
            cause.words().to_owned()
        }
    })
}

/// The sessions of an owner, and deleted ones whose events their forks share: they stay on the disk for
/// these.
const OWNED: &str = "
  WITH RECURSIVE needed(id) AS (
    SELECT id FROM sessions WHERE owner = ?1 AND deleted_at IS NULL
    UNION SELECT s.base FROM sessions s JOIN needed n ON s.id = n.id WHERE s.base IS NOT NULL)
  SELECT s.id FROM needed n JOIN sessions s ON s.id = n.id WHERE s.owner = ?1 OR s.deleted_at IS NOT NULL";

/// Returns the row of a session, or those of all sessions of an owner with what they share with deleted ones.
fn rows_of(connection: &Connection, owner: &OwnerId, session: Option<&SessionId>) -> Result<Vec<i64>, Fault> {
    Ok(match session {
        Some(session) => vec![session_row(connection, session)?],
        None => connection
            .prepare_cached(OWNED)?
            .query_map([owner.as_str()], |row| row.get(0))?
            .collect::<Result<_, _>>()?,
    })
}

/// Returns the blobs that a session names, or all sessions of an owner, with their sizes.
pub(crate) fn blobs(
    connection: &Connection,
    owner: &OwnerId,
    session: Option<&SessionId>,
) -> Result<BTreeMap<BlobId, u64>, Fault> {
    let mut found = BTreeMap::new();
    for row in rows_of(connection, owner, session)? {
        let mut query = connection.prepare_cached(
            "SELECT b.hash, b.size FROM blob_refs r JOIN blobs b ON b.hash = r.hash WHERE r.session = ?1",
        )?;
        let mut named = query.query([row])?;
        while let Some(blob) = named.next()? {
            if let Some(hash) = digest(blob, 0)? {
                found.insert(id_of(&hash), unsigned(blob, 1)?);
            }
        }
    }
    Ok(found)
}

/// Returns the stored size of a session, or of all sessions of an owner with what they share with deleted
/// ones.
pub(crate) fn stored(
    connection: &Connection,
    owner: &OwnerId,
    session: Option<&SessionId>,
) -> Result<StoredSize, Fault> {
    let rows = rows_of(connection, owner, session)?;
    let mut size = StoredSize::default();
    for row in &rows {
        size.facts += connection
            .prepare_cached("SELECT coalesce(sum(length(data)), 0) FROM batches WHERE id BETWEEN ?1 AND ?2")?
            .query_row([key(*row, 0), key(*row, LAST_SEQ)], |row| unsigned(row, 0))?;
        let (blobs, bytes) = connection
            .prepare_cached(
                "SELECT count(*), coalesce(sum(b.size), 0) FROM blob_refs r JOIN blobs b ON b.hash = r.hash
                 WHERE r.session = ?1",
            )?
            .query_row([row], |row| Ok((unsigned(row, 0)?, unsigned(row, 1)?)))?;
        size.blobs += blobs;
        size.blob_bytes += bytes;
    }
    let pages: u64 = connection.pragma_query_value(None, "page_count", |row| unsigned(row, 0))?;
    let page: u64 = connection.pragma_query_value(None, "page_size", |row| unsigned(row, 0))?;
    size.database = Some(pages * page);
    Ok(size)
}
