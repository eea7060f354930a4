//! What Git runs because a repository says so: a folder may come with a `.git` of its own, as an archive does, and then a harmless
//! `git status` runs its filters and `git commit` its hooks.
//!
//! Git's manual says of such a folder that it is not safe to run Git in it (<https://git-scm.com/docs/git#_security>); which settings
//! name programs follows from <https://git-scm.com/docs/git-config>. `core.fsmonitor` and pagers are left out: commands run with the
//! one switched off, and without a terminal. Files are read as Git reads them, and what cannot be read counts as if it named a program.

mod index;
mod scripts;
mod settings;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::trust::digest;
use settings::{Setting, UNREADABLE};

/// The name under which this is accepted, beside the files of a folder.
pub(crate) const ACCEPTED_AS: &str = "what .git runs";
/// The largest file of settings, and the largest hook, that is read; Git's own are far smaller.
const MAX_BYTES: u64 = 1 << 20;
/// The most hooks that are looked at.
const MAX_HOOKS: usize = 200;
/// The most repositories within a repository that are looked at, and how deep.
const MAX_REPOSITORIES: usize = 200;
const MAX_DEPTH: usize = 8;

/// Last names of settings that hold a command, whatever stands in front of them; those that end in `cmd`, `command` or `hook` do too.
const COMMANDS: &[&str] = &[
    "askpass",
    "clean",
    "difffilter",
    "driver",
    "external",
    "gitproxy",
    "helper",
    "hookspath",
    "process",
    "program",
    "receivepack",
    "smtpserver",
    "smudge",
    "textconv",
    "tunnel",
    "uploadpack",
    "vcs",
];

/// Commands of Git for which an alias may stand without a word about it.
const HARMLESS: &[&str] = &["status", "log", "diff", "show"];

/// Sections whose `path` is that of a program.
const TOOLS: &[&str] = &["browser", "difftool", "guitool", "man", "mergetool"];

/// What Git runs because the repository around the workspace says so, in order; empty where there is none or it names nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitPrograms {
    /// Names, such as `filter.lfs.clean` or `hook pre-commit`, and what stands behind them.
    found: BTreeSet<(String, String)>,
    /// Files of settings with a password in an address, or a header that is sent along.
    with_passwords: BTreeSet<PathBuf>,
    /// How many repositories within it were looked at.
    repositories: usize,
}

impl GitPrograms {
    /// Of the repository that `workspace` is in, and of the repositories in its index.
    pub(crate) fn of(workspace: &Path) -> Self {
        let mut found = Self::default();
        for top in workspace.ancestors().filter(|folder| has_git(folder)) {
            // Git goes on upwards where this is no repository.
            if found.look(top, "", 0) {
                break;
            }
        }
        found
    }

    /// Looks at the repository of a working tree; `place` stands in front of names. Whether it surely is one.
    fn look(&mut self, top: &Path, place: &str, depth: usize) -> bool {
        let git = match directory(top) {
            Ok(git) => git,
            Err(why) => {
                self.add(place, UNREADABLE, &format!(": {why}"));
                return false;
            }
        };
        let common = match common(&git) {
            Ok(common) => common,
            Err(why) => {
                self.add(place, UNREADABLE, &format!(": {why}"));
                return false;
            }
        };
        let mut hooks = Vec::new();
        self.look_where(top, &git, place);
        for file in [common.join("config"), git.join("config.worktree")] {
            for setting in settings::of_file(&file) {
                let (name, value) = (setting.name.as_str(), setting.value.as_str());
                if name == "core.hookspath" {
                    hooks.push(top.join(value));
                }
                if holds_password(&setting) {
                    self.with_passwords.insert(file.clone());
                }
                let elsewhere = name == "core.worktree" && !is_same(&git.join(value), top);
                if elsewhere || names_program(&setting) {
                    self.add(place, name, &format!(" = {value}"));
                    for (file, hash) in scripts::named_in(top, value) {
                        self.add(
                            place,
                            &format!("{name} runs {}", plain(&file)),
                            &format!(" {hash}"),
                        );
                    }
                }
            }
        }
        if hooks.is_empty() {
            hooks.push(common.join("hooks"));
        }
        hooks.iter().for_each(|folder| self.add_hooks(folder, place));
        let hash = settings::hash_length(&common.join("config"));
        self.look_within(top, &git.join("index"), hash, place, depth);
        is_repository(&git, &common)
    }

