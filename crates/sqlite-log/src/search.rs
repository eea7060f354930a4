//! Full-text search over messages, in any language. Called by the writer when a message is projected, and by
//! `SessionLog::search`.
//!
//! `search_words.rs` says how words are indexed. The text itself is not stored again: the surroundings of a hit
//! are read from the facts.

use std::collections::BTreeSet;

use agentx_runtime::SearchHit;
use agentx_types::{AgentStateId, OwnerId, Role, SessionId};
use rusqlite::{Connection, Row, params};

use crate::error::Fault;
use crate::keys::{int, unsigned};
use crate::latest_matches;
use crate::message_text::text_of;
use crate::models::of_word;
use crate::search_words::{indexed_form, is_dense, match_expression, pieces};

/// If more messages than these have the words, they are not ranked: ranking needs the length of each, and
/// people usually look for recent messages.
const WEIGHED: usize = 1_000;
/// Factor by which more hits are searched if copies leave too few.
const MORE_FOR_COPIES: usize = 4;
/// The number of characters that are shown on each side of a hit.
const AROUND: usize = 60;

/// Adds the words of a message to the index.
pub(crate) fn index(connection: &Connection, message: i64, text: &str) -> Result<(), Fault> {
    connection
        .prepare_cached("DELETE FROM words WHERE rowid = ?1")?
        .execute([message])?;
    connection
        .prepare_cached("INSERT INTO words (rowid, text) VALUES (?1, ?2)")?
        .execute(params![message, indexed_form(text)])?;
    Ok(())
}

/// Indexes the latest messages of a session whose writer died before it did.
pub(crate) fn catch_up(connection: &Connection, session: &SessionId, row: i64) -> Result<(), Fault> {
    let mut statement = connection.prepare_cached(
        "SELECT m.id, m.seq, m.agent_state_id, m.preview,
           EXISTS (SELECT 1 FROM words_docsize d WHERE d.id = m.id)
         FROM messages m WHERE m.session = ?1 ORDER BY m.seq DESC, m.number DESC",
    )?;
    let mut rows = statement.query([row])?;
    while let Some(found) = rows.next()? {
        if found.get(4)? {
            return Ok(());
        }
        let agent = AgentStateId::new(found.get_ref(2)?.as_str().unwrap_or_default());
        let preview: String = found.get(3)?;
        let text = text_of(connection, session, &agent, unsigned(found, 1)?, &preview);
        index(connection, found.get(0)?, &text.unwrap_or(preview))?;
    }
    Ok(())
}

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

/// The scope, the owner, the query for the index, and the person's query.
#[derive(Clone, Copy)]
pub(crate) struct SearchTerms<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) owner: &'a OwnerId,
    pub(crate) expression: &'a str,
    pub(crate) words: &'a str,
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

/// Messages that match, of an owner, in an order that follows.
pub(crate) const MATCHING: &str = "SELECT s.session_id, m.seq, m.role, m.agent_state_id, m.preview
    FROM words JOIN messages m ON m.id = words.rowid JOIN sessions s ON s.id = m.session
    WHERE words MATCH ?1 AND s.owner = ?2 AND s.deleted_at IS NULL ORDER BY";

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

/// A hit, and its author. Ids of agents are random, so two sessions with the same agent at the same event are
/// copies.
#[derive(Debug)]
pub(crate) struct SearchMatch {
    agent: AgentStateId,
    pub(crate) hit: SearchHit,
}

/// A message that may have the words.
pub(crate) struct CandidateMessage {
    session_id: SessionId,
    seq: u64,
    role: Option<Role>,
    agent: AgentStateId,
    preview: String,
}

impl CandidateMessage {
    pub(crate) fn of(row: &Row<'_>) -> Result<Self, Fault> {
        Ok(Self {
            session_id: SessionId::new(row.get_ref(0)?.as_str().unwrap_or_default()),
            seq: unsigned(row, 1)?,
            role: of_word(row.get(2)?),
            agent: AgentStateId::new(row.get_ref(3)?.as_str().unwrap_or_default()),
            preview: row.get(4)?,
        })
    }

