//! The blobs that calls outside of any session store, and those of them that a client may read afterwards.
//!
//! A call stores what is too long for its result, and the result names it. In a session, the log knows which
//! blobs belong to the session. Here [`ClientBlobs`] knows the blobs that results for one person named: a
//! later call of theirs may read them (`read {"blob": …}`), and the result has a link to each, as a resource
//! (`agentx://blob/…`). It knows a bounded number, each for an hour. The log does not remove a blob earlier.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use agentx_llm::base64;
use agentx_runtime::{BlobStore, BoxFuture, LogError, SessionBlobs, SessionLog, ToolOutcome, blob_id};
use agentx_types::{BlobId, ContentPart, MediaPart, MediaSource, Picture, SessionId};

use crate::inline_media::with_media;

/// The beginning of the addresses of blobs.
const ADDRESS: &str = "agentx://blob/";
/// Maximum number of known blobs of a person; the oldest one makes room for a further one.
const KNOWN: usize = 256;
/// The time for which a blob is known.
const KEPT: Duration = Duration::from_secs(3600);
/// The largest blob that a client reads as a resource, in bytes. Of a longer text it gets the beginning.
const READABLE: u64 = 4 << 20;

/// Counts the blobs that the calls of one person store.
pub trait BlobCounter: Send + Sync {
    /// Counts a blob that is stored next.
    ///
    /// # Errors
    /// Returns why it must not be stored.
    fn count(&self, blob: BlobId, bytes: u64) -> BoxFuture<'_, Result<(), String>>;
}

/// A known blob, and the time since which it is known.
struct KnownBlob {
    id: BlobId,
    since: Instant,
}

/// The blobs that results for one person named within an hour. Clones share them. By default there are none,
/// and nobody counts what calls store.
///
/// At most 256 blobs are known; the oldest one makes room for a further one. A blob of more than 4 MiB has no
/// address, because a client reads a resource as a whole; of a longer text it gets the beginning, with a
/// note. The addresses begin with `agentx://blob/` and mean nothing to another person or after a restart.
///
/// Give one value to each person: whoever has it can read what it knows.
#[derive(Clone, Default)]
pub struct ClientBlobs {
    known: Arc<Mutex<VecDeque<KnownBlob>>>,
    counter: Option<Arc<dyn BlobCounter>>,
}

impl ClientBlobs {
    /// Sets the counter of the blobs that calls store. Other clones keep theirs.
    #[must_use]
    pub fn counted_by(mut self, counter: Arc<dyn BlobCounter>) -> Self {
        self.counter = Some(counter);
        self
    }

    /// Returns whether no blob is known.
    pub fn is_empty(&self) -> bool {
        self.known(Instant::now()).is_empty()
    }

    /// Knows a blob from now on, if a client can read all of it. Returns its address then.
    pub(crate) fn offer(&self, blob: &BlobId, bytes: u64) -> Option<String> {
        (bytes <= READABLE).then(|| self.add(blob, Instant::now()))
    }

    /// Knows a blob from now on, and returns its address.
    fn add(&self, blob: &BlobId, now: Instant) -> String {
        let mut known = self.known(now);
        known.retain(|other| other.id != *blob);
        if known.len() >= KNOWN {
            known.pop_front();
        }
        known.push_back(KnownBlob {
            id: blob.clone(),
            since: now,
        });
        format!("{ADDRESS}{blob}")
    }

    fn has(&self, blob: &BlobId, now: Instant) -> bool {
        self.known(now).iter().any(|known| known.id == *blob)
    }

    /// The known blobs, without those whose time is over.
    fn known(&self, now: Instant) -> MutexGuard<'_, VecDeque<KnownBlob>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|blob| now.saturating_duration_since(blob.since) < KEPT);
        known
    }

    /// Reads a known blob by its address; `None` if there is none.
    pub(crate) async fn read(
        &self,
        store: &dyn SessionLog,
        address: &str,
    ) -> Result<Option<MediaPart>, String> {
        let Some(blob) = address.strip_prefix(ADDRESS).map(BlobId::new) else {
            return Ok(None);
        };
        if !self.has(&blob, Instant::now()) {
            return Ok(None);
        }
        let size = match store.blob_size(&blob).await {
            Err(LogError::NoBlob(_)) => return Ok(None),
            size => size.map_err(|error| error.to_string())?,
        };
        let bytes = store.get_blob(&blob, 0..size.min(READABLE)).await;
        let bytes = bytes.map_err(|error| error.to_string())?;
        medium(&blob, bytes, size).map(Some)
    }
}

