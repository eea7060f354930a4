//! Masks older results of tools: a short text with the number of the event stands in place of each. `recall`
//! finds the original, and removing the range from the list of summaries restores it.
//!
//! Every change of an earlier message costs the provider's cache of what follows, and thinking that is bound
//! to it. So results are not masked one after another, but half as many at once as stay unmasked.
//!
//! ```text
//! masks: 4    r1 r2 r3 r4 r5 │ r6 stays │ r7 … r10      r1 to r6 wait until there are two more than four
//! ```

use std::collections::BTreeSet;
use std::sync::Arc;

use agentx_types::{AgentConfig, ContentPart, ContextCondensed, ContextRange, Message, Role};

use super::condense::Condensed;
use super::{Conversation, Entry};
use crate::token_estimate::estimate_message;
use crate::tools::web_tools::is_web_tool;

/// Results with fewer tokens are not masked: the text in their place is about as long.
const LEAST_MASKED: u64 = 64;

/// Results to mask.
#[derive(Clone, Debug)]
pub(crate) struct MaskedPart {
    /// The range from the first to the last of them, with their number and tokens.
    pub(crate) range: ContextRange,
    /// The tools that they are results of.
    pub(crate) tools: Vec<String>,
}

impl Conversation {
    /// Returns the results to mask, if there are enough of them: those before the latest `keep`, of any tool
    /// or only of tools that read web pages. Results that no model has read stay.
    pub(crate) fn results_to_mask(&self, keep: u32, only_web: bool) -> Option<MaskedPart> {
        let keep = usize::try_from(keep).unwrap_or(usize::MAX);
        let counts = |entry: &&Entry| names_in(&entry.message).any(|name| !only_web || is_web_tool(name));
        let results: Vec<&Entry> = self.entries.iter().filter(counts).collect();
        let is_answer = |entry: &&Entry| entry.message.role == Role::Assistant;
        let unread = self.entries.iter().rev().find(is_answer)?.seq;
        let first_kept = results.get(results.len().saturating_sub(keep));
        let until = first_kept.map_or(unread, |entry| entry.seq.min(unread));
        let older: Vec<&Entry> = results
            .into_iter()
            .filter(|entry| entry.seq < until && !entry.masked && entry.tokens > LEAST_MASKED)
            .collect();
        if older.len() < (keep / 2).max(1) {
            return None;
        }
        let names = older.iter().flat_map(|entry| names_in(&entry.message));
        let tools: BTreeSet<&str> = names.filter(|name| !only_web || is_web_tool(name)).collect();
        Some(MaskedPart {
            range: ContextRange {
                from_seq: older.first()?.seq,
                to_seq: older.last()?.seq,
                messages: count(&older),
                tokens: older.iter().map(|entry| entry.tokens).sum(),
                summary_tokens: 0,
            },
            tools: tools.into_iter().map(str::to_owned).collect(),
        })
    }

    /// Masks the results of a range of events, as the fact says. Returns the range with the tokens of the
    /// texts in their place; `None` if there is nothing to mask.
    pub(crate) fn mask(&mut self, seq: u64, fact: &ContextCondensed) -> Option<ContextRange> {
        let in_range = fact.from_seq..=fact.to_seq;
        let is_of_these = |entry: &Entry| {
            let mut names = names_in(&entry.message);
            names.any(|name| fact.masked.iter().any(|tool| tool == name))
        };
        let mut originals: Vec<Entry> = Vec::new();
        let mut tokens_after = 0;
        for entry in &mut self.entries {
            if in_range.contains(&entry.seq)
                && !entry.masked
                && entry.tokens > LEAST_MASKED
                && is_of_these(entry)
            {
                originals.push(entry.clone());
                entry.message = with_text(entry, fact);
                entry.tokens = estimate_message(&entry.message);
                entry.masked = true;
                tokens_after += entry.tokens;
            }
        }
        let range = ContextRange {
            from_seq: fact.from_seq,
            to_seq: fact.to_seq,
            messages: count(&originals),
            tokens: originals.iter().map(|entry| entry.tokens).sum(),
            summary_tokens: tokens_after,
        };
        if originals.is_empty() {
            return None;
        }
        self.condensed
            .push(Condensed::of_masked(seq, range, &fact.summary, originals));
        self.undone = false;
        self.changed();
        Some(range)
    }

    /// Restores masked results where they are. Those that are not in the conversation any more are dropped.
    pub(super) fn unmask(&mut self, originals: Vec<Entry>) {
        for original in originals {
            let mut masked = self.entries.iter_mut();
            if let Some(entry) = masked.find(|entry| is_same(entry, &original)) {
                *entry = original;
            }
        }
    }

    /// Returns whether the conversation has a masked result, perhaps behind a summary.
    pub(super) fn has_masked(&self, original: &Entry) -> bool {
        let summaries = self.condensed.iter().filter(|condensed| !condensed.masks);
        let replaced = summaries.flat_map(|condensed| &condensed.entries);
        let mut all = self.entries.iter().chain(replaced);
        all.any(|entry| is_same(entry, original))
    }

    /// Returns whether a person undid what was condensed last, and less than a tenth of the window has come
    /// since: nothing is left out without a model until then.
    pub(crate) fn rests_after_undo(&self, config: &AgentConfig) -> bool {
        self.undone && self.grown.saturating_mul(10) < config.model.context_window.max(1)
    }
}

/// The number of entries, as events count them.
fn count<T>(entries: &[T]) -> u64 {
    u64::try_from(entries.len()).unwrap_or(u64::MAX)
}

/// Returns whether a masked entry is that of this original.
fn is_same(entry: &Entry, original: &Entry) -> bool {
    entry.seq == original.seq && entry.message.message_id == original.message.message_id
}

/// The names of the tools whose results a message has.
fn names_in(message: &Message) -> impl Iterator<Item = &str> {
    let is_result = message.role == Role::Tool;
    let parts = message.content.iter().filter(move |_| is_result);
    parts.filter_map(|part| match part {
        ContentPart::ToolResult(result) => Some(result.name.as_str()),
        _ => None,
    })
}

/// The message of an entry with the text of the fact in place of its results.
fn with_text(entry: &Entry, fact: &ContextCondensed) -> Arc<Message> {
    let text = format!(
        "[{} `recall` with `from: {}` reads it.]",
        fact.summary.trim(),
        entry.seq
    );
    let mut message = Message::clone(&entry.message);
    for part in message.content.iter_mut() {
        if let ContentPart::ToolResult(result) = part {
            result.content = vec![ContentPart::text(text.as_str())];
        }
    }
    Arc::new(message)
}
