//! The output of a call: kept whole up to a limit, then counted, with its end always at hand. The memory that it takes does
//! not depend on how much comes.

use crate::{BashOptions, text};

/// Keeps output.
pub(super) struct Capture {
    head_bytes: usize,
    tail_bytes: usize,
    kept_bytes: usize,
    kept: String,
    /// The end of the output, once not all of it is kept.
    end: Option<String>,
    total: u64,
}

/// What a model sees of the output.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum View<'a> {
    Whole(&'a str),
    Cut {
        head: &'a str,
        tail: &'a str,
        /// Bytes between the two.
        left_out: u64,
        /// The line that follows the head, from 1.
        next_line: u64,
    },
}

impl Capture {
    pub(super) fn new(options: &BashOptions) -> Self {
        Self {
            head_bytes: options.head_bytes,
            tail_bytes: options.tail_bytes,
            kept_bytes: options.kept_bytes.max(options.head_bytes + options.tail_bytes),
            kept: String::new(),
            end: None,
            total: 0,
        }
    }

    pub(super) fn push(&mut self, output: &str) {
        self.total += output.len() as u64;
        let room = if self.end.is_some() {
            0
        } else {
            self.kept_bytes - self.kept.len()
        };
        let (now, rest) = output.split_at(text::floor_char(output, room));
        self.reserve(now.len());
        self.kept.push_str(now);
        if rest.is_empty() {
            return;
        }
        let end = self
            .end
            .get_or_insert_with(|| tail_of(&self.kept, self.tail_bytes).to_owned());
        if rest.len() >= self.tail_bytes {
            end.clear();
        }
        end.push_str(tail_of(rest, self.tail_bytes));
        if end.len() > 2 * self.tail_bytes {
            let cut = end.len() - tail_of(end, self.tail_bytes).len();
            end.drain(..cut);
        }
    }

    /// Grows by doubling, but never beyond what will be kept.
    fn reserve(&mut self, more: usize) {
        let needed = self.kept.len() + more;
        if needed > self.kept.capacity() {
            let capacity = (2 * needed).min(self.kept_bytes);
            self.kept.reserve_exact(capacity - self.kept.len());
        }
    }

    /// All bytes that came.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Whether all that came is kept.
    pub(super) fn is_whole(&self) -> bool {
        self.end.is_none()
    }

    /// The output from its beginning, as far as it is kept.
    pub(super) fn into_kept(self) -> String {
        self.kept
    }

    pub(super) fn view(&self) -> View<'_> {
        if self.end.is_none() && self.kept.len() <= self.head_bytes + self.tail_bytes {
            return View::Whole(&self.kept);
        }
        let head = text::head(&self.kept, self.head_bytes);
        let end = self.end.as_deref().unwrap_or(&self.kept[head.len()..]);
        let tail = text::tail(end, self.tail_bytes);
        let left_out = self.total - (head.len() + tail.len()) as u64;
        let next_line = 1 + memchr::memchr_iter(b'\n', head.as_bytes()).count() as u64;
        View::Cut {
            head,
            tail,
            left_out,
            next_line,
        }
    }
}

fn tail_of(text: &str, bytes: usize) -> &str {
    &text[text::ceil_char(text, text.len().saturating_sub(bytes))..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn options(head: usize, tail: usize, kept: usize) -> BashOptions {
        BashOptions {
            head_bytes: head,
            tail_bytes: tail,
            kept_bytes: kept,
            ..BashOptions::default()
        }
    }

    proptest! {
        #[test]
        fn what_is_seen_is_bounded_and_true(
            pieces in prop::collection::vec("[a-c你\n]{0,30}", 0..20),
            head in 1usize..20, tail in 1usize..20, kept in 40usize..80,
        ) {
            let mut capture = Capture::new(&options(head, tail, kept));
            for piece in &pieces {
                capture.push(piece);
                prop_assert!(capture.kept.capacity() <= kept);
                prop_assert!(capture.end.as_ref().is_none_or(|end| end.len() <= 3 * tail));
            }
            let all = pieces.concat();
            prop_assert_eq!(capture.total(), all.len() as u64);
            prop_assert!(all.starts_with(&capture.kept));
            prop_assert_eq!(capture.is_whole(), capture.kept == all);
            match capture.view() {
                View::Whole(text) => prop_assert_eq!(text, all),
                View::Cut { head: seen, tail: end, left_out, next_line } => {
                    prop_assert!(all.len() > head + tail);
                    prop_assert!(seen.len() <= head && end.len() <= tail);
                    prop_assert!(all.starts_with(seen) && all.ends_with(end));
                    prop_assert_eq!(left_out as usize, all.len() - seen.len() - end.len());
                    prop_assert_eq!(next_line as usize, 1 + seen.matches('\n').count());
                }
            }
        }
    }
}
