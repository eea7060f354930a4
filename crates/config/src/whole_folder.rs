//! The files of a folder as one text, for a command line that may run any of them.
//!
//! Git changes `.git` by itself, and programs fill the directories that Git ignores, so both are left out; an ignored
//! file that the repository tracks all the same comes with a pull, and counts.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::directory_listing::{ListingBounds, Walk};

/// The most files and bytes of a folder that are read. What has more is asked about in every session.
const MOST: ListingBounds = ListingBounds {
    files: 20_000,
    bytes: 64 << 20,
};
/// The longest index of Git that is read.
const MAX_INDEX_BYTES: u64 = 64 << 20;

/// Returns a line with a hash for each file; if there are too many, another text in every process.
pub(crate) fn text_of(root: &Path) -> String {
    let mut walk = Walk::new(root, MOST, false);
    let read = match tracked(root) {
        // Without the index nobody knows what an ignored directory hides.
        None => walk.enter(root),
        Some(tracked) => files_of(root, &tracked)
            .iter()
            .try_for_each(|path| walk.take(path)),
    };
    walk.text(read.is_some())
}

/// The files that Git does not ignore, and those that it tracks.
fn files_of(root: &Path, tracked: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    let mut files: BTreeSet<PathBuf> = tracked.iter().map(|path| root.join(path)).collect();
    files.retain(|path| path.symlink_metadata().is_ok());
    let walk = ignore::WalkBuilder::new(root)
        .hidden(false)
        .ignore(false)
        .parents(false)
        .git_global(false)
        .git_exclude(false)
        .require_git(false)
        .follow_links(false)
        .filter_entry(|entry| entry.file_name() != ".git")
        .build();
    let found = walk
        .flatten()
        .filter(|entry| entry.file_type().is_some_and(|kind| !kind.is_dir()));
    files.extend(found.map(ignore::DirEntry::into_path).take(MOST.files + 1));
    files
}

/// The paths in the index of the repository; `None` if there is no index that can be read.
fn tracked(root: &Path) -> Option<BTreeSet<PathBuf>> {
    let git = root.join(".git");
    let git = match std::fs::read_to_string(&git) {
        Ok(text) => root.join(text.strip_prefix("gitdir:")?.trim()),
        Err(_) => git,
    };
    let index = git.join("index");
    let is_short = std::fs::metadata(&index).is_ok_and(|found| found.len() <= MAX_INDEX_BYTES);
    paths_in(&std::fs::read(index).ok().filter(|_| is_short)?)
}

/// Reads the paths in an index of version 2, 3 or 4
/// (<https://man7.org/linux/man-pages/man5/gitformat-index.5.html>); `None` for another form.
fn paths_in(index: &[u8]) -> Option<BTreeSet<PathBuf>> {
    /// The bytes of an entry before its flags, with a hash of 20 bytes.
    const BEFORE_FLAGS: usize = 60;
    let number = |at: usize| Some(u32::from_be_bytes(index.get(at..at + 4)?.try_into().ok()?));
    let version = number(4).filter(|version| index.starts_with(b"DIRC") && (2..=4).contains(version))?;
    let (mut at, mut name) = (12_usize, Vec::new());
    let mut paths = BTreeSet::new();
    for _ in 0..number(8)? {
        let flags = index.get(at + BEFORE_FLAGS..at + BEFORE_FLAGS + 2)?;
        let flags = u16::from_be_bytes([flags[0], flags[1]]);
        let mut begin = at + BEFORE_FLAGS + if flags & 0x4000 == 0 { 2 } else { 4 };
        if version == 4 {
            let (strip, after) = offset(index, begin)?;
            name.truncate(name.len().checked_sub(strip)?);
            begin = after;
        } else {
            name.clear();
        }
        let end = begin + index.get(begin..)?.iter().position(|byte| *byte == 0)?;
        name.extend_from_slice(&index[begin..end]);
        let length = usize::from(flags & 0x0fff);
        if length != 0x0fff && length != name.len() {
            return None;
        }
        at = if version == 4 {
            end + 1
        } else {
            at + (end - at) / 8 * 8 + 8
        };
        paths.insert(PathBuf::from(std::str::from_utf8(&name).ok()?));
    }
    // A split index keeps most paths in another file.
    let is_split = index.get(at..at + 4)? == b"link";
    (!is_split).then_some(paths)
}

/// A number of the form that Git's packs use for offsets, and the place behind it.
fn offset(bytes: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let mut byte = *bytes.get(at)?;
    let mut value = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        at += 1;
        byte = *bytes.get(at)?;
        value = value.checked_add(1)?.checked_mul(128)? + usize::from(byte & 0x7f);
    }
    Some((value, at + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An index with these names; made up after the documented form.
    fn index(version: u32, names: &[(usize, &str, usize)]) -> Vec<u8> {
        let mut bytes = b"DIRC".to_vec();
        bytes.extend(version.to_be_bytes());
        bytes.extend(u32::try_from(names.len()).unwrap().to_be_bytes());
        for (strip, name, length) in names {
            let begin = bytes.len();
            bytes.extend([7; 60]);
            bytes.extend(u16::try_from(*length).unwrap().to_be_bytes());
            if version == 4 {
                bytes.push(u8::try_from(*strip).unwrap());
            }
            bytes.extend(name.as_bytes());
            bytes.push(0);
            while version != 4 && !(bytes.len() - begin).is_multiple_of(8) {
                bytes.push(0);
            }
        }
        bytes.extend([1; 20]);
        bytes
    }

    #[test]
    fn the_paths_of_an_index_are_read() {
        let read = |bytes: &[u8]| paths_in(bytes).map(|paths| paths.into_iter().collect::<Vec<_>>());
        let expected = Some(vec![PathBuf::from("src/a.rs"), PathBuf::from("src/bc.rs")]);
        assert_eq!(
            read(&index(2, &[(0, "src/a.rs", 8), (0, "src/bc.rs", 9)])),
            expected
        );
        assert_eq!(read(&index(4, &[(0, "src/a.rs", 8), (4, "bc.rs", 9)])), expected);
        assert_eq!(read(&index(2, &[(0, "src/a.rs", 7)])), None, "another form");
        assert_eq!(read(&index(5, &[])), None);
        for end in 0..60 {
            assert_eq!(read(&index(2, &[(0, "a", 1)])[..end]), None, "{end}");
        }
    }

    #[test]
    fn ignored_files_count_only_if_the_repository_tracks_them() {
        let folder = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(folder.path()).unwrap();
        std::fs::create_dir_all(root.join(".git")).unwrap();
        std::fs::create_dir_all(root.join("out")).unwrap();
        let write = |file: &str, text: &str| std::fs::write(root.join(file), text).unwrap();
        write(".gitignore", "out/\n");
        write("a.py", "one");
        write("out/built", "one");
        std::fs::write(root.join(".git/index"), index(2, &[(0, "a.py", 4)])).unwrap();
        let before = text_of(&root);
        assert!(before.contains("a.py  ") && !before.contains("built"), "{before}");
        write("out/built", "two");
        assert_eq!(text_of(&root), before);
        std::fs::write(root.join(".git/index"), index(2, &[(0, "out/built", 9)])).unwrap();
        assert!(text_of(&root).contains("out/built  "));
        std::fs::remove_file(root.join(".git/index")).unwrap();
        assert!(
            text_of(&root).contains("out/built  "),
            "nobody knows what is tracked"
        );
        write("a.py", "two");
        assert_ne!(text_of(&root), before);
    }
}