    /// Notes a repository that lies elsewhere and does not say that this is its working tree, as those of Git's own worktrees and
    /// submodules do: commands of Git would show what somebody else keeps there.
    fn look_where(&mut self, top: &Path, git: &Path, place: &str) {
        let link = top.join(".git");
        if link.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            return;
        }
        let named = readable(&git.join("gitdir"), MAX_BYTES).ok().flatten();
        let is_worktree =
            named.is_some_and(|path| is_same(&git.join(path_of(path.without_line_ends())), &link));
        let settings = settings::of_file(&git.join("config"));
        let is_submodule = settings
            .iter()
            .any(|setting| setting.name == "core.worktree" && is_same(&git.join(&setting.value), top));
        if !is_worktree && !is_submodule {
            let git = std::fs::canonicalize(git).unwrap_or_else(|_| git.to_owned());
            self.add(
                place,
                ".git elsewhere",
                &format!(" = {}", plain(&git.to_string_lossy())),
            );
        }
    }

    /// Looks at the repositories in the index.
    fn look_within(&mut self, top: &Path, index: &Path, hash: usize, place: &str, depth: usize) {
        let paths = match index::repositories(index, hash) {
            Ok(paths) => paths,
            Err(why) => return self.add(place, "index that cannot be read", &format!(": {why}")),
        };
        for path in paths {
            let inside = top.join(&path);
            if !has_git(&inside) {
                continue;
            }
            if depth >= MAX_DEPTH || self.repositories >= MAX_REPOSITORIES {
                return self.add(place, "more repositories than are looked at", "");
            }
            self.repositories += 1;
            let place = format!("{place}{}: ", plain(&path.to_string_lossy()));
            self.look(&inside, &place, depth + 1);
        }
    }

    fn add(&mut self, place: &str, name: &str, rest: &str) {
        self.found.insert((format!("{place}{name}"), rest.to_owned()));
    }

    fn add_hooks(&mut self, folder: &Path, place: &str) {
        let files = match std::fs::read_dir(folder) {
            Ok(files) => files,
            Err(error) if is_absent(&error) => return,
            Err(_) => return self.add(place, "hooks that cannot be read", ""),
        };
        let is_hook = |file: &std::fs::DirEntry| {
            !file.file_name().as_encoded_bytes().ends_with(b".sample") && !file.path().is_dir()
        };
        let mut hooks = files.flatten().filter(is_hook);
        for file in hooks.by_ref().take(MAX_HOOKS) {
            let name = plain(&file.file_name().to_string_lossy());
            let bytes = readable(&file.path(), MAX_BYTES).ok().flatten();
            let hash = bytes.map_or_else(|| "unread".to_owned(), |bytes| digest(&bytes));
            self.add(place, &format!("hook {name}"), &format!(" {hash}"));
        }
        if hooks.next().is_some() {
            self.add(place, "more hooks than are looked at", "");
        }
    }

    /// Files of settings that hold a password.
    pub(crate) fn with_passwords(&self) -> &BTreeSet<PathBuf> {
        &self.with_passwords
    }

    /// Whether it names nothing.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// The names alone: `filter.lfs.clean`, `hook pre-commit`, `sub: filter.x.clean`.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.found.iter().map(|(name, _)| name.clone()).collect();
        names.dedup();
        names
    }

    /// All of it as a text that a person accepts, a line each: `filter.lfs.clean = git-lfs clean`, `hook pre-commit HASH`.
    pub fn text(&self) -> String {
        self.found
            .iter()
            .map(|(name, rest)| format!("{name}{rest}\n"))
            .collect()
    }

    /// The name under which it is accepted.
    pub fn accepted_as(&self) -> &'static Path {
        Path::new(ACCEPTED_AS)
    }
}

fn has_git(folder: &Path) -> bool {
    folder.join(".git").symlink_metadata().is_ok()
}

/// The directory of the repository of a working tree: `.git`, or what that file names.
fn directory(top: &Path) -> Result<PathBuf, String> {
    let git = top.join(".git");
    if git.is_dir() {
        return Ok(git);
    }
    let bytes = readable(&git, MAX_BYTES)?.ok_or(".git leads nowhere")?;
    let path = bytes
        .strip_prefix(b"gitdir: ")
        .ok_or(".git is of no known form")?;
    Ok(top.join(path_of(path.without_line_ends())))
}

