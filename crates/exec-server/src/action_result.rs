//! The outcome of an action as it crosses the wire, with the blobs that it names.

use agentx_runtime::{BlobStore, LogError, ToolOutcome};
use agentx_types::{ContentPart, ToolStatus};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The outcome of an action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ActionResult {
    pub(crate) status: ToolStatus,
    pub(crate) content: Vec<ContentPart>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) details: Option<Value>,
    /// The blobs that the outcome names, in Base64. Their ids follow from their bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) blobs: Vec<String>,
}

impl ActionResult {
    pub(crate) fn new(outcome: ToolOutcome, blobs: &[Vec<u8>]) -> Self {
        Self {
            status: outcome.status,
            content: outcome.content,
            details: outcome.details,
            blobs: blobs.iter().map(|bytes| STANDARD.encode(bytes)).collect(),
        }
    }

    /// The memory that it takes, about.
    pub(crate) fn size(&self) -> usize {
        let words: usize = self
            .content
            .iter()
            .filter_map(ContentPart::as_text)
            .map(str::len)
            .sum();
        let blobs: usize = self.blobs.iter().map(String::len).sum();
        let details = self
            .details
            .as_ref()
            .map_or(0, |details| details.to_string().len());
        words + blobs + details
    }

    /// Stores the blobs, and returns the outcome.
    pub(crate) async fn into_outcome(self, store: &dyn BlobStore) -> Result<ToolOutcome, LogError> {
        for blob in &self.blobs {
            // Bytes that are not Base64 are not a blob: the outcome then names one that is not there.
            if let Ok(bytes) = STANDARD.decode(blob) {
                store.put_blob(bytes).await?;
            }
        }
        Ok(ToolOutcome {
            content: self.content,
            status: self.status,
            details: self.details,
        })
    }
}
