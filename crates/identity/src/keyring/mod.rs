//! The identity of a person and the people whom they trust, in a data directory: `identity` (a secret) and
//! `people.json`.
//!
//! Both are read anew each time, so a running server notices immediately when its operator changes whom to
//! trust.

use std::path::{Path, PathBuf};

use agentx_types::OwnerId;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::files::{self, Privacy};
use crate::key::wipe;
use crate::keyring_error::{KeyringError, SERVER_KEY};
use crate::people::{self, PeopleEntry, Trusted, TrustedAs};
use crate::{KeyError, OPERATOR, PublicKey, SecretKey, Stamp, owner_of, random_bytes, token_text};

/// The first line of an identity.
const HEADER: &str = "agentx-identity 1";

/// The keys of a data directory.
#[derive(Clone, Debug)]
pub struct Keyring {
    pub(crate) directory: PathBuf,
}

/// A person whom a server knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownPerson {
    /// The owner id of their sessions.
    pub owner: OwnerId,
    /// The person's name here.
    pub name: Option<String>,
    /// Whether they are the operator of this server.
    pub operator: bool,
    /// Whether they decide about calls of members, besides the operator.
    pub approver: bool,
    /// Identifies the grant of their role: another text each time this server trusts them, or gives them
    /// another role. `None` for the server's own identity, and for people whom a person wrote into the list.
    pub grant: Option<String>,
}

impl Keyring {
    /// Opens the keyring of this directory. Creates nothing, but checks the existing files.
    ///
    /// # Errors
    /// Returns an error if one of its files cannot be read, or should not be trusted.
    pub fn open(directory: impl Into<PathBuf>) -> Result<Self, KeyringError> {
        let keyring = Self::at(directory);
        keyring.identity()?;
        keyring.people()?;
        Ok(keyring)
    }

