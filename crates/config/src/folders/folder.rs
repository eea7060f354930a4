//! Trust in folders: a person's decisions about a folder and its files, stored in the data directory.
//!
//! The real path and the file system identify a folder: a decision about one folder does not apply to another
//! one at the same path. The store has the hash of each accepted file, so a person has to accept a changed
//! file again; it also keeps the accepted text, to show the difference.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use agentx_files::make_private_directory;
use agentx_types::{FolderId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::digest::digest;
use crate::folders::folder_id::{folder_id, is_folder_at};
use crate::folders::json_store::JsonStore;
use crate::folders::seen_folders::now;
use crate::mistake::ConfigError;

/// The decisions about folders, by path.
const STORE: JsonStore<BTreeMap<String, Folder>> = JsonStore::new("folders.json");
/// The folder in the data directory with the accepted texts, by hash.
const TEXTS: &str = "accepted";

/// The level of trust in a folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FolderTrust {
    /// No decision yet: nothing of the folder is loaded.
    #[default]
    Unknown,
    /// Only the instructions that a person accepted are loaded.
    Restricted,
    /// Instructions are loaded; tools that change files, run programs or reach the network are refused.
    ReadOnly,
    /// Everything that a person accepted is loaded.
    Trusted,
}

impl FolderTrust {
    /// Returns the word for tables: `unknown`, `restricted`, `read-only`, `trusted`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Restricted => "restricted",
            Self::ReadOnly => "read-only",
            Self::Trusted => "trusted",
        }
    }
}

/// The decision of a person about a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Folder {
    /// The level of trust.
    pub trust: FolderTrust,
    /// The accepted files: paths below the folder with `/`, and the BLAKE3 hash of their bytes.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// The identity of the folder. Records of older programs do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<FolderId>,
    /// Whether it got a `.git` after it was trusted. If so, the rules that were kept before still apply.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub became_repository: bool,
    /// The start of the trust, in microseconds since 1970; a later `config trust` keeps it. Empty in records
    /// of older programs and for a folder that is not trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// The level of trust in another folder that was at this path before; it does not apply to the current
    /// one.
    #[serde(skip)]
    pub previous_trust: Option<FolderTrust>,
    /// Whether the whole folder is trusted as it is now, because `AGENTX_TRUST_FOLDER` is set.
    #[serde(skip)]
    pub trusted_by_env: bool,
}

/// Whether a person accepted a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileAcceptance {
    /// Accepted with these bytes.
    Accepted,
    /// Accepted with other bytes.
    Changed,
    /// Never accepted.
    New,
}

impl Folder {
    /// Reads the decision about the folder `root`, a real path; the default if the record cannot be read. A
    /// decision about another folder at this path does not apply. The call completes a record without the
    /// current identity of the folder.
    pub fn of(data_dir: &Path, root: &Path) -> Self {
        let (Ok(key), Ok(folders)) = (key_of(root), STORE.read(data_dir)) else {
            return Self::default();
        };
        let Some(known) = folders.get(&key) else {
            return Self::default();
        };
        let folder = known.applicable_at(root);
        if folder.previous_trust.is_none() && *known != folder {
            // If it cannot be written, it is completed another time. Another decision may have been made
            // meanwhile.
            let _ = STORE.change(data_dir, |folders, _| {
                if let Some(now) = folders.get_mut(&key).filter(|now| *now == known) {
                    now.clone_from(&folder);
                }
                Ok(())
            });
        }
        folder
    }

    /// The part of this record that applies to the folder that is at `root` now.
    fn applicable_at(&self, root: &Path) -> Self {
        if self.id.as_ref().is_some_and(|id| !is_folder_at(id, root)) {
            return Self {
                previous_trust: Some(self.trust),
                ..Self::default()
            };
        }
        let now = folder_id(root);
        let had_none = self.id.as_ref().is_some_and(|id| !id.has_git());
        let has_git = now.as_ref().is_some_and(FolderId::has_git);
        Self {
            became_repository: self.became_repository || (had_none && has_git),
            id: now,
            ..self.clone()
        }
    }

