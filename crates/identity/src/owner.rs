//! The id of a person, made from their key, so that every server gives the same person the same id.

use agentx_types::OwnerId;

use crate::PublicKey;

/// The owner of sessions that are created on this machine without an identity: the operator of its
/// server.
pub const OPERATOR: &str = "own_local";

/// Letters of an id after `own_`: 130 bits of the hash.
const LETTERS: usize = 26;

/// Returns the owner id of a key: `own_` and 26 letters, the lowercase base32 of the key's SHA-256.
pub fn owner_of(key: &PublicKey) -> OwnerId {
    let hash = ring::digest::digest(&ring::digest::SHA256, key.as_bytes());
    let mut letters = base32(hash.as_ref());
    letters.truncate(LETTERS);
    OwnerId::with_suffix(letters)
}

/// RFC 4648 in lowercase, without padding.
fn base32(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let bit = |at: usize| {
        let byte = bytes.get(at / 8).copied().unwrap_or(0);
        usize::from(byte >> (7 - at % 8) & 1)
    };
    let letter = |at: usize| {
        let index = (at..at + 5).fold(0, |index, at| index << 1 | bit(at));
        char::from(ALPHABET[index])
    };
    (0..bytes.len() * 8).step_by(5).map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base32_is_that_of_the_rfc() {
        let table = [
            ("", ""),
            ("f", "my"),
            ("fo", "mzxq"),
            ("foo", "mzxw6"),
            ("foob", "mzxw6yq"),
            ("fooba", "mzxw6ytb"),
            ("foobar", "mzxw6ytboi"),
        ];
        for (bytes, text) in table {
            assert_eq!(base32(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn the_id_of_a_key_stays_as_it_is() {
        let owner = owner_of(&PublicKey::from_bytes([7; 32]));
        assert_eq!(owner.as_str(), "own_joyg7dsohj3rluqb2vz5bkscg5");
    }
}
