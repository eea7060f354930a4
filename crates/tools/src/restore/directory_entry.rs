//! A file's directory, reached from the root one directory after the other, without following symbolic links:
//! a directory at the time of the change may be a link when the file is restored.

use std::ffi::{CString, OsStr, OsString};
use std::fs::{File, Metadata, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path};

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat, renameat};
use nix::sys::stat::{Mode, SFlag, fstatat, mkdirat};
use nix::unistd::{UnlinkatFlags, unlinkat};

use crate::{temporary, text, workspace::explain};

/// Files beyond this are neither compared nor kept.
const MOST_BYTES: u64 = 256 << 20;

/// The flags with which a directory on the way is opened.
#[cfg(target_os = "linux")]
const PASSAGE: OFlag = OFlag::O_PATH
    .union(OFlag::O_DIRECTORY)
    .union(OFlag::O_NOFOLLOW)
    .union(OFlag::O_CLOEXEC);
#[cfg(not(target_os = "linux"))]
const PASSAGE: OFlag = OFlag::O_DIRECTORY
    .union(OFlag::O_NOFOLLOW)
    .union(OFlag::O_CLOEXEC);

/// A name in a directory that is held open.
pub(super) struct DirectoryEntry {
    directory: OwnedFd,
    name: OsString,
}

/// A regular file and its contents.
pub(super) struct PresentFile {
    pub(super) bytes: Vec<u8>,
    pub(super) metadata: Metadata,
}

impl DirectoryEntry {
    /// Opens the entry at an absolute path; `None` if a directory on the way is missing. With `make`, creates
    /// missing directories.
    ///
    /// # Errors
    /// Returns an error that names the part of the path that is a link or not a directory.
    pub(super) fn reach(path: &Path, make: bool) -> Result<Option<Self>, String> {
        let mut names: Vec<&OsStr> = Vec::new();
        for part in path.components() {
            match part {
                Component::RootDir => {}
                Component::Normal(name) => names.push(name),
                _ => return Err("its path is not a plain one".into()),
            }
        }
        let Some(name) = names.pop().filter(|_| path.is_absolute()) else {
            return Err("its path is not a plain one".into());
        };
        let root = nix::fcntl::open("/", PASSAGE.difference(OFlag::O_NOFOLLOW), Mode::empty());
        let mut directory = root.map_err(errno_message)?;
        for part in names {
            directory = match openat(&directory, part, PASSAGE, Mode::empty()) {
                Ok(next) => next,
                Err(Errno::ENOENT) if !make => return Ok(None),
                Err(Errno::ENOENT) => {
                    let mode = Mode::from_bits_truncate(0o777);
                    match mkdirat(&directory, part, mode) {
                        Ok(()) | Err(Errno::EEXIST) => {}
                        Err(error) => return Err(errno_message(error)),
                    }
                    openat(&directory, part, PASSAGE, Mode::empty()).map_err(errno_message)?
                }
                Err(Errno::ENOTDIR | Errno::ELOOP) => {
                    return Err(format!(
                        "{} in its path is not a directory any more",
                        part.display()
                    ));
                }
                Err(error) => return Err(errno_message(error)),
            };
        }
        Ok(Some(Self {
            directory,
            name: name.to_owned(),
        }))
    }

    /// Returns the file; `None` if there is none.
    ///
    /// # Errors
    /// Returns an error if it is not a regular file or cannot be read.
    pub(super) fn look(&self) -> Result<Option<PresentFile>, String> {
        let stat = match fstatat(
            &self.directory,
            self.name.as_os_str(),
            AtFlags::AT_SYMLINK_NOFOLLOW,
        ) {
            Ok(stat) => stat,
            Err(Errno::ENOENT) => return Ok(None),
            Err(error) => return Err(errno_message(error)),
        };
        let kind = SFlag::from_bits_truncate(stat.st_mode & SFlag::S_IFMT.bits());
        if kind == SFlag::S_IFLNK {
            return Err("a link is in its place".into());
        }
        if kind != SFlag::S_IFREG {
            return Err("something other than a file is in its place".into());
        }
        let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
        let file =
            openat(&self.directory, self.name.as_os_str(), flags, Mode::empty()).map_err(errno_message)?;
        let file = File::from(file);
        let told = |error: io::Error| explain(&error);
        let metadata = file.metadata().map_err(told)?;
        if metadata.len() > MOST_BYTES {
            let size = text::size(metadata.len());
            return Err(format!("it has {size} now, too much to be kept"));
        }
        let mut bytes = Vec::new();
        file.take(MOST_BYTES).read_to_end(&mut bytes).map_err(told)?;
        Ok(Some(PresentFile { bytes, metadata }))
    }

    /// Writes a file atomically, by renaming a new file over it. It keeps the permissions of an existing
    /// file, else gets `mode`.
    pub(super) fn put(
        &self,
        bytes: &[u8],
        mode: Option<u32>,
        there: Option<&Metadata>,
    ) -> Result<(), String> {
        let temporary = temporary::name();
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let created = openat(
            &self.directory,
            temporary.as_str(),
            flags,
            Mode::from_bits_truncate(0o666),
        );
        let mut file = File::from(created.map_err(errno_message)?);
        temporary::hold(&file);
        let done = fill(&mut file, bytes, mode, there)
            .map_err(|error| explain(&error))
            .and_then(|()| {
                let directory = self.directory.as_fd();
                renameat(directory, temporary.as_str(), directory, self.name.as_os_str())
                    .map_err(errno_message)
            });
        if done.is_err() {
            // The first error matters more than a file that could not be removed either.
            let _ = unlinkat(&self.directory, temporary.as_str(), UnlinkatFlags::NoRemoveDir);
        }
        done
    }

    /// Removes the file.
    pub(super) fn remove(&self) -> Result<(), String> {
        match unlinkat(&self.directory, self.name.as_os_str(), UnlinkatFlags::NoRemoveDir) {
            Ok(()) | Err(Errno::ENOENT) => Ok(()),
            Err(error) => Err(errno_message(error)),
        }
    }

    /// Removes files next to it that killed processes left.
    pub(super) fn remove_left(&self) {
        temporary::remove_left(&self.directory);
    }

    /// Removes the directory if it is one and empty; returns whether it did.
    pub(super) fn remove_directory(&self) -> bool {
        unlinkat(&self.directory, self.name.as_os_str(), UnlinkatFlags::RemoveDir).is_ok()
    }
}

fn fill(file: &mut File, bytes: &[u8], mode: Option<u32>, there: Option<&Metadata>) -> io::Result<()> {
    match (there, mode) {
        (Some(metadata), _) => {
            temporary::copy_permissions(metadata, file)?;
        }
        // Only the permissions: a set-user-ID or set-group-ID bit is not restored.
        (None, Some(mode)) => file.set_permissions(Permissions::from_mode(mode & 0o777))?,
        (None, None) => {}
    }
    file.write_all(bytes)
}

fn errno_message(error: Errno) -> String {
    explain(&io::Error::from(error))
}

/// Returns whether a name has a NUL in it, which no path has.
pub(super) fn is_a_path(path: &str) -> bool {
    CString::new(OsStr::new(path).as_bytes()).is_ok()
}
