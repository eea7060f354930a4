//! Keeps the beginning of a response, which the error quotes if it is not an event stream.

use crate::stream_error::StreamError;

/// The beginning of an answer, which is kept until the first event for the message of
/// [`StreamError::NotAStream`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Head {
    bytes: Vec<u8>,
    event_seen: bool,
}

impl Head {
    const KEPT: usize = 300;

    pub(crate) fn note(&mut self, bytes: &[u8]) {
        if !self.event_seen && self.bytes.len() < Self::KEPT {
            let room = Self::KEPT - self.bytes.len();
            self.bytes.extend_from_slice(&bytes[..room.min(bytes.len())]);
        }
    }

    pub(crate) fn event(&mut self) {
        self.event_seen = true;
    }

    /// Returns the error for a stream that ended before the answer was complete.
    pub(crate) fn broken(&self) -> StreamError {
        if self.event_seen || self.bytes.is_empty() {
            return StreamError::Truncated;
        }
        let text = String::from_utf8_lossy(&self.bytes);
        let looks_like_sse = text.lines().any(|line| {
            ["data:", "event:", ":", "id:", "retry:"]
                .iter()
                .any(|field| line.starts_with(field) || (!line.is_empty() && field.starts_with(line)))
        });
        if looks_like_sse {
            StreamError::Truncated
        } else {
            StreamError::NotAStream {
                head: text.trim().to_owned(),
            }
        }
    }
}
