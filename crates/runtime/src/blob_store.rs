//! The store of bytes that are too large for events, as a trait that every session log has.

use std::ops::Range;

use agentx_types::BlobId;

use crate::future::BoxFuture;
use crate::log_error::LogError;

/// Content-addressed bytes, each stored once.
pub trait BlobStore: Send + Sync {
    /// Keeps `bytes` and returns their id: `b3_` and their BLAKE3 hash in hexadecimal.
    ///
    /// # Errors
    /// Where the store cannot be written.
    fn put_blob(&self, bytes: Vec<u8>) -> BoxFuture<'_, Result<BlobId, LogError>>;

    /// A range of a blob's bytes; the range is cut to what exists.
    ///
    /// # Errors
    /// Where there is no such blob.
    fn get_blob(&self, id: &BlobId, range: Range<u64>) -> BoxFuture<'_, Result<Vec<u8>, LogError>>;

    /// How many bytes a blob has.
    ///
    /// # Errors
    /// Where there is no such blob.
    fn blob_size(&self, id: &BlobId) -> BoxFuture<'_, Result<u64, LogError>>;
}
