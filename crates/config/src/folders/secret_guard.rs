//! The files in which programs keep secrets, in each form in which a call may name them.

use std::path::{Path, PathBuf};

use agentx_agent::secret_files;
use agentx_types::Guard;

/// The files with secrets alone.
pub(crate) fn secrets() -> Guard {
    let home = etcetera::home_dir().ok();
    let ways = home.as_deref().map(|home| ways_to_write(home, Some(home)));
    secret_files(&ways.unwrap_or_else(|| vec!["~".to_owned()]))
}

/// Returns the forms in which a call may name a path: unchanged, with links resolved, and from the home
/// directory.
pub(crate) fn ways_to_write(path: &Path, home: Option<&Path>) -> Vec<String> {
    let mut ways = vec![path.to_owned()];
    ways.extend(std::fs::canonicalize(path));
    if let Some(below) = home.and_then(|home| path.strip_prefix(home).ok()) {
        ways.push(Path::new("~").join(below));
    }
    // Escapes `*`, which may be part of a file's name.
    let text = |way: &PathBuf| Some(way.to_str()?.trim_end_matches('/').replace('*', "\\*"));
    let mut ways: Vec<String> = ways.iter().filter_map(text).collect();
    ways.sort();
    ways.dedup();
    ways
}
