//! Bytes as text, for digests, keys and signatures.

use std::fmt::Write as _;

/// Returns bytes in hexadecimal digits, two lower-case ones a byte.
///
/// ```
/// assert_eq!(agentx_types::hex(&[0, 10, 255]), "000aff");
/// ```
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
