//! Keys as OpenSSH writes them, so that a person can be who they are already.

pub(crate) mod private;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::PublicKey;

/// What OpenSSH calls this kind of key.
const KIND: &str = "ssh-ed25519";

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
    #[error(
        "the key has a passphrase, which is not supported; remove it from a copy of the file (`ssh-keygen -p \
         -N '' -f COPY`), and delete the copy afterwards"
    )]
    Encrypted,
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
    let line = format!("{KIND} {} {}", STANDARD.encode(public_blob(key)), comment.trim());
    line.trim_end().to_owned()
}

/// Reads the line of a `.pub` file.
pub(crate) fn read_public_line(line: &str) -> Result<PublicKey, KeyError> {
    let mut words = line.split_whitespace();
    let (Some(kind), Some(letters)) = (words.next(), words.next()) else {
        return Err(KeyError::NoPublicKey);
    };
    if kind != KIND {
        return Err(if looks_like_a_kind(kind) {
            KeyError::OtherKind {
                kind: kind.to_owned(),
            }
        } else {
            KeyError::NoPublicKey
        });
    }
    let blob = STANDARD
        .decode(letters)
        .map_err(|_| damaged("its second word is not base64"))?;
    read_public_blob(&blob)
}

fn looks_like_a_kind(word: &str) -> bool {
    let letters = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '@' | '.');
    ["ssh-", "ecdsa-", "sk-"]
        .iter()
        .any(|start| word.starts_with(start))
        && word.len() <= 64
        && word.chars().all(letters)
}

/// The key as OpenSSH has it in its files: the kind, then the 32 bytes.
pub(crate) fn public_blob(key: &PublicKey) -> Vec<u8> {
    let mut blob = Vec::new();
    put(&mut blob, KIND.as_bytes());
    put(&mut blob, key.as_bytes());
    blob
}

pub(crate) fn read_public_blob(blob: &[u8]) -> Result<PublicKey, KeyError> {
    let mut reader = KeyReader(blob);
    reader.kind()?;
    let key = reader.array().map(PublicKey::from_bytes)?;
    reader.end().map(|()| key)
}

/// Appends a length and that many bytes. What is written here is short.
fn put(blob: &mut Vec<u8>, bytes: &[u8]) {
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    blob.extend_from_slice(&length.to_be_bytes());
    blob.extend_from_slice(bytes);
}

pub(crate) fn damaged(what: &'static str) -> KeyError {
    KeyError::Damaged { what }
}

/// Reads what [`put`] wrote. Nothing is believed: every length is compared with what is there.
pub(crate) struct KeyReader<'a>(pub(crate) &'a [u8]);

impl<'a> KeyReader<'a> {
    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'a [u8], KeyError> {
        let (bytes, rest) = self
            .0
            .split_at_checked(count)
            .ok_or(damaged("it is shorter than its length field says"))?;
        self.0 = rest;
        Ok(bytes)
    }

    pub(crate) fn number(&mut self) -> Result<u32, KeyError> {
        let bytes = self.bytes(4)?;
        bytes
            .try_into()
            .map(u32::from_be_bytes)
            .map_err(|_| damaged("it is shorter than its length field says"))
    }

    pub(crate) fn string(&mut self) -> Result<&'a [u8], KeyError> {
        let length = self.number()?;
        self.bytes(usize::try_from(length).unwrap_or(usize::MAX))
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], KeyError> {
        let bytes = self.string()?;
        bytes
            .try_into()
            .map_err(|_| damaged("a field has the wrong length"))
    }

    /// The kind of key that follows has to be ours.
    pub(crate) fn kind(&mut self) -> Result<(), KeyError> {
        let kind = self.string()?;
        if kind == KIND.as_bytes() {
            return Ok(());
        }
        match std::str::from_utf8(kind) {
            Ok(kind) if looks_like_a_kind(kind) => Err(KeyError::OtherKind {
                kind: kind.to_owned(),
            }),
            _ => Err(damaged("the key type is missing")),
        }
    }

    pub(crate) fn end(&self) -> Result<(), KeyError> {
        if self.0.is_empty() {
            return Ok(());
        }
        Err(damaged("unexpected data after the key"))
    }
}
