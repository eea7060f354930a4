//! The contents of a workspace's files outside of it, by their hash, and the list of the files. Only the
//! person can read them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::entry_stamp::EntryStamp;

/// A file of the workspace at the last look.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeptFile {
    /// `None` if it has to be read again, because it may change without its stamp changing.
    pub(super) stamp: Option<EntryStamp>,
    pub(super) mode: u32,
    /// Its number in the file system, by which it is known under another name.
    pub(super) inode: u64,
    /// The hash of its content.
    pub(super) hash: String,
}

/// The files and directories of the workspace at the last look.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeptFiles {
    pub(super) files: BTreeMap<String, KeptFile>,
    pub(super) directories: BTreeSet<String>,
}

/// The directory with the contents of one workspace.
#[derive(Debug)]
pub(super) struct ContentStore {
    place: PathBuf,
}

impl ContentStore {
    /// The store of a workspace in a directory.
    pub(super) fn new(directory: &Path, workspace: &Path) -> Self {
        let name = blake3::hash(workspace.as_os_str().as_encoded_bytes()).to_hex();
        Self {
            place: directory.join(&name.as_str()[..32]),
        }
    }

    /// Reads the list of files; an empty one if there is none, or it is damaged: then all files are read
    /// again. Removes contents that no file has any more.
    pub(super) fn open(&self) -> io::Result<KeptFiles> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(self.contents())?;
        let list = fs::read(self.place.join("files.json")).unwrap_or_default();
        let kept: KeptFiles = serde_json::from_slice(&list).unwrap_or_default();
        let used: BTreeSet<&str> = kept.files.values().map(|file| file.hash.as_str()).collect();
        for entry in fs::read_dir(self.contents())?.flatten() {
            let is_used = entry.file_name().to_str().is_some_and(|name| used.contains(name));
            if !is_used {
                // Another process may have removed it.
                let _ = fs::remove_file(entry.path());
            }
        }
        Ok(kept)
    }

    /// Writes the list of files.
    pub(super) fn save(&self, kept: &KeptFiles) -> io::Result<()> {
        let list = serde_json::to_vec(kept)?;
        self.write(&self.place.join("files.json"), &list)
    }

    /// Keeps a content. Returns its hash.
    pub(super) fn put(&self, bytes: &[u8]) -> io::Result<String> {
        let hash = blake3::hash(bytes).to_hex().to_string();
        let path = self.contents().join(&hash);
        if !path.exists() {
            self.write(&path, bytes)?;
        }
        Ok(hash)
    }

    /// Reads a content; `None` if it is gone or damaged.
    pub(super) fn get(&self, hash: &str) -> Option<Vec<u8>> {
        let bytes = fs::read(self.contents().join(hash)).ok()?;
        (blake3::hash(&bytes).to_hex().as_str() == hash).then_some(bytes)
    }

    fn contents(&self) -> PathBuf {
        self.place.join("contents")
    }

    /// Writes a file that nobody sees half of.
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let part = self.place.join(format!("part-{}", std::process::id()));
        let mut options = fs::OpenOptions::new();
        let mut file = options
            .create(true)
            .truncate(true)
            .write(true)
            .mode(0o600)
            .open(&part)?;
        file.write_all(bytes)?;
        drop(file);
        fs::rename(&part, path)
    }
}
