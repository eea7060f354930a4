//! Finds the change that a call would make once it is allowed: every question shows the change against the
//! file as it is now, in a chat, in a run and to a spectator.

use std::sync::Arc;
use std::time::Duration;

use agentx::runtime::{FileChangePreview, Runtime, Session};
use agentx::types::{ApprovalRequested, SessionId};

use crate::render::approval::edited_path;

/// Maximum time that a question waits for its file.
const PATIENCE: Duration = Duration::from_secs(2);

/// Returns the present state of the file that a call is about to change, from this program or from the server
/// that has it. Without it, the question is asked with the call's own arguments alone.
pub(crate) async fn file_now(
    runtime: &dyn Runtime,
    id: &SessionId,
    open: Option<Arc<dyn Session>>,
    question: &ApprovalRequested,
) -> FileChangePreview {
    if edited_path(question).is_none() && !["bash", "shell"].contains(&question.name.as_str()) {
        return FileChangePreview::default();
    }
    let asked = runtime.preview_file_change(id, open, &question.tool_call_id);
    match tokio::time::timeout(PATIENCE, asked).await {
        Ok(Ok(file)) => file,
        Ok(Err(_)) | Err(_) => FileChangePreview::default(),
    }
}
