//! The screen that describes a folder and its effects before the user decides how far to trust it. Every word
//! of the folder is only a claim, and is shown without characters that control a terminal.

use std::path::Path;

use agentx::assembly::{FileRole, FileTool, FolderContents};
use agentx::config::{FileAcceptance, Loaded, accepted_text, trusted_below};

use super::rows::{self, FolderRows, ShortRows};
use super::withdraw_trust;
use crate::render::clean::visible;
use crate::render::diff::{DiffForm, changed_lines};
use crate::render::style::AnsiStyle;
use crate::render::units::counted;

/// Maximum number of lines of one difference. A file is shown in full: a part that is cut off could be the
/// one that matters.
const MOST_DIFF: usize = 1_000_000;

const EMPTY: &str = "  It contains no instructions, settings or tools.\n";

/// Describes the folder, and what else a person should know about the place.
pub fn folder_summary(loaded: &Loaded) -> String {
    let root = &loaded.places.workspace_root;
    let mut text = format!("  {}\n", visible(&root.to_string_lossy()));
    let home = std::env::var_os("HOME").map(std::path::PathBuf::from);
    let home = home.and_then(|home| std::fs::canonicalize(home).ok());
    if root.parent().is_none() {
        text.push_str("  This is the root directory: it contains every file of this machine.\n");
    } else if home.as_deref() == Some(root) {
        text.push_str("  This is your home directory: it contains all your files, keys and mail included.\n");
    } else if home.is_some_and(|home| home.starts_with(root)) {
        text.push_str("  Your home directory is inside it.\n");
    }
    if let Some(before) = loaded.settings.folder.previous_trust {
        let before = before.word();
        text.push_str(&format!(
            "  Another folder is here now; your decision about the previous one ({before}) does not apply to it.\n"
        ));
        text.push_str(&withdraw_trust::allowed_here(loaded));
    }
    let below = trusted_below(&loaded.trust_dir, root).len();
    if below > 0 {
        text.push_str(&format!(
            "  It contains {} that you trust.\n",
            counted(below, "folder")
        ));
    }
    text
}

/// Lists the contents of the folder, one row for each thing, the effects last. Nothing is cut or left out,
/// because a folder could hide what matters behind what does not.
pub fn contents_list(loaded: &Loaded, brings: &FolderContents) -> String {
    if brings.is_empty() {
        return EMPTY.to_owned();
    }
    FolderRows::of(loaded, brings, usize::MAX).all()
}

/// Lists what fits above the answers of the question, and whether all effects are in it. The text of
/// instructions fills what the list leaves of `room` rows.
pub(super) fn short_list(loaded: &Loaded, brings: &FolderContents, width: usize, room: usize) -> ShortRows {
    if brings.is_empty() {
        return ShortRows {
            text: EMPTY.to_owned(),
            is_whole: true,
        };
    }
    rows::for_question(loaded, brings, width, room)
}

/// The files that are not as they were accepted: new ones whole, others as a difference.
pub fn changes(loaded: &Loaded, brings: &FolderContents, style: AnsiStyle) -> String {
    let mut text = String::new();
    for file in brings.not_accepted() {
        let name = visible(&file.path.to_string_lossy());
        let word = match file.standing {
            FileAcceptance::Changed => "changed",
            FileAcceptance::New | FileAcceptance::Accepted => "new",
        };
        text.push_str(&format!("{name} ({word})\n"));
        for line in difference(loaded, &file.path, &file.bytes, style) {
            text.push_str(&format!("  {line}\n"));
        }
        if file.role == FileRole::Settings {
            let (mistakes, settings) = (&loaded.workspace_mistakes, &loaded.workspace_settings);
            text.push_str(settings_heading(mistakes.is_empty(), settings.is_empty()));
            let broken = loaded
                .workspace_mistakes
                .iter()
                .map(|mistake| format!("    {}\n", visible(&mistake.to_string())));
            text.extend(broken);
            if loaded.workspace_mistakes.is_empty() {
                text.extend(
                    loaded
                        .workspace_settings
                        .iter()
                        .map(|line| format!("    {}\n", visible(line))),
                );
            }
        }
    }
    let has = |role: FileRole| brings.not_accepted().any(|file| file.role == role);
    let is_of_it = |role: FileRole| match role {
        FileRole::Settings => loaded.workspace_mistakes.is_empty() && (has(role) || has(FileRole::Named)),
        FileRole::Servers => has(role) || has(FileRole::Named),
        role => has(role),
    };
    text + &FolderRows::of(loaded, &with_changed_tools(brings), usize::MAX).effects(is_of_it)
}

/// Returns the line above what a settings file of the folder sets, or above its mistakes.
fn settings_heading(is_right: bool, is_empty: bool) -> &'static str {
    match (is_right, is_empty) {
        (true, true) => "  which sets nothing\n",
        (true, false) => "  which sets:\n",
        (false, _) => {
            "  it has an error; once the folder is trusted, AgentX does not start until it is fixed:\n"
        }
    }
}

/// The contents with those tools alone whose files are not accepted; all where another file is not, which may
/// be a script of any of them.
fn with_changed_tools(brings: &FolderContents) -> FolderContents {
    let mut part = brings.clone();
    let changed: Vec<&Path> = brings
        .not_accepted()
        .filter(|file| file.role == FileRole::Definition)
        .map(|file| file.path.as_path())
        .collect();
    let is_tool = |path: &&Path| brings.tools.iter().any(|tool| tool.file.ends_with(path));
    if changed.iter().all(is_tool) {
        let is_changed = |tool: &FileTool| changed.iter().any(|path| tool.file.ends_with(path));
        part.tools = brings
            .tools
            .iter()
            .filter(|tool| is_changed(tool))
            .cloned()
            .collect();
    }
    part
}

fn difference(loaded: &Loaded, file: &Path, bytes: &[u8], style: AnsiStyle) -> Vec<String> {
    let old = accepted_text(&loaded.trust_dir, &loaded.settings.folder, file).unwrap_or_default();
    let form = DiffForm {
        most: MOST_DIFF,
        ..DiffForm::WHOLE
    };
    changed_lines(&old, &String::from_utf8_lossy(bytes), form, style)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_settings_file_without_settings_is_said_to_set_nothing() {
        assert_eq!(settings_heading(true, true), "  which sets nothing\n");
        assert_eq!(settings_heading(true, false), "  which sets:\n");
        assert!(settings_heading(false, true).contains("an error"));
    }
}
