//! Finds the restore of files that an undo would undo, in the session or in the one from which it was forked.

use agentx_runtime::{LogError, Runtime, RuntimeError};
use agentx_types::SessionId;

use super::history::history_of;
use super::restorings::Restoring;

/// The latest restoring of files in this session or, if it was made to go back, in the one from which it was
/// forked; and the session in which it is recorded.
///
/// # Errors
/// Returns an error if the session cannot be read.
pub async fn latest_restoring(
    runtime: &dyn Runtime,
    session: &SessionId,
) -> Result<Option<(SessionId, Restoring)>, RuntimeError> {
    let parent = runtime.info(session).await?.parent;
    let shared = parent.as_ref().map_or(0, |(_, at_seq)| *at_seq);
    let own = history_of(runtime, session).await?;
    let last = own.restorings().last().filter(|last| last.seq > shared);
    if let Some(last) = last {
        return Ok(Some((session.clone(), last.clone())));
    }
    let Some((parent, _)) = parent else {
        return Ok(None);
    };
    // A deleted parent has no history any more.
    let history = match history_of(runtime, &parent).await {
        Err(RuntimeError::Log(LogError::NotFound(_))) => return Ok(None),
        history => history?,
    };
    let last = history.restorings().last().cloned();
    Ok(last.map(|last| (parent, last)))
}
