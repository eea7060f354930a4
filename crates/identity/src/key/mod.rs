//! Keys and signatures: Ed25519, by `ring`. A secret key is never displayed, and is overwritten when it is
//! dropped.

use std::fmt;
use std::hint::black_box;
use std::str::FromStr;

use agentx_types::hex;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};

use crate::base64url::{self, as_text};
use crate::{KeyError, NoRandomness, random_bytes};

/// The prefix of the text of a public key.
pub(crate) const PREFIX: &str = "ed25519:";

/// The seven encodings, without the sign, of the points whose order divides eight. Under such a key anybody
/// can make a signature that is valid for every text (with `R` the neutral element and `S` zero), and the
/// verification of RFC 8032 does not exclude them.
const SMALL_ORDER: [&str; 7] = [
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
];

/// The bytes before an Ed25519 key in its `SubjectPublicKeyInfo` (DER):
/// <https://www.rfc-editor.org/rfc/rfc8410#section-4>.
const SPKI_PREFIX: [u8; 12] = [
    0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00,
];

/// A person, as everybody may know them: `ed25519:` and 32 bytes in base64url.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey([u8; 32]);

impl PublicKey {
    /// Accepts any bytes; whether they are a key shows when they verify something.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns whether the holder of this key signed exactly these bytes. Always `false` for a key of small
    /// order.
    #[must_use]
    pub fn verify(&self, message: &[u8], signature: &Signature) -> bool {
        let verified = UnparsedPublicKey::new(&ED25519, &self.0).verify(message, &signature.0);
        verified.is_ok() && !self.has_small_order()
    }

    /// Returns whether this is a point of small order: then it is nobody's key, because anybody could sign
    /// with it.
    pub fn has_small_order(&self) -> bool {
        let mut bytes = self.0;
        bytes[31] &= 0x7f;
        SMALL_ORDER.contains(&hex(&bytes).as_str())
    }

    /// The key as TLS carries it, a `SubjectPublicKeyInfo` in DER.
    pub fn to_spki(&self) -> Vec<u8> {
        [&SPKI_PREFIX[..], &self.0[..]].concat()
    }

    /// Reads the form that [`PublicKey::to_spki`] writes.
    ///
    /// # Errors
    /// Returns [`KeyError::SmallOrder`] for a key of small order, and [`KeyError::Rejected`] for anything
    /// else.
    pub fn from_spki(der: &[u8]) -> Result<Self, KeyError> {
        let bytes = der.strip_prefix(&SPKI_PREFIX[..]);
        let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
        let key = Self(bytes.ok_or(KeyError::Rejected)?);
        if key.has_small_order() {
            Err(KeyError::SmallOrder)
        } else {
            Ok(key)
        }
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", base64url::write(&self.0))
    }
}

as_text!(PublicKey);

/// A signature: 64 bytes, as text in base64url.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Signature([u8; 64]);

impl Signature {
    /// Accepts any bytes.
    pub fn from_bytes(bytes: [u8; 64]) -> Self {
        Self(bytes)
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8; 64] {
        &self.0
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&base64url::write(&self.0))
    }
}

impl FromStr for Signature {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        base64url::read(text).map(Self).ok_or(KeyError::SignatureText)
    }
}

as_text!(Signature);

/// A secret key. It has no `Clone`, no `Display`, no serialization, and its `Debug` shows the public key.
///
/// Both parts are on the heap, so that moving the key leaves no copies behind, and are overwritten when it is
/// dropped.
pub struct SecretKey {
    seed: Box<[u8; 32]>,
    pair: Box<Ed25519KeyPair>,
    public: PublicKey,
}

impl SecretKey {
    /// A new key.
    ///
    /// # Errors
    /// Returns an error if the system has no randomness.
    pub fn generate() -> Result<Self, KeyError> {
        let mut seed =
            random_bytes().map_err(|error: NoRandomness| KeyError::NoRandomness(error.to_string()))?;
        let key = Self::from_seed(&seed);
        wipe(&mut seed);
        key
    }

    /// The key of a seed, which is what RFC 8032 calls the private key.
    ///
    /// # Errors
    /// Returns [`KeyError::Rejected`] if the library rejects the seed; no such seed is known, because every
    /// 32 bytes are one.
    pub fn from_seed(seed: &[u8; 32]) -> Result<Self, KeyError> {
        let pair = Ed25519KeyPair::from_seed_unchecked(seed).map_err(|_| KeyError::Rejected)?;
        let public = pair.public_key().as_ref().try_into();
        Ok(Self {
            public: PublicKey(public.map_err(|_| KeyError::Rejected)?),
            seed: Box::new(*seed),
            pair: Box::new(pair),
        })
    }

    /// Returns the public key.
    pub fn public_key(&self) -> &PublicKey {
        &self.public
    }

    /// Signs these bytes. For a server's challenge there is [`sign_challenge`](crate::sign_challenge).
    pub fn sign(&self, message: &[u8]) -> Signature {
        let mut bytes = [0; 64];
        let signed = self.pair.sign(message);
        bytes.copy_from_slice(signed.as_ref());
        Signature(bytes)
    }

    /// The secret itself, for writing it to a file.
    pub(crate) fn seed(&self) -> &[u8; 32] {
        &self.seed
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey(<hidden> of {})", self.public)
    }
}

impl Drop for SecretKey {
    fn drop(&mut self) {
        wipe(&mut *self.seed);
        if let Ok(nobodys) = Ed25519KeyPair::from_seed_unchecked(&[0; 32]) {
            *self.pair = nobodys;
            black_box(&self.pair);
        }
    }
}

/// Overwrites a secret. Without `unsafe` this is the best possible way: the compiler has to assume that the
/// zeros are read.
pub(crate) fn wipe(secret: &mut [u8]) {
    secret.fill(0);
    black_box(secret);
}

#[cfg(test)]
mod tests;
