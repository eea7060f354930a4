//! The branch and the unfinished operation that `git status` names in its first lines, read without running
//! Git.

use std::path::Path;

use super::GitPrograms;
use super::repository_files::{MAX_BYTES, common, directory, has_git, readable};

/// Files and directories of `.git` by which Git knows that an operation is not finished (`wt-status.c`), in
/// the order in which Git looks.
const OPERATIONS: &[(&str, &str)] = &[
    ("rebase-merge", "a rebase"),
    ("rebase-apply/applying", "git am"),
    ("rebase-apply", "a rebase"),
    ("MERGE_HEAD", "a merge"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("BISECT_LOG", "a bisection"),
];

/// The state of a working tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WorkingTreeState {
    /// The checked out branch or commit; `None` if the files do not say.
    pub(crate) head: Option<GitHead>,
    /// The operation that is in progress.
    pub(crate) operation: Option<&'static str>,
}

/// The checked out branch or commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GitHead {
    /// A branch, with its name.
    Branch(String),
    /// A commit without a branch.
    Detached,
}

/// The state of the working tree around `folder`; `None` if there is no `.git` there. Unreadable parts are
/// left out.
pub(crate) fn working_tree_state(folder: &Path) -> Option<WorkingTreeState> {
    let top = folder.ancestors().find(|folder| has_git(folder))?;
    let Ok(git) = directory(top) else {
        return Some(WorkingTreeState::default());
    };
    if !is_own_repository(top, &git) {
        return Some(WorkingTreeState::default());
    }
    let operation = OPERATIONS.iter().find(|(file, _)| git.join(file).exists());
    Some(WorkingTreeState {
        head: head(&git.join("HEAD")),
        operation: operation.map(|(_, operation)| *operation),
    })
}

/// Returns whether the repository belongs to this working tree: it is in it, or is a worktree or submodule as
/// Git creates them. A `.git` that only points to somebody else's repository would give the model data from
/// there.
fn is_own_repository(top: &Path, git: &Path) -> bool {
    let Ok(common) = common(git) else { return false };
    let mut elsewhere = GitPrograms::default();
    elsewhere.record_external(top, git, &common, "");
    elsewhere.is_empty()
}

