//! The parts of a Git repository that a commit writes, and those that run by themselves later.

use std::fs;
use std::path::{Path, PathBuf};

/// The paths that the repository of a directory needs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct RepositoryPaths {
    /// A commit writes there.
    pub(crate) write: Vec<PathBuf>,
    /// Git reads there what to run.
    pub(crate) protected: Vec<PathBuf>,
    /// A file that sends Git elsewhere for its settings, where no Git puts one.
    pub(crate) planted: Option<PathBuf>,
}

/// Files in a repository's directory that tell Git what to run, or where its settings are.
const RUNS: [&str; 4] = ["hooks", "config", "config.worktree", "commondir"];

/// Directories of a repository with further ones, of worktrees and submodules.
const FURTHER: [&str; 2] = ["worktrees", "modules"];

/// The maximum number of directories to search.
const MOST_FURTHER: usize = 1000;

/// The content that makes Git take its settings from the directory itself, as without the file.
const ITSELF: &str = ".";

/// Returns the repository that contains `directory`, which has no symbolic links. Does not search above
/// `home`.
///
/// Does not trust the directory's contents: it ignores a `.git` that is a link, and one that points elsewhere
/// counts only if its target is a repository that points back.
pub(crate) fn repository(directory: &Path, home: Option<&Path>) -> RepositoryPaths {
    let is_below =
        |above: &&Path| home.is_none_or(|home| !home.starts_with(above)) && *above != Path::new("/");
    for above in directory.ancestors().take_while(is_below) {
        let git = above.join(".git");
        let Ok(about) = fs::symlink_metadata(&git) else {
            continue;
        };
        if about.is_dir() {
            return of_directory(git);
        }
        if about.is_file() {
            return of_worktree(&git).unwrap_or_default();
        }
        return RepositoryPaths::default();
    }
    RepositoryPaths::default()
}

fn of_directory(git: PathBuf) -> RepositoryPaths {
    let pointer = git.join("commondir");
    let points = fs::read_to_string(&pointer).is_ok_and(|text| text.trim_end() != ITSELF);
    let planted = (points || pointer.is_symlink()).then_some(pointer);
    // A directory that is bound cannot be renamed to make room for another one.
    let mut write = vec![git.clone()];
    write.extend(FURTHER.iter().flat_map(|name| directories(git.join(name))));
    let is_repository = |path: &&PathBuf| **path == git || path.join("HEAD").is_file();
    let repositories = write.iter().filter(is_repository);
    let protected = repositories.flat_map(|path| RUNS.map(|name| path.join(name)));
    RepositoryPaths {
        protected: protected.collect(),
        write,
        planted,
    }
}

/// The directory, and those below it down to repositories and their further ones; none that is a link.
fn directories(top: PathBuf) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![top];
    while let Some(path) = open.pop() {
        let is_directory = fs::symlink_metadata(&path).is_ok_and(|about| about.is_dir());
        if !is_directory || found.len() == MOST_FURTHER {
            continue;
        }
        if path.join("HEAD").is_file() {
            open.extend(FURTHER.map(|name| path.join(name)));
        } else {
            let entries = fs::read_dir(&path).into_iter().flatten().flatten();
            open.extend(entries.map(|entry| entry.path()));
        }
        found.push(path);
    }
    found
}

/// Returns what a file has to hold so that Git does as it does without it, if a command could make one that
/// Git obeys. `None` for a path that nothing has to be at.
#[cfg(target_os = "linux")]
pub(crate) fn harmless_content(protected: &Path) -> Option<&'static str> {
    match protected.file_name()?.to_str()? {
        "commondir" => Some(".\n"),
        "config.worktree" => Some(""),
        _ => None,
    }
}

/// The repository of a worktree: `.git` is a file that names a directory in it.
fn of_worktree(git: &Path) -> Option<RepositoryPaths> {
    const LONGEST: u64 = 4096;
    if fs::metadata(git).ok()?.len() > LONGEST {
        return None;
    }
    let text = fs::read_to_string(git).ok()?;
    let own = PathBuf::from(text.strip_prefix("gitdir:")?.trim());
    let own = fs::canonicalize(git.parent()?.join(own)).ok()?;
    let back = fs::read_to_string(own.join("gitdir")).ok()?;
    if fs::canonicalize(back.trim()).ok()? != git {
        return None;
    }
    let common = own
        .parent()
        .filter(|parent| parent.ends_with("worktrees"))?
        .parent()?;
    let is_repository = common.join("HEAD").is_file() && common.join("objects").is_dir();
    let mut paths = is_repository.then(|| of_directory(common.to_owned()))?;
    paths.protected.push(git.to_owned());
    Some(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_found_above_and_a_planted_one_is_not_believed() {
        let root = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(root.path()).unwrap();
        let of = |name: &str| repository(&root.join(name), None);
        fs::create_dir_all(root.join("main/.git/objects")).unwrap();
        fs::create_dir_all(root.join("main/.git/worktrees/side")).unwrap();
        fs::create_dir_all(root.join("main/src")).unwrap();
        fs::write(root.join("main/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
        let git = root.join("main/.git");
        assert_eq!(of("main/src"), of("main"));
        let written = [git.clone(), git.join("worktrees"), git.join("worktrees/side")];
        assert_eq!(of("main").write, written);
        assert!(of("main").protected.contains(&git.join("hooks")));

        fs::create_dir_all(root.join("side")).unwrap();
        let pointer = format!("gitdir: {}\n", git.join("worktrees/side").display());
        fs::write(root.join("side/.git"), pointer).unwrap();
        assert_eq!(of("side"), RepositoryPaths::default(), "it does not point back");
        let back = format!("{}\n", root.join("side/.git").display());
        fs::write(git.join("worktrees/side/gitdir"), back).unwrap();
        assert_eq!(of("side").write, written);
        assert!(of("side").protected.contains(&root.join("side/.git")));

        fs::create_dir_all(root.join("planted")).unwrap();
        std::os::unix::fs::symlink(&git, root.join("planted/.git")).unwrap();
        assert_eq!(of("planted"), RepositoryPaths::default(), "a link");
        assert_eq!(
            repository(&root.join("main/src"), Some(&root.join("main"))),
            RepositoryPaths::default()
        );
    }

    #[test]
    fn repositories_within_one_are_protected_and_a_planted_pointer_is_seen() {
        let root = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(root.path()).unwrap();
        let git = root.join(".git");
        for name in ["worktrees/side", "modules/a/b", "modules/a/b/modules/c"] {
            fs::create_dir_all(git.join(name)).unwrap();
            fs::write(git.join(name).join("HEAD"), "ref: refs/heads/main\n").unwrap();
        }
        let found = repository(&root, None);
        for name in [
            "commondir",
            "config.worktree",
            "worktrees/side/commondir",
            "modules/a/b/config",
            "modules/a/b/modules/c/hooks",
        ] {
            assert!(found.protected.contains(&git.join(name)), "{name}");
        }
        assert!(
            found.write.contains(&git.join("modules/a")),
            "it cannot be renamed"
        );
        for (text, planted) in [(".\n", false), ("../evil\n", true), ("../evil", true)] {
            fs::write(git.join("commondir"), text).unwrap();
            assert_eq!(repository(&root, None).planted.is_some(), planted, "{text:?}");
        }
    }
}
