//! OpenSSH's private key files (`PROTOCOL.key` of its sources): Ed25519, without a passphrase.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{KIND, KeyReader, damaged, public_blob, put, read_public_blob};
use crate::key::wipe;
use crate::{KeyError, SecretKey};

const BEGIN: &str = "-----BEGIN OPENSSH PRIVATE KEY-----";
const END: &str = "-----END OPENSSH PRIVATE KEY-----";
const MAGIC: &[u8] = b"openssh-key-v1\0";
/// What the secret part is filled up to if nothing encrypts it.
const BLOCK: usize = 8;
/// Letters of a line, as OpenSSH writes them.
const LINE: usize = 70;

/// Reads a private key file.
pub(crate) fn read(text: &[u8]) -> Result<SecretKey, KeyError> {
    let mut letters = letters(text)?;
    let decoded = STANDARD.decode(&letters);
    wipe(&mut letters);
    let mut blob = decoded.map_err(|_| damaged("it is not base64"))?;
    let key = read_blob(&blob);
    wipe(&mut blob);
    key
}

/// What stands between the first line and the last one.
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
    Err(damaged("its last line is missing"))
}

fn read_blob(blob: &[u8]) -> Result<SecretKey, KeyError> {
    let mut outer = KeyReader(blob.strip_prefix(MAGIC).ok_or(damaged("unknown version"))?);
    let (cipher, derivation) = (outer.string()?, outer.string()?);
    outer.string()?;
    if outer.number()? != 1 {
        return Err(damaged("it does not contain exactly one key"));
    }
    // The kind before the passphrase: of a key that is of no use here nobody needs to take the passphrase away.
    let public = read_public_blob(outer.string()?)?;
    if cipher != b"none" || derivation != b"none" {
        return Err(KeyError::Encrypted);
    }
    let mut secret = KeyReader(outer.string()?);
    outer.end()?;
    if secret.number()? != secret.number()? {
        return Err(damaged("its two check values differ"));
    }
    secret.kind()?;
    let inner: [u8; 32] = secret.array()?;
    let pair = secret.string()?;
    secret.string()?;
    if !secret.0.iter().copied().eq((1..=u8::MAX).take(secret.0.len())) || secret.0.len() >= BLOCK {
        return Err(damaged("invalid padding at its end"));
    }
    let Some((seed, again)) = pair.split_first_chunk::<32>() else {
        return Err(damaged("a field has the wrong length"));
    };
    let key = SecretKey::from_seed(seed)?;
    if *key.public_key() == public && inner == *public.as_bytes() && again == public.as_bytes() {
        Ok(key)
    } else {
        Err(damaged("its public half belongs to another key"))
    }
}

/// Writes a private key file.
pub(crate) fn write(key: &SecretKey, comment: &str) -> String {
    let public = key.public_key();
    // Both numbers only show whether a passphrase was right, and there is none.
    let check = &public.as_bytes()[..4];
    let mut secret = Vec::with_capacity(1024 + comment.len());
    secret.extend_from_slice(check);
    secret.extend_from_slice(check);
    put(&mut secret, KIND.as_bytes());
    put(&mut secret, public.as_bytes());
    let mut pair = [0; 64];
    pair[..32].copy_from_slice(key.seed());
    pair[32..].copy_from_slice(public.as_bytes());
    put(&mut secret, &pair);
    wipe(&mut pair);
    put(&mut secret, comment.as_bytes());
    let missing = secret.len().next_multiple_of(BLOCK) - secret.len();
    secret.extend((1..=u8::MAX).take(missing));
    let mut blob = Vec::with_capacity(1024 + secret.len());
    blob.extend_from_slice(MAGIC);
    for part in [b"none", b"none", &b""[..]] {
        put(&mut blob, part);
    }
    blob.extend_from_slice(&1_u32.to_be_bytes());
    put(&mut blob, &public_blob(public));
    put(&mut blob, &secret);
    wipe(&mut secret);
    let mut letters = STANDARD.encode(&blob).into_bytes();
    wipe(&mut blob);
    let mut text = String::with_capacity(letters.len() * 2 + 128);
    text.push_str(BEGIN);
    for line in letters.chunks(LINE) {
        text.push('\n');
        text.extend(line.iter().copied().map(char::from));
    }
    wipe(&mut letters);
    text.push('\n');
    text.push_str(END);
    text.push('\n');
    text
}

#[cfg(test)]
mod tests;
