//! Identifies the folder at a path by data of the file system. Files in the folder do not count, because they
//! could be copied.

use std::fs::Metadata;
use std::path::Path;
use std::time::UNIX_EPOCH;

use agentx_types::{CurrentFolder, FolderId};

use crate::digest::short_digest;
use crate::git::{directory, has_files_below};
use crate::paths::root_of;

/// Returns the identity of the folder at a path: itself, its place in its repository, and the repository's
/// directory, which the `.git` file of a worktree or a submodule names; `None` if the system does not give
/// it. Devices are left out, because their numbers change when a machine restarts.
pub fn folder_id(folder: &Path) -> Option<FolderId> {
    let own = mark(&std::fs::metadata(folder).ok()?)?;
    let top = top_of(folder);
    let git = top.join(".git");
    let git = directory(top)
        .ok()
        .and_then(|git| std::fs::metadata(git).ok())
        .or_else(|| std::fs::metadata(git).ok());
    let id = FolderId::new(&own, git.and_then(|git| mark(&git)).as_deref());
    match place_in(top, folder) {
        Some(place) => Some(id.at(&place)),
        None => Some(id),
    }
}

/// Returns the same with the state of its repository.
pub fn folder_now(folder: &Path) -> Option<CurrentFolder> {
    let id = folder_id(folder)?;
    let is_checked_out = is_checked_out(folder);
    Some(CurrentFolder { id, is_checked_out })
}

/// Returns whether the recorded folder is the one at a path now. Reads the index of its repository, which may
/// be large, only if another folder is at its place.
pub(crate) fn is_folder_at(known: &FolderId, folder: &Path) -> bool {
    folder_id(folder)
        .is_some_and(|now| known.matches(Some(&now)) || (known.is_remade_as(&now) && is_checked_out(folder)))
}

fn is_checked_out(folder: &Path) -> bool {
    let top = top_of(folder);
    let below = folder.strip_prefix(top);
    below.is_ok_and(|below| !below.as_os_str().is_empty() && has_files_below(top, below))
}

/// The top of the repository that a folder is part of; if there is none, of the project.
fn top_of(folder: &Path) -> &Path {
    let mut above = folder.ancestors();
    above
        .find(|folder| folder.join(".git").exists())
        .unwrap_or_else(|| root_of(folder))
}

/// The position of a folder below the top of its project: a hash of that and of the top.
fn place_in(top: &Path, folder: &Path) -> Option<String> {
    let below = folder.strip_prefix(top).ok()?;
    if below.as_os_str().is_empty() {
        return None;
    }
    let top = mark(&std::fs::metadata(top).ok()?)?;
    Some(short_digest(&format!("{top} {}", below.to_string_lossy())))
}

/// Returns the inode and the creation time; the inode alone if there is no creation time.
fn mark(of: &Metadata) -> Option<String> {
    let born = of.created().ok();
    let born = born.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let born = born.map(|since| since.as_nanos());
    let inode = inode(of);
    if inode.is_none() && born.is_none() {
        return None;
    }
    Some(short_digest(&format!("{inode:?} {born:?}")))
}

#[cfg(unix)]
fn inode(of: &Metadata) -> Option<u64> {
    Some(std::os::unix::fs::MetadataExt::ino(of))
}

#[cfg(not(unix))]
fn inode(_: &Metadata) -> Option<u64> {
    None
}

