//! Options in rules that deny or ask, regardless of the way in which they are written.
//!
//! Short options are compared as sets: `rm -fr x`, `rm -r -f x` and `rm x -rf` match a rule about `rm -rf *`.
//! Long options are recognized by their beginning: `git reset --har` matches a rule about `git reset --hard`.
//! Used only if a rule restricts, never to allow more.
//!
//! | rule | command | split into | fits |
//! | --- | --- | --- | --- |
//! | `rm -rf *` | `rm -r x --force` | letters `r`, `f`; words `rm x` | yes |
//! | `rm -rf *` | `rm -r x` | letters `r`; words `rm x` | no |
//! | `git reset --hard*` | `git reset --har` | in full: `git reset --hard` | yes |

mod any_position;

use agentx_types::since;
use std::borrow::Cow;

pub(crate) use any_position::{fits_anywhere, may_fit_anywhere};

use crate::commands::command_analysis::{ANYTHING, may_fit};
use crate::commands::long_options::is_beginning_of;
use crate::pattern::fits;

/// Words with more letters are taken for one long option: `-name`, `-maxdepth`.
const MOST_LETTERS: usize = 4;

/// Long options and their short equivalents.
const SAME: &[(&str, &[(&str, char)])] = &[
    ("rm", &[("--recursive", 'r'), ("--force", 'f'), ("--dir", 'd')]),
    ("git", &[("--force", 'f'), ("--delete", 'd'), ("--all", 'a')]),
    ("chmod", &[("--recursive", 'R')]),
    ("chown", &[("--recursive", 'R')]),
    ("cp", &[("--recursive", 'r'), ("--force", 'f')]),
];

/// A command without its short options, and their letters. Options of [`SAME`] count by their letter.
struct ShortOptions<'c> {
    /// The command without its options.
    words: String,
    /// Letters of its options, as they come.
    letters: Vec<char>,
    /// The options that are not short ones, if they are taken apart too.
    long: Vec<&'c str>,
}

/// Returns whether a command has all the short options of `pattern`, in any order and grouping, or its long
/// ones by their beginning, and otherwise fits it. `false` for a pattern without options.
pub(crate) fn fits_by_options(pattern: &str, command: &str, version: u32) -> bool {
    let has = |letters: &[char], wanted: &char| letters.contains(wanted);
    fits_by(pattern, command, has, fits, version)
}

/// Returns whether a partly unknown command may have the options of `pattern` and otherwise fit it: unknown
/// parts may be options.
pub(crate) fn may_fit_by_options(pattern: &str, open: &str, version: u32) -> bool {
    let known = |letters: &[char], wanted: &char| letters.contains(wanted) || open.contains(ANYTHING);
    fits_by(pattern, open, known, may_fit, version)
}

/// Tries the long options in full, then the short ones as a set; `has` and `fits` decide whether that is
/// enough.
fn fits_by(
    pattern: &str,
    command: &str,
    has: impl Fn(&[char], &char) -> bool,
    fits: impl Fn(&str, &str) -> bool,
    version: u32,
) -> bool {
    let whole = match version {
        since::SHORTENED_OPTIONS.. => expand_long_options(pattern, command),
        _ => Cow::Borrowed(command),
    };
    if matches!(whole, Cow::Owned(_)) && fits(pattern, &whole) {
        return true;
    }
    let wanted = split_short_options(pattern, version);
    if wanted.letters.is_empty() {
        return false;
    }
    let command = split_short_options(&whole, version);
    wanted.letters.iter().all(|letter| has(&command.letters, letter)) && fits(&wanted.words, &command.words)
}

/// The command with its shortened long options written in full, as far as the pattern has them. Words behind
/// `--` are not options.
fn expand_long_options<'c>(pattern: &str, command: &'c str) -> Cow<'c, str> {
    let long = pattern
        .split(' ')
        .filter(|word| word.len() > 2 && word.starts_with("--"));
    let known: Vec<&str> = long
        .map(|word| word.split(['=', '*']).next().unwrap_or_default())
        .collect();
    let full = |word: &str| known.iter().find(|option| is_beginning_of(word, option)).copied();
    let end = command.find(" -- ").unwrap_or(command.len());
    let (options, rest) = command.split_at(end);
    if known.is_empty() || !options.split(' ').any(|word| full(word).is_some()) {
        return Cow::Borrowed(command);
    }
    let words: Vec<Cow<'_, str>> = options
        .split(' ')
        .map(|word| match full(word) {
            Some(option) => {
                let value = word.find('=').map_or("", |at| &word[at..]);
                Cow::Owned(format!("{option}{value}"))
            }
            None => Cow::Borrowed(word),
        })
        .collect();
    Cow::Owned(words.join(" ") + rest)
}

