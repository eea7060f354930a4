//! Sessions: create, list, inspect, rename, fork, delete.

use agentx_runtime::{NamedAgent, NamedLimits, Runtime as _, RuntimeError, SessionInfo, SessionState};
use agentx_types::{AgentConfig, ApprovalMode, SessionId, SessionRole};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::actions::call_decisions::CallDecider;
use crate::auth::caller::Caller;
use crate::http::handlers::lists::{ListQuery, latest};
use crate::http::handlers::session_actions;
use crate::http::requests::body::{OptionalJson, SettingsBody};
use crate::http::requests::cursor::Cursor;
use crate::http::requests::extract::{
    CanFail, DeletingCaller, Driving, IdempotencyKey, Member, Owning, QueryParams, SessionAs, TokenOrVisitor,
    Watching,
};
use crate::http::responses::permit_body::WithPermit;
use crate::http::responses::{CreatedResponse, DoneResponse, JsonResponse};
use crate::http::{ApiError, HandlerState};
use crate::limits::size_limits::{TITLE_CHARS, check_prompt, check_size};
use crate::members::trust::{named_of_server, of_server};
use crate::state::ServerState;

/// The reason why only the owner can fork a session: the copy would be theirs.
const FORKS_ITS_OWNER: &str = "only the owner of a session can fork it: the copy would belong to them";

/// A page of sessions, those with the latest event first.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SessionPage {
    /// The caller's own, those that are shared with them, and with `members` those of members.
    items: Vec<SessionInfo>,
    /// The cursor of the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A new session: with `config`, or with `agent` and overrides of its file.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct CreateRequest {
    /// The complete configuration of the agent. The server inserts its own tools, and the member's workspace
    /// is the server's.
    #[serde(default)]
    config: Option<AgentConfig>,
    /// The name of an agent that the server's files describe.
    #[serde(default)]
    agent: Option<String>,
    /// Another model than that agent's, by name.
    #[serde(default)]
    model: Option<String>,
    /// Other standing instructions than that agent's.
    #[serde(default)]
    system_prompt: Option<String>,
    /// The approval mode; if the agent's file is stricter, the file's mode is used.
    #[serde(default)]
    approval: Option<ApprovalMode>,
    /// Limits of its runs, `null` for none; if its file is stricter, the file's limits apply.
    #[serde(default)]
    limits: NamedLimits,
    /// The directory that it works in, for operators.
    #[serde(default)]
    workspace: Option<String>,
}

impl CreateRequest {
    /// Returns the agent as this server lets it be.
    fn agent(self, state: &ServerState, caller: &Caller) -> Result<AgentConfig, ApiError> {
        match (self.config, self.agent) {
            (Some(config), None) => Ok(of_server(state, caller, config)?),
            (None, Some(agent)) => {
                let wanted = NamedAgent {
                    agent,
                    model: self.model,
                    system_prompt: self.system_prompt,
                    approval: self.approval,
                    limits: self.limits,
                    workspace: self.workspace,
                };
                Ok(named_of_server(state, caller, wanted)?)
            }
            _ => Err(ApiError::new(
                "bad_json",
                "a session needs either `agent` (a name) or `config` (a complete agent)",
            )),
        }
    }
}

/// A session that was made.
#[derive(Clone, Serialize, JsonSchema)]
pub(crate) struct Created {
    /// The id of the session.
    session_id: SessionId,
}

/// A session as the caller sees it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SessionView {
    #[serde(flatten)]
    info: SessionInfo,
    /// The caller's role in it.
    role: SessionRole,
}

/// Another title.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct PatchRequest {
    /// The title, as lists show it.
    #[schemars(length(max = TITLE_CHARS))]
    title: String,
}

/// The point to fork at.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ForkRequest {
    /// The last event that both share; if absent, the last one of all.
    #[serde(default)]
    at_seq: Option<u64>,
}

pub(crate) async fn list(
    app: HandlerState,
    TokenOrVisitor(caller): TokenOrVisitor,
    QueryParams(query): QueryParams<ListQuery>,
) -> Result<JsonResponse<SessionPage>, ApiError> {
    let cursor = query.cursor.as_deref().map(Cursor::decode).transpose()?;
    let found = latest(&app.state, &caller, &query, cursor.as_ref()).await?;
    let (items, next) = page(found, query.limit.get(), cursor.as_ref());
    let next = next.map(|next| next.encode());
    Ok(JsonResponse(SessionPage { items, next }))
}

/// Returns the first `limit` sessions after the cursor, and the next cursor.
fn page(
    found: Vec<SessionInfo>,
    limit: usize,
    cursor: Option<&Cursor>,
) -> (Vec<SessionInfo>, Option<Cursor>) {
    let given = |info: &SessionInfo| {
        cursor.is_some_and(|cursor| (info.updated_at, &info.session_id) >= (cursor.at, &cursor.id))
    };
    let mut items: Vec<SessionInfo> = found.into_iter().filter(|info| !given(info)).collect();
    let is_more = items.len() > limit;
    items.truncate(limit);
    let next = items.last().filter(|_| is_more).map(|last| {
        let tied = items
            .iter()
            .filter(|info| info.updated_at == last.updated_at)
            .count();
        let before = cursor.filter(|cursor| cursor.at == last.updated_at);
        Cursor {
            at: last.updated_at,
            id: last.session_id.clone(),
            tied: tied + before.map_or(0, |cursor| cursor.tied),
        }
    });
    (items, next)
}

