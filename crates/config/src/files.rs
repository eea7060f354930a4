//! Changes files atomically, one writer at a time, so that no decision of a person is lost.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::ConfigError;

/// The number of attempts to get the lock: ten seconds in all.
const ATTEMPTS: u32 = 500;
const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(20);

/// A lock on a file for reading, changing and replacing it. Other writers wait, in this process and in
/// others. The lock ends when this value is dropped, or with the process.
pub(crate) struct FileLock {
    /// The lock file. It is beside the file itself, because replacing that one would lose a lock on it.
    path: PathBuf,
    #[expect(dead_code, reason = "it holds by being open")]
    lock: File,
}

impl FileLock {
    /// Waits for the lock on `file`, and creates its directory if necessary.
    ///
    /// # Errors
    /// Returns an error if another writer is not done in time, or the directory cannot be written.
    pub(crate) fn wait(file: &Path) -> Result<Self, ConfigError> {
        let mut path = real(file).into_os_string();
        path.push(".lock");
        let path = PathBuf::from(path);
        let failed = |error: std::io::Error| ConfigError::file(&path, error);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|error| ConfigError::file(folder, error))?;
        }
        for _ in 0..ATTEMPTS {
            // A link may have been planted; never create a file at its target.
            if path.is_symlink() {
                return Err(failed(std::io::Error::other("it is a symbolic link; remove it")));
            }
            let lock = open(&path).map_err(failed)?;
            match lock.try_lock() {
                Ok(()) if is_there(&lock, &path) => return Ok(Self { path, lock }),
                // The previous writer removed the lock file in the meantime.
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => std::thread::sleep(BETWEEN_ATTEMPTS),
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
        }
        Err(ConfigError::file(
            file,
            "another program has been changing it for ten seconds; try again when it is done",
        ))
    }
}

impl Drop for FileLock {
    /// Removes the lock file, which may be in a project. It stays on systems that cannot tell a removed file
    /// from a new one.
    fn drop(&mut self) {
        if cfg!(unix) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn open(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Returns whether the file that is open still is the one at its path.
#[cfg(unix)]
fn is_there(lock: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (lock.metadata(), std::fs::symlink_metadata(path)) {
        (Ok(held), Ok(there)) => (held.dev(), held.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

/// Returns whether the file that is open still is the one at its path.
#[cfg(not(unix))]
fn is_there(_: &File, _: &Path) -> bool {
    true
}

/// The file to write: the target of a symbolic link (as people keep their dotfiles), so that the link stays.
pub(crate) fn real(file: &Path) -> PathBuf {
    std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned())
}

/// Replaces a file atomically and keeps its permissions; only the owner can access a new file. For a symbolic
/// link it replaces the target. A file that is not a regular one is an error. The caller has held the
/// `FileLock` since before it read the file.
pub(crate) fn replace_file(path: &Path, bytes: &[u8], _: &FileLock) -> Result<(), ConfigError> {
    let failed = |error: std::io::Error| ConfigError::file(path, error);
    let real = std::fs::canonicalize(path);
    if real.is_err() && path.is_symlink() {
        return Err(failed(std::io::Error::other("it is a broken symbolic link")));
    }
    let path = real.as_deref().unwrap_or(path);
    if std::fs::metadata(path).is_ok_and(|what| !what.is_file()) {
        return Err(failed(std::io::Error::other("it is not a file")));
    }
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".{}.new", std::process::id()));
    let temporary = PathBuf::from(temporary);
    let mut options = OpenOptions::new();
    remove_leftovers(path);
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&temporary).and_then(|mut file| {
        file.write_all(bytes)?;
        if let Ok(before) = std::fs::metadata(path) {
            file.set_permissions(before.permissions())?;
        }
        file.sync_all()?;
        std::fs::rename(&temporary, path)
    });
    written.map_err(|error| {
        let _ = std::fs::remove_file(&temporary);
        failed(error)
    })
}

/// Removes what killed writers left beside the file: `NAME.PID.new`. No living writer has such a file now,
/// because the caller has the lock. One may also have been planted, and a link would lead elsewhere.
fn remove_leftovers(path: &Path) {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return;
    };
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let other = entry.file_name();
        let pid = other
            .to_str()
            .and_then(|other| other.strip_prefix(name)?.strip_prefix('.')?.strip_suffix(".new"));
        if pid.is_some_and(|pid| !pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit())) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn write(path: &Path, bytes: &[u8]) -> Result<(), ConfigError> {
        replace_file(path, bytes, &FileLock::wait(path)?)
    }

