//! Replaces whole files: a new file is written beside the old one and takes its name.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{FileLock, private_options};

/// The longest part of a file's name that the name of its new version repeats: a name has at most 255 bytes.
const LONGEST_STEM: usize = 200;

/// The way in which a file is replaced. By default only the owner can access the new file (mode 0600), it
/// takes the place of a symbolic link, and it survives the death of the process but perhaps not that of the
/// machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReplaceOptions {
    /// Replaces the target of a symbolic link and keeps the link, as people who link their dotfiles expect. A
    /// dangling link is an error.
    pub follow_link: bool,
    /// Gives the new file the permissions of the one that it replaces. If there was none, only the owner can
    /// access it.
    pub keep_permissions: bool,
    /// Returns once the disk has the new content and name, so that the death of the machine loses neither.
    pub durable: bool,
    /// Creates the file, and returns an error of the kind `AlreadyExists` if there is one.
    pub only_new: bool,
}

/// Replaces a file; a reader sees the old content or the new one, never a part. Its directory must exist. A
/// process that is killed meanwhile may leave `NAME.PID-N.new` beside the file.
///
/// # Errors
/// Returns an error if the file cannot be written or is not a regular file. The old content stays then.
pub fn replace(path: &Path, bytes: &[u8], options: ReplaceOptions) -> io::Result<()> {
    let path = &target(path, options)?;
    if options.only_new {
        // This process owns the name now, so nothing of others is replaced below.
        private_options().write(true).create_new(true).open(path)?;
    }
    let temporary = path.with_file_name(temporary_name(path));
    let done = write(&temporary, path, bytes, options);
    if done.is_err() {
        // The first error matters more than a failure to remove the file, which may not exist.
        let _ = std::fs::remove_file(&temporary);
        if options.only_new {
            let _ = std::fs::remove_file(path);
        }
    }
    done
}

/// Replaces a file as [`replace`] does, and removes what killed writers left beside it. The caller must hold
/// the lock that all writers of this file take: then no living writer has such a file.
///
/// # Errors
/// Returns the errors of [`replace`].
pub fn replace_locked(path: &Path, bytes: &[u8], options: ReplaceOptions, lock: &FileLock) -> io::Result<()> {
    remove_leftovers(&target(path, options)?, lock);
    replace(path, bytes, options)
}

/// Returns the file to replace.
fn target(path: &Path, options: ReplaceOptions) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    if options.follow_link {
        match std::fs::canonicalize(&path) {
            Ok(real) => path = real,
            Err(_) if path.is_symlink() => return Err(io::Error::other("it is a broken symbolic link")),
            Err(_) => {}
        }
    }
    match std::fs::symlink_metadata(&path) {
        Ok(found) if !found.is_file() && !found.is_symlink() => Err(io::Error::other("it is not a file")),
        _ => Ok(path),
    }
}

fn write(temporary: &Path, path: &Path, bytes: &[u8], options: ReplaceOptions) -> io::Result<()> {
    let mut file = private_options().write(true).create_new(true).open(temporary)?;
    file.write_all(bytes)?;
    if options.keep_permissions
        && let Ok(before) = std::fs::metadata(path)
    {
        file.set_permissions(before.permissions())?;
    }
    if options.durable {
        file.sync_all()?;
    }
    std::fs::rename(temporary, path)?;
    if options.durable {
        sync_directory(path)?;
    }
    Ok(())
}

/// Returns the name of a file's new version, which no other writer uses: `NAME.PID-N.new`.
fn temporary_name(path: &Path) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{}.{}-{number}.new", stem(path), std::process::id())
}

fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name[..name.floor_char_boundary(LONGEST_STEM)].to_owned()
}

/// Waits until the names of a directory are on the disk.
#[cfg(unix)]
fn sync_directory(file: &Path) -> io::Result<()> {
    let directory = file
        .parent()
        .filter(|directory| !directory.as_os_str().is_empty());
    File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(not(unix))]
fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Removes what killed writers left beside the file: `NAME.PID-N.new`, or `NAME.PID.new` of earlier versions.
/// A link, which an attacker may have planted, is removed and not followed. The caller must hold the lock
/// that all writers of this file take. It does nothing if the directory cannot be read.
pub fn remove_leftovers(path: &Path, _: &FileLock) {
    for left in leftovers(path) {
        let _ = std::fs::remove_file(left);
    }
}

/// The files that [`remove_leftovers`] removes, and the new versions that living writers have not finished.
/// None if the directory cannot be read.
pub fn leftovers(path: &Path) -> Vec<PathBuf> {
    let stem = stem(path);
    let directory = path
        .parent()
        .filter(|directory| !directory.as_os_str().is_empty());
    let found = leftovers_in(directory.unwrap_or(Path::new(".")));
    let of_file = found.into_iter().filter(|left| left.stem == stem);
    of_file.map(|left| left.path).collect()
}

/// A new version of a file that its writer has not finished: the writer was killed, or still writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// The path of the new version.
    pub path: PathBuf,
    /// The name of the file that it should have replaced, cut to 200 bytes.
    pub stem: String,
}

