//! The programs that Git runs because a repository configures them: a folder may come with its own `.git`, as
//! an archive does, and then a harmless `git status` runs its filters and `git commit` its hooks.
//!
//! Git's manual says of such a folder that it is not safe to run Git in it
//! (<https://git-scm.com/docs/git#_security>). `core.fsmonitor` and pagers are left out, because commands run
//! with `core.fsmonitor` switched off and without a terminal. Files are read as Git reads them, and an
//! unreadable file counts as if it named a program.

mod commands;
mod effect_words;
mod external_repository;
mod hooks;
mod index;
mod names;
mod passwords_below;
mod pending_operations;
mod remotes;
mod repository_files;
mod scripts;
mod settings;
mod working_tree;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use effect_words::GitEffectKind;
pub(crate) use repository_files::directory;
use repository_files::{common, has_git, is_repository, is_same, plain};
use settings::{Setting, UNREADABLE};
pub(crate) use working_tree::{GitHead, WorkingTreeState, working_tree_state};

/// The name under which this is accepted, beside the files of a folder.
pub(crate) const ACCEPTED_AS: &str = "what .git runs";
/// The maximum number of checked repositories within a repository, and the maximum depth.
const MAX_REPOSITORIES: usize = 200;
const MAX_DEPTH: usize = 8;

/// The programs that Git runs because the repository around the workspace configures them, in order; empty
/// without a repository, or if its configuration names no program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitPrograms {
    /// Names, such as `filter.lfs.clean` or `hook pre-commit`, each with its value or content.
    found: BTreeMap<(String, String), GitEffectKind>,
    /// Files of settings with a password in an address, or a header that is sent along.
    with_passwords: BTreeSet<PathBuf>,
    remotes: remotes::Remotes,
    /// The number of nested repositories that were checked.
    repositories: usize,
}

impl GitPrograms {
    /// Reads the repository of `workspace` and the repositories in its index.
    pub(crate) fn of(workspace: &Path) -> Self {
        let mut found = Self::default();
        for top in workspace.ancestors().filter(|folder| has_git(folder)) {
            // Git continues upwards if this is not a repository.
            if found.look(top, "", 0) {
                break;
            }
        }
        found
    }

    /// Checks the repository of a working tree; `place` is the prefix of names. Returns whether it certainly
    /// is one.
    fn look(&mut self, top: &Path, place: &str, depth: usize) -> bool {
        let git = match directory(top) {
            Ok(git) => git,
            Err(why) => {
                self.add(GitEffectKind::Unread, place, UNREADABLE, &format!(": {why}"));
                return false;
            }
        };
        let common = match common(&git) {
            Ok(common) => common,
            Err(why) => {
                self.add(GitEffectKind::Unread, place, UNREADABLE, &format!(": {why}"));
                return false;
            }
        };
        self.record_external(top, &git, &common, place);
        self.record_passwords_below(&common, place);
        for (name, rest) in pending_operations::of(top, &git) {
            let kind = if rest.starts_with(": ") {
                GitEffectKind::Unread
            } else {
                GitEffectKind::Program
            };
            self.add(kind, place, &name, &rest);
        }
        let mut hooks = self.look_at_settings(top, &git, &common, place);
        for (around, hash) in hooks
            .iter()
            .filter_map(|folder| scripts::around_hooks(top, folder))
        {
            self.add(
                GitEffectKind::HookFolder,
                place,
                "hooks",
                &format!("{}{} {hash}", scripts::AROUND_HOOKS, plain(&around)),
            );
        }
        if hooks.is_empty() {
            hooks.push(common.join("hooks"));
        }
        hooks.iter().for_each(|folder| self.add_hooks(top, folder, place));
        let hash = settings::hash_length(&common.join("config"));
        self.look_within(top, &git.join("index"), hash, place, depth);
        is_repository(&git, &common)
    }

