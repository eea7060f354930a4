//! Finds sessions by words of their messages, or by the beginning of their id.

use std::collections::HashSet;

use agentx_runtime::{LogError, Runtime as _, RuntimeError, SearchHit, SessionQuery, names_session};
use agentx_types::SessionId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::auth::caller::Caller;
use crate::http::handlers::lists::names_of;
use crate::http::requests::extract::{CanFail, QueryParams, TokenOrVisitor};
use crate::http::requests::query::PageLimit;
use crate::http::responses::JsonResponse;
use crate::http::{ApiError, HandlerState};

/// The number of shared sessions that are searched.
const SHARED: usize = 1000;
/// The number of ids that the error lists if several match.
const NAMED: usize = 10;

/// The words to search for.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct SearchQuery {
    /// The words; all have to be there.
    #[schemars(length(max = 1000))]
    q: String,
    #[serde(default)]
    limit: PageLimit<20, 200>,
}

/// The id to find.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ResolveQuery {
    /// The beginning of the id, with or without `ses_`.
    #[schemars(length(min = 1, max = 200))]
    prefix: String,
}

/// The session that was meant.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Resolved {
    session_id: SessionId,
}

pub(crate) async fn search(
    app: HandlerState,
    TokenOrVisitor(caller): TokenOrVisitor,
    QueryParams(query): QueryParams<SearchQuery>,
) -> Result<JsonResponse<Vec<SearchHit>>, ApiError> {
    check("q", &query.q, 0, 1000)?;
    let runtime = app.state.runtime_of(&caller.person);
    let _turn = app.state.check_turns().take(&caller.line).await;
    Ok(JsonResponse(runtime.search(&query.q, query.limit.get()).await?))
}

pub(crate) async fn resolve(
    app: HandlerState,
    TokenOrVisitor(caller): TokenOrVisitor,
    _: CanFail<404>,
    QueryParams(query): QueryParams<ResolveQuery>,
) -> Result<JsonResponse<Resolved>, ApiError> {
    check("prefix", &query.prefix, 1, 200)?;
    let prefix = query.prefix;
    let mut found = shared(&app, &caller, &prefix).await?;
    match app.state.runtime_of(&caller.person).resolve(&prefix).await {
        Ok(own) => found.push(own),
        Err(RuntimeError::Log(LogError::NotFound(_))) => {}
        Err(RuntimeError::Ambiguous { ids, .. }) => found.extend(ids.iter().map(SessionId::new)),
        Err(error) => return Err(error.into()),
    }
    // The caller's own session may also be shared with visitors.
    let mut seen = HashSet::new();
    found.retain(|id| seen.insert(id.clone()));
    if (caller.operator || caller.approver) && found.is_empty() {
        // For members' sessions, approvers have to give the whole id, as notices name it.
        let whole = SessionId::new(&prefix);
        found.extend(app.state.access(&caller, &whole).await.is_ok().then_some(whole));
    }
    match found.as_slice() {
        [] => Err(LogError::NotFound(prefix).into()),
        [one] if names_session(&prefix, one) => Ok(JsonResponse(Resolved {
            session_id: one.clone(),
        })),
        many => Err(RuntimeError::Ambiguous {
            prefix,
            ids: many.iter().take(NAMED).map(SessionId::to_string).collect(),
        }
        .into()),
    }
}

/// Returns the sessions of others that begin so and that the caller may see.
async fn shared(app: &HandlerState, caller: &Caller, prefix: &str) -> Result<Vec<SessionId>, ApiError> {
    let runtime = app.state.runtime_of(&caller.person);
    let mut found = Vec::new();
    for owner in names_of(&app.state, caller) {
        let query = SessionQuery {
            owner,
            workspace: None,
            limit: SHARED,
            before: None,
        };
        found.extend(runtime.shared(query).await?);
    }
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
