//! Base64 and a hash, as simple as the checks need.

/// Decodes standard base64 with padding; `None` if it is something else.
pub fn base64(text: &str) -> Option<Vec<u8>> {
    let text = text.as_bytes();
    if text.is_empty() || !text.len().is_multiple_of(4) {
        return None;
    }
    let padding = text.iter().rev().take_while(|byte| **byte == b'=').count();
    if padding > 2 {
        return None;
    }
    let (mut bytes, mut bits, mut held) = (Vec::with_capacity(text.len() / 4 * 3), 0u32, 0u32);
    for byte in &text[..text.len() - padding] {
        held = (held << 6) | sextet(*byte)?;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
            held &= (1 << bits) - 1;
        }
    }
    Some(bytes)
}

fn sextet(byte: u8) -> Option<u32> {
    let value = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

/// Returns a hash of `text` that continues from `before` (FNV-1a, 64 bits): equal in every process.
pub fn fingerprint(before: u64, text: &str) -> u64 {
    let start = if before == 0 {
        0xcbf2_9ce4_8422_2325
    } else {
        before
    };
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    // The length is part of it, so that borders between texts count.
    let hash = text.bytes().fold(start, mix);
    text.len().to_le_bytes().into_iter().fold(hash, mix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read_and_garbage_is_not() {
        assert_eq!(base64("aGVsbG8=").as_deref(), Some(&b"hello"[..]));
        assert_eq!(base64("aGVsbG8h").as_deref(), Some(&b"hello!"[..]));
        for garbage in ["", "aGVsbG8", "a===", "aGV bG8=", "é"] {
            assert_eq!(base64(garbage), None, "{garbage}");
        }
    }
}
