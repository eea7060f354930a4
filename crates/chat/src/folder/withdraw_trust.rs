//! Withdraws the grants of a folder together with the trust in it: saved rules, and values of its tools.

use agentx::assembly::{forget_values, kept_values};
use agentx::config::{ConfigError, Loaded, WrittenRule, folder_now, show_rule};
use agentx::types::CurrentFolder;

use crate::error::ChatError;
use crate::render::clean::visible;
use crate::render::units::counted;
use crate::rules::remove_from_file;

/// The grants to withdraw from the folder that is here now. Grants of another folder at the same path stay,
/// so these are collected before the decision changes.
pub struct RevokedGrants {
    rules: Vec<WrittenRule>,
    now: Option<CurrentFolder>,
}

impl RevokedGrants {
    /// Finds the rules and the trust entry of this folder.
    pub fn find(loaded: &Loaded) -> Self {
        Self {
            rules: of_this_folder(loaded).into_iter().cloned().collect(),
            now: folder_now(&loaded.places.workspace_root),
        }
    }

    /// Removes the rules that allow something in this folder from the person's file, and with `values` the
    /// values of its tools. Returns lines that name everything removed and kept.
    pub fn take(&self, loaded: &Loaded, values: bool) -> Result<String, ChatError> {
        let mut text = String::new();
        for rule in &self.rules {
            text.push_str(&match remove_from_file(&rule.value, &rule.origin) {
                Ok(removed) => removed,
                Err(error) => format!(
                    "note: {} stays; remove it by hand ({}): {error}\n",
                    visible(&show_rule(&rule.value)),
                    rule.origin
                ),
            });
        }
        text.push_str(&self.values_of(loaded, values)?);
        Ok(text)
    }

    fn values_of(&self, loaded: &Loaded, remove: bool) -> Result<String, ChatError> {
        let (data, root) = (&loaded.settings.data_dir, &loaded.places.workspace_root);
        let failed = |error| {
            ChatError::from(ConfigError::File {
                path: data.clone(),
                what: format!("the data of tools: {error}"),
            })
        };
        let spaces = kept_values(data, root, self.now.as_ref()).map_err(failed)?;
        if spaces.is_empty() {
            return Ok(String::new());
        }
        let count = spaces.values().sum::<u32>();
        let names: Vec<String> = spaces.keys().map(|space| visible(space)).collect();
        let kept = format!(
            "{} that its tools kept (key {}: {})",
            counted(count, "value"),
            if names.len() == 1 { "space" } else { "spaces" },
            names.join(", ")
        );
        if !remove {
            return Ok(format!(
                "{kept} stay but are not used; `agentx config trust --revoke` removes them\n"
            ));
        }
        forget_values(data, root, self.now.as_ref()).map_err(failed)?;
        Ok(format!("removed {kept}\n"))
    }
}

/// The rules that allow something in this folder, without those that were kept for another one at its path.
fn of_this_folder(loaded: &Loaded) -> Vec<&WrittenRule> {
    let mut rules = loaded.allowed_here();
    rules.retain(|rule| !rule.is_of_another_folder(&loaded.trust_dir));
    rules
}

/// The rules that allow something in this folder, in lines for the person.
pub(super) fn allowed_here(loaded: &Loaded) -> String {
    let hold = of_this_folder(loaded).into_iter();
    hold.map(|rule| {
        format!(
            "  One of your rules applies here: {} ({})\n",
            visible(&show_rule(&rule.value)),
            rule.origin
        )
    })
    .collect()
}
