//! Releases a session when a program leaves it.

use agentx::runtime::{Session, SessionState};
use agentx::types::AskUser;

use crate::place::Place;

/// Maximum time for leaving a session of a server: the session continues there anyway.
pub(super) const LEAVING: std::time::Duration = std::time::Duration::from_secs(2);

/// Releases a session. One that runs here is committed first, however long that takes.
pub async fn leave(place: &Place, session: &dyn Session) {
    if place.remote().is_none() {
        if keeps_question(session).await {
            return session.suspend().await;
        }
        return session.close().await;
    }
    // If this fails, the server notices by itself that the client is gone.
    let _ = tokio::time::timeout(LEAVING, session.close()).await;
}

/// Returns whether a question is open that waits for a person even without a program.
pub(crate) async fn keeps_question(session: &dyn Session) -> bool {
    session.state().await.is_ok_and(|state| keeps_a_question(&state))
}

/// Returns whether a question of the model, or of a suspended call, waits for an answer, no matter who is
/// there.
pub(crate) fn keeps_a_question(state: &SessionState) -> bool {
    if state.only_waits && !state.pending_approvals.is_empty() {
        return true;
    }
    let mut asked = state.pending_approvals.iter();
    state.config.ask_user == Some(AskUser::Wait) && asked.any(|asked| asked.question.is_some())
}
