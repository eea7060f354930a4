//! The redactor: all forms of all secrets, and the beginnings of all published forms, in three automata.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use aho_corasick::automaton::{Automaton as _, StateID};
use aho_corasick::nfa::contiguous;
use aho_corasick::nfa::noncontiguous::NFA;
use aho_corasick::{Anchored, Input, MatchKind};

use crate::encodings::{base64_forms, plain_forms};
use crate::hold::Hold;
use crate::patterns::{PATTERNS, TokenForm};
use crate::secret_set::SecretSet;
use crate::stream::StreamRedactor;

/// A secret that was found in a text, without its value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SecretPlace {
    /// The name that the replacement has.
    pub name: String,
    /// The place of the first byte.
    pub start: usize,
    /// The place after the last byte.
    pub end: usize,
}

/// Replaces secrets in text by `[secret NAME]`. Clones share the same tables.
///
/// It finds each known value as it is, in base64 (at each alignment, in both alphabets), percent-encoded,
/// escaped for JSON (once and twice) and in hexadecimal, and keys by their published form. Its time is linear
/// in the length of the text.
#[derive(Clone)]
pub struct Redactor {
    tables: Arc<Tables>,
}

pub(crate) struct Tables {
    /// All forms but base64.
    pub(crate) plain: WordAutomaton,
    /// The prefixes of published forms.
    pub(crate) prefixes: WordAutomaton,
    /// Forms in base64, which are found across the ends of lines too.
    pub(crate) base64: WordAutomaton,
    /// Whether a value has blanks.
    has_blanks: bool,
}

impl Tables {
    /// What is held back of a text that begins.
    pub(crate) fn hold(&self) -> Hold {
        Hold::new(self.has_blanks, self.plain.longest().max(self.base64.longest()))
    }
}

/// A word of the automaton that ends at a place.
pub(crate) enum EndedWord<'a> {
    /// A form of a known value.
    Known { name: &'a Arc<str>, length: usize },
    /// The beginning of a published form.
    Prefix(&'static TokenForm),
}

impl Redactor {
    /// A redactor of these values, and of keys in their published form.
    ///
    /// # Panics
    /// Panics if the values have more than about 100 MB together.
    pub fn new(set: &SecretSet) -> Self {
        let (mut plain, mut base64) = (NamedForms::new(), NamedForms::new());
        for secret in set.iter() {
            let name: Arc<str> = secret.name().into();
            for form in plain_forms(secret.value()) {
                plain.entry(form).or_insert_with(|| name.clone());
            }
            for form in base64_forms(secret.value()) {
                base64.entry(form).or_insert_with(|| name.clone());
            }
        }
        Self {
            tables: Arc::new(Tables {
                plain: WordAutomaton::of(&plain, &[]),
                prefixes: WordAutomaton::of(&NamedForms::new(), PATTERNS),
                base64: WordAutomaton::of(&base64, &[]),
                has_blanks: set
                    .iter()
                    .any(|secret| secret.value().contains(|c: char| c.is_ascii_whitespace())),
            }),
        }
    }

    /// Replaces all secrets in `text`. Borrowed if there is none.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if !self.may_find_in(text) {
            return Cow::Borrowed(text);
        }
        let mut stream = self.stream().whole();
        let mut redacted = stream.push(text);
        redacted.push_str(&stream.finish());
        if stream.has_replaced() {
            Cow::Owned(redacted)
        } else {
            Cow::Borrowed(text)
        }
    }

    /// Returns whether a secret may be in `text`, or in a JSON text that quotes it. A quick look: `false` is
    /// certain, and `true` is not.
    pub fn may_find_in(&self, text: &str) -> bool {
        let Tables {
            plain,
            prefixes,
            base64,
            ..
        } = &*self.tables;
        plain.is_in(text) || prefixes.is_in(text) || base64.is_in(text) || {
            base64.has_words() && has_line_ends(text) && base64.is_in_lines(text)
        }
    }

    /// The secrets in `text`, in order. Of those that overlap, the first is named, and covers all.
    pub fn find(&self, text: &str) -> Vec<SecretPlace> {
        if !self.may_find_in(text) {
            return Vec::new();
        }
        let mut stream = self.stream().whole();
        stream.push(text);
        stream.finish();
        stream.into_findings()
    }

    /// A redactor for one text that arrives in pieces.
    pub fn stream(&self) -> StreamRedactor {
        StreamRedactor::new(self.tables.clone())
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = self.tables.plain.names.len() + self.tables.base64.names.len();
        f.debug_struct("Redactor")
            .field("words", &words)
            .finish_non_exhaustive()
    }
}

