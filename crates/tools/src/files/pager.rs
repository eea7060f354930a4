//! Numbered lines of a long text, within limits: it is fed in pieces, so that a file of any size takes no
//! more memory than the shown part.

use crate::text;

/// The range of lines to show, and its limits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// The first line, from 1.
    pub(crate) offset: u64,
    pub(crate) lines: usize,
    pub(crate) bytes: usize,
    pub(crate) line_bytes: usize,
}

/// Bytes behind the window that are read only to count the lines.
const COUNTED: u64 = 64 << 20;

/// Takes bytes, and keeps the lines of the window.
pub(crate) struct Pager {
    window: Window,
    /// Number of the line that is being read.
    line: u64,
    current: Vec<u8>,
    current_bytes: usize,
    in_line: bool,
    text: String,
    shown: usize,
    full: bool,
    behind: u64,
    lossy: bool,
}

/// The lines that a [`Pager`] kept.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PagedText {
    pub(crate) text: String,
    pub(crate) shown: usize,
    /// The number of lines of the whole text; `None` if it was not read to its end.
    pub(crate) total: Option<u64>,
    /// Whether bytes that are not UTF-8 were replaced.
    pub(crate) lossy: bool,
}

impl Pager {
    pub(crate) fn new(window: Window) -> Self {
        Self {
            window,
            line: 1,
            current: Vec::new(),
            current_bytes: 0,
            in_line: false,
            text: String::new(),
            shown: 0,
            full: false,
            behind: 0,
            lossy: false,
        }
    }

    /// Takes the next bytes. Returns whether it needs more.
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            if self.full {
                self.count(bytes);
                break;
            }
            let end = memchr::memchr(b'\n', bytes);
            let (piece, rest) = match end {
                Some(end) => (&bytes[..end], &bytes[end + 1..]),
                None => (bytes, &bytes[bytes.len()..]),
            };
            if self.line >= self.window.offset {
                self.keep(piece);
            }
            self.in_line = end.is_none();
            if end.is_some() {
                self.end_line();
            }
            bytes = rest;
        }
        self.behind <= COUNTED
    }

    /// Ends the input; `whole` tells whether everything was fed.
    pub(crate) fn finish(mut self, whole: bool) -> PagedText {
        if self.in_line && !self.full {
            self.end_line();
            self.in_line = false;
        }
        let total = self.line - 1 + u64::from(self.in_line);
        PagedText {
            text: self.text,
            shown: self.shown,
            total: whole.then_some(total),
            lossy: self.lossy,
        }
    }

    fn keep(&mut self, piece: &[u8]) {
        // A few bytes more than are shown, so that a character at the cut is complete.
        let room = (self.window.line_bytes + 8).saturating_sub(self.current.len());
        self.current.extend_from_slice(&piece[..piece.len().min(room)]);
        self.current_bytes += piece.len();
    }

    fn end_line(&mut self) {
        if self.line >= self.window.offset {
            self.show_line();
        }
        self.line += 1;
    }

    fn show_line(&mut self) {
        let bytes = self.current.strip_suffix(b"\r").unwrap_or(&self.current);
        let cut = self.current_bytes > self.current.len();
        let (line, replaced) = text::lossy(bytes);
        self.lossy |= replaced && !cut;
        let line = line.replace('\0', "\u{FFFD}");
        self.text.push_str(&format!("{:>6}\t", self.line));
        if self.current_bytes > self.window.line_bytes {
            let kept = text::floor_char(&line, self.window.line_bytes);
            let more = self.current_bytes - kept.min(self.current_bytes);
            self.text
                .push_str(&format!("{}… [{more} more bytes in this line]", &line[..kept]));
        } else {
            self.text.push_str(&line);
        }
        self.text.push('\n');
        self.current.clear();
        self.current_bytes = 0;
        self.shown += 1;
        self.full = self.shown >= self.window.lines || self.text.len() >= self.window.bytes;
    }

    fn count(&mut self, bytes: &[u8]) {
        self.line += memchr::memchr_iter(b'\n', bytes).count() as u64;
        self.in_line = bytes.last().is_some_and(|last| *last != b'\n');
        self.behind += bytes.len() as u64;
    }
}

impl PagedText {
    /// Returns the page with a note for the reader: the missing parts, and how to continue.
    pub(crate) fn describe(self, window: Window) -> Result<String, String> {
        let first = window.offset;
        let next = first + self.shown as u64;
        if self.shown == 0 {
            return match self.total {
                Some(0) if first <= 1 => Ok("[empty]".into()),
                Some(total) => Err(format!(
                    "offset {first} is past the end; there are {total} lines."
                )),
                None => Err(format!("offset {first} is past the end.")),
            };
        }
        let mut text = self.text;
        match self.total {
            Some(total) if next > total => {}
            Some(total) => text.push_str(&format!(
                "[lines {first}-{} of {total}; read on with offset {next}]\n",
                next - 1
            )),
            None => text.push_str(&format!(
                "[lines {first}-{}; read on with offset {next}]\n",
                next - 1
            )),
        }
        if self.lossy {
            text.push_str("[not all of it is UTF-8; other bytes are shown as \u{FFFD}]\n");
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn page(bytes: &[u8], pieces: usize, offset: u64, lines: usize) -> PagedText {
        let mut pager = Pager::new(Window {
            offset,
            lines,
            bytes: 1 << 20,
            line_bytes: 20,
        });
        for piece in bytes.chunks(pieces.max(1)) {
            pager.feed(piece);
        }
        pager.finish(true)
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference(text in "[ab你\n]{0,100}", pieces in 1usize..10, offset in 1u64..8, lines in 1usize..8) {
            let page = page(text.as_bytes(), pieces, offset, lines);
            let all: Vec<&str> = text.lines().collect();
            let wanted: String = all.iter().enumerate().skip(offset as usize - 1).take(lines)
                .map(|(at, line)| {
                    let kept = text::floor_char(line, 20);
                    let more = line.len() - kept;
                    let cut = if more > 0 { format!("… [{more} more bytes in this line]") } else { String::new() };
                    format!("{:>6}\t{}{cut}\n", at + 1, &line[..kept])
                })
                .collect();
            prop_assert_eq!(page.text, wanted);
            prop_assert_eq!(page.total, Some(all.len() as u64));
            prop_assert!(!page.lossy);
        }
    }
}
