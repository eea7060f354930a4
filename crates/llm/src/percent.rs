//! Percent-encoding of paths and forms.

use std::fmt::Write as _;

/// Percent-encodes all but RFC 3986's unreserved characters, and slashes if they stay.
pub(crate) fn encode(text: &str, keep_slashes: bool) -> String {
    let mut coded = String::with_capacity(text.len());
    for byte in text.bytes() {
        let plain = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || (keep_slashes && byte == b'/');
        if plain {
            coded.push(char::from(byte));
        } else {
            let _ = write!(coded, "%{byte:02X}");
        }
    }
    coded
}
