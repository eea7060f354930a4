//! Shortens results of tools before a request that would not fit into the window is sent.
//!
//! The latest exchange is always sent, so nothing else would make room for it: a server would refuse the
//! request, or silently drop its beginning. `shorten_new_results` runs before a summary is considered, on the
//! latest results; `shorten_tool_results` runs after the window has moved, on all of them. An input that
//! never fits is left out of later requests.
//!
//! A shortened result keeps its beginning and its end. The log keeps all of it.

use std::ops::Range;
use std::sync::Arc;

use agentx_types::{AgentConfig, ContentPart, Message, MessageId, Role, since};

use super::Conversation;
use crate::cut_text::cut;
use crate::token_estimate::{estimate_message, estimate_part, estimate_text};

/// The minimum size of a shortened result, in tokens: about 256 letters, enough to recognize it.
const LEAST: u64 = 64;

impl Conversation {
    /// Shortens the latest results, if the next request would not fit: together they get half of the room,
    /// and older messages may be condensed.
    pub(crate) fn shorten_new_results(&mut self, config: &AgentConfig) {
        let budget = self.budget(config);
        let in_window = self.tokens_in_window();
        if config.rules_version < since::NEW_RESULTS_ARE_SHORTENED || self.corrected(in_window) <= budget {
            return;
        }
        let is_result = |index: &usize| self.entries[*index].message.role == Role::Tool;
        let window = self.window_start..self.entries.len();
        let Some(last) = window.clone().rev().find(is_result) else {
            return;
        };
        let first = window
            .rev()
            .skip_while(|index| *index > last)
            .take_while(is_result)
            .last();
        let results = first.unwrap_or(last)..last + 1;
        if self.shorten_together(results.clone(), budget / 2) && results.start < self.asked_entries {
            self.beginning_changed(config);
        }
    }

    /// Shortens results of tools until the request fits, after the window has moved on as far as it may.
    /// `false` if nothing was changed.
    pub(super) fn shorten_tool_results(&mut self, config: &AgentConfig) -> bool {
        let budget = self.budget(config);
        let in_window = self.tokens_in_window();
        if config.rules_version < since::NEW_RESULTS_ARE_SHORTENED || self.corrected(in_window) <= budget {
            return false;
        }
        let window = self.window_start..self.entries.len();
        let results = self.entries[window.clone()]
            .iter()
            .filter(|entry| entry.message.role == Role::Tool);
        let others = in_window - results.map(|entry| entry.tokens).sum::<u64>();
        let room = budget.saturating_sub(self.corrected(others));
        self.shorten_together(window, room)
    }

    /// Moves the window past an earlier input that alone is larger than `budget`, if nothing else can be left
    /// out.
    ///
    /// The run of that input failed, and each later run would. The input of the run in progress is never left
    /// out. Returns whether there was one; from version 6 of the rules on.
    pub(super) fn leave_out_oversized_input(
        &mut self,
        budget: u64,
        config: &AgentConfig,
        input: Option<&MessageId>,
    ) -> bool {
        let in_window = self.tokens_in_window();
        if config.rules_version < since::UNFIT_INPUTS_ARE_LEFT_OUT || self.corrected(in_window) <= budget {
            return false;
        }
        let [.., (start, end), _] = self.units(self.window_start)[..] else {
            return false;
        };
        let message = &self.entries[start].message;
        let never_fits = self.corrected(self.tokens(start, end)) > budget;
        if message.role != Role::User || Some(&message.message_id) == input || !never_fits {
            return false;
        }
        self.window_start = end;
        self.window_tokens.clear();
        self.counted = None;
        true
    }

    /// Shortens the longest results of a range until they take `most` tokens together, as the provider
    /// counts. `false` if none had to be changed.
    fn shorten_together(&mut self, range: Range<usize>, most: u64) -> bool {
        let most = most.saturating_mul(100) / (100 + self.extra_percent);
        let results = self.entries[range.clone()]
            .iter()
            .filter(|entry| entry.message.role == Role::Tool);
        let longest = fair_share(results.map(|entry| entry.tokens).collect(), most).max(LEAST);
        let mut changed = false;
        for entry in &mut self.entries[range] {
            if entry.message.role == Role::Tool && entry.tokens > longest {
                entry.message = with_short_results(entry.message.clone(), longest);
                entry.tokens = estimate_message(&entry.message);
                changed = true;
            }
        }
        if changed {
            self.window_tokens.clear();
        }
        changed
    }
}

/// The bound on each of these sizes so that their sum is at most `most`: room that short ones leave goes to
/// the longer ones. No bound if all fit.
fn fair_share(mut sizes: Vec<u64>, most: u64) -> u64 {
    sizes.sort_unstable();
    let mut left = most;
    for (done, size) in sizes.iter().enumerate() {
        let share = left / u64::try_from(sizes.len() - done).unwrap_or(u64::MAX);
        if *size > share {
            return share;
        }
        left -= size;
    }
    u64::MAX
}

/// The message with each text of its tool results in at most this many tokens: its beginning and its end.
pub(super) fn with_short_results(message: Arc<Message>, longest: u64) -> Arc<Message> {
    let is_long =
        |part: &ContentPart| matches!(part, ContentPart::ToolResult(_)) && estimate_part(part) > longest;
    if !message.content.iter().any(is_long) {
        return message;
    }
    let mut message = Arc::unwrap_or_clone(message);
    for part in message.content.iter_mut() {
        if let ContentPart::ToolResult(result) = part {
            let texts = result.content.iter_mut().filter_map(|part| match part {
                ContentPart::Text(part) => Some(&mut part.text),
                _ => None,
            });
            texts.for_each(|text| shorten(text, longest));
        }
    }
    Arc::new(message)
}

/// Cuts a text to its beginning and its end, in about this many tokens.
fn shorten(text: &mut String, tokens: u64) {
    let weight = estimate_text(text);
    if weight > tokens {
        let chars = u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
        let most = chars.saturating_mul(tokens) / weight;
        *text = cut(text, usize::try_from(most).unwrap_or(usize::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::fair_share;

    #[test]
    fn what_short_ones_leave_is_for_the_longer_ones() {
        assert_eq!(fair_share(vec![10, 1_000, 1_000], 1_010), 500);
        assert_eq!(fair_share(vec![1_000], 300), 300);
        assert_eq!(fair_share(vec![10, 20], 30), u64::MAX);
        assert_eq!(fair_share(vec![], 0), u64::MAX);
    }
}