/// Reads `HEAD`; `None` if it is unknown: it cannot be read, it is a link, as old versions of Git made, or it
/// only replaces another format, as the branch `.invalid` does if references are in a table (`reftable`)
fn head(file: &Path) -> Option<GitHead> {
    if file.is_symlink() {
        return None;
    }
    let bytes = readable(file, MAX_BYTES).ok()??;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_end();
    if let Some(branch) = text.strip_prefix("ref: refs/heads/") {
        let is_name = !branch.is_empty() && !branch.starts_with('.');
        return is_name.then(|| GitHead::Branch(branch.to_owned()));
    }
    let is_hash = [40, 64].contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then_some(GitHead::Detached)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Runs Git in `top` without settings of the person; whether it succeeded.
    fn git(top: &Path, words: &[&str]) -> bool {
        let mut command = Command::new("git");
        command.current_dir(top).env("GIT_CONFIG_GLOBAL", "/dev/null");
        command.env("GIT_EDITOR", "true");
        command.args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]);
        command.args(words).output().unwrap().status.success()
    }

    /// A repository whose branches `main` and `other` changed the same line.
    fn conflict() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path();
        let commit = |text: &str| {
            std::fs::write(top.join("a.txt"), text).unwrap();
            assert!(git(top, &["add", "."]) && git(top, &["commit", "-m", text]));
        };
        assert!(git(top, &["init", "-b", "main"]));
        commit("one");
        assert!(git(top, &["checkout", "-b", "other"]));
        commit("two");
        assert!(git(top, &["checkout", "main"]));
        commit("three");
        folder
    }

    fn state(branch: Option<&str>, operation: Option<&'static str>) -> Option<WorkingTreeState> {
        let head = branch.map_or(GitHead::Detached, |branch| GitHead::Branch(branch.to_owned()));
        Some(WorkingTreeState {
            head: Some(head),
            operation,
        })
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_said_of_a_repository_that_lies_elsewhere() {
        let place = tempfile::tempdir().unwrap();
        let other = place.path().join("other");
        std::fs::create_dir(&other).unwrap();
        assert!(git(&other, &["init", "-b", "private-name"]));
        let theirs = other.join(".git");
        let folder = |name: &str| {
            let folder = place.path().join(name);
            std::fs::create_dir(&folder).unwrap();
            folder
        };
        let (file, link, shared) = (folder("file"), folder("link"), folder("shared"));
        std::fs::write(file.join(".git"), format!("gitdir: {}\n", theirs.display())).unwrap();
        std::os::unix::fs::symlink(&theirs, link.join(".git")).unwrap();
        std::fs::create_dir(shared.join(".git")).unwrap();
        std::fs::write(shared.join(".git/HEAD"), "ref: refs/heads/private-name\n").unwrap();
        std::fs::write(shared.join(".git/commondir"), theirs.to_str().unwrap()).unwrap();
        for folder in [file, link, shared] {
            assert_eq!(
                working_tree_state(&folder),
                Some(WorkingTreeState::default()),
                "{folder:?}"
            );
        }
        assert_ne!(working_tree_state(&other), Some(WorkingTreeState::default()));
    }

    #[test]
    fn the_branch_is_that_of_the_repository_around_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path();
        assert_eq!(working_tree_state(top), None);
        assert!(git(top, &["init", "-b", "topic/one"]));
        std::fs::create_dir(top.join("sub")).unwrap();
        assert_eq!(
            working_tree_state(&top.join("sub")),
            state(Some("topic/one"), None)
        );
        assert!(git(top, &["commit", "--allow-empty", "-m", "first"]));
        assert!(git(top, &["checkout", "--detach"]));
        assert_eq!(working_tree_state(top), state(None, None));
    }

    #[test]
    fn an_operation_that_stopped_at_a_conflict_is_in_progress_until_it_is_aborted() {
        for (words, branch, operation) in [
            (&["merge", "other"][..], Some("main"), "a merge"),
            (&["rebase", "other"], None, "a rebase"),
            (&["rebase", "--apply", "other"], None, "a rebase"),
            (&["cherry-pick", "other"], Some("main"), "a cherry-pick"),
            (&["revert", "HEAD~1"], Some("main"), "a revert"),
        ] {
            let folder = conflict();
            let top = folder.path();
            assert!(!git(top, words), "{words:?} stops");
            assert_eq!(
                working_tree_state(top),
                state(branch, Some(operation)),
                "{words:?}"
            );
            assert!(git(top, &[words[0], "--abort"]), "{words:?}");
            assert_eq!(working_tree_state(top), state(Some("main"), None), "{words:?}");
        }
    }

    #[test]
    fn patches_that_do_not_apply_and_a_bisection_are_in_progress() {
        let folder = conflict();
        let top = folder.path();
        assert!(git(top, &["format-patch", "-1", "-o", "patches", "other"]));
        let patches: Vec<_> = std::fs::read_dir(top.join("patches")).unwrap().collect();
        let patch = patches[0].as_ref().unwrap().path();
        assert!(!git(top, &["am", patch.to_str().unwrap()]), "it stops");
        assert_eq!(working_tree_state(top), state(Some("main"), Some("git am")));
        assert!(git(top, &["am", "--abort"]));
        assert_eq!(working_tree_state(top), state(Some("main"), None));
        assert!(git(top, &["bisect", "start"]));
        assert_eq!(working_tree_state(top), state(Some("main"), Some("a bisection")));
    }

    /// A branch `.invalid` is what Git writes for programs that do not know a table of references.
    #[test]
    fn nothing_is_said_of_a_branch_that_cannot_be_told() {
        let unknown = Some(WorkingTreeState::default());
        for head in [
            "ref: refs/heads/.invalid\n",
            "ref: refs/heads/\n",
            "ref: refs/remotes/origin/main\n",
            "words\n",
            "",
        ] {
            let folder = tempfile::tempdir().unwrap();
            std::fs::create_dir(folder.path().join(".git")).unwrap();
            std::fs::write(folder.path().join(".git/HEAD"), head).unwrap();
            assert_eq!(working_tree_state(folder.path()), unknown, "{head:?}");
        }
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(".git"), "words").unwrap();
        assert_eq!(
            working_tree_state(folder.path()),
            unknown,
            "a .git that is not a repository"
        );
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_said_of_a_branch_that_a_link_names() {
        let folder = conflict();
        let head = folder.path().join(".git/HEAD");
        std::fs::remove_file(&head).unwrap();
        std::os::unix::fs::symlink("refs/heads/main", &head).unwrap();
        assert_eq!(
            working_tree_state(folder.path()),
            Some(WorkingTreeState::default())
        );
    }
}
