//! The files that an agent works on lie where its server is: what a call would change of them, and how they
//! go back.
//!
//! Nothing of this program's own disk is read or written. A server shows of its disk only what the agent
//! itself may read, and restores files in the session's workspace; who asked is on record there.
//!
//! A plan is as old as its answer: what is restored is checked against the disk again, and what is not as the
//! plan said any more is reported.

use agentx_runtime::{FileInQuestion, RestorePlan, RestoreReport, RestoreRequest, RuntimeError};
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
    ) -> Result<FileInQuestion, RuntimeError> {
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

    /// Puts files back. It is not asked again if the answer is lost: its result is in the session's events.
    pub(crate) async fn put_back(
        &self,
        session: SessionId,
        wish: RestoreRequest,
    ) -> Result<RestoreReport, RuntimeError> {
        let path = ["sessions", session.as_str(), "restore"];
        self.core()
            .http
            .json(Query::post(&path, json!({ "wish": wish })))
            .await
    }
}
