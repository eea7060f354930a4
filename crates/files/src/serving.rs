//! The note about the server of a data directory: its address and its process, in the lock file that the
//! server holds. The server writes it, and a program that finds a session open elsewhere reads it.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use crate::FileLock;

/// The name of the lock file, in the data directory.
const FILE: &str = "server.lock";
/// The most bytes of a note that are read.
const NOTE_BYTES: u64 = 300;
/// The longest address.
const ADDRESS_BYTES: usize = 200;

/// The note about the server of a data directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServingNote {
    /// The address of the server: `http` or `https`, a host and a port. It never has a secret in it.
    pub url: String,
    /// The id of its process.
    pub process: u32,
}

impl ServingNote {
    /// Returns the path of the lock file of the server of a data directory.
    pub fn lock_of(data_dir: &Path) -> PathBuf {
        data_dir.join(FILE)
    }

    /// Writes the note into the held lock file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written. Then it has no note, or a part of it.
    pub fn write(&self, lock: &FileLock) -> io::Result<()> {
        let mut file = lock.file();
        file.set_len(0)?;
        file.write_all(format!("{}\n{}\n", self.url, self.process).as_bytes())
    }

    /// Returns the note of the server that serves a data directory now; `None` if none does, or its note is
    /// not valid.
    pub fn of(data_dir: &Path) -> Option<Self> {
        let path = Self::lock_of(data_dir);
        let file = File::open(&path).ok()?;
        if !matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)) {
            return None;
        }
        let text = text_in(&path)?;
        let process = text.lines().nth(1)?.parse().ok()?;
        let url = address_in(&text)?;
        Some(Self { url, process })
    }

    /// Returns the address in the lock file of a data directory, whether it is held or not.
    pub fn address_of(data_dir: &Path) -> Option<String> {
        address_in(&text_in(&Self::lock_of(data_dir))?)
    }
}

fn text_in(path: &Path) -> Option<String> {
    let mut text = String::new();
    let file = File::open(path).ok()?;
    file.take(NOTE_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Returns the address in the first line. It is shown to people and given to `--connect`, so nothing but an
/// address counts: no name of a user, no query, no blank.
fn address_in(text: &str) -> Option<String> {
    let url = text.lines().next()?;
    let (scheme, rest) = url.split_once("://")?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".:-_[]/".contains(&byte);
    let is_address = ["http", "https"].contains(&scheme) && !rest.is_empty() && rest.bytes().all(is_plain);
    (is_address && url.len() <= ADDRESS_BYTES).then(|| url.to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use super::*;

    #[test]
    fn a_note_counts_while_its_server_holds_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(ServingNote::of(folder.path()), None);
        let lock = FileLock::take(&ServingNote::lock_of(folder.path()))
            .unwrap()
            .unwrap();
        let note = ServingNote {
            url: "http://127.0.0.1:5200".into(),
            process: 42,
        };
        note.write(&lock).unwrap();
        assert_eq!(ServingNote::of(folder.path()), Some(note.clone()));
        assert_eq!(ServingNote::address_of(folder.path()), Some(note.url));
        drop(lock);
        // A server that was killed leaves its file.
        std::fs::write(ServingNote::lock_of(folder.path()), "http://127.0.0.1:5200\n42\n").unwrap();
        assert_eq!(ServingNote::of(folder.path()), None);
    }

    #[test]
    fn nothing_but_an_address_is_taken_from_a_note() {
        for right in [
            "http://127.0.0.1:5200",
            "https://[::1]:443",
            "https://agents.example/base",
        ] {
            assert_eq!(address_in(&format!("{right}\n1\n")).as_deref(), Some(right));
        }
        for wrong in [
            "",
            "127.0.0.1:5200",
            "ftp://h",
            "http://",
            "http://me:secret@h",
            "http://h/?token=secret",
            "http://h/\u{1b}[2J",
            "http://h; rm x",
        ] {
            assert_eq!(address_in(&format!("{wrong}\n1\n")), None, "{wrong:?}");
        }
        assert_eq!(address_in(&format!("http://{}\n1\n", "h".repeat(200))), None);
    }
}