    /// Checks the settings of a repository. Returns the folders of hooks that they name.
    fn look_at_settings(&mut self, top: &Path, git: &Path, common: &Path, place: &str) -> Vec<PathBuf> {
        let (mut hooks, mut any) = (Vec::new(), None::<String>);
        let files = [common.join("config"), git.join("config.worktree")];
        let read = files.map(|file| (settings::of_file(&file), file));
        let all: Vec<Setting> = read.iter().flat_map(|(found, _)| found.clone()).collect();
        for (found, file) in read {
            for setting in found {
                let (name, value) = (setting.name.as_str(), setting.value.as_str());
                self.remotes.add(&setting);
                if name == "core.hookspath" {
                    hooks.push(top.join(value));
                }
                if names::holds_password(&setting) {
                    self.record_password(&file);
                }
                let elsewhere = name == "core.worktree" && !is_same(&git.join(value), top);
                if elsewhere || names::matters(&setting) {
                    let (name, mut shown) = names::shown(&setting);
                    if names::runs(&setting) && commands::may_run_any_file(&setting) {
                        shown.push_str(any.get_or_insert_with(|| scripts::any_file_of(top)));
                    }
                    let addresses = names::addresses_of_remote(&setting, &all);
                    if !addresses.is_empty() {
                        shown.push_str(&format!(", from {}", addresses.join(", ")));
                    }
                    self.add(GitEffectKind::of(&setting), place, &name, &format!(" = {shown}"));
                    for (file, hash) in scripts::named_in(top, value) {
                        let runs = format!("{name} runs {}", plain(&file));
                        self.add(GitEffectKind::Program, place, &runs, &format!(" {hash}"));
                    }
                }
            }
        }
        hooks
    }

    /// Checks the repositories in the index.
    fn look_within(&mut self, top: &Path, index: &Path, hash: usize, place: &str, depth: usize) {
        let paths = match index::repositories(index, hash) {
            Ok(paths) => paths,
            Err(why) => {
                return self.add(
                    GitEffectKind::Unread,
                    place,
                    "index that cannot be read",
                    &format!(": {why}"),
                );
            }
        };
        for path in paths {
            let inside = top.join(&path);
            if !has_git(&inside) {
                continue;
            }
            if depth >= MAX_DEPTH || self.repositories >= MAX_REPOSITORIES {
                return self.add(
                    GitEffectKind::Unchecked,
                    place,
                    "more repositories than are checked",
                    "",
                );
            }
            self.repositories += 1;
            let place = format!("{place}{}: ", plain(&path.to_string_lossy()));
            self.look(&inside, &place, depth + 1);
        }
    }

    fn add(&mut self, kind: GitEffectKind, place: &str, name: &str, rest: &str) {
        self.found
            .insert((format!("{place}{name}"), rest.to_owned()), kind);
    }

    fn add_hooks(&mut self, top: &Path, folder: &Path, place: &str) {
        match hooks::of(folder, top) {
            Err(()) => self.add(GitEffectKind::Unread, place, "hooks that cannot be read", ""),
            Ok(hooks) => {
                for (name, hash) in hooks.found {
                    self.add(
                        GitEffectKind::Program,
                        place,
                        &format!("hook {}", plain(&name)),
                        &format!(" {hash}"),
                    );
                }
                if hooks.has_more {
                    self.add(GitEffectKind::Unchecked, place, "more hooks than are checked", "");
                }
            }
        }
    }

    /// Files of settings that hold a password.
    pub(crate) fn with_passwords(&self) -> &BTreeSet<PathBuf> {
        &self.with_passwords
    }

    /// The remotes of the repositories.
    pub(crate) fn remotes(&self) -> agentx_types::GitRemotes {
        self.remotes.facts()
    }

    /// Returns whether no program and no setting is named.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// The names alone: `filter.lfs.clean`, `hook pre-commit`, `sub: filter.x.clean`.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.found.keys().map(|(name, _)| name.clone()).collect();
        names.dedup();
        names
    }

    /// All of it as a text that a person accepts, a line each: `filter.lfs.clean = git-lfs clean`, `hook
    /// pre-commit HASH`.
    pub fn text(&self) -> String {
        self.found
            .keys()
            .map(|(name, rest)| format!("{name}{rest}\n"))
            .collect()
    }

    /// The same in sentences for a question: `Git runs this program: hook pre-commit 0123…`, with the first
    /// digits of each hash.
    pub fn effects(&self) -> Vec<String> {
        let found = self.found.iter();
        found
            .map(|((name, rest), kind)| kind.sentence(name, rest))
            .collect()
    }

    /// The name under which it is accepted.
    pub fn accepted_as(&self) -> &'static Path {
        Path::new(ACCEPTED_AS)
    }
}

/// Returns whether the index of the repository of a working tree has files below a folder of it. One that
/// cannot be read has none.
pub(crate) fn has_files_below(top: &Path, folder: &Path) -> bool {
    let Ok(git) = directory(top) else {
        return false;
    };
    let hash = common(&git).map(|common| settings::hash_length(&common.join("config")));
    hash.is_ok_and(|hash| index::has_files_below(&git.join("index"), hash, folder))
}

#[cfg(test)]
mod tests;
