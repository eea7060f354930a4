//! What the end of an answer means: why it ended and what it cost, in the words of every dialect.

use agentx_types::{StopReason, Usage};

use super::cost;
use super::wire::UsageWire;
use crate::error;
use crate::lenient::{Count, all_plausible};
use crate::stream::StreamError;

/// The error that an answer ended with, where its server says that it failed in the middle: DeepSeek
/// (<https://api-docs.deepseek.com/api/create-chat-completion>: `insufficient_system_resource`), Z.AI (`network_error`), OpenRouter
/// (`error`), SGLang and vLLM (`abort`).
pub(super) fn failure(word: Option<&str>) -> Option<StreamError> {
    let code = match bare(word?) {
        // What Gemini itself cannot read: it is not run, and asked for again.
        "MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL" => "tool_use_failed",
        "insufficient_system_resource" => "overloaded",
        "error" | "network_error" | "server_error" | "abort" => "server_error",
        _ => return None,
    };
    let message = format!("the server gave up in the middle of its answer ({})", word?);
    let error = serde_json::json!({"error": {"code": code, "message": message}});
    Some(StreamError::Provider(error::from_stream(&error.to_string())))
}

/// Gemini's own word behind that of its compatible endpoint: `content_filter: PROHIBITED_CONTENT`,
/// `function_call_filter: MALFORMED_FUNCTION_CALL`.
fn bare(word: &str) -> &str {
    word.rsplit(": ").next().unwrap_or(word)
}

/// Gemini's own words for an answer that it holds back (<https://ai.google.dev/api/generate-content#FinishReason>): gateways to it hand
/// them on.
const GEMINI_DECLINES: &[&str] = &[
    "SAFETY",
    "RECITATION",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT",
    "IMAGE_RECITATION",
];

/// The reason, and the provider's word where it says more. An answer with tool calls wants tools, whatever word the
/// server has for it, and an answer that refuses is a refusal.
pub(super) fn stop_reason(
    word: Option<&str>,
    has_calls: bool,
    refused: bool,
) -> (StopReason, Option<String>) {
    let reason = match word.map(bare) {
        Some("stop" | "end_turn" | "eos" | "eos_token" | "stop_sequence") | None => StopReason::EndTurn,
        Some("tool_calls" | "function_call" | "tool_use") => StopReason::ToolUse,
        Some("length" | "max_tokens") => StopReason::MaxTokens,
        Some("model_length" | "model_context_window_exceeded") => StopReason::ContextWindow,
        Some("content_filter" | "refusal" | "sensitive" | "safety") => StopReason::Refusal,
        Some(word) if GEMINI_DECLINES.contains(&word) => StopReason::Refusal,
        Some(_) => StopReason::Other,
    };
    let meant = match reason {
        StopReason::EndTurn if has_calls => StopReason::ToolUse,
        StopReason::EndTurn if refused => StopReason::Refusal,
        StopReason::ToolUse if !has_calls => StopReason::EndTurn,
        reason => reason,
    };
    let raw = word.filter(|_| meant != reason || matches!(meant, StopReason::Other | StopReason::Refusal));
    (meant, raw.map(str::to_owned))
}

/// Tokens, in kinds that do not overlap. Cached tokens are part of the prompt nearly everywhere; Azure's grok counts them beside it: where
/// there are more of them than the prompt has, or the total proves it, they are added. Reasoning is part of
/// the completion at OpenAI and beside it elsewhere: where the total, or the count itself, proves that, it is added.
///
/// Where a count cannot be (1e30, -5), none of what was read, or of what was written, is taken from the server: the caller estimates what is 0.
pub(super) fn usage(wire: &UsageWire) -> Usage {
    let read = reading(wire);
    let (output_tokens, reasoning_tokens) = writing(
        wire,
        read.input_tokens + read.cache_read_tokens + read.cache_write_tokens,
    );
    Usage {
        output_tokens,
        reasoning_tokens,
        reported_cost: cost::reported(wire),
        ..read
    }
}

/// What was read: the three kinds of it.
fn reading(wire: &UsageWire) -> Usage {
    let details = wire.prompt_tokens_details.unwrap_or_default();
    let cached = [
        details.cached_tokens,
        wire.prompt_cache_hit_tokens,
        wire.cached_tokens,
    ];
    let written = details.cache_write_tokens.or(wire.cache_creation_input_tokens);
    if !all_plausible(&[wire.prompt_tokens, cached[0], cached[1], cached[2], written]) {
        return Usage::default();
    }
    let prompt = count(wire.prompt_tokens);
    let cache_read_tokens = cached
        .into_iter()
        .map(count)
        .find(|tokens| *tokens > 0)
        .unwrap_or(0);
    let with_cached = prompt + cache_read_tokens;
    let total = with_cached.saturating_add(count(wire.completion_tokens));
    let cached_beside =
        cache_read_tokens > prompt || (cache_read_tokens > 0 && count(wire.total_tokens) == total);
    let prompt = if cached_beside { with_cached } else { prompt };
    let cache_write_tokens = count(written).min(prompt - cache_read_tokens);
    Usage {
        input_tokens: prompt - cache_read_tokens - cache_write_tokens,
        cache_read_tokens,
        cache_write_tokens,
        ..Usage::default()
    }
}

/// What was written, reasoning included, and the reasoning, beside a prompt of so many tokens.
fn writing(wire: &UsageWire, prompt: u64) -> (u64, u64) {
    let details = wire.completion_tokens_details.unwrap_or_default();
    let reasoning = details.reasoning_tokens.or(wire.reasoning_tokens);
    if !all_plausible(&[wire.completion_tokens, reasoning]) {
        return (0, 0);
    }
    let (completion, reasoning) = (count(wire.completion_tokens), count(reasoning));
    let beside = reasoning > completion
        || (reasoning > 0 && count(wire.total_tokens) == prompt + completion + reasoning);
    (
        if beside {
            completion + reasoning
        } else {
            completion
        },
        reasoning,
    )
}

fn count(count: Option<Count>) -> u64 {
    count.unwrap_or_default().number
}