#[cfg(all(test, unix))]
#[allow(clippy::expect_used, reason = "a test that cannot start fails")]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_another_one_when_it_or_its_git_is_replaced_and_the_same_when_it_changes_or_moves() {
        let dir = tempfile::tempdir().expect("a folder");
        let (a, b, moved) = (
            dir.path().join("a"),
            dir.path().join("b"),
            dir.path().join("moved"),
        );
        for folder in [&a, &b] {
            std::fs::create_dir(folder).expect("it is made");
        }
        let before = folder_id(&a).expect("it is there");
        assert!(!before.matches(folder_id(&b).as_ref()), "two folders");
        std::fs::write(a.join("file"), "x").expect("it is written");
        assert!(before.matches(folder_id(&a).as_ref()), "a change in it");
        std::fs::create_dir(a.join(".git")).expect("it is made");
        let with_git = folder_id(&a).expect("it is there");
        assert!(before.matches(Some(&with_git)), "git init");
        std::fs::rename(&a, &moved).expect("it is moved");
        std::fs::rename(&b, &a).expect("it is moved");
        assert!(with_git.matches(folder_id(&moved).as_ref()), "it was moved");
        assert!(
            !before.matches(folder_id(&a).as_ref()),
            "another directory is at its path"
        );
        std::fs::rename(moved.join(".git"), moved.join("old")).expect("it is moved");
        assert!(
            !with_git.matches(folder_id(&moved).as_ref()),
            "its repository is gone"
        );
        std::fs::create_dir(moved.join(".git")).expect("it is made");
        assert!(
            !with_git.matches(folder_id(&moved).as_ref()),
            "another repository"
        );
        assert_eq!(folder_id(&dir.path().join("none")), None);
    }

    fn git(folder: &Path, arguments: &[&str]) {
        let done = std::process::Command::new("git")
            .current_dir(folder)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .args(["-c", "user.email=a@example.com", "-c", "user.name=a"])
            .args(arguments)
            .output()
            .expect("Git runs");
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success(), "{arguments:?}: {said}");
    }

    /// Removes a folder and makes it again, while another one takes its inode.
    fn remake(folder: &Path) {
        let old = folder.with_extension("old");
        std::fs::rename(folder, old).expect("it is moved");
        std::fs::create_dir(folder).expect("it is made");
    }

    #[test]
    fn a_folder_that_a_checkout_makes_again_is_the_same_and_one_that_it_does_not_know_is_another() {
        let dir = tempfile::tempdir().expect("a folder");
        let top = dir.path().join("top");
        let (sub, other) = (top.join("a/sub"), top.join("a/other"));
        for folder in [&sub, &other] {
            std::fs::create_dir_all(folder.join(".agentx")).expect("it is made");
            std::fs::write(folder.join("file"), "x").expect("it is written");
        }
        git(&top, &["init", "-q"]);
        git(&top, &["add", "a/sub"]);
        git(&top, &["commit", "-q", "-m", "x"]);
        let id = |folder: &Path| folder_id(folder).expect("it is there");
        let (known, of_other) = (id(&sub), id(&other));
        git(&top, &["checkout", "-q", "-b", "empty"]);
        git(&top, &["rm", "-rq", "a/sub"]);
        git(&top, &["commit", "-q", "-m", "gone"]);
        std::fs::rename(&sub, top.join("kept")).expect("it is moved");
        assert!(!is_folder_at(&known, &sub), "nothing lies there");
        git(&top, &["checkout", "-q", "-"]);
        assert!(is_folder_at(&known, &sub), "it came back");
        assert!(folder_now(&sub).expect("it is there").matches(&known));
        assert!(!is_folder_at(&known, &other) && !is_folder_at(&of_other, &sub));
        remake(&other);
        assert!(!is_folder_at(&of_other, &other), "no checkout made it");
        assert!(!folder_now(&other).expect("it is there").matches(&of_other));
        remake(&top.join(".git"));
        assert!(!is_folder_at(&known, &sub), "another repository");
    }

    #[test]
    fn a_worktree_is_known_by_the_directory_that_its_git_names() {
        let dir = tempfile::tempdir().expect("a folder");
        let (main, tree) = (dir.path().join("main"), dir.path().join("tree"));
        std::fs::create_dir(&main).expect("it is made");
        git(&main, &["init", "-q"]);
        git(&main, &["commit", "-q", "--allow-empty", "-m", "x"]);
        git(&main, &["worktree", "add", "-q", &tree.to_string_lossy()]);
        let known = folder_id(&tree).expect("it is there");
        let link = tree.join(".git");
        let text = std::fs::read(&link).expect("it is read");
        std::fs::rename(&link, tree.join("old")).expect("it is moved");
        std::fs::write(&link, &text).expect("it is written");
        assert!(is_folder_at(&known, &tree), "the file was written again");
        let elsewhere = dir.path().join("elsewhere");
        std::fs::create_dir(&elsewhere).expect("it is made");
        std::fs::write(&link, "gitdir: ../elsewhere\n").expect("it is written");
        assert!(!is_folder_at(&known, &tree), "it names another directory");
        std::fs::write(&link, &text).expect("it is written");
        assert!(is_folder_at(&known, &tree));
        remake(&main.join(".git/worktrees/tree"));
        assert!(
            !is_folder_at(&known, &tree),
            "another directory is where it leads"
        );
    }

    #[test]
    fn a_folder_below_the_top_of_a_project_is_the_same_when_that_becomes_a_repository() {
        let dir = tempfile::tempdir().expect("a folder");
        let sub = dir.path().join("sub");
        std::fs::create_dir_all(&sub).expect("it is made");
        std::fs::create_dir(dir.path().join(".agentx")).expect("it is made");
        let known = folder_id(&sub).expect("it is there");
        git(dir.path(), &["init", "-q"]);
        assert!(is_folder_at(&known, &sub));
        assert!(folder_id(&sub).expect("it is there").has_git() && !known.has_git());
    }
}
