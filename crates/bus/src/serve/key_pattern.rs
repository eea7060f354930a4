//! Patterns over keys: the names inside a topic, as of a tool or of a model.

use std::fmt;

/// A request that can be made over a [`Dispatcher`](super::Dispatcher).
pub trait Addressed: Send + Sync + 'static {
    /// The dotted topic, as `tools.requests`.
    fn topic(&self) -> &str;

    /// The key on that topic, for example the name of a tool.
    fn key(&self) -> &str;

    /// The session that makes the request: sessions with waiting requests take turns.
    fn session(&self) -> &str;
}

/// A pattern over keys. `*` matches any number of characters, including none; everything else matches itself.
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
    reading: PatternReading,
}

/// The reading of the text of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PatternReading {
    /// Matches with stars.
    Pattern,
    /// Matches the whole key.
    Exact,
    /// Matches the beginning of the key.
    Prefix,
}

impl KeyPattern {
    /// The pattern that `text` spells.
    pub fn new(text: &str) -> Self {
        // A text without stars is compared as a whole, because each request is compared with every pattern.
        let reading = if text.contains('*') {
            PatternReading::Pattern
        } else {
            PatternReading::Exact
        };
        Self {
            text: text.into(),
            reading,
        }
    }

    /// Creates the pattern that matches only this key; a star in it matches itself.
    pub fn exact(key: &str) -> Self {
        Self {
            text: key.into(),
            reading: PatternReading::Exact,
        }
    }

    /// Creates the pattern that matches every key with this prefix; a star in it matches itself.
    pub fn prefix(begins: &str) -> Self {
        Self {
            text: begins.into(),
            reading: PatternReading::Prefix,
        }
    }

    /// The pattern that matches every key.
    pub fn any() -> Self {
        Self::new("*")
    }

    /// Returns whether this pattern matches `key`.
    pub fn matches(&self, key: &str) -> bool {
        match self.reading {
            PatternReading::Pattern => self.matches_spelled(key),
            PatternReading::Exact => *self.text == *key,
            PatternReading::Prefix => key.starts_with(&*self.text),
        }
    }

    fn matches_spelled(&self, key: &str) -> bool {
        let Some((first, rest)) = self.text.split_once('*') else {
            return *self.text == *key;
        };
        let Some(mut key) = key.strip_prefix(first) else {
            return false;
        };
        // The last piece has to be at the end; each of the others is matched as early as possible.
        let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
        for piece in middle.split('*') {
            match key.split_once(piece) {
                Some((_, after)) => key = after,
                None => return false,
            }
        }
        key.ends_with(last)
    }

    /// Returns the number of literal characters: of two patterns that match, the one with more is the more
    /// specific.
    pub(crate) fn literal(&self) -> usize {
        let counts = |c: &char| *c != '*' || self.reading != PatternReading::Pattern;
        self.text.chars().filter(counts).count()
    }
}

impl fmt::Display for KeyPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        f.write_str(if self.reading == PatternReading::Prefix {
            "*"
        } else {
            ""
        })
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
    fn stars_of_a_name_stand_for_themselves() {
        let (exact, prefix) = (KeyPattern::exact("a*"), KeyPattern::prefix("a*/"));
        assert!(exact.matches("a*") && !exact.matches("ab"));
        assert!(prefix.matches("a*/b") && !prefix.matches("ab/b"));
        assert_eq!((exact.literal(), prefix.literal()), (2, 3));
        assert_eq!(prefix.to_string(), "a*/*");
    }

    #[test]
    fn more_characters_are_more_specific() {
        assert!(KeyPattern::new("github/*").literal() > KeyPattern::any().literal());
        assert!(KeyPattern::new("github/search").literal() > KeyPattern::new("github/*").literal());
    }
}