pub(crate) async fn create(
    app: HandlerState,
    Member(caller): Member,
    IdempotencyKey(key): IdempotencyKey,
    _: CanFail<404>,
    _: CanFail<507>,
    SettingsBody(request): SettingsBody<CreateRequest>,
) -> Result<CreatedResponse<Created>, ApiError> {
    if let Some(config) = &request.config {
        check_size(&app.state.settings().quotas, config)?;
    }
    check_prompt(&app.state.settings().quotas, request.system_prompt.as_deref())?;
    let config = request.agent(&app.state, &caller)?;
    let (person, state, asked) = (caller.person.clone(), app.state.clone(), config.clone());
    let make = async move {
        let _counted = state.check_create(&caller.person).await?;
        session_actions::create(&state, &caller, config).await
    };
    let made = app.once.make(&person, ("create", &asked), key, make).await?;
    Ok(made_at(made))
}

fn made_at(session_id: SessionId) -> CreatedResponse<Created> {
    CreatedResponse {
        location: format!("/v1/sessions/{session_id}"),
        body: Created { session_id },
    }
}

pub(crate) async fn get(at: SessionAs<Watching>) -> Result<JsonResponse<SessionView>, ApiError> {
    let info = at.access.runtime.info(&at.session).await?;
    let role = at.access.role;
    Ok(JsonResponse(SessionView { info, role }))
}

pub(crate) async fn patch(
    app: HandlerState,
    at: SessionAs<Driving>,
    SettingsBody(request): SettingsBody<PatchRequest>,
) -> Result<JsonResponse<session_actions::Recorded>, ApiError> {
    session_actions::rename(&app, &at, request.title).await
}

pub(crate) async fn delete(
    app: HandlerState,
    at: SessionAs<DeletingCaller>,
) -> Result<DoneResponse, ApiError> {
    session_actions::delete(&app, &at).await?;
    Ok(DoneResponse)
}

pub(crate) async fn fork(
    app: HandlerState,
    at: SessionAs<Owning>,
    IdempotencyKey(key): IdempotencyKey,
    _: CanFail<507>,
    OptionalJson(request): OptionalJson<ForkRequest>,
) -> Result<CreatedResponse<Created>, ApiError> {
    let (person, what) = (at.caller.person.clone(), at.session.to_string());
    if at.access.owner != person {
        return Err(RuntimeError::Denied(FORKS_ITS_OWNER.into()).into());
    }
    let state = app.state.clone();
    let make = async move {
        let _counted = state.check_create(&at.access.owner).await?;
        Ok(at.access.runtime.fork(&at.session, request.at_seq).await?)
    };
    let asked = (&*what, &request.at_seq);
    let made = app.once.make(&person, asked, key, make).await?;
    Ok(made_at(made))
}

pub(crate) async fn state(
    app: HandlerState,
    at: SessionAs<Watching>,
) -> Result<WithPermit<JsonResponse<SessionState>>, ApiError> {
    let turn = app.state.answer_turns().take(&at.caller.line).await;
    let room = app.state.rooms().find(&at.session).await;
    // An open session knows its state; for another one, no process has to become its writer to find out.
    let now = match room.as_ref().and_then(|room| room.session()) {
        Some(session) => session.state().await?,
        None => at.access.runtime.state(&at.session).await?,
    };
    let decider = CallDecider::new(&app.state, &at.caller, &at.access, &now.sharing);
    Ok(WithPermit(JsonResponse(decider.offer(now)), turn))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use agentx_types::Timestamp;

    use super::*;

    fn info(id: &str, at: i64) -> SessionInfo {
        SessionInfo::new(id, "own_1", Timestamp(at)).with_last_event(1, Timestamp(at))
    }

    #[test]
    fn pages_fit_together_where_many_changed_at_the_same_time() {
        let all: Vec<SessionInfo> = [("f", 9), ("e", 5), ("d", 5), ("c", 5), ("b", 5), ("a", 1)]
            .map(|(id, at)| info(id, at))
            .into();
        for limit in 1..=7 {
            let (mut found, mut cursor) = (Vec::new(), None::<Cursor>);
            loop {
                // As the log answers: so many of those before a time, in order.
                let before = cursor.as_ref().map_or(i64::MAX, |cursor| cursor.at.0 + 1);
                let asked = limit + 1 + cursor.as_ref().map_or(0, |cursor| cursor.tied);
                let there = all.iter().filter(|info| info.updated_at.0 < before);
                let there = there.take(asked).cloned().collect();
                let (items, next) = page(there, limit, cursor.as_ref());
                found.extend(items);
                match next {
                    Some(next) => cursor = Some(Cursor::decode(&next.encode()).unwrap()),
                    None => break,
                }
            }
            assert_eq!(found, all, "{limit} at once");
        }
    }
}
