//! Parts of a line that need no rule beside the commands that rules allow, because each of them would run
//! without a question if it were the whole line: `npm test && ls src` with a rule for `npm test`. From
//! version 9 of the rules on.
//!
//! A part is a whole pipe, and shows names and states only (`ls`, `git status`, `git diff --stat`). Content
//! of files would be shown outside of the sandbox in which a line that only reads runs, and the commands of
//! the rules may put links in the places of files that were looked at before. No part counts if a command of
//! the line may change what later words mean: `cd sub`, `export`, `alias`, `source`.

use std::ops::Range;

use agentx_types::{Rule, since};

use super::{CallSubject, is_exact};
use crate::commands::command_split::{CommandLine, only_reads_input, take_apart_as, without_redirections};
use crate::commands::reading_commands::{ReadingLine, reading_line};
use crate::pattern::fits;
use crate::tools::described_tools;

/// Programs that show names, numbers and states, but no content of files.
const NAMING: &[&str] = &[
    "basename", "dirname", "du", "find", "git", "ls", "pwd", "stat", "tree", "wc", "which",
];

/// Words with which a command may change the shell that runs the rest of the line.
const CHANGING_SHELL: &[&str] = &[
    ".",
    "[[",
    "alias",
    "bind",
    "builtin",
    "case",
    "cd",
    "command",
    "complete",
    "coproc",
    "declare",
    "do",
    "done",
    "elif",
    "else",
    "enable",
    "esac",
    "eval",
    "exec",
    "export",
    "fi",
    "for",
    "function",
    "getopts",
    "hash",
    "if",
    "let",
    "local",
    "mapfile",
    "popd",
    "printf",
    "pushd",
    "read",
    "readarray",
    "readonly",
    "select",
    "set",
    "shopt",
    "source",
    "then",
    "time",
    "trap",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
    "until",
    "wait",
    "while",
];

/// The parts of a line that rules allow, and what the other parts read.
pub(super) struct RuleCoverage {
    /// The rules by their places.
    pub(super) rules: Vec<usize>,
    /// The effects of the parts that only read; `None` if rules cover the whole line.
    pub(super) reading: Option<ReadingLine>,
}

