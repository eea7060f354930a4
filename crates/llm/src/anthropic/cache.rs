//! Where the prompt cache is told to look. A breakpoint says: everything up to here may be read from the cache, and is
//! written to it. Four are allowed, three are used:
//!
//! - the end of what never changes in a session: tools, then system prompt;
//! - the end of the last message on the user's side: what this call writes, the next one reads;
//! - the end of the message on the user's side before that: what the last call wrote, this one reads, even where more than
//!   the twenty blocks that the provider looks back lie between the two.

use serde_json::{Value, json};

/// Marks the end of the unchanging part.
pub(super) fn mark_prefix(system: &mut [Value], tools: &mut [Value]) {
    if let Some(last) = system.last_mut().or_else(|| tools.last_mut()) {
        mark(last);
    }
}

/// Marks the last two messages on the user's side.
pub(super) fn mark_conversation(messages: &mut [Value]) {
    const MARKED: usize = 2;
    let from_user = messages
        .iter_mut()
        .rev()
        .filter(|message| message["role"] == "user")
        .take(MARKED);
    for message in from_user {
        if let Some(last) = message["content"]
            .as_array_mut()
            .and_then(|blocks| blocks.last_mut())
        {
            mark(last);
        }
    }
}

fn mark(block: &mut Value) {
    if let Value::Object(block) = block {
        block.insert("cache_control".into(), json!({"type": "ephemeral"}));
    }
}
