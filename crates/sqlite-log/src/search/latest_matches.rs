//! A search for prefixes that most messages contain. The index would gather every message of every such word
//! before it returns the latest: hundreds of milliseconds for a gigabyte. So the latest messages are put into
//! a separate index in memory, which gets the same query. Called by `search/mod.rs`.
//!
//! A prefix that many old messages have but few of the latest is left to the main index: that is slow, but
//! correct.

use rusqlite::{Connection, OptionalExtension as _, Rows, params};

use crate::error::Fault;
use crate::keys::int;
use crate::search::search_matches::{CandidateMessage, MATCHING, SearchMatch, SearchTerms, in_a_row};
use crate::search_words::{indexed_form, match_expression};

/// The number of messages below which the index collects all of them quickly.
const MANY: i64 = 20_000;
/// Number of all messages among which the latest ones of an owner are searched.
const AMONG: i64 = 5_000;
/// The number of messages that are examined in one step.
const STEP: usize = 64;
/// A beginning is frequent if one in this number of the latest messages has it.
const ONE_IN: usize = 8;
/// More than these are not looked at: messages, and bytes of text.
const MESSAGES: usize = 512;
const BYTES: usize = 2 << 20;

/// The latest messages of an owner; CROSS JOIN so that they are walked in this order, not sorted.
const LATEST: &str = "SELECT s.session_id, m.seq, m.role, m.agent_state_id, m.preview
    FROM messages m CROSS JOIN sessions s ON s.id = m.session
    WHERE m.id > ?2 AND s.owner = ?1 AND s.deleted_at IS NULL ORDER BY m.id DESC";

/// The latest messages that have all the pieces, if some of the pieces are beginnings that most messages
/// have; `None` if the index has to be searched. There are fewer than `limit` only if there are no more.
pub(crate) fn search(
    wanted: SearchTerms<'_>,
    pieces: &[String],
    more: &str,
    limit: usize,
) -> Result<Option<Vec<SearchMatch>>, Fault> {
    if !pieces
        .iter()
        .any(|piece| match_expression(piece, more).ends_with('*'))
    {
        return Ok(None);
    }
    let SearchTerms {
        connection, owner, ..
    } = wanted;
    let last: Option<i64> = connection
        .prepare_cached("SELECT max(id) FROM messages")?
        .query_row([], |row| row.get(0))?;
    let Some(last) = last.filter(|last| *last > MANY) else {
        return Ok(None);
    };
    let mut statement = connection.prepare_cached(LATEST)?;
    let mut latest = statement.query(params![owner.as_str(), last - AMONG])?;
    let mut sample = LatestMessages::new(connection)?;
    if sample.take(connection, &mut latest)? < STEP {
        return Ok(None);
    }
    let rest = sample.rest(pieces, more)?;
    match rest {
        None => Ok(None),
        Some(rest) if rest.is_empty() => {
            Ok(walk(wanted, sample, &mut latest, limit)?.filter(|hits| hits.len() >= limit))
        }
        Some(rest) => {
            let mut statement =
                connection.prepare_cached(&format!("{MATCHING} words.rowid DESC LIMIT ?3"))?;
            let mut having = statement.query(params![rest, owner.as_str(), int((MESSAGES + STEP) as u64)])?;
            walk(wanted, LatestMessages::new(connection)?, &mut having, limit)
        }
    }
}

/// Reads `rows` until there are enough hits or no more rows; `None` if that takes too many of them.
fn walk(
    wanted: SearchTerms<'_>,
    mut apart: LatestMessages,
    rows: &mut Rows<'_>,
    limit: usize,
) -> Result<Option<Vec<SearchMatch>>, Fault> {
    loop {
        let found = apart.matching(wanted.expression, limit)?;
        let is_full = apart.messages.len() >= MESSAGES || apart.bytes >= BYTES;
        if found.len() < limit && is_full {
            return Ok(None);
        }
        if found.len() >= limit || apart.take(wanted.connection, rows)? == 0 {
            let hits = found.into_iter().filter_map(|at| apart.messages.get(at));
            let hits = hits.filter_map(|(place, text)| place.hit(text, wanted.words));
            return Ok(Some(hits.collect()));
        }
    }
}

