//! The parts of a Git repository that a commit writes, and those that run by themselves later.

use std::fs;
use std::path::{Path, PathBuf};

/// What the repository of a directory needs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct RepositoryPaths {
    /// A commit writes there.
    pub(crate) write: Vec<PathBuf>,
    /// Git reads there what to run.
    pub(crate) protected: Vec<PathBuf>,
}

/// Returns the repository that holds `directory`, which has no symbolic links. Above `home` none is looked
/// for.
///
/// What lies in the directory is not believed: a `.git` that is a link is passed over, and one that points to
/// another place counts only if that place is a repository that points back.
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
    let protected = ["hooks", "config", "config.worktree"]
        .map(|name| git.join(name))
        .into();
    // A directory that is bound cannot be renamed to make room for another one.
    RepositoryPaths {
        write: vec![git],
        protected,
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
        assert_eq!(of("main").write, std::slice::from_ref(&git));
        assert!(of("main").protected.contains(&git.join("hooks")));

        fs::create_dir_all(root.join("side")).unwrap();
        let pointer = format!("gitdir: {}\n", git.join("worktrees/side").display());
        fs::write(root.join("side/.git"), pointer).unwrap();
        assert_eq!(of("side"), RepositoryPaths::default(), "it does not point back");
        let back = format!("{}\n", root.join("side/.git").display());
        fs::write(git.join("worktrees/side/gitdir"), back).unwrap();
        assert_eq!(of("side").write, std::slice::from_ref(&git));
        assert!(of("side").protected.contains(&root.join("side/.git")));

        fs::create_dir_all(root.join("planted")).unwrap();
        std::os::unix::fs::symlink(&git, root.join("planted/.git")).unwrap();
        assert_eq!(of("planted"), RepositoryPaths::default(), "a link");
        assert_eq!(
            repository(&root.join("main/src"), Some(&root.join("main"))),
            RepositoryPaths::default()
        );
    }
}
