//! Continues a session in a chat, and shows everything that a person should know before they write. `agentx
//! resume` and `/resume` both do it here, so that the same session is the same in both.

use std::sync::Arc;

use agentx::config::Settings;
use agentx::runtime::{Session, SessionState};
use agentx::types::SessionId;

use super::{
    CommandLineOverrides, Target, changed_by_opening, find, leave, note_of_cost, note_of_decisions,
    note_of_tools, resume,
};
use crate::error::ChatError;
use crate::models::{default_model, other_server};
use crate::place::Place;
use crate::sessions::sessions_here::SessionsHere;

/// A session that was opened again.
pub struct ContinuedSession {
    /// The session.
    pub session: Arc<dyn Session>,
    /// The state of the session.
    pub state: SessionState,
    /// The notes for the person, a line each.
    pub notes: Vec<String>,
}

/// Opens a session that exists, or a copy of it, with what the command line changes.
///
/// # Errors
/// Returns an error if the session does not exist or cannot be opened; a session that was opened is closed
/// again.
pub async fn continue_session(
    place: &Place,
    settings: &Settings,
    wanted: &CommandLineOverrides,
    id: SessionId,
    fork: bool,
) -> Result<ContinuedSession, ChatError> {
    let last_seq = place.runtime().info(&id).await?.last_seq;
    let session = resume(place, settings, wanted, id, fork).await?;
    let of_server = other_server::record(place, settings, session.as_ref()).await;
    let changed = changed_by_opening(place, session.id(), last_seq).await;
    let state = session.state().await.map_err(ChatError::from);
    let state = leave_if_failed(place, session.as_ref(), state).await?;
    let of_model = default_model::note_of_session(settings, &state.config.model);
    let notes = [
        of_server,
        note_of_decisions(settings, &changed),
        note_of_cost(&state.config),
        note_of_tools(&state.tools_change),
        of_model.filter(|_| place.remote().is_none()),
    ];
    Ok(ContinuedSession {
        session,
        state,
        notes: notes.into_iter().flatten().collect(),
    })
}

/// Returns the id of the requested session, for words that are typed already and for a copy: the latest one
/// even if another program has it open. Opening it then fails, instead of the prompt going to another
/// session. `None` for a new one.
///
/// # Errors
/// Returns an error if the session does not exist.
pub async fn find_exactly(
    place: &Place,
    settings: &Settings,
    target: &Target,
) -> Result<Option<SessionId>, ChatError> {
    let found = find(place, settings, target).await?;
    let latest = match &found {
        Some(taken) if *target == Target::Last => passed_over(place, settings, taken).await,
        _ => None,
    };
    Ok(latest.or(found))
}

/// Returns the id of the requested session, for a command that only reads it, or does not run its agent.
///
/// # Errors
/// Returns an error if the session does not exist.
pub async fn find_existing(
    place: &Place,
    settings: &Settings,
    target: &Target,
) -> Result<SessionId, ChatError> {
    let found = find_exactly(place, settings, target).await?;
    found.ok_or_else(|| ChatError::NoSession {
        workspace: settings.workspace.to_string_lossy().into_owned(),
    })
}

/// Returns a note for a person who continues the latest free session, if a later one of this folder is open
/// in another program.
pub(crate) async fn note_of_passed_over(
    place: &Place,
    settings: &Settings,
    id: &SessionId,
) -> Option<String> {
    let latest = passed_over(place, settings, id).await?;
    Some(format!(
        "note: the latest session of this folder is open in another program, so this is an earlier one, {id}; `agentx \
         watch {latest}` shows the latest, `agentx -c --fork` continues in a copy of it\n"
    ))
}

/// Returns the latest session of this folder if another program has it open, so that an earlier one was
/// taken; `None` if that is the latest, or on a server, where a session may be open in several programs.
async fn passed_over(place: &Place, settings: &Settings, taken: &SessionId) -> Option<SessionId> {
    if place.remote().is_some() {
        return None;
    }
    SessionsHere::of(settings)
        .passed_over(place.runtime(), taken)
        .await
}

/// Releases a session if a step after its opening failed, so that nobody is left in it.
///
/// # Errors
/// Returns the error of `outcome`.
pub async fn leave_if_failed<T>(
    place: &Place,
    session: &dyn Session,
    outcome: Result<T, ChatError>,
) -> Result<T, ChatError> {
    if outcome.is_err() {
        leave(place, session).await;
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_session_whose_opening_fails_later_is_closed_and_else_stays_open() {
        let agent = agentx::agent("You help.")
            .model("scripted")
            .start()
            .await
            .unwrap();
        let (place, session) = (Place::of_process(agent.runtime().clone()), agent.session());
        let kept = leave_if_failed(&place, session.as_ref(), Ok(7)).await;
        assert_eq!(kept.unwrap(), 7);
        assert!(session.state().await.is_ok());
        let why = ChatError::usage("it cannot be joined", "wait");
        let failed = leave_if_failed(&place, session.as_ref(), Err::<(), _>(why)).await;
        assert_eq!(failed.unwrap_err().to_string(), "it cannot be joined");
        assert!(session.state().await.is_err(), "nobody is in it any more");
    }
}
