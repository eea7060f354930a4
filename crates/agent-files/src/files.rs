//! The source of files: the disk, or a map in memory. Nothing is read outside of a root.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The most files of one folder that are read.
pub(crate) const MAX_FILES: usize = 5_000;

/// Reads files below a root. Paths are relative to it and hold no `..`.
pub trait Files {
    /// Returns the names of the files in a folder; none if it does not exist.
    ///
    /// # Errors
    /// Returns an error if it exists and cannot be read.
    fn list(&self, root: &Path, folder: &Path) -> Result<Vec<String>, FileFault>;

    /// Returns the names of the folders in a folder; none if they are unknown.
    ///
    /// # Errors
    /// Returns an error if it exists and cannot be read.
    fn folders(&self, root: &Path, folder: &Path) -> Result<Vec<String>, FileFault> {
        let _ = (root, folder);
        Ok(Vec::new())
    }

    /// Returns a file of at most `limit` bytes.
    ///
    /// # Errors
    /// Returns an error if it is not there, is too large, or leads out of the root.
    fn read(&self, root: &Path, file: &Path, limit: usize) -> Result<Vec<u8>, FileFault>;
}

/// The reason why a file was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileFault {
    /// The file does not exist.
    Missing,
    /// The file is a link that leads out of the root.
    Escapes,
    /// The file is larger than this limit, in bytes.
    TooLarge(usize),
    /// The system's error.
    Other(String),
}

impl fmt::Display for FileFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("there is no such file"),
            Self::Escapes => f.write_str("it is outside its folder"),
            Self::TooLarge(limit) => write!(f, "it is larger than the limit of {limit} bytes"),
            Self::Other(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for FileFault {}

impl From<std::io::Error> for FileFault {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::NotFound => Self::Missing,
            _ => Self::Other(error.to_string()),
        }
    }
}

/// The disk.
#[derive(Clone, Copy, Debug, Default)]
pub struct DiskFiles;

impl DiskFiles {
    /// Returns the real path, which must be below the real root.
    fn real(root: &Path, path: &Path) -> Result<PathBuf, FileFault> {
        let root = root.canonicalize()?;
        let path = root.join(path).canonicalize()?;
        if path.starts_with(&root) {
            Ok(path)
        } else {
            Err(FileFault::Escapes)
        }
    }

    /// Returns the names in a folder: of its folders, or of everything else.
    fn names(root: &Path, folder: &Path, folders: bool) -> Result<Vec<String>, FileFault> {
        let folder = match Self::real(root, folder) {
            Err(FileFault::Missing) => return Ok(Vec::new()),
            folder => folder?,
        };
        let mut names = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() == folders {
                names.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        Ok(names)
    }
}

impl Files for DiskFiles {
    fn list(&self, root: &Path, folder: &Path) -> Result<Vec<String>, FileFault> {
        Self::names(root, folder, false)
    }

    fn folders(&self, root: &Path, folder: &Path) -> Result<Vec<String>, FileFault> {
        Self::names(root, folder, true)
    }

    fn read(&self, root: &Path, file: &Path, limit: usize) -> Result<Vec<u8>, FileFault> {
        let path = Self::real(root, file)?;
        // Reading a pipe would wait forever.
        if !std::fs::metadata(&path)?.is_file() {
            return Err(FileFault::Other("it is not a regular file".into()));
        }
        let mut bytes = Vec::new();
        let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
        std::fs::File::open(path)?.take(most).read_to_end(&mut bytes)?;
        if bytes.len() > limit {
            Err(FileFault::TooLarge(limit))
        } else {
            Ok(bytes)
        }
    }
}

/// Files in memory: paths with their roots, and texts.
#[derive(Clone, Debug, Default)]
pub struct MemoryFiles(pub BTreeMap<PathBuf, Vec<u8>>);

impl<P: Into<PathBuf>, T: Into<Vec<u8>>> FromIterator<(P, T)> for MemoryFiles {
    fn from_iter<I: IntoIterator<Item = (P, T)>>(files: I) -> Self {
        Self(
            files
                .into_iter()
                .map(|(path, text)| (path.into(), text.into()))
                .collect(),
        )
    }
}

impl Files for MemoryFiles {
    fn list(&self, root: &Path, folder: &Path) -> Result<Vec<String>, FileFault> {
        let folder = root.join(folder);
        let inside = self
            .0
            .keys()
            .filter(|path| path.parent() == Some(folder.as_path()));
        Ok(inside
            .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
            .collect())
    }

    fn folders(&self, root: &Path, folder: &Path) -> Result<Vec<String>, FileFault> {
        let folder = root.join(folder);
        let below = self.0.keys().filter_map(|path| {
            let mut parts = path.strip_prefix(&folder).ok()?.components();
            let first = parts.next()?;
            // A folder exists if it contains something.
            parts.next()?;
            Some(first.as_os_str().to_string_lossy().into_owned())
        });
        Ok(below.collect::<BTreeSet<_>>().into_iter().collect())
    }

    fn read(&self, root: &Path, file: &Path, limit: usize) -> Result<Vec<u8>, FileFault> {
        let bytes = self.0.get(&root.join(file)).ok_or(FileFault::Missing)?;
        if bytes.len() > limit {
            Err(FileFault::TooLarge(limit))
        } else {
            Ok(bytes.clone())
        }
    }
}
