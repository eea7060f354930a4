//! Trust in the folder that somebody starts in: what is said about one that nobody trusts, and the question at the first start.

mod question;
mod screen;

pub(crate) use question::{Answer, ask};
pub(crate) use screen::{changes, what_it_brings, what_it_is};

use std::collections::BTreeMap;

use agentx::assembly::{Brings, Brought, Role, brings};
use agentx::config::{FolderTrust, Loaded, Standing};

use crate::render::clean::visible;
use crate::render::units::counted;

/// Names that are listed in a note.
const MOST: usize = 5;

/// What a person should know where nobody can be asked: what of this folder is left out, and how it counts. Empty where nothing is.
pub(crate) fn note(loaded: &Loaded) -> String {
    if loaded.settings.connect.is_some() || loaded.settings.folder.whole {
        return String::new();
    }
    let brings = brings(&loaded.settings);
    let trust = loaded.settings.folder.trust;
    let text = match trust {
        FolderTrust::Trusted => changed(&brings),
        FolderTrust::Unknown | FolderTrust::Restricted | FolderTrust::ReadOnly => left_out(&brings, trust),
    };
    match text.is_empty() {
        true => text,
        false => {
            format!("{text}hint: `agentx config trust --show` shows it, `agentx config trust` loads it\n")
        }
    }
}

fn left_out(brings: &Brings, trust: FolderTrust) -> String {
    // Settings that do not count are named one by one already.
    let out: Vec<String> = brings
        .files
        .iter()
        .filter(|file| !counts(file, trust) && !matches!(file.role, Role::Settings | Role::Named))
        .map(|file| visible(&file.path.to_string_lossy()))
        .collect();
    match (out.is_empty(), trust) {
        (true, _) => String::new(),
        (false, FolderTrust::Unknown) => {
            format!(
                "note: nobody has said that this folder is trusted; not loaded: {}\n",
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

/// Whether a file of a folder that is not trusted is loaded all the same.
fn counts(file: &Brought, trust: FolderTrust) -> bool {
    file.role == Role::Instructions
        && (trust == FolderTrust::ReadOnly
            || (trust == FolderTrust::Restricted && file.standing == Standing::Accepted))
}

/// What changed in a folder that is trusted: what runs is left out, instructions are followed.
fn changed(brings: &Brings) -> String {
    let mut by_role: BTreeMap<bool, Vec<String>> = BTreeMap::new();
    // Settings whose files do not count are named one by one already.
    for file in brings.not_accepted().filter(|file| file.role != Role::Named) {
        let name = visible(&file.path.to_string_lossy());
        by_role
            .entry(file.role == Role::Instructions)
            .or_default()
            .push(name);
    }
    let mut text = String::new();
    if let Some(out) = by_role.get(&false) {
        text.push_str(&format!(
            "note: new or changed since you trusted this folder, so not loaded: {}\n",
            listed(out)
        ));
    }
    if let Some(read) = by_role.get(&true) {
        text.push_str(&format!(
            "note: new or changed since you trusted this folder, and followed: {}\n",
            listed(read)
        ));
    }
    text
}

fn listed(names: &[String]) -> String {
    let shown = names.iter().take(MOST).cloned().collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(MOST) {
        Some(more @ 1..) => format!("{shown} and {} more", counted(more, "file")),
        _ => shown,
    }
}
