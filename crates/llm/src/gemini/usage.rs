//! The token counts of both APIs of Gemini, in the kinds of this program.

use agentx_types::Usage;

use super::wire::UsageMetadata;
use crate::lenient_json::{LenientCount, all_plausible};

impl UsageMetadata {
    /// Returns whether it has token counts: Vertex AI has them only in the last chunk.
    pub(super) fn counts(&self) -> bool {
        self.prompt_token_count.is_some() || self.candidates_token_count.is_some()
    }

    pub(super) fn tokens(&self) -> Usage {
        let read = [
            self.prompt_token_count,
            self.cached_content_token_count,
            self.tool_use_prompt_token_count,
        ];
        tokens(read, [self.candidates_token_count, self.thoughts_token_count])
    }
}

/// Returns tokens in kinds that do not overlap, for both APIs of Gemini.
///
/// `read` has the prompt, the part of it that was read from the cache, and additional results of Google's own
/// tools. `written` has the answer, and additional reasoning. If a count is impossible (1e30, -5), all counts
/// of its side are set to 0, which the caller estimates.
pub(crate) fn tokens(read: [Option<LenientCount>; 3], written: [Option<LenientCount>; 2]) -> Usage {
    let number = |count: Option<LenientCount>| count.unwrap_or_default().number;
    let mut usage = Usage::default();
    if all_plausible(&read) {
        let [prompt, cached, of_tools] = read.map(number);
        usage.cache_read_tokens = cached.min(prompt);
        usage.input_tokens = prompt - usage.cache_read_tokens + of_tools;
    }
    if all_plausible(&written) {
        let [answer, thoughts] = written.map(number);
        usage.reasoning_tokens = thoughts;
        usage.output_tokens = answer + thoughts;
    }
    usage
}
