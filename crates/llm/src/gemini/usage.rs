//! The token counts of both APIs of Gemini, in the kinds of this program.

use agentx_types::Usage;

use super::wire::UsageMetadata;
use crate::lenient_json::{LenientCount, all_plausible};

impl UsageMetadata {
    /// Returns whether tokens are counted: Vertex AI counts only in the last chunk, and says other things before.
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

/// Tokens in kinds that do not overlap, for both APIs of Gemini.
///
/// `read` has the prompt, the part of it that was read from the cache, and what Google's own tools returned beside it.
/// `written` has the answer, and the reasoning beside it. Where a count cannot be (1e30, -5), none of its side is taken
/// from the server: the caller estimates what is 0.
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
