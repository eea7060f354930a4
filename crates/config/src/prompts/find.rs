//! Finds the files of commands and skills: the person's own, and those of the folder.
//!
//! A file of the folder is read only if it is in one of the folder's own directories of commands and skills.
//! A link to anywhere else is refused, because its target, such as a `.env`, would be sent to the model.
//! Links of the person may lead anywhere but into the workspace, whose files belong to the folder.

use std::path::{Path, PathBuf};

use agentx_agent::closed_files::guarded;
use agentx_types::Guard;

use super::directory::mistake;
use super::subdirectories::{SEPARATOR, command_files, skill_files};
use crate::mistake::ConfigMistake;
use crate::settings::Settings;
use crate::symlinks::leads_out;

/// The largest file that is read.
pub(super) const MAX_BYTES: u64 = 256 << 10;
/// Maximum number of commands, and of skills, in one directory.
const MAX_FILES: usize = 200;
/// Maximum length of a name, in characters; that of skills is in their standard.
const MAX_NAME: usize = 64;

/// The kind of a text for the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptKind {
    /// A text that a person sends: `commands/NAME.md`, or `commands/TEAM/NAME.md` as `TEAM:NAME`.
    Command,
    /// Instructions for certain tasks that the model reads when it needs them: `skills/NAME/SKILL.md`, or
    /// `skills/TEAM/NAME/SKILL.md`
    /// (<https://agentskills.io/specification>).
    Skill,
}

impl PromptKind {
    /// Returns the word for people: `command`, `skill`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Skill => "skill",
        }
    }

    /// The directory beside the person's configuration file.
    fn own_directory(self) -> &'static str {
        match self {
            Self::Command => "commands",
            Self::Skill => "skills",
        }
    }

    /// The directories of a folder, in the order in which names are looked for.
    fn folder_directories(self) -> &'static [&'static str] {
        match self {
            Self::Command => &[".agentx/commands", ".claude/commands"],
            Self::Skill => &[".agentx/skills", ".agents/skills", ".claude/skills"],
        }
    }

    /// Returns the names and the files of this kind in a directory, sorted by name. What is left out becomes
    /// a mistake. With a `root`, no link out of that folder is followed.
    fn files_in(
        self,
        directory: &Path,
        root: Option<&Path>,
        mistakes: &mut Vec<ConfigMistake>,
    ) -> Vec<(String, PathBuf)> {
        match self {
            Self::Command => command_files(directory, root, mistakes),
            Self::Skill => skill_files(directory, root, mistakes),
        }
    }

    /// Checks a name that a person types and a model reads.
    ///
    /// # Errors
    /// Returns an error that says what is wrong.
    fn check_name(self, name: &str) -> Result<(), String> {
        let length = name.chars().count();
        if length > MAX_NAME {
            return Err(format!(
                "its name has {length} characters, and a {} may have {MAX_NAME}",
                self.word()
            ));
        }
        let is_allowed = match self {
            Self::Command => {
                let is_part = |part: &str| {
                    part.starts_with(char::is_alphanumeric)
                        && part.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c))
                };
                name.split(SEPARATOR).all(is_part)
            }
            Self::Skill => {
                let is_part = |part: &str| {
                    !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
                };
                name.split('-').all(is_part)
            }
        };
        let allowed = match self {
            Self::Command => "letters, digits, `-`, `_` and `.`",
            Self::Skill => "small letters, digits and single hyphens between them",
        };
        is_allowed
            .then_some(())
            .ok_or_else(|| format!("the name {name:?} of a {} may only have {allowed}", self.word()))
    }
}

/// A file that was found, and read.
#[derive(Debug)]
pub(super) struct FoundPrompt {
    pub(super) kind: PromptKind,
    pub(super) name: String,
    /// The path by which it was found.
    pub(super) file: PathBuf,
    /// The same without links.
    real: PathBuf,
    pub(super) text: String,
    pub(super) of_folder: bool,
}

/// The files that were found, and those that cannot be read.
#[derive(Debug, Default)]
pub(super) struct FoundPrompts {
    pub(super) found: Vec<FoundPrompt>,
    pub(super) mistakes: Vec<ConfigMistake>,
}

impl Settings {
    /// Finds all files of the person, or all files of the folder, whether they count or not.
    pub(super) fn find_prompts(&self, of_folder: bool) -> FoundPrompts {
        let mut all = FoundPrompts::default();
        for kind in [PromptKind::Command, PromptKind::Skill] {
            for directory in self.prompt_directories(kind, of_folder) {
                self.find_in(&directory, kind, of_folder, &mut all);
            }
        }
        all
    }

    /// The directories of a kind that exist. A directory of the person inside the workspace belongs to the
    /// folder.
    fn prompt_directories(&self, kind: PromptKind, of_folder: bool) -> Vec<PathBuf> {
        let mut directories: Vec<PathBuf> = if of_folder {
            let below = kind.folder_directories().iter();
            below.map(|below| self.workspace_root.join(below)).collect()
        } else {
            let beside = self.user_file.parent().into_iter();
            beside.map(|beside| beside.join(kind.own_directory())).collect()
        };
        let is_outside = |real: PathBuf| !real.starts_with(&self.workspace_root);
        directories.retain(|directory| {
            directory.is_dir() && (of_folder || std::fs::canonicalize(directory).is_ok_and(is_outside))
        });
        directories
    }

