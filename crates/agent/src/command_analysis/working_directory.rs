//! Folders in which a command works because of its options: `env -C DIR cat x`, `tar -C DIR -c x`, `find DIR
//! -execdir cat x`.
//!
//! Each relative name of the command is noted below them as well, beside the present folder: which names a
//! program looks for there differs from program to program. An option that is listed here in vain costs a
//! comparison.

use super::expand::STAR;
use super::word::{ANYTHING, Word};
use super::wrapper_commands::basename;

/// Maximum number of folders of a line or a command to check. With more of them, it may be any folder.
pub(super) const MOST_FOLDERS: usize = 16;
/// A folder that may be any: two stars.
pub(super) const ANYWHERE: &str = "/\u{1}\u{1}";
const _: () = assert!(STAR == '\u{1}', "ANYWHERE is made of stars");

/// Letters of options whose value is a folder: of `env`, `tar`, `make`, `git`, `sudo`, `docker`, `unzip`, `wget`, `unshare`.
const LETTERS: &[char] = &['C', 'D', 'w', 'd', 'P', 'R', 't', 'r'];

/// Long options whose value is a folder; their beginnings count as well.
const LONG: &[&str] = &[
    "--base-directory",
    "--chdir",
    "--chroot",
    "--cwd",
    "--dir",
    "--directory",
    "--directory-prefix",
    "--git-dir",
    "--output-dir",
    "--prefix",
    "--project-directory",
    "--root",
    "--target-directory",
    "--wd",
    "--work-tree",
    "--workdir",
    "--working-dir",
    "--working-directory",
];

/// Variables that say where a program works.
const VARIABLES: &[&str] = &[
    "GIT_DIR",
    "GIT_WORK_TREE",
    "CDPATH",
    "PWD",
    "OLDPWD",
    "HOME",
    "WorkingDirectory",
];

/// Returns the folders in which a command works, as names with marks for unknown parts.
pub(super) fn working_folders(words: &[Word]) -> Vec<String> {
    let mut found = Vec::new();
    let mut takes_next = 0_usize;
    let mut note = |word: &Word, skip: usize| {
        let names = match word.names() {
            names if names.is_empty() => vec![word.text.clone()],
            names => names,
        };
        let folders = names.iter().filter_map(|name| {
            let mut chars = name.chars();
            chars.by_ref().take(skip).for_each(drop);
            let folder = chars.as_str();
            (!folder.is_empty() && folder.len() < 1000).then(|| folder.trim_end_matches('/').to_owned())
        });
        found.extend(folders);
    };
    for word in words {
        let text = word.text.as_str();
        if takes_next > 0 {
            takes_next -= 1;
            note(word, 0);
        }
        match text.strip_prefix('-') {
            Some(long) if long.starts_with('-') || long.starts_with("chdir") => {
                let long = if long.starts_with('-') {
                    text.to_owned()
                } else {
                    format!("-{text}")
                };
                let (name, value) = long
                    .split_once('=')
                    .map_or((&*long, None), |(name, value)| (name, Some(value)));
                let is_one = name.len() > 3 && LONG.iter().any(|option| option.starts_with(name));
                match value {
                    Some(_) if is_one => {
                        note(word, text.find('=').map_or(0, |at| text[..=at].chars().count()))
                    }
                    None if is_one => takes_next = 1,
                    _ => {}
                }
            }
            Some(short) => {
                let at = short
                    .chars()
                    .take(MOST_LETTERS)
                    .position(|c| LETTERS.contains(&c));
                if let Some(at) = at {
                    takes_next = takes_next.max(1);
                    note(word, at + 2);
                }
            }
            None => {
                let name = text.split('=').next().unwrap_or_default();
                if name.len() < text.len() && VARIABLES.contains(&name) {
                    note(word, name.len() + 1);
                }
            }
        }
    }
    found.extend(positional_directories(words));
    if found.len() > MOST_FOLDERS {
        found.truncate(MOST_FOLDERS);
        found.push(ANYWHERE.to_owned());
    }
    found
}

/// Letters of one word that are looked at.
const MOST_LETTERS: usize = 8;

/// The folders that a command is told by the place of a word: of `find` before its tests, of `chroot`, and of `tar` without a dash.
fn positional_directories(words: &[Word]) -> Vec<String> {
    let mut found = Vec::new();
    for (at, word) in words.iter().take(MOST_LETTERS).enumerate() {
        let rest = &words[at + 1..];
        let given: &[Word] = match basename(&word.text) {
            "find" => {
                let hands_on = |word: &Word| word.text.starts_with("-exec") || word.text.starts_with("-ok");
                if rest.iter().any(hands_on) { rest } else { &[] }
            }
            "chroot" | "rsync" => rest,
            "tar" | "bsdtar" if rest.first().is_some_and(|word| word.text.contains('C')) => rest,
            _ => &[],
        };
        let words = given
            .iter()
            .take(MOST_FOLDERS)
            .filter(|word| !word.text.starts_with('-'));
        for word in words {
            match word.names() {
                names if names.is_empty() => found.push(word.text.clone()),
                names => found.extend(names),
            }
        }
    }
    found.retain(|folder| !folder.is_empty() && !folder.starts_with(ANYTHING) && folder.len() < 1000);
    found
}
