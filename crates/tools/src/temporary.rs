//! Temporary files that are written next to another file and then take its name, and the removal of those
//! that a killed process left. Callers that write a file first remove such leftovers.
//!
//! Most are files of a person's project, so `agentx-files` does not write them: they keep owner, group and
//! permissions, a restore reaches them only through open directories, and many writers share a directory
//! without a lock, as they do with the contents that are kept for a rewind.

use std::fs::{File, Metadata, TryLockError};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt as _, fchown};
use std::sync::atomic::{AtomicU64, Ordering};

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{OFlag, openat};
use nix::sys::signal::kill;
use nix::sys::stat::Mode;
use nix::unistd::{Pid, UnlinkatFlags, unlinkat};

/// The number of entries of a directory that are checked.
const MOST_ENTRIES: usize = 100_000;

/// The number of the next file of this process.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Returns a name that no other file of this process has.
pub(crate) fn name() -> String {
    named(std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

fn named(process: u32, number: u64) -> String {
    format!(".agentx-{process}-{number}.tmp")
}

/// Locks a file that is being written. Another machine or container may not see this process, but it sees the
/// lock.
pub(crate) fn hold(file: &File) {
    // Without locks, the process id has to suffice.
    let _ = file.try_lock();
}

/// Gives a new file the owner, group and permissions of the file that it replaces.
///
/// # Errors
/// Returns an error if the permissions cannot be set. The owner and group stay the process's own if they may
/// not be changed.
pub(crate) fn copy_permissions(replaced: &Metadata, file: &File) -> io::Result<()> {
    let own = file.metadata()?;
    if (own.uid(), own.gid()) != (replaced.uid(), replaced.gid()) {
        // Only root may change the owner of a file; for others the new file stays their own.
        let _ = fchown(file, Some(replaced.uid()), Some(replaced.gid()));
    }
    file.set_permissions(replaced.permissions())
}

/// Removes the files that killed processes left in a directory, as far as possible.
pub(crate) fn remove_left(directory: impl AsFd) {
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let Ok(mut listed) = Dir::openat(directory.as_fd(), ".", flags, Mode::empty()) else {
        return;
    };
    let entries = listed.iter().take(MOST_ENTRIES).flatten();
    let names = entries.filter_map(|entry| entry.file_name().to_str().ok().map(str::to_owned));
    let left: Vec<String> = names.filter(|name| is_left(name)).collect();
    for name in left {
        if is_free(&directory, &name) {
            let _ = unlinkat(&directory, name.as_str(), UnlinkatFlags::NoRemoveDir);
        }
    }
}

/// Returns whether the process that gave a file this name is gone. An earlier process may have had the same
/// number as this one: then its counter was higher.
fn is_left(name: &str) -> bool {
    let numbers = || {
        name.strip_prefix(".agentx-")?
            .strip_suffix(".tmp")?
            .split_once('-')
    };
    let Some((process, number)) = numbers() else {
        return false;
    };
    let (Ok(process), Ok(number)) = (process.parse::<u32>(), number.parse::<u64>()) else {
        return false;
    };
    if named(process, number) != name {
        return false;
    }
    if process == std::process::id() {
        return number >= NEXT.load(Ordering::Relaxed);
    }
    match i32::try_from(process) {
        Ok(process) if process > 0 => kill(Pid::from_raw(process), None) == Err(Errno::ESRCH),
        _ => false,
    }
}

/// Returns whether there is a regular file that no process has locked.
fn is_free(directory: impl AsFd, name: &str) -> bool {
    let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    let Ok(file) = openat(directory, name, flags, Mode::empty()).map(File::from) else {
        return false;
    };
    file.metadata().is_ok_and(|metadata| metadata.is_file())
        && !matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}
