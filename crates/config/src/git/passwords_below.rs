//! Finds passwords in the settings of submodules and worktrees, which lie in the directory of the repository
//! around them. They are looked for there, because a submodule leaves its settings behind when it is removed
//! from the index.

use std::path::{Path, PathBuf};

use super::effect_words::GitEffectKind;
use super::{GitPrograms, names, settings};

/// The folders of a repository's directory that hold those of submodules and of worktrees.
const FOLDERS: [&str; 2] = ["modules", "worktrees"];
/// Folders of a repository's directory without settings. A submodule may have such a name, too.
const OTHERS: [&str; 6] = ["objects", "refs", "logs", "hooks", "info", "lfs"];
/// The names of files with settings.
const FILES: [&str; 2] = ["config", "config.worktree"];
/// The maximum number of folders that are checked.
const MAX_FOLDERS: usize = 2000;

impl GitPrograms {
    /// Records the files of settings below the directory of a repository that hold a password.
    pub(super) fn record_passwords_below(&mut self, common: &Path, place: &str) {
        let mut open: Vec<PathBuf> = FOLDERS.iter().map(|name| common.join(name)).collect();
        let mut checked = 0;
        while let Some(folder) = open.pop() {
            if checked >= MAX_FOLDERS {
                return self.add(
                    GitEffectKind::Unchecked,
                    place,
                    "more repositories than are checked",
                    "",
                );
            }
            checked += 1;
            for file in FILES.map(|name| folder.join(name)) {
                if settings::of_file(&file).iter().any(names::holds_password) {
                    self.record_password(&file);
                }
            }
            open.extend(folders_in(&folder));
        }
    }

    /// Records a file with a password, also under its real path: that of a submodule is named through its
    /// working tree.
    pub(super) fn record_password(&mut self, file: &Path) {
        self.with_passwords.insert(file.to_owned());
        self.with_passwords.extend(std::fs::canonicalize(file));
    }
}

/// The folders in a folder that may hold settings; links are not followed.
fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let is_folder = |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    let is_repository = folder.join("HEAD").symlink_metadata().is_ok();
    let is_other =
        |entry: &std::fs::DirEntry| is_repository && OTHERS.iter().any(|name| entry.file_name() == *name);
    entries
        .filter(|entry| is_folder(entry) && !is_other(entry))
        .map(|entry| entry.path())
        .collect()
}
