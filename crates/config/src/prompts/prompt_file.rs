//! A command or a skill, read from its file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::PromptFiles;
use super::arguments::{has_placeholder, with_arguments};
use super::directory::mistake;
use super::find::{FoundPrompt, FoundPrompts, PromptKind};
use super::front_matter::FrontMatter;
use crate::mistake::ConfigMistake;

/// Maximum length of a description, in characters, by the standard of skills.
const MAX_DESCRIPTION: usize = 1_024;
/// Maximum length of the hint about the words behind a name.
const MAX_HINT: usize = 100;
/// Maximum length of the first line that replaces a missing description of a command.
const MAX_FIRST_LINE: usize = 100;

/// A command or a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptFile {
    /// Whether it is a command or a skill.
    pub kind: PromptKind,
    /// The name: that of the file with those of its subdirectories before it (`team:review`), or for a skill
    /// that of its directory.
    pub name: String,
    /// Its purpose, in one line.
    pub description: String,
    /// The words that it takes, as its author describes them; empty if they do not.
    pub argument_hint: String,
    /// The text for the model, without the front matter.
    pub text: String,
    /// The file.
    pub file: PathBuf,
    /// Whether it belongs to the folder, not to the person.
    pub of_folder: bool,
    /// Whether a person may send it (`user-invocable`).
    pub is_for_person: bool,
    /// Whether the model may read it by itself (`disable-model-invocation`); only skills.
    pub is_for_model: bool,
}

impl PromptFile {
    /// Returns the message that a person sends with these words behind the name.
    pub fn message(&self, arguments: &str) -> String {
        let text = with_arguments(self.text.trim(), arguments);
        match self.kind {
            PromptKind::Command => text,
            PromptKind::Skill => format!("Follow the skill {}.{}\n\n{text}", self.name, self.about_files()),
        }
    }

    /// Returns whether its text has a place for words behind the name, or its author describes such words.
    pub fn takes_words(&self) -> bool {
        !self.argument_hint.is_empty() || has_placeholder(&self.text)
    }

    /// Returns whether the text has commands that other programs run before they send it (``!`git diff` ``).
    /// They are never run here.
    pub fn names_shell_commands(&self) -> bool {
        self.text.contains("!`") || self.text.contains("```!")
    }
}

impl PromptFiles {
    /// Adds the found files, without unusable ones and those whose name is taken.
    pub(super) fn add(&mut self, found: FoundPrompts) {
        self.mistakes.extend(found.mistakes);
        for found in found.found {
            let is_same = |known: &&PromptFile| known.kind == found.kind && known.name == found.name;
            if let Some(known) = self.files.iter().find(is_same) {
                let what = format!(
                    "it is not used, because {} is a {} of the same name",
                    known.file.display(),
                    known.kind.word()
                );
                self.remarks.push(mistake(&found.file, 1, what));
                continue;
            }
            match read(found, &mut self.remarks) {
                Ok(file) => self.files.push(file),
                Err(wrong) => self.mistakes.push(wrong),
            }
        }
    }
}

/// Reads a file. Adds its oddities to `remarks`.
///
/// # Errors
/// Returns the mistake that makes it unusable.
fn read(found: FoundPrompt, remarks: &mut Vec<ConfigMistake>) -> Result<PromptFile, ConfigMistake> {
    let wrong = |what: &str| mistake(&found.file, 1, what.to_owned());
    let parts = FrontMatter::of(&found.text);
    let parts = parts.map_err(|error| mistake(&found.file, error.line, error.what))?;
    let is_skill = found.kind == PromptKind::Skill;
    if is_skill && parts.fields.is_none() {
        return Err(wrong(
            "it has no front matter; a skill begins with a line `---`, `name:`, `description:`, and a line `---`",
        ));
    }
    if parts.body.trim().is_empty() {
        return Err(wrong("it has no text for the model"));
    }
    let fields = parts.fields.unwrap_or_default();
    let said = |name: &str| one_line(fields.get(name).map_or("", String::as_str));
    let mut description = said("description");
    if is_skill {
        if description.is_empty() {
            return Err(wrong(
                "its front matter has no `description`, by which a model knows when to use the skill",
            ));
        }
        remarks.extend(
            oddities(&fields, &found.name)
                .into_iter()
                .map(|what| wrong(&what)),
        );
    } else if description.is_empty() {
        let first = parts.body.lines().find(|line| !line.trim().is_empty());
        description = cut(
            &one_line(first.unwrap_or_default().trim_start_matches('#')),
            MAX_FIRST_LINE,
        );
    }
    let is = |name: &str, value: &str| fields.get(name).is_some_and(|said| said == value);
    Ok(PromptFile {
        kind: found.kind,
        description: cut(&description, MAX_DESCRIPTION),
        argument_hint: cut(&said("argument-hint"), MAX_HINT),
        text: parts.body.to_owned(),
        is_for_person: !is("user-invocable", "false") && !is("user-invokable", "false"),
        is_for_model: is_skill && !is("disable-model-invocation", "true"),
        of_folder: found.of_folder,
        name: found.name.clone(),
        file: found.file.clone(),
    })
}

/// Returns deviations from the standard of skills that do not prevent use.
fn oddities(fields: &BTreeMap<String, String>, directory: &str) -> Vec<String> {
    let mut odd = Vec::new();
    match fields.get("name") {
        None => odd.push("its front matter has no `name`; the name of its directory is used".to_owned()),
        Some(name) if name != directory => odd.push(format!(
            "its `name` {name:?} differs from its directory, whose name is used: {directory:?}"
        )),
        Some(_) => {}
    }
    let length = fields.get("description").map_or(0, |said| said.chars().count());
    if length > MAX_DESCRIPTION {
        odd.push(format!(
            "its description has {length} characters; only the first {MAX_DESCRIPTION} are used"
        ));
    }
    odd
}

/// A text in one line, without characters that control a terminal or could imitate another line.
fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    words
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Returns the beginning of a text, followed by a sign if the text is longer.
pub(super) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => {
            let kept: String = text.chars().take(most.saturating_sub(1)).collect();
            format!("{}…", kept.trim_end())
        }
    }
}
