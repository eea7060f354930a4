//! Errors for values from a command line: they name the command, not a line of the file.

use std::path::Path;

use crate::layers::keys::{KEYS, SettingPath};
use crate::loading::load::{LoadRequest, load_as_if};
use crate::mistake::{ConfigError, ConfigMistake, MistakeLocation};

/// Returns the first key below a path that is the name of a section, with `NAME` for each name that a person
/// chooses; `None` if the path does not name a section.
pub(crate) fn key_below(section: &SettingPath) -> Option<String> {
    let names = &section.0;
    if names.iter().any(|name| name.is_empty()) {
        return None;
    }
    KEYS.iter().find_map(|spec| {
        let levels: Vec<&str> = spec.path.split('.').collect();
        let mut pairs = names.iter().zip(&levels);
        let is_within = pairs.all(|(name, level)| *level == "*" || name == level);
        if levels.len() <= names.len() || !is_within {
            return None;
        }
        let below = levels[names.len()..].iter();
        let below = below.map(|level| if *level == "*" { "NAME" } else { *level });
        let all: Vec<&str> = names.iter().map(String::as_str).chain(below).collect();
        Some(all.join("."))
    })
}

/// Names the command in place of a line of the file in the mistakes that the file did not have before.
pub(crate) fn named_by(
    command: &str,
    error: ConfigError,
    before: LoadRequest<'_>,
    file: &Path,
) -> ConfigError {
    let ConfigError::Mistakes(mistakes) = error else {
        return error;
    };
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let had = match load_as_if(before, file, &text) {
        Err(ConfigError::Mistakes(had)) => had,
        _ => Vec::new(),
    };
    let is_new = |mistake: &ConfigMistake| {
        let is_same = |had: &ConfigMistake| had.key == mistake.key && had.what == mistake.what;
        !had.iter().any(is_same)
    };
    let named = |mut mistake: ConfigMistake| {
        let is_of_file = matches!(&mistake.at, MistakeLocation::File(place) if *place.file == *file);
        if is_of_file && is_new(&mistake) {
            mistake.at = MistakeLocation::Flag(command.into());
        }
        mistake
    };
    ConfigError::Mistakes(mistakes.into_iter().map(named).collect())
}
