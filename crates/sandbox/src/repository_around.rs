//! The parts of a repository outside of the workspace that Git reads when it works there: the rest of the
//! working tree if the workspace is a directory in it, and the directory of a submodule. Without the rest,
//! `git status` would say that it was deleted, and `git commit -a` would record that.

use std::fs;
use std::path::{Path, PathBuf};

/// Directories that everybody shares: a repository of somebody else may be there.
const SHARED: [&str; 3] = ["/dev/shm", "/tmp", "/var/tmp"];

/// The longest file that is looked at.
const LONGEST: u64 = 64 << 10;

/// Returns what commands in `workspace`, which has no symbolic links, have to read around it. Does not search
/// above `home`.
///
/// A command may change what is in the workspace, so a `.git` in it counts only if the repository to which it
/// leads names this place.
pub(crate) fn repository_around(workspace: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let may_be_read = |above: &&Path| {
        let is_around = |path: &Path| path.starts_with(above);
        !home.is_some_and(is_around) && !SHARED.iter().any(|shared| is_around(Path::new(shared)))
    };
    let has_git = |above: &&Path| fs::symlink_metadata(above.join(".git")).is_ok();
    let mut places = workspace.ancestors().take_while(may_be_read);
    let Some(top) = places.find(has_git) else {
        return Vec::new();
    };
    let git = top.join(".git");
    let Some(directory) = directory_of(&git) else {
        return Vec::new();
    };
    let tree = (top != workspace).then(|| top.to_owned());
    let is_inside = directory.starts_with(top);
    tree.into_iter()
        .chain((!is_inside && !names(&directory.join("gitdir"), &git)).then_some(directory))
        .collect()
}

/// Returns the directory of the repository that has its working tree here; `None` if it names another one.
fn directory_of(git: &Path) -> Option<PathBuf> {
    let about = fs::symlink_metadata(git).ok()?;
    if about.is_dir() {
        return (git.join("HEAD").is_file() && git.join("objects").is_dir()).then(|| git.to_owned());
    }
    if !about.is_file() {
        return None;
    }
    let top = git.parent()?;
    let named = short_text(git)?;
    let directory = fs::canonicalize(top.join(named.strip_prefix("gitdir:")?.trim())).ok()?;
    let is_worktree = names(&directory.join("gitdir"), git);
    (is_worktree || is_submodule(&directory, top)).then_some(directory)
}

/// Returns whether a file holds this path.
fn names(file: &Path, path: &Path) -> bool {
    short_text(file).is_some_and(|text| fs::canonicalize(text.trim()).is_ok_and(|named| named == path))
}

/// Returns whether a directory is among the modules of a repository around `top`, and names `top` as its
/// working tree.
fn is_submodule(directory: &Path, top: &Path) -> bool {
    let is_around = |above: &Path| {
        let git = above.join(".git");
        let is_plain = fs::symlink_metadata(&git).is_ok_and(|about| about.is_dir());
        is_plain && directory.starts_with(git.join("modules"))
    };
    let named = short_text(&directory.join("config")).and_then(|text| {
        let setting = |line: &str| {
            let value = line.trim().strip_prefix("worktree")?.trim_start();
            Some(value.strip_prefix('=')?.trim().to_owned())
        };
        text.lines().find_map(setting)
    });
    top.ancestors().skip(1).any(is_around)
        && directory.join("HEAD").is_file()
        && named.is_some_and(|named| fs::canonicalize(directory.join(named)).is_ok_and(|named| named == top))
}

/// The content of a regular file that is not long.
fn short_text(file: &Path) -> Option<String> {
    let about = fs::symlink_metadata(file).ok()?;
    let is_short = about.is_file() && about.len() <= LONGEST;
    is_short.then(|| fs::read_to_string(file).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made() -> (tempfile::TempDir, PathBuf) {
        let place = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(place.path()).unwrap();
        for name in [
            "main/.git/objects",
            "main/.git/modules/lib",
            "main/.git/worktrees/side",
            "main/src/deep",
            "main/lib/src",
            "side/src",
            "planted",
            "home",
        ] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        for name in ["main/.git", "main/.git/modules/lib", "main/.git/worktrees/side"] {
            fs::write(root.join(name).join("HEAD"), "ref: refs/heads/main\n").unwrap();
        }
        fs::write(root.join("main/lib/.git"), "gitdir: ../.git/modules/lib\n").unwrap();
        let config = "[core]\n\tbare = false\n\tworktree = ../../../lib\n";
        fs::write(root.join("main/.git/modules/lib/config"), config).unwrap();
        let pointer = format!("gitdir: {}\n", root.join("main/.git/worktrees/side").display());
        fs::write(root.join("side/.git"), &pointer).unwrap();
        let back = format!("{}\n", root.join("side/.git").display());
        fs::write(root.join("main/.git/worktrees/side/gitdir"), back).unwrap();
        fs::write(root.join("planted/.git"), pointer).unwrap();
        (place, root)
    }

    #[test]
    fn the_rest_of_a_working_tree_and_a_submodule_are_read() {
        let (_place, root) = made();
        for (workspace, expected) in [
            ("main", &[][..]),
            ("main/src/deep", &["main"][..]),
            ("main/lib", &["main/.git/modules/lib"][..]),
            ("main/lib/src", &["main/lib", "main/.git/modules/lib"][..]),
            ("side", &[][..]),
            ("side/src", &["side"][..]),
            ("home", &[][..]),
        ] {
            let expected: Vec<PathBuf> = expected.iter().map(|name| root.join(name)).collect();
            assert_eq!(
                repository_around(&root.join(workspace), None),
                expected,
                "{workspace}"
            );
        }
        let home = Some(root.join("main"));
        let found = repository_around(&root.join("main/src"), home.as_deref());
        assert_eq!(found, [PathBuf::new(); 0], "a repository of the home directory");
    }

    #[test]
    fn what_a_command_can_make_opens_nothing() {
        let (_place, root) = made();
        let of = |name: &str| repository_around(&root.join(name), None);
        assert_eq!(of("planted"), [PathBuf::new(); 0], "a worktree of another place");
        for pointer in ["../main/.git/modules/lib", "../main/.git", "../home"] {
            fs::write(root.join("planted/.git"), format!("gitdir: {pointer}\n")).unwrap();
            assert_eq!(of("planted"), [PathBuf::new(); 0], "{pointer}");
        }
        fs::remove_file(root.join("planted/.git")).unwrap();
        std::os::unix::fs::symlink(root.join("main/.git"), root.join("planted/.git")).unwrap();
        assert_eq!(of("planted"), [PathBuf::new(); 0], "a link");
        fs::remove_file(root.join("main/.git/HEAD")).unwrap();
        assert_eq!(of("main/src"), [PathBuf::new(); 0], "no repository");
    }
}
