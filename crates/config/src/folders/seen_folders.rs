//! Records when a folder came to its path, as far as AgentX noticed. An older session belongs to the folder
//! that was there before. The log of a session does not say which folder it was.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use agentx_types::{FolderId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::folders::folder_id::{folder_id, is_folder_at};
use crate::folders::json_store::JsonStore;
use crate::mistake::ConfigError;

/// The folders by path.
const STORE: JsonStore<BTreeMap<String, SeenFolder>> = JsonStore::new("seen.json");
/// The most paths that are kept; those whose folder was noticed first are forgotten first.
const MOST: usize = 1_000;

/// The folder at a path when AgentX last checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SeenFolder {
    id: FolderId,
    /// The time at which the folder was noticed.
    at: Timestamp,
    /// Whether another folder was there before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    came_later: bool,
}

/// Checks which folder is at a path, and records it. Returns since when it has been there, if another one was
/// there before; `None` if none was, or if this is unknown.
pub fn lying_since(data_dir: &Path, path: &Path) -> Option<Timestamp> {
    let (key, id) = (path.to_str()?, folder_id(path)?);
    let known = STORE.read(data_dir).ok()?.remove(key);
    let seen = match known {
        Some(known) if known.id == id => return known.came_later.then_some(known.at),
        Some(known) if is_folder_at(&known.id, path) => SeenFolder { id, ..known },
        known => SeenFolder {
            id,
            at: now(),
            came_later: known.is_some(),
        },
    };
    // If it cannot be written, it is noticed another time.
    let _ = note(data_dir, key, &seen);
    seen.came_later.then_some(seen.at)
}

pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

fn note(data_dir: &Path, key: &str, seen: &SeenFolder) -> Result<(), ConfigError> {
    STORE.change(data_dir, |all, _| {
        all.insert(key.to_owned(), seen.clone());
        while all.len() > MOST {
            let first = all.iter().min_by_key(|(_, seen)| seen.at);
            let Some(first) = first.map(|(key, _)| key.clone()) else {
                break;
            };
            all.remove(&first);
        }
        Ok(())
    })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_takes_the_place_of_another_is_noticed_and_only_the_latest_paths_are_kept() {
        let dir = tempfile::tempdir().expect("a folder");
        let (data, root, other) = (
            dir.path().join("data"),
            dir.path().join("root"),
            dir.path().join("other"),
        );
        for folder in [&root, &other] {
            std::fs::create_dir(folder).expect("it is made");
        }
        assert_eq!(lying_since(&data, &root), None);
        std::fs::create_dir(root.join(".git")).expect("it is made");
        assert_eq!(lying_since(&data, &root), None, "git init");
        let before = now();
        std::fs::rename(&root, dir.path().join("moved")).expect("it is moved");
        std::fs::rename(&other, &root).expect("it is moved");
        let since = lying_since(&data, &root).expect("another one lies there");
        assert!(since >= before && since <= now());
        assert_eq!(lying_since(&data, &root), Some(since));
        let mut all = STORE.read(&data).expect("it is read");
        for number in 0..MOST {
            let seen = SeenFolder {
                id: FolderId::new("a", None),
                at: Timestamp(i64::MAX),
                came_later: false,
            };
            all.insert(number.to_string(), seen);
        }
        let text = serde_json::to_vec(&all).expect("JSON");
        std::fs::write(data.join("seen.json"), text).expect("it is written");
        lying_since(&data, dir.path());
        assert_eq!(STORE.read(&data).expect("it is read").len(), MOST);
    }
}
