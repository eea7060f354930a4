//! Turns as Mistral takes them. It refuses a person's message right behind a tool's ("Unexpected role 'user' after role 'tool'",
//! <https://github.com/BerriAI/litellm/issues/17761>) and a conversation that ends with the assistant
//! (<https://github.com/0xPlaygrounds/rig/pull/1130>). Both happen: a run is stopped after a tool, a picture follows a result.

use crate::json::{Json, object};

/// What the assistant says between a tool's message and a person's.
const SEEN: &str = "(I have read the results.)";
/// What a person says behind the assistant's last word.
const GO_ON: &str = "(Go on.)";

/// Puts a message where one is missing.
pub(super) fn separate(messages: &mut Vec<Json<'_>>) {
    let mut out = Vec::with_capacity(messages.len() + 2);
    let mut after_tool = false;
    for message in messages.drain(..) {
        let role = message.text("role").unwrap_or_default();
        if after_tool && role == "user" {
            out.push(object! {"role": "assistant", "content": SEEN});
        }
        after_tool = role == "tool";
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
