//! Finds words of a command line that may become options by the names of files
//! ([`OptionGlob`](crate::commands::command_analysis::OptionGlob)), and that a rule does not cover.
//!
//! | rule | covers such a word of |
//! | --- | --- |
//! | without an argument, or `*` | any program |
//! | with a star: `git *` | programs that only read, whatever their options are: `ls *.rs` |
//! | the whole line, which "always" kept: `rm \*.o` | these, and programs without a known option that runs or writes |
//!
//! A person who approved a line saw the star in it, and not the files that will have been added since.

use agentx_types::since;

use super::{CallSubject, is_exact};
use crate::commands::command_analysis::{OptionGlob, basename, read_within};
use crate::commands::severity::has_dangerous_options;

/// Programs without an option that writes, sends or runs something.
#[rustfmt::skip]
const ONLY_READ: &[&str] = &[
    "basename", "cat", "cksum", "cmp", "comm", "cut", "dirname", "du", "echo", "egrep", "expand", "fgrep", "fold", "grep", "head",
    "jq", "ls", "md5sum", "nl", "od", "paste", "readlink", "realpath", "rev", "sha1sum", "sha256sum", "sha512sum", "stat", "tac",
    "tail", "tr", "wc",
];

/// Interpreters and compilers, of which an option runs code or names a file with options. No star is checked
/// beside them, so they are not in the lists of dangerous options.
#[rustfmt::skip]
const RUN_CODE: &[&str] = &[
    "bash", "c++", "cc", "clang", "clang++", "dash", "fish", "g++", "gcc", "java", "javac", "julia", "ksh", "ld", "lua", "osascript",
    "perl", "php", "ruby", "scala", "sh", "swift", "tclsh", "zsh",
];

impl CallSubject<'_> {
    /// The first word of one command that may become an option and that a rule with this pattern does not
    /// cover.
    pub(super) fn unnamed_option(&self, pattern: &str, command: &str) -> Option<String> {
        if self.version < since::NAMES_BECOME_OPTIONS {
            return None;
        }
        let reading = read_within(self.reading(), command, self.version);
        first_uncovered(pattern, &reading.option_globs)
    }

    /// The first such word of the whole line.
    pub(super) fn unnamed_option_of_line(&self, pattern: &str) -> Option<String> {
        if self.version < since::NAMES_BECOME_OPTIONS {
            return None;
        }
        first_uncovered(pattern, &self.reading().option_globs)
    }
}

/// The first word that a rule with this pattern does not cover, behind the name of its program.
fn first_uncovered(pattern: &str, globs: &[OptionGlob]) -> Option<String> {
    let is_covered = |glob: &&OptionGlob| {
        if is_exact(pattern) {
            let name = basename(&glob.program);
            !has_dangerous_options(name) && !RUN_CODE.contains(&name)
        } else {
            only_reads(&glob.program)
        }
    };
    let first = globs.iter().find(|glob| !is_covered(glob))?;
    Some(format!("{} {}", basename(&first.program), first.word))
}

/// Returns whether a program is one that only reads, and not a file of the workspace with its name.
fn only_reads(program: &str) -> bool {
    let name = ["/usr/bin/", "/bin/"]
        .iter()
        .find_map(|folder| program.strip_prefix(folder));
    ONLY_READ.contains(&name.unwrap_or(program))
}
