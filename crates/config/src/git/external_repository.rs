//! Repositories whose history is elsewhere: Git commands would show somebody else's data. A `.git` may be a
//! link or a file, name the directory that it shares (`commondir`), borrow objects
//! (`objects/info/alternates`), or hold links.

use std::path::{Path, PathBuf};

use super::GitPrograms;
use super::effect_words::{ELSEWHERE, GitEffectKind};
use super::names::without_sign_in;
use super::repository_files::{GitLine as _, MAX_BYTES, is_same, path_of, plain, readable};
use super::settings;
use crate::digest::digest;

/// The most places that are named of one repository.
const MAX_PLACES: usize = 50;

/// Maximum number of addresses that are shown of a file.
const MOST_ADDRESSES: usize = 5;

/// The parts of a repository that may be links to those of another one.
const PARTS: &[&str] = &["HEAD", "index", "logs", "objects", "packed-refs", "refs"];

impl GitPrograms {
    /// Records a repository that is elsewhere, unless it names this folder as its working tree, as those of
    /// Git's own worktrees and submodules do; and one that has its history elsewhere.
    pub(super) fn record_external(&mut self, top: &Path, git: &Path, common: &Path, place: &str) {
        let link = top.join(".git");
        let is_directory = link.symlink_metadata().is_ok_and(|found| found.is_dir());
        let is_worktree = !is_directory && names_it(git, &link) && is_one_of(git, common);
        if !is_directory && !is_worktree && !is_submodule(git, top) {
            self.add_elsewhere(place, git);
        }
        let lies_here = |path: &Path| is_below(path, top) || is_below(path, git);
        if !is_worktree && !lies_here(common) {
            self.add_elsewhere(place, common);
        }
        let borrowed = borrowed(common).into_iter().chain(linked(git, common));
        let is_own = |path: &PathBuf| lies_here(path) || is_below(path, common);
        let mut others = borrowed.filter(|(path, is_last)| !(*is_last && is_own(path)));
        for (path, _) in others.by_ref().take(MAX_PLACES) {
            self.add_elsewhere(place, &path);
        }
        if others.next().is_some() {
            self.add(
                GitEffectKind::OtherRepository,
                place,
                ELSEWHERE,
                " in more places than are checked",
            );
        }
        let file = common.join("objects/info/http-alternates");
        match readable(&file, MAX_BYTES) {
            Ok(None) => {}
            Ok(Some(bytes)) => {
                let from = addresses(&bytes);
                let said = format!(" = objects/info/http-alternates {}, from {from}", digest(&bytes));
                self.add(GitEffectKind::Fetches, place, ELSEWHERE, &said);
            }
            Err(why) => {
                let said = format!(" = http-alternates: {why}");
                self.add(GitEffectKind::Unread, place, ELSEWHERE, &said);
            }
        }
    }

    fn add_elsewhere(&mut self, place: &str, path: &Path) {
        let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let said = format!(" = {}", plain(&path.to_string_lossy()));
        self.add(GitEffectKind::OtherRepository, place, ELSEWHERE, &said);
    }
}

