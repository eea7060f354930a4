//! Finds the remotes of a repository that lead to other machines. If a push goes to a repository on this
//! machine, Git runs the hooks of that repository.

use std::collections::BTreeSet;

use agentx_agent::leads_elsewhere;
use agentx_types::GitRemotes;

use super::settings::Setting;

/// The remotes in the settings of all checked repositories.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Remotes {
    /// Names of remotes on other machines.
    elsewhere: BTreeSet<String>,
    /// Names of remotes that may be paths.
    paths: BTreeSet<String>,
    /// Names and addresses that branches use.
    used: BTreeSet<String>,
}

impl Remotes {
    pub(super) fn add(&mut self, setting: &Setting) {
        let (section, last, value) = (setting.section(), setting.last(), setting.value.as_str());
        let name = setting
            .name
            .strip_prefix("remote.")
            .and_then(|rest| rest.strip_suffix(last)?.strip_suffix('.'));
        match (name, last) {
            (Some(name), "url" | "pushurl") => {
                let of_kind = if leads_elsewhere(value) {
                    &mut self.elsewhere
                } else {
                    &mut self.paths
                };
                of_kind.insert(name.to_owned());
            }
            (None, "pushdefault") if section == "remote" => _ = self.used.insert(value.to_owned()),
            // A branch that follows another branch of the same repository has the remote `.`.
            (_, "remote" | "pushremote") if section == "branch" && value != "." => {
                self.used.insert(value.to_owned());
            }
            _ => {}
        }
    }

    pub(super) fn facts(&self) -> GitRemotes {
        let names = self.elsewhere.difference(&self.paths).cloned().collect();
        let is_unclear = |used: &String| !self.elsewhere.contains(used) && !leads_elsewhere(used);
        GitRemotes {
            names,
            may_be_paths: !self.paths.is_empty() || self.used.iter().any(is_unclear),
        }
    }
}