/// The words of one automaton, each with the name of its secret.
type NamedForms = BTreeMap<String, Arc<str>>;

/// Finds many words at once, also in text that arrives in pieces.
pub(crate) struct WordAutomaton {
    nfa: NFA,
    /// The same words, for a quick look at a text that most often has none.
    quick: contiguous::NFA,
    /// The length of the longest beginning of a word that each state stands for, in bytes.
    depths: Vec<usize>,
    /// The replaced name of each word, by its number; words after them are prefixes.
    names: Vec<Arc<str>>,
    /// The length of each word.
    lengths: Vec<usize>,
}

impl WordAutomaton {
    #[expect(
        clippy::expect_used,
        reason = "building fails only above 2^31 states, which the documentation of the caller excludes"
    )]
    fn of(forms: &NamedForms, patterns: &[TokenForm]) -> Self {
        let prefixes = patterns.iter().map(|pattern| pattern.prefix);
        let words: Vec<&str> = forms.keys().map(String::as_str).chain(prefixes).collect();
        let nfa = NFA::builder()
            .match_kind(MatchKind::Standard)
            .build(&words)
            .expect("the automaton of all words has less than 2^31 states");
        // A DFA would be faster, and large: every program that starts would have to build it.
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

    /// Notes which beginning of the word each of its states stands for.
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

    /// Returns whether one of the words is in a text.
    fn is_in(&self, text: &str) -> bool {
        let found = self.quick.try_find(&Input::new(text).earliest(true));
        // A search without anchors is supported; if it were not, the long look would decide.
        self.has_words() && found.map_or(true, |found| found.is_some())
    }

    /// Returns whether one of the words is in a text, if the ends of its lines are left out.
    fn is_in_lines(&self, text: &str) -> bool {
        let longest = self.longest();
        let mut joined = String::new();
        // Each line keeps the escaped end that it may have before its own.
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

    /// The length of the longest word in bytes, 0 without one.
    fn longest(&self) -> usize {
        self.lengths.iter().copied().max().unwrap_or_default()
    }

    fn has_words(&self) -> bool {
        !self.lengths.is_empty()
    }

    /// The state before any text.
    #[expect(
        clippy::expect_used,
        reason = "automata that are built by default support unanchored searches"
    )]
    pub(crate) fn start(&self) -> StateID {
        self.nfa
            .start_state(Anchored::No)
            .expect("the automaton supports unanchored searches")
    }

    /// The state after one more byte.
    pub(crate) fn next(&self, state: StateID, byte: u8) -> StateID {
        self.nfa.next_state(Anchored::No, state, byte)
    }

    /// The number of latest bytes that may begin a word.
    pub(crate) fn depth(&self, state: StateID) -> usize {
        self.depths.get(state.as_usize()).copied().unwrap_or_default()
    }

    /// The words that end here.
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

/// Returns whether a text has the end of a line, as it is or as JSON escapes it.
fn has_line_ends(text: &str) -> bool {
    text.contains(['\n', '\\'])
}

/// The number of bytes that are looked at together. A long text is not copied whole.
const WINDOW: usize = 64 << 10;

/// Removes ends of lines, as they are or as JSON escapes them, for a look at base64 that is broken into lines.
fn without_line_ends(text: &str) -> String {
    let text = text.replace("\\n", "").replace("\\r", "");
    text.replace(['\n', '\r'], "")
}
