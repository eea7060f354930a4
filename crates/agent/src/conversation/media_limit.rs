//! The number of pictures that a server takes in one request. A server that refuses more does not object to
//! any single picture, so the oldest are left out, and the newest, which the conversation is about, stay. The
//! limit also applies to later requests to the same model: each new picture replaces the oldest one.
//!
//! From version 9 of the rules on; before that the newest picture was left out.

use std::sync::Arc;

use agentx_types::{ContentPart, MediaPart, Message, RequestPart};

use super::refusable_parts::has_media;
use super::{Conversation, Entry};

impl Conversation {
    /// Limits the pictures of requests to the number that the provider names, if it refuses more. `false` if
    /// it is about something else, or if no more than that were sent.
    pub(super) fn limit_media(&mut self, refused: RequestPart, most: Option<u64>) -> bool {
        let most = most.filter(|_| refused == RequestPart::Media);
        let Some(most) = most.and_then(|most| u32::try_from(most).ok()) else {
            return false;
        };
        if count(&self.window()) <= most {
            return false;
        }
        self.before_repairs.get_or_insert_with(|| self.repairs.clone());
        self.repairs.most_media = Some(most);
        true
    }

    /// Returns whether a new picture replaces an older one in the next request.
    pub(super) fn replaces_media(&self) -> bool {
        let Some(most) = self.repairs.most_media else {
            return false;
        };
        let all = self.entries[self.window_start..].iter();
        let new = self.entries.get(self.asked_entries..).unwrap_or_default();
        new.iter().any(in_entry) && all.map(|entry| count_parts(&entry.message.content)).sum::<u32>() > most
    }
}

fn in_entry(entry: &Entry) -> bool {
    entry.message.content.iter().any(has_media)
}

/// Leaves out all pictures and other media but the newest.
pub(super) fn keep_newest(messages: &mut [Arc<Message>], most: u32) {
    let mut room = most;
    for message in messages.iter_mut().rev() {
        let here = count_parts(&message.content);
        if here > room {
            let mut surplus = here - room;
            leave_out_first(&mut Arc::make_mut(message).content, &mut surplus, most);
        }
        room = room.saturating_sub(here);
    }
}

fn count(messages: &[Arc<Message>]) -> u32 {
    messages.iter().map(|message| count_parts(&message.content)).sum()
}

fn count_parts(parts: &[ContentPart]) -> u32 {
    let one = |part: &ContentPart| match part {
        ContentPart::Image(_) | ContentPart::Audio(_) | ContentPart::File(_) => 1,
        ContentPart::ToolResult(result) => count_parts(&result.content),
        _ => 0,
    };
    parts.iter().map(one).sum()
}

/// Replaces the first `surplus` pictures with text.
fn leave_out_first(parts: &mut [ContentPart], surplus: &mut u32, most: u32) {
    for part in parts {
        match part {
            _ if *surplus == 0 => return,
            ContentPart::Image(media) | ContentPart::Audio(media) | ContentPart::File(media) => {
                *surplus -= 1;
                *part = ContentPart::text(in_place_of(media, most));
            }
            ContentPart::ToolResult(result) => leave_out_first(&mut result.content, surplus, most),
            _ => {}
        }
    }
}

/// Returns the text that replaces an image beyond the limit.
fn in_place_of(media: &MediaPart, most: u32) -> String {
    let MediaPart { media_type, name, .. } = media;
    let what = match name {
        Some(name) => format!("{name} ({media_type})"),
        None => format!("a file of type {media_type}"),
    };
    format!("[{what} is left out: the model's provider takes {most} of them in one request, the newest]")
}
