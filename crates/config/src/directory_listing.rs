//! A text that describes all files of a directory, and changes with any of them.
//!
//! A program may run any file, so all count. Ignored files (`node_modules`, `target`) are many, so they count
//! with their sizes and times instead of their bytes; so do files that are too large to read at every start.
//! Only `.git` is left out, because Git changes it by itself.

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use crate::digest::digest;

/// The maximum number of entries to read. A larger directory is asked about in every session.
const MAX_ENTRIES: usize = 200_000;
/// The most files and bytes that are read.
const READ: ListingBounds = ListingBounds {
    files: 20_000,
    bytes: 64 << 20,
};
/// The most files and bytes that a person is shown.
const SHOWN: ListingBounds = ListingBounds {
    files: 500,
    bytes: 4 << 20,
};

/// The contents of a directory.
pub(crate) struct Listing {
    /// Its files below the root of the folder; none if there are too many to be shown.
    pub(crate) files: Vec<(PathBuf, Vec<u8>)>,
    /// A line for each file, and for each directory that Git ignores.
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
    /// Reads a directory below `root`, and those of the folder that its links lead to; both are real paths.
    /// If there are too many entries, the text is another one in every process.
    pub(crate) fn of(directory: &Path, root: &Path) -> Self {
        let mut walk = Walk {
            root,
            open: vec![directory.to_owned()],
            not_ignored: BTreeSet::new(),
            lines: Vec::new(),
            entries: 0,
            read: ListingBounds::default(),
            files: Vec::new(),
        };
        let mut entered: Vec<PathBuf> = Vec::new();
        while let Some(next) = walk.open.pop() {
            if entered.iter().any(|known| next.starts_with(known)) {
                continue;
            }
            walk.not_ignored = not_ignored(&next, root);
            if walk.enter(&next, false).is_none() {
                let text = format!(
                    "more than {MAX_ENTRIES} files, so AgentX does not notice changes and asks in every session\n({})\n",
                    this_process()
                );
                return Self {
                    text,
                    files: Vec::new(),
                };
            }
            entered.push(next);
        }
        let is_shown = walk.read.fits(SHOWN);
        Self {
            files: if is_shown { walk.files } else { Vec::new() },
            text: walk.lines.concat(),
        }
    }
}

/// Returns a name of this process that no other process has.
fn this_process() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        let now = nanoseconds(SystemTime::now());
        format!("session of process {}, {now:x}", std::process::id())
    })
}

fn nanoseconds(time: SystemTime) -> u128 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    since.as_ref().map_or(0, Duration::as_nanos)
}

/// A number of files, and of their bytes.
#[derive(Clone, Copy, Debug, Default)]
struct ListingBounds {
    files: usize,
    bytes: u64,
}

impl ListingBounds {
    fn fits(self, most: Self) -> bool {
        self.files <= most.files && self.bytes <= most.bytes
    }
}

/// The files and directories below a directory that Git does not ignore.
fn not_ignored(directory: &Path, root: &Path) -> BTreeSet<PathBuf> {
    let walk = ignore::WalkBuilder::new(directory)
        .hidden(false)
        .ignore(false)
        .parents(directory != root)
        .git_global(false)
        .git_exclude(false)
        .require_git(false)
        .follow_links(false)
        .filter_entry(|entry| entry.file_name() != ".git")
        .build();
    let entries = walk.flatten().take(MAX_ENTRIES);
    entries.map(ignore::DirEntry::into_path).collect()
}

/// A walk through directories, which notes a line for each file.
struct Walk<'a> {
    root: &'a Path,
    /// Directories that are still to be entered.
    open: Vec<PathBuf>,
    not_ignored: BTreeSet<PathBuf>,
    lines: Vec<String>,
    entries: usize,
    read: ListingBounds,
    /// The files that were read, while they can be shown.
    files: Vec<(PathBuf, Vec<u8>)>,
}

