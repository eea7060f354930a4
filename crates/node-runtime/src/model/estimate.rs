//! Estimates the tokens of an answer that its provider did not count, so that it is not free and limits hold.
//!
//! Vendors bill the input and the output until the connection ended. Anthropic reports the input when an
//! answer begins; servers of OpenAI's protocol report everything at its end, and many local servers and
//! gateways report nothing.
//!
//! The estimate is the same as that of the window of a conversation ([`estimate_text`]).
//! `Usage::estimated_tokens` says how many of the tokens of a report are estimated, so that lists can mark
//! them.

use agentx_agent::{estimate_request, estimate_text};
use agentx_types::{EnvironmentEvent, ModelRequest, Usage, UsageReport};

/// The token counts of an unfinished answer.
#[derive(Clone, Debug, Default)]
pub(super) struct TokenEstimate {
    /// The last count of the provider.
    reported: Usage,
    /// Words that have come since the last count, as text for an estimate.
    text: String,
    /// The estimated tokens of earlier text.
    written: u64,
    /// Whether words have come since the provider counted last.
    behind: bool,
}

impl TokenEstimate {
    /// Counts the next event of the answer.
    pub(super) fn note(&mut self, event: &EnvironmentEvent) {
        match event {
            EnvironmentEvent::UsageReport(report) => {
                self.reported = report.usage;
                self.behind = false;
            }
            EnvironmentEvent::TextChunk(chunk) => self.add(&chunk.text),
            EnvironmentEvent::ThinkingChunk(chunk) => self.add(&chunk.text),
            EnvironmentEvent::ToolCallChunk(chunk) => self.add(&chunk.json),
            _ => {}
        }
    }

    /// Keeps text for the estimate. A long answer is counted in pieces, so that little text is held.
    fn add(&mut self, text: &str) {
        /// The number of bytes of text that are kept before they are counted.
        const PIECE: usize = 4096;
        self.behind |= !text.is_empty();
        self.text.push_str(text);
        if self.text.len() >= PIECE {
            self.written += estimate_text(&std::mem::take(&mut self.text));
        }
    }

    /// Returns the estimated usage of the answer to `request` until now, if it exceeds the reported one. If
    /// the provider has counted everything received, its count is used.
    pub(super) fn estimate(&self, request: &ModelRequest) -> Option<EnvironmentEvent> {
        let mut usage = self.reported;
        if usage.read_tokens() == 0 {
            usage.input_tokens = estimate_request(request);
            usage.estimated_tokens += usage.input_tokens;
        }
        if !self.behind && usage.output_tokens > 0 {
            return usage.is_estimated().then(|| UsageReport { usage }.into());
        }
        let rest = if self.text.is_empty() {
            0
        } else {
            estimate_text(&self.text)
        };
        let more = (self.written + rest).saturating_sub(usage.output_tokens);
        usage.output_tokens += more;
        usage.estimated_tokens += more;
        usage.is_estimated().then(|| UsageReport { usage }.into())
    }
}
