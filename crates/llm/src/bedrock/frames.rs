//! The frames of `application/vnd.amazon.eventstream`: a prelude of two lengths and a checksum, headers, a
//! payload, and a checksum over all of it. Numbers are big-endian; checksums are CRC-32.

use thiserror::Error;

/// Length of the prelude with its checksum, in bytes.
const PRELUDE: usize = 12;

/// Length of a checksum, in bytes.
const CHECKSUM: usize = 4;

/// Maximum length of the headers of a frame, in bytes.
const MAX_HEADERS: usize = 128 * 1024;

/// Maximum length of a frame, in bytes: the headers and a payload of 24 MiB.
const MAX_FRAME: usize = PRELUDE + MAX_HEADERS + 24 * 1024 * 1024 + CHECKSUM;

/// The kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// A part of the answer.
    Event,
    /// An exception that the service models, such as `throttlingException`.
    Exception,
    /// An error without a model.
    Error,
}

/// A frame of an AWS event stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventStreamFrame {
    /// The kind of frame, from the header `:message-type`.
    pub kind: FrameKind,
    /// Its name: `:event-type`, `:exception-type` or `:error-code`; may be empty.
    pub name: String,
    /// The words of an error without a model: `:error-message`; else empty.
    pub message: String,
    /// Its payload, as it came.
    pub payload: Vec<u8>,
}

/// The reason why bytes are not frames. The stream cannot be read further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FrameError {
    /// A checksum is not that of the bytes.
    #[error("a frame of the event stream has a wrong checksum")]
    Checksum,
    /// A length is impossible or beyond the limit.
    #[error("a frame of the event stream has an impossible length")]
    Length,
    /// The headers cannot be read.
    #[error("a frame of the event stream has headers that cannot be read")]
    Headers,
}

/// Reads frames from bytes in pieces of any size.
///
/// Holds at most one frame (about 24 MiB) and the piece that was pushed last.
#[derive(Clone, Debug, Default)]
pub struct FrameDecoder {
    pending: Vec<u8>,
}

impl FrameDecoder {
    /// Reads the next bytes and adds the frames that are complete.
    ///
    /// # Errors
    ///
    /// Returns an error if the bytes are not frames. The frames before the error were added.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<EventStreamFrame>) -> Result<(), FrameError> {
        self.pending.extend_from_slice(bytes);
        let mut read = 0;
        let result = loop {
            match next(&self.pending[read..]) {
                Ok(Some((frame, length))) => {
                    out.push(frame);
                    read += length;
                }
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        self.pending.drain(..read);
        result
    }

    /// Returns whether a frame has begun and is not complete: bytes that end here were cut.
    pub fn is_cut(&self) -> bool {
        !self.pending.is_empty()
    }
}

/// Returns the frame at the start of the bytes, with its length; `None` if it is not complete.
fn next(bytes: &[u8]) -> Result<Option<(EventStreamFrame, usize)>, FrameError> {
    let (Some(total), Some(headers), Some(checksum)) = (number(bytes, 0), number(bytes, 4), number(bytes, 8))
    else {
        return Ok(None);
    };
    if crc32(&bytes[..8]) != checksum {
        return Err(FrameError::Checksum);
    }
    let (total, headers) = (total as usize, headers as usize);
    if total > MAX_FRAME || headers > MAX_HEADERS || total < PRELUDE + headers + CHECKSUM {
        return Err(FrameError::Length);
    }
    let Some(whole) = bytes.get(..total) else {
        return Ok(None);
    };
    let end = total - CHECKSUM;
    if Some(crc32(&whole[..end])) != number(whole, end) {
        return Err(FrameError::Checksum);
    }
    let payload = whole[PRELUDE + headers..end].to_vec();
    let frame = read_headers(&whole[PRELUDE..PRELUDE + headers], payload)?;
    Ok(Some((frame, total)))
}

/// Returns the big-endian number at a place.
fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at + 4)?;
    four.try_into().ok().map(u32::from_be_bytes)
}

/// Returns the frame that headers and a payload make.
fn read_headers(mut rest: &[u8], payload: Vec<u8>) -> Result<EventStreamFrame, FrameError> {
    let mut frame = EventStreamFrame {
        kind: FrameKind::Event,
        name: String::new(),
        message: String::new(),
        payload,
    };
    while !rest.is_empty() {
        let (name, value) = header(&mut rest).ok_or(FrameError::Headers)?;
        let Some(value) = value.map(|value| String::from_utf8_lossy(value).into_owned()) else {
            continue;
        };
        match (name, value.as_str()) {
            (b":message-type", "exception") => frame.kind = FrameKind::Exception,
            (b":message-type", "error") => frame.kind = FrameKind::Error,
            (b":event-type" | b":exception-type" | b":error-code", _) => frame.name = value,
            (b":error-message", _) => frame.message = value,
            _ => {}
        }
    }
    Ok(frame)
}

/// Reads one header: its name, and its value if that is a text.
fn header<'a>(rest: &mut &'a [u8]) -> Option<(&'a [u8], Option<&'a [u8]>)> {
    let length = usize::from(*take(rest, 1)?.first()?);
    let name = take(rest, length)?;
    let kind = *take(rest, 1)?.first()?;
    let length = match kind {
        0 | 1 => 0,
        2 => 1,
        3 => 2,
        4 => 4,
        5 | 8 => 8,
        6 | 7 => usize::from(u16::from_be_bytes(take(rest, 2)?.try_into().ok()?)),
        9 => 16,
        _ => return None,
    };
    let value = take(rest, length)?;
    Some((name, (kind == 7).then_some(value)))
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(taken)
}

/// The remainders of all bytes for the reflected polynomial of IEEE 802.3.
const REMAINDERS: [u32; 256] = remainders();

const fn remainders() -> [u32; 256] {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut value = index as u32;
        let mut bit = 0;
        while bit < 8 {
            value = (value >> 1) ^ (0xedb8_8320 * (value & 1));
            bit += 1;
        }
        table[index] = value;
        index += 1;
    }
    table
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (crc >> 8) ^ REMAINDERS[usize::from(crc as u8 ^ byte)]
    })
}
