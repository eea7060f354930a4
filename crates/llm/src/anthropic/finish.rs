//! Decodes the end of a message: the stop reason and the usage.
//!
//! `message_delta` reports both: `{"delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":12}}`. Input
//! tokens of the API exclude cached ones; [`Usage`] keeps the three counts apart.

use agentx_types::{StopReason, Usage};
use serde_json::Value;

use super::wire::{AnthropicUsageWire, BlockDelta, InferenceGeo};
use crate::lenient_json::{self, LenientCount};

/// Returns the counts after this report. Reports are cumulative: each replaces the counts of an earlier one.
///
/// Gateways end an answer with zeros if they know no more than at its beginning, so zeros replace no counts.
/// Impossible counts (1e30, -5) are ignored.
pub(super) fn usage(mut usage: Usage, wire: &AnthropicUsageWire) -> Usage {
    let read = [
        wire.input_tokens,
        wire.cache_creation_input_tokens,
        wire.cache_read_input_tokens,
    ];
    let thinking = wire
        .output_tokens_details
        .and_then(|details| details.thinking_tokens);
    let for_an_hour = wire
        .cache_creation
        .and_then(|created| created.ephemeral_1h_input_tokens);
    let written = [wire.output_tokens, thinking];
    let knows = |counts: &[Option<LenientCount>]| {
        counts.iter().flatten().any(|count| count.number > 0) && lenient_json::all_plausible(counts)
    };
    let (knows_reading, knows_writing) = (knows(&read), knows(&written));
    let fields = [
        (knows_reading, &mut usage.input_tokens, wire.input_tokens),
        (knows_writing, &mut usage.output_tokens, wire.output_tokens),
        (
            knows_reading,
            &mut usage.cache_write_tokens,
            wire.cache_creation_input_tokens,
        ),
        (
            knows_reading,
            &mut usage.cache_read_tokens,
            wire.cache_read_input_tokens,
        ),
        (
            knows_reading && lenient_json::all_plausible(&[for_an_hour]),
            &mut usage.cache_write_1h_tokens,
            for_an_hour,
        ),
        (knows_writing, &mut usage.reasoning_tokens, thinking),
    ];
    for (is_known, slot, value) in fields {
        if let Some(count) = value.filter(|_| is_known) {
            *slot = count.number;
        }
    }
    usage.cache_write_1h_tokens = usage.cache_write_1h_tokens.min(usage.cache_write_tokens);
    if wire.inference_geo == InferenceGeo::Region || usage.is_unpriced() {
        usage.unpriced_tokens = usage.context_tokens();
    }
    usage
}

/// Returns the stop reason of the message, and its vendor's explanation.
pub(super) fn stop_reason(word: &str, delta: &BlockDelta<'_>) -> (StopReason, Option<String>) {
    let reason = match word {
        "end_turn" => StopReason::EndTurn,
        "tool_use" => StopReason::ToolUse,
        "max_tokens" => StopReason::MaxTokens,
        "stop_sequence" => StopReason::StopSequence,
        // Both mean that asking again with this answer continues the turn. A request that asks for context
        // editing with `pause_after_compaction` gets the second, after a block with the summary.
        "pause_turn" | "compaction" => StopReason::PauseTurn,
        // The second is that of Amazon Bedrock's guardrails.
        "refusal" | "guardrail_intervened" => StopReason::Refusal,
        "model_context_window_exceeded" => StopReason::ContextWindow,
        _ => StopReason::Other,
    };
    let raw = match reason {
        StopReason::StopSequence => delta.stop_sequence.as_deref().map(str::to_owned),
        StopReason::Refusal => delta
            .stop_details
            .as_ref()
            .filter(|details| !details.is_null())
            .map(Value::to_string),
        StopReason::Other => Some(word.to_owned()),
        _ => None,
    };
    (reason, raw)
}
