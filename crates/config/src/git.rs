//! What Git runs because a repository says so: a folder may come with a `.git` of its own, as an archive does, and then a harmless
//! `git status` runs its filters and `git commit` its hooks.
//!
//! Git's manual says of such a folder that it is not safe to run Git in it (<https://git-scm.com/docs/git#_security>); which settings
//! name programs follows from <https://git-scm.com/docs/git-config>. `core.fsmonitor` and pagers are left out: commands run with the
//! one switched off, and without a terminal.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::trust::digest;

/// The name under which this is accepted, beside the files of a folder.
pub(crate) const ACCEPTED_AS: &str = "what .git runs";
/// The largest file of settings that is read; Git's own are far smaller.
const MAX_BYTES: u64 = 1 << 20;
/// The most hooks that are looked at.
const MAX_HOOKS: usize = 200;

/// Last names of settings that hold a command, whatever stands in front of them.
const COMMANDS: &[&str] = &[
    "alternaterefscommand",
    "askpass",
    "clean",
    "cmd",
    "command",
    "defaultkeycommand",
    "difffilter",
    "driver",
    "external",
    "gitproxy",
    "helper",
    "hookspath",
    "packobjectshook",
    "process",
    "program",
    "receivepack",
    "smudge",
    "sshcommand",
    "textconv",
    "tunnel",
    "uploadpack",
    "vcs",
];

/// What Git runs because the repository around the workspace says so, in order; empty where there is none or it names nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitPrograms {
    /// One line each: `filter.lfs.clean = git-lfs clean`, `hook pre-commit HASH`.
    lines: BTreeSet<String>,
}

impl GitPrograms {
    /// Of the repository that `workspace` is in.
    pub(crate) fn of(workspace: &Path) -> Self {
        let mut found = Self::default();
        let Some((top, git)) = repository(workspace) else {
            return found;
        };
        // Worktrees share what lies in the directory of the repository itself.
        let shared = std::fs::read_to_string(git.join("commondir"));
        let common = shared.map_or_else(|_| git.clone(), |path| git.join(path.trim()));
        let mut hooks = common.join("hooks");
        for file in [common.join("config"), git.join("config.worktree")] {
            for (name, value) in settings(&file) {
                if name == "core.hookspath" {
                    hooks = top.join(value.trim_matches('"'));
                }
                if is_program(&name, &value) {
                    found.lines.insert(format!("{name} = {value}"));
                }
            }
        }
        found.add_hooks(&hooks);
        found
    }

    fn add_hooks(&mut self, folder: &Path) {
        let Ok(files) = std::fs::read_dir(folder) else {
            return;
        };
        for file in files.flatten().take(MAX_HOOKS) {
            let name = file.file_name().to_string_lossy().into_owned();
            let is_small =
                std::fs::metadata(file.path()).is_ok_and(|found| found.is_file() && found.len() <= MAX_BYTES);
            if name.ends_with(".sample") || file.path().is_dir() {
                continue;
            }
            let bytes = is_small.then(|| std::fs::read(file.path()).ok()).flatten();
            let hash = bytes.map_or_else(|| "unread".to_owned(), |bytes| digest(&bytes));
            self.lines.insert(format!("hook {name} {hash}"));
        }
    }

    /// Whether it names nothing.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The names alone: `filter.lfs.clean`, `hook pre-commit`.
    pub fn names(&self) -> Vec<String> {
        let name = |line: &String| match line.strip_prefix("hook ") {
            Some(hook) => format!("hook {}", hook.rsplit_once(' ').map_or(hook, |(name, _)| name)),
            None => line.split(" = ").next().unwrap_or_default().to_owned(),
        };
        self.lines.iter().map(name).collect()
    }

    /// All of it as a text that a person accepts.
    pub fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }

    /// The name under which it is accepted.
    pub fn accepted_as(&self) -> &'static Path {
        Path::new(ACCEPTED_AS)
    }
}

/// The top of the working tree and the directory of the repository.
fn repository(workspace: &Path) -> Option<(&Path, PathBuf)> {
    let top = workspace
        .ancestors()
        .find(|folder| folder.join(".git").exists())?;
    let git = top.join(".git");
    if git.is_dir() {
        return Some((top, git));
    }
    let text = std::fs::read_to_string(&git).ok()?;
    let path = text.strip_prefix("gitdir:")?.trim();
    Some((top, top.join(path)))
}

