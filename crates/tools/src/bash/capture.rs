//! The output of a call. The raw output is kept up to a limit and then only counted. Of the text as a
//! terminal would show it, the beginning and the end are kept. The memory does not depend on the length of
//! the output.

use agentx_runtime::TerminalLine;

use super::budget::OutputShare;
use crate::bash::options::BashOptions;
use crate::text;

/// Keeps output.
pub(super) struct Capture {
    head_bytes: usize,
    tail_bytes: usize,
    raw: HeadAndTail,
    screen: TerminalLine,
    seen: HeadAndTail,
    /// The memory of the raw output, out of the budget of all calls.
    share: OutputShare,
    /// Lines that the last output completed; kept for its memory.
    lines: String,
}

/// The beginning of a text and, once that is not all, its end.
#[derive(Clone)]
struct HeadAndTail {
    most: usize,
    tail_bytes: usize,
    text: String,
    /// The end, once not all of it is kept.
    end: Option<String>,
    total: u64,
}

/// The output as the model sees it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum OutputView {
    Whole(String),
    Cut {
        head: String,
        tail: String,
        /// Bytes between the two.
        left_out: u64,
        /// The line that follows the head, from 1; of the raw output too.
        next_line: u64,
    },
}

impl HeadAndTail {
    fn new(most: usize, tail_bytes: usize) -> Self {
        Self {
            most,
            tail_bytes,
            text: String::new(),
            end: None,
            total: 0,
        }
    }

    fn push(&mut self, more: &str) {
        self.total += more.len() as u64;
        let room = if self.end.is_some() {
            0
        } else {
            self.most - self.text.len()
        };
        let (now, rest) = more.split_at(text::floor_char(more, room));
        self.reserve(now.len());
        self.text.push_str(now);
        if rest.is_empty() {
            return;
        }
        let end = self
            .end
            .get_or_insert_with(|| tail_of(&self.text, self.tail_bytes).to_owned());
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
        let needed = self.text.len() + more;
        if needed > self.text.capacity() {
            let capacity = (2 * needed).min(self.most);
            self.text.reserve_exact(capacity - self.text.len());
        }
    }

    /// Makes room for more, as far as `share` gets it; if it gets none, only what fits now is kept.
    fn grow(&mut self, more: usize, share: &mut OutputShare) {
        let (has, most) = (self.text.capacity(), self.most);
        let needed = self.text.len() + more;
        if self.end.is_some() || needed <= has || has >= most {
            return;
        }
        let capacity = has + share.take((2 * needed).min(most) - has);
        self.text.reserve_exact(capacity - self.text.len());
        if capacity < needed.min(most) {
            self.most = capacity;
        }
    }
}

impl Capture {
    pub(super) fn new(options: &BashOptions) -> Self {
        let (head_bytes, tail_bytes) = (options.head_bytes, options.tail_bytes);
        let seen_bytes = head_bytes + tail_bytes;
        Self {
            head_bytes,
            tail_bytes,
            raw: HeadAndTail::new(options.kept_bytes.max(seen_bytes), 0),
            screen: TerminalLine::default(),
            seen: HeadAndTail::new(seen_bytes, tail_bytes),
            share: options.budget.share(),
            lines: String::new(),
        }
    }

    pub(super) fn push(&mut self, output: &str) {
        self.raw.grow(output.len(), &mut self.share);
        self.raw.push(output);
        self.lines.clear();
        self.screen.push(output, &mut self.lines);
        self.seen.push(&self.lines);
    }

    /// Returns all bytes that came.
    pub(super) fn total(&self) -> u64 {
        self.raw.total
    }

    /// Returns whether all that came is kept.
    pub(super) fn is_whole(&self) -> bool {
        self.raw.end.is_none()
    }

    /// Returns the beginning of the raw output, as far as it is kept, and its share of the budget.
    pub(super) fn into_kept(self) -> (String, OutputShare) {
        (self.raw.text, self.share)
    }

