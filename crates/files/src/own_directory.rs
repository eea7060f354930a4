//! The data directory: a directory of its owner alone. An older program, a backup or a person may have made
//! it with a wider mode, so it is tightened each time that it is opened for writing, or refused.

use std::io;
use std::path::Path;

use crate::make_private_directory;
#[cfg(unix)]
use crate::owner::other_than;

/// The access of other users.
#[cfg(unix)]
const OTHERS: u32 = 0o077;
/// The right of other users to make, replace and remove files.
#[cfg(unix)]
const OTHERS_WRITE: u32 = 0o022;
/// The bit of a directory that several users share: everybody removes only their own files.
#[cfg(unix)]
const STICKY: u32 = 0o1000;

/// Makes a directory that only its owner can open, and its missing parents. If it exists and other users have
/// access to it, that is taken from them; then the mode before is returned.
///
/// The mode stays as it is if the directory is a symbolic link, belongs to another user, is sticky (as `/tmp`
/// is), or contains one of the paths in `used` (the home, the workspace), which other programs use too.
///
/// ```
/// # fn main() -> std::io::Result<()> {
/// # let place = tempfile::tempdir()?;
/// # let data_dir = place.path().join("data");
/// assert_eq!(agentx_files::make_own_directory(&data_dir, &[])?, None, "it is new");
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Returns the error of the system. Returns an error that says what to do if others can change files in the
/// directory and its mode has to stay, or if one of the files that they could put there is not the owner's.
pub fn make_own_directory(path: &Path, used: &[&Path]) -> io::Result<Option<u32>> {
    make_private_directory(path)?;
    tighten(path, used)
}

/// Does nothing on this system, which has no modes.
#[cfg(not(unix))]
fn tighten(_: &Path, _: &[&Path]) -> io::Result<Option<u32>> {
    Ok(None)
}

#[cfg(unix)]
fn tighten(path: &Path, used: &[&Path]) -> io::Result<Option<u32>> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = path.metadata()?.permissions().mode() & 0o7777;
    if mode & OTHERS == 0 {
        return Ok(None);
    }
    let others_write = mode & OTHERS_WRITE != 0;
    let tightened = match reason_to_keep(path, used)? {
        Some(why) => Err(format!(
            "{why}; choose a directory that nothing else uses, such as {}",
            path.join("agentx").display()
        )),
        None => match foreign_file(path, others_write)? {
            Some(name) => Err(format!(
                "{name} in it belongs to another user; check what is in it, then `chmod 700` it"
            )),
            None => without_others(path).map_err(|error| error.to_string()),
        },
    };
    match tightened {
        Ok(()) => Ok(Some(mode)),
        // Its files are closed to others one by one.
        Err(_) if !others_write => Ok(None),
        Err(why) => Err(io::Error::other(format!(
            "others can change files in it (mode {mode:04o}), and AgentX does not change that: {why}"
        ))),
    }
}

/// Returns why the mode of a directory stays as it is; `None` if it is the owner's own directory.
#[cfg(unix)]
fn reason_to_keep(path: &Path, used: &[&Path]) -> io::Result<Option<&'static str>> {
    use std::os::unix::fs::MetadataExt as _;
    let found = path.symlink_metadata()?;
    if found.is_symlink() {
        return Ok(Some("it is a symbolic link"));
    }
    if found.uid() != nix::unistd::geteuid().as_raw() {
        return Ok(Some("it belongs to another user"));
    }
    if found.mode() & STICKY != 0 {
        return Ok(Some("several users share it, as its sticky bit says"));
    }
    let real = path.canonicalize()?;
    let is_inside = |used: &&Path| used.canonicalize().is_ok_and(|used| used.starts_with(&real));
    Ok(used
        .iter()
        .any(is_inside)
        .then_some("your home or the workspace is in it"))
}

/// Returns the name of a file in a directory that neither belongs to the user of this process nor to root.
/// There is none if others cannot write to it.
#[cfg(unix)]
fn foreign_file(directory: &Path, others_write: bool) -> io::Result<Option<String>> {
    if !others_write {
        return Ok(None);
    }
    file_of_another_user(directory, nix::unistd::geteuid().as_raw())
}

#[cfg(unix)]
fn file_of_another_user(directory: &Path, own: u32) -> io::Result<Option<String>> {
    use std::os::unix::fs::MetadataExt as _;
    for entry in directory.read_dir()? {
        let entry = entry?;
        // A file may be gone since.
        let Ok(found) = entry.path().symlink_metadata() else {
            continue;
        };
        if other_than(own, found.uid()).is_some() {
            return Ok(Some(entry.file_name().to_string_lossy().into_owned()));
        }
    }
    Ok(None)
}

