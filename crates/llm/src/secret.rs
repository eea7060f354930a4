//! A value that must not be seen, such as a key: it has no `Display` and no serialization, and its `Debug`
//! does not show it.

use std::fmt;

/// Minimum length of a value that is searched within other texts, in bytes.
const SHORTEST_PART: usize = 16;

/// A key or another secret text. Only [`Secret::expose`] returns the text, so every place that reads it can
/// be found.
///
/// ```
/// let key = agentx_llm::Secret::new("sk-made-up-0123456789");
/// assert!(!format!("{key:?}").contains("sk-"));
/// assert!(key.is_in("authorization: Bearer sk-made-up-0123456789"));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Returns a secret with this value.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// Returns the value, for the one place that sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Returns whether a text is this value or contains it. A value of less than 16 bytes is not searched
    /// within other texts, because it may be an ordinary word.
    pub fn is_in(&self, text: &str) -> bool {
        !self.0.is_empty()
            && (text.trim() == self.0 || (self.0.len() >= SHORTEST_PART && text.contains(&self.0)))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<hidden>")
    }
}
