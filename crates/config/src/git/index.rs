//! The folders of a working tree that the index of a repository lists as separate repositories: `git status`
//! starts Git in each. The format is that of <https://git-scm.com/docs/index-format>.

use std::path::{Path, PathBuf};

use super::repository_files::{path_of, readable};

/// The largest index that is read; one of 400,000 files has about 50 MiB.
const MAX_BYTES: u64 = 256 << 20;
/// Times, device, inode, mode, owner and size, in front of the hash.
const STAT: usize = 40;
/// The offset of the mode in it.
const MODE: usize = 24;
/// The kind of an entry for a folder whose files are not in the index and therefore unknown.
const FOLDER: u32 = 0o040_000;
/// The kind of an entry that is a repository.
const REPOSITORY: u32 = 0o160_000;
/// The part of a mode that says the kind.
const KIND: u32 = 0o170_000;
/// The flag that says that two more bytes of flags follow.
const IS_EXTENDED: u16 = 0x4000;

/// The paths of all repositories in the index, relative to the top of the working tree; none if there is no
/// index.
///
/// # Errors
/// Returns the reason why it cannot be read.
pub(super) fn repositories(index: &Path, hash: usize) -> Result<Vec<PathBuf>, String> {
    let Some(bytes) = readable(index, MAX_BYTES)? else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    let each = |mode: u32, name: &[u8]| {
        if mode & KIND == REPOSITORY {
            found.push(path_of(name));
        }
    };
    match read(&bytes, hash, each) {
        Some(()) => Ok(found),
        None => Err("unknown format".to_owned()),
    }
}

/// Returns whether there are files below a folder in the index; `false` if the index cannot be read.
pub(super) fn has_files_below(index: &Path, hash: usize, folder: &Path) -> bool {
    let Ok(Some(bytes)) = readable(index, MAX_BYTES) else {
        return false;
    };
    let mut has_files = false;
    let each = |_, name: &[u8]| has_files |= path_of(name).starts_with(folder);
    read(&bytes, hash, each).is_some() && has_files
}

/// Reads an index and gives the mode and the name of each entry to `each`; `None` if it cannot be read.
fn read(bytes: &[u8], hash: usize, mut each: impl FnMut(u32, &[u8])) -> Option<()> {
    let (version, count) = (number(bytes, 4)?, number(bytes, 8)?);
    if !bytes.starts_with(b"DIRC") || !(2..=4).contains(&version) {
        return None;
    }
    let mut name = Vec::new();
    let mut at = 12;
    for _ in 0..count {
        let start = at;
        let mode = number(bytes, at + MODE)?;
        at += STAT + hash;
        let flags = u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?);
        at += 2;
        if version > 2 && flags & IS_EXTENDED != 0 {
            at += 2;
        }
        if version == 4 {
            let (dropped, next) = variable(bytes, at)?;
            name.truncate(name.len().checked_sub(dropped)?);
            at = next;
        } else {
            name.clear();
        }
        let rest = bytes.get(at..)?;
        let length = rest.iter().position(|byte| *byte == 0)?;
        name.extend_from_slice(&rest[..length]);
        at += length + 1;
        if version < 4 {
            // Entries are padded to a multiple of eight.
            at = start + (at - start).next_multiple_of(8);
        }
        if mode & KIND == FOLDER {
            return None;
        }
        each(mode, &name);
    }
    is_whole(bytes, at, hash).then_some(())
}

/// Returns whether all entries are in this file: a split index has more of them in another file.
fn is_whole(bytes: &[u8], mut at: usize, hash: usize) -> bool {
    let Some(end) = bytes.len().checked_sub(hash) else {
        return false;
    };
    while at < end {
        let (Some(name), Some(size)) = (bytes.get(at..at + 4), number(bytes, at + 4)) else {
            return false;
        };
        if name == b"link" {
            return false;
        }
        at = at.saturating_add(8).saturating_add(size as usize);
    }
    at == end
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_be_bytes(four.try_into().ok()?))
}

/// Reads a number of variable length; returns it and the offset behind it.
fn variable(bytes: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let mut byte = *bytes.get(at)?;
    let mut number = usize::from(byte & 127);
    while byte & 128 != 0 {
        at += 1;
        byte = *bytes.get(at)?;
        number = number
            .checked_add(1)?
            .checked_mul(128)?
            .checked_add(usize::from(byte & 127))?;
    }
    Some((number, at + 1))
}
