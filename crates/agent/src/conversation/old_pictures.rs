//! Pictures that tools returned earlier are left out first when the window fills up, before anything is
//! condensed or shortened: a newer picture of the same page or file is usually there, and each takes as much
//! room as a page of text. The newest result with pictures stays. The log and the blobs keep all of them.
//!
//! From version 9 of the rules on. Called before each request.

use std::sync::Arc;

use agentx_types::{AgentConfig, ContentPart, MediaPart, Message, Role, since};

use super::{Conversation, Entry};
use crate::token_estimate::estimate_message;

impl Conversation {
    /// Leaves out the pictures of all results of tools but the newest one with pictures, if the window is so
    /// full that it would be condensed, or the next request would not fit.
    pub(crate) fn leave_out_old_pictures(&mut self, config: &AgentConfig) {
        if config.rules_version < since::OLD_PICTURES_GO_FIRST || !self.needs_room(config) {
            return;
        }
        let window = self.window_start..self.entries.len();
        let Some(newest) = window.rev().find(|at| has_pictures(&self.entries[*at])) else {
            return;
        };
        let mut first_changed = None;
        for at in self.window_start..newest {
            let entry = &mut self.entries[at];
            if has_pictures(entry) {
                entry.message = without_pictures(entry.message.clone());
                entry.tokens = estimate_message(&entry.message);
                first_changed.get_or_insert(at);
            }
        }
        let Some(first) = first_changed else {
            return;
        };
        self.window_tokens.clear();
        // The provider counted the pictures too.
        self.counted = None;
        if first < self.asked_entries {
            self.beginning_changed(config);
        }
    }

    fn needs_room(&mut self, config: &AgentConfig) -> bool {
        let condensing = config.condensing.as_deref();
        match condensing.map_or(0, |condensing| condensing.at_percent) {
            0 => !self.fits(config),
            percent => self.is_full(config, u64::from(percent)),
        }
    }
}

fn has_pictures(entry: &Entry) -> bool {
    let is_picture = |part: &ContentPart| matches!(part, ContentPart::Image(_));
    let mut results = entry.message.content.iter().filter_map(|part| match part {
        ContentPart::ToolResult(result) => Some(result),
        _ => None,
    });
    entry.message.role == Role::Tool && results.any(|result| result.content.iter().any(is_picture))
}

fn without_pictures(message: Arc<Message>) -> Arc<Message> {
    let mut message = Arc::unwrap_or_clone(message);
    for part in &mut message.content {
        let ContentPart::ToolResult(result) = part else {
            continue;
        };
        for part in &mut result.content {
            if let ContentPart::Image(picture) = part {
                *part = ContentPart::text(in_place_of(picture));
            }
        }
    }
    Arc::new(message)
}

/// The text that replaces a picture.
fn in_place_of(picture: &MediaPart) -> String {
    let MediaPart { media_type, name, .. } = picture;
    let what = name.as_deref().unwrap_or(media_type);
    format!("[a picture ({what}) is left out to make room: there is a newer one below]")
}

#[cfg(test)]
mod tests {
    use agentx_types::{BlobId, Condensing, MediaSource, MessageId, ToolCallId, ToolResultPart};

    use super::*;

    fn result(number: usize) -> Arc<Message> {
        let picture = ContentPart::Image(MediaPart {
            media_type: "image/png".into(),
            source: MediaSource::Blob(BlobId::new(format!("blob_{number}"))),
            name: Some(format!("picture {number}")),
        });
        Arc::new(Message {
            message_id: MessageId::new(format!("msg_{number}")),
            role: Role::Tool,
            content: vec![ContentPart::ToolResult(ToolResultPart {
                tool_call_id: ToolCallId::new(format!("call_{number}")),
                name: "browser_screenshot".into(),
                content: vec![ContentPart::text("Seen."), picture],
                is_error: false,
            })],
            by: None,
        })
    }

    /// The numbers of the pictures that are left, of `count` ones in a window of this size.
    fn left(count: usize, window: u64, version: u32) -> Vec<usize> {
        let mut config = crate::fixtures::config();
        config.model.context_window = window;
        config.model.max_output_tokens = 500;
        config.rules_version = version;
        config.condensing = Some(Box::new(Condensing::default()));
        let mut conversation = Conversation::default();
        for number in 0..count {
            conversation.push(number as u64 + 1, result(number));
        }
        conversation.leave_out_old_pictures(&config);
        let kept = conversation.entries.iter().enumerate();
        kept.filter(|(_, entry)| has_pictures(entry))
            .map(|(number, _)| number)
            .collect()
    }

    #[test]
    fn old_pictures_go_when_the_window_is_full_and_the_newest_stays() {
        let version = since::OLD_PICTURES_GO_FIRST;
        assert_eq!(left(5, 100_000, version), [0, 1, 2, 3, 4], "there is room");
        assert_eq!(left(5, 8_000, version), [4]);
        assert_eq!(left(1, 1_000, version), [0]);
        assert_eq!(left(5, 8_000, version - 1), [0, 1, 2, 3, 4]);
        assert!(left(0, 1_000, version).is_empty());
    }

    #[test]
    fn a_left_out_picture_is_named() {
        let message = without_pictures(result(7));
        let ContentPart::ToolResult(result) = &message.content[0] else {
            panic!("{message:?}");
        };
        let words: Vec<&str> = result.content.iter().filter_map(ContentPart::as_text).collect();
        assert_eq!(
            words,
            [
                "Seen.",
                "[a picture (picture 7) is left out to make room: there is a newer one below]"
            ]
        );
    }
}
