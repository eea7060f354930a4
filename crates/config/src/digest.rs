//! Hashes the bytes that a person saw, so that their decision applies to these bytes only.

/// Returns the BLAKE3 hash of the bytes, in hexadecimal.
pub(crate) fn digest(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}
