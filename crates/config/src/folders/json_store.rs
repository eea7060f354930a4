//! A small JSON file of the data directory, which several processes read and change.

use std::marker::PhantomData;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::locked_file::LockedFile;
use crate::mistake::ConfigError;

/// The file with this name in a data directory; a missing one has the default value.
pub(crate) struct JsonStore<T> {
    name: &'static str,
    value: PhantomData<fn() -> T>,
}

impl<T: Clone + Default + PartialEq + Serialize + DeserializeOwned> JsonStore<T> {
    pub(crate) const fn new(name: &'static str) -> Self {
        Self {
            name,
            value: PhantomData,
        }
    }

    /// Reads the value.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or has another content.
    pub(crate) fn read(&self, data_dir: &Path) -> Result<T, ConfigError> {
        let path = data_dir.join(self.name);
        match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| ConfigError::damaged(&path, error)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(T::default()),
            Err(error) => Err(ConfigError::file(&path, error)),
        }
    }

    /// Reads the value, changes it, and writes it if it is different, under one lock.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or written, or that of `work`.
    pub(crate) fn change<R>(
        &self,
        data_dir: &Path,
        work: impl FnOnce(&mut T, &LockedFile) -> Result<R, ConfigError>,
    ) -> Result<R, ConfigError> {
        let path = data_dir.join(self.name);
        let locked = LockedFile::open(&path)?;
        let before = self.read(data_dir)?;
        let mut value = before.clone();
        let done = work(&mut value, &locked)?;
        if value != before {
            let text = serde_json::to_vec_pretty(&value).map_err(|error| ConfigError::file(&path, error))?;
            locked.replace(&text)?;
        }
        Ok(done)
    }
}
