//! The redactor: finds all forms of all secrets, and the beginnings of all published forms.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::SecretPlace;
use crate::encodings::{base64_forms, plain_forms};
use crate::patterns::{PATTERNS, TokenForm};
use crate::secret_set::SecretSet;
use crate::stream::StreamRedactor;
use crate::word_tables::{NamedForms, Tables, WordAutomaton};

/// Replaces secrets in text by `[secret NAME]`. Clones share the same tables, and [learn](Self::learn) together.
///
/// It finds each known value as it is, in base64 (at each alignment, in both alphabets), percent-encoded,
/// escaped for JSON (once and twice) and in hexadecimal, and keys by their published form. Its time is linear
/// in the length of the text.
#[derive(Clone)]
pub struct Redactor {
    tables: Arc<Tables>,
    /// The one that knows more, once there is one.
    later: Arc<OnceLock<Redactor>>,
}

impl Redactor {
    /// A redactor of these values, and of keys in their published form.
    ///
    /// # Panics
    /// Panics if the values have more than about 100 MB together.
    pub fn new(set: &SecretSet) -> Self {
        Self::of_forms(set, PATTERNS)
    }

    /// A redactor of these values alone.
    ///
    /// # Panics
    /// Panics if the values have more than about 100 MB together.
    pub fn of_values(set: &SecretSet) -> Self {
        Self::of_forms(set, &[])
    }

    fn of_forms(set: &SecretSet, forms: &'static [TokenForm]) -> Self {
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
                prefixes: WordAutomaton::of(&NamedForms::new(), forms),
                base64: WordAutomaton::of(&base64, &[]),
                has_blanks: set
                    .iter()
                    .any(|secret| secret.value().contains(|c: char| c.is_ascii_whitespace())),
            }),
            later: Arc::default(),
        }
    }

    /// Knows these values instead, from the next text on; so do all clones. A text that has begun to arrive in
    /// pieces is not affected.
    ///
    /// ```
    /// use agentx_secrets::{Origin, Redactor, SecretSet};
    /// let redactor = Redactor::new(&SecretSet::default());
    /// let clone = redactor.clone();
    /// let mut set = SecretSet::default();
    /// assert!(set.add("PIN", Origin::Person, "8204175936"));
    /// redactor.learn(&set);
    /// assert_eq!(clone.redact("it is 8204175936"), "it is [secret PIN]");
    /// assert_eq!(clone.version(), 1);
    /// ```
    pub fn learn(&self, set: &SecretSet) {
        let mut next = Self::new(set);
        while let Err(refused) = self.latest().0.later.set(next) {
            // Somebody else was first.
            next = refused;
        }
    }

    /// Counts how often it learned: what had no secret for an earlier version may have one now.
    pub fn version(&self) -> usize {
        self.latest().1
    }

    /// The redactor that knows most, and how many there were before it.
    fn latest(&self) -> (&Self, usize) {
        let (mut latest, mut count) = (self, 0);
        while let Some(later) = latest.later.get() {
            (latest, count) = (later, count + 1);
        }
        (latest, count)
    }

    fn tables(&self) -> &Arc<Tables> {
        &self.latest().0.tables
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
        } = &**self.tables();
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
        StreamRedactor::new(self.tables().clone())
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tables = self.tables();
        let words = tables.plain.names.len() + tables.base64.names.len();
        f.debug_struct("Redactor")
            .field("words", &words)
            .finish_non_exhaustive()
    }
}

/// Returns whether a text has the end of a line, as it is or as JSON escapes it.
fn has_line_ends(text: &str) -> bool {
    text.contains(['\n', '\\'])
}
