//! OpenSSH's private key files (`PROTOCOL.key` of its sources): Ed25519, with a passphrase or without one.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ssh_key::private::{Ed25519Keypair, Ed25519PrivateKey, KeypairData, PrivateKey};
use ssh_key::public::Ed25519PublicKey;
use ssh_key::{Kdf, LineEnding};

use super::{check_kind, damaged, public_key, string};
use crate::key::wipe;
use crate::{KeyError, SecretKey};

const BEGIN: &str = "-----BEGIN OPENSSH PRIVATE KEY-----";
const END: &str = "-----END OPENSSH PRIVATE KEY-----";
/// The magic bytes of a file's content.
const MAGIC: &[u8] = b"openssh-key-v1\0";
/// The most rounds of bcrypt that a passphrase is hashed with, about a minute; `ssh-keygen` writes 16 or 24
/// unless it is configured otherwise.
const MAX_ROUNDS: u32 = 10_000;

impl SecretKey {
    /// Reads a private key file of OpenSSH: Ed25519, without a passphrase.
    ///
    /// # Errors
    /// Returns [`KeyError::Encrypted`] if the key has a passphrase, [`KeyError::TooManyRounds`] if trying a
    /// passphrase would take too long, and another error if the file is not such a key.
    pub fn from_openssh(file: &[u8]) -> Result<Self, KeyError> {
        read(file)
    }

    /// Reads a private key file of OpenSSH with its passphrase, which is overwritten afterwards.
    ///
    /// # Errors
    /// Returns [`KeyError::WrongPassphrase`] if the passphrase is wrong, and an error for the same reasons as
    /// [`from_openssh`](Self::from_openssh).
    #[cfg(feature = "passphrases")]
    pub fn from_encrypted_openssh(file: &[u8], passphrase: String) -> Result<Self, KeyError> {
        let mut passphrase = passphrase.into_bytes();
        let key = read_encrypted(file, &passphrase);
        wipe(&mut passphrase);
        key
    }

    /// Exposes the secret, as a private key file of OpenSSH that anybody can use.
    ///
    /// # Errors
    /// Returns an error if the comment is too long for the file format.
    pub fn expose_openssh(&self, comment: &str) -> Result<String, KeyError> {
        write(self, comment)
    }
}

/// Reads a private key file that has no passphrase.
fn read(text: &[u8]) -> Result<SecretKey, KeyError> {
    let key = parse(text)?;
    if key.is_encrypted() {
        check_rounds(key.kdf())?;
        return Err(KeyError::Encrypted);
    }
    secret_key(&key)
}

/// Refuses a file that would keep the program busy for hours: the file itself sets the number of hash rounds
/// for the passphrase.
fn check_rounds(derivation: &Kdf) -> Result<(), KeyError> {
    match derivation {
        Kdf::Bcrypt { rounds: 0, .. } => Err(KeyError::Damaged {
            what: "it asks for no rounds of bcrypt",
        }),
        Kdf::Bcrypt { rounds, .. } if *rounds > MAX_ROUNDS => Err(KeyError::TooManyRounds {
            rounds: *rounds,
            most: MAX_ROUNDS,
        }),
        _ => Ok(()),
    }
}

/// Reads a private key file with its passphrase. A file without a passphrase is read too.
#[cfg(feature = "passphrases")]
fn read_encrypted(text: &[u8], passphrase: &[u8]) -> Result<SecretKey, KeyError> {
    let key = parse(text)?;
    if !key.is_encrypted() {
        return secret_key(&key);
    }
    check_rounds(key.kdf())?;
    // With another passphrase the two check numbers differ.
    let decrypted = key.decrypt(passphrase).map_err(|error| match error {
        ssh_key::Error::Crypto => KeyError::WrongPassphrase,
        error => damaged(error),
    })?;
    secret_key(&decrypted)
}