    /// The same without a check of the files, for commands that repair them.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
        }
    }

    /// Checks that nobody else may replace these files, as required for a server's directory.
    ///
    /// # Errors
    /// Returns [`KeyringError::OpenDirectory`] if others may put files there, or if the directory cannot be
    /// read. A directory that does not exist is not an error.
    pub fn check_directory(&self) -> Result<(), KeyringError> {
        files::check_directory(&self.directory)
    }

    /// Checks that the directory does not belong to another user, who can replace these files whatever their
    /// modes are, as required for a server's directory. `allowed` is the id of a user to whom it may belong.
    ///
    /// # Errors
    /// Returns [`KeyringError::ForeignDirectory`] if it belongs to another user than this one, root and the
    /// allowed one, or an error if the directory cannot be read. A directory that does not exist is not an
    /// error.
    pub fn check_owner(&self, allowed: Option<u32>) -> Result<(), KeyringError> {
        files::check_owner(&self.directory, allowed)
    }

    /// The path of the user's own identity.
    pub fn identity_file(&self) -> PathBuf {
        self.directory.join("identity")
    }

    /// The path of the list of people.
    pub fn people_file(&self) -> PathBuf {
        self.directory.join("people.json")
    }

    /// Reads the own identity; `None` if there is none yet.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, others may read it, or its contents are invalid.
    pub fn identity(&self) -> Result<Option<SecretKey>, KeyringError> {
        secret_in(&self.identity_file())
    }

    /// Reads the own identity, and creates it if there is none yet.
    ///
    /// # Errors
    /// Returns an error for the same reasons as [`Keyring::identity`], and if the file cannot be written.
    pub fn identity_or_new(&self) -> Result<SecretKey, KeyringError> {
        self.secret_or_new(&self.identity_file())
    }

    /// The key by which clients know the server of this directory; created if there is none. It is not the
    /// identity of a person.
    ///
    /// # Errors
    /// Returns an error for the same reasons as [`Keyring::identity_or_new`].
    pub fn server_key_or_new(&self) -> Result<SecretKey, KeyringError> {
        self.secret_or_new(&self.server_file())
    }

    pub(crate) fn server_file(&self) -> PathBuf {
        self.directory.join(SERVER_KEY)
    }

    fn secret_or_new(&self, path: &Path) -> Result<SecretKey, KeyringError> {
        if let Some(key) = secret_in(path)? {
            return Ok(key);
        }
        let key = SecretKey::generate()?;
        match self.set_secret(path, &key, false) {
            Ok(()) => Ok(key),
            // Another process was faster; both have to use the same identity.
            Err(KeyringError::Exists { path, key }) => {
                secret_in(&path)?.ok_or(KeyringError::Exists { path, key })
            }
            Err(error) => Err(error),
        }
    }

    /// Makes `key` the identity of this directory. With `replace`, the previous identity is overwritten.
    ///
    /// # Errors
    /// Returns an error if there is one that is not to be replaced, or the file cannot be written.
    pub fn set_identity(&self, key: &SecretKey, replace: bool) -> Result<(), KeyringError> {
        self.set_secret(&self.identity_file(), key, replace)
    }

    fn set_secret(&self, path: &Path, key: &SecretKey, replace: bool) -> Result<(), KeyringError> {
        let lock = files::lock(&self.directory)?;
        if !replace && let Some(before) = secret_in(path)? {
            return Err(KeyringError::Exists {
                path: path.to_owned(),
                key: *before.public_key(),
            });
        }
        let mut text = format!("{HEADER}\n{}\n", STANDARD.encode(key.seed())).into_bytes();
        let written = files::replace(path, &text, &lock);
        wipe(&mut text);
        written
    }

    /// Returns the trusted people.
    ///
    /// # Errors
    /// Returns an error if the list cannot be read, others may change it, or it makes no sense.
    pub fn people(&self) -> Result<Vec<Trusted>, KeyringError> {
        let entries = self.people_entries()?.into_iter();
        Ok(entries.map(PeopleEntry::into_trusted).collect())
    }

    pub(crate) fn people_entries(&self) -> Result<Vec<PeopleEntry>, KeyringError> {
        let path = self.people_file();
        match files::read(&path, Privacy::Public)? {
            Some(bytes) => people::read(&path, &bytes),
            None => Ok(Vec::new()),
        }
    }

    /// Trusts a person from now on; returns the previous trust. Tokens for `/mcp` of somebody who was not
    /// trusted until now, or had another role, are removed: a token opens nothing beyond the grant that it
    /// was made under.
    ///
    /// # Errors
    /// Returns an error if the list of people or that of tokens cannot be read or written, or the
    /// system has no randomness.
    pub fn trust(&self, somebody: Trusted) -> Result<Option<Trusted>, KeyringError> {
        let lock = files::lock(&self.directory)?;
        let key = somebody.public_key;
        let is_own = self
            .identity()
            .ok()
            .flatten()
            .is_some_and(|own| *own.public_key() == key);
        let people = self.people_entries()?;
        let known = people.iter().find(|known| known.public_key == key);
        let grant = match known.filter(|known| known.role == somebody.role) {
            Some(known) => known.grant.clone(),
            None => {
                if !is_own {
                    self.retain_mcp_tokens(|token| token.key != key, &lock)?;
                }
                let bytes = random_bytes::<9>();
                let bytes = bytes.map_err(|error| KeyError::NoRandomness(error.to_string()))?;
                Some(token_text(&bytes))
            }
        };
        let entry = PeopleEntry::new(somebody, grant);
        self.change(&lock, |people| {
            let known = people.iter_mut().find(|known| known.public_key == key);
            if let Some(known) = known {
                return Some(std::mem::replace(known, entry).into_trusted());
            }
            people.push(entry);
            None
        })
    }

    /// Removes the trust in a person, and their tokens for `/mcp`; returns the previous trust.
    ///
    /// # Errors
    /// Returns an error if the list of people cannot be read or written; then nothing has changed. Also
    /// returns an error if the list of tokens cannot; then the person is not trusted any more, and
    /// [`Keyring::trust`] removes the tokens.
    pub fn untrust(&self, key: &PublicKey) -> Result<Option<Trusted>, KeyringError> {
        let lock = files::lock(&self.directory)?;
        let before = self.change(&lock, |people| {
            let at = people.iter().position(|known| known.public_key == *key)?;
            Some(people.remove(at).into_trusted())
        })?;
        if before.is_some() {
            self.retain_mcp_tokens(|token| token.key != *key, &lock)?;
        }
        Ok(before)
    }

    /// Returns the person with this key, if this directory knows them. An unreadable file trusts no one.
    pub fn person(&self, key: &PublicKey) -> Option<KnownPerson> {
        let found = self.everybody().into_iter().find(|(known, _)| known == key);
        found.map(|(_, known)| known)
    }

    /// Everybody whom this directory knows, by their keys; the first entry of a key counts. An unreadable
    /// file adds nobody.
    pub fn everybody(&self) -> Vec<(PublicKey, KnownPerson)> {
        let operator = |name, grant| KnownPerson {
            owner: OwnerId::new(OPERATOR),
            name,
            operator: true,
            approver: false,
            grant,
        };
        let own = self.identity().ok().flatten();
        let own = own.map(|own| (*own.public_key(), operator(None, None)));
        let others = self.people_entries().unwrap_or_default();
        let others = others.into_iter().map(|other| {
            let known = match other.role {
                TrustedAs::Operator => operator(other.name, other.grant),
                TrustedAs::Member | TrustedAs::Approver => KnownPerson {
                    owner: owner_of(&other.public_key),
                    name: other.name,
                    operator: false,
                    approver: other.role == TrustedAs::Approver,
                    grant: other.grant,
                },
            };
            (other.public_key, known)
        });
        own.into_iter().chain(others).collect()
    }

    /// Returns the state of the files: taken before they are read, it shows later whether they have to be
    /// read again.
    pub fn stamp(&self) -> Stamp {
        Stamp::of([&self.identity_file(), &self.people_file()])
    }

    /// Reads the list, changes it, and writes it if it differs, under the lock.
    fn change<T>(
        &self,
        lock: &agentx_files::FileLock,
        change: impl FnOnce(&mut Vec<PeopleEntry>) -> T,
    ) -> Result<T, KeyringError> {
        let path = self.people_file();
        let before = self.people_entries()?;
        let mut people = before.clone();
        let result = change(&mut people);
        if people != before {
            files::replace(&path, &people::write(&path, &people)?, lock)?;
        }
        Ok(result)
    }
}