/// Removes the access of other users to a directory that is not a link.
#[cfg(unix)]
fn without_others(path: &Path) -> io::Result<()> {
    use nix::fcntl::OFlag;
    use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
    let directory = std::fs::OpenOptions::new()
        .read(true)
        .custom_flags((OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW).bits())
        .open(path)?;
    let mode = || Ok::<u32, io::Error>(directory.metadata()?.permissions().mode() & 0o7777);
    directory.set_permissions(std::fs::Permissions::from_mode(mode()? & !OTHERS))?;
    // Some file systems accept a mode and keep their own.
    match mode()? & OTHERS {
        0 => Ok(()),
        _ => Err(io::Error::other("its file system keeps its own modes")),
    }
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    use std::path::PathBuf;

    use super::*;

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().permissions().mode() & 0o7777
    }

    fn set_mode(path: &Path, mode: u32) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    /// A data directory with this mode and a file, in a directory of its own.
    fn data_dir(mode: u32) -> (tempfile::TempDir, PathBuf) {
        let place = tempfile::tempdir().unwrap();
        let data = place.path().join("data");
        std::fs::create_dir(&data).unwrap();
        std::fs::write(data.join("file"), "kept").unwrap();
        set_mode(&data, mode);
        (place, data)
    }

    #[test]
    fn a_directory_with_a_wide_mode_is_tightened() {
        for (before, after, told) in [
            (0o700, 0o700, None),
            (0o500, 0o500, None),
            (0o755, 0o700, Some(0o755)),
            (0o750, 0o700, Some(0o750)),
            (0o711, 0o700, Some(0o711)),
            (0o775, 0o700, Some(0o775)),
            (0o777, 0o700, Some(0o777)),
            (0o2770, 0o2700, Some(0o2770)),
        ] {
            let (_place, data) = data_dir(before);
            assert_eq!(make_own_directory(&data, &[]).unwrap(), told, "{before:o}");
            assert_eq!(mode(&data), after, "{before:o}");
            assert_eq!(make_own_directory(&data, &[]).unwrap(), None, "{before:o}");
        }
        let place = tempfile::tempdir().unwrap();
        let new = place.path().join("a/data");
        assert_eq!(make_own_directory(&new, &[]).unwrap(), None);
        assert_eq!(mode(&new), 0o700);
    }

    #[test]
    fn a_directory_that_others_use_too_keeps_its_mode_or_is_refused() {
        // The mode, what makes it a shared one, and the words of the refusal.
        let refused = |data: &Path, used: &[&Path], words: &str| {
            let before = mode(data);
            let error = make_own_directory(data, used).unwrap_err().to_string();
            assert!(
                error.contains(words) && error.contains("choose a directory"),
                "{error}"
            );
            assert_eq!(mode(data), before);
        };
        let (_place, data) = data_dir(0o1777);
        refused(&data, &[], "sticky");
        let (place, data) = data_dir(0o755);
        let home = data.join("home/ada");
        std::fs::create_dir_all(&home).unwrap();
        for used in [&*home, &*data] {
            assert_eq!(make_own_directory(&data, &[used]).unwrap(), None);
            assert_eq!(mode(&data), 0o755);
            set_mode(&data, 0o775);
            refused(&data, &[used], "your home or the workspace is in it");
            set_mode(&data, 0o755);
        }
        let link = place.path().join("link");
        std::os::unix::fs::symlink(&data, &link).unwrap();
        assert_eq!(make_own_directory(&link, &[]).unwrap(), None);
        assert_eq!(mode(&data), 0o755);
        set_mode(&data, 0o777);
        refused(&link, &[], "it is a symbolic link");
        // Another place in the same directory, and one that is not there, say nothing about it.
        let other = place.path().join("other");
        assert_eq!(
            make_own_directory(&data, &[place.path(), &other]).unwrap(),
            Some(0o777)
        );
        assert_eq!(mode(&data), 0o700);
    }

    #[test]
    fn a_file_of_another_user_in_an_open_directory_is_found() {
        let (_place, data) = data_dir(0o777);
        let own = data.metadata().unwrap().uid();
        assert_eq!(file_of_another_user(&data, own).unwrap(), None);
        // For this user, the file belongs to somebody else, unless it is root's.
        let found = file_of_another_user(&data, own + 1).unwrap();
        assert_eq!(found, (own != 0).then(|| "file".to_owned()));
    }
}