    /// Returns a folder that is trusted as it is, without any record.
    pub fn trusted_whole() -> Self {
        Self {
            trust: FolderTrust::Trusted,
            trusted_by_env: true,
            ..Self::default()
        }
    }

    /// The start of the current trust; `None` without trust. A record without a start counts as always
    /// trusted.
    pub fn trusted_since(&self) -> Option<Timestamp> {
        (self.trust == FolderTrust::Trusted).then(|| self.since.unwrap_or_default())
    }

    /// Returns whether a person accepted these bytes of a file; `file` is its path below the folder.
    pub fn standing(&self, file: &Path, bytes: &[u8]) -> FileAcceptance {
        if self.trusted_by_env {
            return FileAcceptance::Accepted;
        }
        match file.to_str().and_then(|file| self.files.get(file)) {
            Some(hash) if *hash == digest(bytes) => FileAcceptance::Accepted,
            Some(_) => FileAcceptance::Changed,
            None => FileAcceptance::New,
        }
    }

    /// Returns whether definitions, scripts and settings with these bytes count.
    pub fn admits(&self, file: &Path, bytes: &[u8]) -> bool {
        self.trust == FolderTrust::Trusted && self.standing(file, bytes) == FileAcceptance::Accepted
    }

    /// Returns whether instructions with these bytes are given to the model. In a folder that is trusted they
    /// may change.
    pub fn admits_instructions(&self, file: &Path, bytes: &[u8]) -> bool {
        match self.trust {
            FolderTrust::Trusted | FolderTrust::ReadOnly => true,
            FolderTrust::Restricted => self.standing(file, bytes) == FileAcceptance::Accepted,
            FolderTrust::Unknown => false,
        }
    }
}

/// Checks that the decisions about folders can be read: while they cannot be, every folder counts as unknown,
/// and no decision can be recorded.
///
/// # Errors
/// Returns an error that names the file, if it is damaged or cannot be read.
pub fn check_folder_decisions(data_dir: &Path) -> Result<(), ConfigError> {
    STORE.read(data_dir).map(|_| ())
}

/// Records how far a person trusts the folder `root`, and its accepted files as they are now. Replaces the
/// earlier record.
///
/// # Errors
/// Returns an error if the data directory cannot be written, or the folder's path is not UTF-8.
pub fn trust_folder(
    data_dir: &Path,
    root: &Path,
    trust: FolderTrust,
    accepted: &[(PathBuf, Vec<u8>)],
) -> Result<Folder, ConfigError> {
    let key = key_of(root)?;
    let texts = data_dir.join(TEXTS);
    STORE.change(data_dir, |folders, locked| {
        make_private_directory(&texts).map_err(|error| ConfigError::file(&texts, error))?;
        let mut files = BTreeMap::new();
        for (file, bytes) in accepted {
            let name = file.to_str().ok_or_else(|| ConfigError::file(file, NO_TEXT))?;
            let hash = digest(bytes);
            locked.replace_part(&texts.join(&hash), bytes)?;
            files.insert(name.to_owned(), hash);
        }
        let is_this = |known: &&Folder| known.id.as_ref().is_none_or(|known| is_folder_at(known, root));
        let before = folders.get(&key).filter(is_this);
        let since = match (trust, before.map(|known| (known.trust, known.since))) {
            (FolderTrust::Trusted, Some((FolderTrust::Trusted, since))) => since,
            (FolderTrust::Trusted, _) => Some(now()),
            _ => None,
        };
        let folder = Folder {
            trust,
            files,
            became_repository: before.is_some_and(|known| known.became_repository),
            id: folder_id(root),
            since,
            ..Folder::default()
        };
        folders.insert(key, folder.clone());
        Ok(folder)
    })
}

