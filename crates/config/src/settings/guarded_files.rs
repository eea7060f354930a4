//! The files that calls may not open by default: those in which programs keep secrets
//! (`crates/agent/src/files/secret_files.rs`), and this program's own.

use std::path::Path;
use std::sync::Arc;

use agentx_agent::closed_files::{guarded, opens_secrets};
use agentx_types::{Guard, RuleEffect};

use crate::folders::folder::FolderTrust;
use crate::folders::ignored_setting::IgnoredSetting;
use crate::folders::secret_guard::{secrets, ways_to_write};
use crate::layers::read::SettingsLayer;
use crate::layers::value::Value;
use crate::settings::Settings;

/// The program's files in a data directory that is, or contains, the workspace: other files there are not
/// ours.
const OF_DATA: &[&str] = &[
    "*.db*",
    "*.json",
    "*.log",
    "identity*",
    "told*",
    "accepted/**",
    "drafts/**",
];

impl Settings {
    /// Returns the files that calls may not open by default.
    pub fn guard(&self) -> Arc<Guard> {
        let home = etcetera::home_dir().ok();
        let mut own = Vec::new();
        for folder in [&self.data_dir, &self.trust_dir] {
            let inside: &[&str] = if self.workspace.starts_with(folder) {
                OF_DATA
            } else {
                &["**"]
            };
            for place in ways_to_write(folder, home.as_deref()) {
                own.extend(inside.iter().map(|part| format!("{place}/{part}")));
            }
        }
        for place in ways_to_write(self.configuration(), home.as_deref()) {
            own.push(place.clone());
            own.push(format!("{place}/**"));
        }
        own.sort();
        own.dedup();
        let is_accepted = self
            .folder
            .admits(self.git.accepted_as(), self.git.text().as_bytes());
        let git = if is_accepted { Vec::new() } else { self.git.names() };
        let mut guard = Guard {
            own,
            git,
            git_remotes: Some(self.git.remotes()),
            read_only: self.folder.trust == FolderTrust::ReadOnly,
            reading_commands: self.folder.trust == FolderTrust::Trusted && self.tools.reading_commands,
            homes: home.as_deref().map(forms_of_home).unwrap_or_default(),
            ..secrets()
        };
        let of_clouds = self.cloud_files.iter();
        guard
            .secrets
            .extend(of_clouds.flat_map(|file| ways_to_write(file, home.as_deref())));
        let with_passwords = self.git.with_passwords().iter();
        guard
            .secrets
            .extend(with_passwords.flat_map(|file| ways_to_write(file, home.as_deref())));
        Arc::new(guard)
    }
}

/// The home directory as it is written, and with links resolved, as far as these are absolute.
fn forms_of_home(home: &Path) -> Vec<String> {
    let real = std::fs::canonicalize(home).ok();
    let forms = [Some(home.to_owned()), real].into_iter().flatten();
    let absolute = forms.filter(|form| form.is_absolute());
    let mut forms: Vec<String> = absolute
        .filter_map(|form| form.to_str().map(str::to_owned))
        .collect();
    forms.dedup();
    forms
}

impl Settings {
    /// Returns the folder of the user's own configuration, whose agents, tools and instructions need no
    /// trust; or only the file, if `AGENTX_CONFIG` names it or the workspace is that folder.
    pub fn configuration(&self) -> &Path {
        let folder = self.user_file.parent().filter(|folder| {
            folder.file_name().is_some_and(|name| name == "agentx") && !self.workspace.starts_with(folder)
        });
        folder.unwrap_or(&self.user_file)
    }

    /// Returns whether calls are kept from this file by default: it may hold secrets, or it belongs to the
    /// program. The path is absolute, without links.
    pub fn is_guarded(&self, path: &Path) -> bool {
        let (path, workspace) = (path.to_string_lossy(), self.workspace.to_string_lossy());
        guarded(&self.guard(), &path, &workspace).is_some()
    }
}

/// Removes the rules that open secrets from a folder's layer: only the person may allow that, even in a
/// trusted folder.
pub(crate) fn without_opening_rules(
    mut layer: SettingsLayer,
    guard: &Guard,
    root: &Path,
) -> (SettingsLayer, Vec<IgnoredSetting>) {
    let root = root.to_string_lossy();
    let mut ignored = Vec::new();
    for (path, sourced) in &mut layer.entries {
        let Value::Rules(rules) = &mut sourced.value else {
            continue;
        };
        rules.retain(|rule| {
            let opens = rule.value.effect == RuleEffect::Allow && opens_secrets(guard, &rule.value, &root);
            if opens {
                ignored.push(IgnoredSetting {
                    key: path.to_string(),
                    origin: rule.origin.clone(),
                    why: "only your own rules can allow files that may hold secrets",
                    waits_for_trust: false,
                });
            }
            !opens
        });
    }
    (layer, ignored)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_is_known_by_its_absolute_paths_only() {
        assert_eq!(forms_of_home(Path::new("/")), ["/"]);
        assert_eq!(forms_of_home(Path::new("/made-up/home")), ["/made-up/home"]);
        assert!(forms_of_home(Path::new("made-up/home")).is_empty());
        assert!(forms_of_home(Path::new("")).is_empty());
    }
}