/// Messages, the latest first, and an index of their words.
struct LatestMessages {
    index: Connection,
    messages: Vec<(CandidateMessage, String)>,
    bytes: usize,
}

impl LatestMessages {
    /// None yet, with an index as the database has it.
    fn new(connection: &Connection) -> Result<Self, Fault> {
        let table: Option<String> = connection
            .prepare_cached("SELECT sql FROM sqlite_schema WHERE name = 'words'")?
            .query_row([], |row| row.get(0))
            .optional()?;
        let index = Connection::open_in_memory()?;
        // Never committed: it is gone with the search.
        index.execute_batch("BEGIN")?;
        index.execute_batch(&table.unwrap_or_default())?;
        Ok(Self {
            index,
            messages: Vec::new(),
            bytes: 0,
        })
    }

    /// Adds the next messages. Returns their number.
    fn take(&mut self, connection: &Connection, rows: &mut Rows<'_>) -> Result<usize, Fault> {
        let before = self.messages.len();
        let mut insert = self
            .index
            .prepare_cached("INSERT INTO words (rowid, text) VALUES (?1, ?2)")?;
        while self.messages.len() < before + STEP && self.bytes < BYTES {
            let Some(row) = rows.next()? else {
                break;
            };
            let place = CandidateMessage::of(row)?;
            let text = place.text(connection);
            self.bytes += text.len();
            insert.execute(params![int(self.messages.len() as u64), indexed_form(&text)])?;
            self.messages.push((place, text));
        }
        Ok(self.messages.len() - before)
    }

    /// Returns the query without frequent prefixes; `None` if there is none. If the last word of a phrase is
    /// a frequent prefix, the words before it are kept.
    fn rest(&self, pieces: &[String], more: &str) -> Result<Option<String>, Fault> {
        let is_frequent = |asked: &str| -> Result<bool, Fault> {
            Ok(asked.ends_with('*') && self.matching(asked, STEP)?.len() >= STEP / ONE_IN)
        };
        let mut rest = Vec::new();
        let mut is_less = false;
        for piece in pieces {
            let asked = match_expression(piece, more);
            let in_a_row = in_a_row(piece);
            if is_frequent(&asked)? {
                is_less = true;
            } else if let Some((before, last)) = in_a_row
                && is_frequent(&match_expression(last, more))?
            {
                is_less = true;
                rest.push(match_expression(before, ""));
            } else {
                rest.push(asked);
            }
        }
        Ok(is_less.then(|| rest.join(" AND ")))
    }

    /// Returns the matching ones, the latest first.
    fn matching(&self, expression: &str, limit: usize) -> Result<Vec<usize>, Fault> {
        let mut statement = self
            .index
            .prepare_cached("SELECT rowid FROM words WHERE words MATCH ?1 ORDER BY rowid LIMIT ?2")?;
        let rows = statement.query_map(params![expression, int(limit as u64)], |row| row.get(0))?;
        let rows = rows.collect::<Result<Vec<i64>, _>>()?;
        Ok(rows
            .into_iter()
            .filter_map(|row| usize::try_from(row).ok())
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use agentx_types::OwnerId;

    use super::*;
    use crate::search;

    /// Messages of which all have words that begin with `con`, every hundredth `quark`, and the oldest
    /// `conifers`. Every third session is another one's or deleted.
    fn filled(messages: i64) -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch(include_str!("../database/schema.sql"))
            .unwrap();
        connection.execute_batch("BEGIN").unwrap();
        for (session, owner, deleted) in [(1, "me", None), (2, "another", None), (3, "me", Some(1))] {
            let sql = "INSERT INTO sessions (id, session_id, owner, at_seq, base_hash, created_at, updated_at, deleted_at,
                         workspace, base_messages, messages) VALUES (?1, 'ses_' || ?1, ?2, 0, x'', 0, 0, ?3, '', 0, 0)";
            connection.execute(sql, params![session, owner, deleted]).unwrap();
        }
        for id in 1..=messages {
            let text = match id {
                1 => "conifers".to_owned(),
                id if id % 100 == 0 => format!("quark contains{} strong", id % 7),
                id => format!("contains{} weak", id % 7),
            };
            let sql = "INSERT INTO messages VALUES (?1, ?2, ?1, ?1, 'msg_' || ?1, 'agt_1', 'user', ?3)";
            let session = if id == 1 { 1 } else { id % 3 + 1 };
            let mut statement = connection.prepare_cached(sql).unwrap();
            statement.execute(params![id, session, text]).unwrap();
            crate::models::word_index::index(&connection, id, &text).unwrap();
        }
        connection.execute_batch("COMMIT").unwrap();
        connection
    }

