//! Alternating roles, as many chat templates and some vendors require. They refuse two consecutive messages
//! of a person, a person's message directly after a tool's, a system message in the middle and a conversation
//! that ends with the assistant. All of that happens: a run is stopped, fails or reaches a limit, a summary
//! replaces messages, a picture follows a result.
//!
//! - Devstral, Mistral Small and Ministral on llama.cpp, LM Studio and Ollama: "conversation roles must
//!   alternate user and assistant roles except for tool calls and results"
//!   (<https://github.com/mistralai/mistral-vibe/issues/255>,
//!   <https://github.com/mistralai/mistral-vibe/issues/1006>)
//! - Gemma 3 on vLLM: "Conversation roles must alternate user/assistant/user/assistant/..."
//!   (<https://github.com/google/adk-python/issues/1373>)
//! - Mistral's own API: "Unexpected role 'user' after role 'tool'"
//!   (<https://github.com/BerriAI/litellm/issues/17761>), and no assistant's message at the end
//!   (<https://github.com/0xPlaygrounds/rig/pull/1130>)

use super::sent_reasoning::REASONING_CONTENT;
use crate::json::{BorrowedJson, object};

/// The assistant's text between a tool's message and a person's.
const SEEN: &str = "(I have read the results.)";
/// A person's text before the assistant's first message and after its last one.
const GO_ON: &str = "(Go on.)";

/// Families of models whose templates require alternating roles, on any server.
const FAMILIES: &[&str] = &[
    "mistral",
    "mixtral",
    "ministral",
    "devstral",
    "magistral",
    "codestral",
    "pixtral",
    "gemma",
];

/// Returns whether a model of this name is known to want turns.
pub(super) fn are_wanted_by(model: &str) -> bool {
    let model = model.to_ascii_lowercase();
    FAMILIES.iter().any(|family| model.contains(family))
}

/// Joins neighbours of the same role, and inserts missing messages. An inserted answer gets `reasoning`, for
/// servers that refuse answers without it.
pub(super) fn alternate(messages: &mut Vec<BorrowedJson<'_>>, reasoning: Option<&'static str>) {
    let mut out: Vec<BorrowedJson<'_>> = Vec::with_capacity(messages.len() + 2);
    for mut message in messages.drain(..) {
        let before = out.last().and_then(|last| last.text("role")).unwrap_or("system");
        match (before, message.text("role").unwrap_or_default()) {
            ("system", "system") => {}
            (_, "system") => {
                message.set("role", "user");
                add_user(message, reasoning, &mut out);
                continue;
            }
            (_, "user") => {
                add_user(message, reasoning, &mut out);
                continue;
            }
            ("system", "assistant") => out.push(object! {"role": "user", "content": GO_ON}),
            ("assistant", "assistant") => {
                if let Some(last) = out.last_mut() {
                    join(last, message);
                }
                continue;
            }
            _ => {}
        }
        out.push(message);
    }
    if out
        .last()
        .is_some_and(|last| last.text("role") == Some("assistant"))
    {
        out.push(object! {"role": "user", "content": GO_ON});
    }
    *messages = out;
}

/// Moves the system message into a person's first message: some templates do not have that role ("System role
/// not supported", Gemma 2: <https://github.com/huggingface/chat-ui/issues/1386>).
pub(super) fn without_system(messages: &mut Vec<BorrowedJson<'_>>, reasoning: Option<&'static str>) {
    if let Some(first) = messages
        .first_mut()
        .filter(|first| first.text("role") == Some("system"))
    {
        first.set("role", "user");
    }
    alternate(messages, reasoning);
}

fn add_user<'a>(message: BorrowedJson<'a>, reasoning: Option<&'static str>, out: &mut Vec<BorrowedJson<'a>>) {
    match out.last_mut() {
        Some(last) if last.text("role") == Some("user") => return join(last, message),
        Some(last) if last.text("role") == Some("tool") => {
            let mut answer = object! {"role": "assistant", "content": SEEN};
            if let Some(reasoning) = reasoning {
                answer.set(REASONING_CONTENT, reasoning);
            }
            out.push(answer);
        }
        _ => {}
    }
    out.push(message);
}

/// Appends the content of `later` to that of `first`.
fn join<'a>(first: &mut BorrowedJson<'a>, later: BorrowedJson<'a>) {
    let BorrowedJson::Object(fields) = later else {
        return;
    };
    for (key, value) in fields {
        match (key, first.field_mut(key)) {
            ("role", _) => {}
            ("content", Some(content)) => join_content(content, value),
            (_, Some(BorrowedJson::Text(text))) if matches!(value, BorrowedJson::Text(_)) => {
                if let BorrowedJson::Text(more) = value {
                    text.to_mut().extend(["\n\n", &more]);
                }
            }
            _ => first.set(key, value),
        }
    }
}

fn join_content<'a>(first: &mut BorrowedJson<'a>, later: BorrowedJson<'a>) {
    *first = match (std::mem::replace(first, BorrowedJson::Null), later) {
        (BorrowedJson::Null, other) | (other, BorrowedJson::Null) => other,
        (BorrowedJson::Text(mut text), BorrowedJson::Text(more)) => {
            let between = if text.is_empty() || more.is_empty() {
                ""
            } else {
                "\n\n"
            };
            text.to_mut().extend([between, &more]);
            BorrowedJson::Text(text)
        }
        (first, later) => {
            let mut parts = parts(first);
            parts.extend(self::parts(later));
            BorrowedJson::List(parts)
        }
    };
}

fn parts(content: BorrowedJson<'_>) -> Vec<BorrowedJson<'_>> {
    match content {
        BorrowedJson::List(parts) => parts,
        BorrowedJson::Text(text) if text.is_empty() => Vec::new(),
        text => vec![object! {"type": "text", "text": text}],
    }
}
