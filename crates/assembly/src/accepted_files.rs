//! The accepted files of a folder: a file that was not accepted, or has changed since, counts as missing.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use agentx_agent_files::{DiskFiles, FileFault, Files};
use agentx_config::Folder;

/// The largest file that is read to find out whether it was accepted.
const MAX_BYTES: usize = 4 << 20;

/// Reads only accepted files of one folder, and all files elsewhere.
pub(crate) struct AcceptedFiles<'a> {
    /// The directories with the folder's definitions.
    pub(crate) below: &'a FolderRoots,
    /// The folder, with its accepted files.
    pub(crate) folder: &'a Folder,
}

impl AcceptedFiles<'_> {
    /// Returns whether a file counts: each of another root than the folder's does.
    fn admits(&self, root: &Path, file: &Path, bytes: &[u8]) -> bool {
        self.folder.trusted_by_env
            || self
                .below
                .path_in_folder(root, file)
                .is_none_or(|path| self.folder.admits(&path, bytes))
    }
}

/// The directories of a folder that hold its definitions.
pub(crate) struct FolderRoots {
    /// The folder.
    pub(crate) folder: PathBuf,
    /// The directories, whole paths below it.
    pub(crate) roots: Vec<PathBuf>,
}

impl FolderRoots {
    /// Returns the path below the folder of a file of a root; `None` if the root is not the folder's.
    fn path_in_folder(&self, root: &Path, file: &Path) -> Option<PathBuf> {
        let known = self.roots.iter().find(|known| *known == root)?;
        Some(known.strip_prefix(&self.folder).ok()?.join(file))
    }
}

impl Files for AcceptedFiles<'_> {
    fn list(&self, root: &Path, folder: &Path) -> Result<Vec<String>, FileFault> {
        let mut names = DiskFiles.list(root, folder)?;
        let is_of_folder = self.below.roots.iter().any(|known| known == root);
        if is_of_folder && !self.folder.trusted_by_env {
            names.retain(|name| {
                let read = DiskFiles.read(root, &folder.join(name), MAX_BYTES);
                read.is_ok_and(|bytes| self.admits(root, &folder.join(name), &bytes))
            });
        }
        Ok(names)
    }

    fn folders(&self, root: &Path, folder: &Path) -> Result<Vec<String>, FileFault> {
        DiskFiles.folders(root, folder)
    }

    fn read(&self, root: &Path, file: &Path, limit: usize) -> Result<Vec<u8>, FileFault> {
        let bytes = DiskFiles.read(root, file, limit)?;
        if !self.admits(root, file, &bytes) {
            let why =
                "it has changed since you trusted it; `agentx config trust` shows the change and trusts it";
            return Err(FileFault::Other(why.to_owned()));
        }
        Ok(bytes)
    }
}

/// Reads the disk, and keeps the bytes of one folder's definitions that were read: a person accepts exactly
/// the bytes that they were shown.
pub(crate) struct RecordedFiles<'a> {
    /// The directories with the folder's definitions.
    pub(crate) below: &'a FolderRoots,
    /// Paths below the folder, and their bytes.
    pub(crate) read: RefCell<BTreeMap<PathBuf, Vec<u8>>>,
}

impl Files for RecordedFiles<'_> {
    fn list(&self, root: &Path, folder: &Path) -> Result<Vec<String>, FileFault> {
        DiskFiles.list(root, folder)
    }

    fn folders(&self, root: &Path, folder: &Path) -> Result<Vec<String>, FileFault> {
        DiskFiles.folders(root, folder)
    }

    fn read(&self, root: &Path, file: &Path, limit: usize) -> Result<Vec<u8>, FileFault> {
        let bytes = DiskFiles.read(root, file, limit)?;
        if let Some(path) = self.below.path_in_folder(root, file) {
            self.read.borrow_mut().insert(path, bytes.clone());
        }
        Ok(bytes)
    }
}
