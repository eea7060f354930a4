//! The blobs of one call, in memory: long outputs that the caller keeps, because this process keeps nothing.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use agentx_runtime::{BlobStore, BoxFuture, LogError, blob_id};
use agentx_types::BlobId;

/// Bytes of all blobs of a call, at most.
const MOST: usize = 40 << 20;

/// The blobs of a call.
#[derive(Debug, Default)]
pub(crate) struct ExecBlobs {
    blobs: Mutex<BTreeMap<BlobId, Vec<u8>>>,
}

impl ExecBlobs {
    /// Takes the bytes of all blobs.
    pub(crate) fn take(&self) -> Vec<Vec<u8>> {
        std::mem::take(&mut *self.lock()).into_values().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<BlobId, Vec<u8>>> {
        self.blobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, bytes: Vec<u8>) -> Result<BlobId, LogError> {
        let id = blob_id(&bytes);
        let mut blobs = self.lock();
        let size: usize = blobs.values().map(Vec::len).sum();
        if size + bytes.len() > MOST {
            return Err(LogError::Full {
                path: "memory of the exec server".into(),
            });
        }
        blobs.insert(id.clone(), bytes);
        Ok(id)
    }

    fn get(&self, id: &BlobId, range: Range<u64>) -> Result<Vec<u8>, LogError> {
        let blobs = self.lock();
        let bytes = blobs.get(id).ok_or_else(|| LogError::NoBlob(id.clone()))?;
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
        let (start, end) = (place(range.start), place(range.end));
        Ok(bytes[start.min(end)..end].to_vec())
    }
}

impl BlobStore for ExecBlobs {
    fn put_blob(&self, bytes: Vec<u8>) -> BoxFuture<'_, Result<BlobId, LogError>> {
        Box::pin(async move { self.put(bytes) })
    }

    fn get_blob(&self, id: &BlobId, range: Range<u64>) -> BoxFuture<'_, Result<Vec<u8>, LogError>> {
        let found = self.get(id, range);
        Box::pin(async move { found })
    }

    fn blob_size(&self, id: &BlobId) -> BoxFuture<'_, Result<u64, LogError>> {
        let found = self.get(id, 0..u64::MAX).map(|bytes| bytes.len() as u64);
        Box::pin(async move { found })
    }
}
