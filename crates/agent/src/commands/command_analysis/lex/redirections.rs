//! Reads redirections: each gives the word behind it a meaning.

use super::Lexer;
use super::inner_text::InnerKind;
use super::word::Word;

/// The meaning of a word behind a redirection.
#[derive(Clone, Copy)]
pub(super) enum Redirects {
    File {
        /// Whether it may be written.
        writes: bool,
    },
    /// A descriptor, or a file for both streams.
    Descriptor,
    Document {
        /// Whether tabs at the beginning of its lines are ignored.
        tabs: bool,
    },
    Text,
}

impl Lexer<'_> {
    /// Reads a process substitution or a redirection after `<` or `>`.
    pub(super) fn angle_bracket(&mut self, bracket: char) {
        if let Some(inside) = self.rest.strip_prefix('(') {
            self.rest = inside;
            self.substitution(match bracket {
                '<' => InnerKind::Command,
                _ => InnerKind::ReadsCommand,
            });
            return;
        }
        self.redirection(match bracket {
            '<' if self.rest.starts_with("<<") => Redirects::Text,
            '<' if self.rest.starts_with('<') => Redirects::Document { tabs: false },
            _ => Redirects::File {
                // `<>` opens a file for both.
                writes: bracket == '>' || self.rest.starts_with('>'),
            },
        });
    }

    /// Handles a redirection, after its first character: the next word is its target. Digits immediately
    /// before it are a descriptor, not a word.
    pub(super) fn redirection(&mut self, redirects: Redirects) {
        let is_descriptor =
            |word: &Word| !word.text.is_empty() && word.text.bytes().all(|b| b.is_ascii_digit());
        if self.word.as_ref().is_some_and(is_descriptor) {
            self.word = None;
        }
        let in_subscript = self.word.as_ref().is_some_and(|word| word.text.contains('['));
        if matches!(redirects, Redirects::Document { .. }) && (self.arithmetic || in_subscript) {
            // It may be a shift of a number, and no document follows.
            self.lexed.unclosed = true;
        }
        self.end_word();
        self.quoted = false;
        let behind = self.rest.trim_start_matches(['<', '>']);
        self.rest = behind.trim_start_matches(['|', '&']);
        self.redirects = Some(match redirects {
            Redirects::File { .. } if behind.starts_with('&') => Redirects::Descriptor,
            Redirects::Document { .. } => {
                let behind = self.rest.strip_prefix('-');
                self.rest = behind.unwrap_or(self.rest);
                Redirects::Document {
                    tabs: behind.is_some(),
                }
            }
            _ => redirects,
        });
    }

    /// Adds a word as the target of a redirection.
    pub(super) fn end_target(&mut self, word: Word, writes: bool) {
        self.lexed.targets.push(word);
        self.lexed.writes.push(writes);
    }
}
