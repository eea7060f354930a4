//! Options of a rule at any position in a command: `git reset HEAD~1 --hard` matches a rule about `git reset
//! --hard *`, and `find . -delete -print` one about `find * -delete`. Used only if a rule restricts, never to
//! allow more.

use super::{ShortOptions, expand_long_options, split_options};
use crate::commands::command_analysis::{ANYTHING, BLANK, may_fit};
use crate::pattern::fits;

/// Options whose value is text for people: the value of a variable there is not an option.
const BEFORE_WORDS: &[&str] = &["-m", "-am", "--message", "--title", "--body"];

/// Returns whether a command has all options of `pattern`, and fits it without options. `in_words` is the
/// command with [`BLANK`] for blanks within a word. False for a pattern without long options.
pub(crate) fn fits_anywhere(pattern: &str, in_words: &str, version: u32) -> bool {
    let wanted = split_options(pattern, version, true);
    if wanted.long.is_empty() {
        return false;
    }
    let whole = expand_long_options(pattern, in_words);
    let command = split_options(&whole, version, true);
    let options = options(&whole);
    let has = |option: &&str| options.iter().any(|word| is_option(option, word, fits));
    let has_letter = |letter: &char| command.letters.contains(letter);
    wanted.letters.iter().all(has_letter)
        && wanted.long.iter().all(has)
        && fits(&wanted.words, &command.words.replace(BLANK, " "))
}

/// The same for a partly unknown command: unknown parts may be options.
pub(crate) fn may_fit_anywhere(pattern: &str, open: &str, version: u32) -> bool {
    let wanted = split_options(pattern, version, true);
    if wanted.long.is_empty() {
        return false;
    }
    let whole = expand_long_options(pattern, open);
    let ShortOptions { words, letters, .. } = split_options(&whole, version, true);
    let any = whole.split(' ').any(may_be_options);
    let options = options(&whole);
    let has = |option: &&str| options.iter().any(|word| is_option(option, word, may_fit));
    let has_letter = |letter: &char| letters.contains(letter);
    (any || (wanted.letters.iter().all(has_letter) && wanted.long.iter().all(has)))
        && may_fit(&wanted.words, &words)
}

/// Words that begin with `-`, until `--`.
fn options(command: &str) -> Vec<&str> {
    let words = command.split(' ').take_while(|word| *word != "--");
    words
        .filter(|word| word.len() > 1 && word.starts_with('-'))
        .collect()
}

/// Returns whether a word is this option of a rule; the value of one that ends in `=*` may be the next word.
fn is_option(option: &str, word: &str, fits: impl Fn(&str, &str) -> bool) -> bool {
    fits(option, word) || option.strip_suffix("=*") == Some(word)
}

/// Returns whether a word may become one or more options. A word that is only an expansion may be attached to
/// the one before.
fn may_be_options(word: &str) -> bool {
    let before = word.trim_end_matches(ANYTHING);
    word.starts_with(ANYTHING) || (word.len() > before.len() && !BEFORE_WORDS.contains(&before))
}

#[cfg(test)]
mod tests {
    use agentx_types::RULES_VERSION;

    use super::*;

    #[test]
    fn an_option_of_a_rule_is_found_wherever_it_stands() {
        for (pattern, command, fits) in [
            ("git reset --hard *", "git reset HEAD~1 --hard", true),
            ("git reset --hard *", "git reset -q HEAD~1 --hard", true),
            ("git reset --hard", "git reset --quiet --hard", true),
            ("git reset --hard *", "git reset HEAD~1 --har", true),
            (
                "git push --force-with-lease *",
                "git push origin --force-with-lease",
                true,
            ),
            (
                "git grep --open-files-in-pager=* *",
                "git grep x --open=less",
                true,
            ),
            (
                "git grep --open-files-in-pager=* *",
                "git grep x --open-files-in-pager less",
                true,
            ),
            ("find * -delete", "find . -delete -print", true),
            ("find -maxdepth *", "find . -maxdepth 1", true),
            ("rm -rf --one-file-system /", "rm / --one-file-system -r -f", true),
            ("rm -rf --one-file-system /", "rm / --one-file-system -r", false),
            ("git reset --hard *", "git reset HEAD~1 --soft", false),
            ("git reset --hard *", "git reset -- --hard", false),
            ("git reset --hard *", "git status --hard", false),
            (
                "git commit --no-verify *",
                "git commit -m \u{1}--no-verify",
                false,
            ),
            (
                "git commit --no-verify *",
                "git commit -m say\u{1}so --no-verify",
                true,
            ),
            ("git reset *", "git reset x --hard", false),
            ("rm -rf *", "rm x -rf", false),
        ] {
            let found = fits_anywhere(pattern, command, RULES_VERSION);
            assert_eq!(found, fits, "{pattern:?} {command:?}");
        }
    }

    #[test]
    fn what_is_not_known_may_be_an_option() {
        for (pattern, open, may) in [
            ("git reset --hard *", "git reset HEAD\0", true),
            ("git reset --hard *", "git reset HEAD --\0", true),
            ("git reset --hard *", "git status\0", false),
            ("git reset --hard *", "git reset --soft\0 x", true),
            ("git commit --no-verify *", "git commit -m\0", false),
            ("git commit --no-verify *", "git commit -q\0", true),
        ] {
            let found = may_fit_anywhere(pattern, open, RULES_VERSION);
            assert_eq!(found, may, "{pattern:?} {open:?}");
        }
    }
}
