//! OpenSSH's private key files (`PROTOCOL.key` of its sources): Ed25519, with a passphrase or without one.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ssh_key::LineEnding;
use ssh_key::private::{Ed25519Keypair, Ed25519PrivateKey, KeypairData, PrivateKey};
use ssh_key::public::Ed25519PublicKey;

use super::{damaged, public_key};
use crate::key::wipe;
use crate::{KeyError, SecretKey};

const BEGIN: &str = "-----BEGIN OPENSSH PRIVATE KEY-----";
const END: &str = "-----END OPENSSH PRIVATE KEY-----";

/// Reads a private key file that has no passphrase.
pub(crate) fn read(text: &[u8]) -> Result<SecretKey, KeyError> {
    let key = parse(text)?;
    if key.is_encrypted() {
        return Err(KeyError::Encrypted);
    }
    secret_key(&key)
}

/// Reads a private key file with its passphrase. A file without one needs none, and is read all the same.
#[cfg(feature = "passphrases")]
pub(crate) fn read_encrypted(text: &[u8], passphrase: &[u8]) -> Result<SecretKey, KeyError> {
    let key = parse(text)?;
    if !key.is_encrypted() {
        return secret_key(&key);
    }
    // With another passphrase the two check numbers differ.
    let decrypted = key.decrypt(passphrase).map_err(|error| match error {
        ssh_key::Error::Crypto => KeyError::WrongPassphrase,
        error => damaged(error),
    })?;
    secret_key(&decrypted)
}

/// Writes a private key file without a passphrase.
pub(crate) fn write(key: &SecretKey, comment: &str) -> Result<String, KeyError> {
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
    let key = PrivateKey::from_bytes(&blob);
    wipe(&mut blob);
    let key = key.map_err(damaged)?;
    // The kind comes before the passphrase: nobody is asked for the passphrase of a key that is not taken.
    public_key(key.public_key().key_data())?;
    Ok(key)
}

/// The lines between the first and the last one. The library takes only lines of 70 letters, and other programs write other ones.
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
    // Of its final size at once: a vector that grows leaves pieces of the secret behind.
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
