//! Redacts text that arrives in pieces, as if it had arrived whole.
//!
//! The latest words, the latest lines of base64 ([`Hold`]) and open tokens of a published form are held back.
//! The amount does not depend on the known values. Overlapping secrets become one replacement, so that the
//! result does not depend on the cuts.

use std::sync::Arc;

use aho_corasick::automaton::StateID;

use crate::SecretPlace;
use crate::hold::Hold;
use crate::spans::{SecretSpan, SecretSpans};
use crate::token_scan::{EndedToken, LOOK_BACK, TokenScan};
use crate::word_tables::{EndedWord, Tables};

/// Redacts one text that arrives in pieces. `push` each piece, then [`finish`](Self::finish).
pub struct StreamRedactor {
    tables: Arc<Tables>,
    state: StateID,
    /// The state of the automaton for prefixes of published forms.
    prefix: StateID,
    /// The state of the automaton for base64, which ignores line ends.
    base64: StateID,
    hold: Hold,
    tokens: TokenScan,
    spans: SecretSpans,
    /// The latest text: everything that is held back, and a little before it.
    held: Vec<u8>,
    /// The position in the whole text at which `held` begins.
    held_from: usize,
    /// The position up to which the text was released or replaced.
    done: usize,
    findings: Vec<SecretPlace>,
}

impl StreamRedactor {
    pub(crate) fn new(tables: Arc<Tables>) -> Self {
        Self {
            state: tables.plain.start(),
            prefix: tables.prefixes.start(),
            base64: tables.base64.start(),
            hold: tables.hold(),
            tables,
            tokens: TokenScan::default(),
            spans: SecretSpans::default(),
            held: Vec::new(),
            held_from: 0,
            done: 0,
            findings: Vec::new(),
        }
    }

    /// Returns the same for a text that arrives in one piece.
    pub(crate) fn whole(self) -> Self {
        Self {
            hold: self.hold.whole(),
            ..self
        }
    }

    /// Takes the next piece. Returns the text that may be shown now; it may be empty.
    pub fn push(&mut self, piece: &str) -> String {
        let first = self.held.len();
        self.held.extend_from_slice(piece.as_bytes());
        for index in first..self.held.len() {
            self.take(index);
        }
        let place = self.held_from + self.held.len();
        let prefix = TokenScan::begun_prefix(&self.held, self.tables.prefixes.depth(self.prefix));
        let starts = [self.begin_of_held(place), place - prefix]
            .into_iter()
            .chain(self.tokens.first_start());
        let safe = starts.min().unwrap_or(place);
        self.release(safe)
    }

    /// Ends the text and returns the rest. Another text may follow.
    pub fn finish(&mut self) -> String {
        let (held, from) = (&self.held, self.held_from);
        let spans = &mut self.spans;
        self.tokens.finish(
            |start| held.get(start - from..).unwrap_or_default(),
            |token| spans.add(token.into()),
        );
        let rest = self.release(self.held_from + self.held.len());
        self.state = self.tables.plain.start();
        self.prefix = self.tables.prefixes.start();
        self.base64 = self.tables.base64.start();
        self.hold = self.tables.hold();
        self.held_from += self.held.len();
        self.held.clear();
        rest
    }

    /// Returns whether a secret was replaced.
    pub fn has_replaced(&self) -> bool {
        !self.findings.is_empty()
    }

    /// Returns whether text is held back.
    pub fn holds_back(&self) -> bool {
        self.done < self.held_from + self.held.len()
    }

    /// Returns the replacements so far, with positions in the whole text.
    pub(crate) fn into_findings(self) -> Vec<SecretPlace> {
        self.findings
    }

