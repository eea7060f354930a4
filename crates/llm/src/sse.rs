//! Server-sent events, decoded from bytes in pieces of any size: every stream of a model comes through here.
//!
//! It follows the WHATWG event stream format: lines end in LF, CR or CRLF (even if CR and LF arrive in
//! different pieces), a byte order mark at the start is skipped, comments and unknown fields are ignored,
//! `data` lines of one event are joined by LF. Bytes that are not UTF-8 are replaced by U+FFFD, event by
//! event, so a character that is cut between two pieces is complete again. A line `error: {…}`, which is not
//! part of the format but some servers send, is an event of that name. Unlike a browser,
//! [`SseDecoder::finish`] also delivers an event that the end of the stream cut off from its blank line,
//! because some servers end like that.
//!
//! An event whose only `data` line arrived in one piece is borrowed from the caller's bytes; nothing is
//! copied.

use std::borrow::Cow;
use std::mem;

use memchr::memchr2;

/// A byte order mark in UTF-8.
pub(crate) const BOM: &[u8] = b"\xEF\xBB\xBF";

/// Limits of the decoder's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SseLimits {
    /// Maximum length of a line in bytes, without its end.
    pub max_line: usize,
    /// Maximum number of `data` bytes of one event.
    pub max_event: usize,
}

impl Default for SseLimits {
    /// Returns 8 MiB for a line and 16 MiB for an event: far more than models send, and far less than the
    /// memory of a machine.
    fn default() -> Self {
        Self {
            max_line: 8 << 20,
            max_event: 16 << 20,
        }
    }
}

/// A limit that a stream exceeds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// A line is longer than [`SseLimits::max_line`].
    #[error("a line of the event stream is longer than {limit} bytes")]
    LineTooLong {
        /// The limit in bytes.
        limit: usize,
    },
    /// The data of an event are longer than [`SseLimits::max_event`].
    #[error("an event of the stream is longer than {limit} bytes")]
    EventTooLong {
        /// The limit in bytes.
        limit: usize,
    },
}

/// An event, which borrows from the decoder for the time of the callback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SseEvent<'a> {
    /// The `event` field; empty if the event has none.
    pub event: &'a str,
    /// The `data` lines, joined by LF.
    pub data: &'a str,
    /// The last `id` of the stream, as browsers keep it; empty before the first.
    pub id: &'a str,
}

/// Decodes one stream. Order of calls: any number of [`push`](Self::push), then one [`finish`](Self::finish).
///
/// ```
/// use agentx_llm::sse::{SseDecoder, SseError};
///
/// let mut decoder = SseDecoder::default();
/// let mut seen = Vec::new();
/// for piece in [&b"event: ping\r"[..], b"\ndata: {\"a\"", b":1}\n", b"\n"] {
///     decoder.push(piece, |e| Ok::<_, SseError>(seen.push((e.event.to_owned(), e.data.to_owned())))).unwrap();
/// }
/// assert_eq!(seen, [("ping".to_owned(), "{\"a\":1}".to_owned())]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct SseDecoder {
    limits: SseLimits,
    started: bool,
    skip_lf: bool,
    /// The start of a line whose end has not arrived.
    line: Vec<u8>,
    event: Vec<u8>,
    id: String,
    retry_ms: Option<u64>,
    data: EventData,
}

/// The `data` lines of the current event, as far as they are not borrowed from the caller's bytes.
#[derive(Clone, Debug, Default)]
struct EventData {
    any: bool,
    bytes: Vec<u8>,
    size: usize,
}

enum SseLine<'b> {
    Blank,
    Data(&'b [u8]),
    Other,
}

