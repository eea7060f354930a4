//! Base64 (RFC 4648, standard alphabet, padded), the form of media inside JSON. The reader also accepts
//! wrapped or unpadded text.

use ::base64::Engine as _;
use ::base64::alphabet;
use ::base64::engine::general_purpose::{GeneralPurpose, NO_PAD, STANDARD};

/// Reads text without padding, and ignores surplus bits of the last letter.
const LENIENT: GeneralPurpose =
    GeneralPurpose::new(&alphabet::STANDARD, NO_PAD.with_decode_allow_trailing_bits(true));

/// Returns bytes as base64, padded and in one line.
///
/// ```
/// assert_eq!(agentx_llm::base64::encode(b"hello"), "aGVsbG8=");
/// ```
pub fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Returns the bytes of a base64 text; `None` if the text is not base64. Whitespace is skipped, and the
/// padding may be missing.
///
/// ```
/// assert_eq!(agentx_llm::base64::decode("aGVs\nbG8").as_deref(), Some(&b"hello"[..]));
/// assert_eq!(agentx_llm::base64::decode("a-b_"), None);
/// ```
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let body = text.trim_end().trim_end_matches('=');
    let letters: Vec<u8> = body.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    LENIENT.decode(letters).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodes_as_the_rfc_and_back() {
        for (plain, coded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
        ] {
            assert_eq!(encode(plain.as_bytes()), coded);
            assert_eq!(decode(coded).unwrap(), plain.as_bytes());
        }
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(decode(&encode(&all)).unwrap(), all);
    }

    #[test]
    fn forgives_what_some_writers_do_and_nothing_else() {
        for (coded, plain) in [
            ("Zm9v\nYg", "foob"),
            ("Zm 9v\r\nYg==\n", "foob"),
            ("Zg", "f"),
            ("Zg====", "f"),
            // The last letter holds bits that belong to no byte.
            ("Zh", "f"),
        ] {
            assert_eq!(decode(coded).unwrap(), plain.as_bytes(), "{coded:?}");
        }
        for wrong in ["Zm9v!", "Z", "Zg==Zg", "Zm9_", "ä"] {
            assert_eq!(decode(wrong), None, "{wrong:?}");
        }
    }
}
