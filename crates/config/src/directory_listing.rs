//! A directory of a folder with everything in it, as a text that is another one as soon as a file in it changes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::SystemTime;

use crate::trust::digest;

/// The most files and bytes of one directory that are read. What has more is asked about in every session.
const MOST: ListingBounds = ListingBounds {
    files: 500,
    bytes: 4 << 20,
};

/// The contents of a directory.
pub(crate) struct Listing {
    /// Its files below the root of the folder; none if there are too many.
    pub(crate) files: Vec<(PathBuf, Vec<u8>)>,
    /// A line for each file with its hash. If there are too many files, it is another text in every process.
    pub(crate) text: String,
}

/// The name under which a directory is accepted, below `root`.
pub(crate) fn name_of(directory: &Path, root: &Path) -> PathBuf {
    let below = directory.strip_prefix(root).unwrap_or(directory);
    if below.as_os_str().is_empty() {
        return PathBuf::from(".");
    }
    below.to_owned()
}

impl Listing {
    /// Reads a directory below `root`; both are real paths. `.git` in it is left out: Git changes that itself.
    pub(crate) fn of(directory: &Path, root: &Path) -> Self {
        let mut walk = Walk::new(root, MOST, true);
        let is_whole = walk.enter(directory).is_some();
        Self {
            files: if is_whole {
                std::mem::take(&mut walk.files)
            } else {
                Vec::new()
            },
            text: walk.text(is_whole),
        }
    }
}

/// What no other process says.
fn this_process() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.map_or(0, |now| now.as_nanos());
        format!("session of process {}, {now:x}", std::process::id())
    })
}

/// How much of a directory is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListingBounds {
    /// The most files.
    pub(crate) files: usize,
    /// The most bytes of all files.
    pub(crate) bytes: u64,
}

/// A walk through the files of a directory, which notes a line for each.
pub(crate) struct Walk<'a> {
    root: &'a Path,
    most: ListingBounds,
    /// Whether the bytes of the files are kept.
    keeps: bool,
    files: Vec<(PathBuf, Vec<u8>)>,
    lines: BTreeSet<String>,
    bytes: u64,
    seen: BTreeSet<PathBuf>,
}

impl<'a> Walk<'a> {
    /// Creates a walk below `root`, through at most so many files and bytes.
    pub(crate) fn new(root: &'a Path, most: ListingBounds, keeps: bool) -> Self {
        Self {
            root,
            most,
            keeps,
            files: Vec::new(),
            lines: BTreeSet::new(),
            bytes: 0,
            seen: BTreeSet::new(),
        }
    }

    /// Returns the lines; if the walk ended early, another text in every process.
    pub(crate) fn text(self, is_whole: bool) -> String {
        if is_whole {
            return self.lines.into_iter().map(|line| line + "\n").collect();
        }
        let ListingBounds { files, bytes } = self.most;
        format!(
            "more than {files} files or {bytes} bytes, so AgentX does not notice changes and asks in every session\n({})\n",
            this_process()
        )
    }

    /// Reads a directory and those in it; `None` if there is too much in it.
    pub(crate) fn enter(&mut self, directory: &Path) -> Option<()> {
        if !self.seen.insert(directory.to_owned()) {
            return Some(());
        }
        let Ok(entries) = std::fs::read_dir(directory) else {
            self.note(directory, "cannot be read");
            return Some(());
        };
        for entry in entries {
            let path = entry.ok()?.path();
            if path.file_name().is_some_and(|name| name == ".git") {
                continue;
            }
            self.take(&path)?;
        }
        Some(())
    }

    /// Notes a file, or reads a directory; `None` if there is too much.
    pub(crate) fn take(&mut self, path: &Path) -> Option<()> {
        if self.lines.len() >= self.most.files || self.seen.len() > self.most.files {
            return None;
        }
        let Ok(real) = std::fs::canonicalize(path) else {
            self.note(path, "leads nowhere");
            return Some(());
        };
        if !real.starts_with(self.root) {
            self.note(path, &format!("a link to {}", real.display()));
            return Some(());
        }
        let Ok(found) = std::fs::metadata(&real) else {
            self.note(path, "cannot be read");
            return Some(());
        };
        if found.is_dir() {
            return self.enter(&real);
        }
        if !found.is_file() {
            self.note(path, "is not a file");
            return Some(());
        }
        self.bytes += found.len();
        if self.bytes > self.most.bytes {
            return None;
        }
        match std::fs::read(&real) {
            Ok(bytes) => {
                self.note(path, &digest(&bytes));
                let below = real.strip_prefix(self.root).unwrap_or(&real).to_owned();
                if self.keeps && self.files.iter().all(|(known, _)| *known != below) {
                    self.files.push((below, bytes));
                }
            }
            Err(_) => self.note(path, "cannot be read"),
        }
        Some(())
    }

    fn note(&mut self, path: &Path, what: &str) {
        let below = path.strip_prefix(self.root).unwrap_or(path);
        self.lines.insert(format!("{}  {what}", below.display()));
    }
}