impl SseDecoder {
    /// Returns a decoder with these limits.
    pub fn new(limits: SseLimits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

    /// Returns the delay before a reconnect in milliseconds that the server requests; `None` if it requests
    /// none.
    pub fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    /// Reads the next bytes, and calls `on_event` with each event that they complete.
    ///
    /// # Errors
    /// Returns an error if a limit is exceeded, and the first error of `on_event`. The decoder must not be
    /// used after an error.
    pub fn push<E: From<SseError>>(
        &mut self,
        bytes: &[u8],
        mut on_event: impl FnMut(SseEvent<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut rest = self.without_bom(bytes);
        // The first data line of the open event while it can still be lent from `bytes`.
        let mut lent: Option<&[u8]> = None;
        while !rest.is_empty() {
            if mem::take(&mut self.skip_lf) && rest[0] == b'\n' {
                rest = &rest[1..];
                continue;
            }
            let Some(end) = memchr2(b'\n', b'\r', rest) else {
                self.keep_partial(rest)?;
                break;
            };
            let line = &rest[..end];
            self.skip_lf = rest[end] == b'\r';
            rest = &rest[end + 1..];
            if self.line.is_empty() {
                self.check_line(line.len())?;
                match self.field(line) {
                    SseLine::Blank => self.dispatch(lent.take(), &mut on_event)?,
                    SseLine::Data(value) => self.add_data(value, &mut lent, true)?,
                    SseLine::Other => {}
                }
            } else {
                self.keep_partial(line)?;
                self.copy_lent(&mut lent);
                self.complete_partial(&mut on_event)?;
            }
        }
        self.copy_lent(&mut lent);
        Ok(())
    }

    /// Ends the stream, and calls `on_event` with the event that is still open, if it has data.
    ///
    /// # Errors
    /// Returns an error for the same reasons as [`push`](Self::push).
    pub fn finish<E: From<SseError>>(
        &mut self,
        mut on_event: impl FnMut(SseEvent<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.started = true;
        if !self.line.is_empty() {
            self.complete_partial(&mut on_event)?;
        }
        self.dispatch(None, &mut on_event)
    }

    /// Skips the byte order mark, even if it arrives in pieces. Bytes that only began like one are kept as
    /// the start of the first line.
    fn without_bom<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        if self.started {
            return bytes;
        }
        let wanted = &BOM[self.line.len()..];
        let common = wanted.len().min(bytes.len());
        if bytes[..common] != wanted[..common] {
            self.started = true;
            return bytes;
        }
        if common == wanted.len() {
            self.started = true;
            self.line.clear();
        } else {
            self.line.extend_from_slice(&bytes[..common]);
        }
        &bytes[common..]
    }

    fn check_line(&self, len: usize) -> Result<(), SseError> {
        let limit = self.limits.max_line;
        if len > limit {
            Err(SseError::LineTooLong { limit })
        } else {
            Ok(())
        }
    }

    fn keep_partial(&mut self, piece: &[u8]) -> Result<(), SseError> {
        self.check_line(self.line.len().saturating_add(piece.len()))?;
        self.line.extend_from_slice(piece);
        Ok(())
    }

    /// Handles a line that arrived in several pieces.
    fn complete_partial<E: From<SseError>>(
        &mut self,
        on_event: &mut impl FnMut(SseEvent<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut line = mem::take(&mut self.line);
        match self.field(&line) {
            SseLine::Blank => self.dispatch(None, on_event)?,
            SseLine::Data(value) => self.add_data(value, &mut None, false)?,
            SseLine::Other => {}
        }
        line.clear();
        self.line = line;
        Ok(())
    }

    fn field<'b>(&mut self, line: &'b [u8]) -> SseLine<'b> {
        if line.is_empty() {
            return SseLine::Blank;
        }
        let (name, value) = match memchr::memchr(b':', line) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => return SseLine::Data(value),
            // Not a field of the standard, but llama.cpp and gateways report errors with it.
            b"error" if value.starts_with(b"{") => {
                self.event.clear();
                self.event.extend_from_slice(name);
                return SseLine::Data(value);
            }
            b"event" => {
                self.event.clear();
                self.event.extend_from_slice(value);
            }
            b"id" if !value.contains(&0) => self.id = String::from_utf8_lossy(value).into_owned(),
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                self.retry_ms = std::str::from_utf8(value)
                    .ok()
                    .and_then(|digits| digits.parse().ok());
            }
            _ => {}
        }
        SseLine::Other
    }

    fn add_data<'b>(
        &mut self,
        value: &'b [u8],
        lent: &mut Option<&'b [u8]>,
        lendable: bool,
    ) -> Result<(), SseError> {
        let limit = self.limits.max_event;
        self.data.size = self.data.size.saturating_add(value.len()).saturating_add(1);
        if self.data.size > limit.saturating_add(1) {
            return Err(SseError::EventTooLong { limit });
        }
        if !mem::replace(&mut self.data.any, true) {
            if lendable {
                *lent = Some(value);
            } else {
                self.data.bytes.extend_from_slice(value);
            }
            return Ok(());
        }
        self.copy_lent(lent);
        self.data.bytes.push(b'\n');
        self.data.bytes.extend_from_slice(value);
        Ok(())
    }

    /// Copies borrowed data.
    fn copy_lent(&mut self, lent: &mut Option<&[u8]>) {
        if let Some(first) = lent.take() {
            self.data.bytes.extend_from_slice(first);
        }
    }

    fn dispatch<E>(
        &mut self,
        lent: Option<&[u8]>,
        on_event: &mut impl FnMut(SseEvent<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut result = Ok(());
        if mem::take(&mut self.data.any) {
            let data = text(lent.unwrap_or(&self.data.bytes));
            let event = text(&self.event);
            result = on_event(SseEvent {
                event: &event,
                data: &data,
                id: &self.id,
            });
        }
        self.data.bytes.clear();
        self.data.size = 0;
        self.event.clear();
        result
    }
}

fn text(bytes: &[u8]) -> Cow<'_, str> {
    // Checking first is much faster than replacing, and nearly always enough.
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}
