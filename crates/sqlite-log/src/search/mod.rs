//! Full-text search over messages, in any language. Called by `SessionLog::search`.
//!
//! `search_words.rs` defines how words are indexed, `search_matches.rs` which part of a message is shown.

mod latest_matches;
mod search_matches;

use std::collections::BTreeSet;

use agentx_runtime::SearchHit;
use agentx_types::OwnerId;
use rusqlite::{Connection, params};

use crate::error::Fault;
use crate::keys::int;
use crate::search::search_matches::{CandidateMessage, MATCHING, SearchMatch, SearchTerms, in_a_row};
use crate::search_words::{match_expression, pieces};

/// If more messages than these have the words, they are not ranked: ranking needs the length of each, and
/// people usually look for recent messages.
const WEIGHED: usize = 1_000;
/// Factor by which more hits are searched if copies leave too few.
const MORE_FOR_COPIES: usize = 4;
/// Messages of the owner's sessions that have all the words, the best first; of very many the latest. A
/// message that is in several copies of a session is found once. If too few messages have the words
/// themselves, the words also count as prefixes.
pub(crate) fn search(
    connection: &Connection,
    owner: &OwnerId,
    words: &str,
    limit: usize,
) -> Result<Vec<SearchHit>, Fault> {
    let mut wanted = limit;
    loop {
        let found = with_copies(connection, owner, words, wanted)?;
        let is_all = found.len() < wanted || wanted >= WEIGHED.max(limit);
        let mut seen = BTreeSet::new();
        let mut hits: Vec<SearchHit> = found
            .into_iter()
            .filter(|found| seen.insert((found.agent.clone(), found.hit.seq, found.hit.snippet.clone())))
            .map(|found| found.hit)
            .collect();
        if is_all || hits.len() >= limit {
            hits.truncate(limit);
            return Ok(hits);
        }
        wanted = (wanted * MORE_FOR_COPIES).min(WEIGHED.max(limit));
    }
}

/// The same, but a message counts once for each session that has it.
fn with_copies(
    connection: &Connection,
    owner: &OwnerId,
    words: &str,
    limit: usize,
) -> Result<Vec<SearchMatch>, Fault> {
    let pieces = pieces(words);
    let is_row = pieces.iter().any(|piece| in_a_row(piece).is_some());
    let whole = expression(&pieces, "").filter(|_| !is_row);
    let begun = expression(&pieces, "*").filter(|begun| whole.as_ref() != Some(begun));
    let passes = whole.map(|whole| (whole, "")).into_iter();
    let mut passes = passes.chain(begun.map(|begun| (begun, "*"))).peekable();
    let mut hits = Vec::new();
    while let Some((expression, more)) = passes.next() {
        let wanted = SearchTerms {
            connection,
            owner,
            expression: &expression,
            words,
        };
        hits = match latest_matches::search(wanted, &pieces, more, limit)? {
            Some(hits) => hits,
            None if is_row => latest(wanted, limit)?.1,
            None => weighed(wanted, limit, passes.peek().is_none())?,
        };
        if hits.len() >= limit {
            break;
        }
    }
    Ok(hits)
}

/// The best messages. If there are very many, or too few in a search that is not the last, the latest ones.
fn weighed(wanted: SearchTerms<'_>, limit: usize, is_last: bool) -> Result<Vec<SearchMatch>, Fault> {
    let (count, hits) = latest(wanted, limit)?;
    let is_worth_it = count > 0 && (count >= limit || is_last);
    if is_worth_it && count <= WEIGHED.max(limit) {
        best(wanted, limit)
    } else {
        Ok(hits)
    }
}

/// The number of messages, at most one more than are ranked, and the latest of them.
fn latest(wanted: SearchTerms<'_>, limit: usize) -> Result<(usize, Vec<SearchMatch>), Fault> {
    let sql = format!("{MATCHING} words.rowid DESC LIMIT ?3");
    let mut statement = wanted.connection.prepare_cached(&sql)?;
    let most = int(WEIGHED.max(limit) as u64 + 1);
    let mut rows = statement.query(params![wanted.expression, wanted.owner.as_str(), most])?;
    let (mut places, mut count) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        count += 1;
        if places.len() < limit {
            places.push(CandidateMessage::of(row)?);
        }
    }
    let hits = places.iter().filter_map(|place| place.found(wanted));
    Ok((count, hits.collect()))
}

/// The most relevant messages first (BM25); of equal ones the latest.
fn best(wanted: SearchTerms<'_>, limit: usize) -> Result<Vec<SearchMatch>, Fault> {
    let sql = format!("{MATCHING} words.rank, words.rowid DESC LIMIT ?3");
    let mut statement = wanted.connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params![
        wanted.expression,
        wanted.owner.as_str(),
        int(limit as u64)
    ])?;
    let mut hits = Vec::new();
    while let Some(row) = rows.next()? {
        hits.extend(CandidateMessage::of(row)?.found(wanted));
    }
    Ok(hits)
}

/// Returns the FTS5 query that requires every piece.
fn expression(pieces: &[String], more: &str) -> Option<String> {
    let parts: Vec<String> = pieces.iter().map(|piece| match_expression(piece, more)).collect();
    (!parts.is_empty()).then(|| parts.join(" AND "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_quoted() {
        let asked = |words: &str, more: &str| expression(&pieces(words), more);
        assert_eq!(asked("会话日志", "*").as_deref(), Some("\"会话 话日 日志\""));
        assert_eq!(
            asked("志 foo::bar \"x", "*").as_deref(),
            Some("\"志\"* AND \"foo::bar\"* AND \"x\"*")
        );
        assert_eq!(asked("志 foo", "").as_deref(), Some("\"志\"* AND \"foo\""));
        assert_eq!(asked(" \" -- ", "*"), None);
        assert_eq!(asked("log会话", "*").as_deref(), Some("\"log\"* AND \"会话\""));
    }
}