/// Splits a command into its words and the letters of its options. `-R` of `rm` counts as `-r`.
fn split_short_options(command: &str, version: u32) -> ShortOptions<'_> {
    split_options(command, version, false)
}

/// Splits a command as [`split_short_options`] does; with `all`, long options are split, too.
fn split_options(command: &str, version: u32, all: bool) -> ShortOptions<'_> {
    let shortest = if version >= since::SHORTENED_OPTIONS { 3 } else { 4 };
    let program = command.split([' ', ANYTHING]).next().unwrap_or_default();
    let same = SAME.iter().find(|(name, _)| *name == program);
    let same = same.map_or(&[][..], |(_, same)| same);
    let mut apart = ShortOptions {
        words: String::new(),
        letters: Vec::new(),
        long: Vec::new(),
    };
    let mut ended = false;
    for word in command.split(' ') {
        ended |= word == "--";
        let short = word.strip_prefix('-').filter(|letters| {
            (1..=MOST_LETTERS).contains(&letters.len()) && letters.chars().all(|c| c.is_ascii_alphabetic())
        });
        // GNU programs take the beginning of a long option for it.
        let long = same
            .iter()
            .find(|(long, _)| word.len() >= shortest && long.starts_with(word));
        match (short.filter(|_| !ended), long.filter(|_| !ended)) {
            (Some(letters), _) => apart.letters.extend(letters.chars()),
            (None, Some((_, letter))) => apart.letters.push(*letter),
            (None, None) if all && !ended && word.len() > 1 && word.starts_with('-') => apart.long.push(word),
            (None, None) => {
                if !apart.words.is_empty() {
                    apart.words.push(' ');
                }
                apart.words.push_str(word);
            }
        }
    }
    if program == "rm" {
        apart
            .letters
            .iter_mut()
            .filter(|c| **c == 'R')
            .for_each(|c| *c = 'r');
    }
    apart
}

#[cfg(test)]
mod tests {
    use agentx_types::RULES_VERSION;

    use super::*;

    #[test]
    fn short_options_are_a_set() {
        for (pattern, command, fits) in [
            ("rm -rf *", "rm -fr x", true),
            ("rm -rf *", "rm -r -f x", true),
            ("rm -rf *", "rm x -vfr", true),
            ("rm -rf *", "rm -Rf x", true),
            ("rm -rf *", "rm --recursive --force x", true),
            ("rm -rf *", "rm --rec -f x", true),
            ("rm -rf *", "rm -r x", false),
            ("rm -rf *", "rm -r -- -f", false),
            ("rm -rf *", "ls -fr x", false),
            ("git push -f *", "git push origin --force", true),
            ("git push -f *", "git push origin", false),
            ("git clean -fdx", "git clean -x -fd", true),
            ("find -name *", "find . -maxdepth 1", false),
            ("rm *", "rm -r x", false),
        ] {
            assert_eq!(
                fits_by_options(pattern, command, RULES_VERSION),
                fits,
                "{pattern:?} {command:?}"
            );
        }
        assert!(may_fit_by_options("rm -rf *", "rm -f\0", RULES_VERSION));
        assert!(!may_fit_by_options("rm -rf *", "rm -f x", RULES_VERSION));
    }

    #[test]
    fn a_shortened_long_option_is_the_one_that_it_begins() {
        for (pattern, command, fits) in [
            ("git reset --hard *", "git reset --har HEAD~1", true),
            ("git reset --hard", "git reset --h", true),
            ("git commit --no-verify *", "git commit --no-verif -m x", true),
            ("git grep --open-files-in-pager=*", "git grep --open=less x", true),
            ("git branch --delete --force *", "git branch --del --forc x", true),
            ("rm -rf *", "rm --r --f x", true),
            ("git push --force-with-lease *", "git push --force x", false),
            ("git reset --hard *", "git reset -- --har", false),
            ("git reset --hard *", "git reset --soft x", false),
            ("git reset --hard *", "git reset -- x", false),
        ] {
            assert_eq!(
                fits_by_options(pattern, command, RULES_VERSION),
                fits,
                "{pattern:?} {command:?}"
            );
            let is_new = fits && pattern.contains("--") && !pattern.starts_with("git branch");
            assert!(
                !is_new || !fits_by_options(pattern, command, 8),
                "{pattern:?} {command:?}"
            );
        }
    }
}
