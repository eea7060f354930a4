//! Hashes the bytes that a person saw, so that their decision applies to these bytes only.

/// Returns the BLAKE3 hash of the bytes, in hexadecimal.
pub(crate) fn digest(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// The first 16 letters of the hash of a text: enough to tell two texts apart, and short enough to be read.
pub(crate) fn short_digest(text: &str) -> String {
    let mut hash = digest(text.as_bytes());
    hash.truncate(16);
    hash
}
