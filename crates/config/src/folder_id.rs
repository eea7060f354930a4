//! Which folder lies at a path now, by what the file system says of it. Nothing that stands in the folder counts: it could be copied.

use std::fs::Metadata;
use std::path::Path;
use std::time::UNIX_EPOCH;

use agentx_types::FolderId;

use crate::places::root_of;
use crate::trust::digest;

/// Letters of a hash that are kept.
const LETTERS: usize = 16;

/// The folder that lies at a path now, with the `.git` of the project that it is part of; `None` where nothing can be told. Devices
/// are left out: their numbers change between two starts of a machine.
pub fn folder_id(folder: &Path) -> Option<FolderId> {
    let own = mark(&std::fs::metadata(folder).ok()?)?;
    let git = std::fs::metadata(root_of(folder).join(".git")).ok();
    Some(FolderId::new(&own, git.and_then(|git| mark(&git)).as_deref()))
}

/// The inode and the time at which it was made. Without that time the inode counts alone.
fn mark(of: &Metadata) -> Option<String> {
    let born = of.created().ok();
    let born = born.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let born = born.map(|since| since.as_nanos());
    let inode = inode(of);
    if inode.is_none() && born.is_none() {
        return None;
    }
    let mut hash = digest(format!("{inode:?} {born:?}").as_bytes());
    hash.truncate(LETTERS);
    Some(hash)
}

#[cfg(unix)]
fn inode(of: &Metadata) -> Option<u64> {
    Some(std::os::unix::fs::MetadataExt::ino(of))
}

#[cfg(not(unix))]
fn inode(_: &Metadata) -> Option<u64> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_another_one_when_it_or_its_git_is_replaced_and_the_same_when_it_changes_or_moves() {
        let dir = tempfile::tempdir().expect("a folder");
        let (a, b, moved) = (
            dir.path().join("a"),
            dir.path().join("b"),
            dir.path().join("moved"),
        );
        for folder in [&a, &b] {
            std::fs::create_dir(folder).expect("it is made");
        }
        let before = folder_id(&a).expect("it is there");
        assert!(!before.is(folder_id(&b).as_ref()), "two folders");
        std::fs::write(a.join("file"), "x").expect("it is written");
        assert!(before.is(folder_id(&a).as_ref()), "a change in it");
        std::fs::create_dir(a.join(".git")).expect("it is made");
        let with_git = folder_id(&a).expect("it is there");
        assert!(before.is(Some(&with_git)), "git init");
        std::fs::rename(&a, &moved).expect("it is moved");
        std::fs::rename(&b, &a).expect("it is moved");
        assert!(with_git.is(folder_id(&moved).as_ref()), "it was moved");
        assert!(!before.is(folder_id(&a).as_ref()), "another one lies at its path");
        std::fs::rename(moved.join(".git"), moved.join("old")).expect("it is moved");
        assert!(!with_git.is(folder_id(&moved).as_ref()), "its repository is gone");
        std::fs::create_dir(moved.join(".git")).expect("it is made");
        assert!(!with_git.is(folder_id(&moved).as_ref()), "another repository");
        assert_eq!(folder_id(&dir.path().join("none")), None);
    }
}
