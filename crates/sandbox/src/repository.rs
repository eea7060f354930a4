//! The parts of a Git repository that a commit writes, and those that run by themselves later.
//!
//! What is protected is chosen by its place. A command must not decide that a directory no longer counts as a
//! repository, for example by moving its `HEAD` away, and fill it for the day when it counts again.

use std::fs;
use std::path::{Path, PathBuf};

use crate::git_settings::{SettingsPlace, named_paths};

/// The paths that the repository of a directory needs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct RepositoryPaths {
    /// A commit writes there.
    pub(crate) write: Vec<PathBuf>,
    /// Git reads there what to run.
    pub(crate) protected: Vec<PathBuf>,
    /// Those of them that are directories of hooks and are made if they are missing.
    pub(crate) hooks: Vec<PathBuf>,
    /// A file that sends Git elsewhere for its settings, where no Git puts one.
    pub(crate) planted: Option<PathBuf>,
}

/// Files in a repository's directory that tell Git what to run, or where its settings are.
const RUNS: [&str; 4] = ["hooks", "config", "config.worktree", "commondir"];

/// A further one, in a directory in which commands may write others.
const ATTRIBUTES: &str = "info/attributes";

/// Any of these makes a directory below `modules` a repository or what is left of one.
const MARKS: [&str; 7] = [
    "HEAD",
    "objects",
    "refs",
    "hooks",
    "config",
    "config.worktree",
    "commondir",
];

/// Directories of a repository in which no repositories are.
const CONTENT: [&str; 8] = [
    "branches", "hooks", "info", "lfs", "logs", "objects", "refs", "rr-cache",
];

/// Directories of a repository with further ones, of worktrees and submodules.
const FURTHER: [&str; 2] = ["worktrees", "modules"];

/// The maximum number of directories to search. If there are more, commands change none of them.
const MOST_FURTHER: usize = 1000;

/// A file by which a directory of `worktrees` knows its worktree. Without it, Git forgets the worktree and
/// what is staged there; and to Git in a sandbox, a worktree outside of the workspace looks as if it were
/// gone.
const WORKTREE: &str = "gitdir";

/// The contents that make Git take its settings from the directory itself, as without the file. libgit2
/// does not open a repository with the first one, so AgentX writes the second.
pub(crate) const ITSELF: [&str; 2] = [".\n", "./\n"];

/// The place of a search: the directory in which commands work, and the home directory of the person.
#[derive(Clone, Copy)]
struct Around<'a> {
    workspace: &'a Path,
    home: Option<&'a Path>,
}

/// Returns the repository that contains `directory`, which has no symbolic links. Does not search above
/// `home`.
///
/// Does not trust the directory's contents: a `.git` that is a link or points elsewhere opens nothing outside
/// of `directory`, except a worktree's if its repository points back.
pub(crate) fn repository(directory: &Path, home: Option<&Path>) -> RepositoryPaths {
    let is_below =
        |above: &&Path| home.is_none_or(|home| !home.starts_with(above)) && *above != Path::new("/");
    let around = Around {
        workspace: directory,
        home,
    };
    for above in directory.ancestors().take_while(is_below) {
        let git = above.join(".git");
        let Ok(about) = fs::symlink_metadata(&git) else {
            continue;
        };
        if about.is_dir() {
            return of_directory(git, above, around);
        }
        if about.is_file()
            && let Some(found) = of_worktree(&git, above, around)
        {
            return found;
        }
        return of_pointer(git, above, around);
    }
    RepositoryPaths::default()
}

/// The repository to which a `.git` leads that is a link or a file: its files are protected where they are,
/// if commands may write there, and nobody puts another one in its place.
fn of_pointer(git: PathBuf, tree: &Path, around: Around<'_>) -> RepositoryPaths {
    let real = fs::canonicalize(&git).ok().filter(|real| real.is_dir());
    let real = real.or_else(|| named_directory(&git)).map(common_directory);
    let is_inside = |path: &PathBuf| path.starts_with(around.workspace);
    let mut paths = match real.filter(is_inside) {
        Some(real) => of_directory(real, tree, around),
        None => RepositoryPaths::default(),
    };
    paths.protected.extend(Some(git).filter(is_inside));
    paths
}