    /// Returns the text there, from the facts if they are readable.
    pub(crate) fn text(&self, connection: &Connection) -> String {
        let text = text_of(connection, &self.session_id, &self.agent, self.seq, &self.preview);
        text.filter(|text| !text.is_empty())
            .unwrap_or_else(|| self.preview.clone())
    }

    fn found(&self, wanted: SearchTerms<'_>) -> Option<SearchMatch> {
        self.hit(&self.text(wanted.connection), wanted.words)
    }

    /// Returns the hit with the words in its text, and their surroundings.
    pub(crate) fn hit(&self, text: &str, words: &str) -> Option<SearchMatch> {
        let hit = SearchHit {
            session_id: self.session_id.clone(),
            seq: self.seq,
            role: self.role?,
            snippet: snippet(text, words),
        };
        Some(SearchMatch {
            agent: self.agent.clone(),
            hit,
        })
    }
}

/// Returns the FTS5 query that requires every piece.
fn expression(pieces: &[String], more: &str) -> Option<String> {
    let parts: Vec<String> = pieces.iter().map(|piece| match_expression(piece, more)).collect();
    (!parts.is_empty()).then(|| parts.join(" AND "))
}

/// The words of a piece with several, such as a path: those before the last, and the last. Matching adjacent
/// words takes longer than matching words: they are searched once, as a prefix, and not ranked.
pub(crate) fn in_a_row(piece: &str) -> Option<(&str, &str)> {
    let is_between = |c: char| !c.is_alphanumeric();
    let (before, last) = piece.trim_end_matches(is_between).rsplit_once(is_between)?;
    before.contains(char::is_alphanumeric).then_some((before, last))
}

/// The words around the first hit.
fn snippet(text: &str, words: &str) -> String {
    let lower = |c: char| c.to_lowercase().next().unwrap_or(c);
    let chars: Vec<char> = text
        .chars()
        .map(|c| if c.is_whitespace() { ' ' } else { c })
        .collect();
    let folded: Vec<char> = chars.iter().map(|c| lower(*c)).collect();
    // If a word begins so, rather than within one.
    let is_begin = |at: usize| {
        let before = at.checked_sub(1).and_then(|at| folded.get(at));
        before.is_none_or(|c| !c.is_alphanumeric() || is_dense(*c))
    };
    let first = pieces(words).into_iter().filter_map(|piece| {
        let piece: Vec<char> = piece.chars().map(lower).collect();
        let windows = folded.windows(piece.len()).enumerate();
        let places = windows.filter(|(_, window)| *window == piece.as_slice());
        let mut places = places.map(|(at, _)| at).peekable();
        let any = places.peek().copied();
        places.find(|at| is_begin(*at)).or(any)
    });
    let at = first.min().unwrap_or(0);
    let from = at.saturating_sub(AROUND);
    let to = (at + AROUND * 2).min(chars.len());
    let mut out = String::new();
    out.extend((from > 0).then_some('…'));
    out.extend(&chars[from..to]);
    out.extend((to < chars.len()).then_some('…'));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_around_the_beginning_of_a_word() {
        let text = format!(
            "silicon {}the Contents of 会话日志 {}",
            "x ".repeat(100),
            "y ".repeat(100)
        );
        assert!(snippet(&text, "con").contains("x the Contents of"));
        assert!(snippet(&text, "日志").contains("会话日志 y"));
        assert!(snippet(&text, "ilic").starts_with("silicon"));
        assert!(snippet(&text, "nowhere").starts_with("silicon"));
    }

    #[test]
    fn words_in_a_row_are_told_from_one() {
        assert_eq!(in_a_row("src/chat/mod.rs"), Some(("src/chat/mod", "rs")));
        assert_eq!(in_a_row("a::b::"), Some(("a:", "b")));
        for one in ["word", "word.", "::word", "...", "日志"] {
            assert_eq!(in_a_row(one), None, "{one}");
        }
    }

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
