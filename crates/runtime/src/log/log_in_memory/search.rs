//! Searches a log in memory by looking through all messages. Words are found by their beginnings, ignoring
//! case; a run of Chinese, Japanese or Korean is found anywhere.
//!
//! It takes time in proportion to all messages; a session log on disk has an index for that.

use std::collections::BTreeSet;

use super::stored::{StoredMessage, StoredSession};
use crate::session_lists::SearchHit;

/// The number of characters that are shown on each side of a hit.
const AROUND: usize = 60;

/// Messages that have all the words, the latest first. One that several copies of a session have is found
/// once. Characters other than letters and digits separate words; without any word nothing is found.
pub(super) fn find<'a>(
    sessions: impl Iterator<Item = &'a StoredSession>,
    words: &str,
    limit: usize,
) -> Vec<SearchHit> {
    let words: Vec<String> = words
        .split(is_between)
        .filter(|word| !word.is_empty())
        .map(folded)
        .collect();
    if words.is_empty() {
        return Vec::new();
    }
    let all = sessions.flat_map(|stored| stored.own_messages().map(move |message| (stored, message)));
    let mut found: Vec<(&StoredSession, &StoredMessage, usize)> = all
        .filter_map(|(stored, message)| Some((stored, message, place_of(&message.text, &words)?)))
        .collect();
    found.sort_by_key(|(stored, message, _)| {
        let at = stored.fact(message.seq).map(|fact| fact.at);
        std::cmp::Reverse((at, message.seq))
    });
    let mut seen = BTreeSet::new();
    found.retain(|(_, message, _)| seen.insert((&message.agent, message.seq, &message.text)));
    let hits = found.into_iter().take(limit);
    hits.map(|(stored, message, at)| SearchHit {
        session_id: stored.id().clone(),
        seq: message.seq,
        role: message.role,
        snippet: snippet_at(&message.text, at),
    })
    .collect()
}

/// The place of the first word, in characters, if the text has all of them.
fn place_of(text: &str, words: &[String]) -> Option<usize> {
    let text: Vec<char> = text.chars().map(fold).collect();
    let places = words.iter().map(|word| {
        let word: Vec<char> = word.chars().collect();
        let mut windows = text.windows(word.len());
        let here = |(at, window): (usize, &[char])| {
            let begins = at == 0 || is_between(text[at - 1]) || is_unspaced(word[0]);
            (begins && window == word).then_some(at)
        };
        windows.by_ref().enumerate().find_map(here)
    });
    places.collect::<Option<Vec<_>>>()?.into_iter().min()
}

/// Returns the text on both sides of a place, on one line.
fn snippet_at(text: &str, at: usize) -> String {
    let from = at.saturating_sub(AROUND);
    let shown: String = text.chars().skip(from).take(at - from + AROUND).collect();
    shown.replace(['\n', '\r'], " ").trim().to_owned()
}

/// Returns whether words end here.
fn is_between(letter: char) -> bool {
    !letter.is_alphanumeric()
}

/// A word in the form for comparisons.
fn folded(word: &str) -> String {
    word.chars().map(fold).collect()
}

/// One letter for each letter, so that places stay the same.
fn fold(letter: char) -> char {
    letter.to_lowercase().next().unwrap_or(letter)
}

/// Returns whether a script is written without spaces.
fn is_unspaced(letter: char) -> bool {
    matches!(letter, '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7ff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}
