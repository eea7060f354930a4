//! Finding a session: by words that were said in it, by the beginning of its id.

use agentx_runtime::{LogError, Runtime as _, RuntimeError, SearchHit, SessionQuery};
use agentx_types::SessionId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::extract::{CanFail, QueryParams, Somebody};
use super::query::PageLimit;
use super::responses::JsonResponse;
use super::{ApiError, HandlerState};
use crate::state::Caller;

/// How many of the sessions that are shared with somebody are looked at.
const SHARED: usize = 1000;
/// The number of ids that are named where there is more than one.
const NAMED: usize = 10;

/// Which words.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct SearchQuery {
    /// The words; all have to be there.
    #[schemars(length(max = 1000))]
    q: String,
    #[serde(default)]
    limit: PageLimit<20, 200>,
}

/// Which id.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ResolveQuery {
    /// How it begins, with or without `ses_`.
    #[schemars(length(min = 1, max = 200))]
    prefix: String,
}

/// The session that was meant.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Resolved {
    session_id: SessionId,
}

pub(crate) async fn search(
    front: HandlerState,
    Somebody(caller): Somebody,
    QueryParams(query): QueryParams<SearchQuery>,
) -> Result<JsonResponse<Vec<SearchHit>>, ApiError> {
    check("q", &query.q, 0, 1000)?;
    let runtime = front.state.runtime_of(&caller.person);
    let _turn = front.state.checks().take(&caller.line).await;
    Ok(JsonResponse(runtime.search(&query.q, query.limit.get()).await?))
}

pub(crate) async fn resolve(
    front: HandlerState,
    Somebody(caller): Somebody,
    _: CanFail<404>,
    QueryParams(query): QueryParams<ResolveQuery>,
) -> Result<JsonResponse<Resolved>, ApiError> {
    check("prefix", &query.prefix, 1, 200)?;
    let prefix = query.prefix;
    let mut found = shared(&front, &caller, &prefix).await?;
    match front.state.runtime_of(&caller.person).resolve(&prefix).await {
        Ok(own) => found.push(own),
        Err(RuntimeError::Log(LogError::NotFound(_))) => {}
        Err(RuntimeError::Ambiguous { ids, .. }) => found.extend(ids.iter().map(SessionId::new)),
        Err(error) => return Err(error.into()),
    }
    if (caller.operator || caller.approver) && found.is_empty() {
        // Of members' sessions who decides there needs the whole id, as they are told it.
        let whole = SessionId::new(&prefix);
        found.extend(front.state.access(&caller, &whole).await.is_ok().then_some(whole));
    }
    match found.as_slice() {
        [] => Err(LogError::NotFound(prefix).into()),
        [one] => Ok(JsonResponse(Resolved {
            session_id: one.clone(),
        })),
        many => Err(RuntimeError::Ambiguous {
            prefix,
            ids: many.iter().take(NAMED).map(SessionId::to_string).collect(),
        }
        .into()),
    }
}

/// The sessions of others that begin so and that the caller may see.
async fn shared(front: &HandlerState, caller: &Caller, prefix: &str) -> Result<Vec<SessionId>, ApiError> {
    let query = SessionQuery {
        owner: caller.person.clone(),
        workspace: None,
        limit: SHARED,
        before: None,
    };
    let found = front.state.runtime_of(&caller.person).shared(query).await?;
    let begins = |id: &SessionId| {
        let short = id.as_str().strip_prefix(SessionId::PREFIX);
        id.as_str().starts_with(prefix) || short.is_some_and(|short| short.starts_with(prefix))
    };
    let ids = found.into_iter().map(|info| info.session_id);
    Ok(ids.filter(begins).collect())
}

fn check(name: &str, text: &str, least: usize, most: usize) -> Result<(), ApiError> {
    let chars = text.chars().count();
    if (least..=most).contains(&chars) {
        return Ok(());
    }
    Err(ApiError::new(
        "bad_request",
        format!("{name} has {least} to {most} characters"),
    ))
}
