//! Decides which session a blob belongs to. One store holds the blobs of all sessions, each once, under its
//! hash, so anybody who knows a hash could request the blob. Therefore a session has only those blobs that
//! its own facts were made with, and not those whose ids only occur in its texts.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use agentx_types::{BlobId, ContentPart, EnvironmentEvent, MediaSource, SessionId};

use serde_json::Value;

use crate::future::BoxFuture;
use crate::log::SessionLog;
use crate::log::blob_store::BlobStore;
use crate::log_error::LogError;

/// The fields in which the details of a tool's outcome name blobs.
const DETAILS: [&str; 3] = ["blob", "pre_image", "post_image"];
/// Those of them that name contents of files.
const EXACT: [&str; 2] = ["pre_image", "post_image"];
/// The fields in which an entry of `pages` in these details names blobs: the page as it was fetched, and its
/// text.
const PAGE: [&str; 2] = ["blob", "text_blob"];

/// Returns whether a session has a blob: the first of its facts that names it is one that was made with it.
///
/// The first one counts, because a blob is stored before the fact that it is a part of: an id that occurs in
/// a text before that was written by somebody who knew it.
///
/// # Errors
/// Returns an error if the session does not exist or the log cannot be read.
pub async fn has_blob(log: &dyn SessionLog, session: &SessionId, blob: &BlobId) -> Result<bool, LogError> {
    let Some(seq) = log.names_blob(session, blob).await? else {
        return Ok(false);
    };
    let facts = log.read(session, seq.saturating_sub(1), 1).await?;
    Ok(facts.first().is_some_and(|fact| is_made_with(&fact.event, blob)))
}

/// Returns whether a fact has the blob as a part, and not only its id in a text.
fn is_made_with(event: &EnvironmentEvent, blob: &BlobId) -> bool {
    blobs_of(event).contains(blob)
}

/// The blobs that a fact was made with. Those of its content and, of a tool's outcome, those that its details
/// name. An id inside a text does not count.
pub fn blobs_of(event: &EnvironmentEvent) -> BTreeSet<BlobId> {
    let mut found = BTreeSet::new();
    match event {
        EnvironmentEvent::UserMessage(message) => add(&message.content, &mut found),
        EnvironmentEvent::ToolResult(result) => {
            add(&result.result, &mut found);
            add_named(result.details.as_ref(), &mut found);
        }
        EnvironmentEvent::EffectEnded(ended) => add_named(ended.details.as_deref(), &mut found),
        EnvironmentEvent::FilesRestoring(restoring) => {
            let images = restoring.files.iter().flat_map(|file| [&file.was, &file.becomes]);
            found.extend(images.flatten().map(|image| image.blob.clone()));
        }
        _ => {}
    }
    found
}

/// The blobs of a fact that are of use only unchanged: contents of files, which are put back.
pub(crate) fn exact_blobs_of(event: &EnvironmentEvent) -> BTreeSet<BlobId> {
    let details = match event {
        EnvironmentEvent::FilesRestoring(_) => return blobs_of(event),
        EnvironmentEvent::ToolResult(result) => result.details.as_ref(),
        EnvironmentEvent::EffectEnded(ended) => ended.details.as_deref(),
        _ => None,
    };
    let named = |key: &&str| details?.get(key)?.as_str().map(BlobId::new);
    EXACT.iter().filter_map(named).collect()
}

/// Adds the blobs that the details of a tool's outcome name: in separate fields, and those of each fetched
/// page in `pages`.
fn add_named(details: Option<&Value>, found: &mut BTreeSet<BlobId>) {
    let named = |key: &&str| details?.get(key)?.as_str().map(BlobId::new);
    found.extend(DETAILS.iter().filter_map(named));
    let pages = details.and_then(|details| details.get("pages")?.as_array());
    for page in pages.into_iter().flatten() {
        let named = PAGE.iter().filter_map(|key| page.get(key)?.as_str());
        found.extend(named.map(BlobId::new));
    }
}

/// Adds the blobs of media among these parts, those within results of tools too.
fn add(content: &[ContentPart], found: &mut BTreeSet<BlobId>) {
    for part in content {
        match part {
            ContentPart::Image(media) | ContentPart::Audio(media) | ContentPart::File(media) => {
                if let MediaSource::Blob(blob) = &media.source {
                    found.insert(blob.clone());
                }
            }
            ContentPart::ToolResult(result) => add(&result.content, found),
            _ => {}
        }
    }
}

/// The blobs of one session, for code that works in it: it may store any blob, and read only the blobs of the
/// session.
pub struct SessionBlobs {
    /// The log whose store has the bytes.
    log: Arc<dyn SessionLog>,
    /// The session that the blobs have to belong to.
    session: SessionId,
    /// Blobs that this handle stored and no fact names yet.
    kept: Mutex<BTreeSet<BlobId>>,
}

impl SessionBlobs {
    /// Creates the view of the blobs that `session` may read.
    pub fn new(log: Arc<dyn SessionLog>, session: SessionId) -> Self {
        Self {
            log,
            session,
            kept: Mutex::default(),
        }
    }

    /// Notes a blob that this handle stored.
    fn note(&self, blob: &BlobId) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(blob.clone());
    }

    /// Checks that this reader may read the blob. A forbidden blob and a missing blob give the same error.
    async fn check(&self, blob: &BlobId) -> Result<(), LogError> {
        let is_own = self
            .kept
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .contains(blob);
        if is_own {
            return Ok(());
        }
        match has_blob(self.log.as_ref(), &self.session, blob).await {
            Ok(true) => Ok(()),
            // A call outside of sessions has a placeholder for its session, which nothing knows.
            Ok(false) | Err(LogError::NotFound(_)) => Err(LogError::NoBlob(blob.clone())),
            Err(error) => Err(error),
        }
    }
}

impl BlobStore for SessionBlobs {
    fn put_blob(&self, bytes: Vec<u8>) -> BoxFuture<'_, Result<BlobId, LogError>> {
        Box::pin(async move {
            let id = self.log.put_blob(bytes).await?;
            self.note(&id);
            Ok(id)
        })
    }

    fn put_exact_blob(&self, bytes: Vec<u8>) -> BoxFuture<'_, Result<BlobId, LogError>> {
        Box::pin(async move {
            let id = self.log.put_exact_blob(bytes).await?;
            self.note(&id);
            Ok(id)
        })
    }

    fn get_blob(&self, id: &BlobId, range: Range<u64>) -> BoxFuture<'_, Result<Vec<u8>, LogError>> {
        let id = id.clone();
        Box::pin(async move {
            self.check(&id).await?;
            self.log.get_blob(&id, range).await
        })
    }

    fn blob_size(&self, id: &BlobId) -> BoxFuture<'_, Result<u64, LogError>> {
        let id = id.clone();
        Box::pin(async move {
            self.check(&id).await?;
            self.log.blob_size(&id).await
        })
    }
}
