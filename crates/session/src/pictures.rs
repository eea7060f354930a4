//! Counts the pictures of a conversation: every call of the model sends them again, and vendors bound their
//! number.

use std::sync::Arc;

use agentx_types::{ContentPart, Message};

/// The number of pictures that are in these messages: in what was said, and in what tools answered.
/// Only parts that are pictures count, not files.
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
