//! The search words: all forms of all secrets, and the prefixes of all published forms, in three automata.

use std::collections::BTreeMap;
use std::sync::Arc;

use aho_corasick::automaton::{Automaton as _, StateID};
use aho_corasick::nfa::contiguous;
use aho_corasick::nfa::noncontiguous::NFA;
use aho_corasick::{Anchored, Input, MatchKind};

use crate::hold::Hold;
use crate::patterns::{PATTERNS, TokenForm};

/// The search words, by their form.
pub(crate) struct Tables {
    /// All forms but base64.
    pub(crate) plain: WordAutomaton,
    /// The prefixes of published forms.
    pub(crate) prefixes: WordAutomaton,
    /// Base64 forms, which are also found across line ends.
    pub(crate) base64: WordAutomaton,
    /// Whether a value has blanks.
    pub(crate) has_blanks: bool,
}

impl Tables {
    /// Returns what to hold back at the beginning of a text.
    pub(crate) fn hold(&self) -> Hold {
        Hold::new(self.has_blanks, self.plain.longest().max(self.base64.longest()))
    }
}

/// A word of the automaton that ends at a position.
pub(crate) enum EndedWord<'a> {
    /// A form of a known value.
    Known { name: &'a Arc<str>, length: usize },
    /// The beginning of a published form.
    Prefix(&'static TokenForm),
}

/// The words of one automaton, each with the name of its secret.
pub(crate) type NamedForms = BTreeMap<String, Arc<str>>;

/// Finds many words at once, also in text that arrives in pieces.
pub(crate) struct WordAutomaton {
    nfa: NFA,
    /// The same words, for a quick check of a text that usually has none.
    quick: contiguous::NFA,
    /// The length in bytes of the longest beginning of a word that each state represents.
    depths: Vec<usize>,
    /// The replaced name of each word, by its number. The remaining words are prefixes.
    pub(crate) names: Vec<Arc<str>>,
    /// The length of each word.
    lengths: Vec<usize>,
}

impl WordAutomaton {
    #[expect(
        clippy::expect_used,
        reason = "building fails only above 2^31 states, which the documentation of the caller excludes"
    )]
    pub(crate) fn of(forms: &NamedForms, patterns: &[TokenForm]) -> Self {
        let prefixes = patterns.iter().map(|pattern| pattern.prefix);
        let words: Vec<&str> = forms.keys().map(String::as_str).chain(prefixes).collect();
        let nfa = NFA::builder()
            .match_kind(MatchKind::Standard)
            .build(&words)
            .expect("the automaton of all words has less than 2^31 states");
        // A DFA would be faster but large, and every program would have to build it at its start.
        let quick = contiguous::Builder::new()
            .build_from_noncontiguous(&nfa)
            .expect("the automaton of all words has less than 2^31 states");
        let mut automaton = Self {
            nfa,
            quick,
            depths: Vec::new(),
            names: forms.values().cloned().collect(),
            lengths: words.iter().map(|word| word.len()).collect(),
        };
        for word in words {
            automaton.note_depths(word);
        }
        automaton
    }

    /// Notes which beginning of the word each of its states represents.
    fn note_depths(&mut self, word: &str) {
        let mut state = self.start();
        for (at, byte) in word.bytes().enumerate() {
            state = self.next(state, byte);
            let index = state.as_usize();
            if self.depths.len() <= index {
                self.depths.resize(index + 1, 0);
            }
            if let Some(depth) = self.depths.get_mut(index) {
                *depth = at + 1;
            }
        }
    }

    /// Returns whether a text contains one of the words.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        let found = self.quick.try_find(&Input::new(text).earliest(true));
        // A search without anchors is supported. If it were not, the full search would decide.
        self.has_words() && found.map_or(true, |found| found.is_some())
    }

    /// Returns whether a text contains one of the words after removing its line ends.
    pub(crate) fn is_in_lines(&self, text: &str) -> bool {
        let longest = self.longest();
        let mut joined = String::new();
        // Each line keeps the escaped line end that it may have before its own.
        for line in text.split_inclusive('\n') {
            joined.push_str(&without_line_ends(line));
            if joined.len() > WINDOW {
                if self.is_in(&joined) {
                    return true;
                }
                let kept = joined.len().saturating_sub(longest);
                let kept = (0..=kept).rev().find(|at| joined.is_char_boundary(*at));
                joined.drain(..kept.unwrap_or_default());
            }
        }
        self.is_in(&joined)
    }

    /// Returns the length of the longest word in bytes, 0 without one.
    fn longest(&self) -> usize {
        self.lengths.iter().copied().max().unwrap_or_default()
    }

    pub(crate) fn has_words(&self) -> bool {
        !self.lengths.is_empty()
    }

    /// Returns the state before any text.
    #[expect(
        clippy::expect_used,
        reason = "automata that are built by default support unanchored searches"
    )]
    pub(crate) fn start(&self) -> StateID {
        self.nfa
            .start_state(Anchored::No)
            .expect("the automaton supports unanchored searches")
    }

    /// Returns the state after one more byte.
    pub(crate) fn next(&self, state: StateID, byte: u8) -> StateID {
        self.nfa.next_state(Anchored::No, state, byte)
    }

    /// Returns the number of latest bytes that may begin a word.
    pub(crate) fn depth(&self, state: StateID) -> usize {
        self.depths.get(state.as_usize()).copied().unwrap_or_default()
    }

    /// Returns the words that end here.
    pub(crate) fn words(&self, state: StateID) -> impl Iterator<Item = EndedWord<'_>> {
        let count = if self.nfa.is_match(state) {
            self.nfa.match_len(state)
        } else {
            0
        };
        (0..count).filter_map(move |index| self.word(self.nfa.match_pattern(state, index).as_usize()))
    }

    fn word(&self, number: usize) -> Option<EndedWord<'_>> {
        match self.names.get(number) {
            Some(name) => Some(EndedWord::Known {
                name,
                length: self.lengths.get(number).copied()?,
            }),
            None => PATTERNS.get(number - self.names.len()).map(EndedWord::Prefix),
        }
    }
}

/// The number of bytes that are searched together, so that a long text is not copied whole.
const WINDOW: usize = 64 << 10;

/// Removes line ends, literal or escaped for JSON, to find base64 that is broken into lines.
fn without_line_ends(text: &str) -> String {
    let text = text.replace("\\n", "").replace("\\r", "");
    text.replace(['\n', '\r'], "")
}
