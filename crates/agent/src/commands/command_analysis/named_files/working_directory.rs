//! Folders in which a command works because of its options: `env -C DIR cat x`, `tar -C DIR -c x`, `find DIR
//! -execdir cat x`.
//!
//! Each relative name of the command is recorded below these folders as well as below the present folder,
//! because programs differ in the names that they look up there. An unnecessary option in the list costs one
//! comparison.

use crate::commands::command_analysis::lex::expand::{ANYTHING, STAR};
use crate::commands::command_analysis::lex::word::Word;
use crate::commands::command_analysis::programs::wrapper_commands::basename;

/// Maximum number of folders of a line or a command to check. With more of them, any folder is possible.
pub(crate) const MOST_FOLDERS: usize = 16;
/// The name of any folder: two stars.
pub(crate) const ANYWHERE: &str = "/\u{1}\u{1}";
const _: () = assert!(STAR == '\u{1}', "ANYWHERE is made of stars");

/// Letters of options whose value is a folder: of `env`, `tar`, `make`, `git`, `sudo`, `docker`, `unzip`,
/// `wget`, `unshare`.
const LETTERS: &[char] = &['C', 'D', 'w', 'd', 'P', 'R', 't', 'r'];

/// Long options whose value is a folder; their shortened forms count too.
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

/// Variables that decide in which folder a program works.
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
pub(crate) fn working_folders(words: &[Word]) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_value = false;
    for word in words {
        if is_value {
            found.extend(folders_behind(word, 0));
        }
        let option = FolderOption::of(&word.text);
        if let Some(skip) = option.behind {
            found.extend(folders_behind(word, skip));
        }
        is_value = option.takes_next;
    }
    found.extend(positional_directories(words));
    if found.len() > MOST_FOLDERS {
        found.truncate(MOST_FOLDERS);
        found.push(ANYWHERE.to_owned());
    }
    found
}

/// Returns the folders that a word may stand for, without the first `skip` characters of it.
fn folders_behind(word: &Word, skip: usize) -> Vec<String> {
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
    folders.collect()
}

/// The position of the folder that an option or an assignment names.
#[derive(Default)]
struct FolderOption {
    /// The number of characters before the folder, if the folder may be in the word itself.
    behind: Option<usize>,
    /// Whether the next word may be the folder.
    takes_next: bool,
}

impl FolderOption {
    /// Reads a word of a command.
    fn of(text: &str) -> Self {
        match text.strip_prefix('-') {
            Some(long) if long.starts_with('-') || long.starts_with("chdir") => Self::long(long),
            Some(short) => {
                let at = short
                    .chars()
                    .take(MOST_LETTERS)
                    .position(|c| LETTERS.contains(&c));
                Self {
                    behind: at.map(|at| at + 2),
                    takes_next: at.is_some(),
                }
            }
            None => {
                let name = text.split('=').next().unwrap_or_default();
                let is_set = name.len() < text.len() && VARIABLES.contains(&name);
                Self {
                    behind: is_set.then_some(name.len() + 1),
                    takes_next: false,
                }
            }
        }
    }

    /// Reads a long option, without the first of its dashes.
    fn long(option: &str) -> Self {
        let (name, has_value) = match option.split_once('=') {
            Some((name, _)) => (name, true),
            None => (option, false),
        };
        let bare = name.strip_prefix('-').unwrap_or(name);
        let names_folder = bare.len() > 1
            && LONG
                .iter()
                .any(|known| known.trim_start_matches('-').starts_with(bare));
        Self {
            // The first dash and the equals sign count, too.
            behind: (names_folder && has_value).then(|| name.chars().count() + 2),
            takes_next: names_folder && !has_value,
        }
    }
}

/// Maximum number of letters of one word that are checked.
const MOST_LETTERS: usize = 8;

/// Returns the folders that the position of a word gives to a command: of `find` before its tests, of
/// `chroot`, and of `tar` without a dash.
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
