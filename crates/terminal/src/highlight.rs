//! Colours code, a line at a time, while it streams. The grammars are loaded when the first code arrives,
//! because most programs never show any.

use std::fmt;
use std::sync::OnceLock;

use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxSet};

use crate::style::{Style, Theme};

/// Longer lines stay plain: they are data, and would take long.
const LONGEST: usize = 2_000;

static SYNTAXES: OnceLock<SyntaxSet> = OnceLock::new();

/// Number of new bytes after which an open line is highlighted again (or half of its bytes, if that is less):
/// each time starts at the beginning of the line, and would take most of the time of the whole screen.
const GROWN: usize = 12;

/// Reads the lines of one piece of code.
pub(crate) struct Highlighter {
    /// The state of the grammar; `None` for an unknown language.
    state: Option<(ParseState, ScopeStack)>,
    /// The length of the unfinished line when it was last highlighted, and the result.
    begun: (usize, Vec<(String, Style)>),
}

impl fmt::Debug for Highlighter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Highlighter")
            .field("knows", &self.state.is_some())
            .finish()
    }
}

impl Highlighter {
    /// A highlighter for the language that a fence names.
    pub(crate) fn new(language: &str) -> Self {
        let token = language.split([' ', ',', '{']).next().unwrap_or_default();
        let token = match token {
            "ts" | "tsx" | "typescript" | "jsx" => "js",
            "toml" => "ini",
            "console" | "shell" | "zsh" => "sh",
            other => other,
        };
        if token.is_empty() || matches!(token, "text" | "txt" | "plain") {
            return Self::of(None);
        }
        let syntaxes = SYNTAXES.get_or_init(SyntaxSet::load_defaults_newlines);
        let syntax = syntaxes.find_syntax_by_token(token);
        Self::of(syntax.map(|syntax| (ParseState::new(syntax), ScopeStack::new())))
    }

    fn of(state: Option<(ParseState, ScopeStack)>) -> Self {
        Self {
            state,
            begun: Default::default(),
        }
    }

    /// A line has begun, or continues.
    pub(crate) fn begin(&mut self, text: &str, theme: &Theme) {
        let looked = self.begun.0;
        let grown = text.len().saturating_sub(looked);
        if theme.color && self.state.is_some() && (grown >= GROWN || grown > looked / 2) {
            let parts = Self::of(self.state.clone()).line(text, theme);
            self.begun = (text.len(), parts);
        }
    }

    /// The line that has begun, as it would be if it ended here; its last letters stay plain until there are
    /// more of them.
    pub(crate) fn begun_line(&self, text: &str) -> Vec<(String, Style)> {
        let (looked, parts) = &self.begun;
        let mut parts = parts.clone();
        if let Some(rest) = text.get(*looked..).filter(|rest| !rest.is_empty()) {
            parts.push((rest.to_owned(), Style::default()));
        }
        parts
    }

    /// The next line, without its end, in pieces.
    pub(crate) fn line(&mut self, text: &str, theme: &Theme) -> Vec<(String, Style)> {
        self.begun = Default::default();
        let plain = || vec![(text.to_owned(), Style::default())];
        let Some((state, stack)) = self
            .state
            .as_mut()
            .filter(|_| theme.color && text.len() <= LONGEST)
        else {
            return plain();
        };
        let syntaxes = SYNTAXES.get_or_init(SyntaxSet::load_defaults_newlines);
        let Ok(changes) = state.parse_line(&format!("{text}\n"), syntaxes) else {
            self.state = None;
            return plain();
        };
        let mut parts = Vec::new();
        let mut from = 0;
        for (at, change) in changes {
            let at = at.min(text.len());
            if let Some(piece) = text.get(from..at).filter(|piece| !piece.is_empty()) {
                parts.push((piece.to_owned(), look(stack, theme)));
                from = at;
            }
            if stack.apply(&change).is_err() {
                break;
            }
        }
        if let Some(piece) = text.get(from..).filter(|piece| !piece.is_empty()) {
            parts.push((piece.to_owned(), look(stack, theme)));
        }
        parts
    }
}

/// Returns the style of the innermost scope that has one.
fn look(stack: &ScopeStack, theme: &Theme) -> Style {
    let known = |scope: &Scope| {
        let name = scope.build_string();
        let is = |prefix: &str| name.starts_with(prefix);
        if is("comment") {
            Some(theme.comment)
        } else if is("string") {
            Some(theme.string)
        } else if is("constant") {
            Some(theme.literal)
        } else if is("keyword.operator") || is("punctuation") || is("meta") {
            None
        } else if is("keyword") || is("storage") {
            Some(theme.keyword)
        } else if is("entity.name") || is("support") {
            Some(theme.name)
        } else if is("markup.inserted") {
            Some(theme.added)
        } else if is("markup.deleted") {
            Some(theme.removed)
        } else {
            None
        }
    };
    stack.scopes.iter().rev().find_map(known).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_that_is_known_has_colours_and_loses_no_letter() {
        let theme = Theme::dark();
        let mut rust = Highlighter::new("rust");
        let parts = rust.line("fn main() { let x = \"a\"; } // done", &theme);
        let text: String = parts.iter().map(|(text, _)| text.as_str()).collect();
        assert_eq!(text, "fn main() { let x = \"a\"; } // done");
        assert!(
            parts.contains(&("// done".to_owned(), theme.comment))
                || parts
                    .iter()
                    .any(|(text, style)| text.contains("done") && *style == theme.comment)
        );
        assert!(
            parts
                .iter()
                .any(|(text, style)| text == "fn" && *style == theme.keyword)
        );
        assert_eq!(
            Highlighter::new("no-such").line("fn x", &theme),
            [("fn x".to_owned(), Style::default())]
        );
    }
}
