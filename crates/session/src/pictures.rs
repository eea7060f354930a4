//! Counts the pictures of a conversation: every call of the model sends them again, and vendors bound their
//! number.

use std::sync::Arc;

use agentx_types::{ContentPart, Message};

/// The number of pictures in these messages and in the results of tools. Files do not count.
pub(crate) fn pictures<'a>(messages: impl Iterator<Item = &'a Arc<Message>>) -> usize {
    messages.map(|message| pictures_in(&message.content)).sum()
}

fn pictures_in(content: &[ContentPart]) -> usize {
    let counts = content.iter().map(|part| match part {
        ContentPart::Image(_) => 1,
        ContentPart::ToolResult(result) => pictures_in(&result.content),
        _ => 0,
    });
    counts.sum()
}
