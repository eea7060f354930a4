//! Finds the file that a folder's setting names.

use std::path::{Path, PathBuf};

use agentx_agent::closed_files::guarded;
use agentx_types::Guard;

use crate::paths::ConfigPaths;
use crate::text_file::MAX_TEXT_BYTES;

pub(crate) const OUTSIDE: &str = "it refers to a file outside this folder";
pub(crate) const GUARDED: &str = "it refers to a file that may hold secrets";

/// Reads the one file that a setting names. A missing or too large file is reported later, when it is read
/// for use.
pub(crate) fn named(
    path: &Path,
    guard: &Guard,
    places: &ConfigPaths,
) -> Result<Vec<(PathBuf, Vec<u8>)>, &'static str> {
    let root = &places.workspace_root;
    let Ok(real) = std::fs::canonicalize(path) else {
        return Ok(Vec::new());
    };
    let Ok(below) = real.strip_prefix(root) else {
        return Err(OUTSIDE);
    };
    if guarded(guard, &real.to_string_lossy(), &root.to_string_lossy()).is_some() {
        return Err(GUARDED);
    }
    let is_readable =
        std::fs::metadata(&real).is_ok_and(|found| found.is_file() && found.len() <= MAX_TEXT_BYTES);
    let bytes = is_readable.then(|| std::fs::read(&real).ok()).flatten();
    Ok(bytes.map(|bytes| (below.to_owned(), bytes)).into_iter().collect())
}
