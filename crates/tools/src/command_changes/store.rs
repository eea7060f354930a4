//! The contents of a workspace's files outside of it, by their hash, and the list of the files. Only the
//! person can read them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::entry_stamp::EntryStamp;
use crate::temporary;

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
    /// again. Removes contents that no file has any more, and what killed processes left half written.
    pub(super) fn open(&self) -> io::Result<KeptFiles> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(self.contents())?;
        temporary::remove_left(fs::File::open(&self.place)?);
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

    /// Writes a file that nobody sees half of. Several toolboxes may write at once.
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let part = self.place.join(temporary::name());
        let written = write_new(&part, bytes).and_then(|()| fs::rename(&part, path));
        if written.is_err() {
            // The first error says more than one of the removal.
            let _ = fs::remove_file(&part);
        }
        written
    }
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    let mut file = options.create_new(true).write(true).mode(0o600).open(path)?;
    temporary::hold(&file);
    file.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    fn store(root: &tempfile::TempDir) -> ContentStore {
        let store = ContentStore::new(root.path(), Path::new("/made-up/ws"));
        store.open().unwrap();
        store
    }

    #[test]
    fn toolboxes_that_write_at_once_do_not_mix_their_contents() {
        let root = tempfile::tempdir().unwrap();
        let stores: Vec<ContentStore> = (0..4).map(|_| store(&root)).collect();
        let start = Barrier::new(stores.len());
        std::thread::scope(|scope| {
            for (writer, store) in stores.iter().enumerate() {
                let start = &start;
                scope.spawn(move || {
                    start.wait();
                    for number in 0..200_usize {
                        let content = format!("{writer} {number} ").repeat(1 + number * 10);
                        let hash = store.put(content.as_bytes()).unwrap();
                        assert_eq!(store.get(&hash), Some(content.into_bytes()));
                        store.save(&KeptFiles::default()).unwrap();
                    }
                });
            }
        });
        let names: Vec<_> = fs::read_dir(&stores[0].place).unwrap().flatten().collect();
        assert_eq!(names.len(), 2, "the contents and the list: {names:?}");
    }

    #[test]
    fn what_a_killed_process_left_half_written_is_removed() {
        let root = tempfile::tempdir().unwrap();
        let first = store(&root);
        // An earlier process with the number of this one: its counter was higher.
        let left = format!(".agentx-{}-{}.tmp", std::process::id(), u64::MAX);
        let (left, used) = (first.place.join(left), first.place.join(temporary::name()));
        for path in [&left, &used] {
            fs::write(path, "half").unwrap();
        }
        store(&root);
        assert!(!left.exists());
        assert!(used.exists(), "a file that this process writes stays");
    }

    #[test]
    fn a_write_that_fails_leaves_nothing() {
        let root = tempfile::tempdir().unwrap();
        let store = store(&root);
        // A file cannot take the name of a directory.
        fs::create_dir(store.place.join("files.json")).unwrap();
        store.save(&KeptFiles::default()).unwrap_err();
        let names: Vec<_> = fs::read_dir(&store.place).unwrap().flatten().collect();
        assert_eq!(names.len(), 2, "{names:?}");
    }
}
