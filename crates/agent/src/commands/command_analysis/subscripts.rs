//! Subscripts of arrays in quoted words.
//!
//! bash reads them as arithmetic if a builtin takes the word for a variable or for a number, and runs the
//! substitutions in them, although they stood in single quotes: `test -v 'x[$(rm y)]'` runs `rm y`. From
//! version 7 of the rules on.

use super::CommandAnalysis;
use super::lex::lex;
use super::lex::word::Word;
use super::programs::wrapper_commands::is_assignment;

/// Builtins that take a word for a variable or for a number.
const EVALUATE: &[&str] = &[
    "[",
    "[[",
    "declare",
    "export",
    "getopts",
    "let",
    "local",
    "mapfile",
    "printf",
    "read",
    "readarray",
    "readonly",
    "test",
    "typeset",
    "unset",
    "wait",
];

impl CommandAnalysis {
    /// Reads the substitutions that run in the subscripts of a command's words. A number may be a variable
    /// that holds one, so assignments count, too.
    pub(super) fn read_subscripts(&mut self, words: &[Word], depth: usize) {
        let Some(program) = words.first() else { return };
        let evaluates = EVALUATE.contains(&program.text.as_str());
        for word in words {
            if !(has_substitution(&word.text) && (evaluates || is_assignment(&word.text))) {
                continue;
            }
            // Single quotes protect nothing in a subscript.
            self.read_substitutions(&word.text.replace('\'', ""), depth);
        }
    }

    /// Reads the substitutions in a text that bash expands although it was quoted. No star of an allow rule
    /// covers the line from now on.
    pub(super) fn read_substitutions(&mut self, text: &str, depth: usize) {
        self.beyond_stars = true;
        let Some(deeper) = depth.checked_sub(1) else {
            self.hides = true;
            return;
        };
        // A comment cannot begin in it.
        let text = if self.expands_twice {
            text.replace('#', " ")
        } else {
            text.to_owned()
        };
        for inner in lex(&text, self.expands_twice).inner {
            self.line(&inner.text, deeper);
        }
    }
}

/// Returns whether a substitution follows a bracket of a word without its quotes. A substitution outside of
/// quotes has no text in the word.
fn has_substitution(word: &str) -> bool {
    word.split_once('[')
        .is_some_and(|(_, inside)| inside.contains("$(") || inside.contains('`'))
}

#[cfg(test)]
mod tests {
    use super::super::{read, read_as};

    #[test]
    fn what_runs_in_a_subscript_is_found() {
        for line in [
            "test -v 'x[$(rm y)]'",
            "[ -v 'x[$(rm y)]' ]",
            "[[ 'x[$(rm y)]' -eq 1 ]]",
            "printf -v 'x[`rm y`]' a",
            "declare -i x='y[$(rm y)]'",
            "let 'x[$(rm y)]=1'",
            "unset \"x[\\$(rm y)]\"",
            "command test -v 'x['\"'\"'$(rm y)'\"'\"']'",
            "x='y[$(rm y)]'; ((x))",
        ] {
            let reading = read(line);
            assert!(reading.beyond_stars, "{line}");
            assert!(
                reading.commands.iter().any(|words| words == "rm y"),
                "{line} {reading:?}"
            );
        }
        for line in ["grep '[$(rm y)]' z", "test -f 'x[1]'", "echo 'x[`rm y`]'"] {
            let reading = read(line);
            assert!(!reading.beyond_stars, "{line}");
            assert!(!reading.commands.iter().any(|words| words == "rm y"), "{line}");
        }
        let before = read_as("test -v 'x[$(rm y)]'", 6);
        assert!(!before.beyond_stars && !before.commands.iter().any(|words| words == "rm y"));
    }
}
