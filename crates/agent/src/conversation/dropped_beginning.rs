//! Detects a server that drops the beginning of a request without an error. Ollama does so with everything
//! beyond `num_ctx` (4,096 tokens on most machines): some versions read the last `num_ctx` tokens, some
//! `num_ctx / 2 + 2`, and some drop whole messages (<https://github.com/ollama/ollama/issues/17889>,
//! <https://github.com/ollama/ollama/issues/17427>).
//!
//! A server that reads whole requests counts more tokens for a request that extends the one before. If the
//! count does not grow, the request was cut.
//!
//! Two such requests are needed, or one with exactly the same count. If the count might be that of the new
//! tokens alone, because some servers leave out cached tokens, three requests are needed with about the same
//! count that the new tokens do not explain. A summary does not interrupt these three: a server that cuts
//! counts the shorter request alike. Only servers of the Chat Completions API without prices are
//! checked: a vendor that is paid for its tokens refuses a request that is too long.

use agentx_types::{AgentConfig, Api, ContentPart, Prices, since};
use serde::{Deserialize, Serialize};

use super::{Conversation, TELLING_TOKENS};
use crate::token_estimate::estimate_part;

/// Maximum number of tokens that a server counts beyond the new ones: servers that count only uncached tokens
/// count in blocks.
const CACHE_BLOCK: u64 = 256;
/// Minimum growth of a request, in estimated tokens, that counts as growth.
const GROWN: u64 = 100;
/// The smallest plausible window.
const LEAST: u64 = 1_500;
/// Number of signs that are proof. An equal count for a larger request is two signs at once.
const PROOF: u8 = 2;
/// Number of counts that are proof if they are alike and cannot be those of the new tokens alone.
const ALIKE: u8 = 3;

/// The counts of a server in requests each of which extended the one before. They are forgotten when the
/// conversation changes other than by an addition or a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ServerCounts {
    /// The most tokens that it counted.
    most: u64,
    /// The size of the last request, estimated.
    asked: u64,
    /// The number of signs that it cuts, up to [`PROOF`]: half or more of what it counted before is one, the
    /// same number two.
    signs: u8,
    /// The number of counts that were like the highest one although the new tokens alone would have changed
    /// them.
    #[serde(default)]
    alike: u8,
    /// The new tokens of the request with the most, estimated.
    #[serde(default)]
    grown: u64,
    /// The highest count in percent of an estimate; 0 if no request was large enough to tell.
    #[serde(default)]
    percent: u64,
    /// The estimated tokens of the messages before a summary that was written since the last request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before_summary: Option<u64>,
}

impl ServerCounts {
    /// Returns how many counts were like the most, although the new tokens alone would have been others, with
    /// this count.
    fn alike_with(&self, counted: u64, grown: u64) -> u8 {
        if counted.saturating_add(counted / 100) < self.most {
            return 0;
        }
        let of_estimate = |percent: u64| grown.saturating_mul(percent) / 100;
        let most_new = of_estimate(self.percent.max(100)).saturating_mul(4) / 3;
        let least_new = of_estimate(self.percent) * 2 / 3;
        let is_other = counted > most_new.saturating_add(CACHE_BLOCK)
            || counted.saturating_add(CACHE_BLOCK) < least_new
            || grown.abs_diff(self.grown) > grown / 10 + 2 * CACHE_BLOCK;
        self.alike.saturating_add(u8::from(is_other))
    }
}

