//! Return types of `Runtime`: previews of file changes, models, replay reports and context views. The state
//! of a session is in `agentx-session`.

use agentx_types::{CondensedRange, ModelSpec, SessionId, WindowFill};
use serde::{Deserialize, Serialize};

/// The present contents of a file that a call waiting for a decision would change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileChangePreview {
    /// The path of the file, as the call names it; absent if the call changes no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The real place of the file that the call names, if a symbolic link leads elsewhere: relative to the
    /// workspace if inside it, otherwise absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leads_to: Option<String>,
    /// The names in a command line that lead elsewhere through links, in words: `conf/a leads to /etc/a`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<String>,
    /// The reason why the tool will refuse the call even if it is allowed: a link in it leads to a place that
    /// needs its own decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// The content; absent if there is no file or the file is not shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The reason why it is not shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<String>,
    /// The sandbox step that will hold the command of the call: `landlock` or `namespace`; `none` if the
    /// settings let it run although no sandbox works, or `unavailable` if it will not run for that. Absent if
    /// the settings want no sandbox, or if the call runs no command line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
}

/// A model that a runtime knows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ModelInfo {
    /// The model and its parameters.
    pub spec: ModelSpec,
    /// Shorter names for it.
    pub aliases: Vec<String>,
    /// The reason why it cannot be called now, such as a missing key; `None` if it can.
    pub missing: Option<String>,
}

impl ModelInfo {
    /// A model that can be called, without shorter names. The fields can be set.
    pub fn new(spec: ModelSpec) -> Self {
        Self {
            spec,
            aliases: Vec::new(),
            missing: None,
        }
    }

    /// Sets the shorter names.
    #[must_use]
    pub fn with_aliases(mut self, aliases: Vec<String>) -> Self {
        self.aliases = aliases;
        self
    }

    /// Sets the reason why the model cannot be called; `None` if it can.
    #[must_use]
    pub fn with_missing(mut self, missing: Option<String>) -> Self {
        self.missing = missing;
        self
    }
}

/// The findings of a replay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReplayReport {
    /// The session that was replayed.
    pub session_id: SessionId,
    /// The number of facts that were folded.
    pub facts: u64,
    /// The number of RuntimeEvents that were derived from them.
    pub derived: u64,
    /// The digest of the derived events, in hexadecimal.
    pub digest: String,
    /// The first batch whose derived events differ: `(first seq, last seq)`.
    pub divergence: Option<(u64, u64)>,
    /// Events whose recorded digests were not compared, because they were made with texts that a redaction
    /// replaced since: the first replaced event, and the last one before the record of the redaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redacted: Option<(u64, u64)>,
}

/// The result of redacting a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RedactionReport {
    /// The session.
    pub session_id: SessionId,
    /// The number of events that were replaced.
    pub events: u64,
    /// The number of stored contents that were replaced or removed.
    pub blobs: u64,
    /// The names of what was taken out.
    pub names: Vec<String>,
    /// Events in which a secret is in a place that cannot be replaced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreplaced: Vec<u64>,
    /// Other sessions that share replaced events, and have the record of it too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared_with: Vec<SessionId>,
    /// Whether what the earlier data left in free space was overwritten too.
    pub erased: bool,
}

/// The request that a model got.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ContextView {
    /// The event that the request follows from.
    pub seq: u64,
    /// The API that it is written for.
    pub api: agentx_types::Api,
    /// The body, to the byte.
    pub body: String,
    /// The condensed ranges in it and the later ones, the latest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub condensed: Vec<CondensedRange>,
    /// The current fill of the window, including everything since that request. Absent from an older server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill: Option<WindowFill>,
}
