//! The settings of what is kept of commands' changes.

use std::path::PathBuf;

/// Whether and how far the changes of commands are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandRewind {
    /// The directory for the contents of files, outside of every workspace. Only the person can read it.
    pub directory: PathBuf,
    /// Whether files that Git ignores are kept as well.
    pub ignored_files: bool,
    /// The most files of a workspace; others are not kept.
    pub max_files: usize,
    /// The largest file, in bytes.
    pub max_file_bytes: u64,
    /// The most bytes of all files of a workspace.
    pub max_bytes: u64,
}

impl CommandRewind {
    /// The usual limits: 20,000 files of at most 1 MiB, and 256 MiB of a workspace; no ignored files.
    pub fn new(directory: PathBuf) -> Self {
        Self {
            directory,
            ignored_files: false,
            max_files: 20_000,
            max_file_bytes: 1 << 20,
            max_bytes: 256 << 20,
        }
    }
}
