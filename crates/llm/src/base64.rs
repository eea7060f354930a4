//! Base64 (RFC 4648, standard alphabet, padded): media travel inside JSON in it.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Bytes as text.
///
/// ```
/// assert_eq!(agentx_llm::base64::encode(b"hello"), "aGVsbG8=");
/// ```
pub fn encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group = (u32::from(chunk[0]) << 16)
            | (u32::from(chunk.get(1).copied().unwrap_or(0)) << 8)
            | u32::from(chunk.get(2).copied().unwrap_or(0));
        for position in 0..4 {
            if position > chunk.len() {
                out.push('=');
            } else {
                out.push(char::from(
                    ALPHABET[((group >> (18 - 6 * position)) & 63) as usize],
                ));
            }
        }
    }
    out
}

/// Text as bytes; whitespace is skipped and missing padding forgiven. `None` if it is not base64.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let mut group = 0u32;
    let mut bits = 0u32;
    let body = text.trim_end().trim_end_matches('=');
    for byte in body.bytes().filter(|byte| !byte.is_ascii_whitespace()) {
        group = (group << 6) | value_of(byte)?;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push(((group >> bits) & 0xFF) as u8);
        }
    }
    (bits < 6).then_some(out)
}

fn value_of(byte: u8) -> Option<u32> {
    Some(match byte {
        b'A'..=b'Z' => u32::from(byte - b'A'),
        b'a'..=b'z' => u32::from(byte - b'a') + 26,
        b'0'..=b'9' => u32::from(byte - b'0') + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    })
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
        assert_eq!(decode("Zm9v\nYg").unwrap(), b"foob");
        assert_eq!(decode("Zm9v!"), None);
        assert_eq!(decode("Z"), None);
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(decode(&encode(&all)).unwrap(), all);
    }
}
