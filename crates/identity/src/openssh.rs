//! Keys as OpenSSH writes them, so that a person can be who they are already.

pub(crate) mod private;

use ssh_key::public::{Ed25519PublicKey, KeyData};
use ssh_key::{Algorithm, Error};

use crate::PublicKey;

/// Why something is no key or no signature.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// A text that begins like a public key.
    #[error("not a public key: `ed25519:` must be followed by 43 characters of base64url")]
    PublicText,
    /// A point in whose name anybody can sign.
    #[error("not a usable key: it is a point of small order, for which anyone could sign")]
    SmallOrder,
    /// A text that is no signature.
    #[error("not a signature: expected 86 characters of base64url")]
    SignatureText,
    /// A text that is nothing of ours.
    #[error(
        "not a public key: expected `ed25519:…` or the line of an OpenSSH .pub file (`ssh-ed25519 AAAA…`)"
    )]
    NoPublicKey,
    /// An OpenSSH key of another kind.
    #[error(
        "unsupported key type {kind}; only ed25519 keys are supported: `ssh-keygen -t ed25519` creates one"
    )]
    OtherKind {
        /// The type of the key, as OpenSSH names it.
        kind: String,
    },
    /// A file that is no private key of OpenSSH.
    #[error(
        "not an OpenSSH private key, which begins with `-----BEGIN OPENSSH PRIVATE KEY-----`; `ssh-keygen -t \
         ed25519` creates one"
    )]
    NoSecretKey,
    /// The other file.
    #[error("this is a public key; the private key is in the file without .pub")]
    PublicHalf,
    /// A private key with a passphrase.
    #[error("the key has a passphrase, which is needed to read it")]
    Encrypted,
    /// Another passphrase than that of the key.
    #[error("this is not the passphrase of the key")]
    WrongPassphrase,
    /// The line or the file is not what OpenSSH writes.
    #[error("the OpenSSH key is damaged: {what}")]
    Damaged {
        /// What is wrong with it.
        what: &'static str,
    },
    /// No key can be made.
    #[error("{0}")]
    NoRandomness(String),
    /// The library says no.
    #[error("the key is not usable")]
    Rejected,
}

/// The line of a `.pub` file.
pub(crate) fn public_line(key: &PublicKey, comment: &str) -> String {
    let comment = comment.split(char::is_control).collect::<Vec<_>>().join(" ");
    ssh_key::PublicKey::new(key_data(key), comment.trim()).to_string()
}

/// Reads the line of a `.pub` file.
pub(crate) fn read_public_line(line: &str) -> Result<PublicKey, KeyError> {
    let mut words = line.split_whitespace();
    let (Some(kind), Some(letters)) = (words.next(), words.next()) else {
        return Err(KeyError::NoPublicKey);
    };
    match Algorithm::new(kind) {
        Ok(Algorithm::Ed25519) => {}
        Ok(Algorithm::Other(_)) | Err(_) => return Err(KeyError::NoPublicKey),
        Ok(other) => return Err(other_kind(other.as_str())),
    }
    let read = ssh_key::PublicKey::from_openssh(&format!("{kind} {letters}"));
    public_key(read.map_err(damaged)?.key_data())
}

/// The key as the library has it.
pub(crate) fn key_data(key: &PublicKey) -> KeyData {
    KeyData::Ed25519(Ed25519PublicKey(*key.as_bytes()))
}

/// The key, if it is of the one kind that is taken.
pub(crate) fn public_key(key: &KeyData) -> Result<PublicKey, KeyError> {
    match key {
        KeyData::Ed25519(key) => Ok(PublicKey::from_bytes(key.0)),
        other => Err(other_kind(other.algorithm().as_str())),
    }
}

fn other_kind(kind: &str) -> KeyError {
    KeyError::OtherKind {
        kind: kind.to_owned(),
    }
}

/// What the library says about a key that it cannot read.
pub(crate) fn damaged(error: Error) -> KeyError {
    let what = match error {
        // The library knows these kinds and is built without them.
        Error::AlgorithmUnknown => return other_kind("ecdsa"),
        Error::AlgorithmUnsupported { algorithm } => return other_kind(algorithm.as_str()),
        Error::Crypto | Error::PublicKey => "its parts do not belong together",
        Error::TrailingData { .. } => "something follows the key",
        Error::Encoding(_) => "a part of it has another length",
        _ => "it is not what OpenSSH writes",
    };
    KeyError::Damaged { what }
}