/// The settings of a file, as `section.sub.name` in lower case, and their values. One that cannot be read is a setting too.
fn settings(file: &Path) -> Vec<(String, String)> {
    let found = match std::fs::metadata(file) {
        Ok(found) => found,
        Err(_) => return Vec::new(),
    };
    let text = match found.is_file() && found.len() <= MAX_BYTES {
        true => std::fs::read(file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
        false => Err(std::io::Error::other("too large")),
    };
    let Ok(text) = text else {
        return vec![(
            "include.path".to_owned(),
            "settings that cannot be read".to_owned(),
        )];
    };
    let mut section = String::new();
    let mut settings = Vec::new();
    // A backslash at its end continues a line.
    for line in text.replace("\\\r\n", "").replace("\\\n", "").lines() {
        let mut line = line.trim();
        if let Some((name, rest)) = line.strip_prefix('[').and_then(|line| line.split_once(']')) {
            let words: String = name.chars().filter(|c| *c != '"').collect();
            section = words
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(".")
                .to_lowercase();
            line = rest.trim();
        }
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        let (name, value) = line.split_once('=').unwrap_or((line, "true"));
        settings.push((
            format!("{section}.{}", name.trim().to_lowercase()),
            value.trim().to_owned(),
        ));
    }
    settings
}

/// Whether Git runs something because of this setting.
fn is_program(name: &str, value: &str) -> bool {
    let section = name.split('.').next().unwrap_or_default();
    let last = name.rsplit('.').next().unwrap_or_default();
    let value = value.trim_matches('"');
    COMMANDS.contains(&last)
        || name == "sequence.editor"
        || (section.starts_with("include") && last == "path")
        || section == "protocol"
        || (["alias", "submodule"].contains(&section) && value.starts_with('!'))
        || value.contains("ext::")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_repository_has_git_run_is_found_and_the_rest_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let git = folder.path().join(".git");
        std::fs::create_dir_all(git.join("hooks")).expect("it is made");
        let write = |name: &str, text: &str| std::fs::write(git.join(name), text).expect("it is written");
        write("hooks/pre-commit.sample", "exit 1");
        write(
            "config",
            "[core]\n\tbare = false\n\tfsmonitor = true\n[remote \"origin\"]\n\turl = https://example.com/x\n\
             [branch \"main\"]\n\tmerge = refs/heads/main\n[alias]\n\tst = status\n",
        );
        let sub = folder.path().join("a/b");
        std::fs::create_dir_all(&sub).expect("it is made");
        assert!(GitPrograms::of(&sub).is_empty());
        write(
            "config",
            "[Filter \"x\"] clean = touch a\n[diff \"y\"]\n textconv=\\\nsh\n[core]\n hooksPath = .husky\n\
             [include]\npath=../more\n[alias]\nst = !sh\n[remote \"o\"]\nurl = ext::sh\n[credential \"https://h\"]\nhelper = x\n",
        );
        write("hooks/post-checkout", "not run: core.hooksPath is set");
        std::fs::create_dir_all(folder.path().join(".husky")).expect("it is made");
        std::fs::write(folder.path().join(".husky/pre-commit"), "x").expect("it is written");
        let found = GitPrograms::of(&sub);
        assert_eq!(
            found.names(),
            [
                "alias.st",
                "core.hookspath",
                "credential.https://h.helper",
                "diff.y.textconv",
                "filter.x.clean",
                "hook pre-commit",
                "include.path",
                "remote.o.url",
            ]
        );
        let before = found.text();
        std::fs::write(folder.path().join(".husky/pre-commit"), "y").expect("it is written");
        assert_ne!(
            GitPrograms::of(&sub).text(),
            before,
            "another hook is another text"
        );
    }

    #[test]
    fn a_worktree_has_the_hooks_of_its_repository() {
        let folder = tempfile::tempdir().expect("a folder");
        let (git, tree) = (folder.path().join("main/.git"), folder.path().join("tree"));
        std::fs::create_dir_all(git.join("worktrees/tree")).expect("it is made");
        std::fs::create_dir_all(git.join("hooks")).expect("it is made");
        std::fs::create_dir_all(&tree).expect("it is made");
        std::fs::write(git.join("hooks/post-checkout"), "x").expect("it is written");
        std::fs::write(git.join("worktrees/tree/commondir"), "../..\n").expect("it is written");
        std::fs::write(tree.join(".git"), "gitdir: ../main/.git/worktrees/tree\n").expect("it is written");
        assert_eq!(GitPrograms::of(&tree).names(), ["hook post-checkout"]);
    }
}
