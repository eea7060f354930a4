//! Folders in which a command works because of a `cd` before it, or because of its options: `env -C DIR cat
//! x`, `tar -C DIR -c x`, `find DIR -execdir cat x`.
//!
//! Each relative name of the command is recorded below these folders as well as below the present folder,
//! because programs differ in the names that they look up there. An unnecessary option in the list costs one
//! comparison.

use crate::commands::command_analysis::CommandAnalysis;
use crate::commands::command_analysis::lex::expand::{ANYTHING, STAR};
use crate::commands::command_analysis::lex::word::Word;
use crate::commands::command_analysis::programs::wrapper_commands::basename;
use crate::pattern::{is_within, normalize};

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

impl CommandAnalysis {
    /// Records the folder in which relative paths begin from now on, after `cd` or `pushd`.
    pub(crate) fn note_folder(&mut self, words: &[Word]) {
        let mut first = words.iter().take(3).enumerate();
        let Some((at, _)) = first.find(|(_, word)| matches!(word.text.as_str(), "cd" | "pushd")) else {
            return;
        };
        let place = words[at + 1..].iter().find(|word| !word.text.starts_with('-'));
        let to = match place {
            None => "~".to_owned(),
            Some(word) if word.dynamic => word.names().pop().unwrap_or_else(|| ANYTHING.to_string()),
            Some(word) => word.text.clone(),
        };
        let below = |folder: &String| format!("{folder}/{to}");
        let joined = match place {
            Some(word) if self.expands_twice => self.joined_names(word),
            _ => Vec::new(),
        };
        let known = &self.folders;
        if !self.expands_twice {
            let before = known
                .first()
                .filter(|folder| is_relative(&to) && folder.len() < 1000);
            self.folders = vec![before.map_or_else(|| to.clone(), below)];
            return;
        }
        // The command may not run: `cd /etc || cd /tmp`, `(cd /tmp)`. So the earlier folders are kept.
        let mut more: Vec<String> = if is_relative(&to) {
            known.iter().chain(&self.command_folders).map(below).collect()
        } else {
            Vec::new()
        };
        more.push(to);
        // A folder below the present one needs no place in the list, which is short.
        more.extend(joined.into_iter().filter(|folder| leads_out(folder)));
        self.go_to(more);
    }

    /// Records that the line sets `HOME` or a similar variable: a home may then be each folder that the
    /// command names, or any folder if it names none.
    pub(crate) fn note_places(&mut self) {
        self.homes = true;
        let is_known = |folder: &&String| !folder.starts_with(ANYTHING);
        let named: Vec<String> = self.command_folders.iter().filter(is_known).cloned().collect();
        if named.is_empty() {
            self.go_to(vec![ANYWHERE.to_owned()])
        } else {
            self.go_to(named)
        }
    }

    /// Records folders in which paths may begin from now on.
    pub(crate) fn go_to(&mut self, mut folders: Vec<String>) {
        folders.retain(|folder| folder.len() < 1000 && !self.folders.contains(folder));
        self.folders.extend(folders);
        if self.folders.len() > MOST_FOLDERS {
            self.folders.truncate(MOST_FOLDERS);
            // Stands for any folder.
            self.folders[0] = ANYWHERE.to_owned();
        }
    }

    /// Returns whether the line may leave this directory. Relative folders begin in `workspace`.
    pub(crate) fn may_leave_directory(&self, directory: &str, workspace: &str) -> bool {
        self.folders.iter().any(|folder| {
            !(is_relative(folder) || folder.starts_with('/'))
                || folder.contains([STAR, ANYTHING])
                || !is_within(directory, &normalize(workspace, folder))
        })
    }
}

/// Returns whether a name begins in the line's folder, and not at the root, a home, a variable or an option.
pub(crate) fn is_relative(path: &str) -> bool {
    !path.starts_with(['/', '~', '$', ANYTHING, '-'])
}

/// Returns whether a folder may be outside of the one in which the line begins.
pub(crate) fn leads_out(folder: &str) -> bool {
    !is_relative(folder) || folder.split('/').any(|part| part == "..")
}

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
    // This variable has a list of folders.
    let is_list = word.text.starts_with("CDPATH=");
    let folders = names.iter().flat_map(|name| {
        let mut chars = name.chars();
        chars.by_ref().take(skip).for_each(drop);
        let folder = chars.as_str();
        let parts: Vec<&str> = if is_list {
            folder.split(':').collect()
        } else {
            vec![folder]
        };
        let named = parts
            .into_iter()
            .filter(|part| !part.is_empty() && part.len() < 1000);
        named
            .map(|part| part.trim_end_matches('/').to_owned())
            .collect::<Vec<_>>()
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
