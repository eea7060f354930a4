//! The events of a stream as they are read. Every field may be missing, and unknown ones are ignored.
//!
//! ```text
//! messageStart       {"role":"assistant"}
//! contentBlockDelta  {"contentBlockIndex":0,"delta":{"text":"Hi"}}
//! contentBlockStop   {"contentBlockIndex":0}
//! contentBlockStart  {"contentBlockIndex":1,"start":{"toolUse":{"toolUseId":"t1","name":"read"}}}
//! contentBlockDelta  {"contentBlockIndex":1,"delta":{"toolUse":{"input":"{}"}}}
//! contentBlockStop   {"contentBlockIndex":1}
//! messageStop        {"stopReason":"tool_use"}
//! metadata           {"usage":{"inputTokens":9,"outputTokens":4,"totalTokens":13}}
//! ```
//!
//! <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStreamOutput.html>

use agentx_types::Usage;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::lenient_json::{LenientCount, all_plausible};
use crate::stream_error::StreamError;

/// A piece of a block, its beginning or its end.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ConverseBlockEvent {
    content_block_index: Option<LenientCount>,
    pub(super) start: Option<ConverseBlockStart>,
    pub(super) delta: Option<ConverseBlockDelta>,
}

impl ConverseBlockEvent {
    /// The place of the block in the answer.
    pub(super) fn index(&self) -> u64 {
        self.content_block_index.unwrap_or_default().number
    }
}

/// The beginning of a block. Only blocks of tools have one.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ConverseBlockStart {
    pub(super) tool_use: Option<ConverseToolUse>,
}

/// A call of a tool, or a piece of its arguments.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ConverseToolUse {
    pub(super) tool_use_id: Option<String>,
    pub(super) name: Option<String>,
    /// A piece of the arguments as text.
    pub(super) input: Option<String>,
}

/// A piece of a block: one of these.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ConverseBlockDelta {
    pub(super) text: Option<String>,
    pub(super) reasoning_content: Option<ConverseReasoning>,
    pub(super) tool_use: Option<ConverseToolUse>,
}

/// A piece of reasoning: one of these.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ConverseReasoning {
    pub(super) text: Option<String>,
    pub(super) signature: Option<String>,
    /// Encrypted reasoning as base64.
    pub(super) redacted_content: Option<String>,
}

/// The end of the answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ConverseMessageStop {
    pub(super) stop_reason: Option<String>,
}

/// The counts after the end.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ConverseMetadata {
    pub(super) usage: Option<ConverseUsage>,
}

/// The token counts. `inputTokens` has none of the tokens that were read from the cache or written to it
/// (<https://github.com/anomalyco/opencode/pull/38427>).
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ConverseUsage {
    input_tokens: Option<LenientCount>,
    output_tokens: Option<LenientCount>,
    cache_read_input_tokens: Option<LenientCount>,
    cache_write_input_tokens: Option<LenientCount>,
}

impl ConverseUsage {
    /// The tokens in kinds of this program. If a count is impossible, all counts of its side are 0, which the
    /// caller estimates.
    pub(super) fn tokens(self) -> Usage {
        let number = |count: Option<LenientCount>| count.unwrap_or_default().number;
        let read = [
            self.input_tokens,
            self.cache_read_input_tokens,
            self.cache_write_input_tokens,
        ];
        let mut usage = Usage::default();
        if all_plausible(&read) {
            [
                usage.input_tokens,
                usage.cache_read_tokens,
                usage.cache_write_tokens,
            ] = read.map(number);
        }
        if all_plausible(&[self.output_tokens]) {
            usage.output_tokens = number(self.output_tokens);
        }
        usage
    }
}

/// Reads the payload of an event.
pub(super) fn read<T: DeserializeOwned>(payload: &str) -> Result<T, StreamError> {
    serde_json::from_str(payload).map_err(|error| StreamError::malformed(error, payload))
}
