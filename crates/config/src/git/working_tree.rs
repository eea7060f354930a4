//! What a person would read in the first lines of `git status`, without running Git.

use std::path::Path;

use super::{MAX_BYTES, common, directory, has_git, index, readable, settings};

/// The largest index whose files are compared with the disk, some 10,000 files: a start waits for it.
const MAX_INDEX_BYTES: u64 = 1 << 20;

/// Files and folders of `.git` by which Git knows that an operation is not finished (`wt-status.c`).
const OPERATIONS: &[(&str, &str)] = &[
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
    ("MERGE_HEAD", "a merge"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("BISECT_LOG", "a bisection"),
];

/// How a working tree stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WorkingTreeState {
    /// The branch that is checked out.
    pub(crate) branch: Option<String>,
    /// The operation that is in progress.
    pub(crate) operation: Option<&'static str>,
    /// How many files differ from the index in size or time; not known of a large repository.
    pub(crate) changed: Option<usize>,
}

/// How the working tree around `folder` stands; `None` where it is in no repository.
pub(crate) fn working_tree_state(folder: &Path) -> Option<WorkingTreeState> {
    let top = folder.ancestors().find(|folder| has_git(folder))?;
    let git = directory(top).ok()?;
    let head = readable(&git.join("HEAD"), MAX_BYTES).ok()??;
    let head = String::from_utf8_lossy(&head);
    let branch = head.trim_end().strip_prefix("ref: refs/heads/");
    let operation = OPERATIONS.iter().find(|(file, _)| git.join(file).exists());
    let changed = || {
        let hash = settings::hash_length(&common(&git).ok()?.join("config"));
        let index = readable(&git.join("index"), MAX_INDEX_BYTES).ok()??;
        index::changed_files(&index, hash, top)
    };
    Some(WorkingTreeState {
        branch: branch.map(str::to_owned),
        operation: operation.map(|(_, operation)| *operation),
        changed: changed(),
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn the_state_is_that_of_the_working_tree() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path();
        assert_eq!(working_tree_state(top), None);
        let git = |words: &[&str]| {
            let mut command = Command::new("git");
            command.current_dir(top).env("GIT_CONFIG_GLOBAL", "/dev/null");
            command.args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]);
            assert!(
                command.args(words).output().unwrap().status.success(),
                "{words:?}"
            );
        };
        git(&["init", "-b", "topic/one"]);
        std::fs::create_dir(top.join("sub")).unwrap();
        std::fs::write(top.join("a.txt"), "one").unwrap();
        std::fs::write(top.join("sub/b.txt"), "two").unwrap();
        git(&["add", "."]);
        git(&["commit", "-m", "first"]);
        let state = |changed| WorkingTreeState {
            branch: Some("topic/one".to_owned()),
            operation: None,
            changed: Some(changed),
        };
        assert_eq!(working_tree_state(&top.join("sub")), Some(state(0)));
        std::fs::write(top.join("a.txt"), "other words").unwrap();
        std::fs::remove_file(top.join("sub/b.txt")).unwrap();
        assert_eq!(working_tree_state(top), Some(state(2)));
        std::fs::write(top.join(".git/MERGE_HEAD"), "").unwrap();
        git(&["checkout", "--detach"]);
        let detached = working_tree_state(top).unwrap();
        assert_eq!(detached.branch, None);
    }
}
