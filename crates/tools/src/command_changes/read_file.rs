//! Reads a file of the workspace within bounds.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::time::SystemTime;

use nix::fcntl::OFlag;

use super::entry_stamp::EntryStamp;

/// A file that was read.
pub(super) struct StampedContent {
    pub(super) bytes: Vec<u8>,
    pub(super) stamp: EntryStamp,
    /// When it was made, if the file system says so.
    pub(super) born: Option<SystemTime>,
}

/// Reads a file that is not a link.
pub(super) fn read(path: &str, most: u64) -> Option<StampedContent> {
    let flags = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits();
    let file = fs::OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(path)
        .ok()?;
    let metadata = file.metadata().ok().filter(fs::Metadata::is_file)?;
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes).ok()?;
    let is_whole = u64::try_from(bytes.len()).is_ok_and(|read| read <= most);
    is_whole.then(|| StampedContent {
        bytes,
        stamp: EntryStamp::of(&metadata),
        born: metadata.created().ok(),
    })
}
