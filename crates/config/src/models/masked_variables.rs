//! The variables of which commands see placeholders. Their values are keys, so they are kept from commands
//! and out of what is recorded.

use crate::layers::read::SettingsLayer;
use crate::layers::value::{KeyReference, Value};

/// The variables of `sandbox.credentials`.
pub(crate) fn masked_variables(layer: &SettingsLayer) -> impl Iterator<Item = Value> {
    layer.entries.iter().filter_map(|(path, _)| match &path.0[..] {
        [first, second, variable, ..] if first == "sandbox" && second == "credentials" => {
            Some(Value::Key(KeyReference::Env(variable.clone())))
        }
        _ => None,
    })
}