/// The secret key in a file; `None` if there is no file.
pub(crate) fn secret_in(path: &Path) -> Result<Option<SecretKey>, KeyringError> {
    let Some(mut bytes) = files::read(path, Privacy::Secret)? else {
        return Ok(None);
    };
    let key = read_identity(path, &bytes);
    wipe(&mut bytes);
    key.map(Some)
}

fn read_identity(path: &Path, bytes: &[u8]) -> Result<SecretKey, KeyringError> {
    let damaged = |line, what: &str| KeyringError::Damaged {
        path: path.to_owned(),
        line,
        what: what.to_owned(),
    };
    let mut lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    if lines.next() != Some(HEADER.as_bytes()) {
        return Err(damaged(1, "this version cannot read this identity"));
    }
    let mut decoded = STANDARD
        .decode(lines.next().unwrap_or_default())
        .unwrap_or_default();
    let key = match <&[u8; 32]>::try_from(decoded.as_slice()) {
        Ok(seed) => SecretKey::from_seed(seed).map_err(KeyringError::from),
        Err(_) => Err(damaged(2, "not the base64 of 32 bytes")),
    };
    wipe(&mut decoded);
    if lines.any(|line| !line.is_empty()) {
        return Err(damaged(3, "unexpected data after the identity"));
    }
    key
}

#[cfg(all(test, unix))]
mod tests;
