//! Helpers of the search for prompts and of the reading of their directories: the names in a directory, and
//! mistakes in its files.

use std::path::Path;

use crate::mistake::{ConfigMistake, MistakeLocation};
use crate::origin::SourceLocation;

/// Maximum number of entries of a directory that are looked at.
const MAX_ENTRIES: usize = 5_000;

/// The names in a directory that are UTF-8 and not hidden, sorted.
pub(super) fn entries(directory: &Path) -> Vec<String> {
    let Ok(read) = std::fs::read_dir(directory) else {
        return Vec::new();
    };
    let names = read
        .take(MAX_ENTRIES)
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort();
    names
}

/// A mistake in a line of a file.
pub(super) fn mistake(file: &Path, line: u64, what: String) -> ConfigMistake {
    ConfigMistake {
        at: MistakeLocation::File(SourceLocation {
            file: file.into(),
            line,
            column: 1,
        }),
        key: String::new(),
        what,
        nearest: None,
    }
}
