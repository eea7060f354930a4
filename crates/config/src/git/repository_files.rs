//! Finds the directories of a repository, and reads its files in bound, as Git does.

use std::path::{Path, PathBuf};

/// The largest file of settings, and the largest hook, that is read; Git's own are far smaller.
pub(super) const MAX_BYTES: u64 = 1 << 20;

pub(super) fn has_git(folder: &Path) -> bool {
    folder.join(".git").symlink_metadata().is_ok()
}

/// Returns the repository's directory of a working tree: `.git`, or the directory that a file of this name
/// refers to.
///
/// # Errors
/// Returns the reason why that is unknown.
pub(crate) fn directory(top: &Path) -> Result<PathBuf, String> {
    let git = top.join(".git");
    if git.is_dir() {
        return Ok(git);
    }
    let bytes = readable(&git, MAX_BYTES)?.ok_or(".git is a broken link")?;
    let path = bytes
        .strip_prefix(b"gitdir: ")
        .ok_or(".git has an unknown format")?;
    Ok(top.join(path_of(path.without_line_ends())))
}

/// Returns the directory that all worktrees of a repository share.
pub(super) fn common(git: &Path) -> Result<PathBuf, String> {
    let path = readable(&git.join("commondir"), MAX_BYTES)?;
    Ok(path.map_or_else(
        || git.to_owned(),
        |path| git.join(path_of(path.without_line_ends())),
    ))
}

pub(super) trait GitLine {
    /// Without the ends of lines behind it, which are all that Git takes away.
    fn without_line_ends(&self) -> &[u8];
}

impl GitLine for [u8] {
    fn without_line_ends(&self) -> &[u8] {
        let end = self.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r'));
        &self[..end.map_or(0, |end| end + 1)]
    }
}

/// Returns whether Git surely takes this for a repository, and looks no further upwards: the test of
/// `is_git_directory` in Git's `setup.c`, which judges a link by its target, and requires folders that may be
/// entered.
pub(super) fn is_repository(git: &Path, common: &Path) -> bool {
    let file = git.join("HEAD");
    let is_file = file.symlink_metadata().is_ok_and(|found| found.is_file());
    let head = readable(&file, MAX_BYTES).ok().flatten();
    is_file
        && head.is_some_and(|head| head.starts_with(b"ref: refs/"))
        && common.join("objects/.").is_dir()
        && common.join("refs/.").is_dir()
}

/// The bytes of a file; `None` if there is none.
///
/// # Errors
/// Returns the reason why they cannot be read.
pub(super) fn readable(file: &Path, most: u64) -> Result<Option<Vec<u8>>, String> {
    match std::fs::metadata(file) {
        Ok(found) if !found.is_file() => Err("not a regular file".to_owned()),
        Ok(found) if found.len() > most => Err(format!("{} bytes", found.len())),
        Ok(_) => std::fs::read(file)
            .map(Some)
            .map_err(|error| error.kind().to_string()),
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(error.kind().to_string()),
    }
}

pub(super) fn is_absent(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
    )
}

pub(super) fn is_same(one: &Path, other: &Path) -> bool {
    match (std::fs::canonicalize(one), std::fs::canonicalize(other)) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

/// A path as Git stores it.
#[cfg(unix)]
pub(super) fn path_of(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

/// A path as Git stores it.
#[cfg(not(unix))]
pub(super) fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}

/// Replaces the control characters of a name.
pub(super) fn plain(name: &str) -> String {
    name.replace(|c: char| c.is_control(), "?")
}
