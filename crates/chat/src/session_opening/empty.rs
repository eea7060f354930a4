//! Removes sessions in which nothing was ever sent, so that a program that fails before its first input is
//! accepted leaves none in the lists.

use std::sync::Arc;

use agentx::runtime::Session;
use agentx::types::SessionId;

use crate::place::Place;

/// Returns whether nothing was ever sent in a session. One that does not say so is not empty.
pub async fn is_empty(session: &Arc<dyn Session>) -> bool {
    let state = session.state().await;
    state.is_ok_and(|state| state.run.is_none() && state.queued.is_empty())
}

/// Removes a session of a program that failed before anything was sent in it. If that fails, it stays in
/// lists, as an empty one.
pub async fn remove_empty(place: &Place, session: &SessionId) {
    if let Err(error) = place.runtime().delete(session).await {
        tracing::debug!(%session, %error, "an empty session stays");
    }
}
