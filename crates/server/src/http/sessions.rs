//! Sessions as things: made, listed, looked at, named, forked, deleted.

use agentx_runtime::{NamedAgent, NamedLimits, Runtime as _, RuntimeError, SessionInfo, SessionState};
use agentx_types::{AgentConfig, ApprovalMode, SessionId, SessionRole};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::body::{JsonBody, OptionalJson};
use super::cursor::Cursor;
use super::extract::{
    CanFail, DeletingCaller, Driving, IdempotencyKey, Member, Owning, QueryParams, SessionAs, Somebody,
    Watching,
};
use super::lists::{ListQuery, latest};
use super::responses::{CreatedResponse, DoneResponse, JsonResponse};
use super::turn_body::InTurn;
use super::{ApiError, HandlerState, session_actions};
use crate::call_decisions::CallDecider;
use crate::options::TITLE_CHARS;
use crate::size_limits::{check_prompt, check_size};
use crate::state::{Caller, ServerState};
use crate::trust::{named_of_server, of_server};

/// Why nobody else forks a session: the copy would be its owner's.
const FORKS_ITS_OWNER: &str = "only the owner of a session can fork it: the copy would belong to them";

/// A page of sessions, those with the latest event first.
#[derive(Serialize, JsonSchema)]
pub(crate) struct SessionPage {
    /// The caller's own, those that are shared with them, and with `members` those of members.
    items: Vec<SessionInfo>,
    /// Where the next page begins; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A new session: with `config`, or with `agent` and what is to be otherwise than its file says.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct CreateRequest {
    /// Its agent, whole. The server puts its own tools in, and the member's workspace is the server's.
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
    /// Who decides about its calls; where its file is stricter, that counts.
    #[serde(default)]
    approval: Option<ApprovalMode>,
    /// Limits of its runs, `null` for none; where its file is stricter, that counts.
    #[serde(default)]
    limits: NamedLimits,
    /// The directory that it works in, for operators.
    #[serde(default)]
    workspace: Option<String>,
}

impl CreateRequest {
    /// The agent as this server lets it be.
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
    /// What the caller may do in it.
    role: SessionRole,
}

/// Another title.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct PatchRequest {
    /// What people see in lists.
    #[schemars(length(max = TITLE_CHARS))]
    title: String,
}

/// From where to fork.
#[derive(Default, Deserialize, JsonSchema)]
pub(crate) struct ForkRequest {
    /// The last event that both have; the last one of all where it is absent.
    #[serde(default)]
    at_seq: Option<u64>,
}

pub(crate) async fn list(
    front: HandlerState,
    Somebody(caller): Somebody,
    QueryParams(query): QueryParams<ListQuery>,
) -> Result<JsonResponse<SessionPage>, ApiError> {
    let cursor = query.cursor.as_deref().map(Cursor::decode).transpose()?;
    let found = latest(&front.state, &caller, &query, cursor.as_ref()).await?;
    let (items, next) = page(found, query.limit.get(), cursor.as_ref());
    let next = next.map(|next| next.encode());
    Ok(JsonResponse(SessionPage { items, next }))
}

/// The first `limit` of those after the cursor, and where the next page begins.
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
    front: HandlerState,
    Member(caller): Member,
    IdempotencyKey(key): IdempotencyKey,
    _: CanFail<404>,
    _: CanFail<507>,
    JsonBody(request): JsonBody<CreateRequest>,
) -> Result<CreatedResponse<Created>, ApiError> {
    if let Some(config) = &request.config {
        check_size(&front.state.settings().quotas, config)?;
    }
    check_prompt(&front.state.settings().quotas, request.system_prompt.as_deref())?;
    let config = request.agent(&front.state, &caller)?;
    let (person, state, asked) = (caller.person.clone(), front.state.clone(), config.clone());
    let make = async move {
        let _counted = state.may_make(&caller.person).await?;
        session_actions::create(&state, &caller, config).await
    };
    let made = front.once.make(&person, ("create", &asked), key, make).await?;
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
    front: HandlerState,
    at: SessionAs<Driving>,
    JsonBody(request): JsonBody<PatchRequest>,
) -> Result<JsonResponse<session_actions::Recorded>, ApiError> {
    session_actions::rename(&front, &at, request.title).await
}

pub(crate) async fn delete(
    front: HandlerState,
    at: SessionAs<DeletingCaller>,
) -> Result<DoneResponse, ApiError> {
    session_actions::delete(&front, &at).await?;
    Ok(DoneResponse)
}

pub(crate) async fn fork(
    front: HandlerState,
    at: SessionAs<Owning>,
    IdempotencyKey(key): IdempotencyKey,
    _: CanFail<507>,
    OptionalJson(request): OptionalJson<ForkRequest>,
) -> Result<CreatedResponse<Created>, ApiError> {
    let (person, what) = (at.caller.person.clone(), at.session.to_string());
    if at.access.owner != person {
        return Err(RuntimeError::Denied(FORKS_ITS_OWNER.into()).into());
    }
    let state = front.state.clone();
    let make = async move {
        let _counted = state.may_make(&at.access.owner).await?;
        Ok(at.access.runtime.fork(&at.session, request.at_seq).await?)
    };
    let asked = (&*what, &request.at_seq);
    let made = front.once.make(&person, asked, key, make).await?;
    Ok(made_at(made))
}

pub(crate) async fn state(
    front: HandlerState,
    at: SessionAs<Watching>,
) -> Result<InTurn<JsonResponse<SessionState>>, ApiError> {
    let turn = front.state.answers().take(&at.caller.line).await;
    let room = front.state.rooms().there(&at.session).await;
    // One that is open knows how it stands; of another, nobody has to become the writer to tell.
    let now = match room.as_ref().and_then(|room| room.session()) {
        Some(session) => session.state().await?,
        None => at.access.runtime.state(&at.session).await?,
    };
    let decider = CallDecider::new(&front.state, &at.caller, &at.access, &now.sharing);
    Ok(InTurn(JsonResponse(decider.offer(now)), turn))
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
