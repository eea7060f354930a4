//! Counts tokens: four bytes are a token, and a cache remembers prefixes up to its breakpoints.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{CountedTokens, fingerprint};

/// The number of blocks before a breakpoint that are searched for a cache entry.
/// <https://platform.claude.com/docs/en/build-with-claude/prompt-caching>
const LOOK_BACK: usize = 20;

/// Returns the tokens of `text`.
pub(super) fn tokens(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(4)
}

/// The prefixes that were sent before, up to their breakpoints.
#[derive(Clone, Debug, Default)]
pub(super) struct PromptCache {
    known: BTreeSet<u64>,
}

impl PromptCache {
    /// Counts blocks in order, each with a flag for a breakpoint, and remembers the marked prefixes.
    pub(super) fn count(&mut self, model: &str, blocks: &[(Value, bool)]) -> CountedTokens {
        let mut hash = fingerprint(0, model);
        let mut places = Vec::with_capacity(blocks.len());
        let mut sum = 0;
        for (block, marked) in blocks {
            let text = block.to_string();
            hash = fingerprint(hash, &text);
            sum += tokens(text.len());
            places.push((hash, sum, *marked));
        }
        let marks = (0..places.len()).filter(|at| places[*at].2);
        let read = marks
            .clone()
            .filter_map(|at| self.found(&places[at.saturating_sub(LOOK_BACK)..=at]))
            .max();
        let read = read.unwrap_or(0);
        let written = marks.clone().next_back().map_or(0, |at| places[at].1);
        self.known.extend(marks.map(|at| places[at].0));
        CountedTokens {
            input: sum - written.max(read),
            cache_write: written.saturating_sub(read),
            cache_read: read,
        }
    }

    fn found(&self, places: &[(u64, u64, bool)]) -> Option<u64> {
        let found = places.iter().rev().find(|place| self.known.contains(&place.0));
        found.map(|place| place.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_that_was_marked_is_read_the_next_time() {
        let block = |text: &str, marked| (Value::from(text), marked);
        let mut cache = PromptCache::default();
        let first = cache.count("m", &[block("aaaaaaaaaaaaaa", true), block("bb", false)]);
        assert_eq!((first.input, first.cache_write, first.cache_read), (1, 4, 0));
        let grown = [
            block("aaaaaaaaaaaaaa", true),
            block("bb", false),
            block("cccccc", true),
        ];
        let second = cache.count("m", &grown);
        assert_eq!((second.input, second.cache_write, second.cache_read), (0, 3, 4));
        let other = cache.count("other model", &grown);
        assert_eq!(other.cache_read, 0);
    }
}
