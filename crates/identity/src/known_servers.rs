//! The servers that this person has met, by their addresses: the file `known_servers`, a line each, such as
//! `localhost:5200 ed25519:…`. A server is trusted the first time, and has to have the same key from then on,
//! as with SSH.

use std::path::{Path, PathBuf};

use crate::files::{self, Privacy};
use crate::keyring::secret_in;
use crate::{Keyring, KeyringError, PublicKey};

/// The number of servers that are remembered; the one that was met first is forgotten first.
const MOST: usize = 1_000;

/// The result of checking the key of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerKeyStatus {
    /// The first contact; the key is remembered from now on.
    New,
    /// The same key as before, or the server of this directory.
    Known,
    /// Another one was there before.
    Changed {
        /// The key that the server had before.
        before: PublicKey,
    },
}

impl Keyring {
    /// The path of the list of servers.
    pub fn servers_file(&self) -> PathBuf {
        self.directory.join("known_servers")
    }

    /// Compares the key of the server at `place`, host and port, with the remembered one. A new server is
    /// remembered.
    ///
    /// # Errors
    /// Returns an error if the list cannot be read or written, or others may change it.
    pub fn meet_server(&self, place: &str, key: &PublicKey) -> Result<ServerKeyStatus, KeyringError> {
        let met = self.look_up_server(place, key)?;
        if met != ServerKeyStatus::New {
            return Ok(met);
        }
        self.remember_server(place, key)
    }

    /// Remembers a server, unless another process has met one at `place` since this one looked.
    fn remember_server(&self, place: &str, key: &PublicKey) -> Result<ServerKeyStatus, KeyringError> {
        let lock = files::lock(&self.directory)?;
        let met = self.look_up_server(place, key)?;
        if met == ServerKeyStatus::New {
            let mut servers = self.servers()?;
            servers.push((place.to_owned(), *key));
            files::replace(&self.servers_file(), &write(&servers), &lock)?;
        }
        Ok(met)
    }

    /// Returns the result of [`Keyring::meet_server`] without remembering anything.
    ///
    /// # Errors
    /// Returns an error if the list cannot be read, or others may change it.
    pub fn look_up_server(&self, place: &str, key: &PublicKey) -> Result<ServerKeyStatus, KeyringError> {
        if secret_in(&self.server_file())?.is_some_and(|own| own.public_key() == key) {
            return Ok(ServerKeyStatus::Known);
        }
        Ok(match self.server_at(place)? {
            None => ServerKeyStatus::New,
            Some(before) if before == *key => ServerKeyStatus::Known,
            Some(before) => ServerKeyStatus::Changed { before },
        })
    }

    /// Forgets the server that was met at `place`; the next one there is believed. Returns the key that it
    /// had.
    ///
    /// # Errors
    /// Returns an error if the list cannot be read or written, or others may change it.
    pub fn forget_server(&self, place: &str) -> Result<Option<PublicKey>, KeyringError> {
        let path = self.servers_file();
        if self.server_at(place)?.is_none() {
            return Ok(None);
        }
        let lock = files::lock(&self.directory)?;
        let mut servers = self.servers()?;
        let mut forgotten = None;
        servers.retain(|(known, key)| {
            if known == place {
                forgotten = Some(*key);
            }
            known != place
        });
        files::replace(&path, &write(&servers), &lock)?;
        Ok(forgotten)
    }

    /// The key of the server that was met at `place`.
    ///
    /// # Errors
    /// Returns an error if the list cannot be read, or others may change it.
    pub fn server_at(&self, place: &str) -> Result<Option<PublicKey>, KeyringError> {
        let servers = self.servers()?;
        let found = servers.into_iter().rfind(|(known, _)| known == place);
        Ok(found.map(|(_, key)| key))
    }

    fn servers(&self) -> Result<Servers, KeyringError> {
        let path = self.servers_file();
        let bytes = files::read(&path, Privacy::Public)?;
        bytes.map_or_else(|| Ok(Vec::new()), |bytes| read(&path, &bytes))
    }
}

/// The servers, in the order in which they were met.
type Servers = Vec<(String, PublicKey)>;

/// Reads the list.
fn read(path: &Path, bytes: &[u8]) -> Result<Servers, KeyringError> {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.lines().enumerate();
    let lines = lines.filter(|(_, line)| !line.trim().is_empty());
    let read = |(index, line): (usize, &str)| {
        let damaged = |what: String| KeyringError::Damaged {
            path: path.to_owned(),
            line: index + 1,
            what,
        };
        let (place, key) = line
            .trim()
            .split_once(' ')
            .ok_or_else(|| damaged("expected a server's host and port, a space, and its key".into()))?;
        let key = key.parse().map_err(|error| damaged(format!("{error}")))?;
        Ok((place.to_owned(), key))
    };
    lines.map(read).collect()
}

/// Writes the list.
fn write(servers: &Servers) -> Vec<u8> {
    let kept = &servers[servers.len().saturating_sub(MOST)..];
    let lines = kept.iter().map(|(place, key)| format!("{place} {key}\n"));
    lines.collect::<String>().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SecretKey;

    #[test]
    fn a_key_that_another_process_met_meanwhile_counts() {
        let directory = tempfile::tempdir().unwrap();
        let keyring = Keyring::open(directory.path().join("data")).unwrap();
        let key = |seed: u8| *SecretKey::from_seed(&[seed; 32]).unwrap().public_key();
        let place = "localhost:5200";
        // Both processes looked before either of them had the lock.
        let first = keyring.remember_server(place, &key(1)).unwrap();
        let second = keyring.remember_server(place, &key(2)).unwrap();
        assert_eq!(first, ServerKeyStatus::New);
        assert_eq!(second, ServerKeyStatus::Changed { before: key(1) });
        assert_eq!(keyring.server_at(place).unwrap(), Some(key(1)));
    }
}