/// Returns the beginning of a blob of this size as a medium.
fn medium(blob: &BlobId, bytes: Vec<u8>, size: u64) -> Result<MediaPart, String> {
    let is_all = bytes.len() as u64 == size;
    let (media_type, bytes) = match text_of(bytes, is_all) {
        Ok(text) if is_all => ("text/plain", text.into_bytes()),
        Ok(text) => {
            let line = text.matches('\n').count() + 1;
            let note = format!(
                "\n\n[The rest is left out: a client gets {} MiB. The tool `read` continues with {{\"blob\": \"{blob}\", \"offset\": {line}}}.]\n",
                READABLE >> 20
            );
            ("text/plain", [text, note].concat().into_bytes())
        }
        Err(bytes) if is_all => {
            let picture = Picture::of(&bytes).ok();
            let kind = picture.map_or("application/octet-stream", |picture| picture.media_type);
            (kind, bytes)
        }
        Err(_) => {
            return Err(format!(
                "{blob} is not text and has {size} bytes; a client gets at most {READABLE}"
            ));
        }
    };
    Ok(MediaPart {
        media_type: media_type.into(),
        source: MediaSource::Base64(base64::encode(&bytes)),
        name: None,
    })
}

/// Returns these bytes as text, or unchanged if they are none. A character that the end cuts off is left out.
fn text_of(mut bytes: Vec<u8>, is_all: bool) -> Result<String, Vec<u8>> {
    let cut = std::str::from_utf8(&bytes).err();
    if let Some(cut) = cut.filter(|cut| !is_all && cut.error_len().is_none()) {
        bytes.truncate(cut.valid_up_to());
    }
    String::from_utf8(bytes).map_err(std::string::FromUtf8Error::into_bytes)
}

/// The blobs of one call for a client: those that it stores, and the known ones of its person.
pub(crate) struct CallBlobs {
    log: Arc<dyn SessionLog>,
    own: SessionBlobs,
    client: ClientBlobs,
    /// The blobs that the call stored and its result may name.
    stored: Mutex<Vec<BlobId>>,
}

impl CallBlobs {
    /// The call has stored nothing yet. `session` is the placeholder for its session.
    pub(crate) fn new(log: Arc<dyn SessionLog>, session: SessionId, client: ClientBlobs) -> Self {
        Self {
            own: SessionBlobs::new(log.clone(), session),
            log,
            client,
            stored: Mutex::default(),
        }
    }

    /// Returns the outcome as a client gets it: with the bytes of its media as far as there is room, and with
    /// a link to each blob that it names.
    pub(crate) async fn for_client(&self, outcome: ToolOutcome) -> ToolOutcome {
        let mut outcome = with_media(outcome, &*self.log, |id, size| self.client.offer(id, size)).await;
        let stored = std::mem::take(&mut *self.stored());
        for blob in stored {
            let mut texts = outcome.content.iter().filter_map(ContentPart::as_text);
            if texts.any(|text| text.contains(blob.as_str())) {
                let address = self.client.add(&blob, Instant::now());
                outcome.content.push(ContentPart::File(MediaPart {
                    media_type: "text/plain".into(),
                    source: MediaSource::Url(address),
                    name: None,
                }));
            }
        }
        outcome
    }

    /// Has the bytes counted that are stored next.
    async fn count(&self, bytes: &[u8]) -> Result<(), LogError> {
        let Some(counter) = &self.client.counter else {
            return Ok(());
        };
        let counted = counter.count(blob_id(bytes), bytes.len() as u64).await;
        counted.map_err(|what| LogError::Store {
            path: "this server".into(),
            what,
        })
    }

    fn stored(&self) -> MutexGuard<'_, Vec<BlobId>> {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BlobStore for CallBlobs {
    fn put_blob(&self, bytes: Vec<u8>) -> BoxFuture<'_, Result<BlobId, LogError>> {
        Box::pin(async move {
            self.count(&bytes).await?;
            let id = self.own.put_blob(bytes).await?;
            let mut stored = self.stored();
            if !stored.contains(&id) {
                stored.push(id.clone());
            }
            Ok(id)
        })
    }

    /// These are contents of files, which no result names.
    fn put_exact_blob(&self, bytes: Vec<u8>) -> BoxFuture<'_, Result<BlobId, LogError>> {
        Box::pin(async move {
            self.count(&bytes).await?;
            self.own.put_exact_blob(bytes).await
        })
    }

    fn get_blob(&self, id: &BlobId, range: Range<u64>) -> BoxFuture<'_, Result<Vec<u8>, LogError>> {
        if self.client.has(id, Instant::now()) {
            self.log.get_blob(id, range)
        } else {
            self.own.get_blob(id, range)
        }
    }

    fn blob_size(&self, id: &BlobId) -> BoxFuture<'_, Result<u64, LogError>> {
        if self.client.has(id, Instant::now()) {
            self.log.blob_size(id)
        } else {
            self.own.blob_size(id)
        }
    }
}

#[cfg(test)]
mod tests {
    use agentx_runtime::MemoryLog;

    use super::*;

