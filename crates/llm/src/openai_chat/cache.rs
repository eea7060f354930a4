//! Cache breakpoints for Claude behind a gateway of this API. Without them every call pays for the whole
//! conversation. OpenRouter (<https://openrouter.ai/docs/features/prompt-caching>) and LiteLLM
//! (<https://docs.litellm.ai/docs/completion/prompt_caching>) accept `cache_control` in the text parts of a
//! message and pass it on. Anthropic allows four; three are used, as for its own API: the system prompt, and
//! the last two messages on the user's side.

use std::sync::Arc;

use agentx_types::{EARLIER_MESSAGES, Message, ModelRequest, Role};

use crate::emitter::fnv1a;
use crate::json::{BorrowedJson, object};

/// The key by which OpenAI routes the calls of one conversation to one machine, together with the hash of how
/// they begin. Without it all sessions with the same instructions and tools go to the same machine, and above
/// 15 requests a minute to any machine (<https://developers.openai.com/api/docs/guides/prompt-caching.md>).
/// It follows from the random id of a person's first message, which survives condensing, and reveals nothing
/// about them. `None` for a request whose beginning no other request shares.
pub(crate) fn key(request: &ModelRequest) -> Option<String> {
    let by_person = |message: &&Arc<Message>| {
        message.role == Role::User && message.message_id.as_str() != EARLIER_MESSAGES
    };
    let first = request.messages.iter().find(by_person)?;
    let hash = fnv1a(first.message_id.as_str().as_bytes());
    (!request.is_asked_once()).then(|| format!("agentx-{hash:016x}"))
}

/// Marks the messages of a request.
pub(super) fn mark(messages: &mut [BorrowedJson<'_>]) {
    const MARKED: usize = 2;
    if let Some(first) = messages.first_mut().filter(|first| role(first) == "system") {
        mark_end(first);
    }
    let mut marked = 0;
    let mut is_next = true;
    for message in messages.iter_mut().rev() {
        match role(message) {
            "assistant" => is_next = true,
            "user" | "tool" if is_next && marked < MARKED => {
                is_next = false;
                marked += 1;
                mark_end(message);
            }
            _ => {}
        }
    }
}

fn role<'j>(message: &'j BorrowedJson<'_>) -> &'j str {
    message.text("role").unwrap_or_default()
}

/// Marks the last part of a message. An empty text cannot be marked.
fn mark_end(message: &mut BorrowedJson<'_>) {
    let Some(content) = message.field_mut("content") else {
        return;
    };
    if let BorrowedJson::Text(text) = content {
        if text.is_empty() {
            return;
        }
        let text = std::mem::take(text);
        *content = BorrowedJson::List(vec![object! {"type": "text", "text": text}]);
    }
    if let BorrowedJson::List(parts) = content
        && let Some(last) = parts.last_mut()
    {
        last.set("cache_control", object! {"type": "ephemeral"});
    }
}
