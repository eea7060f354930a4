//! Follows tokens of published forms from their prefix to their end.

use crate::patterns::{PATTERNS, Progress, TokenForm};

/// Number of bytes before a token that decide whether it begins a word.
pub(crate) const LOOK_BACK: usize = 16;

/// A token that has begun and may become a secret.
#[derive(Clone, Copy, Debug)]
struct OpenToken {
    pattern: &'static TokenForm,
    /// The place of its first byte.
    start: usize,
}

/// A token that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EndedToken {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) name: &'static str,
}

/// The tokens that are open at a position of the text: at most one of each pattern.
#[derive(Clone, Debug, Default)]
pub(crate) struct TokenScan {
    open: Vec<OpenToken>,
}

impl TokenScan {
    /// Begins a token whose prefix ends at `at`, unless a token of the same pattern is already open, which
    /// will contain it, or the prefix continues a word.
    pub(crate) fn begin(&mut self, pattern: &'static TokenForm, at: usize, before: &[u8]) {
        let is_open = self
            .open
            .iter()
            .any(|token| token.pattern.prefix == pattern.prefix);
        if is_open || (pattern.begins_word && continues_word(before)) {
            return;
        }
        let start = at - pattern.prefix.len();
        self.open.push(OpenToken { pattern, start });
    }

    /// Takes the byte at `at`, which ends some of the open tokens. `text(start)` is the text from there up to
    /// this byte.
    pub(crate) fn take<'t>(
        &mut self,
        at: usize,
        byte: u8,
        text: impl Fn(usize) -> &'t [u8],
        mut ended: impl FnMut(EndedToken),
    ) {
        self.open.retain(|token| {
            let is_full = at - token.start >= token.pattern.prefix.len() + token.pattern.max;
            if is_full || !token.pattern.chars.contains(byte) {
                token.end(text(token.start)).into_iter().for_each(&mut ended);
                return false;
            }
            true
        });
    }

    /// Ends the tokens that became complete or impossible with the byte before `at`.
    pub(crate) fn settle<'t>(&mut self, text: impl Fn(usize) -> &'t [u8], mut ended: impl FnMut(EndedToken)) {
        self.open.retain(|token| {
            let whole = text(token.start);
            match token.pattern.shape.progress(whole) {
                Progress::Open => true,
                Progress::Impossible => false,
                Progress::Complete => {
                    token.end(whole).into_iter().for_each(&mut ended);
                    false
                }
            }
        });
    }

    /// Ends all tokens at the end of the text.
    pub(crate) fn finish<'t>(&mut self, text: impl Fn(usize) -> &'t [u8], mut ended: impl FnMut(EndedToken)) {
        for token in self.open.drain(..) {
            token.end(text(token.start)).into_iter().for_each(&mut ended);
        }
    }

    /// Returns the length of the longest suffix of `text` that may be the beginning of a prefix. It has at
    /// most `longest` bytes.
    pub(crate) fn begun_prefix(text: &[u8], longest: usize) -> usize {
        let begins = |length: &usize| {
            let at = text.len().saturating_sub(*length);
            let (before, end) = text.split_at(at);
            let before = before
                .get(before.len().saturating_sub(LOOK_BACK)..)
                .unwrap_or_default();
            PATTERNS.iter().any(|pattern| {
                pattern.prefix.as_bytes().starts_with(end) && !(pattern.begins_word && continues_word(before))
            })
        };
        (1..=longest.min(text.len()))
            .rev()
            .find(begins)
            .unwrap_or_default()
    }

    /// Returns the position where the first open token begins.
    pub(crate) fn first_start(&self) -> Option<usize> {
        self.open.iter().map(|token| token.start).min()
    }

    /// Returns whether no token is open.
    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }
}

impl OpenToken {
    /// Returns the token if `text` is one.
    fn end(&self, text: &[u8]) -> Option<EndedToken> {
        let is_long = text.len() >= self.pattern.prefix.len() + self.pattern.min;
        (is_long && self.pattern.shape.accepts(text)).then(|| EndedToken {
            start: self.start,
            end: self.start + text.len(),
            name: self.pattern.name,
        })
    }
}

/// Returns whether the text after `before` continues a word. Escapes are not part of one: `\n` and `\u001b`
/// of JSON, `%3D` of an address, `ESC[32m` of a terminal.
fn continues_word(before: &[u8]) -> bool {
    let Some(last) = before.last() else { return false };
    if !last.is_ascii_alphanumeric() {
        return false;
    }
    let behind = |back: usize| before.len().checked_sub(back).and_then(|at| before.get(at..));
    let is_short = behind(2).is_some_and(|tail| tail.starts_with(b"\\") && b"nrtbf".contains(last));
    let is_unicode = behind(6).is_some_and(|tail| tail.starts_with(b"\\u"));
    let is_percent = behind(3).is_some_and(|tail| {
        tail.starts_with(b"%") && tail.iter().skip(1).all(|byte| byte.is_ascii_hexdigit())
    });
    let is_color = *last == b'm' && {
        let digits = |byte: &&u8| byte.is_ascii_digit() || **byte == b';';
        let code = before.iter().rev().skip(1).take_while(digits).count();
        behind(code + 2).is_some_and(|tail| tail.starts_with(b"["))
    };
    !(is_short || is_unicode || is_percent || is_color)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_do_not_continue_a_word() {
        for before in ["a", "\\x41b", "%3", "%zz9"] {
            assert!(continues_word(before.as_bytes()), "{before}");
        }
        for before in [
            "key_",
            "",
            " ",
            "=",
            "\\n",
            "\\u003d",
            "%3D",
            "\u{1b}[1;32m",
            "\\u001b[0m",
        ] {
            assert!(!continues_word(before.as_bytes()), "{before}");
        }
    }
}
