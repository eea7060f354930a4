//! Finds places in the words of a variable at which another request may begin.
//!
//! `tell me a story about cats and play something by Satie` does not ask for a story about all of that. The
//! fast path splits the words of a variable at each such place, and checks whether a pattern fits the rest;
//! if one does, a model has to decide. A title that only looks like a request costs a model call and causes
//! no mistake.

use super::text::{is_punctuation, needs_no_blank};

/// Minimum number of characters, in words without blanks between them, that cannot be a coincidence.
const NO_ACCIDENT: usize = 3;

/// The character before a place at which words begin, within a variable: it shows how likely a request begins
/// there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PrecedingChar {
    /// A comma, a full stop and the like: any words may be a request.
    Punctuation,
    /// A blank: several words may be a request, and a single one that needs no blanks.
    Blank,
    /// A character of a script that has no blanks between words.
    Nothing,
}

impl PrecedingChar {
    /// Returns whether a request may begin here with `words` followed by a variable.
    pub(super) fn allows(self, words: &str) -> bool {
        self != Self::Nothing || words.chars().count() >= NO_ACCIDENT
    }

    /// Returns whether a request may begin here that is `words` and nothing else: one word after a blank is a
    /// word like others.
    pub(super) fn allows_whole(self, words: &str) -> bool {
        match self {
            Self::Punctuation => true,
            Self::Blank => words.contains(' ') || words.chars().any(needs_no_blank),
            Self::Nothing => self.allows(words),
        }
    }
}

/// The words that begin at each such place of `words` and continue to their end, from the second character
/// on.
pub(super) fn rests(words: &str) -> impl Iterator<Item = (PrecedingChar, &str)> {
    let before = words.chars();
    let rests = words.char_indices().skip(1).zip(before);
    rests.filter_map(|((at, first), before)| {
        let before = match before {
            _ if first == ' ' || is_punctuation(first) => return None,
            c if is_punctuation(c) => PrecedingChar::Punctuation,
            ' ' => PrecedingChar::Blank,
            c if needs_no_blank(c) || needs_no_blank(first) => PrecedingChar::Nothing,
            _ => return None,
        };
        Some((before, words.get(at..)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_begin_behind_blanks_and_punctuation_and_anywhere_without_blanks() {
        let found: Vec<_> = rests("big cats,and放b").collect();
        let expected = [
            (PrecedingChar::Blank, "cats,and放b"),
            (PrecedingChar::Punctuation, "and放b"),
            (PrecedingChar::Nothing, "放b"),
            (PrecedingChar::Nothing, "b"),
        ];
        assert_eq!(found, expected);
        assert!(PrecedingChar::Blank.allows("play ") && !PrecedingChar::Nothing.allows("来"));
        assert!(
            PrecedingChar::Blank.allows_whole("stop it") && !PrecedingChar::Blank.allows_whole("weather")
        );
        assert!(
            PrecedingChar::Nothing.allows_whole("大声点") && PrecedingChar::Punctuation.allows_whole("stop")
        );
    }
}
