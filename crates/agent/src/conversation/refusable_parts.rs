//! The kinds of parts that a provider may refuse, and the text in their place.
//!
//! `repair` decides which kind is left out up to which event; the predicates here define each kind, and the
//! functions after them return the replacement that the model reads. Thinking and opaque blocks are dropped
//! silently; media and calls are described in brackets, because the conversation would make no sense without
//! them.

use agentx_types::{ContentPart, MediaPart, TextPart, ThinkingPart, ToolCallPart, ToolResultPart};
use serde_json::Value;

/// The API whose thinking is signed and verified. Others want it back unchanged, or not at all: their codecs
/// know.
const SIGNS_THINKING: &str = "anthropic";
/// The APIs to which reasoning is sent back: as text, or encrypted.
const REASONS: [&str; 2] = ["openai-chat", "openai-responses"];
/// The APIs that sign texts, thinking and calls, and look at the signatures again.
const SIGNS_PARTS: [&str; 2] = ["gemini", "gemini-interactions"];
/// Maximum number of characters of a call's arguments when the call is described as text.
const INPUT_CHARS: usize = 2_000;

/// Returns whether the part is thinking that its provider signs, even if it has been redacted.
pub(super) fn is_signed_thinking(part: &ContentPart) -> bool {
    match part {
        ContentPart::Thinking(ThinkingPart { provider, .. }) => provider
            .as_ref()
            .is_some_and(|provider| provider.api == SIGNS_THINKING),
        ContentPart::Opaque(part) => {
            part.provider.api == SIGNS_THINKING && part.provider.data["type"] == "redacted_thinking"
        }
        _ => false,
    }
}

/// Returns whether the part is from an answer of Anthropic, is sent back unchanged, and is not thinking.
///
/// New kinds appear without notice (<https://platform.claude.com/docs/en/api/versioning>), and other servers
/// of that API know only some of them.
pub(super) fn is_block(part: &ContentPart) -> bool {
    matches!(part, ContentPart::Opaque(part) if part.provider.api == SIGNS_THINKING)
        && !is_signed_thinking(part)
}

/// Returns whether Anthropic's API attached something to the words or the call that is sent back with them.
pub(super) fn has_attached(part: &ContentPart) -> bool {
    let provider = match part {
        ContentPart::Text(part) => &part.provider,
        ContentPart::ToolCall(part) => &part.provider,
        _ => return false,
    };
    provider.as_ref().is_some_and(|data| data.api == SIGNS_THINKING)
}

/// The part without the data that [`has_attached`] finds.
pub(super) fn without_attached(mut part: ContentPart) -> ContentPart {
    if has_attached(&part)
        && let ContentPart::Text(TextPart { provider, .. })
        | ContentPart::ToolCall(ToolCallPart { provider, .. }) = &mut part
    {
        *provider = None;
    }
    part
}

/// Returns whether Gemini's API signed the part.
pub(super) fn is_signed(part: &ContentPart) -> bool {
    let provider = match part {
        ContentPart::Text(part) => part.provider.as_ref(),
        ContentPart::Thinking(part) => part.provider.as_ref(),
        ContentPart::ToolCall(part) => part.provider.as_ref(),
        ContentPart::Opaque(part) => Some(&part.provider),
        _ => None,
    };
    provider.is_some_and(|data| SIGNS_PARTS.contains(&data.api.as_str()))
}

/// The part without its signature; `None` for one that only its provider reads.
pub(super) fn without_signature(mut part: ContentPart) -> Option<ContentPart> {
    if is_signed(&part) {
        match &mut part {
            ContentPart::Text(TextPart { provider, .. })
            | ContentPart::Thinking(ThinkingPart { provider, .. })
            | ContentPart::ToolCall(ToolCallPart { provider, .. }) => *provider = None,
            _ => return None,
        }
    }
    Some(part)
}

/// Returns whether the part is reasoning in a form that is sent back to OpenAI's APIs: as text, with
/// `reasoning_details`, or encrypted.
pub(super) fn is_reasoning(part: &ContentPart) -> bool {
    match part {
        ContentPart::Thinking(part) => {
            let provider = part.provider.as_ref();
            provider.is_none_or(|data| REASONS.contains(&data.api.as_str()))
        }
        ContentPart::Opaque(part) => REASONS.contains(&part.provider.api.as_str()),
        _ => false,
    }
}

/// Returns whether a picture, a sound or a file is in the part, also within the result of a tool.
pub(super) fn has_media(part: &ContentPart) -> bool {
    match part {
        ContentPart::Image(_) | ContentPart::Audio(_) | ContentPart::File(_) => true,
        ContentPart::ToolResult(result) => result.content.iter().any(has_media),
        _ => false,
    }
}

/// Returns whether the part is a call or its result.
pub(super) fn is_exchange(part: &ContentPart) -> bool {
    matches!(part, ContentPart::ToolCall(_) | ContentPart::ToolResult(_))
}

/// The part with text instead of media, which says what it was and that the provider refused it.
pub(super) fn without_media(part: ContentPart) -> ContentPart {
    match part {
        ContentPart::Image(media) | ContentPart::Audio(media) | ContentPart::File(media) => {
            ContentPart::text(named(&media))
        }
        ContentPart::ToolResult(mut result) => {
            result.content = result.content.into_iter().map(without_media).collect();
            ContentPart::ToolResult(result)
        }
        other => other,
    }
}

/// The text in place of a picture, a sound or a file.
fn named(media: &MediaPart) -> String {
    let MediaPart { media_type, name, .. } = media;
    match name {
        Some(name) => format!("[{name} ({media_type}) is left out: the model's provider refused it]"),
        None => format!("[a file of type {media_type} is left out: the model's provider refused it]"),
    }
}

/// A call or its result as the words that a model reads.
pub(super) fn in_words(part: ContentPart) -> ContentPart {
    match part {
        ContentPart::ToolCall(call) => {
            ContentPart::text(format!("[called {} with {}]", call.name, shown(&call.input)))
        }
        ContentPart::ToolResult(ToolResultPart {
            name,
            content,
            is_error,
            ..
        }) => {
            let said: Vec<&str> = content.iter().filter_map(ContentPart::as_text).collect();
            let how = if is_error { "failed" } else { "answered" };
            ContentPart::text(format!("[{name} {how}] {}", said.join("\n")))
        }
        other => other,
    }
}

/// The arguments of a call as JSON, 2,000 characters of it at most.
fn shown(input: &Value) -> String {
    let mut text = input.to_string();
    if let Some((end, _)) = text.char_indices().nth(INPUT_CHARS) {
        text.truncate(end);
        text.push('…');
    }
    text
}