/// Accepts a file of the folder `root` after the person changed it with AgentX; `file` is its path below the
/// folder. This needs a trusted folder in which the bytes `before` were accepted, or no file was. Returns
/// whether it is accepted.
///
/// # Errors
/// Returns an error if the data directory cannot be written.
pub(crate) fn accept_change(
    data_dir: &Path,
    root: &Path,
    file: &Path,
    before: Option<&[u8]>,
    after: &[u8],
) -> Result<bool, ConfigError> {
    let (key, Some(name)) = (key_of(root)?, file.to_str()) else {
        return Ok(false);
    };
    let counted = |folder: &Folder| {
        folder.trust == FolderTrust::Trusted && before.is_none_or(|bytes| folder.admits(file, bytes))
    };
    if !counted(&Folder::of(data_dir, root)) {
        return Ok(false);
    }
    let texts = data_dir.join(TEXTS);
    STORE.change(data_dir, |folders, locked| {
        let Some(folder) = folders.get_mut(&key).filter(|folder| counted(folder)) else {
            return Ok(false);
        };
        make_private_directory(&texts).map_err(|error| ConfigError::file(&texts, error))?;
        let hash = digest(after);
        locked.replace_part(&texts.join(&hash), after)?;
        folder.files.insert(name.to_owned(), hash);
        Ok(true)
    })
}

/// Removes the decision about a folder. Returns whether there was one.
///
/// # Errors
/// Returns an error if the data directory cannot be read or written.
pub fn forget_folder(data_dir: &Path, root: &Path) -> Result<bool, ConfigError> {
    let key = key_of(root)?;
    if !STORE.read(data_dir)?.contains_key(&key) {
        return Ok(false);
    }
    STORE.change(data_dir, |folders, _| Ok(folders.remove(&key).is_some()))
}

/// The accepted text of a file, to show the difference; `None` if there is none.
pub fn accepted_text(data_dir: &Path, folder: &Folder, file: &Path) -> Option<String> {
    let hash = folder.files.get(file.to_str()?)?;
    let bytes = std::fs::read(data_dir.join(TEXTS).join(hash)).ok()?;
    (digest(&bytes) == *hash).then(|| String::from_utf8_lossy(&bytes).into_owned())
}

/// The trusted folders below `root`.
pub fn trusted_below(data_dir: &Path, root: &Path) -> Vec<PathBuf> {
    let known = STORE.read(data_dir).unwrap_or_default().into_iter();
    known
        .filter(|(_, folder)| folder.trust == FolderTrust::Trusted)
        .map(|(path, _)| PathBuf::from(path))
        .filter(|path| path != root && path.starts_with(root))
        .collect()
}

const NO_TEXT: &str = "its path is not UTF-8, so the decision about it cannot be saved";

