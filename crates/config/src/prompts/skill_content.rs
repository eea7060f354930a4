//! The content of a skill for the model: its text with the list of its files, or one of these files.

use std::path::{Component, Path, PathBuf};

use agentx_types::nearest;

use super::PromptFile;
use super::directory::entries;
use super::subdirectories::SKILL_FILE;
use crate::settings::Settings;

/// Maximum length of the result, in bytes.
const MAX_SHOWN: usize = 64 << 10;
/// Maximum number of files that are listed.
const MAX_LISTED: usize = 100;
/// Maximum number of directories that are looked into.
const MAX_DIRECTORIES: usize = 50;

impl PromptFile {
    /// The directory of a skill.
    fn directory(&self) -> &Path {
        self.file.parent().unwrap_or(&self.file)
    }

    /// Says where the files of a skill are; nothing if it has none.
    pub(super) fn about_files(&self) -> String {
        let files = files_below(self.directory());
        if files.is_empty() {
            return String::new();
        }
        format!(
            " Its directory is {}. The tool `skill` reads these files in it: {}.",
            self.directory().display(),
            files.join(", ")
        )
    }

    /// The text for a model that asks for it.
    fn content(&self) -> String {
        format!(
            "Skill {}.{}\n\n{}",
            self.name,
            self.about_files(),
            self.text.trim()
        )
    }
}

impl Settings {
    /// Returns the text of a skill for the model, or of one of its files. The files are read at each call.
    ///
    /// # Errors
    /// Returns an error in words for the model, if there is no such skill, or the file is not in its
    /// directory or cannot be given to a model.
    pub fn read_skill(&self, name: &str, file: Option<&str>) -> Result<String, String> {
        let files = self.prompt_files();
        let Some(skill) = files.skills().find(|skill| skill.name == name) else {
            return Err(unknown(name, &files.skills().collect::<Vec<_>>()));
        };
        let text = match file {
            None | Some("" | SKILL_FILE) => skill.content(),
            Some(file) => self
                .skill_file(skill, file)
                .map_err(|why| format!("{file:?} of the skill {name} is not read: {why}."))?,
        };
        Ok(shortened(text))
    }

    fn skill_file(&self, skill: &PromptFile, file: &str) -> Result<String, String> {
        let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        if !Path::new(file).components().all(is_plain) {
            return Err("name it by its path below the directory of the skill".to_owned());
        }
        let real = |path: PathBuf| std::fs::canonicalize(path).map_err(|error| error.to_string());
        let directory = real(skill.directory().to_owned())?;
        let found = real(directory.join(file))?;
        if !found.starts_with(&directory) {
            return Err("it is a link that leads out of the directory of the skill".to_owned());
        }
        self.read_for_model(&found, skill.of_folder)
    }
}

fn unknown(name: &str, skills: &[&PromptFile]) -> String {
    if skills.is_empty() {
        return "There are no skills here.".to_owned();
    }
    let names: Vec<&str> = skills.iter().map(|skill| skill.name.as_str()).collect();
    let near = nearest(name, names.iter().copied(), 1);
    let near = near.first().map(|near| format!(" Did you mean {near}?"));
    let shown: String = name.chars().take(64).collect();
    format!(
        "There is no skill {shown:?}.{} Skills: {}.",
        near.unwrap_or_default(),
        names.join(", ")
    )
}

/// The files below a directory besides the skill's own, as paths with `/`, without hidden ones and links.
fn files_below(directory: &Path) -> Vec<String> {
    let mut files = Vec::new();
    let mut open = vec![String::new()];
    let mut looked = 0;
    while let Some(below) = open.pop() {
        looked += 1;
        for entry in entries(&directory.join(&below)) {
            let path = match below.as_str() {
                "" => entry,
                below => format!("{below}/{entry}"),
            };
            let Ok(found) = directory.join(&path).symlink_metadata() else {
                continue;
            };
            if path.chars().any(char::is_control) {
                continue;
            }
            if found.is_dir() && looked + open.len() < MAX_DIRECTORIES {
                open.push(path);
            } else if found.is_file() && path != SKILL_FILE && files.len() < MAX_LISTED {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// The beginning of a text that is too long, with a note.
fn shortened(mut text: String) -> String {
    if text.len() > MAX_SHOWN {
        text.truncate(text.floor_char_boundary(MAX_SHOWN));
        text.push_str(&format!(
            "\n\n[The file is longer; only its first {} KiB are shown.]",
            MAX_SHOWN >> 10
        ));
    }
    text
}
