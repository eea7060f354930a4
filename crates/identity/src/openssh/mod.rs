//! Keys in the formats of OpenSSH, so that a person can use an existing identity.

mod private;

use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ssh_key::Error;
use ssh_key::public::{Ed25519PublicKey, KeyData};

use crate::base64url;
use crate::key::PREFIX;
use crate::{KeyError, PublicKey};

/// The kind of key that is taken.
const KIND: &str = "ssh-ed25519";
/// The prefixes of the other kinds without a security key.
const OTHER_KINDS: &[&str] = &[
    "ssh-rsa",
    "ssh-dss",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
];

impl PublicKey {
    /// The line that OpenSSH keeps in `.pub` files. Line breaks of the comment become spaces.
    pub fn to_openssh(&self, comment: &str) -> String {
        public_line(self, comment)
    }
}

impl FromStr for PublicKey {
    type Err = KeyError;

    /// Reads `ed25519:…`, or the line of an OpenSSH `.pub` file.
    fn from_str(text: &str) -> Result<Self, KeyError> {
        let text = text.trim();
        let key = match text.strip_prefix(PREFIX) {
            Some(letters) => base64url::read(letters)
                .map(Self::from_bytes)
                .ok_or(KeyError::PublicText),
            None => read_public_line(text),
        }?;
        if key.has_small_order() {
            Err(KeyError::SmallOrder)
        } else {
            Ok(key)
        }
    }
}

/// The line of a `.pub` file.
fn public_line(key: &PublicKey, comment: &str) -> String {
    let comment = comment.split(char::is_control).collect::<Vec<_>>().join(" ");
    ssh_key::PublicKey::new(key_data(key), comment.trim()).to_string()
}

/// Reads the line of a `.pub` file.
pub(crate) fn read_public_line(line: &str) -> Result<PublicKey, KeyError> {
    let mut words = line.split_whitespace();
    let (Some(kind), Some(letters)) = (words.next(), words.next()) else {
        return Err(KeyError::NoPublicKey);
    };
    if kind != KIND {
        return Err(if is_kind(kind) {
            other_kind(kind)
        } else {
            KeyError::NoPublicKey
        });
    }
    // The kind in the key itself takes precedence over the word before it.
    if let Ok(blob) = STANDARD.decode(letters) {
        check_kind(&blob)?;
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

/// Returns whether `word` is an OpenSSH key type, or the type of a certificate. Errors do not repeat other
/// words, because they may be secrets of something else.
fn is_kind(word: &str) -> bool {
    let name = word.strip_suffix("-cert-v01@openssh.com").unwrap_or(word);
    let is_of_security_key = || {
        let name = word
            .strip_prefix("sk-")
            .and_then(|name| name.strip_suffix("@openssh.com"));
        name.is_some_and(|name| {
            name.len() <= 64 && name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-')
        })
    };
    name == KIND && name != word || OTHER_KINDS.contains(&name) || is_of_security_key()
}

/// Checks that a public key, in the format of OpenSSH's files, has the only supported kind. A key that is too
/// short for a kind is left to the library.
fn check_kind(blob: &[u8]) -> Result<(), KeyError> {
    match string(blob) {
        None => Ok(()),
        Some((kind, _)) if kind == KIND.as_bytes() => Ok(()),
        Some((kind, _)) => Err(match std::str::from_utf8(kind) {
            Ok(kind) if is_kind(kind) => other_kind(kind),
            _ => KeyError::Damaged {
                what: "it does not say what kind of key it is",
            },
        }),
    }
}

/// Splits off a length of four bytes and that many bytes. Returns the bytes and the rest; `None` if there are
/// fewer.
fn string(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    rest.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)
}

fn other_kind(kind: &str) -> KeyError {
    KeyError::OtherKind {
        kind: kind.to_owned(),
    }
}

/// Converts the library's error about an unreadable key.
pub(crate) fn damaged(error: Error) -> KeyError {
    let what = match error {
        Error::Crypto => "its check numbers or its halves do not belong together",
        Error::PublicKey => "its public half belongs to another key",
        Error::TrailingData { .. } => "something follows the key",
        Error::FormatEncoding => "its end is not what OpenSSH writes",
        Error::Encoding(_) => "a part of it has another length",
        _ => "it is not what OpenSSH writes",
    };
    KeyError::Damaged { what }
}
