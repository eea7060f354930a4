//! Only the built-in tools can restore files; a runtime that is built without them returns an error.
//!
//! The session is looked up anyway, so that nobody finds another person's session here either.

use std::sync::Arc;

use agentx_runtime::{RestorePlan, RestoreReport, RestoreRequest, RuntimeError, Session};
use agentx_types::SessionId;

use crate::node::NodeRuntime;

impl NodeRuntime {
    pub(crate) async fn plan_files(&self, session: &SessionId, _: u64) -> Result<RestorePlan, RuntimeError> {
        self.owned(session).await?;
        Err(without_tools())
    }

    pub(crate) async fn restore_files(
        &self,
        session: &SessionId,
        _: Option<Arc<dyn Session>>,
        _: &RestoreRequest,
    ) -> Result<RestoreReport, RuntimeError> {
        self.owned(session).await?;
        Err(without_tools())
    }
}

fn without_tools() -> RuntimeError {
    RuntimeError::Refused(
        "files cannot be restored: this program is built without the feature `tools` of agentx".into(),
    )
}
