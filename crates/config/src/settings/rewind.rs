//! Reads the settings of what a rewind restores.

use crate::layers::getter::SettingsGetter;
use crate::settings::RewindSettings;

pub(crate) fn settings(get: &SettingsGetter<'_>) -> RewindSettings {
    let is_on = |key: &str| get.text(key).as_deref() == Some("true");
    let usual = RewindSettings::default();
    RewindSettings {
        commands: is_on("rewind.commands"),
        ignored_files: is_on("rewind.ignored_files"),
        max_files: get.count("rewind.max_files").unwrap_or(usual.max_files),
        max_file_bytes: get.count("rewind.max_file_bytes").unwrap_or(usual.max_file_bytes),
        max_bytes: get.count("rewind.max_bytes").unwrap_or(usual.max_bytes),
    }
}