/// The directory of the repository of which a directory of `worktrees` is a part; any other one itself.
fn common_directory(real: PathBuf) -> PathBuf {
    let above = real.parent().filter(|above| above.ends_with("worktrees"));
    above
        .and_then(Path::parent)
        .map_or_else(|| real.clone(), Path::to_owned)
}

fn of_directory(git: PathBuf, tree: &Path, around: Around<'_>) -> RepositoryPaths {
    let pointer = git.join("commondir");
    let points = fs::read_to_string(&pointer).is_ok_and(|text| !is_itself(&text));
    let planted = (points || pointer.is_symlink()).then_some(pointer);
    let mut further = Further::default();
    further.search(&git);
    let mut protected: Vec<PathBuf> = RUNS
        .iter()
        .chain(&[ATTRIBUTES])
        .map(|name| git.join(name))
        .collect();
    if further.write.len() > MOST_FURTHER {
        protected.extend(FURTHER.map(|name| git.join(name)));
        further = Further::default();
    }
    for path in &further.repositories {
        protected.extend(RUNS.map(|name| path.join(name)));
    }
    protected.extend(further.modules.iter().map(|path| path.join(ATTRIBUTES)));
    protected.extend(further.worktrees.iter().map(|path| path.join(WORKTREE)));
    let is_inside = |path: &PathBuf| path.starts_with(around.workspace) || path.starts_with(&git);
    // A link is protected as what it is, and so is what it leads to.
    let targets = protected.iter().filter(|path| path.is_symlink());
    let targets: Vec<PathBuf> = targets.filter_map(|path| fs::canonicalize(path).ok()).collect();
    let named = named_paths(
        settings_of(&protected, around),
        &SettingsPlace {
            tree,
            home: around.home,
        },
    );
    let may_be_protected = |path: &PathBuf| is_inside(path) && *path != git && !tree.starts_with(path);
    protected.extend(targets.into_iter().chain(named.included).filter(may_be_protected));
    let hooks: Vec<PathBuf> = named.hooks.into_iter().filter(may_be_protected).collect();
    protected.extend(hooks.iter().cloned());
    protected.sort();
    protected.dedup();
    // A directory that is bound cannot be renamed to make room for another one.
    let write = [vec![git], further.write].concat();
    RepositoryPaths {
        write,
        protected,
        hooks,
        planted,
    }
}

/// The files of settings that Git reads for a repository.
fn settings_of(protected: &[PathBuf], around: Around<'_>) -> Vec<PathBuf> {
    let of_repository = protected
        .iter()
        .filter(|path| path.ends_with("config") || path.ends_with("config.worktree"))
        .cloned();
    let of_person = [".gitconfig", ".config/git/config"];
    let of_person = around
        .home
        .into_iter()
        .flat_map(|home| of_person.map(|name| home.join(name)));
    of_repository
        .chain(of_person)
        .chain(["/etc/gitconfig".into()])
        .collect()
}

/// The directories below a repository in which those of worktrees and submodules are.
#[derive(Default)]
struct Further {
    write: Vec<PathBuf>,
    repositories: Vec<PathBuf>,
    /// Those of `repositories` that are not of worktrees.
    modules: Vec<PathBuf>,
    /// The others.
    worktrees: Vec<PathBuf>,
}

impl Further {
    /// Looks through the directories, until there are too many; follows no link.
    fn search(&mut self, git: &Path) {
        let mut open = vec![git.to_owned()];
        while let Some(path) = open.pop() {
            if self.write.len() > MOST_FURTHER {
                return;
            }
            let worktrees = path.join("worktrees");
            if is_directory(&worktrees) {
                let each = directories(&worktrees);
                self.repositories.extend(each.iter().cloned());
                self.worktrees.extend(each.iter().cloned());
                self.write.push(worktrees);
                self.write.extend(each);
            }
            let modules = path.join("modules");
            if is_directory(&modules) {
                let each = directories(&modules);
                self.write.push(modules);
                each.into_iter().for_each(|path| self.module(path, &mut open));
            }
        }
    }

