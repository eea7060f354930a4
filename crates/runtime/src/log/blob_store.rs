//! The store of bytes that are too large for events, as a trait that every session log has.

use std::ops::Range;

use agentx_types::BlobId;

use crate::future::BoxFuture;
use crate::log_error::LogError;

/// The id of these bytes in every store: `b3_` and their BLAKE3 hash in hexadecimal.
///
/// ```
/// let id = agentx_runtime::blob_id(b"abc");
/// assert!(id.as_str().starts_with("b3_6437b3ac38465133"));
/// ```
pub fn blob_id(bytes: &[u8]) -> BlobId {
    BlobId::new(format!("b3_{}", blake3::hash(bytes).to_hex()))
}

/// Content-addressed bytes, each stored once.
pub trait BlobStore: Send + Sync {
    /// Keeps `bytes` and returns their id, which is their [`blob_id`].
    ///
    /// # Errors
    /// Returns an error if the store cannot be written.
    fn put_blob(&self, bytes: Vec<u8>) -> BoxFuture<'_, Result<BlobId, LogError>>;

    /// The same for bytes that are of use only unchanged, such as a file that may be restored. A store that
    /// keeps no secrets does not keep bytes that have one, and returns their id all the same.
    ///
    /// # Errors
    /// Returns an error if the store cannot be written.
    fn put_exact_blob(&self, bytes: Vec<u8>) -> BoxFuture<'_, Result<BlobId, LogError>> {
        self.put_blob(bytes)
    }

    /// A range of a blob's bytes; the range is cut to what exists.
    ///
    /// # Errors
    /// Returns an error if the blob does not exist.
    fn get_blob(&self, id: &BlobId, range: Range<u64>) -> BoxFuture<'_, Result<Vec<u8>, LogError>>;

    /// Returns the size of a blob in bytes.
    ///
    /// # Errors
    /// Returns an error if the blob does not exist.
    fn blob_size(&self, id: &BlobId) -> BoxFuture<'_, Result<u64, LogError>>;
}
