//! A session as one document, for the transfer from one runtime to another.

use agentx_types::{BlobId, Envelope, EnvironmentEvent, SessionId, Timestamp};
use serde::{Deserialize, Serialize};

/// The version of documents that is written here.
pub const EXPORT_VERSION: u32 = 1;

/// A session as one document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionExport {
    /// `agentx-session`.
    pub format: String,
    /// [`EXPORT_VERSION`].
    pub version: u32,
    /// The id of the session.
    pub session_id: SessionId,
    /// The title.
    pub title: String,
    /// The directory that its agent works in.
    pub workspace: String,
    /// The time at which it was made.
    pub created_at: Timestamp,
    /// For a fork: of which session, and the last event that both have. The document has those events too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<(SessionId, u64)>,
    /// BLAKE3 over the events, each as one line of JSON.
    pub hash: String,
    /// The blobs that events were made with.
    pub blobs: Vec<ExportedBlob>,
    /// The blobs among them that no longer exist.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing_blobs: Vec<BlobId>,
    /// All facts, in order.
    pub events: Vec<Envelope<EnvironmentEvent>>,
}

/// A blob in a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExportedBlob {
    /// The id: the hash of the content.
    pub id: BlobId,
    /// The bytes, in base64.
    pub data: String,
}
