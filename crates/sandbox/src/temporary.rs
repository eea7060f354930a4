//! Directories for temporary files: each session has one in each workspace, below a directory that belongs to
//! this person alone. A process locks those that it uses and removes them at its end. A process that was
//! killed leaves them, and a later process removes what is old and unlocked.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata, TryLockError};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use crate::command_place::CommandPlace;
use crate::step::SandboxError;

/// The time without a change after which an unlocked directory counts as left: a command that outlived its
/// program may still use a younger one.
const LEFT_FOR: Duration = Duration::from_secs(24 * 3600);
/// The most directories that are looked at for ones that were left.
const MOST_LOOKED_AT: usize = 1_000;
/// The most directories that one process removes for others.
const MOST_REMOVED: usize = 16;
/// The most directories that a process keeps locked, each by an open file; a server has more sessions.
const MOST_LOCKED: usize = 256;
/// The number of attempts to lock a directory that another process removes at this moment.
const ATTEMPTS: u32 = 20;
/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(3);
/// The beginning of the names of directories that are being removed.
const LEFT: &str = "left-";
/// The length of the hash at the end of each name.
const HASH_DIGITS: usize = 16;

/// The directories that this process uses, each with the file whose lock tells that to others, if it is
/// locked.
static IN_USE: Mutex<BTreeMap<PathBuf, Option<File>>> = Mutex::new(BTreeMap::new());
/// The thread that removes what others left.
static REMOVING: Mutex<Option<JoinHandle<()>>> = Mutex::new(None);
/// Starts that thread once.
static REMOVAL: Once = Once::new();

/// Returns the path of the directory for this place. It is short, because sockets in it have short paths.
pub(crate) fn directory_of(place: CommandPlace<'_>) -> Result<PathBuf, SandboxError> {
    let above = std::env::temp_dir();
    let above = fs::canonicalize(&above).map_err(|error| SandboxError::path(&above, error))?;
    let mut hasher = DefaultHasher::new();
    place.workspace.hash(&mut hasher);
    place.session.hash(&mut hasher);
    let name = format!("{:016x}", hasher.finish());
    Ok(above.join(format!("agentx-{}", user())).join(name))
}

/// Makes a directory and locks it until this process ends or calls [`remove_temporary_directories`]. The
/// first call also starts to remove what killed processes left.
pub(crate) fn occupy(directory: &Path) -> Result<(), SandboxError> {
    let mut in_use = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
    let is_ready = match in_use.get(directory) {
        Some(Some(file)) => is_at(file, directory),
        Some(None) => make(directory).is_ok(),
        None => false,
    };
    if !is_ready {
        let file = locked(directory)?;
        let file = (in_use.len() < MOST_LOCKED).then_some(file);
        in_use.insert(directory.to_owned(), file);
    }
    if let Some(above) = directory.parent().map(Path::to_owned) {
        REMOVAL.call_once(|| {
            let thread = std::thread::Builder::new().name("temporary files".into());
            let started = thread.spawn(move || remove_left(&above, SystemTime::now()));
            *REMOVING.lock().unwrap_or_else(PoisonError::into_inner) = started.ok();
        });
    }
    Ok(())
}

/// Removes the directories for temporary files that this process made for commands in a sandbox, and waits
/// until those are removed that killed processes left. Call it at the end of the program, when no command
/// runs any more; a directory that another process uses too stays.
///
/// What cannot be removed stays as well: a later process tries again.
pub fn remove_temporary_directories() {
    let in_use = std::mem::take(&mut *IN_USE.lock().unwrap_or_else(PoisonError::into_inner));
    for (directory, file) in in_use {
        if let Some(file) = file.or_else(|| File::open(&directory).ok()) {
            remove(&directory, file);
        }
    }
    let removing = REMOVING.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(removing) = removing {
        // A thread that panicked has removed nothing more.
        let _ = removing.join();
    }
}

