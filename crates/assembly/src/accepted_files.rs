//! The accepted files of a folder: a file that was not accepted, or has changed since, counts as missing.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use agentx_agent_files::{DiskFiles, FileFault, Files};
use agentx_config::{Folder, WORKSPACE_FOLDER};

/// The largest file that is read to find out whether it was accepted.
const MAX_BYTES: usize = 4 << 20;

/// Reads only accepted files of one folder, and all files elsewhere.
pub(crate) struct AcceptedFiles<'a> {
    /// The directory with the folder's definitions.
    pub(crate) below: &'a Path,
    /// The folder, with its accepted files.
    pub(crate) folder: &'a Folder,
}

impl AcceptedFiles<'_> {
    fn admits(&self, file: &Path, bytes: &[u8]) -> bool {
        self.folder.admits(&Path::new(WORKSPACE_FOLDER).join(file), bytes)
    }

    fn is_about(&self, root: &Path) -> bool {
        root == self.below && !self.folder.trusted_by_env
    }
}

impl Files for AcceptedFiles<'_> {
    fn list(&self, root: &Path, folder: &Path) -> Result<Vec<String>, FileFault> {
        let mut names = DiskFiles.list(root, folder)?;
        if self.is_about(root) {
            names.retain(|name| {
                let read = DiskFiles.read(root, &folder.join(name), MAX_BYTES);
                read.is_ok_and(|bytes| self.admits(&folder.join(name), &bytes))
            });
        }
        Ok(names)
    }

    fn folders(&self, root: &Path, folder: &Path) -> Result<Vec<String>, FileFault> {
        DiskFiles.folders(root, folder)
    }

    fn read(&self, root: &Path, file: &Path, limit: usize) -> Result<Vec<u8>, FileFault> {
        let bytes = DiskFiles.read(root, file, limit)?;
        if self.is_about(root) && !self.admits(file, &bytes) {
            let why =
                "it has changed since you trusted it; `agentx config trust` shows the change and trusts it";
            return Err(FileFault::Other(why.to_owned()));
        }
        Ok(bytes)
    }
}

/// Reads the disk, and keeps the bytes that were read below one folder: a person accepts exactly the bytes
/// that they were shown.
pub(crate) struct RecordedFiles<'a> {
    /// The folder.
    pub(crate) below: &'a Path,
    /// Paths below it, and their bytes.
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
        if root == self.below {
            self.read.borrow_mut().insert(file.to_owned(), bytes.clone());
        }
        Ok(bytes)
    }
}
