//! The files of an agent are on its server's machine: previews of their changes, and restoring them.
//!
//! This program's own disk is neither read nor written. A server shows only those files of its disk that the
//! agent itself may read, and restores files in the session's workspace; it records the person who asked.
//!
//! A plan may be out of date: a restore compares it with the disk again, and reports files that have changed
//! since.

use agentx_runtime::{FileChangePreview, RestorePlan, RestoreReport, RestoreRequest, RuntimeError};
use agentx_types::{SessionId, ToolCallId};
use serde_json::json;

use crate::RemoteRuntime;
use crate::http::Query;

impl RemoteRuntime {
    /// The current content of the file that a waiting call would change.
    pub(crate) async fn file(
        &self,
        session: SessionId,
        call: ToolCallId,
    ) -> Result<FileChangePreview, RuntimeError> {
        let path = ["sessions", session.as_str(), "file"];
        let ask = Query::get(&path).with("tool_call_id", Some(call.to_string()));
        self.core().http.json(ask).await
    }

    /// Returns the plan for restoring files, in their current state.
    pub(crate) async fn restore_plan(
        &self,
        session: SessionId,
        to_seq: u64,
    ) -> Result<RestorePlan, RuntimeError> {
        let path = ["sessions", session.as_str(), "restore"];
        let ask = Query::get(&path).with("to_seq", Some(to_seq.to_string()));
        self.core().http.json(ask).await
    }

    /// Restores files. If the answer is lost, the server is asked again with the same key, and says what it
    /// did.
    pub(crate) async fn put_back(
        &self,
        session: SessionId,
        wish: RestoreRequest,
    ) -> Result<RestoreReport, RuntimeError> {
        let path = ["sessions", session.as_str(), "restore"];
        let ask = Query::post(&path, json!({ "wish": wish })).once()?;
        self.core().http.json(ask).await
    }
}
