//! The directory of a browser's profile: cookies, caches and downloads of one session, removed with its
//! browser. A killed process leaves its directory; the next browser that is started removes it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The beginning of the names of profiles and of their locks.
const NAME: &str = "agentx-browser-";
/// The end of the name of a lock.
const LOCK: &str = ".lock";
/// The lock under which profiles are created and removed.
const TABLE: &str = "agentx-browser.lock";
/// The number of attempts to remove a directory: processes that end may still write into it.
const ATTEMPTS: usize = 5;

/// The number of the next profile of this process.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Settings of the profile: no connections to pages that nobody opened, no passwords, no questions.
const PREFERENCES: &str = r#"{"net":{"network_prediction_options":2},"credentials_enable_service":false,
"profile":{"password_manager_enabled":false,"default_content_setting_values":{"notifications":2}},
"search":{"suggest_enabled":false},"signin":{"allowed":false},"translate":{"enabled":false}}"#;

/// A directory that is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct BrowserProfile {
    path: PathBuf,
    lock_path: PathBuf,
    /// Locked as long as the profile is used.
    _lock: File,
}

impl BrowserProfile {
    /// Creates a profile below a directory, and removes those that killed processes left there. Blocks.
    ///
    /// # Errors
    /// Returns an error if it cannot be created.
    pub(crate) fn create(parent: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
        let table = lock_file(&parent.join(TABLE))?;
        table.lock()?;
        remove_left(parent);
        let name = format!(
            "{NAME}{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        let lock_path = parent.join(format!("{name}{LOCK}"));
        let lock = lock_file(&lock_path)?;
        lock.lock()?;
        let path = parent.join(name);
        let profile = Self {
            path,
            lock_path,
            _lock: lock,
        };
        DirBuilder::new().mode(0o700).create(&profile.path)?;
        fs::create_dir(profile.downloads())?;
        let settings = profile.path.join("Default");
        fs::create_dir(&settings)?;
        fs::write(settings.join("Preferences"), PREFERENCES)?;
        Ok(profile)
    }

    /// The directory.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The directory of downloads, which are named by their id.
    pub(crate) fn downloads(&self) -> PathBuf {
        self.path.join("downloads")
    }
}

impl Drop for BrowserProfile {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next browser.
        if remove(&self.path) {
            let _ = fs::remove_file(&self.lock_path);
        }
    }
}

fn lock_file(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
}

fn remove(directory: &Path) -> bool {
    (0..ATTEMPTS).any(|_| fs::remove_dir_all(directory).is_ok() || !directory.exists())
}

/// Removes the profiles whose locks nobody holds.
fn remove_left(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(profile) = name
            .to_str()
            .filter(|name| name.starts_with(NAME))
            .and_then(|name| name.strip_suffix(LOCK))
        else {
            continue;
        };
        let is_free = lock_file(&entry.path()).is_ok_and(|lock| lock.try_lock().is_ok());
        if is_free && remove(&parent.join(profile)) {
            // Another process may have removed it already.
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_closed_to_others_and_goes_with_its_browser() {
        use std::os::unix::fs::PermissionsExt as _;
        let parent = tempfile::tempdir().unwrap();
        let profile = BrowserProfile::create(parent.path()).unwrap();
        let path = profile.path().to_owned();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        assert!(profile.downloads().is_dir());
        let second = BrowserProfile::create(parent.path()).unwrap();
        assert!(path.exists(), "a second browser leaves the first one alone");
        drop(profile);
        assert!(!path.exists() && second.path().exists());
    }

    #[test]
    fn what_a_killed_process_left_is_removed() {
        let parent = tempfile::tempdir().unwrap();
        let left = parent.path().join(format!("{NAME}1-0"));
        fs::create_dir_all(left.join("Default")).unwrap();
        fs::write(parent.path().join(format!("{NAME}1-0{LOCK}")), "").unwrap();
        let other = parent.path().join("agentx-other");
        fs::create_dir(&other).unwrap();
        let _profile = BrowserProfile::create(parent.path()).unwrap();
        assert!(!left.exists() && other.exists());
        assert!(!parent.path().join(format!("{NAME}1-0{LOCK}")).exists());
    }
}
