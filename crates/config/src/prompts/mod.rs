//! Texts for the model: instructions of the person and of folders, facts about the place, commands and
//! skills.
//!
//! Commands and skills are Markdown files. A person sends a command with `/NAME`. The model gets the names
//! and descriptions of skills, and reads the text of one when a task needs it.
//!
//! The person's own files are beside their configuration file. Those of a folder are used like its
//! `AGENTS.md`, as far as the person lets the folder instruct the model.

mod arguments;
mod catalogue;
mod directory;
pub(crate) mod environment_context;
mod find;
pub(crate) mod folder_instructions;
pub(crate) mod front_matter;
mod prompt_file;
mod skill_content;
mod subdirectories;

use std::path::{Path, PathBuf};

use agentx_types::Instructions;

use crate::folders::folder::FolderTrust;
use crate::mistake::ConfigMistake;
use crate::settings::Settings;

pub use find::PromptKind;
pub use prompt_file::PromptFile;

/// The tool with which the model reads a skill.
pub const SKILL_TOOL: &str = "skill";

/// The commands and skills that count.
#[derive(Clone, Debug, Default)]
pub struct PromptFiles {
    /// All of them: the person's own before those of the folder, commands before skills, then by name. If two
    /// have the same name and kind, only the first is included.
    pub files: Vec<PromptFile>,
    /// Files that are not used, each with the reason.
    pub mistakes: Vec<ConfigMistake>,
    /// Oddities of files that are used.
    pub remarks: Vec<ConfigMistake>,
}

impl PromptFiles {
    /// Returns the commands and skills that a person may send with `/NAME`. If a command and a skill have the
    /// same name, the first counts.
    pub fn commands(&self) -> Vec<&PromptFile> {
        let mut commands: Vec<&PromptFile> = Vec::new();
        for file in self.files.iter().filter(|file| file.is_for_person) {
            if !commands.iter().any(|known| known.name == file.name) {
                commands.push(file);
            }
        }
        commands
    }

    /// Returns the skills that the model may read.
    pub fn skills(&self) -> impl Iterator<Item = &PromptFile> {
        let skills = self.files.iter().filter(|file| file.kind == PromptKind::Skill);
        skills.filter(|file| file.is_for_model)
    }
}

impl Settings {
    /// Reads the commands and skills of the person, and those of the folder as far as it may instruct the
    /// model. Nothing is read of a folder that the person has not decided about.
    pub fn prompt_files(&self) -> PromptFiles {
        let mut files = PromptFiles::default();
        files.add(self.find_prompts(false));
        if self.folder.trust != FolderTrust::Unknown {
            let mut of_folder = self.find_prompts(true);
            of_folder.found.retain(|found| {
                self.folder
                    .admits_instructions(self.below_root(&found.file), found.text.as_bytes())
            });
            if self.folder.trust == FolderTrust::Restricted {
                of_folder.mistakes.clear();
            }
            files.add(of_folder);
        }
        files
    }

    /// Returns the commands and skills of the folder, whether they count or not: absolute paths and texts.
    pub fn folder_prompt_files(&self) -> Vec<(PathBuf, String)> {
        let found = self.find_prompts(true).found.into_iter();
        found.map(|found| (found.file, found.text)).collect()
    }

    /// Returns the list of skills for a model with a window of so many tokens; `None` if there are none, or
    /// the settings turn off the tool that reads them.
    pub(crate) fn skill_catalogue(&self, window: u64) -> Option<Instructions> {
        let files = self.tools.offers(SKILL_TOOL).then(|| self.prompt_files())?;
        catalogue::catalogue(&files.skills().collect::<Vec<_>>(), window)
    }

    fn below_root<'p>(&self, file: &'p Path) -> &'p Path {
        file.strip_prefix(&self.workspace_root).unwrap_or(file)
    }
}
