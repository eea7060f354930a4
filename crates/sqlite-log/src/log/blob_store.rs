//! The log as a store of blobs.

use std::ops::Range;

use agentx_runtime::{BlobStore, BoxFuture, LogError};
use agentx_types::BlobId;

use crate::log::SqliteLog;
use crate::rows::blobs;

/// Blobs that are longer than this are hashed on a reader thread rather than on the caller's.
const HASH_HERE: usize = 256 * 1024;

impl BlobStore for SqliteLog {
    fn put_blob(&self, bytes: Vec<u8>) -> BoxFuture<'_, Result<BlobId, LogError>> {
        Box::pin(async move {
            let (hash, bytes) = if bytes.len() <= HASH_HERE {
                (blake3::hash(&bytes), bytes)
            } else {
                self.read_with(move |_| Ok((blake3::hash(&bytes), bytes))).await?
            };
            let hash = *hash.as_bytes();
            self.change(move |core| core.transaction(|connection| blobs::put(connection, &hash, &bytes)))
                .await?;
            Ok(blobs::id_of(&hash))
        })
    }

    fn get_blob(&self, id: &BlobId, range: Range<u64>) -> BoxFuture<'_, Result<Vec<u8>, LogError>> {
        let id = id.clone();
        Box::pin(self.read_with(move |connection| blobs::range(connection, &id, &range)))
    }

    fn blob_size(&self, id: &BlobId) -> BoxFuture<'_, Result<u64, LogError>> {
        let id = id.clone();
        Box::pin(self.read_with(move |connection| blobs::size(connection, &id)))
    }
}
