//! A file that the settings of a folder name, with the bytes that were read: a person accepts exactly these.

use std::path::{Path, PathBuf};

/// The name of the file, below the root of the project.
pub(crate) const SERVERS_FILE: &str = ".mcp.json";

/// A file that a workspace's settings name, as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedFile {
    /// The key that names it.
    pub key: String,
    /// The path below the workspace's root.
    pub path: PathBuf,
    /// The bytes that were read.
    pub bytes: Vec<u8>,
}

impl NamedFile {
    /// Returns whether it is the project's `.mcp.json`, which no setting names.
    pub fn is_of_servers(&self) -> bool {
        self.path == Path::new(SERVERS_FILE)
    }

    /// Returns whether the file below `root` still has the same bytes.
    pub fn is_as_it_was(&self, root: &Path) -> bool {
        let path = root.join(&self.path);
        let is_as_long = std::fs::metadata(&path)
            .is_ok_and(|found| found.is_file() && found.len() == self.bytes.len() as u64);
        is_as_long && std::fs::read(&path).is_ok_and(|bytes| bytes == self.bytes)
    }
}
