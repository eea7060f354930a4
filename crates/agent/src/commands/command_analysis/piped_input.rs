//! Finds the commands of a line that have input from a pipe, a redirection or a here-document. A group passes
//! its input on to all commands in it.
//!
//! A command that has input and may run it hides commands (`data_consumers`). This module therefore errs on
//! the safe side: if it does not know which command of a group reads the input, all of them count.
//!
//! | line | commands with input |
//! | --- | --- |
//! | `a \| b` | `b` |
//! | `a \| { b; c; }` | `b` and `c` |
//! | `a < x; b` | `a` |
//! | `while read y; do b; done < x` | all of them |

use super::lex::inner_text::{InnerKind, InnerText};
use super::lex::{Lexed, Lexer};
use super::programs::data_consumers::lists_names;

/// Words after which a group with one input begins.
const GROUPS: &[&str] = &["{", "while", "until", "if", "for", "case", "select"];
/// Words that end such a group.
const GROUP_ENDS: &[&str] = &["}", "done", "fi", "esac"];

/// The commands of a line that have input.
pub(super) struct FedCommands {
    /// Whether each command has input, by its position in the line.
    each: Vec<bool>,
    /// Whether all commands have input: that of the line itself, or of a group whose commands are not
    /// distinguished.
    all: bool,
}

impl FedCommands {
    /// Finds the commands that have input. `all`: whether the whole line has.
    pub(super) fn of(lexed: &Lexed, all: bool) -> Self {
        let count = lexed.commands.len();
        let mut fed = Self {
            each: vec![false; count],
            all: all || lexed.group_reads,
        };
        for &at in &lexed.piped {
            let end = if begins_group(lexed, at) {
                count
            } else {
                (at + 1).min(count)
            };
            fed.each[at.min(count)..end].fill(true);
        }
        for &at in &lexed.reads {
            let first = lexed.commands.get(at).and_then(|words| words.first());
            let words = lexed.commands.get(at).map_or(0, Vec::len);
            match first.map(|word| word.text.as_str()) {
                Some("exec") if words == 1 => fed.all = true,
                Some(text) if !GROUP_ENDS.contains(&text) => fed.each[at] = true,
                // The commands of a group read its input; which of them is not checked.
                _ => fed.all = true,
            }
        }
        for (at, words) in lexed.commands.iter().enumerate() {
            fed.each[at] |= words.first().is_some_and(|word| word.text == "coproc");
        }
        // The commands of a function read the input of the function.
        fed.all |= defines(lexed) && fed.each.contains(&true);
        fed
    }

    /// Returns whether the command at this position has input.
    pub(super) fn command(&self, at: usize) -> bool {
        self.all || self.each.get(at).copied().unwrap_or_default()
    }

    /// Returns whether the command reads only from a pipe whose command lists file names: such input names
    /// existing files and is not executed.
    pub(super) fn is_listed(&self, lexed: &Lexed, at: usize) -> bool {
        !self.all
            && lexed.piped.binary_search(&at).is_ok()
            && lexed.reads.binary_search(&at).is_err()
            && at.checked_sub(1).is_some_and(|before| {
                lexed.opened.binary_search(&before).is_err() && lists_names(&lexed.commands[before])
            })
    }

    /// Returns whether a substitution within a command has input.
    pub(super) fn inner(&self, inner: &InnerText) -> bool {
        match inner.kind {
            InnerKind::ReadsCommand => true,
            InnerKind::Command | InnerKind::Quoted => self.command(inner.at),
            InnerKind::Parameter => self.command(inner.at) && inner.text.contains(['`', '(']),
        }
    }
}

/// Returns whether the command at this position begins a group, which has one input.
fn begins_group(lexed: &Lexed, at: usize) -> bool {
    let words = lexed.commands.get(at).map(Vec::as_slice).unwrap_or_default();
    lexed.opened.binary_search(&at).is_ok()
        || words
            .iter()
            .take(3)
            .any(|word| GROUPS.contains(&word.text.as_str()))
}

/// Returns whether the line defines a function.
fn defines(lexed: &Lexed) -> bool {
    let mut first = lexed.commands.iter().filter_map(|words| words.first());
    lexed.defines || first.any(|word| word.text == "function")
}

impl Lexer<'_> {
    /// Notes, for each character outside of quotes, the facts that decide about the input of groups and
    /// commands: redirections of input, opening parentheses, and parentheses that define a function.
    pub(super) fn note_groups(&mut self, c: char) {
        let at = self.lexed.commands.len();
        match c {
            '<' if self.rest.starts_with('(') => {}
            '<' if self.closed => self.lexed.group_reads = true,
            '<' if self.rest.trim_start().starts_with("/dev/null") => {}
            '<' => self.lexed.reads.push(at),
            '(' => {
                self.lexed.defines |= self.rest.trim_start().starts_with(')');
                let begun = usize::from(self.word.is_some() || !self.command.is_empty());
                self.lexed.opened.push(at + begun);
            }
            _ => {}
        }
        self.closed = c == ')' || (self.closed && (c == ' ' || c == '\t' || c.is_ascii_digit()));
    }

    /// Records a substitution in the command that is being read.
    pub(super) fn note_inner(&mut self, text: String, kind: InnerKind) {
        let at = self.lexed.commands.len();
        self.lexed.inner.push(InnerText { text, at, kind });
    }
}