    /// A directory below `modules`: a repository, or one with further directories, or both.
    fn module(&mut self, top: PathBuf, open: &mut Vec<PathBuf>) {
        let mut below = vec![top];
        while let Some(path) = below.pop() {
            if self.write.len() > MOST_FURTHER {
                return;
            }
            let is_repository = MARKS
                .iter()
                .any(|name| fs::symlink_metadata(path.join(name)).is_ok());
            let names: &[&str] = if is_repository { &CONTENT } else { &[] };
            let is_further = |path: &PathBuf| {
                let is = |names: &[&str]| names.iter().any(|name| path.ends_with(name));
                let is_elsewhere = is_repository && is(&FURTHER);
                !is_elsewhere && !is(names)
            };
            below.extend(directories(&path).into_iter().filter(is_further));
            if is_repository {
                self.repositories.push(path.clone());
                self.modules.push(path.clone());
                open.push(path.clone());
            }
            self.write.push(path);
        }
    }
}

/// Returns the directories in a directory, in the order of their names; none that is a link.
fn directories(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let is_directory = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    let mut found: Vec<PathBuf> = entries.filter(is_directory).map(|entry| entry.path()).collect();
    found.sort();
    found
}

/// Returns whether a `commondir` has the content of one that changes nothing.
fn is_itself(text: &str) -> bool {
    ITSELF.iter().any(|known| known.trim_end() == text.trim_end())
}

fn is_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|about| about.is_dir())
}

/// Returns what a file has to hold so that Git does as it does without it, if a command could make one that
/// Git obeys. `None` for a path that nothing has to be at.
#[cfg(target_os = "linux")]
pub(crate) fn harmless_content(protected: &Path) -> Option<&'static str> {
    if protected.ends_with(ATTRIBUTES) {
        return Some("");
    }
    match protected.file_name()?.to_str()? {
        "commondir" => Some(ITSELF[1]),
        "config.worktree" => Some(""),
        _ => None,
    }
}

/// The directory that a file `.git` names.
fn named_directory(git: &Path) -> Option<PathBuf> {
    const LONGEST: u64 = 4096;
    let about = fs::symlink_metadata(git).ok()?;
    if !about.is_file() || about.len() > LONGEST {
        return None;
    }
    let text = fs::read_to_string(git).ok()?;
    let own = PathBuf::from(text.strip_prefix("gitdir:")?.trim());
    fs::canonicalize(git.parent()?.join(own)).ok()
}

/// The repository of a worktree: `.git` is a file that names a directory in it.
fn of_worktree(git: &Path, tree: &Path, around: Around<'_>) -> Option<RepositoryPaths> {
    let own = named_directory(git)?;
    let back = fs::read_to_string(own.join("gitdir")).ok()?;
    if fs::canonicalize(back.trim()).ok()? != git {
        return None;
    }
    let common = own
        .parent()
        .filter(|parent| parent.ends_with("worktrees"))?
        .parent()?;
    let is_repository = common.join("HEAD").is_file() && common.join("objects").is_dir();
    let mut paths = is_repository.then(|| of_directory(common.to_owned(), tree, around))?;
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
        assert!(of("side").write.is_empty(), "it does not point back");
        assert_eq!(of("side").protected, [root.join("side/.git")]);
        let back = format!("{}\n", root.join("side/.git").display());
        fs::write(git.join("worktrees/side/gitdir"), back).unwrap();
        assert_eq!(of("side").write, written);
        assert!(of("side").protected.contains(&root.join("side/.git")));

        fs::create_dir_all(root.join("planted")).unwrap();
        std::os::unix::fs::symlink(&git, root.join("planted/.git")).unwrap();
        assert!(of("planted").write.is_empty(), "a link");
        assert_eq!(of("planted").protected, [root.join("planted/.git")]);
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
            "worktrees/side/gitdir",
            "modules/a/b/config",
            "modules/a/b/modules/c/hooks",
        ] {
            assert!(found.protected.contains(&git.join(name)), "{name}");
        }
        assert!(
            found.write.contains(&git.join("modules/a")),
            "it cannot be renamed"
        );
        for (text, planted) in [
            (".\n", false),
            ("./\n", false),
            ("../evil\n", true),
            ("../evil", true),
        ] {
            fs::write(git.join("commondir"), text).unwrap();
            assert_eq!(repository(&root, None).planted.is_some(), planted, "{text:?}");
        }
    }
}