impl CallSubject<'_> {
    /// The rules that together allow every part of the call.
    ///
    /// A rule that allows the entire call is enough. Otherwise each command of the line needs a rule, or is
    /// one that needs none, and a line that cannot be split with certainty has no parts.
    pub(crate) fn allowed_by(&self, rules: &[Rule]) -> Option<Vec<usize>> {
        self.coverage(rules).map(|coverage| coverage.rules)
    }

    /// The rules that together allow the call, and the effects of the parts without a rule.
    fn coverage(&self, rules: &[Rule]) -> Option<RuleCoverage> {
        let rules: Vec<(usize, &Rule)> = rules
            .iter()
            .enumerate()
            .filter(|(_, rule)| self.allows_here(rule))
            .collect();
        // For rules that a person kept in this project, the question had named the program that Git runs.
        let whole = |(_, rule): &&(usize, &Rule)| match &rule.argument {
            _ if self.server_tool().is_some() && rule.tool == described_tools::MCP => {
                self.is_named_by_server(rule) == Some(true)
            }
            None => self.written_file().is_none(),
            Some(pattern) if self.runs_commands() => {
                (pattern == "*" && self.secret().is_none() && self.written_file().is_none())
                    || (self.is_whole(pattern)
                        && self.unnamed_option_of_line(pattern).is_none()
                        && (rule.workspace.is_some() || self.git_runs().is_none()))
            }
            Some(pattern) => fits(pattern, &self.argument) || self.reaches_only(pattern),
        };
        if let Some((index, _)) = rules.iter().find(whole) {
            let rules = vec![*index];
            return Some(RuleCoverage { rules, reading: None });
        }
        let line = self
            .runs_commands()
            .then(|| take_apart_as(&self.argument, self.version))?;
        if !line.certain || line.commands.is_empty() || self.reading().beyond_stars {
            return None;
        }
        let (mut used, mut left) = (Vec::new(), Vec::new());
        for (at, command) in line.commands.iter().enumerate() {
            // A command that "always" kept word for word was seen without input from a pipe, which may be
            // commands for an interpreter.
            let is_fed = self.version >= since::FED_COMMANDS_NEED_A_STAR && line.fed.contains(&at);
            let forms = self.forms(command);
            let covering = rules.iter().find(|(_, rule)| {
                rule.argument.as_ref().is_some_and(|pattern| {
                    !(is_fed && is_exact(pattern))
                        && forms.iter().any(|form| self.covers_command(pattern, form))
                        && !self.leaves_folder_of(rule)
                })
            });
            match covering {
                Some((index, _)) if used.contains(index) => {}
                Some((index, _)) => used.push(*index),
                None if self.needs_no_rule(&line, at) => {}
                None => left.push(at),
            }
        }
        let reading = match left.as_slice() {
            [] => None,
            left => Some(self.reading_of(&line, left)?),
        };
        (!used.is_empty()).then_some(RuleCoverage { rules: used, reading })
    }

    /// The effects of the parts of the line that run beside commands of these rules only because they read
    /// the workspace; `None` if there are none, or the line is not allowed.
    pub(crate) fn read_beside_rules(&self, rules: &[Rule]) -> Option<ReadingLine> {
        self.coverage(rules)?.reading
    }

    /// The effects of the commands at the places `left`, which no rule covers, if each of them needs none.
    pub(super) fn reading_of(&self, line: &CommandLine, left: &[usize]) -> Option<ReadingLine> {
        if !self.may_read_beside_rules(line, left) {
            return None;
        }
        let mut whole = ReadingLine::default();
        for pipe in pipes(line).into_iter().filter(|pipe| holds_any(pipe, left)) {
            let reading = self.reading_of_pipe(line, &pipe)?;
            whole.programs.extend(reading.programs);
        }
        Some(whole)
    }

    /// The places among `left` of the commands that need a rule.
    pub(super) fn needing_rules(&self, line: &CommandLine, left: Vec<usize>) -> Vec<usize> {
        if !self.may_read_beside_rules(line, &left) {
            return left;
        }
        let pipes = pipes(line);
        let reads = |at: &usize| {
            let pipe = pipes.iter().find(|pipe| pipe.contains(at));
            pipe.is_some_and(|pipe| self.reading_of_pipe(line, pipe).is_some())
        };
        let needing = left.iter().filter(|at| !reads(at));
        needing.copied().collect()
    }

    /// Returns whether parts of this line may run without a rule: no other command changes what their words
    /// mean.
    fn may_read_beside_rules(&self, line: &CommandLine, left: &[usize]) -> bool {
        let keeps_meaning = |(at, command): (usize, &String)| {
            left.contains(&at) || self.needs_no_rule(line, at) || keeps_shell(command)
        };
        self.version >= since::READING_NEEDS_NO_RULE
            && line.certain
            && self.may_read_unasked()
            && line.commands.iter().enumerate().all(keeps_meaning)
    }

    /// The effects of a pipe that shows names and states, and no content of files; `None` for any other.
    fn reading_of_pipe(&self, line: &CommandLine, pipe: &Range<usize>) -> Option<ReadingLine> {
        let commands = line.commands.get(pipe.clone())?;
        let reading = reading_line(&commands.join(" | "), self.workspace, self.version)?;
        let shows_names = |(at, command): (usize, &String)| {
            let command = without_redirections(command);
            let program = command.split(' ').next().unwrap_or_default();
            // `git blame` shows the lines of a file.
            let is_naming = NAMING.contains(&program) && command.split(' ').all(|word| word != "blame");
            is_naming || (at > 0 && only_reads_input(command))
        };
        let shows_content = !reading.searched.is_empty() || !reading.listings.is_empty();
        (!shows_content && commands.iter().enumerate().all(shows_names)).then_some(reading)
    }
}

/// The places of the commands of each pipe of a line, in order.
fn pipes(line: &CommandLine) -> Vec<Range<usize>> {
    let mut pipes: Vec<Range<usize>> = Vec::new();
    for at in 0..line.commands.len() {
        match pipes.last_mut() {
            Some(last) if line.fed.contains(&at) => last.end = at + 1,
            _ => pipes.push(at..at + 1),
        }
    }
    pipes
}

fn holds_any(pipe: &Range<usize>, places: &[usize]) -> bool {
    places.iter().any(|at| pipe.contains(at))
}

/// Returns whether a command runs a program, and leaves the shell as it is for the commands after it.
fn keeps_shell(command: &str) -> bool {
    let is_plain = |word: &str| {
        word.chars()
            .all(|c| c.is_ascii_alphanumeric() || "_-+./:=,".contains(c))
    };
    let mut words = command
        .split(' ')
        .skip_while(|word| word.contains('=') && is_plain(word));
    words
        .next()
        .is_some_and(|word| is_plain(word) && !word.contains('=') && !CHANGING_SHELL.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_programs_leave_the_shell_as_it_is() {
        for command in ["npm test", "CI=1 npm test", "./run.sh", "timeout 60 make"] {
            assert!(keeps_shell(command), "{command}");
        }
        for command in [
            "cd sub",
            "PATH=.",
            "export A=b",
            "source x",
            ". x",
            "A=$B make",
            "\\cd sub",
            "'cd' sub",
            "if make",
            "$X y",
        ] {
            assert!(!keeps_shell(command), "{command}");
        }
    }

    #[test]
    fn a_line_is_one_pipe_after_another() {
        let line = crate::commands::command_split::take_apart("a | b && c; d | e | f");
        assert_eq!(pipes(&line), [0..2, 2..3, 3..6]);
    }
}