    #[test]
    fn nothing_is_left_behind_and_a_planted_lock_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("new/config.yaml");
        write(&file, b"a").expect("it is written");
        let names = || {
            let entries = std::fs::read_dir(folder.path().join("new")).expect("a folder");
            let names = entries.flatten().map(|entry| entry.file_name());
            names.collect::<Vec<_>>()
        };
        assert_eq!(names(), ["config.yaml"]);
        let elsewhere = folder.path().join("elsewhere");
        std::os::unix::fs::symlink(&elsewhere, folder.path().join("new/config.yaml.lock")).expect("a link");
        let refused = write(&file, b"b").expect_err("it is a link");
        assert!(
            refused
                .to_string()
                .contains("config.yaml.lock: it is a symbolic link"),
            "{refused}"
        );
        assert!(!elsewhere.exists());
    }

    #[test]
    fn who_wants_to_write_waits_until_the_one_before_is_done() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("count");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        let turn = FileLock::wait(&file).expect("a turn");
                        let text = std::fs::read_to_string(&file).unwrap_or_default();
                        replace_file(&file, format!("{text}x").as_bytes(), &turn).expect("it is written");
                    }
                });
            }
        });
        assert_eq!(std::fs::read(&file).expect("it is there").len(), 160);
    }

    #[test]
    fn a_link_stays_one_and_a_device_what_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let (real, link) = (folder.path().join("real.yaml"), folder.path().join("config.yaml"));
        std::fs::write(&real, "a").expect("a file");
        std::os::unix::fs::symlink(&real, &link).expect("a link");
        write(&link, b"b").expect("it is written");
        assert!(link.is_symlink());
        assert_eq!(std::fs::read(&real).expect("it is there"), b"b");
        std::fs::remove_file(&real).expect("it goes");
        let nowhere = write(&link, b"c").expect_err("it leads nowhere");
        assert!(link.is_symlink() && nowhere.to_string().contains("broken symbolic link"));
        let folder = write(folder.path(), b"c").expect_err("it is not a file");
        assert!(folder.to_string().contains("it is not a file"), "{folder}");
    }

    #[test]
    fn a_planted_link_where_a_new_file_is_written_is_not_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, elsewhere) = (folder.path().join("config.yaml"), folder.path().join("elsewhere"));
        std::fs::write(&elsewhere, "mine").expect("a file");
        let planted = folder
            .path()
            .join(format!("config.yaml.{}.new", std::process::id()));
        std::os::unix::fs::symlink(&elsewhere, &planted).expect("a link");
        write(&file, b"b").expect("it is written");
        assert_eq!(std::fs::read(&elsewhere).expect("it is there"), b"mine");
        assert_eq!(std::fs::read(&file).expect("it is there"), b"b");
        assert!(!file.is_symlink());
    }

    #[test]
    fn what_killed_writers_left_is_removed_by_the_next_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let kept = [
            "config.yaml.new",
            "config.yaml.x1.new",
            "other.yaml.7.new",
            "config.yaml.7.newer",
        ];
        for name in kept
            .iter()
            .chain(&["config.yaml.7.new", "config.yaml.4194304.new"])
        {
            std::fs::write(at(name), "half").expect("a file");
        }
        write(&at("config.yaml"), b"b").expect("it is written");
        assert!(!at("config.yaml.7.new").exists() && !at("config.yaml.4194304.new").exists());
        assert!(kept.iter().all(|name| at(name).exists()));
    }
}