/// Worktrees share what lies in the directory of the repository itself.
fn common(git: &Path) -> Result<PathBuf, String> {
    let path = readable(&git.join("commondir"), MAX_BYTES)?;
    Ok(path.map_or_else(
        || git.to_owned(),
        |path| git.join(path_of(path.without_line_ends())),
    ))
}

trait Line {
    /// Without the ends of lines behind it, which are all that Git takes away.
    fn without_line_ends(&self) -> &[u8];
}

impl Line for [u8] {
    fn without_line_ends(&self) -> &[u8] {
        let end = self.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r'));
        &self[..end.map_or(0, |end| end + 1)]
    }
}

/// Whether Git surely takes this for a repository, and looks no further upwards: the test of `is_git_directory` in Git's `setup.c`, which
/// judges a link by what it names, and wants folders that may be entered.
fn is_repository(git: &Path, common: &Path) -> bool {
    let file = git.join("HEAD");
    let is_file = file.symlink_metadata().is_ok_and(|found| found.is_file());
    let head = readable(&file, MAX_BYTES).ok().flatten();
    is_file
        && head.is_some_and(|head| head.starts_with(b"ref: refs/"))
        && common.join("objects/.").is_dir()
        && common.join("refs/.").is_dir()
}

/// The bytes of a file; `None` where there is none.
///
/// # Errors
/// Why they cannot be read.
fn readable(file: &Path, most: u64) -> Result<Option<Vec<u8>>, String> {
    match std::fs::metadata(file) {
        Ok(found) if !found.is_file() => Err("no plain file".to_owned()),
        Ok(found) if found.len() > most => Err(format!("{} bytes", found.len())),
        Ok(_) => std::fs::read(file)
            .map(Some)
            .map_err(|error| error.kind().to_string()),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(error.kind().to_string()),
    }
}

fn is_absent(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
    )
}

fn is_same(one: &Path, other: &Path) -> bool {
    match (std::fs::canonicalize(one), std::fs::canonicalize(other)) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

/// A path as Git stores it.
#[cfg(unix)]
fn path_of(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

/// A path as Git stores it.
#[cfg(not(unix))]
fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}

/// A name without what moves a cursor.
fn plain(name: &str) -> String {
    name.replace(|c: char| c.is_control(), "?")
}

/// Whether Git runs something, or asks another machine for something, because of this setting.
fn names_program(setting: &Setting) -> bool {
    let (name, value) = (setting.name.as_str(), setting.value.as_str());
    let (section, last) = (setting.section(), setting.last());
    let ends = |ends: &[&str]| ends.iter().any(|end| last.ends_with(end));
    name == UNREADABLE
        || COMMANDS.contains(&last)
        || ends(&["cmd", "command", "hook"])
        || (TOOLS.contains(&section) && last == "path")
        || name == "sequence.editor"
        || reads_file(setting)
        || setting.is_include()
        || section == "protocol"
        || (section == "submodule" && value.starts_with('!'))
        // An alias may have options that run something, or stand for a command that changes or sends what its name does not say.
        || (section == "alias" && !HARMLESS.contains(&value))
        || name.contains("ext::")
        || (section == "remote" && uses_helper(value))
        // What is missing in such a repository is fetched by any command.
        || name == "extensions.partialclone"
        || (section == "remote" && last == "promisor")
}

/// Whether a setting names a file of which commands of Git show parts, in what they print or complain about.
fn reads_file(setting: &Setting) -> bool {
    let last = setting.last();
    setting.name == "commit.template" || last == "skiplist" || last.ends_with("file")
}

/// Whether a setting holds what one signs in with: `https://me:token@host/x`, `http.extraHeader`.
fn holds_password(setting: &Setting) -> bool {
    let authority = |address: &str| -> Option<String> {
        let (_, rest) = address.split_once("://")?;
        Some(rest.split('/').next().unwrap_or_default().to_owned())
    };
    let has = |address: &str| {
        authority(address).is_some_and(|place| place.contains('@') && !address.starts_with("ssh"))
    };
    setting.last() == "extraheader"
        || has(&setting.value)
        || has(setting.name.split_once('.').map_or("", |(_, rest)| rest))
}

/// Whether an address names a program that knows how to fetch it: `ext::sh`.
fn uses_helper(address: &str) -> bool {
    let scheme = address.split_once("::").map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric()))
}

#[cfg(test)]
mod tests;
