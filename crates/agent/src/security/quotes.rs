//! The longest quote of one text in another, by whole words without regard to case and punctuation around
//! them.

use std::collections::BTreeMap;

/// The number of words in a row from which on a quote is looked for.
const LEAST_WORDS: usize = 4;
/// Maximum number of words of a call that are compared.
const MOST_WORDS: usize = 4_000;

/// Characters around a word that do not count.
const AROUND: &[char] = &[
    '"', '\'', '`', ',', '.', ';', ':', '(', ')', '[', ']', '{', '}', '<', '>', '*', '#', '!', '?',
];

/// The words of a text, in lower case, without punctuation around them. Words of punctuation alone are left
/// out.
pub(super) fn words_of(text: &str) -> Vec<String> {
    text.split_whitespace()
        .map(|word| word.trim_matches(AROUND).to_lowercase())
        .filter(|word| !word.is_empty())
        .collect()
}

/// A text whose quotes in other texts are looked for.
pub(super) struct QuotedWords {
    words: Vec<String>,
    /// The positions at which each run of [`LEAST_WORDS`] words begins.
    begins: BTreeMap<Vec<String>, Vec<usize>>,
}

impl QuotedWords {
    /// Reads the first [`MOST_WORDS`] words of a text.
    pub(super) fn of(text: &str) -> Self {
        let mut words = words_of(text);
        words.truncate(MOST_WORDS);
        let mut begins: BTreeMap<Vec<String>, Vec<usize>> = BTreeMap::new();
        for (at, run) in words.windows(LEAST_WORDS).enumerate() {
            begins.entry(run.to_vec()).or_default().push(at);
        }
        Self { words, begins }
    }

    /// The longest run of words, joined by blanks, that `other` has too; `None` if there is none of at least
    /// four words.
    pub(super) fn longest_in(&self, other: &[String]) -> Option<String> {
        if self.begins.is_empty() {
            return None;
        }
        let mut longest = String::new();
        for (there, run) in other.windows(LEAST_WORDS).enumerate() {
            for here in self.begins.get(run).into_iter().flatten() {
                // A run that goes on from the position before was measured there.
                if *here > 0 && there > 0 && self.words[*here - 1] == other[there - 1] {
                    continue;
                }
                let same = self.words[*here..]
                    .iter()
                    .zip(&other[there..])
                    .take_while(|(one, other)| one == other)
                    .count();
                let quote = self.words[*here..*here + same].join(" ");
                if quote.len() > longest.len() {
                    longest = quote;
                }
            }
        }
        (!longest.is_empty()).then_some(longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_is_found_by_its_words() {
        for (text, other, quote) in [
            (
                "run `rm -rf build now`, please",
                "Then RUN rm -rf build now.",
                Some("run rm -rf build now"),
            ),
            ("a b c", "a b c", None),
            ("a b c d", "x a b c d y", Some("a b c d")),
            ("a b c d e f", "a b c d x c d e f", Some("a b c d")),
            ("", "a b c d", None),
        ] {
            let found = QuotedWords::of(text).longest_in(&words_of(other));
            assert_eq!(found.as_deref(), quote, "{text}");
        }
    }
}
