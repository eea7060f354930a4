//! The files of commands and skills below a directory, each with its name. A command in a subdirectory has
//! the name that Claude Code gives it: `team/review.md` is sent with `/team:review`. A skill has the name of
//! its own directory, however deep that is: `team/review/SKILL.md` is `review`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::directory::{entries, mistake};
use crate::mistake::ConfigMistake;
use crate::symlinks::leads_out;

/// The file of a skill in its directory.
pub(super) const SKILL_FILE: &str = "SKILL.md";
/// The sign between a subdirectory and what is in it, in the name of a command.
pub(super) const SEPARATOR: char = ':';
/// Maximum number of levels of subdirectories.
const MAX_LEVELS: usize = 4;
/// Maximum number of subdirectories of one directory of commands or skills.
const MAX_SUBDIRECTORIES: usize = 100;

/// A directory whose files are commands.
struct CommandDirectory {
    path: PathBuf,
    /// The prefix of the names of its commands: nothing, or `team:`.
    prefix: String,
    /// The number of directories above it, up to the directory of commands.
    level: usize,
}

/// Returns the names and the files of the commands below a directory, sorted by name. What is left out
/// becomes a mistake. With a `root`, no link out of that folder is followed.
pub(super) fn command_files(
    directory: &Path,
    root: Option<&Path>,
    mistakes: &mut Vec<ConfigMistake>,
) -> Vec<(String, PathBuf)> {
    let mut files = Vec::new();
    let mut seen = BTreeSet::from([real(directory)]);
    let mut open = vec![CommandDirectory {
        path: directory.to_owned(),
        prefix: String::new(),
        level: 0,
    }];
    while let Some(next) = open.pop() {
        for entry in entries(&next.path) {
            let path = next.path.join(&entry);
            if let Some(name) = entry.strip_suffix(".md") {
                files.push((format!("{}{name}", next.prefix), path));
            } else if path.is_dir() && seen.insert(real(&path)) {
                match refusal(&path, root, next.level, seen.len() - 1, "commands") {
                    Some(what) => mistakes.push(mistake(&path, 1, what)),
                    None => open.push(CommandDirectory {
                        path,
                        prefix: format!("{}{entry}{SEPARATOR}", next.prefix),
                        level: next.level + 1,
                    }),
                }
            }
        }
    }
    files.sort();
    files
}

/// Returns the names and the files of the skills below a directory, sorted by name. What is below a skill
/// belongs to it. What is left out becomes a mistake. With a `root`, no link out of that folder is followed.
pub(super) fn skill_files(
    directory: &Path,
    root: Option<&Path>,
    mistakes: &mut Vec<ConfigMistake>,
) -> Vec<(String, PathBuf)> {
    let mut files = Vec::new();
    let mut seen = BTreeSet::from([real(directory)]);
    let mut open = vec![(directory.to_owned(), 0)];
    while let Some((directory, level)) = open.pop() {
        for entry in entries(&directory) {
            let path = directory.join(&entry);
            let file = path.join(SKILL_FILE);
            if file.symlink_metadata().is_ok() {
                files.push((entry, file));
            } else if path.is_dir() && seen.insert(real(&path)) {
                match refusal(&path, root, level, seen.len() - 1, "skills") {
                    Some(what) => mistakes.push(mistake(&path, 1, what)),
                    None => open.push((path, level + 1)),
                }
            }
        }
    }
    files.sort();
    files
}

/// The path without links; as it is if there is no such thing.
fn real(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// Returns why nothing in a subdirectory is used: the `number`th one, in a directory of this level. `kind` is
/// a word for what the directory holds.
fn refusal(path: &Path, root: Option<&Path>, level: usize, number: usize, kind: &str) -> Option<String> {
    if root.is_some_and(|root| leads_out(root, path)) {
        return Some("it is a link that leads out of the folder, so nothing in it is used".to_owned());
    }
    if level >= MAX_LEVELS {
        return Some(format!(
            "{kind} may lie {MAX_LEVELS} subdirectories deep; nothing in this one is used"
        ));
    }
    (number > MAX_SUBDIRECTORIES).then(|| {
        format!(
            "a directory may have {MAX_SUBDIRECTORIES} subdirectories of {kind}; nothing in this one is used"
        )
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use super::*;

    /// The names below a directory with these files, and the mistakes.
    fn names(files: &[&str]) -> (Vec<String>, String) {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let file = folder.path().join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "Text.\n").unwrap();
        }
        let mut mistakes = Vec::new();
        let found = command_files(folder.path(), None, &mut mistakes);
        let mistakes: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
        (
            found.into_iter().map(|(name, _)| name).collect(),
            mistakes.join("\n"),
        )
    }

    #[test]
    fn a_command_in_a_subdirectory_has_its_name_in_front() {
        let (names, mistakes) = names(&[
            "b.md",
            "team/review.md",
            "team/web/a.md",
            ".git/x.md",
            "team/x.txt",
        ]);
        assert_eq!(names, ["b", "team:review", "team:web:a"]);
        assert_eq!(mistakes, "");
    }

    #[test]
    fn subdirectories_have_bounds_and_what_is_left_out_is_said() {
        let (found, mistakes) = names(&["1/2/3/4/x.md", "1/2/3/4/5/y.md"]);
        assert_eq!(found, ["1:2:3:4:x"]);
        assert!(mistakes.contains("subdirectories deep"), "{mistakes}");

        let many: Vec<String> = (0..=MAX_SUBDIRECTORIES)
            .map(|n| format!("d{n:03}/x.md"))
            .collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let (found, mistakes) = names(&many);
        assert_eq!(found.len(), MAX_SUBDIRECTORIES);
        assert!(mistakes.contains("subdirectories of commands"), "{mistakes}");
    }

    #[test]
    fn a_skill_in_a_subdirectory_has_the_name_of_its_own_directory() {
        let folder = tempfile::tempdir().unwrap();
        for file in [
            "brew/SKILL.md",
            "team/review/SKILL.md",
            "team/web/deploy/SKILL.md",
            "team/review/more/SKILL.md",
            "team/notes.md",
            "1/2/3/4/5/deep/SKILL.md",
        ] {
            let file = folder.path().join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "Text.\n").unwrap();
        }
        let mut mistakes = Vec::new();
        let found = skill_files(folder.path(), None, &mut mistakes);
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        // What is below a skill belongs to it.
        assert_eq!(names, ["brew", "deploy", "review"]);
        assert!(
            mistakes.len() == 1 && mistakes[0].to_string().contains("skills may lie"),
            "{mistakes:?}"
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_a_circle_ends() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.md"), "Text.\n").unwrap();
        std::os::unix::fs::symlink(folder.path(), folder.path().join("again")).unwrap();
        let found = command_files(folder.path(), None, &mut Vec::new());
        assert_eq!(found.len(), 1);
    }
}
