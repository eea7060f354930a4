//! Frames of `application/vnd.amazon.eventstream`, as AWS writes them.

/// Returns a frame with one event.
pub fn event(name: &str, payload: &str) -> Vec<u8> {
    frame([(":event-type", name), (":message-type", "event")], payload)
}

/// Returns a frame with an exception.
pub fn exception(name: &str, payload: &str) -> Vec<u8> {
    frame(
        [(":exception-type", name), (":message-type", "exception")],
        payload,
    )
}

fn frame(named: [(&str, &str); 2], payload: &str) -> Vec<u8> {
    let mut headers = Vec::new();
    for (name, value) in named {
        headers.push(name.len() as u8);
        headers.extend_from_slice(name.as_bytes());
        headers.extend_from_slice(&[7, 0, value.len() as u8]);
        headers.extend_from_slice(value.as_bytes());
    }
    let total = (headers.len() + payload.len() + 16) as u32;
    let mut frame = total.to_be_bytes().to_vec();
    frame.extend_from_slice(&(headers.len() as u32).to_be_bytes());
    frame.extend_from_slice(&crc32(&frame).to_be_bytes());
    frame.extend_from_slice(&headers);
    frame.extend_from_slice(payload.as_bytes());
    let checksum = crc32(&frame);
    frame.extend_from_slice(&checksum.to_be_bytes());
    frame
}

fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32| {
        if crc & 1 == 1 {
            (crc >> 1) ^ 0xedb8_8320
        } else {
            crc >> 1
        }
    };
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc))
    })
}
