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

/// Replaces secrets in text by `[secret NAME]`. Clones share the same tables, and [learn](Self::learn)
/// together.
///
/// It finds each known value unchanged, in base64 (at each alignment, in both alphabets), percent-encoded,
/// escaped for JSON (once and twice) and in hexadecimal, and keys by their published form. Its time is linear
/// in the length of the text.
#[derive(Clone)]
pub struct Redactor {
    tables: Arc<Tables>,
    /// The newer redactor, once [`learn`](Self::learn) has created one.
    later: Arc<OnceLock<Redactor>>,
}

impl Redactor {
    /// Creates a redactor of these values and of keys in their published form.
    ///
    /// # Panics
    /// Panics if the values have more than about 100 MB in total.
    pub fn new(set: &SecretSet) -> Self {
        Self::of_forms(set, PATTERNS)
    }

    /// Creates a redactor of these values alone.
    ///
    /// # Panics
    /// Panics if the values have more than about 100 MB in total.
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

    /// Replaces the known values, for this redactor and all clones, from the next text on. A text that has
    /// begun to arrive in pieces is not affected.
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
            // Another clone was faster.
            next = refused;
        }
    }

    /// Returns how often new values were learned. A text without a secret for an earlier version may have one
    /// now.
    pub fn version(&self) -> usize {
        self.latest().1
    }

    /// Returns the newest redactor, and the number of those before it.
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

    /// Replaces all secrets in `text`. The result is borrowed if there is none.
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

    /// Returns whether a secret may be in `text`, or in a JSON text that quotes it. This is a quick check:
    /// `false` is certain, `true` is not.
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

    /// Returns the secrets in `text`, in order. Secrets that overlap become one, with the name of the first.
    pub fn find(&self, text: &str) -> Vec<SecretPlace> {
        if !self.may_find_in(text) {
            return Vec::new();
        }
        let mut stream = self.stream().whole();
        stream.push(text);
        stream.finish();
        stream.into_findings()
    }

    /// Creates a redactor for one text that arrives in pieces.
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

/// Returns whether a text contains a line end, literally or escaped for JSON.
fn has_line_ends(text: &str) -> bool {
    text.contains(['\n', '\\'])
}
