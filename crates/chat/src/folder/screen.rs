//! The screen about a folder before the user decides how far to trust it: which folder it is, and what it
//! would add. Every word of the folder is a claim, so it is cleaned of what drives terminals.

use std::path::Path;

use agentx::assembly::{FileRole, FolderContents, FolderFile};
use agentx::config::{FileAcceptance, FolderTrust, Loaded, accepted_text, trusted_below};

use super::{tools, withdraw_trust};
use crate::render::clean::visible;
use crate::render::diff;
use crate::render::style::Paint;
use crate::render::units::counted;

/// Maximum number of lines of one difference. A file is shown in full: a part that is cut off could be the
/// one that matters.
const MOST_DIFF: usize = 1_000_000;

/// Describes the folder and its place.
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

/// Lists the contents of the folder, one row for each thing. Tools beyond `most_tools` share a row that says
/// what they reach together; nothing else is cut or left out, because a folder could hide what matters behind
/// what does not.
pub fn contents_list(loaded: &Loaded, brings: &FolderContents, most_tools: usize) -> String {
    if brings.is_empty() {
        return "  It contains no instructions, settings or tools.\n".to_owned();
    }
    let mut rows = Vec::new();
    rows.extend(files(brings, FileRole::Instructions).map(instructions));
    for file in files(brings, FileRole::Settings) {
        rows.extend(settings(loaded, file));
    }
    rows.extend(named(loaded));
    if !loaded.settings.git.is_empty() {
        rows.push("Git runs these programs named in its repository:".to_owned());
        rows.extend(loaded.settings.git.text().lines().map(|line| format!("  {line}")));
    }
    let keys = loaded.settings.key_variables();
    rows.extend(tools::rows(brings, most_tools, &|name| keys.contains(name)));
    rows.extend(
        brings
            .unused
            .iter()
            .map(|what| format!("{what}: not used, because yours has the same name")),
    );
    rows.extend(brings.agents.iter().map(|(name, variables)| {
        let with: Vec<&str> = variables.iter().map(String::as_str).collect();
        let models = brings.agent_models.get(name).into_iter().flatten();
        let models: Vec<String> = models.map(|model| tools::model(model, brings)).collect();
        let mut says = Vec::new();
        says.extend((!models.is_empty()).then(|| format!("sends to {}", models.join(", "))));
        says.extend((!with.is_empty()).then(|| format!("system prompt {}", with.join(", "))));
        if says.is_empty() {
            format!("agent {name}")
        } else {
            format!("agent {name}: {}", says.join("; "))
        }
    }));
    let others = files(brings, FileRole::Definition).count();
    if others > brings.tools.len() + brings.agents.len() {
        rows.push(format!("{} below .agentx in all", counted(others, "file")));
    }
    // Last, so that no number of other rows moves it out of sight.
    rows.extend(loaded.server_effects.iter().map(|effect| format!("→ {effect}")));
    if shows_settings(loaded) {
        rows.extend(loaded.effects.iter().map(|effect| format!("→ {effect}")));
    }
    rows.iter().map(|row| format!("  {}\n", visible(row))).collect()
}

/// Returns whether the settings do more than make things stricter.
fn shows_settings(loaded: &Loaded) -> bool {
    // A file that cannot be read has no effect.
    loaded.workspace_mistakes.is_empty() && shows_more(loaded)
}

fn shows_more(loaded: &Loaded) -> bool {
    !loaded.ignored.is_empty() || loaded.settings.folder.trust == FolderTrust::Trusted
}

fn files(brings: &FolderContents, role: FileRole) -> impl Iterator<Item = &FolderFile> {
    brings.files.iter().filter(move |file| file.role == role)
}

fn instructions(file: &FolderFile) -> String {
    let lines = String::from_utf8_lossy(&file.bytes).lines().count();
    format!(
        "{}: {} of instructions",
        file.path.display(),
        counted(lines, "line")
    )
}

/// Settings that only make things stricter are one row. Others are shown one by one, because what they say
/// matters: an address, a command, a rule. They are shown as they are understood: an escape or a lone
/// carriage return could hide one of them as it is written.
fn settings(loaded: &Loaded, file: &FolderFile) -> Vec<String> {
    let name = file.path.display();
    if let Some(mistake) = loaded.workspace_mistakes.first() {
        return vec![format!(
            "{name} has an error; once the folder is trusted, AgentX does not start until it is fixed: {mistake}"
        )];
    }
    if !shows_settings(loaded) {
        return vec![format!("{name}: settings that only restrict")];
    }
    std::iter::once(format!("{name} sets:"))
        .chain(loaded.workspace_settings.iter().map(|line| format!("  {line}")))
        .collect()
}

/// The files that the settings name.
fn named(loaded: &Loaded) -> impl Iterator<Item = String> + '_ {
    let files = loaded.settings.named_files.iter();
    files.filter(|file| !file.is_of_servers()).map(|file| {
        let lines = String::from_utf8_lossy(&file.bytes).lines().count();
        format!(
            "{}: {}, for `{}`",
            file.path.display(),
            counted(lines, "line"),
            file.key
        )
    })
}

/// The files that are not as they were accepted: new ones whole, others as a difference.
pub fn changes(loaded: &Loaded, brings: &FolderContents, style: Paint) -> String {
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
            text.push_str(if loaded.workspace_mistakes.is_empty() {
                "  which sets:\n"
            } else {
                "  it has an error; once the folder is trusted, AgentX does not start until it is fixed:\n"
            });
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
    let arrow = |effect: &String| format!("→ {}\n", visible(effect));
    if has(FileRole::Servers) {
        text.extend(loaded.server_effects.iter().map(arrow));
    }
    if has(FileRole::Settings) && loaded.workspace_mistakes.is_empty() {
        text.extend(loaded.effects.iter().map(arrow));
    }
    text
}

fn difference(loaded: &Loaded, file: &Path, bytes: &[u8], style: Paint) -> Vec<String> {
    let old = accepted_text(&loaded.trust_dir, &loaded.settings.folder, file).unwrap_or_default();
    diff::unified(&old, &String::from_utf8_lossy(bytes), MOST_DIFF, style)
}