/// Returns the first addresses in a file, without passwords.
fn addresses(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let shown = lines.take(MOST_ADDRESSES).map(|line| {
        let line = plain(line);
        without_sign_in(&line).unwrap_or(line)
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// Returns whether the directory of a worktree names its `.git`.
fn names_it(git: &Path, link: &Path) -> bool {
    let named = readable(&git.join("gitdir"), MAX_BYTES).ok().flatten();
    named.is_some_and(|path| is_same(&git.join(path_of(path.without_line_ends())), link))
}

/// Returns whether this is the directory in which the shared repository keeps the data of a worktree.
fn is_one_of(git: &Path, common: &Path) -> bool {
    let git = std::fs::canonicalize(git).unwrap_or_else(|_| git.to_owned());
    is_same(git.parent().unwrap_or(&git), &common.join("worktrees"))
}

fn is_submodule(git: &Path, top: &Path) -> bool {
    let settings = settings::of_file(&git.join("config"));
    settings
        .iter()
        .any(|setting| setting.name == "core.worktree" && is_same(&git.join(&setting.value), top))
}

/// Returns the object folders that are borrowed, and whether each of them borrows none in turn.
fn borrowed(common: &Path) -> Vec<(PathBuf, bool)> {
    let objects = common.join("objects");
    let file = objects.join("info/alternates");
    let Ok(text) = readable(&file, MAX_BYTES) else {
        return vec![(file, false)];
    };
    let text = text.unwrap_or_default();
    let lines = text.split(|byte| *byte == b'\n');
    let named = lines.filter(|line| !line.is_empty() && !line.starts_with(b"#"));
    named
        .map(|line| objects.join(path_of(line)))
        .map(|path| {
            let is_last = path.join("info/alternates").symlink_metadata().is_err();
            (path, is_last)
        })
        .collect()
}

/// Returns the targets of parts of a repository and of its object folders that are links.
fn linked(git: &Path, common: &Path) -> Vec<(PathBuf, bool)> {
    let parts = PARTS.iter().flat_map(|part| [git.join(part), common.join(part)]);
    let objects = std::fs::read_dir(common.join("objects")).into_iter().flatten();
    let objects = objects.flatten().map(|entry| entry.path());
    let links = parts.chain(objects).filter(|path| path.is_symlink());
    links.map(|path| (path, true)).collect()
}

fn is_below(path: &Path, folder: &Path) -> bool {
    match (std::fs::canonicalize(path), std::fs::canonicalize(folder)) {
        (Ok(path), Ok(folder)) => path.starts_with(folder),
        _ => false,
    }
}

#[cfg(all(test, unix))]
#[allow(clippy::expect_used, reason = "a test that cannot start fails")]
mod tests {
    use super::*;

    fn write(path: &Path, text: impl AsRef<[u8]>) {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("it is made");
        std::fs::write(path, text).expect("it is written");
    }

    fn repository(folder: &Path) {
        let git = folder.join(".git");
        write(&git.join("HEAD"), "ref: refs/heads/main\n");
        for part in ["objects/pack", "refs"] {
            std::fs::create_dir_all(git.join(part)).expect("it is made");
        }
    }

    fn text(folder: &Path) -> String {
        GitPrograms::of(folder).text()
    }

    #[test]
    fn a_history_that_is_shared_or_borrowed_from_another_project_is_said() {
        let dir = tempfile::tempdir().expect("a folder");
        let (own, other) = (dir.path().join("own"), dir.path().join("other"));
        repository(&own);
        repository(&other);
        assert_eq!(text(&own), "");
        let real = std::fs::canonicalize(other.join(".git")).expect("it is there");
        for (file, line, leads_to) in [
            ("commondir", real.display().to_string(), real.clone()),
            ("commondir", "../../other/.git".to_owned(), real.clone()),
            (
                "objects/info/alternates",
                real.join("objects").display().to_string(),
                real.join("objects"),
            ),
            (
                "objects/info/alternates",
                "# x\n\n../../../other/.git/objects".to_owned(),
                real.join("objects"),
            ),
        ] {
            let file = own.join(".git").join(file);
            write(&file, format!("{line}\n"));
            let said = format!(".git elsewhere = {}\n", leads_to.display());
            assert_eq!(text(&own), said, "{line}");
            std::fs::remove_file(file).expect("it is removed");
        }
        write(&own.join(".git/objects/info/http-alternates"), "/x\n");
        assert!(text(&own).starts_with(".git elsewhere = objects/info/http-alternates "));
    }

    #[test]
    fn objects_of_the_folder_itself_may_be_borrowed_unless_they_are_borrowed_in_turn() {
        let dir = tempfile::tempdir().expect("a folder");
        let inner = dir.path().join("kept/objects");
        repository(dir.path());
        std::fs::create_dir_all(&inner).expect("it is made");
        let file = dir.path().join(".git/objects/info/alternates");
        write(&file, "../../kept/objects\n");
        assert_eq!(text(dir.path()), "");
        write(&inner.join("info/alternates"), "/elsewhere\n");
        assert!(text(dir.path()).starts_with(".git elsewhere = "));
        write(&file, "/nowhere\n");
        assert_eq!(text(dir.path()), ".git elsewhere = /nowhere\n");
    }

    #[test]
    fn links_within_git_that_lead_to_another_project_are_said() {
        let dir = tempfile::tempdir().expect("a folder");
        let (own, other) = (dir.path().join("own"), dir.path().join("other"));
        repository(&own);
        repository(&other);
        for part in ["refs", "objects/pack"] {
            let (part, of_other) = (own.join(".git").join(part), other.join(".git").join(part));
            std::fs::remove_dir(&part).expect("it is removed");
            std::os::unix::fs::symlink(&of_other, &part).expect("a link");
            let real = std::fs::canonicalize(&of_other).expect("it is there");
            assert!(text(&own).contains(&format!(".git elsewhere = {}\n", real.display())));
        }
    }

    /// A `.git` file that leads to a directory in the folder, which claims to be the worktree of somebody
    /// else's repository.
    #[test]
    fn a_worktree_that_the_shared_repository_does_not_keep_is_said() {
        let dir = tempfile::tempdir().expect("a folder");
        let (own, other) = (dir.path().join("own"), dir.path().join("other"));
        repository(&other);
        write(&own.join(".git"), "gitdir: fake\n");
        write(&own.join("fake/gitdir"), "../.git\n");
        write(&own.join("fake/HEAD"), "ref: refs/heads/main\n");
        write(&own.join("fake/commondir"), "../../other/.git\n");
        let real = std::fs::canonicalize(other.join(".git")).expect("it is there");
        assert!(text(&own).contains(&format!(".git elsewhere = {}\n", real.display())));
    }
}
