//! Files that instruct the model: the person's own, those of the project, and those of subfolders in which
//! the agent works.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentx_agent::auto_run_files::is_instructions;
use agentx_types::Instructions;

use crate::mistake::{ConfigMistake, MistakeLocation};
use crate::origin::SourceLocation;
use crate::paths::is_project;
use crate::settings::Settings;

/// Files of instructions, in the order in which they are looked for: of each directory the first one counts.
/// Claude Code reads `CLAUDE.md` (<https://docs.anthropic.com/en/docs/claude-code/memory>).
const FILES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
/// The endings of files that a link with one of these names may point to.
const TEXT_ENDINGS: [&str; 3] = [".md", ".mdc", ".mdx"];
/// Directories into which programs put what other people wrote.
const UNREVIEWED: [&str; 11] = [
    "Pods",
    "__pycache__",
    "bower_components",
    "build",
    "deps",
    "dist",
    "node_modules",
    "site-packages",
    "target",
    "vendor",
    "venv",
];
/// The largest file of instructions that is read.
const MAX_BYTES: u64 = 256 << 10;

impl Settings {
    /// Returns the instructions that a new agent gets besides its prompt: the user's own, those of the folder
    /// as far as it is trusted to instruct the model, the list of skills for a model with a window of this
    /// many tokens, and facts about `workspace`.
    pub(crate) fn instructions_at(&self, workspace: &Path, window: u64) -> Vec<Instructions> {
        let own = self.user_instructions().into_iter();
        let files = self.instruction_files().into_iter();
        let of_folder = files.filter_map(|(path, text)| self.admitted(&path, text));
        own.chain(of_folder)
            .chain(self.skill_catalogue(window))
            .chain(self.environment_context(workspace))
            .collect()
    }

    /// Returns the `AGENTS.md` beside the user's configuration file, which applies in every folder. A file
    /// inside the workspace belongs to the folder instead.
    pub fn user_instructions(&self) -> Option<Instructions> {
        let path = self.user_file.parent()?.join(FILES[0]);
        let real = std::fs::canonicalize(&path).ok()?;
        let text = (!real.starts_with(&self.workspace_root))
            .then(|| text_of(&real))
            .flatten()?;
        Some(new_instructions(&path, text))
    }

    /// Returns a warning for each file of instructions, of the person or the folder, that is not read because
    /// it is too large.
    pub(crate) fn too_large_instructions(&self) -> Vec<ConfigMistake> {
        let own = self.user_file.parent();
        let directories = own.into_iter().chain(self.instructing_directories());
        let files = directories.flat_map(|directory| FILES.map(|name| directory.join(name)));
        files
            .filter(|file| is_too_large(file))
            .map(|file| too_large(&file))
            .collect()
    }

    /// AGENTS.md, otherwise CLAUDE.md, of the project root and of every directory from there to the working
    /// directory, in this order, whether they count or not: absolute paths and texts. A file that is too
    /// large is not read. Nor is a link that leads out of its directory or to anything but instructions,
    /// because its target, such as a `.env`, would be sent to the model.
    pub fn instruction_files(&self) -> Vec<(PathBuf, String)> {
        let directories = self.instructing_directories().into_iter();
        directories
            .filter_map(|directory| self.first_in(directory))
            .collect()
    }

    /// The directories from the project root to the working directory.
    fn instructing_directories(&self) -> Vec<&Path> {
        let mut directories: Vec<&Path> = self
            .workspace
            .ancestors()
            .take_while(|dir| dir.starts_with(&self.workspace_root))
            .collect();
        directories.reverse();
        directories
    }

