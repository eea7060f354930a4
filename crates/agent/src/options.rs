//! Short options as sets: `rm -fr x`, `rm -r -f x` and `rm x -rf` are what a rule about `rm -rf *` means. For rules that deny or ask,
//! never to allow more.

use crate::pattern::fits;
use crate::reading::{ANYTHING, may_fit};

/// Words with more letters are taken for one long option: `-name`, `-maxdepth`.
const MOST_LETTERS: usize = 4;

/// Options that have a short one, as one and the same.
const SAME: &[(&str, &[(&str, char)])] = &[
    ("rm", &[("--recursive", 'r'), ("--force", 'f'), ("--dir", 'd')]),
    ("git", &[("--force", 'f'), ("--delete", 'd'), ("--all", 'a')]),
    ("chmod", &[("--recursive", 'R')]),
    ("chown", &[("--recursive", 'R')]),
    ("cp", &[("--recursive", 'r'), ("--force", 'f')]),
];

/// A command without its short options, and their letters.
struct Apart {
    words: String,
    letters: Vec<char>,
}

/// Whether a command has all the short options of `pattern`, in whatever order and grouping, and fits it otherwise. False for a
/// pattern without short options.
pub(crate) fn fits_by_options(pattern: &str, command: &str) -> bool {
    fits_by(pattern, command, |letters, wanted| letters.contains(wanted), fits)
}

/// The same for a command that is not known to the letter: what is not known may be options.
pub(crate) fn may_fit_by_options(pattern: &str, open: &str) -> bool {
    let known = |letters: &[char], wanted: &char| letters.contains(wanted) || open.contains(ANYTHING);
    fits_by(pattern, open, known, may_fit)
}

fn fits_by(
    pattern: &str,
    command: &str,
    has: impl Fn(&[char], &char) -> bool,
    fits: impl Fn(&str, &str) -> bool,
) -> bool {
    let wanted = apart(pattern);
    if wanted.letters.is_empty() {
        return false;
    }
    let command = apart(command);
    wanted.letters.iter().all(|letter| has(&command.letters, letter)) && fits(&wanted.words, &command.words)
}

fn apart(command: &str) -> Apart {
    let program = command.split([' ', ANYTHING]).next().unwrap_or_default();
    let same = SAME.iter().find(|(name, _)| *name == program);
    let same = same.map_or(&[][..], |(_, same)| same);
    let mut apart = Apart {
        words: String::new(),
        letters: Vec::new(),
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
            .find(|(long, _)| word.len() > 3 && long.starts_with(word));
        match (short.filter(|_| !ended), long.filter(|_| !ended)) {
            (Some(letters), _) => apart.letters.extend(letters.chars()),
            (None, Some((_, letter))) => apart.letters.push(*letter),
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
            assert_eq!(fits_by_options(pattern, command), fits, "{pattern:?} {command:?}");
        }
        assert!(may_fit_by_options("rm -rf *", "rm -f\0"));
        assert!(!may_fit_by_options("rm -rf *", "rm -f x"));
    }
}
