//! Finds words that a shell replaces by names of files, of which one may be an option: with a file named
//! `--output=x`, `git log *` is `git log --output=x`. From version 9 of the rules on.
//!
//! | words | may become an option |
//! | --- | --- |
//! | `git log *`, `git log *.rs`, `git log ?x`, `git log {a,*}` | yes |
//! | `git log -*`, `git log --o*` | yes, another one than is written |
//! | `git log src/*`, `git log ./*`, `git log a*` | no: the beginning of each name is known |
//! | `git log --format=*` | no: only the value changes |
//! | `git log -- *` | no: Git takes what follows for files |
//! | `git grep -e -- *` | yes: `--` is the pattern that is looked for |
//! | `find -- *` | yes: `find` takes what follows for expressions |

use super::CommandAnalysis;
use super::lex::expand::{ANYTHING, STAR};
use super::lex::word::Word;
use super::programs::wrapper_commands::basename;

/// A word of a command that may become an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OptionGlob {
    /// The program, as it is written.
    pub(crate) program: String,
    /// The word, without quotes.
    pub(crate) word: String,
}

/// Programs that take what follows `--` for files, with any options before it.
#[rustfmt::skip]
const END_OPTIONS: &[&str] = &[
    "chgrp", "chmod", "chown", "cp", "diff", "git", "gzip", "install", "ln", "mkdir", "mv", "rm", "rmdir", "sed", "shuf", "sort",
    "touch", "xargs",
];

/// Subcommands of Git with an option of one letter that takes `--` for its value, although the letter is
/// below.
const WITHOUT_END_OF_GIT: &[&str] = &["am", "apply", "format-patch"];

/// Letters of options that take no value in the next word, or only a number.
const FLAG_LETTERS: &str = "Rafhilnpqrsuvwz";

/// Long options that take no value.
#[rustfmt::skip]
const FLAGS: &[&str] = &[
    "--all", "--cached", "--check", "--count", "--files-with-matches", "--follow", "--force", "--ignore-case", "--line-number",
    "--modified", "--name-only", "--name-status", "--no-color", "--no-pager", "--numstat", "--oneline", "--others", "--patch",
    "--porcelain", "--quiet", "--recursive", "--reverse", "--short", "--shortstat", "--staged", "--stat", "--summary", "--update",
    "--verbose", "--word-regexp",
];

impl CommandAnalysis {
    /// Records the words of a command that may become options of its program.
    pub(super) fn note_option_globs(&mut self, words: &[Word]) {
        let Some((program, arguments)) = words.split_first().filter(|_| self.expands_twice) else {
            return;
        };
        let has_end = has_end_of_options(basename(&program.text), arguments);
        let mut before: Option<&Word> = None;
        for word in arguments {
            let is_end = has_end && word.text == "--" && !word.dynamic;
            if is_end && !before.is_some_and(may_take_the_next) {
                return;
            }
            if may_become_an_option(word) {
                self.option_globs.push(OptionGlob {
                    program: program.text.clone(),
                    word: word.text.clone(),
                });
            }
            before = Some(word);
        }
    }
}

/// Returns whether `--` ends the options of a program with these words.
fn has_end_of_options(program: &str, arguments: &[Word]) -> bool {
    let is_other = |word: &Word| WITHOUT_END_OF_GIT.contains(&word.text.as_str());
    END_OPTIONS.contains(&program) && !(program == "git" && arguments.iter().any(is_other))
}

/// Returns whether a word in front of `--` may be an option that takes it for its value.
fn may_take_the_next(word: &Word) -> bool {
    let text = word.text.as_str();
    if word.dynamic || text.starts_with("--") {
        return word.dynamic || !(text.contains('=') || FLAGS.contains(&text));
    }
    let letters = text.strip_prefix('-').unwrap_or_default();
    let ends_with_a_number = letters.ends_with(|c: char| c.is_ascii_digit());
    !ends_with_a_number && letters.chars().any(|letter| !FLAG_LETTERS.contains(letter))
}

/// Returns whether a shell may replace a word by an option that is not written in it.
fn may_become_an_option(word: &Word) -> bool {
    // Without variables the mark stands for names that are too many to list.
    let has_variables = word.shape.contains(ANYTHING);
    let is_glob = |c: char| c == STAR || (c == ANYTHING && !has_variables);
    word.names().iter().any(|name| {
        // A variable may be empty.
        let name = name.trim_start_matches(|c: char| has_variables && c == ANYTHING);
        let option = name.split('=').next().unwrap_or_default();
        name.starts_with(is_glob) || (name.starts_with('-') && option.contains(is_glob))
    })
}

#[cfg(test)]
mod tests {
    use super::super::{read, read_as};

    fn globs(line: &str) -> Vec<String> {
        let globs = read(line).option_globs;
        let pairs = globs.iter().map(|glob| format!("{} {}", glob.program, glob.word));
        pairs.collect()
    }

    #[test]
    fn a_name_may_become_an_option_if_its_beginning_is_not_known() {
        for (line, found) in [
            ("git log *", &["git *"][..]),
            ("git log *.rs ?x [ab]c", &["git *.rs", "git ?x", "git [ab]c"]),
            ("git log {a,*}", &["git {a,*}"]),
            ("git log -* --o*", &["git -*", "git --o*"]),
            ("git log ''*", &["git *"]),
            ("git log $X*", &["git $X*"]),
            ("git grep -e -- *", &["git *"]),
            ("git apply -p -- *", &["git *"]),
            ("find -- * -name x", &["find *"]),
            ("timeout 60 git log *", &["git *"]),
            ("sh -c 'git log *'", &["git *"]),
            ("echo $(git log *)", &["git *"]),
            ("find . -exec git log * \\;", &["find *", "git *"]),
            ("/usr/bin/sort *", &["/usr/bin/sort *"]),
        ] {
            let all = globs(line);
            let mut said: Vec<&str> = all.iter().map(String::as_str).collect();
            said.sort_unstable();
            said.dedup();
            let mut wanted = found.to_vec();
            wanted.sort_unstable();
            assert_eq!(said, wanted, "{line}");
        }
    }

    #[test]
    fn a_known_beginning_a_quote_and_a_mark_before_files_keep_a_name_from_becoming_an_option() {
        for line in [
            "git log src/*.rs ./* a* ~/x*",
            "git log '*.rs' \"*\" \\*",
            "git log {a,b}",
            "git log --format=* x",
            "git log -- *",
            "git log --stat -p -n5 -- *",
            "rm -rf -- *",
            "find . -exec x {} \\;",
            "git stash show stash@{0}",
            "[ -f x ]",
        ] {
            assert!(globs(line).is_empty(), "{line}: {:?}", globs(line));
        }
        assert!(read_as("git log *", 8).option_globs.is_empty());
    }
}
