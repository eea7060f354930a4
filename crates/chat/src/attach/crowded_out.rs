//! Whether a new message with pictures leaves room in a request for the older pictures of the conversation.

use agentx::runtime::{Runtime, Session, UserInput};
use agentx::types::{AgentConfig, ContentPart, MediaSource, PictureLimits};

/// The note for a message with whose pictures older ones are left out of requests.
pub(crate) const CROWDED_OUT: &str = "a request does not hold all pictures of this conversation; the model reads a line in place of the oldest";

/// Returns whether the pictures of a message do not fit in a request with all that the last one had, whose
/// body had so many bytes.
pub(crate) fn crowds_out(config: &AgentConfig, content: &[ContentPart], last_bytes: usize) -> bool {
    let new: usize = content.iter().map(bytes_of_picture).sum();
    new > 0 && last_bytes + new > PictureLimits::of(&config.model).all_bytes
}

/// Returns the note about older pictures for the prompt of a run; `None` if they stay in the requests, or if
/// that cannot be known.
pub async fn note_of_pictures(
    runtime: &dyn Runtime,
    session: &dyn Session,
    prompt: Option<&UserInput>,
) -> Option<&'static str> {
    let content = &prompt?.content;
    if content.iter().map(bytes_of_picture).sum::<usize>() == 0 {
        return None;
    }
    let config = session.state().await.ok()?.config;
    let last = runtime.context(session.id(), None).await.ok()?;
    crowds_out(&config, content, last.body.len()).then_some(CROWDED_OUT)
}

/// The bytes of a picture in a request.
fn bytes_of_picture(part: &ContentPart) -> usize {
    match part {
        ContentPart::Image(picture) => match &picture.source {
            MediaSource::Base64(data) => data.len(),
            MediaSource::Blob(_) | MediaSource::Url(_) => 0,
        },
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use agentx::types::MediaPart;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_picture_crowds_others_out_only_if_the_request_gets_too_large() {
        let model = json!({"id": "m", "provider": "p", "api": "scripted",
            "context_window": 1000, "max_output_tokens": 10, "prices": {}});
        let config = AgentConfig::react(serde_json::from_value(model).unwrap());
        let most = PictureLimits::of(&config.model).all_bytes;
        let picture = |bytes: usize| {
            vec![ContentPart::Image(MediaPart {
                media_type: "image/png".into(),
                source: MediaSource::Base64("A".repeat(bytes)),
                name: None,
            })]
        };
        assert!(crowds_out(&config, &picture(1_000), most - 999));
        assert!(!crowds_out(&config, &picture(1_000), most - 1_000));
        assert!(
            !crowds_out(&config, &[ContentPart::text("words")], most + 1),
            "words crowd nothing out"
        );
    }
}