/// Two folders whose names are not UTF-8 could look the same, so such a folder has no key.
fn key_of(root: &Path) -> Result<String, ConfigError> {
    let text = root.to_str().map(str::to_owned);
    text.ok_or_else(|| ConfigError::file(root, NO_TEXT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_record_is_reported_with_its_file() {
        let data = tempfile::tempdir().expect("a folder");
        check_folder_decisions(data.path()).expect("there is none yet");
        std::fs::write(data.path().join("folders.json"), "{").expect("it is written");
        let error = check_folder_decisions(data.path()).expect_err("it is damaged");
        assert!(
            error.is_damaged() && error.to_string().contains("folders.json"),
            "{error}"
        );
        // One that cannot be read may be in order.
        std::fs::remove_file(data.path().join("folders.json")).expect("it is removed");
        std::fs::create_dir(data.path().join("folders.json")).expect("it is made");
        let error = check_folder_decisions(data.path()).expect_err("it is not a file");
        assert!(!error.is_damaged(), "{error}");
    }

    #[test]
    fn what_was_accepted_counts_until_it_changes() {
        let data = tempfile::tempdir().expect("a folder");
        let (root, file) = (Path::new("/made/up"), PathBuf::from(".agentx/tools/a.yaml"));
        assert_eq!(Folder::of(data.path(), root).trust, FolderTrust::Unknown);
        let accepted = [(file.clone(), b"one".to_vec())];
        trust_folder(data.path(), root, FolderTrust::Trusted, &accepted).expect("it is kept");
        let folder = Folder::of(data.path(), root);
        assert!(folder.admits(&file, b"one") && !folder.admits(&file, b"two"));
        assert_eq!(folder.standing(&file, b"two"), FileAcceptance::Changed);
        assert_eq!(folder.standing(Path::new("other"), b"one"), FileAcceptance::New);
        assert_eq!(accepted_text(data.path(), &folder, &file).as_deref(), Some("one"));
        assert_eq!(trusted_below(data.path(), Path::new("/made")), [root]);
        assert!(trusted_below(data.path(), root).is_empty());
        assert_eq!(
            Folder::of(data.path(), Path::new("/made/up/below")),
            Folder::default()
        );
        trust_folder(data.path(), root, FolderTrust::Restricted, &accepted).expect("it is kept");
        let folder = Folder::of(data.path(), root);
        assert!(!folder.admits(&file, b"one") && folder.admits_instructions(&file, b"one"));
        assert!(!folder.admits_instructions(&file, b"two"));
        assert!(forget_folder(data.path(), root).expect("it is read"));
        assert!(!forget_folder(data.path(), root).expect("it is read"));
    }

    #[cfg(unix)]
    #[test]
    fn what_was_said_of_a_folder_does_not_hold_for_another_one_at_its_path() {
        let data = tempfile::tempdir().expect("a folder");
        let (root, other) = (data.path().join("root"), data.path().join("other"));
        for folder in [&root, &other] {
            std::fs::create_dir_all(folder.join(".git")).expect("it is made");
        }
        // A record of an older program names no folder: it is completed with the folder at the path.
        let text = format!("{{{:?}: {{\"trust\": \"trusted\"}}}}", root.to_string_lossy());
        std::fs::write(data.path().join("folders.json"), text).expect("it is written");
        assert_eq!(Folder::of(data.path(), &root).trust, FolderTrust::Trusted);
        std::fs::rename(&root, data.path().join("moved")).expect("it is moved");
        std::fs::rename(&other, &root).expect("it is moved");
        let found = Folder::of(data.path(), &root);
        assert_eq!(found.trust, FolderTrust::Unknown);
        assert_eq!(found.previous_trust, Some(FolderTrust::Trusted));
        trust_folder(data.path(), &root, FolderTrust::ReadOnly, &[]).expect("it is kept");
        assert_eq!(Folder::of(data.path(), &root).trust, FolderTrust::ReadOnly);
        std::fs::rename(root.join(".git"), root.join("old")).expect("it is moved");
        std::fs::create_dir(root.join(".git")).expect("it is made");
        assert_eq!(
            Folder::of(data.path(), &root).previous_trust,
            Some(FolderTrust::ReadOnly)
        );
    }

    #[test]
    fn decisions_that_are_made_at_the_same_time_are_all_kept() {
        let data = tempfile::tempdir().expect("a folder");
        let data = data.path();
        let root = |thread: usize, number: usize| PathBuf::from(format!("/made/up/{thread}/{number}"));
        std::thread::scope(|scope| {
            for thread in 0..8 {
                scope.spawn(move || {
                    for number in 0..10 {
                        let accepted = [(PathBuf::from("AGENTS.md"), b"the same".to_vec())];
                        let root = root(thread, number);
                        trust_folder(data, &root, FolderTrust::Trusted, &accepted).expect("it is kept");
                        if number % 2 == 1 {
                            forget_folder(data, &root).expect("it is forgotten");
                        }
                    }
                });
            }
        });
        assert_eq!(trusted_below(data, Path::new("/made/up")).len(), 40);
        assert_eq!(Folder::of(data, &root(7, 8)).trust, FolderTrust::Trusted);
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_whose_name_is_no_text_is_never_known() {
        use std::os::unix::ffi::OsStrExt as _;
        let data = tempfile::tempdir().expect("a folder");
        let root = Path::new(std::ffi::OsStr::from_bytes(b"/made/\xff"));
        let refused = trust_folder(data.path(), root, FolderTrust::Trusted, &[]);
        assert!(refused.is_err_and(|error| error.to_string().contains("not UTF-8")));
        assert_eq!(Folder::of(data.path(), root), Folder::default());
    }
}
