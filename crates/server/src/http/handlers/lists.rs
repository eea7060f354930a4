//! The sessions that a caller sees: their own, those shared with them, and, for approvers, those of members.

use std::cmp::Reverse;

use agentx_runtime::{LogError, Runtime as _, RuntimeError, SessionInfo, SessionQuery};
use agentx_types::{OwnerId, Timestamp, VISITORS};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::auth::caller::Caller;
use crate::http::requests::cursor::Cursor;
use crate::http::requests::query::PageLimit;
use crate::state::ServerState;

/// The requested sessions.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ListQuery {
    #[serde(default)]
    pub(super) limit: PageLimit<50, 1000>,
    /// The cursor of the last page.
    pub(super) cursor: Option<String>,
    /// Only those of this directory.
    workspace: Option<String>,
    /// Only those whose last event is older than this: microseconds since 1970.
    before: Option<Timestamp>,
    /// Whether to list sessions of members too, for approvers.
    #[serde(default)]
    members: bool,
    /// Only those in which a call waits for a person; with `members`, those of members too.
    #[serde(default)]
    waiting: bool,
}

/// Returns the places of a list in its order: the latest event first.
fn place(info: &SessionInfo) -> impl Ord + use<> {
    (Reverse(info.updated_at), Reverse(info.session_id.clone()))
}

/// Returns at least one more session than requested, if there are that many.
///
/// # Errors
/// Returns an error if the store cannot be read.
pub(super) async fn latest(
    state: &ServerState,
    caller: &Caller,
    query: &ListQuery,
    cursor: Option<&Cursor>,
) -> Result<Vec<SessionInfo>, RuntimeError> {
    // Sessions that changed exactly at the time of the cursor may be on either side of it.
    let after_cursor = cursor.map(|cursor| Timestamp(cursor.at.0.saturating_add(1)));
    let before = match (after_cursor, query.before) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    };
    if query.waiting {
        return waiting(state, caller, query, before).await;
    }
    let asked = |owner: &OwnerId| SessionQuery {
        owner: owner.clone(),
        workspace: query.workspace.clone(),
        limit: query.limit.get() + 1 + cursor.map_or(0, |cursor| cursor.tied),
        before,
    };
    let runtime = state.runtime_of(&caller.person);
    let mut found = runtime.sessions(asked(&caller.person)).await?;
    for name in names_of(state, caller) {
        found.extend(runtime.shared(asked(&name)).await?);
    }
    for member in members(state, caller, query) {
        found.extend(state.runtime_of(&member).sessions(asked(&member)).await?);
    }
    found.sort_by_key(place);
    found.dedup_by(|one, other| one.session_id == other.session_id);
    Ok(found)
}

/// Returns the names by which sessions are shared with a caller: what visitors may watch, everybody may.
pub(super) fn names_of(state: &ServerState, caller: &Caller) -> Vec<OwnerId> {
    let mut names = vec![caller.person.clone()];
    if state.options().allow_visitors && !caller.visitor {
        names.push(OwnerId::new(VISITORS));
    }
    names
}

/// Returns the members whose sessions are listed too.
fn members(state: &ServerState, caller: &Caller, query: &ListQuery) -> Vec<OwnerId> {
    if !query.members || !(caller.operator || caller.approver) {
        return Vec::new();
    }
    let mut members = state.auth().known().members();
    members.retain(|member| *member != caller.person);
    members
}

/// Returns the sessions in which a call waits; there are few, among all owners.
async fn waiting(
    state: &ServerState,
    caller: &Caller,
    query: &ListQuery,
    before: Option<Timestamp>,
) -> Result<Vec<SessionInfo>, RuntimeError> {
    let mut found = Vec::new();
    for info in state.runtime().waiting().await? {
        let is_here = query
            .workspace
            .as_ref()
            .is_none_or(|wanted| info.workspace == *wanted);
        let is_before = before.is_none_or(|before| info.updated_at < before);
        if is_here && is_before && is_shown(state, caller, query, &info).await? {
            found.push(info);
        }
    }
    Ok(found)
}

/// Returns whether a session is in the lists of this caller.
async fn is_shown(
    state: &ServerState,
    caller: &Caller,
    query: &ListQuery,
    info: &SessionInfo,
) -> Result<bool, RuntimeError> {
    for name in names_of(state, caller) {
        let (owner, shared) = match state.runtime().access(&info.session_id, &name).await {
            Ok(found) => found,
            // It was deleted meanwhile.
            Err(RuntimeError::Log(LogError::NotFound(_))) => return Ok(false),
            Err(error) => return Err(error),
        };
        let decides = caller.operator || (caller.approver && owner != *state.runtime().owner());
        if owner == caller.person || shared.is_some() || (query.members && decides) {
            return Ok(true);
        }
    }
    Ok(false)
}