    fn bytes_of(media: &MediaPart) -> Vec<u8> {
        match &media.source {
            MediaSource::Base64(text) => base64::decode(text).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_blob_is_known_for_an_hour_and_a_new_one_takes_the_place_of_the_oldest() {
        let (blobs, begun) = (ClientBlobs::default(), Instant::now());
        let id = |number: usize| BlobId::with_suffix(number);
        blobs.add(&id(0), begun);
        assert!(blobs.clone().has(&id(0), begun + KEPT - Duration::from_secs(1)));
        assert!(!blobs.has(&id(0), begun + KEPT));
        for number in 0..KNOWN {
            blobs.add(&id(number), begun);
        }
        blobs.add(&id(0), begun);
        blobs.add(&id(KNOWN), begun);
        assert!(blobs.has(&id(0), begun), "it was named again");
        assert!(!blobs.has(&id(1), begun) && blobs.has(&id(2), begun));
    }

    #[tokio::test]
    async fn a_client_reads_what_results_named_for_it_and_nothing_else() {
        let log: Arc<dyn SessionLog> = Arc::new(MemoryLog::default());
        let client = ClientBlobs::default();
        let call =
            |client: &ClientBlobs| CallBlobs::new(log.clone(), SessionId::new("ses_none"), client.clone());
        let first = call(&client);
        let named = first.put_blob(b"all of it".to_vec()).await.unwrap();
        let unnamed = first.put_blob(b"the page".to_vec()).await.unwrap();
        let outcome = ToolOutcome::success(format!("a part of {named}"));
        let outcome = first.for_client(outcome).await;
        let address = format!("{ADDRESS}{named}");
        let link = outcome.content.get(1);
        assert!(
            matches!(link, Some(ContentPart::File(link)) if link.source == MediaSource::Url(address.clone())),
            "{outcome:?}"
        );
        assert_eq!(outcome.content.len(), 2);
        let read = client.read(&*log, &address).await.unwrap().unwrap();
        assert_eq!(
            (&*read.media_type, &*bytes_of(&read)),
            ("text/plain", &b"all of it"[..])
        );
        let next = call(&client);
        assert_eq!(next.get_blob(&named, 0..3).await.unwrap(), b"all");
        assert_eq!(next.blob_size(&named).await.unwrap(), 9);
        let refused = next.get_blob(&unnamed, 0..3).await;
        assert!(
            matches!(&refused, Err(LogError::NoBlob(id)) if *id == unnamed),
            "{refused:?}"
        );
        let of_unnamed = client.read(&*log, &format!("{ADDRESS}{unnamed}")).await;
        assert_eq!(of_unnamed, Ok(None));
        let other = ClientBlobs::default();
        assert_eq!(other.read(&*log, &address).await, Ok(None));
        assert!(call(&other).get_blob(&named, 0..3).await.is_err());
        let gone = BlobId::with_suffix("0");
        let gone = client.add(&gone, Instant::now());
        assert_eq!(client.read(&*log, &gone).await, Ok(None));
    }

    #[test]
    fn a_long_text_is_read_up_to_a_bound_and_other_long_bytes_are_not() {
        let id = BlobId::with_suffix("0");
        let text = "é\n".repeat(2);
        let read = medium(&id, text.as_bytes()[..4].to_vec(), 6).unwrap();
        let read = String::from_utf8(bytes_of(&read)).unwrap();
        assert!(read.starts_with("é\n\n\n[The rest is left out"), "{read}");
        assert!(read.contains("\"offset\": 2"), "{read}");
        let of = |bytes: &[u8], size: u64| medium(&id, bytes.to_vec(), size).map(|read| read.media_type);
        assert_eq!(of(b"\xff\xfe", 2).as_deref(), Ok("application/octet-stream"));
        assert!(of(b"\xff\xfe", 3).is_err_and(|why| why.contains("3 bytes")));
    }

    /// Refuses the second blob.
    #[derive(Default)]
    struct OneBlob(Mutex<Vec<u64>>);

    impl BlobCounter for OneBlob {
        fn count(&self, _: BlobId, bytes: u64) -> BoxFuture<'_, Result<(), String>> {
            let mut counted = self.0.lock().unwrap();
            counted.push(bytes);
            let is_first = counted.len() == 1;
            Box::pin(std::future::ready(
                is_first
                    .then_some(())
                    .ok_or_else(|| "there is no room".to_owned()),
            ))
        }
    }

    #[tokio::test]
    async fn a_blob_is_counted_before_it_is_stored_and_not_stored_if_there_is_no_room() {
        let log: Arc<dyn SessionLog> = Arc::new(MemoryLog::default());
        let counter = Arc::new(OneBlob::default());
        let client = ClientBlobs::default().counted_by(counter.clone());
        let call = CallBlobs::new(log.clone(), SessionId::new("ses_none"), client);
        call.put_exact_blob(b"a file".to_vec()).await.unwrap();
        let refused = call.put_blob(b"more".to_vec()).await.unwrap_err();
        assert_eq!(refused.to_string(), "this server: there is no room");
        assert_eq!(*counter.0.lock().unwrap(), [6, 4]);
        assert!(log.blob_size(&blob_id(b"more")).await.is_err());
    }
}