impl Conversation {
    /// Checks the provider's count of the last request, before anything else uses it.
    ///
    /// Returns the number of tokens that fit, once the server has certainly cut the rest: there are enough
    /// signs, the number is at least 1,500 and less than nine tenths of the assumed window, and the certain
    /// size of the request is a quarter more.
    pub(super) fn notice_cut(&mut self, counted: u64, config: &AgentConfig) -> Option<u64> {
        if config.rules_version < since::CUTS_ARE_NOTICED || config.model.api != Api::OpenaiChat {
            return None;
        }
        // A vendor that is paid for its tokens refuses a request that is too long.
        let has_doubts = config.rules_version >= since::UNCACHED_COUNTS_IGNORED;
        if has_doubts && config.model.prices != Prices::default() {
            return None;
        }
        let asked = self.asked_tokens;
        let first = ServerCounts {
            most: counted,
            asked,
            signs: 0,
            alike: 0,
            grown: asked,
            percent: self.told_percent(counted),
            before_summary: None,
        };
        // If the count of the last request is forgotten, something else than an addition has happened since.
        let before = self.counts.filter(|_| self.counted.is_some());
        let counts = match before {
            Some(before) if counted <= before.most && asked >= before.asked.saturating_add(GROWN) => {
                // Some servers count only uncached tokens: far fewer, or about as many as are new
                // (<https://github.com/ollama/ollama/issues/5370>).
                let grown = asked.saturating_sub(before.asked);
                let new = self.corrected(grown);
                let signs = match counted {
                    new_alone
                        if has_doubts && new_alone <= new.saturating_mul(2).saturating_add(CACHE_BLOCK) =>
                    {
                        0
                    }
                    same if same == before.most => PROOF,
                    less if less.saturating_mul(2) >= before.most => before.signs + 1,
                    _ => 0,
                };
                ServerCounts {
                    asked,
                    signs: signs.min(PROOF),
                    alike: before.alike_with(counted, grown),
                    ..before
                }
            }
            Some(before) if counted <= before.most => before,
            Some(before) => ServerCounts {
                grown: asked.saturating_sub(before.asked),
                percent: first.percent.max(before.percent),
                ..first
            },
            None => self.counts_over_summary(first, config),
        };
        self.counts = Some(counts);
        let window = counts.most;
        let is_proved = counts.signs >= PROOF
            || (config.rules_version >= since::EQUAL_COUNTS_ARE_SIGNS && counts.alike >= ALIKE);
        let is_cut = is_proved
            && window >= LEAST
            && window.saturating_mul(10) < config.model.context_window.saturating_mul(9)
            && self.surely_sent() >= window.saturating_add(window / 4);
        if !is_cut {
            return None;
        }
        self.counts = None;
        self.counted = None;
        self.guessed = None;
        self.assume_window(window, config);
        Some(window)
    }

    /// Returns the counts with the first one after a summary. If it is like the most, the earlier ones stay
    /// valid, and it is a further sign if the request has another size, and so have its messages that no
    /// server had cached.
    fn counts_over_summary(&mut self, first: ServerCounts, config: &AgentConfig) -> ServerCounts {
        let kept = self
            .counts
            .and_then(|before| Some((before, before.before_summary?)));
        let Some((before, before_summary)) =
            kept.filter(|_| config.rules_version >= since::COUNTS_OUTLIVE_CONDENSING)
        else {
            return first;
        };
        let ServerCounts { most, asked, .. } = first;
        let cached = self.prefix(config).tokens.saturating_add(before_summary);
        let new = asked.saturating_sub(cached);
        if most.abs_diff(before.most) > before.most / 100 {
            return ServerCounts {
                grown: new,
                percent: first.percent.max(before.percent),
                ..first
            };
        }
        let has_other_size = asked.abs_diff(before.asked) >= before.asked / 5;
        let alike = if has_other_size {
            before.alike_with(most, new)
        } else {
            before.alike
        };
        ServerCounts {
            asked,
            signs: 0,
            alike,
            before_summary: None,
            ..before
        }
    }

    /// Keeps what the server counted over a summary, which follows messages of these estimated tokens.
    pub(super) fn keep_counts(&mut self, before_summary: u64) {
        let is_valid = self.counted.is_some();
        if let Some(counts) = &mut self.counts {
            let earlier = counts.before_summary;
            let least = earlier.map_or(before_summary, |earlier| earlier.min(before_summary));
            counts.before_summary = (is_valid || earlier.is_some()).then_some(least);
        }
    }

    /// Forgets what the server counted before a summary: more than the summary has changed since.
    pub(super) fn drop_kept_counts(&mut self) {
        if let Some(counts) = &mut self.counts {
            counts.before_summary = None;
        }
    }

    /// A count of the last request in percent of its estimate; 0 if the request is too small to tell.
    fn told_percent(&self, counted: u64) -> u64 {
        let is_telling = self.asked_tokens >= TELLING_TOKENS;
        let percent = counted.saturating_mul(100).checked_div(self.asked_tokens);
        percent.filter(|_| is_telling).unwrap_or_default()
    }

    /// The size of the last request, without what a server may leave out itself (earlier reasoning) or count
    /// in its own way (pictures).
    fn surely_sent(&self) -> u64 {
        let sent = self.entries[..self.asked_entries.min(self.entries.len())].iter();
        let parts = sent
            .skip(self.window_start)
            .flat_map(|entry| &entry.message.content);
        let left_out: u64 = parts.map(estimate_left_out).sum();
        self.corrected(self.asked_tokens.saturating_sub(left_out))
    }
}

/// Tokens of a part that a server need not count even if it reads everything.
fn estimate_left_out(part: &ContentPart) -> u64 {
    match part {
        ContentPart::Text(_) | ContentPart::ToolCall(_) => 0,
        ContentPart::ToolResult(result) => result.content.iter().map(estimate_left_out).sum(),
        ContentPart::Thinking(_)
        | ContentPart::Image(_)
        | ContentPart::Audio(_)
        | ContentPart::File(_)
        | ContentPart::Opaque(_) => estimate_part(part),
    }
}