/// Makes a directory if it is not there, and locks it for everybody who uses it.
pub(crate) fn locked(directory: &Path) -> Result<File, SandboxError> {
    for _ in 0..ATTEMPTS {
        make(directory)?;
        // Another process may remove it between any two of these lines.
        if let Ok(file) = File::open(directory) {
            match file.try_lock_shared() {
                Ok(()) if is_at(&file, directory) => return Ok(file),
                Ok(()) | Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(SandboxError::path(directory, error)),
            }
        }
        std::thread::sleep(PAUSE);
    }
    Err(SandboxError::path(
        directory,
        "another program keeps it locked; end that program, or remove the directory",
    ))
}

/// Removes a directory unless another process has locked it.
fn remove(directory: &Path, file: File) {
    let is_free = file.unlock().is_ok() && file.try_lock().is_ok() && is_at(&file, directory);
    let Some(renamed) = path_of_removal(directory).filter(|_| is_free) else {
        return;
    };
    // Renamed first: whoever wants it meanwhile makes a new one and does not wait.
    if renamed == directory || fs::rename(directory, &renamed).is_ok() {
        // A later process tries again.
        let _ = fs::remove_dir_all(&renamed);
    }
    drop(file);
}

/// Returns the path at which a directory is removed. One whose removal failed before keeps its name, so that
/// names do not grow.
fn path_of_removal(directory: &Path) -> Option<PathBuf> {
    let name = directory.file_name()?;
    if name.as_encoded_bytes().starts_with(LEFT.as_bytes()) {
        return Some(directory.to_owned());
    }
    let mut other_name = std::ffi::OsString::from(format!("{LEFT}{}-", std::process::id()));
    other_name.push(name);
    Some(directory.with_file_name(other_name))
}

/// Removes directories of this person that no process uses, if nothing in them changed for long.
fn remove_left(above: &Path, now: SystemTime) {
    let Ok(entries) = fs::read_dir(above) else { return };
    let is_left = |path: &PathBuf| {
        let Ok(about) = fs::symlink_metadata(path) else {
            return false;
        };
        let since = about.modified().ok().and_then(|at| now.duration_since(at).ok());
        is_own(&about) && since.is_some_and(|since| since >= LEFT_FOR)
    };
    let entries = entries.take(MOST_LOOKED_AT).flatten();
    let named = entries.filter(|entry| is_named_by_us(&entry.file_name().to_string_lossy()));
    let left = named.map(|entry| entry.path()).filter(is_left);
    for directory in left.take(MOST_REMOVED) {
        if let Ok(file) = File::open(&directory) {
            remove(&directory, file);
        }
    }
}

/// Returns whether a name ends with a hash, as those of these directories do.
fn is_named_by_us(name: &str) -> bool {
    let hash = name.rsplit('-').next().unwrap_or_default();
    hash.len() == HASH_DIGITS && hash.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// Makes the directory for temporary files, for this person alone. A directory that somebody else made there
/// is refused.
#[cfg(target_os = "linux")]
pub(crate) fn make(directory: &Path) -> Result<(), SandboxError> {
    use std::os::unix::fs::DirBuilderExt as _;
    // The directory of this person, and in it that of the session.
    for level in directory.parent().into_iter().chain([directory]) {
        let failed = |error| SandboxError::path(level, error);
        match fs::DirBuilder::new().mode(0o700).create(level) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(error)),
        }
        if !is_own(&fs::symlink_metadata(level).map_err(failed)?) {
            return Err(SandboxError::path(
                level,
                "it is not a directory of this user alone",
            ));
        }
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn make(directory: &Path) -> Result<(), SandboxError> {
    Err(SandboxError::path(directory, "the sandbox works only on Linux"))
}

/// Returns whether this is a directory of this person that nobody else may write.
#[cfg(target_os = "linux")]
fn is_own(about: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    about.is_dir() && about.uid() == nix::unistd::Uid::effective().as_raw() && about.mode() & 0o022 == 0
}

#[cfg(not(target_os = "linux"))]
fn is_own(_: &Metadata) -> bool {
    false
}

/// Returns whether an open directory is still the one at a path.
#[cfg(target_os = "linux")]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let of = |about: Metadata| (about.dev(), about.ino());
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(open), Ok(there)) => of(open) == of(there),
        _ => false,
    }
}