    fn find_in(&self, directory: &Path, kind: PromptKind, of_folder: bool, all: &mut FoundPrompts) {
        if of_folder && leads_out(&self.workspace_root, directory) {
            let what = "it is a link that leads out of the folder, so nothing in it is used".to_owned();
            all.mistakes.push(mistake(directory, 1, what));
            return;
        }
        let root = of_folder.then_some(self.workspace_root.as_path());
        let mut entries = kind.files_in(directory, root, &mut all.mistakes);
        if entries.len() > MAX_FILES {
            let more = entries.split_off(MAX_FILES).len();
            let what = format!(
                "a directory may have {MAX_FILES} {}s; {more} more, by name, are not used",
                kind.word()
            );
            all.mistakes.push(mistake(directory, 1, what));
        }
        for (name, file) in entries {
            match self.read_prompt(kind, &name, &file, of_folder) {
                Ok((real, text)) => {
                    let is_same = |known: &FoundPrompt| known.kind == kind && known.real == real;
                    if !all.found.iter().any(is_same) {
                        all.found.push(FoundPrompt {
                            kind,
                            name,
                            file,
                            real,
                            text,
                            of_folder,
                        });
                    }
                }
                Err(what) => all.mistakes.push(mistake(&file, 1, what)),
            }
        }
    }

    /// Returns the real path and the text of a file.
    ///
    /// # Errors
    /// Returns the reason why it is not read.
    fn read_prompt(
        &self,
        kind: PromptKind,
        name: &str,
        file: &Path,
        of_folder: bool,
    ) -> Result<(PathBuf, String), String> {
        kind.check_name(name)?;
        let real = std::fs::canonicalize(file).map_err(|error| error.to_string())?;
        if of_folder && !self.is_in_prompt_directory(&real) {
            return Err(
                "it is a link that leads out of the folder's commands and skills; put the file itself there"
                    .to_owned(),
            );
        }
        if !of_folder && real.starts_with(&self.workspace_root) {
            return Err("it is a link into the workspace, whose files belong to the folder".to_owned());
        }
        let text = self.read_for_model(&real, of_folder)?;
        Ok((real, text))
    }

    /// Returns whether a real path is in one of the folder's directories of commands and skills.
    fn is_in_prompt_directory(&self, real: &Path) -> bool {
        let kinds = [PromptKind::Command, PromptKind::Skill].into_iter();
        let directories = kinds.flat_map(|kind| kind.folder_directories());
        let mut directories = directories.filter_map(|below| {
            let directory = self.workspace_root.join(below);
            std::fs::canonicalize(directory).ok()
        });
        real.starts_with(&self.workspace_root) && directories.any(|directory| real.starts_with(directory))
    }

    /// Reads a text file by its real path.
    ///
    /// # Errors
    /// Reads a file for a model.
    ///
    /// # Errors
    /// Returns the reason if the file may hold secrets, is too large, or is not text.
    pub(super) fn read_for_model(&self, real: &Path, of_folder: bool) -> Result<String, String> {
        if self.is_closed_prompt(real, of_folder) {
            return Err("it may hold secrets, so it is not given to a model".to_owned());
        }
        let found = std::fs::metadata(real).map_err(|error| error.to_string())?;
        // A pipe would be waited for without an end.
        if !found.is_file() {
            return Err("it is not a regular file".to_owned());
        }
        if found.len() > MAX_BYTES {
            return Err(format!("it is larger than {} KiB; shorten it", MAX_BYTES >> 10));
        }
        let bytes = std::fs::read(real).map_err(|error| error.to_string())?;
        String::from_utf8(bytes).map_err(|_| "it is not text in UTF-8".to_owned())
    }

    /// Returns whether a file may hold secrets. The person's own configuration, which is closed to tools, is
    /// open here.
    fn is_closed_prompt(&self, real: &Path, of_folder: bool) -> bool {
        if of_folder {
            return self.is_guarded(real);
        }
        let guard = Guard {
            own: Vec::new(),
            ..Guard::clone(&self.guard())
        };
        let (path, workspace) = (real.to_string_lossy(), self.workspace.to_string_lossy());
        guarded(&guard, &path, &workspace).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_mislead_are_refused() {
        let long = "a".repeat(65);
        for (kind, name, is_allowed) in [
            (PromptKind::Command, "review", true),
            (PromptKind::Command, "Über_2.x", true),
            (PromptKind::Command, "team:web:review", true),
            (PromptKind::Command, "team:", false),
            (PromptKind::Command, "team:-rf", false),
            (PromptKind::Command, "a b:review", false),
            (PromptKind::Command, "-rf", false),
            (PromptKind::Command, "a b", false),
            (PromptKind::Command, "a\u{1b}[31m", false),
            (PromptKind::Command, "a\u{202e}b", false),
            (PromptKind::Command, "", false),
            (PromptKind::Command, &long, false),
            (PromptKind::Skill, "pdf-2-text", true),
            (PromptKind::Skill, "PDF", false),
            (PromptKind::Skill, "pdf--text", false),
            (PromptKind::Skill, "pdf-", false),
            (PromptKind::Skill, "a\nb", false),
            (PromptKind::Skill, &long, false),
        ] {
            assert_eq!(kind.check_name(name).is_ok(), is_allowed, "{kind:?} {name:?}");
        }
    }
}
