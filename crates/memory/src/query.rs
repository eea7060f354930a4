//! The words of an input that are worth a search.
//!
//! An input is prose, not a query: most of its words are in most memories. Words that say nothing are left
//! out here; the store leaves out those that too many memories have.

use std::collections::BTreeSet;

use agentx_sqlite_log::search_words::{match_expression, pieces};

/// Maximum number of words of an input that are searched: the first ones.
const MAX_WORDS: usize = 32;
/// Maximum length of an input that is read, in characters: its beginning and its end are read, half of it
/// each.
const READ: usize = 4_000;
/// The shortest word, in bytes. A character of a script without spaces has more.
const SHORTEST: usize = 3;

/// English and German words that say nothing about what a text is about.
#[rustfmt::skip]
const EMPTY_WORDS: &[&str] = &[
    "about", "aber", "alle", "also", "and", "any", "are", "auch", "auf", "aus", "bei", "bin", "bitte", "but",
    "can", "could", "damit", "dann", "das", "dass", "dem", "den", "der", "des", "did", "die", "dies", "diese",
    "does", "doch", "durch", "ein", "eine", "einen", "einer", "for", "from", "für", "get", "give", "had",
    "has", "have", "hat", "her", "hier", "how", "ich", "ihr", "ist", "into", "its", "just", "kann", "kannst",
    "kein", "let", "like", "mache", "make", "mehr", "mein", "meine", "mich", "mir", "mit", "more", "nach",
    "nicht", "not", "noch", "now", "nur", "oder", "our", "out", "please", "schon", "sein", "she", "should",
    "sich", "sie", "sind", "some", "soll", "than", "that", "the", "their", "them", "then", "there", "they",
    "this", "und", "uns", "use", "using", "vom", "von", "vor", "war", "was", "wenn", "were", "what", "when",
    "where", "which", "who", "why", "wie", "will", "wir", "wird", "with", "would", "you", "your", "zum",
    "zur",
];

/// Returns a query of the full-text index for each distinct word of a text, in the order of the text.
pub(crate) fn queries(text: &str) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut queries = Vec::new();
    for piece in pieces(&ends(text)) {
        for word in piece.split(|c: char| !c.is_alphanumeric()) {
            let word = word.to_lowercase();
            let says_nothing = word.len() < SHORTEST || EMPTY_WORDS.contains(&word.as_str());
            if says_nothing || !seen.insert(word.clone()) {
                continue;
            }
            queries.push(match_expression(&word, ""));
            if queries.len() == MAX_WORDS {
                return queries;
            }
        }
    }
    queries
}

/// The beginning and the end of a long text.
fn ends(text: &str) -> String {
    let length = text.chars().count();
    if length <= READ {
        return text.to_owned();
    }
    let begin = text.chars().take(READ / 2);
    let end = text.chars().skip(length - READ / 2);
    begin.chain([' ']).chain(end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_say_nothing_are_left_out() {
        assert_eq!(
            queries("Please use THE deploy-script of Zürich, the deploy script!"),
            ["\"deploy\"", "\"script\"", "\"zürich\""]
        );
        assert_eq!(queries("and the, or \" ' * ) AND"), Vec::<String>::new());
    }

    #[test]
    fn scripts_without_spaces_are_searched_in_pairs() {
        assert_eq!(queries("会话日志"), ["\"会话 话日 日志\""]);
    }

    #[test]
    fn a_long_text_is_read_at_both_ends() {
        let text = format!("alpha {} omega", "x ".repeat(50_000));
        assert_eq!(queries(&text), ["\"alpha\"", "\"omega\""]);
    }
}
