//! The interface to readers of documents whose formats need a library. The tools know only this trait, so
//! programs without such documents do not link the library.

use std::fmt::Debug;

use tokio_util::sync::CancellationToken;

/// Reads documents.
pub trait DocumentReader: Debug + Send + Sync {
    /// Returns the text of a PDF. Blocks, and ends early if `stop` is cancelled.
    ///
    /// # Errors
    /// Returns the reason why the document cannot be read, as the end of a sentence about it.
    fn pdf_text(&self, bytes: Vec<u8>, stop: &CancellationToken) -> Result<String, String>;
}