impl Walk<'_> {
    /// Notes the entries of a directory; `None` if there are too many.
    fn enter(&mut self, directory: &Path, is_ignored: bool) -> Option<()> {
        let Ok(entries) = std::fs::read_dir(directory) else {
            self.note(directory, "cannot be read");
            return Some(());
        };
        let mut entries: Vec<std::fs::DirEntry> = entries.flatten().collect();
        entries.retain(|entry| entry.file_name() != ".git");
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            self.entries += 1;
            if self.entries > MAX_ENTRIES {
                return None;
            }
            let path = entry.path();
            let becomes_ignored = !is_ignored && !self.not_ignored.contains(&path);
            match entry.file_type() {
                Ok(kind) if kind.is_symlink() => self.follow(&path, is_ignored || becomes_ignored),
                Ok(kind) if kind.is_dir() && becomes_ignored => self.sum_up(&path)?,
                Ok(kind) if kind.is_dir() => self.enter(&path, is_ignored)?,
                Ok(_) => {
                    let what = self.contents(&path, is_ignored || becomes_ignored);
                    self.note(&path, &what);
                }
                Err(_) => self.note(&path, "cannot be read"),
            }
        }
        Some(())
    }

    /// Notes one line for a directory that Git ignores.
    fn sum_up(&mut self, directory: &Path) -> Option<()> {
        let begin = self.lines.len();
        self.enter(directory, true)?;
        let inside = self.lines.split_off(begin);
        let hash = digest(inside.concat().as_bytes());
        self.note(
            directory,
            &format!("{} files that Git ignores, {hash}", inside.len()),
        );
        Some(())
    }

    /// Notes where a link leads, with the contents of a file there. A directory of the folder is entered
    /// later.
    fn follow(&mut self, link: &Path, is_ignored: bool) {
        let Ok(real) = std::fs::canonicalize(link) else {
            return self.note(link, "leads nowhere");
        };
        let mut what = format!("a link to {real:?}");
        if real.starts_with(self.root) {
            if real.is_dir() {
                self.open.push(real);
            } else {
                what = format!("{what}, {}", self.contents(&real, is_ignored));
            }
        }
        self.note(link, &what);
    }

    /// The hash of a file, or its size and times if it is not to be read.
    fn contents(&mut self, path: &Path, is_ignored: bool) -> String {
        let Ok(found) = std::fs::metadata(path) else {
            return "cannot be read".to_owned();
        };
        if !found.is_file() {
            return "is not a file".to_owned();
        }
        let with_it = ListingBounds {
            files: self.read.files + 1,
            bytes: self.read.bytes + found.len(),
        };
        if is_ignored || !with_it.fits(READ) {
            return size_and_times(&found);
        }
        let Ok(bytes) = std::fs::read(path) else {
            return "cannot be read".to_owned();
        };
        self.read = with_it;
        let hash = digest(&bytes);
        if self.read.fits(SHOWN) {
            let below = path.strip_prefix(self.root).unwrap_or(path).to_owned();
            self.files.push((below, bytes));
        }
        hash
    }

    fn note(&mut self, path: &Path, what: &str) {
        let below = path.strip_prefix(self.root).unwrap_or(path);
        // Escaped, because a name with a line break could stand for the lines of two files.
        self.lines.push(format!("{below:?}  {what}\n"));
    }
}

/// Programs can set the time of the last change of the bytes, but not that of the entry, which Unix also
/// records.
fn size_and_times(found: &Metadata) -> String {
    let changed = found.modified().map(nanoseconds).unwrap_or_default();
    #[cfg(unix)]
    let changed = {
        use std::os::unix::fs::MetadataExt as _;
        format!("{changed}, {}.{}", found.ctime(), found.ctime_nsec())
    };
    format!("{} bytes, {changed}", found.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder {
        root: PathBuf,
        _kept: tempfile::TempDir,
    }

    impl Folder {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let root = std::fs::canonicalize(folder.path()).unwrap();
            for directory in ["out", "srv/node_modules", "core", ".git"] {
                std::fs::create_dir_all(root.join(directory)).unwrap();
            }
            let folder = Self { root, _kept: folder };
            folder.write(".gitignore", "out\nnode_modules\n");
            for file in [
                "a",
                "out/built",
                "srv/index.js",
                "srv/node_modules/x.js",
                "core/c.js",
            ] {
                folder.write(file, "one");
            }
            folder
        }

        fn write(&self, file: &str, text: &str) {
            std::fs::write(self.root.join(file), text).unwrap();
        }

        fn text(&self, directory: &str) -> String {
            Listing::of(&self.root.join(directory), &self.root).text
        }
    }

    #[test]
    fn every_file_counts_but_those_of_git() {
        let folder = Folder::new();
        let whole = folder.text("");
        assert!(
            whole.contains("\"a\"  ") && whole.contains("\"out\"  1 files that Git ignores"),
            "{whole}"
        );
        assert!(!whole.contains("built"), "{whole}");
        folder.write(".git/HEAD", "two");
        assert_eq!(folder.text(""), whole);
        for file in ["a", "out/built", "srv/node_modules/x.js", "new", "out/new"] {
            let before = folder.text("");
            folder.write(file, "changed");
            assert_ne!(folder.text(""), before, "{file}");
        }
    }

    /// `touch -d` does not hide a change of an ignored file.
    #[cfg(unix)]
    #[test]
    fn an_ignored_file_with_its_earlier_time_is_another_one() {
        let folder = Folder::new();
        let before = folder.text("");
        let file = std::fs::File::options()
            .write(true)
            .open(folder.root.join("out/built"))
            .unwrap();
        let time = file.metadata().unwrap().modified().unwrap();
        std::io::Write::write_all(&mut &file, b"two").unwrap();
        file.set_modified(time).unwrap();
        assert_ne!(folder.text(""), before);
    }

    /// Package managers link packages of the same repository into `node_modules`.
    #[cfg(unix)]
    #[test]
    fn directories_that_links_lead_to_are_part_of_a_directory() {
        let folder = Folder::new();
        let before = folder.text("srv");
        folder.write("core/c.js", "two");
        assert_eq!(folder.text("srv"), before);
        std::os::unix::fs::symlink("../../core", folder.root.join("srv/node_modules/core")).unwrap();
        let linked = folder.text("srv");
        folder.write("core/c.js", "three");
        assert_ne!(folder.text("srv"), linked);
    }

    #[cfg(unix)]
    #[test]
    fn a_name_stands_for_one_file_alone() {
        let folder = Folder::new();
        folder.write("core/x\ny  z", "one");
        assert!(
            folder.text("core").contains("\"core/x\\ny  z\"  "),
            "{}",
            folder.text("core")
        );
    }
}