/// The unfinished new versions of all files in a directory, also of files that do not exist yet, in no
/// particular order. None if the directory cannot be read.
pub fn leftovers_in(directory: &Path) -> Vec<Leftover> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let leftover = |entry: std::fs::DirEntry| {
        let name = entry.file_name();
        let stem = stem_of_leftover(name.to_str()?)?.to_owned();
        let path = entry.path();
        Some(Leftover { path, stem })
    };
    entries.filter_map(leftover).collect()
}

/// Returns the stem of the name `STEM.PID-N.new` or `STEM.PID.new`; `None` for another name.
fn stem_of_leftover(name: &str) -> Option<&str> {
    let (stem, writer) = name.strip_suffix(".new")?.rsplit_once('.')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_writer = match writer.split_once('-') {
        Some((process, number)) => is_number(process) && is_number(number),
        None => is_number(writer),
    };
    is_writer.then_some(stem)
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::time::Duration;

    use super::*;

    const PLAIN: ReplaceOptions = ReplaceOptions {
        follow_link: false,
        keep_permissions: false,
        durable: false,
        only_new: false,
    };
    const FOLLOW: ReplaceOptions = ReplaceOptions {
        follow_link: true,
        ..PLAIN
    };

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap().flatten();
        let mut names: Vec<String> = entries
            .map(|entry| entry.file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_new_file_is_the_owners_alone_and_permissions_are_kept_if_wanted() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        replace(
            &file,
            b"1",
            ReplaceOptions {
                durable: true,
                ..PLAIN
            },
        )
        .unwrap();
        assert_eq!((mode(&file), names(folder.path())), (0o600, vec!["a".to_owned()]));
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
        let keep = ReplaceOptions {
            keep_permissions: true,
            ..PLAIN
        };
        replace(&file, b"2", keep).unwrap();
        assert_eq!(
            (mode(&file), std::fs::read(&file).unwrap()),
            (0o640, b"2".to_vec())
        );
        replace(&file, b"3", PLAIN).unwrap();
        assert_eq!(
            (mode(&file), std::fs::read(&file).unwrap()),
            (0o600, b"3".to_vec())
        );
    }

    #[test]
    fn a_link_stays_one_if_it_is_followed_and_a_device_what_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        std::fs::write(&real, "a").unwrap();
        symlink(&real, &link).unwrap();
        replace(&link, b"b", FOLLOW).unwrap();
        assert!(link.is_symlink() && std::fs::read(&real).unwrap() == b"b");
        replace(&link, b"c", PLAIN).unwrap();
        assert!(!link.is_symlink() && std::fs::read(&real).unwrap() == b"b");
        std::fs::remove_file(&link).unwrap();
        symlink(folder.path().join("none"), &link).unwrap();
        let broken = replace(&link, b"d", FOLLOW).unwrap_err();
        assert!(link.is_symlink() && broken.to_string().contains("broken symbolic link"));
        for options in [PLAIN, FOLLOW] {
            let refused = replace(folder.path(), b"d", options).unwrap_err();
            assert!(refused.to_string().contains("it is not a file"), "{refused}");
        }
    }

    #[test]
    fn what_exists_is_not_replaced_by_what_must_be_new() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a".repeat(255));
        let new = ReplaceOptions {
            only_new: true,
            ..PLAIN
        };
        replace(&file, b"1", new).unwrap();
        let refused = replace(&file, b"2", new).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read(&file).unwrap(), b"1");
        assert_eq!(names(folder.path()).len(), 1);
        let nowhere = replace(&folder.path().join("none/a"), b"1", new).unwrap_err();
        assert_eq!(nowhere.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn what_killed_writers_left_in_a_directory_is_found_with_the_name_of_its_file() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "1",
            "1.lock",
            "1.old",
            "1.7-1.new",
            "2.8.new",
            "3.x-1.new",
            ".new",
        ] {
            std::fs::write(folder.path().join(name), "half").unwrap();
        }
        let mut found = leftovers_in(folder.path());
        found.sort_by(|a, b| a.stem.cmp(&b.stem));
        let left = |name: &str, stem: &str| Leftover {
            path: folder.path().join(name),
            stem: stem.to_owned(),
        };
        assert_eq!(found, [left("1.7-1.new", "1"), left("2.8.new", "2")]);
        assert_eq!(
            leftovers(&folder.path().join("2")),
            [folder.path().join("2.8.new")]
        );
        assert!(leftovers_in(&folder.path().join("none")).is_empty());
    }

    #[test]
    fn what_killed_writers_left_is_removed_by_the_holder_of_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let kept = ["a.new", "a.x1.new", "b.7-1.new", "a.7-1.newer", "a.7-.new"];
        for name in kept.iter().chain(&["a.7.new", "a.4194304-12.new"]) {
            std::fs::write(at(name), "half").unwrap();
        }
        // A planted link, which leads elsewhere.
        symlink(at("b.7-1.new"), at("a.8-0.new")).unwrap();
        let lock = FileLock::wait(&at("a.lock"), Duration::from_secs(5))
            .unwrap()
            .unwrap();
        replace_locked(&at("a"), b"b", PLAIN, &lock).unwrap();
        std::fs::write(at("a.9-0.new"), "half").unwrap();
        remove_leftovers(&at("a"), &lock);
        drop(lock);
        let mut expected = kept.to_vec();
        expected.push("a");
        expected.sort_unstable();
        assert_eq!(names(folder.path()), expected);
        assert_eq!(std::fs::read(at("b.7-1.new")).unwrap(), b"half");
    }
}
