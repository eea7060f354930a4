//! Messages that contain the search words, and the excerpt that is shown of each. The text itself is not
//! stored again: the surroundings of a hit are read from the facts.

use agentx_runtime::SearchHit;
use agentx_types::{AgentStateId, OwnerId, Role, SessionId};
use rusqlite::{Connection, Row};

use crate::error::Fault;
use crate::keys::unsigned;
use crate::models::of_word;
use crate::read::message_text::text_of;
use crate::search_words::{is_dense, pieces};

/// The number of characters that are shown on each side of a hit.
const AROUND: usize = 60;

/// The scope, the owner, the query for the index, and the person's query.
#[derive(Clone, Copy)]
pub(crate) struct SearchTerms<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) owner: &'a OwnerId,
    pub(crate) expression: &'a str,
    pub(crate) words: &'a str,
}

/// Messages that match, of an owner, in an order that follows.
pub(crate) const MATCHING: &str = "SELECT s.session_id, m.seq, m.role, m.agent_state_id, m.preview
    FROM words JOIN messages m ON m.id = words.rowid JOIN sessions s ON s.id = m.session
    WHERE words MATCH ?1 AND s.owner = ?2 AND s.deleted_at IS NULL ORDER BY";

/// A hit, and its author. Ids of agents are random, so two sessions with the same agent at the same event are
/// copies.
#[derive(Debug)]
pub(crate) struct SearchMatch {
    pub(crate) agent: AgentStateId,
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

    /// Returns the hit with the words in the text of the message.
    pub(crate) fn found(&self, wanted: SearchTerms<'_>) -> Option<SearchMatch> {
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
}
