//! Finds the other branches of a session: the one that it was forked from, and those that were forked from
//! it.

use agentx::runtime::{Runtime, RuntimeError, SessionQuery};
use agentx::types::SessionId;

use crate::error::ChatError;

/// Maximum number of sessions that are searched for forks.
const LOOKED_THROUGH: usize = 1_000;

/// The session that this one was forked from, or else those that were forked from it.
pub async fn relatives_of(runtime: &dyn Runtime, id: &SessionId) -> Result<Vec<SessionId>, RuntimeError> {
    if let Some((parent, _)) = runtime.info(id).await?.parent {
        return Ok(vec![parent]);
    }
    let query = SessionQuery {
        owner: runtime.owner().clone(),
        workspace: None,
        limit: LOOKED_THROUGH,
        before: None,
    };
    let all = runtime.sessions(query).await?;
    let is_fork = |parent: &Option<(SessionId, u64)>| parent.as_ref().is_some_and(|(parent, _)| parent == id);
    Ok(all
        .into_iter()
        .filter(|info| is_fork(&info.parent))
        .map(|info| info.session_id)
        .collect())
}

/// The only one of the relatives of a session.
pub fn only(id: &SessionId, mut relatives: Vec<SessionId>) -> Result<SessionId, ChatError> {
    match relatives.len() {
        1 => Ok(relatives.remove(0)),
        0 => Err(ChatError::usage(
            format!("{id} has no other branch: it is not a fork and has none"),
            format!(
                "diff compares two branches of a session (`agentx diff {id} OTHER`); `git diff` shows what changed in files"
            ),
        )),
        _ => {
            let names: Vec<&str> = relatives.iter().map(SessionId::as_str).collect();
            Err(ChatError::usage(
                format!("{id} has {} forks: {}", relatives.len(), names.join(", ")),
                "name the one to compare",
            ))
        }
    }
}
