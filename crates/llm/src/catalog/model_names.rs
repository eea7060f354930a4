//! The names of a model of the catalog: its ids, including dated ones, and its aliases.

use agentx_types::ModelSpec;

use super::ModelEntry;

/// Returns whether `name` is the `id` with a day behind it: `gpt-5.4-2026-03-05`, `claude-opus-4-5-20251101`.
fn is_dated(id: &str, name: &str) -> bool {
    let Some(day) = name.strip_prefix(id).and_then(|rest| rest.strip_prefix('-')) else {
        return false;
    };
    let digits = day.replace('-', "");
    digits.len() == 8 && digits.starts_with("20") && digits.bytes().all(|byte| byte.is_ascii_digit())
}

impl ModelEntry {
    pub(super) fn has_id(&self, id: &str) -> bool {
        self.spec.id == id
            || self.snapshots.iter().any(|snapshot| snapshot == id)
            || is_dated(&self.spec.id, id)
    }

    /// Returns the model if this is one of its names; its id is one unless a person calls it otherwise.
    pub(super) fn named(&self, name: &str) -> Option<ModelSpec> {
        let is_alias = self.aliases.iter().any(|alias| alias == name);
        self.called(name).filter(|_| self.is_called_by_id || is_alias)
    }

    /// Returns the model if this is one of its names, or its id.
    pub(super) fn called(&self, name: &str) -> Option<ModelSpec> {
        if self.has_id(name) {
            return Some(ModelSpec {
                id: name.to_owned(),
                ..self.spec.clone()
            });
        }
        self.aliases
            .iter()
            .any(|alias| alias == name)
            .then(|| self.spec.clone())
    }
}