    pub(super) fn view(&self) -> OutputView {
        let mut seen = self.seen.clone();
        seen.push(&self.screen.open_line());
        let Some(end) = seen.end.as_deref() else {
            return OutputView::Whole(seen.text);
        };
        let head = text::head(&seen.text, self.head_bytes);
        let tail = text::tail(end, self.tail_bytes);
        OutputView::Cut {
            left_out: seen.total - (head.len() + tail.len()) as u64,
            next_line: 1 + memchr::memchr_iter(b'\n', head.as_bytes()).count() as u64,
            head: head.to_owned(),
            tail: tail.to_owned(),
        }
    }
}

fn tail_of(text: &str, bytes: usize) -> &str {
    &text[text::ceil_char(text, text.len().saturating_sub(bytes))..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bash::OutputBudget;
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
                prop_assert!(capture.raw.text.capacity() <= kept);
                prop_assert!(capture.seen.text.capacity() <= head + tail);
                prop_assert!(capture.seen.end.as_ref().is_none_or(|end| end.len() <= 3 * tail));
            }
            let all = pieces.concat();
            prop_assert_eq!(capture.total(), all.len() as u64);
            prop_assert!(all.starts_with(&capture.raw.text));
            prop_assert_eq!(capture.is_whole(), capture.raw.text == all);
            match capture.view() {
                OutputView::Whole(text) => prop_assert_eq!(text, all),
                OutputView::Cut { head: seen, tail: end, left_out, next_line } => {
                    prop_assert!(all.len() > head + tail);
                    prop_assert!(seen.len() <= head && end.len() <= tail);
                    prop_assert!(all.starts_with(&seen) && all.ends_with(&end));
                    prop_assert_eq!(left_out as usize, all.len() - seen.len() - end.len());
                    prop_assert_eq!(next_line as usize, 1 + seen.matches('\n').count());
                }
            }
        }
    }

    #[test]
    fn calls_keep_together_no_more_than_their_budget_and_each_its_beginning_and_end() {
        const FLOODS: usize = 64;
        let budget = OutputBudget::new(1_000);
        let options = BashOptions {
            budget: budget.clone(),
            ..options(8, 8, 400)
        };
        let mut floods: Vec<Capture> = (0..FLOODS).map(|_| Capture::new(&options)).collect();
        for _ in 0..20 {
            for flood in &mut floods {
                flood.push("0123456789012345678901234567890\n");
                let kept: usize = flood.raw.text.capacity();
                assert!(kept <= 400, "{kept}");
            }
            let held = floods
                .iter()
                .map(|flood| flood.raw.text.capacity())
                .sum::<usize>();
            assert!(held <= 1_000 && held + budget.left() == 1_000, "{held}");
        }
        for flood in &floods {
            let OutputView::Cut { head, tail, .. } = flood.view() else {
                panic!("it is cut");
            };
            assert_eq!((head.as_str(), tail.as_str()), ("01234567", "4567890\n"));
            assert!(!flood.is_whole() && flood.total() == 640);
        }
        let (text, share) = floods.swap_remove(0).into_kept();
        drop(floods);
        assert_eq!(budget.left(), 1_000 - text.capacity(), "until the blob is stored");
        drop(share);
        assert_eq!(budget.left(), 1_000);
    }

    #[test]
    fn steps_of_a_progress_bar_do_not_fill_what_is_seen() {
        let mut capture = Capture::new(&options(20, 20, 100));
        capture.push("begins\n");
        for step in 0..1_000 {
            capture.push(&format!("\r\u{1b}[32m{step} of 1000\u{1b}[0m"));
        }
        assert_eq!(capture.view(), OutputView::Whole("begins\n999 of 1000".into()));
        capture.push("\ndone\n");
        assert_eq!(
            capture.view(),
            OutputView::Whole("begins\n999 of 1000\ndone\n".into())
        );
        assert!(!capture.is_whole() && capture.into_kept().0.contains("\u{1b}[32m0 of 1000"));
    }
}