    /// The instructions of the folders between the working directory and `file`, a real path, from the
    /// outermost one on, as far as the person lets the folder instruct the model. The agent already has those
    /// of the working directory itself. A directory with its own `.git` or `.agentx` is another project,
    /// which the person did not trust: it and everything below it give none. Neither do directories of
    /// dependencies, hidden ones and those that Git ignores, because nobody reviews the files there.
    pub fn instructions_towards(&self, file: &Path) -> Vec<Instructions> {
        let Some(folder) = file.parent().filter(|folder| folder.starts_with(&self.workspace)) else {
            return Vec::new();
        };
        let mut directories: Vec<&Path> = folder
            .ancestors()
            .take_while(|directory| *directory != self.workspace)
            .collect();
        directories.reverse();
        let files = directories
            .into_iter()
            .take_while(|directory| !is_project(directory) && !is_unreviewed(directory, &self.workspace_root))
            .filter_map(|directory| self.first_in(directory));
        files
            .filter_map(|(path, text)| self.admitted(&path, text))
            .collect()
    }

    fn admitted(&self, path: &Path, text: String) -> Option<Instructions> {
        let below = path.strip_prefix(&self.workspace_root).unwrap_or(path);
        let is_admitted = self.folder.admits_instructions(below, text.as_bytes());
        is_admitted.then(|| new_instructions(path, text))
    }

    fn first_in(&self, directory: &Path) -> Option<(PathBuf, String)> {
        FILES.iter().find_map(|name| {
            let path = directory.join(name);
            self.read_instructions(&path).map(|text| (path, text))
        })
    }

    fn read_instructions(&self, path: &Path) -> Option<String> {
        let real = std::fs::canonicalize(path).ok()?;
        let directory = std::fs::canonicalize(path.parent()?).ok()?;
        let name = real.file_name()?.to_string_lossy().to_lowercase();
        let is_text = is_instructions(&name) || TEXT_ENDINGS.iter().any(|ending| name.ends_with(ending));
        if !real.starts_with(&directory)
            || !real.starts_with(&self.workspace_root)
            || !is_text
            || self.is_guarded(&real)
        {
            return None;
        }
        text_of(&real)
    }
}

/// Returns whether a directory below `root` holds files of other people that nobody reviews: dependencies,
/// output of builds, files that Git ignores.
fn is_unreviewed(directory: &Path, root: &Path) -> bool {
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    if name.starts_with('.') || UNREVIEWED.contains(&&*name) {
        return true;
    }
    let mut above = directory
        .ancestors()
        .skip(1)
        .take_while(|above| above.starts_with(root));
    above.any(|above| {
        let file = above.join(".gitignore");
        // A pipe would be waited for without an end.
        let is_file = std::fs::metadata(&file).is_ok_and(|found| found.is_file() && found.len() <= MAX_BYTES);
        let rules = is_file.then(|| ignore::gitignore::Gitignore::new(file).0);
        rules.is_some_and(|rules| rules.matched_path_or_any_parents(directory, true).is_ignore())
    })
}

/// The text of a plain file that is not too large and says something.
fn text_of(file: &Path) -> Option<String> {
    let found = std::fs::metadata(file).ok()?;
    if !found.is_file() || found.len() > MAX_BYTES {
        return None;
    }
    let text = String::from_utf8_lossy(&std::fs::read(file).ok()?).into_owned();
    (!text.trim().is_empty()).then_some(text)
}

fn is_too_large(file: &Path) -> bool {
    std::fs::metadata(file).is_ok_and(|found| found.is_file() && found.len() > MAX_BYTES)
}

fn too_large(file: &Path) -> ConfigMistake {
    ConfigMistake {
        at: MistakeLocation::File(SourceLocation {
            file: file.into(),
            line: 1,
            column: 1,
        }),
        key: String::new(),
        what: format!(
            "the file is not read because it is larger than {} KiB; shorten it, so that the agent follows it",
            MAX_BYTES >> 10
        ),
        nearest: None,
    }
}

fn new_instructions(path: &Path, text: String) -> Instructions {
    Instructions {
        path: path.to_string_lossy().into_owned(),
        text: Arc::from(text),
    }
}
