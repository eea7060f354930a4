//! Compares a message that is sent again with its idempotency key with the recorded one. Nothing is stored
//! for that.

use agentx_types::{ContentPart, MediaPart, MediaSource};
use base64::Engine as _;

use crate::api::RuntimeError;
use crate::log::SessionLog;
use crate::log::titles::TIME_NOTE;
use crate::log_error::LogError;

/// The text that tells the model when a message was sent, by its sender's clock. A message that is sent again
/// may have another time.
pub fn time_note(local: &str) -> String {
    let (before, after) = TIME_NOTE;
    format!("{before}{local}{after}")
}

/// Returns the content without its time.
fn without_time(content: &[ContentPart]) -> &[ContentPart] {
    let says_when = |part: &ContentPart| {
        let text = part.as_text().unwrap_or_default();
        text.starts_with(TIME_NOTE.0) && text.ends_with(TIME_NOTE.1)
    };
    match content {
        [said @ .., last] if !said.is_empty() && says_when(last) => said,
        all => all,
    }
}

/// Returns whether a message has the same content as a recorded one.
///
/// # Errors
/// Returns an error if a medium of the earlier one cannot be read.
pub(crate) async fn is_same(
    log: &dyn SessionLog,
    before: &[ContentPart],
    again: &[ContentPart],
) -> Result<bool, LogError> {
    let (before, again) = (without_time(before), without_time(again));
    if before.len() != again.len() {
        return Ok(false);
    }
    for (was, is) in before.iter().zip(again) {
        if was != is && !is_same_medium(log, was, is).await? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns whether a medium that comes inside a message is one that was stored.
async fn is_same_medium(log: &dyn SessionLog, was: &ContentPart, is: &ContentPart) -> Result<bool, LogError> {
    let (Some(stored), Some(inside)) = (media_of(was), media_of(is)) else {
        return Ok(false);
    };
    let about = |media: &MediaPart| (media.media_type.clone(), media.name.clone());
    let is_alike =
        std::mem::discriminant(was) == std::mem::discriminant(is) && about(stored) == about(inside);
    let (MediaSource::Blob(blob), MediaSource::Base64(text), true) =
        (&stored.source, &inside.source, is_alike)
    else {
        return Ok(false);
    };
    let Ok(bytes) = decoded(inside, text) else {
        return Ok(false);
    };
    let size = log.blob_size(blob).await?;
    Ok(size == bytes.len() as u64 && log.get_blob(blob, 0..size).await? == bytes)
}

/// The medium of a part that is one.
pub(crate) fn media_of(part: &ContentPart) -> Option<&MediaPart> {
    match part {
        ContentPart::Image(media) | ContentPart::Audio(media) | ContentPart::File(media) => Some(media),
        _ => None,
    }
}

/// The bytes of a medium that came as base64.
///
/// # Errors
/// Returns an error if the text is not valid base64.
pub(crate) fn decoded(media: &MediaPart, text: &str) -> Result<Vec<u8>, RuntimeError> {
    let bytes = base64::engine::general_purpose::STANDARD.decode(text);
    bytes.map_err(|error| {
        let kind: String = media.media_type.chars().take(80).collect();
        RuntimeError::Remote {
            code: "bad_request".into(),
            detail: format!("the {kind} is not valid base64: {error}"),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_alone_is_left_out() {
        let said = [ContentPart::text("hello")];
        let note = [ContentPart::text(time_note("2026-11-21 18:00:00+08:00"))];
        let both = [&said[..], &note[..]].concat();
        assert_eq!(without_time(&both), said);
        assert_eq!(without_time(&said), said);
        assert_eq!(without_time(&note), note, "somebody said no more than that");
    }
}