/// Writes a private key file without a passphrase.
fn write(key: &SecretKey, comment: &str) -> Result<String, KeyError> {
    let pair = Ed25519Keypair {
        public: Ed25519PublicKey(*key.public_key().as_bytes()),
        private: Ed25519PrivateKey::from_bytes(key.seed()),
    };
    let written = PrivateKey::new(KeypairData::Ed25519(pair), comment);
    let text = written.and_then(|key| key.to_openssh(LineEnding::LF));
    text.map(|text| text.to_string()).map_err(damaged)
}

fn parse(text: &[u8]) -> Result<PrivateKey, KeyError> {
    let mut letters = letters(text)?;
    let decoded = STANDARD.decode(&letters);
    wipe(&mut letters);
    let mut blob = decoded.map_err(|_| KeyError::Damaged {
        what: "it is not base64",
    })?;
    let key = check_header(&blob).and_then(|()| PrivateKey::from_bytes(&blob).map_err(damaged));
    wipe(&mut blob);
    let key = key?;
    public_key(key.public_key().key_data())?;
    Ok(key)
}

/// Checks the version, the number of keys and the kind of the key, which come before the passphrase: nobody
/// is asked for the passphrase of an unsupported key, and the library does not name a kind that it is built
/// without. A file that is too short is left to it.
fn check_header(blob: &[u8]) -> Result<(), KeyError> {
    let damaged = |what| Err(KeyError::Damaged { what });
    let Some(rest) = blob.strip_prefix(MAGIC) else {
        return damaged("its version is not known");
    };
    let Some((cipher, rest)) = string(rest) else {
        return Ok(());
    };
    // The key derivation of the cipher, and its options.
    let behind = |rest| string(rest).map(|(_, rest)| rest);
    let keys = behind(rest).and_then(behind);
    let Some((keys, rest)) = keys.and_then(|rest| rest.split_first_chunk::<4>()) else {
        return Ok(());
    };
    if *keys != [0, 0, 0, 1] {
        return damaged("it does not hold exactly one key");
    }
    let Some((public, rest)) = string(rest) else {
        return Ok(());
    };
    check_kind(public)?;
    // Some ciphers write a tag behind the secret part.
    let is_longer = behind(rest).is_some_and(|rest| !rest.is_empty());
    if cipher == b"none" && is_longer {
        return damaged("something follows the key");
    }
    Ok(())
}

/// The lines between the first and the last one. The library accepts only lines of 70 letters, and other
/// programs write other lengths.
fn letters(text: &[u8]) -> Result<Vec<u8>, KeyError> {
    let mut lines = text
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::trim_ascii)
        .skip_while(|line| line.is_empty());
    let first = lines.next().unwrap_or_default();
    if first != BEGIN.as_bytes() {
        let is_public = std::str::from_utf8(first).is_ok_and(|line| super::read_public_line(line).is_ok());
        return Err(if is_public {
            KeyError::PublicHalf
        } else {
            KeyError::NoSecretKey
        });
    }
    // Allocated with its final size: a vector that grows leaves pieces of the secret behind.
    let mut letters = Vec::with_capacity(text.len());
    for line in lines {
        if line == END.as_bytes() {
            return Ok(letters);
        }
        letters.extend_from_slice(line);
    }
    wipe(&mut letters);
    Err(KeyError::Damaged {
        what: "its last line is missing",
    })
}

/// The key, if its two halves belong together: the library compares the public halves only.
fn secret_key(key: &PrivateKey) -> Result<SecretKey, KeyError> {
    let KeypairData::Ed25519(pair) = key.key_data() else {
        return Err(damaged(ssh_key::Error::PublicKey));
    };
    let secret = SecretKey::from_seed(pair.private.as_ref())?;
    if secret.public_key().as_bytes() == &pair.public.0 {
        Ok(secret)
    } else {
        Err(damaged(ssh_key::Error::PublicKey))
    }
}

#[cfg(test)]
mod tests;
