//! The way to the text of documents whose formats need a library. The tools here know only this trait: programs that
//! read no such documents do not carry the library.

use std::fmt::Debug;

use tokio_util::sync::CancellationToken;

/// Reads documents.
pub trait DocumentReader: Debug + Send + Sync {
    /// Returns the text of a PDF. Blocks, and ends early if `stop` is cancelled.
    ///
    /// # Errors
    /// Returns the reason why it cannot be read, which continues a sentence about the document.
    fn pdf_text(&self, bytes: Vec<u8>, stop: &CancellationToken) -> Result<String, String>;
}
