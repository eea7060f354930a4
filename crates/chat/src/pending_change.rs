//! Finds the change that a call would make once it is allowed, and where the links in it lead: every question
//! shows the change against the file as it is now, in a chat, in a run and to a spectator.

use std::sync::Arc;
use std::time::Duration;

use agentx::runtime::{FileChangePreview, Runtime, Session};
use agentx::types::{ApprovalRequested, SessionId};

use crate::render::approval::edited_path;

/// Maximum time that a question waits for its file.
const PATIENCE: Duration = Duration::from_secs(2);

/// Returns the present state of the file that a call is about to change, and the links in a call, from this
/// program or from the server that has it. Without it, the question is asked with the call's own arguments
/// alone.
pub(crate) async fn file_now(
    runtime: &dyn Runtime,
    id: &SessionId,
    open: Option<Arc<dyn Session>>,
    question: &ApprovalRequested,
) -> FileChangePreview {
    let is_command = ["bash", "shell"].contains(&question.name.as_str());
    let names_file = question.input.get("path").is_some_and(|path| path.is_string());
    if question.question.is_some() || !(is_command || names_file || edited_path(question).is_some()) {
        return FileChangePreview::default();
    }
    let asked = runtime.preview_file_change(id, open, &question.tool_call_id);
    match tokio::time::timeout(PATIENCE, asked).await {
        Ok(Ok(file)) => file,
        Ok(Err(_)) | Err(_) => FileChangePreview::default(),
    }
}
