//! A word of a command line: as it is written, and as it may become at run time.
//!
//! The lexer makes words character by character; each function here adds to all three forms of the word.
//!
//! | written | `text` | `open` | `shape` |
//! | --- | --- | --- | --- |
//! | `'a b'` | `a b` | `a b` | `a b` |
//! | `a$X` | `a$X` | `a` and [`ANYTHING`] | `a` and [`ANYTHING`] |
//! | `*.rs` | `*.rs` | [`ANYTHING`] and `.rs` | [`STAR`] and `.rs` |
//! | `$HOME/x` | `$HOME/x` | [`ANYTHING`] and `/x` | `$HOME/x`: homes are known as they are written |
//!
//! Rules are compared with `text` and `open`; `names` makes the files that the word may name from `shape`.

use super::expand::{ANYTHING, BRACE, BRACE_END, BRACKET, BRACKET_END, COMMA, STAR};

/// The placeholder for a blank within a word in texts in which blanks separate words.
pub(crate) const BLANK: char = '\u{1}';

/// A word of a command.
///
/// For `a$X*`, `text` is `a$X*`, `open` is `a` with two marks, and the word is dynamic. A word that is known
/// to the letter has `open` equal to `text`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Word {
    /// The word without quotes and escapes; expansions stay unexpanded.
    pub(crate) text: String,
    /// The word with [`ANYTHING`] instead of each expansion.
    pub(crate) open: String,
    /// Whether a variable, a substitution, a glob or braces make it another word at run time.
    pub(crate) dynamic: bool,
    /// Whether [`ANYTHING`] stands for the whole rest of the word: then nothing more is added to `open`.
    loose: bool,
    /// The text with marks instead of unquoted globs, braces and expansions, for [`super::expand::expand`].
    pub(crate) shape: String,
}

impl Word {
    /// Adds a character that stands for itself. A character that is a mark of the shape is replaced there, so
    /// that no line can contain marks itself.
    pub(crate) fn push(&mut self, c: char) {
        self.push_as(
            c,
            if c <= COMMA {
                char::REPLACEMENT_CHARACTER
            } else {
                c
            },
        );
    }

    /// Adds a character that stands for itself here and has a meaning for a shell: `,`, `}` and `]` without
    /// quotes.
    pub(crate) fn push_unquoted(&mut self, c: char) {
        let mark = match c {
            ',' => COMMA,
            '}' => BRACE_END,
            ']' => BRACKET_END,
            c => return self.push(c),
        };
        self.push_as(c, mark);
    }

    /// Adds a character, with another one in the shape.
    fn push_as(&mut self, c: char, shape: char) {
        self.text.push(c);
        self.shape.push(shape);
        if !self.loose {
            self.open.push(c);
        }
    }

    /// Adds characters that stand for themselves.
    pub(crate) fn push_str(&mut self, text: &str) {
        text.chars().for_each(|c| self.push(c));
    }

    /// Adds `text`, which becomes another text at run time: a variable, a substitution, a glob.
    pub(crate) fn push_dynamic(&mut self, text: &str) {
        match text {
            // Homes are known by their written form.
            "$HOME" | "${HOME}" => self.shape.push_str(text),
            "$PWD" | "${PWD}" => self.shape.push('.'),
            "*" | "?" => self.shape.push(STAR),
            "[" => self.shape.push(BRACKET),
            "{" => self.shape.push(BRACE),
            _ => self.shape.push(ANYTHING),
        }
        self.text.push_str(text);
        if !self.loose {
            self.open.push(ANYTHING);
        }
        self.dynamic = true;
    }

    /// Adds `text`, which becomes another text together with the rest of the word: the content of brackets is
    /// not read.
    pub(crate) fn push_loose(&mut self, text: &str) {
        self.push_dynamic(text);
        self.loose = true;
    }

    /// Removes the sign before a pattern of alternatives; the caller has removed it from `text`.
    pub(crate) fn pop_sign(&mut self) {
        self.shape.pop();
        if !self.loose {
            self.open.pop();
        }
    }

    /// Adds a pattern of alternatives, with the shape of a brace.
    pub(crate) fn push_alternatives(&mut self, text: &str, shape: &str) {
        self.text.push_str(text);
        self.shape.push_str(shape);
        if !self.loose {
            self.open.push(ANYTHING);
        }
        self.dynamic = true;
    }

    /// Makes the word literal, as for `[`, which is a command and not a pattern.
    pub(crate) fn make_literal(&mut self) {
        (self.dynamic, self.loose) = (false, false);
        self.open.clone_from(&self.text);
        self.shape.clone_from(&self.text);
    }

    /// Returns the words to which braces, globs and expansions expand this word; empty if it contains none of
    /// them.
    ///
    /// [`STAR`] stands for the text of a glob within a name, and [`ANYTHING`] for expansions.
    pub(crate) fn names(&self) -> Vec<String> {
        if self.shape == self.text {
            Vec::new()
        } else {
            super::expand::expand(&self.shape)
        }
    }

    /// Returns a word that is known to the letter.
    pub(crate) fn written(text: &str) -> Self {
        let mut word = Self::default();
        word.push_str(text);
        word
    }

    /// Returns a word of which nothing is known.
    pub(crate) fn anything() -> Self {
        let mut word = Self::default();
        word.push_dynamic("");
        word
    }

    /// Returns whether the word is only an expansion, which may become no word or many.
    pub(crate) fn is_anything(&self) -> bool {
        !self.open.is_empty() && self.open.chars().all(|c| c == ANYTHING)
    }
}
