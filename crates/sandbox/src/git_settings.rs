//! The files and directories that the settings of Git name, from which it takes more settings or runs hooks:
//! `include.path` and `core.hooksPath`. Only what a command must not change is looked for, so a line that is
//! read wrongly protects too little or too much, and never opens anything.

use std::collections::VecDeque;
use std::fs;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

/// The longest file of settings that is looked at.
const LONGEST: u64 = 256 << 10;
/// The most files of settings that are looked at, with those that they name.
const MOST_FILES: usize = 100;

/// The directories to which relative paths of settings belong.
pub(crate) struct SettingsPlace<'a> {
    /// The working tree: hooks run there.
    pub(crate) tree: &'a Path,
    /// The home directory of the person.
    pub(crate) home: Option<&'a Path>,
}

/// The places that settings name, absolute and without links as far as they exist.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct NamedPaths {
    /// Files with more settings.
    pub(crate) included: Vec<PathBuf>,
    /// Directories of hooks.
    pub(crate) hooks: Vec<PathBuf>,
}

/// Returns what these files of settings name, and what the files name that they include.
pub(crate) fn named_paths(files: Vec<PathBuf>, place: &SettingsPlace<'_>) -> NamedPaths {
    let mut named = NamedPaths::default();
    let mut open: VecDeque<PathBuf> = files.into();
    for _ in 0..MOST_FILES {
        let Some(file) = open.pop_front() else { break };
        let around = file.parent().unwrap_or(Path::new("/")).to_owned();
        for (section, key, value) in entries(&text_of(&file)) {
            match (section.as_str(), key.as_str()) {
                ("include" | "includeif", "path") => {
                    let path = place.absolute(&value, &around).filter(|path| *path != file);
                    if let Some(path) = path.filter(|path| !named.included.contains(path)) {
                        open.push_back(path.clone());
                        named.included.push(path);
                    }
                }
                ("core", "hookspath") if !value.is_empty() => {
                    named.hooks.extend(place.absolute(&value, place.tree));
                }
                _ => {}
            }
        }
    }
    named
}

impl SettingsPlace<'_> {
    /// Returns where a path of a setting leads; what does not exist at its end keeps its name.
    fn absolute(&self, value: &str, around: &Path) -> Option<PathBuf> {
        let path = match value.strip_prefix("~/") {
            Some(below) => self.home?.join(below),
            None => around.join(value),
        };
        if let Ok(real) = fs::canonicalize(&path) {
            return Some(real);
        }
        let above = fs::canonicalize(path.parent()?).ok()?;
        match path.components().next_back()? {
            Component::Normal(name) => Some(above.join(name)),
            _ => None,
        }
    }
}

fn text_of(file: &Path) -> String {
    let mut bytes = Vec::new();
    let is_file = fs::metadata(file).is_ok_and(|about| about.is_file());
    if is_file && let Ok(file) = fs::File::open(file) {
        // What could not be read names nothing.
        let _ = file.take(LONGEST).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the settings of a file: section and key in lower case, and the value.
fn entries(text: &str) -> Vec<(String, String, String)> {
    let text = text.replace("\r\n", "\n").replace("\\\n", "");
    let mut section = String::new();
    let mut found = Vec::new();
    for line in text.lines() {
        let mut line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            let name = header.split([']', ' ', '"', '.']).next().unwrap_or_default();
            section = name.to_lowercase();
            // A key may stand behind its section.
            line = header.rsplit_once(']').map_or("", |(_, rest)| rest).trim();
        }
        if let Some((key, value)) = line.split_once('=') {
            found.push((section.clone(), key.trim().to_lowercase(), unquoted(value.trim())));
        }
    }
    found
}

/// Returns a value without its quotes and without a comment.
fn unquoted(value: &str) -> String {
    let mut is_quoted = false;
    let mut text = String::new();
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => is_quoted = !is_quoted,
            '\\' => text.extend(letters.next()),
            '#' | ';' if !is_quoted => break,
            letter => text.push(letter),
        }
    }
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_name_files_and_hooks() {
        let root = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(root.path()).unwrap();
        fs::create_dir_all(root.join("work/.git")).unwrap();
        fs::create_dir_all(root.join("work/.husky")).unwrap();
        let config = root.join("work/.git/config");
        let text = "[core]\n\tbare = false\n[Include]\n\tpath = ../.gitconfig # ours\n[includeIf \"gitdir:/x/\"]\n\
                    path = \"~/more settings\"\n[remote \"path\"]\n\tpath = ../not\n";
        fs::write(&config, text).unwrap();
        fs::write(root.join("work/.gitconfig"), "[core] hooksPath = \\\n.husky/_\n").unwrap();
        let (tree, home) = (root.join("work"), root.clone());
        let place = SettingsPlace {
            tree: &tree,
            home: Some(&home),
        };
        let named = named_paths(vec![config], &place);
        let included = [root.join("work/.gitconfig"), root.join("more settings")];
        assert_eq!(named.included, included);
        assert_eq!(named.hooks, [root.join("work/.husky/_")], "it is not there yet");
    }

    #[test]
    fn files_that_include_each_other_are_read_once() {
        let root = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(root.path()).unwrap();
        fs::write(root.join("a"), "[include]\npath = b\n").unwrap();
        fs::write(root.join("b"), "[include]\npath = a\npath = b\n").unwrap();
        let place = SettingsPlace {
            tree: &root,
            home: None,
        };
        let named = named_paths(vec![root.join("a")], &place);
        assert_eq!(named.included, [root.join("b"), root.join("a")]);
    }
}
