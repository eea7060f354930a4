//! The files with the settings of persons: one for each, in the directory `people` of the data directory,
//! which other users of the machine cannot read and tools cannot open.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use agentx_files::{FileLock, ReplaceOptions, make_private_directory, replace_locked};
use agentx_types::OwnerId;

use super::settings::PersonSettings;

/// The directory below the data directory.
const PEOPLE: &str = "people";
/// The largest file.
const MOST_BYTES: u64 = 256 << 10;
/// The longest id of a person.
const ID_BYTES: usize = 128;
/// The maximum time to wait for another process that changes the same file.
const PATIENCE: Duration = Duration::from_secs(5);

/// The settings of persons. Each call reads or writes files, so it belongs on a thread that may block.
#[derive(Clone, Debug)]
pub struct PersonStore {
    directory: PathBuf,
}

/// The settings of a person could not be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum PersonError {
    /// The id cannot be the name of a file.
    #[error("{0:?} is not the id of a person")]
    NotAnId(String),
    /// The file cannot be read or written.
    #[error("{}: {error}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// The file holds something else than settings.
    #[error("{}: {what}; delete the file to begin again", .path.display())]
    NotSettings {
        /// The file.
        path: PathBuf,
        /// The reason.
        what: String,
    },
    /// A value was refused, for the reason given.
    #[error("{0}")]
    Refused(String),
}

impl PersonStore {
    /// The settings of all persons in a data directory. Nothing is created before something is written.
    pub fn new(data_dir: &Path) -> Self {
        Self {
            directory: data_dir.join(PEOPLE),
        }
    }

    /// Reads the settings of a person; empty ones if they never set any.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or holds something else.
    pub fn read(&self, person: &OwnerId) -> Result<PersonSettings, PersonError> {
        let path = self.path(person)?;
        let failed = |error| PersonError::File {
            path: path.clone(),
            error,
        };
        let file = match std::fs::File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(PersonSettings::default()),
            opened => opened.map_err(failed)?,
        };
        let mut bytes = Vec::new();
        file.take(MOST_BYTES + 1)
            .read_to_end(&mut bytes)
            .map_err(failed)?;
        let read = match u64::try_from(bytes.len()) {
            Ok(size) if size <= MOST_BYTES => {
                serde_json::from_slice(&bytes).map_err(|error| error.to_string())
            }
            _ => Err(format!("it has more than {MOST_BYTES} bytes")),
        };
        read.map_err(|what| PersonError::NotSettings { path, what })
    }

    /// Changes the settings of a person while no other process does, and returns the new ones.
    ///
    /// # Errors
    /// Returns the error of `change`, and an error if the file cannot be read or written. Then nothing has
    /// changed.
    pub fn change(
        &self,
        person: &OwnerId,
        change: impl FnOnce(&mut PersonSettings) -> Result<(), PersonError>,
    ) -> Result<PersonSettings, PersonError> {
        let path = self.path(person)?;
        let failed = |error| PersonError::File {
            path: path.clone(),
            error,
        };
        make_private_directory(&self.directory).map_err(failed)?;
        let lock = FileLock::wait(&FileLock::path_for(&path), PATIENCE).map_err(failed)?;
        let lock = lock.ok_or_else(|| failed(io::Error::other("another process holds it")))?;
        let mut settings = self.read(person)?;
        change(&mut settings)?;
        let bytes = serde_json::to_vec_pretty(&settings).map_err(|error| failed(error.into()))?;
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MOST_BYTES {
            let what = format!("the settings of a person have at most {MOST_BYTES} bytes");
            return Err(PersonError::Refused(what));
        }
        replace_locked(&path, &bytes, ReplaceOptions::default(), &lock).map_err(failed)?;
        Ok(settings)
    }

    /// The file of a person.
    fn path(&self, person: &OwnerId) -> Result<PathBuf, PersonError> {
        let id = person.as_str();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if id.is_empty() || id.len() > ID_BYTES || !id.chars().all(is_plain) {
            return Err(PersonError::NotAnId(id.chars().take(ID_BYTES).collect()));
        }
        Ok(self.directory.join(format!("{id}.json")))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_person_has_their_own_settings() {
        let dir = tempfile::tempdir().unwrap();
        let store = PersonStore::new(dir.path());
        let (ada, bo) = (OwnerId::new("own_ada"), OwnerId::new("own_bo"));
        let name = |settings: &mut PersonSettings| {
            settings.config.insert("name".into(), json!("Ada"));
            Ok(())
        };
        store.change(&ada, name).unwrap();
        assert_eq!(store.read(&ada).unwrap().name(), Some("Ada"));
        assert_eq!(store.read(&bo).unwrap(), PersonSettings::default());
    }

    #[test]
    fn a_refused_change_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let store = PersonStore::new(dir.path());
        let ada = OwnerId::new("own_ada");
        let refused = store.change(&ada, |settings| {
            settings.config.insert("name".into(), json!("Eve"));
            Err(PersonError::Refused("no".into()))
        });
        assert_eq!(refused.unwrap_err().to_string(), "no");
        let large = "a".repeat(MOST_BYTES as usize);
        let large = store.change(&ada, |settings| {
            settings.prompts.insert("persona".into(), large);
            Ok(())
        });
        assert!(large.unwrap_err().to_string().contains("at most"));
        assert_eq!(store.read(&ada).unwrap(), PersonSettings::default());
    }

    #[test]
    fn no_id_leads_out_of_the_directory() {
        let dir = tempfile::tempdir().unwrap();
        let store = PersonStore::new(dir.path());
        for id in ["../own", "", "a/b", "a.b", "own_\u{e4}"] {
            let read = store.read(&OwnerId::new(id));
            assert!(matches!(read, Err(PersonError::NotAnId(_))), "{id:?}");
        }
    }

    #[test]
    fn a_damaged_file_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let store = PersonStore::new(dir.path());
        let ada = OwnerId::new("own_ada");
        store.change(&ada, |_| Ok(())).unwrap();
        std::fs::write(dir.path().join("people/own_ada.json"), "{").unwrap();
        let what = store.read(&ada).unwrap_err().to_string();
        assert!(
            what.contains("own_ada.json") && what.contains("delete the file"),
            "{what}"
        );
    }
}
