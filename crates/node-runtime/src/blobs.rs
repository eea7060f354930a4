//! Reads the blobs that a request refers to, before it is built: building does no I/O.
//!
//! A conversation holds pictures, sounds and documents by the hash of their bytes. Each is read once for a
//! request, even if it occurs several times, and as a whole: vendors bound a request far below the memory of
//! a process. Bytes that travel in the conversation itself (base64) and addresses that the vendor fetches
//! need no reading.

use std::collections::BTreeMap;

use agentx_runtime::BlobStore;
use agentx_types::{BlobId, ContentPart, MediaPart, MediaSource, ModelRequest};

/// The bytes of all blobs in `request`. One that cannot be read is left out, and the request tells the model
/// that it is gone.
pub(crate) async fn load_blobs(store: &dyn BlobStore, request: &ModelRequest) -> BTreeMap<BlobId, Vec<u8>> {
    let mut ids = Vec::new();
    request
        .messages
        .iter()
        .for_each(|message| collect(&message.content, &mut ids));
    let mut blobs = BTreeMap::new();
    for id in ids {
        if blobs.contains_key(id) {
            continue;
        }
        match store.get_blob(id, 0..u64::MAX).await {
            Ok(bytes) => {
                blobs.insert(id.clone(), bytes);
            }
            Err(error) => tracing::warn!(blob = %id, %error, "a blob of the conversation cannot be read"),
        }
    }
    blobs
}

/// Looks into results of tools too: a tool may answer with a picture.
fn collect<'a>(parts: &'a [ContentPart], ids: &mut Vec<&'a BlobId>) {
    for part in parts {
        match part {
            ContentPart::Image(media) | ContentPart::Audio(media) | ContentPart::File(media) => {
                ids.extend(blob_of(media))
            }
            ContentPart::ToolResult(result) => collect(&result.content, ids),
            ContentPart::Text(_)
            | ContentPart::Thinking(_)
            | ContentPart::ToolCall(_)
            | ContentPart::Opaque(_) => {}
        }
    }
}

fn blob_of(media: &MediaPart) -> Option<&BlobId> {
    match &media.source {
        MediaSource::Blob(id) => Some(id),
        MediaSource::Base64(_) | MediaSource::Url(_) => None,
    }
}
