//! Writes the frames of `application/vnd.amazon.eventstream`
//! (<https://smithy.io/2.0/aws/amazon-eventstream.html>).

use serde_json::{Value, json};

/// Returns the answer of the Messages API in frames, one an event.
pub(super) fn of_messages(stream: &str) -> Vec<u8> {
    let events = stream.lines().filter_map(|line| line.strip_prefix("data: "));
    events.flat_map(|event| chunk(event.trim())).collect()
}

/// Returns a frame with one event. Like AWS it pads the payload with a field of letters.
fn chunk(event: &str) -> Vec<u8> {
    let payload = json!({ "bytes": base64(event.as_bytes()), "p": "abcdefgh" });
    let headers = [
        (":event-type", "chunk"),
        (":content-type", "application/json"),
        (":message-type", "event"),
    ];
    frame(&headers, payload.to_string().as_bytes())
}

/// Returns a frame with one event of Converse.
pub(in crate::vendors) fn event(name: &str, payload: &Value) -> Vec<u8> {
    let headers = [
        (":event-type", name),
        (":content-type", "application/json"),
        (":message-type", "event"),
    ];
    frame(&headers, payload.to_string().as_bytes())
}

/// Returns a frame with an exception in the middle of an answer.
pub(super) fn exception(name: &str, message: &str) -> Vec<u8> {
    let headers = [
        (":exception-type", name),
        (":content-type", "application/json"),
        (":message-type", "exception"),
    ];
    frame(&headers, json!({ "message": message }).to_string().as_bytes())
}

fn frame(headers: &[(&str, &str)], payload: &[u8]) -> Vec<u8> {
    let mut head = Vec::new();
    for (name, value) in headers {
        head.push(length(name.len()) as u8);
        head.extend_from_slice(name.as_bytes());
        head.push(7);
        head.extend_from_slice(&(length(value.len()) as u16).to_be_bytes());
        head.extend_from_slice(value.as_bytes());
    }
    let total = length(12 + head.len() + payload.len() + 4);
    let mut frame = Vec::new();
    frame.extend_from_slice(&total.to_be_bytes());
    frame.extend_from_slice(&length(head.len()).to_be_bytes());
    frame.extend_from_slice(&crc32(&frame).to_be_bytes());
    frame.extend_from_slice(&head);
    frame.extend_from_slice(payload);
    let checksum = crc32(&frame);
    frame.extend_from_slice(&checksum.to_be_bytes());
    frame
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let number = three
            .iter()
            .fold(0_u32, |number, byte| (number << 8) | u32::from(*byte));
        let number = number << (8 * (3 - three.len()));
        for place in 0..4 {
            let letter = LETTERS[(number >> (18 - 6 * place)) as usize & 63];
            text.push(if place <= three.len() {
                char::from(letter)
            } else {
                '='
            });
        }
    }
    text
}

/// A length that fits a frame: tests write short ones.
fn length(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// Returns the CRC-32 of IEEE 802.3, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 {
                (crc >> 1) ^ 0xedb8_8320
            } else {
                crc >> 1
            };
        }
    }
    !crc
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_padded() {
        // RFC 4648, section 10.
        for (text, coded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
        ] {
            assert_eq!(base64(text.as_bytes()), coded);
        }
    }

    #[test]
    fn the_checksum_is_the_usual_one() {
        // The check value of CRC-32/ISO-HDLC.
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }
}
