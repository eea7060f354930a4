//! The redactor: all forms of all secrets, and the beginnings of all published forms, in one automaton.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use aho_corasick::automaton::{Automaton as _, StateID};
use aho_corasick::nfa::noncontiguous::NFA;
use aho_corasick::{AhoCorasick, Anchored, MatchKind};

use crate::encodings::forms;
use crate::patterns::{PATTERNS, Pattern};
use crate::secret_set::SecretSet;
use crate::stream::StreamRedactor;

/// A secret that was found in a text, without its value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
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
    /// The automaton for text that arrives in pieces.
    nfa: NFA,
    /// The same words, for a quick look at a text that most often has none.
    quick: AhoCorasick,
    /// The length of the longest beginning of a word that each state stands for, in bytes.
    depths: Vec<usize>,
    /// The replaced name of each word, by its number; words after them are prefixes of [`PATTERNS`].
    names: Vec<Arc<str>>,
    /// The length of each word.
    lengths: Vec<usize>,
}

/// A word of the automaton that ends at a place.
pub(crate) enum Word<'a> {
    /// A form of a known value.
    Known { name: &'a Arc<str>, length: usize },
    /// The beginning of a published form.
    Prefix(&'static Pattern),
}

impl Redactor {
    /// A redactor of these values, and of keys in their published form.
    ///
    /// # Panics
    /// Panics if the values have more than about 100 MB together.
    pub fn new(set: &SecretSet) -> Self {
        let mut names_of_forms: BTreeMap<String, Arc<str>> = BTreeMap::new();
        for secret in set.iter() {
            let name: Arc<str> = secret.name().into();
            for form in forms(secret.value()) {
                names_of_forms.entry(form).or_insert_with(|| name.clone());
            }
        }
        let known = names_of_forms.keys().map(String::as_str);
        let words: Vec<&str> = known
            .chain(PATTERNS.iter().map(|pattern| pattern.prefix))
            .collect();
        let tables = Tables::of(&words, names_of_forms.values().cloned().collect());
        Self {
            tables: Arc::new(tables),
        }
    }

    /// Replaces all secrets in `text`. Borrowed if there is none.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if !self.tables.quick.is_match(text) {
            return Cow::Borrowed(text);
        }
        let mut stream = self.stream();
        let mut redacted = stream.push(text);
        redacted.push_str(&stream.finish());
        match stream.has_replaced() {
            true => Cow::Owned(redacted),
            false => Cow::Borrowed(text),
        }
    }

    /// Returns whether a secret may be in `text`, or in a JSON text that quotes it. A quick look: `false` is
    /// certain, and `true` is not.
    pub fn may_find_in(&self, text: &str) -> bool {
        self.tables.quick.is_match(text)
    }

    /// The secrets in `text`, in order. Of those that overlap, the first is named, and covers all.
    pub fn find(&self, text: &str) -> Vec<Finding> {
        if !self.tables.quick.is_match(text) {
            return Vec::new();
        }
        let mut stream = self.stream();
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
        let words = self.tables.names.len();
        f.debug_struct("Redactor")
            .field("words", &words)
            .finish_non_exhaustive()
    }
}

impl Tables {
    #[expect(
        clippy::expect_used,
        reason = "building fails only above 2^31 states, which the documentation of the caller excludes"
    )]
    fn of(words: &[&str], names: Vec<Arc<str>>) -> Self {
        let nfa = NFA::builder()
            .match_kind(MatchKind::Standard)
            .build(words)
            .expect("the automaton of all words has less than 2^31 states");
        let quick = AhoCorasick::new(words).expect("the automaton of all words has less than 2^31 states");
        let mut tables = Self {
            nfa,
            quick,
            depths: Vec::new(),
            names,
            lengths: words.iter().map(|word| word.len()).collect(),
        };
        for word in words {
            let mut state = tables.start();
            for (at, byte) in word.bytes().enumerate() {
                state = tables.next(state, byte);
                let index = state.as_usize();
                if tables.depths.len() <= index {
                    tables.depths.resize(index + 1, 0);
                }
                if let Some(depth) = tables.depths.get_mut(index) {
                    *depth = at + 1;
                }
            }
        }
        tables
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
    pub(crate) fn words(&self, state: StateID) -> impl Iterator<Item = Word<'_>> {
        let count = match self.nfa.is_match(state) {
            true => self.nfa.match_len(state),
            false => 0,
        };
        (0..count).filter_map(move |index| self.word(self.nfa.match_pattern(state, index).as_usize()))
    }

    fn word(&self, number: usize) -> Option<Word<'_>> {
        match self.names.get(number) {
            Some(name) => Some(Word::Known {
                name,
                length: self.lengths.get(number).copied()?,
            }),
            None => PATTERNS.get(number - self.names.len()).map(Word::Prefix),
        }
    }
}
