//! The hash by which a person's decision is tied to the bytes that they saw.

/// Returns the BLAKE3 hash of the bytes, in hexadecimal.
pub(crate) fn digest(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}
