//! Finds the commands of a line that are given input: by a pipe, a redirection, a here-document. A group
//! hands its input on to all that is in it.
//!
//! A command that is given input and may run it hides commands (`data`). So this errs to one side: where it
//! is not looked at which command of a group reads, all of them do.
//!
//! | line | commands that are given input |
//! | --- | --- |
//! | `a \| b` | `b` |
//! | `a \| { b; c; }` | `b` and `c` |
//! | `a < x; b` | `a` |
//! | `while read y; do b; done < x` | all of them |

use super::data_consumers::lists_names;
use super::lex::{Lexed, Lexer};

/// Words after which a group begins, which has one input.
const GROUPS: &[&str] = &["{", "while", "until", "if", "for", "case", "select"];
/// Words that end one.
const GROUP_ENDS: &[&str] = &["}", "done", "fi", "esac"];

/// The commands of a line that are given input.
pub(super) struct FedCommands {
    /// For each command, by its place in the line.
    each: Vec<bool>,
    /// Whether all of them are: the line is given input itself, or a group is whose commands are not told
    /// apart.
    all: bool,
}

impl FedCommands {
    /// Finds the commands that are given input. `all`: whether the whole line is.
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
                // What a group reads its commands read; which they are is not looked at.
                _ => fed.all = true,
            }
        }
        for (at, words) in lexed.commands.iter().enumerate() {
            fed.each[at] |= words.first().is_some_and(|word| word.text == "coproc");
        }
        // What a function runs reads what the function is given.
        fed.all |= defines(lexed) && fed.each.contains(&true);
        fed
    }

    /// Returns whether the command at this place is given input.
    pub(super) fn command(&self, at: usize) -> bool {
        self.all || self.each.get(at).copied().unwrap_or_default()
    }

    /// Returns whether the command reads a pipe from one that lists names of files, and nothing else: such
    /// input names files that there are, and runs nothing by itself.
    pub(super) fn is_listed(&self, lexed: &Lexed, at: usize) -> bool {
        !self.all
            && lexed.piped.binary_search(&at).is_ok()
            && lexed.reads.binary_search(&at).is_err()
            && at.checked_sub(1).is_some_and(|before| {
                lexed.opened.binary_search(&before).is_err() && lists_names(&lexed.commands[before])
            })
    }

    /// Returns whether what runs within a command is given input.
    pub(super) fn inner(&self, inner: &InnerText) -> bool {
        match inner.kind {
            InnerKind::ReadsCommand => true,
            InnerKind::Command | InnerKind::Quoted => self.command(inner.at),
            InnerKind::Parameter => self.command(inner.at) && inner.text.contains(['`', '(']),
        }
    }
}

/// Returns whether the command at this place begins a group, which has one input.
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

/// A text that runs, or may, within a command line.
#[derive(Debug)]
pub(crate) struct InnerText {
    /// The text between the parentheses, braces or backticks.
    pub(crate) text: String,
    /// The place of the command that it stands in; `usize::MAX` where it stands in a here-document.
    pub(crate) at: usize,
    /// The kind of substitution.
    pub(crate) kind: InnerKind,
}

/// The kinds of substitution, by how their input is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InnerKind {
    /// `$(…)`, backticks, `<(…)`.
    Command,
    /// `>(…)`: it reads what the command writes.
    ReadsCommand,
    /// `${…}`: no command, but may have some within.
    Parameter,
    /// One in a here-document in which nothing is expanded; older rules take it for one that runs.
    Quoted,
}

impl Lexer<'_> {
    /// Notes, for each character outside of quotes, what groups and commands read: redirections of input,
    /// parentheses that open, and those that define a function.
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

    /// Notes a substitution in the command that is being read.
    pub(super) fn note_inner(&mut self, text: String, kind: InnerKind) {
        let at = self.lexed.commands.len();
        self.lexed.inner.push(InnerText { text, at, kind });
    }
}
