//! Trust in the current folder: notes about an untrusted folder, and the question at the first start.

mod document;
mod excerpt;
mod question;
mod rows;
pub mod screen;
pub mod tools;
pub mod untrusted_files;
pub mod withdraw_trust;

pub use document::{decided, document};
pub use question::{FolderDecision, ask};
pub use screen::{changes, contents_list, folder_summary};
pub use withdraw_trust::RevokedGrants;

use std::collections::BTreeMap;
use std::path::Path;

use agentx::assembly::{FileRole, FolderContents, FolderFile, folder_contents};
use agentx::config::{
    ClaudeFile, FileAcceptance, FolderTrust, Loaded, SettingOrigin, SettingRow, claude_files,
};

use crate::render::clean::visible;
use crate::render::units::counted;
use crate::sessions::seen_notes::is_news_about;

const TRUSTED: &str = "trusted this folder";
const READ_ONLY: &str = "made this folder read-only";

/// Names that are listed in a note.
const MOST: usize = 5;

/// Returns notes about the folder if nobody can be asked: the files that are not loaded, and the state of the
/// trust. Empty if there is nothing to say.
pub fn note(loaded: &Loaded) -> String {
    if loaded.settings.connect.is_some() || loaded.settings.folder.trusted_by_env {
        return String::new();
    }
    format!("{}{}", counting_untrusted(loaded), note_of_files(loaded))
}

/// Returns a note about files of Claude Code that have no effect here; empty if there are none, or if it was
/// already shown about this folder.
pub fn note_of_claude(loaded: &Loaded) -> String {
    if loaded.settings.connect.is_some() {
        return String::new();
    }
    let root = &loaded.settings.workspace_root;
    let files = claude_files(root);
    let below = |file: &ClaudeFile| {
        file.path
            .strip_prefix(root)
            .unwrap_or(&file.path)
            .display()
            .to_string()
    };
    let whats: Vec<String> = files
        .iter()
        .map(|file| format!("of {}, AgentX does not read: {}", below(file), file.what))
        .collect();
    let what = visible(&whats.join("; "));
    if !is_news_about(&loaded.settings.data_dir, &root.to_string_lossy(), &what) {
        return String::new();
    }
    format!("note: {what}; `agentx doctor` says what to do instead\n")
}

/// Returns a note about all settings of an untrusted folder that take effect, so that the person does not
/// look for the cause in their own.
fn counting_untrusted(loaded: &Loaded) -> String {
    if loaded.settings.folder.trust == FolderTrust::Trusted {
        return String::new();
    }
    let rows = loaded.merged.rows().into_iter();
    let of_folder = rows.filter(|row| matches!(row.origin, SettingOrigin::Workspace(_)));
    let of_folder: Vec<SettingRow> = of_folder.collect();
    let mut by_file: BTreeMap<&Path, Vec<&str>> = BTreeMap::new();
    for row in &of_folder {
        let SettingOrigin::Workspace(place) = &row.origin else {
            continue;
        };
        let keys = by_file.entry(&place.file).or_default();
        let key = row.key.split('[').next().unwrap_or_default();
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let note = |(file, keys): (&Path, Vec<&str>)| {
        format!(
            "note: {} sets this without trust: {}; `agentx config trust --restricted` ignores it\n",
            visible(&file.to_string_lossy()),
            visible(&keys.join(", "))
        )
    };
    by_file.into_iter().map(note).collect()
}

fn note_of_files(loaded: &Loaded) -> String {
    let brings = folder_contents(&loaded.settings);
    let trust = loaded.settings.folder.trust;
    let (out, followed) = match trust {
        FolderTrust::Trusted => (changed(&brings), followed(&brings, TRUSTED)),
        FolderTrust::ReadOnly => (left_out(&brings, trust), followed(&brings, READ_ONLY)),
        FolderTrust::Unknown | FolderTrust::Restricted => (left_out(&brings, trust), String::new()),
    };
    let hint = match (out.is_empty(), followed.is_empty()) {
        (true, true) => return another(loaded),
        (false, _) => "`agentx config trust --show` shows them, `agentx config trust` loads them",
        (true, false) => {
            "`agentx config trust --show` shows what changed; `agentx config trust --restricted` stops following the folder"
        }
    };
    format!("{}{out}{followed}hint: {hint}\n", another(loaded))
}

/// Returns a note if another folder is at the path of one that the person decided about.
fn another(loaded: &Loaded) -> String {
    let root = visible(&loaded.places.workspace_root.to_string_lossy());
    match loaded.settings.folder.previous_trust {
        Some(before) => format!(
            "note: another folder is at {root} now; your decision about the previous one ({}) does not apply to it\n",
            before.word()
        ),
        None => String::new(),
    }
}

fn left_out(brings: &FolderContents, trust: FolderTrust) -> String {
    // Settings that do not count are named one by one already.
    let out: Vec<String> = brings
        .files
        .iter()
        .filter(|file| {
            !counts(file, trust) && !matches!(file.role, FileRole::Settings | FileRole::Named | FileRole::Git)
        })
        .map(|file| visible(&file.path.to_string_lossy()))
        .collect();
    match (out.is_empty(), trust) {
        (true, _) => String::new(),
        (false, FolderTrust::Unknown) => {
            format!(
                "note: this folder is not trusted yet; not loaded: {}\n",
                listed(&out)
            )
        }
        (false, _) => format!(
            "note: this folder is {}; not loaded: {}\n",
            trust.word(),
            listed(&out)
        ),
    }
}

/// Returns whether a file of an untrusted folder is loaded anyway.
fn counts(file: &FolderFile, trust: FolderTrust) -> bool {
    file.role == FileRole::Instructions
        && (trust == FolderTrust::ReadOnly
            || (trust == FolderTrust::Restricted && file.standing == FileAcceptance::Accepted))
}

/// Returns a note about changed files of a trusted folder that are not loaded, because they run code.
fn changed(brings: &FolderContents) -> String {
    // Other notes name settings whose files do not count, and the programs that Git runs.
    let is_left_out = |file: &FolderFile| {
        matches!(
            file.role,
            FileRole::Settings | FileRole::Definition | FileRole::Servers
        )
    };
    let out = not_accepted(brings, is_left_out);
    if out.is_empty() {
        String::new()
    } else {
        format!(
            "note: new or changed since you {TRUSTED}, so not loaded: {}\n",
            listed(&out)
        )
    }
}

/// Returns a note about instructions that are followed although they changed since the person's decision.
fn followed(brings: &FolderContents, said: &str) -> String {
    let read = not_accepted(brings, |file| file.role == FileRole::Instructions);
    if read.is_empty() {
        String::new()
    } else {
        format!(
            "note: these instructions are new or changed since you {said}; the agent follows them: {}\n",
            listed(&read)
        )
    }
}

fn not_accepted(brings: &FolderContents, which: impl Fn(&FolderFile) -> bool) -> Vec<String> {
    let files = brings.not_accepted().filter(|file| which(file));
    files.map(|file| visible(&file.path.to_string_lossy())).collect()
}

fn listed(names: &[String]) -> String {
    let shown = names.iter().take(MOST).cloned().collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(MOST) {
        Some(more @ 1..) => format!("{shown} and {} more", counted(more, "file")),
        _ => shown,
    }
}
