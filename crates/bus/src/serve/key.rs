//! Patterns over keys: the names inside a topic, as of a tool or of a model.

use std::fmt;

/// A pattern over keys. `*` stands for any number of characters, also none; everything else stands for itself.
///
/// ```
/// use agentx_bus::KeyPattern;
///
/// let github = KeyPattern::new("github/*");
/// assert!(github.matches("github/search") && !github.matches("gitlab/search"));
/// assert!(KeyPattern::any().matches(""));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPattern {
    text: Box<str>,
}

impl KeyPattern {
    /// The pattern that `text` spells.
    pub fn new(text: &str) -> Self {
        Self { text: text.into() }
    }

    /// The pattern that matches every key.
    pub fn any() -> Self {
        Self::new("*")
    }

    /// Whether it matches `key`.
    pub fn matches(&self, key: &str) -> bool {
        let Some((first, rest)) = self.text.split_once('*') else {
            return *self.text == *key;
        };
        let Some(mut key) = key.strip_prefix(first) else {
            return false;
        };
        // The last piece has to stand at the end; each of the others is found as early as it goes.
        let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
        for piece in middle.split('*') {
            match key.split_once(piece) {
                Some((_, after)) => key = after,
                None => return false,
            }
        }
        key.ends_with(last)
    }

    /// How many characters stand for themselves: of two patterns that match, the one with more is the more specific.
    pub(crate) fn literal(&self) -> usize {
        self.text.chars().filter(|c| *c != '*').count()
    }
}

impl fmt::Display for KeyPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_text() {
        let matches = |pattern: &str, key: &str| KeyPattern::new(pattern).matches(key);
        assert!(matches("*", "") && matches("*", "a") && matches("", ""));
        assert!(!matches("", "a") && !matches("a", "ab") && !matches("ab", "a"));
        assert!(matches("a*", "a") && matches("a*", "abc") && !matches("a*", "ba"));
        assert!(matches("*c", "abc") && !matches("*c", "cb"));
        assert!(matches("a*c*e", "abcde") && !matches("a*c*e", "abde"));
        assert!(matches("**", "x") && matches("a**b", "ab"));
        // A piece is not used twice.
        assert!(!matches("ab*ba", "aba"));
    }

    #[test]
    fn more_characters_are_more_specific() {
        assert!(KeyPattern::new("github/*").literal() > KeyPattern::any().literal());
        assert!(KeyPattern::new("github/search").literal() > KeyPattern::new("github/*").literal());
    }
}
