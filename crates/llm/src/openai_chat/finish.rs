//! Decodes the stop reason of an answer, in every dialect.

use agentx_types::StopReason;

use crate::error;
use crate::gemini::unfinished;
use crate::stream_error::StreamError;

/// The error that ended an answer, if its server reports a failure in the middle: DeepSeek
/// (<https://api-docs.deepseek.com/api/create-chat-completion>: `insufficient_system_resource`), Z.AI
/// (`network_error`), OpenRouter (`error`), SGLang and vLLM (`abort`).
pub(super) fn failure(word: Option<&str>, has_answer: bool) -> Option<StreamError> {
    if let Some(failure) = unfinished::failure(bare(word?), "", has_answer) {
        return Some(StreamError::Provider(failure));
    }
    let code = match bare(word?) {
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

/// Gemini's own words for an answer that it holds back
/// (<https://ai.google.dev/api/generate-content#FinishReason>): gateways to it hand them on.
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

/// The reason, and the provider's word if it is more precise. An answer with tool calls ends for tool use,
/// regardless of the server's word, and one with a refusal text is a refusal.
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
