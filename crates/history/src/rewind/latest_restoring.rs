//! Finds the restore of files that an undo would undo, in the session or in the one from which it was forked,
//! and plans the undo.

use agentx_runtime::{LogError, RestorePlan, Runtime, RuntimeError};
use agentx_types::SessionId;

use super::history::{SessionHistory, history_of};
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
    if let Some(last) = last_of(&own).filter(|last| last.seq > shared) {
        return Ok(Some((session.clone(), last)));
    }
    let Some((parent, _)) = parent else {
        return Ok(None);
    };
    // A deleted parent has no history any more.
    let history = match history_of(runtime, &parent).await {
        Err(RuntimeError::Log(LogError::NotFound(_))) => return Ok(None),
        history => history?,
    };
    Ok(last_of(&history).map(|last| (parent, last)))
}

/// The latest restore of a session, with the files that it left if it is an undo.
fn last_of(history: &SessionHistory) -> Option<Restoring> {
    let mut last = history.restorings().last()?.clone();
    if last.is_undo {
        let undone = history.restorings().iter().filter(|one| one.first == last.to_seq);
        let is_back = |path: &&String| {
            let mut undos = history
                .restorings()
                .iter()
                .filter(|one| one.to_seq == last.to_seq);
            undos.any(|undo| undo.files.contains(path))
        };
        let left = undone.flat_map(|one| &one.files).filter(|path| !is_back(path));
        last.left = left.cloned().collect();
    }
    Some(last)
}

/// Plans the undo of the latest restore. If the latest restore is itself an undo that left files unrestored,
/// the plan covers those files.
///
/// # Errors
/// Returns an error if the session or its files cannot be read.
pub async fn plan_undo(
    runtime: &dyn Runtime,
    session: &SessionId,
    latest: &Restoring,
) -> Result<RestorePlan, RuntimeError> {
    if latest.is_finished_undo() && !latest.left.is_empty() {
        let mut plan = runtime.plan_restore(session, latest.to_seq).await?;
        plan.files.retain(|file| latest.left.contains(&file.path));
        if !plan.files.is_empty() {
            return Ok(plan);
        }
    }
    runtime.plan_restore(session, latest.undo_to()).await
}