#[cfg(not(target_os = "linux"))]
fn is_at(_: &File, _: &Path) -> bool {
    false
}

#[cfg(target_os = "linux")]
fn user() -> String {
    nix::unistd::Uid::effective().to_string()
}

#[cfg(not(target_os = "linux"))]
fn user() -> String {
    "user".into()
}

#[cfg(all(test, target_os = "linux"))]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    /// A directory of a session with a file in it, below one of this person.
    fn made(above: &Path, name: &str) -> PathBuf {
        let directory = above.join(name);
        make(&directory).unwrap();
        fs::write(directory.join("file"), "x").unwrap();
        directory
    }

    #[test]
    fn commands_in_two_workspaces_share_no_temporary_files() {
        let of = |workspace: &str, session| {
            let workspace = Path::new(workspace);
            directory_of(CommandPlace { workspace, session }).unwrap()
        };
        assert_eq!(of("/a", "by-hand"), of("/a", "by-hand"));
        assert_ne!(of("/a", "by-hand"), of("/b", "by-hand"));
        assert_ne!(of("/a", "by-hand"), of("/a", "other"));
        let name = of("/a", "other").file_name().unwrap().to_owned();
        assert!(is_named_by_us(name.to_str().unwrap()), "{}", name.display());
    }

    #[test]
    fn a_directory_is_removed_unless_another_process_uses_it() {
        let root = tempfile::tempdir().unwrap();
        let above = root.path().join("agentx-me");
        let directory = made(&above, "ses-0123456789abcdef");
        // Each open file has a lock of its own, as another process has.
        let other = locked(&directory).unwrap();
        remove(&directory, locked(&directory).unwrap());
        assert!(directory.join("file").exists(), "another one uses it");
        drop(other);
        let last = locked(&directory).unwrap();
        remove(&directory, last);
        assert_eq!(fs::read_dir(&above).unwrap().count(), 0);
    }

    #[test]
    fn what_killed_processes_left_is_removed_when_it_is_old() {
        let root = tempfile::tempdir().unwrap();
        let above = root.path().join("agentx-me");
        let left = made(&above, "ses_1-0123456789abcdef");
        let half = made(&above, "left-7-0123456789abcdef");
        let used = made(&above, "0123456789abcdef");
        let foreign = made(&above, "notes");
        let _user = locked(&used).unwrap();
        fs::write(above.join("fedcba9876543210"), "a file").unwrap();
        std::os::unix::fs::symlink(root.path(), above.join("0000000000000000")).unwrap();
        let now = SystemTime::now();
        remove_left(&above, now);
        assert!(left.exists(), "it is young");
        remove_left(&above, now + LEFT_FOR + Duration::from_secs(60));
        assert!(!left.exists() && !half.exists());
        assert!(used.exists() && foreign.exists() && root.path().exists());
        assert_eq!(fs::read_dir(&above).unwrap().count(), 4);
    }

    #[test]
    fn the_name_of_a_directory_grows_once_however_often_its_removal_fails() {
        let first = path_of_removal(Path::new("/t/0123456789abcdef")).unwrap();
        let name = first.file_name().unwrap().to_str().unwrap();
        assert!(name.starts_with(LEFT) && is_named_by_us(name), "{name}");
        assert_eq!(path_of_removal(&first), Some(first.clone()));
    }

    #[test]
    fn a_directory_that_others_may_write_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let root = tempfile::tempdir().unwrap();
        let directory = made(&root.path().join("agentx-me"), "0123456789abcdef");
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o777)).unwrap();
        let refused = locked(&directory).unwrap_err().to_string();
        assert!(refused.contains("of this user alone"), "{refused}");
    }
}
