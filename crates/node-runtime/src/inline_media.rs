//! Puts the bytes of media into the result of a call, for clients outside of any session.
//!
//! Within a session, the log has a reference to the blob, and whoever shows the result reads it. A client of
//! MCP gets a result once and has no session to read from, so its pictures come with the result, in base64.
//! All media of one result have at most 4 MiB. Each further medium that a client can read by itself becomes a
//! link.

use agentx_llm::base64;
use agentx_runtime::{BlobStore, ToolOutcome};
use agentx_types::{BlobId, ContentPart, MediaSource};

/// The maximum number of bytes of all media of one result.
const MEDIA_BYTES: u64 = 4 << 20;

/// Returns the outcome with the bytes of its media. A medium that finds no room becomes a link with the
/// address that `offer` returns for it and its size in bytes; one that is gone, or has no address, stays a
/// reference.
pub(crate) async fn with_media<B: BlobStore + ?Sized>(
    mut outcome: ToolOutcome,
    blobs: &B,
    offer: impl Fn(&BlobId, u64) -> Option<String>,
) -> ToolOutcome {
    let mut room = MEDIA_BYTES;
    for part in &mut outcome.content {
        let (ContentPart::Image(media) | ContentPart::Audio(media) | ContentPart::File(media)) = part else {
            continue;
        };
        let MediaSource::Blob(id) = &media.source else {
            continue;
        };
        let Ok(size) = blobs.blob_size(id).await else {
            continue;
        };
        if size > room {
            if let Some(address) = offer(id, size) {
                media.source = MediaSource::Url(address);
            }
            continue;
        }
        let bytes = blobs.get_blob(id, 0..size).await;
        if let Ok(bytes) = bytes {
            room -= size;
            media.source = MediaSource::Base64(base64::encode(&bytes));
        }
    }
    outcome
}

#[cfg(test)]
mod tests {
    use agentx_runtime::MemoryLog;
    use agentx_types::{MediaPart, ToolStatus};

    use super::*;

    fn picture(source: MediaSource) -> ContentPart {
        ContentPart::Image(MediaPart {
            media_type: "image/png".into(),
            source,
            name: None,
        })
    }

    #[tokio::test]
    async fn media_come_with_their_bytes_as_far_as_there_is_room_and_others_as_links() {
        let log = MemoryLog::default();
        let small = log.put_blob(b"abc".to_vec()).await.unwrap();
        let large = vec![0; usize::try_from(MEDIA_BYTES).unwrap()];
        let large = log.put_blob(large).await.unwrap();
        let huge = vec![0; usize::try_from(MEDIA_BYTES).unwrap() + 1];
        let huge = log.put_blob(huge).await.unwrap();
        let gone = BlobId::new("blob_gone");
        let outcome = ToolOutcome {
            content: [&small, &large, &huge, &gone]
                .map(|id| picture(MediaSource::Blob(id.clone())))
                .to_vec(),
            status: ToolStatus::Success,
            details: None,
        };
        let offer = |id: &BlobId, size| (size <= MEDIA_BYTES).then(|| format!("agentx://blob/{id}"));
        let found = with_media(outcome, &log, offer).await.content;
        let expected = [
            MediaSource::Base64("YWJj".into()),
            MediaSource::Url(format!("agentx://blob/{large}")),
            MediaSource::Blob(huge),
            MediaSource::Blob(gone),
        ];
        assert_eq!(found, expected.map(picture));
    }
}