    /// Takes one byte of `held`.
    fn take(&mut self, index: usize) {
        let Some(byte) = self.held.get(index).copied() else {
            return;
        };
        let (from, at) = (self.held_from, self.held_from + index);
        let (held, spans): (&[u8], _) = (&self.held, &mut self.spans);
        let upto = |end: usize| move |start: usize| held_text(held, start - from, end);
        if !self.tokens.is_empty() {
            self.tokens
                .take(at, byte, upto(index), |token| spans.add(token.into()));
            self.tokens
                .settle(upto(index + 1), |token| spans.add(token.into()));
        }
        if self.hold.take(byte, at) {
            self.base64 = self.tables.base64.start();
        } else if !is_line_end(byte) {
            self.base64 = self.tables.base64.next(self.base64, byte);
            for word in self.tables.base64.words(self.base64) {
                if let EndedWord::Known { name, length } = word {
                    spans.add(SecretSpan {
                        start: from + start_over_lines(held, index + 1, length),
                        end: at + 1,
                        name: name.clone(),
                    });
                }
            }
        }
        self.state = self.tables.plain.next(self.state, byte);
        for word in self.tables.plain.words(self.state) {
            if let EndedWord::Known { name, length } = word {
                spans.add(SecretSpan {
                    start: at + 1 - length,
                    end: at + 1,
                    name: name.clone(),
                });
            }
        }
        self.prefix = self.tables.prefixes.next(self.prefix, byte);
        for word in self.tables.prefixes.words(self.prefix) {
            if let EndedWord::Prefix(pattern) = word {
                let start = (index + 1).saturating_sub(pattern.prefix.len());
                let before = held_text(held, start.saturating_sub(LOOK_BACK), start);
                self.tokens.begin(pattern, at + 1, before);
            }
        }
    }

    /// Returns the position from which text is held back, at a character boundary.
    fn begin_of_held(&self, end: usize) -> usize {
        let mut start = self.hold.start(end).max(self.held_from);
        let is_inside = |at: usize| {
            self.held
                .get(at - self.held_from)
                .is_some_and(|byte| byte & 0xC0 == 0x80)
        };
        while is_inside(start) {
            start += 1;
        }
        start
    }

    /// Releases all text before `safe`, in which no further secret begins.
    fn release(&mut self, safe: usize) -> String {
        let mut text = Vec::new();
        for span in self.spans.take_before(safe) {
            if span.start >= self.done {
                let from = self.held_from;
                text.extend_from_slice(held_text(&self.held, self.done - from, span.start - from));
                text.extend_from_slice(format!("[secret {}]", span.name).as_bytes());
                self.findings.push(SecretPlace {
                    name: span.name.to_string(),
                    start: span.start,
                    end: span.end,
                });
            } else if let Some(last) = self.findings.last_mut() {
                last.end = last.end.max(span.end);
            }
            self.done = self.done.max(span.end);
        }
        if self.done < safe {
            let (from, to) = (self.done - self.held_from, safe - self.held_from);
            text.extend_from_slice(held_text(&self.held, from, to));
            self.done = safe;
        }
        self.forget(safe);
        // Forms and tokens begin and end at character boundaries, so the text does too.
        String::from_utf8(text).unwrap_or_else(|text| String::from_utf8_lossy(text.as_bytes()).into_owned())
    }

    /// Drops the text before `safe`, except for a little that decides whether a word begins there.
    fn forget(&mut self, safe: usize) {
        let keep_from = safe.saturating_sub(LOOK_BACK).max(self.held_from);
        // Move the rest only if that halves the memory, so each byte is moved once on average.
        let dropped = keep_from - self.held_from;
        if dropped * 2 > self.held.len() {
            self.held.drain(..dropped);
            self.held_from = keep_from;
        }
    }
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// Returns the beginning of the `count` bytes before `end`, not counting line ends.
fn start_over_lines(held: &[u8], end: usize, count: usize) -> usize {
    let bytes = held.get(..end).unwrap_or(held).iter().enumerate().rev();
    let mut counted = bytes.filter(|(_, byte)| !is_line_end(**byte));
    match count.checked_sub(1) {
        Some(before) => counted.nth(before).map_or(0, |(at, _)| at),
        None => end,
    }
}

/// Returns the bytes from `start` up to `end`.
fn held_text(held: &[u8], start: usize, end: usize) -> &[u8] {
    held.get(start..end).unwrap_or_default()
}

impl From<EndedToken> for SecretSpan {
    fn from(token: EndedToken) -> Self {
        Self {
            start: token.start,
            end: token.end,
            name: token.name.into(),
        }
    }
}

impl std::fmt::Debug for StreamRedactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StreamRedactor")
            .field("held_bytes", &self.held.len())
            .field("done", &self.done)
            .finish_non_exhaustive()
    }
}
