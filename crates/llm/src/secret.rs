//! A value that must not be seen: it has no `Display`, no serialization, and its `Debug` says nothing.

use std::fmt;

/// Minimum length of a part that is searched within other texts.
const SHORTEST_PART: usize = 16;

/// A key or the like. Only [`Secret::expose`] gives it away, so every place that does can be found.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes the value.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value, for the one place that sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether a text is this value, or has it within. A value of less than 16 bytes is not looked for within
    /// others: it may be an ordinary word.
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
