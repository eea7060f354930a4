//! Reads, changes and replaces a file with one writer at a time, so that no decision of a person is lost.

use std::path::{Path, PathBuf};
use std::time::Duration;

use agentx_files::{FileLock, ReplaceOptions, make_private_directory, replace_locked};

use crate::mistake::ConfigError;
use crate::symlinks::refuse_links;

/// The time to wait for another writer.
const PATIENCE: Duration = Duration::from_secs(10);

/// A file that is locked for reading, changing and replacing it. Other writers wait, in this process and in
/// others, until this value is dropped, or the process ends. A symbolic link (as people keep their dotfiles)
/// stays one, and its target is replaced.
pub(crate) struct LockedFile {
    /// The file as the person knows it, for errors.
    named: PathBuf,
    /// The target of a symbolic link, or the file itself.
    real: PathBuf,
    lock: FileLock,
}

impl LockedFile {
    /// Waits for the lock on `file`, and creates its directory, for its owner alone, if necessary. The file
    /// need not exist.
    ///
    /// # Errors
    /// Returns an error if another writer is not done in time, or the directory cannot be written.
    pub(crate) fn open(file: &Path) -> Result<Self, ConfigError> {
        let real = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
        let path = FileLock::path_for(&real);
        if let Some(folder) = path.parent() {
            make_private_directory(folder).map_err(|error| ConfigError::writing(folder, &error))?;
        }
        let lock = FileLock::wait(&path, PATIENCE).map_err(|error| ConfigError::writing(&path, &error))?;
        let busy = "other programs have been changing it for ten seconds; try again when they are done";
        let lock = lock.ok_or_else(|| ConfigError::file(file, busy))?;
        let named = file.to_owned();
        Ok(Self { named, real, lock })
    }

    /// Opens a file as [`LockedFile::open`] does. If it is below the folder `root`, it may not be reached
    /// through a link of the folder.
    ///
    /// # Errors
    /// Returns an error that names such a link, or that of [`LockedFile::open`].
    pub(crate) fn open_below(root: &Path, file: &Path) -> Result<Self, ConfigError> {
        refuse_links(root, file)?;
        // A directory of a project is as open as the project.
        if let Some(folder) = file.parent().filter(|folder| folder.starts_with(root)) {
            std::fs::create_dir_all(folder).map_err(|error| ConfigError::file(folder, error))?;
        }
        Self::open(file)
    }

    /// The text of the file; `None` if there is no file.
    ///
    /// # Errors
    /// Returns an error if it cannot be read, or is not text.
    pub(crate) fn text(&self) -> Result<Option<String>, ConfigError> {
        match std::fs::read_to_string(&self.real) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(ConfigError::file(&self.named, error)),
        }
    }

    /// Replaces the file atomically and keeps its permissions; only the owner can access a new file.
    ///
    /// # Errors
    /// Returns an error if it cannot be written, or is not a regular file.
    pub(crate) fn replace(&self, bytes: &[u8]) -> Result<(), ConfigError> {
        self.replace_part(&self.named, bytes)
    }

    /// Removes the file.
    ///
    /// # Errors
    /// Returns an error if it cannot be removed.
    pub(crate) fn remove(&self) -> Result<(), ConfigError> {
        std::fs::remove_file(&self.real).map_err(|error| ConfigError::writing(&self.named, &error))
    }

    /// Replaces another file that changes only while this one is locked.
    ///
    /// # Errors
    /// Returns the errors of [`LockedFile::replace`].
    pub(crate) fn replace_part(&self, file: &Path, bytes: &[u8]) -> Result<(), ConfigError> {
        let options = ReplaceOptions {
            follow_link: true,
            keep_permissions: true,
            durable: true,
            ..ReplaceOptions::default()
        };
        replace_locked(file, bytes, options, &self.lock).map_err(|error| ConfigError::writing(file, &error))
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn write(path: &Path, bytes: &[u8]) -> Result<(), ConfigError> {
        LockedFile::open(path)?.replace(bytes)
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
        let made = folder.path().join("new").metadata().expect("a folder");
        assert_eq!(made.permissions().mode() & 0o777, 0o700);
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
                        let locked = LockedFile::open(&file).expect("a turn");
                        let text = locked.text().expect("it is text").unwrap_or_default();
                        locked
                            .replace(format!("{text}x").as_bytes())
                            .expect("it is written");
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
}
