//! Programs whose second word is the action, and the options that may precede it: `git -C x push` is a `git
//! push`.

use super::wrapper_commands::basename;
use crate::commands::command_analysis::lex::word::Word;

/// Options of Git itself that take the next word.
pub(crate) const OF_GIT: &[&str] = &[
    "-C",
    "-c",
    "--attr-source",
    "--config-env",
    "--git-dir",
    "--namespace",
    "--super-prefix",
    "--work-tree",
];

/// Options of Git itself that take no word.
const FLAGS_OF_GIT: &[&str] = &[
    "--bare",
    "--literal-pathspecs",
    "--no-optional-locks",
    "--no-pager",
    "--no-replace-objects",
    "-P",
];

/// Programs whose own options may precede the action, and the options that take the next word.
const GROUPS: &[(&str, &[&str])] = &[
    ("git", OF_GIT),
    ("cargo", &["--config", "-Z", "-C", "--color"]),
    (
        "docker",
        &["-H", "--host", "-c", "--context", "--config", "-l", "--log-level"],
    ),
    (
        "kubectl",
        &[
            "-n",
            "--namespace",
            "--context",
            "--cluster",
            "-s",
            "--server",
            "--kubeconfig",
            "--user",
            "--token",
            "--as",
        ],
    ),
    ("npm", &["--prefix", "-w", "--workspace"]),
    ("pnpm", &["-C", "--dir", "--filter"]),
    ("gh", &["-R", "--repo"]),
    ("terraform", &[]),
    ("tofu", &[]),
    ("podman", &["-c", "--connection", "--url", "--log-level"]),
    ("helm", &["-n", "--namespace", "--kubeconfig", "--kube-context"]),
    ("yarn", &["--cwd"]),
    ("go", &["-C"]),
    ("systemctl", &["-H", "--host", "-M", "--machine"]),
];

/// Returns the number of words of options between a program and its subcommand; 0 if the program has none, or
/// is not listed above.
///
/// For `git -C a push` it is 2, for `git push` 0. An option that is not known to take a value counts as one
/// word.
pub(crate) fn options_before_subcommand(words: &[Word]) -> usize {
    let Some((program, arguments)) = words.split_first() else {
        return 0;
    };
    let Some((_, valued)) = GROUPS.iter().find(|(name, _)| *name == basename(&program.text)) else {
        return 0;
    };
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        if !word.text.starts_with(['-', '+']) {
            return at;
        }
        at += 1 + usize::from(valued.contains(&word.text.as_str()));
    }
    0
}

/// Returns the other positions at which the subcommand may begin: an option that is not listed may take the
/// next word or not.
pub(crate) fn other_starts(words: &[Word]) -> Vec<usize> {
    const MOST: usize = 6;
    let group = words
        .first()
        .and_then(|first| GROUPS.iter().find(|(name, _)| *name == basename(&first.text)));
    let Some((_, valued)) = group else {
        return Vec::new();
    };
    let arguments = &words[1..];
    let is_git = words
        .first()
        .is_some_and(|program| basename(&program.text) == "git");
    let mut found = Vec::new();
    for (at, word) in arguments.iter().enumerate().take(MOST * 4) {
        let is_option = |word: &Word| word.text.starts_with(['-', '+']);
        let takes_none = |word: &Word| is_git && FLAGS_OF_GIT.contains(&word.text.as_str());
        if at > 0 && !is_option(word) {
            let before = &arguments[at - 1];
            let is_value = is_option(before) && !before.text.contains('=') && !takes_none(before);
            let may_follow_value = |option: &Word| is_option(option) && !takes_none(option);
            // Behind an option, or behind a word that may be the value of one.
            let may_be = is_value || at > 1 && may_follow_value(&arguments[at - 2]);
            if may_be && !valued.contains(&before.text.as_str()) && found.len() < MOST {
                found.push(at);
            }
            if !may_be {
                break;
            }
        } else if at == 0 && !is_option(word) {
            break;
        }
    }
    found
}
