//! The places of secrets that were found in a text, until everything before them is final.

use std::sync::Arc;

/// A secret in a text, from byte `start` up to byte `end`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SecretSpan {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) name: Arc<str>,
}

/// Spans in the order in which they begin. Of spans with the same beginning, the longest comes first.
#[derive(Clone, Debug, Default)]
pub(crate) struct SecretSpans {
    found: Vec<SecretSpan>,
}

impl SecretSpans {
    /// Adds a span. Few spans are open at a time, so the search begins at the end.
    pub(crate) fn add(&mut self, span: SecretSpan) {
        let is_before = |known: &SecretSpan| (known.start, span.end) <= (span.start, known.end);
        let at = self.found.iter().rposition(is_before).map_or(0, |at| at + 1);
        self.found.insert(at, span);
    }

    /// Removes and returns the spans that begin before `end`.
    pub(crate) fn take_before(&mut self, end: usize) -> std::vec::Drain<'_, SecretSpan> {
        let count = self.found.partition_point(|span| span.start < end);
        self.found.drain(..count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_come_in_the_order_of_their_beginnings_and_the_longest_first() {
        let mut spans = SecretSpans::default();
        for (start, end) in [(4, 6), (0, 3), (4, 9), (2, 8), (4, 5)] {
            let name = "x".into();
            spans.add(SecretSpan { start, end, name });
        }
        let order: Vec<_> = spans
            .take_before(100)
            .map(|span| (span.start, span.end))
            .collect();
        assert_eq!(order, [(0, 3), (2, 8), (4, 9), (4, 6), (4, 5)]);
    }
}
