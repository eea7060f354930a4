//! Opens files that a person names on a command line. A named pipe is refused, because opening it would block
//! until a process writes into it.

use std::fs::File;
use std::io;
use std::path::Path;

/// The places of files that a shell has already opened for the program: `<(COMMAND)`, `/dev/stdin`.
const OPEN_ALREADY: [&str; 3] = ["/dev/fd/", "/proc/self/fd/", "/dev/stdin"];

/// Opens a file to read it.
///
/// # Errors
/// Returns an error if it cannot be opened, or is not a regular file. A file that the shell itself has opened
/// may be a pipe, since a process already writes into it.
pub fn open_named(path: &Path) -> io::Result<File> {
    let is_open_already = OPEN_ALREADY
        .iter()
        .any(|place| path.to_string_lossy().starts_with(place));
    let kind = std::fs::metadata(path)?;
    if kind.is_file() || is_open_already {
        return File::open(path);
    }
    Err(io::Error::other(if kind.is_dir() {
        "it is a directory"
    } else {
        "it is not a regular file"
    }))
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot start fails")]

    use std::io::Read as _;

    use super::*;

    #[test]
    fn only_regular_files_and_what_is_open_already_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let (file, pipe) = (dir.path().join("file"), dir.path().join("pipe"));
        std::fs::write(&file, "text").unwrap();
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let mut text = String::new();
        open_named(&file).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "text");
        let said = |path: &Path| open_named(path).unwrap_err().to_string();
        assert_eq!(said(&pipe), "it is not a regular file");
        assert_eq!(said(Path::new("/dev/zero")), "it is not a regular file");
        assert_eq!(said(dir.path()), "it is a directory");
    }
}
