//! Finds the part of a conversation with a key that the provider does not take.
//!
//! Sources of the words: Anthropic ("messages.1.content.1.tool_use.index: Extra inputs are not permitted",
//! <https://github.com/langchain-ai/langchain/issues/31208>), Groq ("`messages[3].reasoning`: reasoning is
//! not supported with this model", <https://github.com/vercel/ai/issues/8056>; "property 'reasoning_content'
//! is unsupported", <https://github.com/janhq/jan/issues/8136>), Fireworks ("Extra inputs are not permitted,
//! field: 'messages[8].reasoning', value: …", <https://github.com/earendil-works/pi/issues/4514>), MiniMax
//! ("Mismatch type []*open_platform_oai.ReasoningDetail",
//! <https://github.com/iOfficeAI/gemini-cli-pro/pull/33>).

use agentx_types::RequestPart;

use super::refused_setting::UNKNOWN;

/// Keys of reasoning in a message of Chat Completions.
const REASONING: &[&str] = &["reasoning_details", "].reasoning"];

/// The key of reasoning that some servers want with each answer, and others refuse.
const REASONING_CONTENT: &str = "reasoning_content";

/// Returns whether the message, in lower case, says that earlier answers lack their reasoning: DeepSeek's
/// "The `reasoning_content` in the thinking mode must be passed back to the API."
/// (<https://api-docs.deepseek.com/guides/thinking_mode>), Moonshot's "thinking is enabled but
/// reasoning_content is missing in assistant tool call message at index 2". DeepSeek's server of Anthropic's
/// API says "The `content[].thinking` in the thinking mode must be passed back to the API."
/// (<https://github.com/decolua/9router/issues/2397>).
pub(super) fn wants_reasoning(message: &str) -> bool {
    if message.contains("content[].thinking") && message.contains("must be passed back") {
        return true;
    }
    let forbids = ["must not", "should not", "cannot", "can't"];
    let mut refuses = UNKNOWN.iter().chain(&forbids);
    message.contains(REASONING_CONTENT) && !refuses.any(|words| message.contains(words))
}

/// The part that the key is in, if the message, in lower case, names one.
pub(super) fn named(message: &str) -> Option<RequestPart> {
    if message.contains("mismatch type") && message.contains("reasoningdetail") {
        return Some(RequestPart::Thinking);
    }
    if !UNKNOWN.iter().any(|words| message.contains(words)) {
        return None;
    }
    if message.contains(REASONING_CONTENT) {
        return Some(RequestPart::ReasoningContent);
    }
    // Errors about the setting `reasoning` do not mention a message.
    let in_message = message.contains("message") && message.contains("'reasoning'");
    if in_message || REASONING.iter().any(|name| message.contains(name)) {
        return Some(RequestPart::Thinking);
    }
    let (place, _) = message.split_once(": extra inputs are not permitted")?;
    let (_, path) = place.split_once("messages.")?;
    let path: Vec<&str> = path.split('.').collect();
    match path[..] {
        [.., "cache_control"] | [.., "cache_control", _] => None,
        [_, "content", _, "thinking" | "redacted_thinking", _, ..] => Some(RequestPart::Thinking),
        [_, "content", _, "image" | "document", _, ..] => Some(RequestPart::Media),
        [_, "content", _, "tool_result", _, ..] => Some(RequestPart::ToolCalls),
        [_, "content", _, _, _, ..] => Some(RequestPart::Blocks),
        _ => None,
    }
}
