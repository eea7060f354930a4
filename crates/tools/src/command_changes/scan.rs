//! A look at the files of a workspace: names and stamps, without their contents.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use ignore::WalkBuilder;

use super::entry_stamp::EntryStamp;
use super::options::CommandRewind;

/// The files and directories of a workspace.
#[derive(Debug, Default)]
pub(super) struct WorkspaceScan {
    /// The stamps of the files, by absolute path.
    pub(super) files: BTreeMap<String, EntryStamp>,
    pub(super) directories: BTreeSet<String>,
    /// Files beyond a limit.
    pub(super) left_out: u64,
}

/// Looks at the files below `workspace`.
///
/// # Errors
/// Returns an error if the workspace cannot be read, or has far more files than are kept.
pub(super) fn scan(workspace: &Path, options: &CommandRewind) -> io::Result<WorkspaceScan> {
    let (mut found, mut bytes, mut seen) = (WorkspaceScan::default(), 0_u64, 0_usize);
    let git = !options.ignored_files;
    let skipped = options.directory.clone();
    let walk = WalkBuilder::new(workspace)
        .hidden(false)
        .follow_links(false)
        .same_file_system(true)
        .ignore(false)
        .parents(git)
        .git_ignore(git)
        .git_exclude(git)
        .git_global(git)
        .require_git(false)
        .filter_entry(move |entry| entry.file_name() != ".git" && entry.path() != skipped)
        .build();
    for entry in walk {
        let Ok(entry) = entry else { continue };
        let (Some(kind), Some(path)) = (entry.file_type(), entry.path().to_str()) else {
            found.left_out += 1;
            continue;
        };
        if kind.is_dir() {
            found.directories.insert(path.to_owned());
            continue;
        }
        if !kind.is_file() {
            continue;
        }
        seen += 1;
        // A look at millions of files would take longer than the command.
        if seen > options.max_files.saturating_mul(2) {
            return Err(io::Error::other("the workspace has too many files"));
        }
        let Ok(metadata) = entry.path().symlink_metadata() else {
            continue;
        };
        let stamp = EntryStamp::of(&metadata);
        let fits = found.files.len() < options.max_files
            && stamp.size() <= options.max_file_bytes
            && bytes.saturating_add(stamp.size()) <= options.max_bytes;
        if fits {
            bytes += stamp.size();
            found.files.insert(path.to_owned(), stamp);
        } else {
            found.left_out += 1;
        }
    }
    Ok(found)
}