    fn found(connection: &Connection, words: &str, limit: usize) -> Vec<u64> {
        let hits = search::search(connection, &OwnerId::new("me"), words, limit).unwrap();
        hits.iter().map(|hit| hit.seq).collect()
    }

    /// Returns the matches of the search by latest messages; `None` if it does not apply.
    fn apart(connection: &Connection, words: &str, limit: usize) -> Option<Vec<u64>> {
        let pieces: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let parts: Vec<String> = pieces.iter().map(|piece| match_expression(piece, "*")).collect();
        let wanted = SearchTerms {
            connection,
            owner: &OwnerId::new("me"),
            expression: &parts.join(" AND "),
            words,
        };
        let hits = search(wanted, &pieces, "*", limit).unwrap();
        hits.map(|hits| hits.iter().map(|found| found.hit.seq).collect())
    }

    #[test]
    fn frequent_beginnings_are_looked_for_in_the_latest_messages() {
        let last = MANY * 2;
        let connection = filled(last);
        let own = |id: &i64| id % 3 == 0;
        let latest: Vec<u64> = (1..=last)
            .rev()
            .filter(own)
            .take(150)
            .map(|id| id as u64)
            .collect();
        assert_eq!(apart(&connection, "con", 150).as_ref(), Some(&latest));
        assert_eq!(found(&connection, "con", 150), latest);
        assert_eq!(
            found(&connection, "con w", 10),
            apart(&connection, "con w", 10).unwrap()
        );
        // With a rare word, all messages that contain it are checked, including old ones.
        let rare: Vec<u64> = (1..=last)
            .rev()
            .filter(own)
            .filter(|id| id % 100 == 0)
            .map(|id| id as u64)
            .collect();
        assert_eq!(rare.len(), 133);
        assert_eq!(apart(&connection, "quark con", 500).as_ref(), Some(&rare));
        assert_eq!(found(&connection, "con quark", 5), rare[..5]);
        assert_eq!(found(&connection, "con conif", 5), [1]);
        // The same holds for words in a row.
        assert_eq!(apart(&connection, "quark/con", 500).as_ref(), Some(&rare));
        assert_eq!(found(&connection, "quark/con", 5), rare[..5]);
        assert_eq!(apart(&connection, "quark/str", 500), None);
        assert_eq!(apart(&connection, "strong/con", 500), Some(Vec::new()));
    }

    #[test]
    fn the_index_is_asked_for_what_is_rare_and_where_messages_are_few() {
        let connection = filled(MANY + 100);
        assert_eq!(apart(&connection, "conif", 5), None);
        assert_eq!(found(&connection, "conif", 5), [1]);
        assert_eq!(apart(&connection, "contains1 nothing", 5), Some(Vec::new()));
        assert_eq!(apart(&connection, "con", 1_000), None, "more than are looked at");
        assert_eq!(found(&connection, "con", 1_000).len(), 1_000);
        let few = filled(1_000);
        assert_eq!(apart(&few, "con", 5), None);
        assert_eq!(found(&few, "con", 5).len(), 5);
    }
}
