//! Routes about all sessions of a person, or about the server: usage, reactors, import, space to free.

use agentx_config::{DayRaise, raise_day_limit, raised_lately};
use agentx_runtime::{
    Clock as _, ReactorInfo, Runtime as _, SessionExport, Since, SystemClock, UsageBy, UsageQuery, UsageRow,
    VerifyReport,
};
use agentx_types::{NanoUsd, SessionId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::http::handlers::tokens::on_disk;
use crate::http::requests::body::JsonBody;
use crate::http::requests::extract::{CanFail, Member, Operator, QueryParams};
use crate::http::responses::{CreatedResponse, JsonResponse};
use crate::http::{ApiError, HandlerState};
use crate::members::trust::default_agent;
use crate::problems::problem;

/// The requested usage.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Spending {
    /// The grouping.
    #[serde(default)]
    by: UsageBy,
    /// Only in this session of the caller's.
    session: Option<SessionId>,
    /// Only spending since this time, in microseconds since 1970.
    since: Option<Timestamp>,
    /// The first day to include, in the server's calendar, such as 2026-11-21.
    #[schemars(regex(pattern = r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$"))]
    since_day: Option<String>,
}

/// An amount by which the limit of a day is raised for 24 hours: money, tokens or both.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct DayAmount {
    /// Money, in billionths of a US dollar.
    #[serde(default)]
    cost: NanoUsd,
    /// Tokens, read and written.
    #[serde(default)]
    tokens: u64,
}

/// The amounts by which the limit of a day is raised now, those of the last 24 hours together.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RaisedLimit {
    /// Money, in billionths of a US dollar.
    cost: NanoUsd,
    /// Tokens, read and written.
    tokens: u64,
}

/// Space that was given back.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Freed {
    /// Bytes of facts and blobs that nothing refers to any more.
    freed_bytes: u64,
}

pub(crate) async fn usage(
    app: HandlerState,
    Member(caller): Member,
    QueryParams(query): QueryParams<Spending>,
) -> Result<JsonResponse<Vec<UsageRow>>, ApiError> {
    let since = match (query.since, query.since_day) {
        (Some(_), Some(_)) => {
            return Err(ApiError::new(
                "bad_request",
                "use either `since` or `since_day`, not both",
            ));
        }
        (Some(at), None) => Some(Since::At(at)),
        (None, Some(day)) if is_day(&day) => Some(Since::Day(day)),
        (None, Some(_)) => {
            return Err(ApiError::new(
                "bad_request",
                "since_day is a day such as 2026-11-21",
            ));
        }
        (None, None) => None,
    };
    let query = UsageQuery {
        owner: caller.person.clone(),
        by: query.by,
        session: query.session,
        since,
    };
    let runtime = app.state.runtime_of(&caller.person);
    let _turn = app.state.check_turns().take(&caller.line).await;
    Ok(JsonResponse(runtime.usage(query).await?))
}

/// Raises the limit of a day, which bounds the operator's own sessions; members have their quota.
pub(crate) async fn raise_day(
    app: HandlerState,
    _: Operator,
    JsonBody(amount): JsonBody<DayAmount>,
) -> Result<JsonResponse<RaisedLimit>, ApiError> {
    let raise = DayRaise {
        at: SystemClock.now(),
        cost: amount.cost,
        tokens: amount.tokens,
    };
    if (raise.cost, raise.tokens) == (NanoUsd::default(), 0) {
        return Err(ApiError::new(
            "bad_request",
            "the limit is raised by `cost` or `tokens`, and both are missing or 0",
        ));
    }
    let data_dir = app.state.settings().data_dir.clone();
    let raised = on_disk(move || {
        let raised = raise_day_limit(&data_dir, raise).and_then(|()| raised_lately(&data_dir, raise.at));
        raised.map_err(|error| problem("unavailable", &format!("the limit was not raised: {error}")))
    });
    let DayRaise { cost, tokens, .. } = raised.await?;
    Ok(JsonResponse(RaisedLimit { cost, tokens }))
}

/// Imports a session. It contains its agent, rules and directory, so only the operator may.
pub(crate) async fn import(
    app: HandlerState,
    Operator(caller): Operator,
    _: CanFail<409>,
    JsonBody(mut export): JsonBody<SessionExport>,
) -> Result<CreatedResponse<VerifyReport>, ApiError> {
    let runtime = app.state.runtime_of(&caller.person);
    // The document does not say where its agent works on this machine.
    export.workspace = default_agent(&app.state, &caller)?.workspace;
    let report = runtime.import(export).await?;
    Ok(CreatedResponse {
        location: format!("/v1/sessions/{}", report.session_id),
        body: report,
    })
}

/// Lists the reactors; only the operator may see where everybody's sessions wait.
pub(crate) async fn reactors(
    app: HandlerState,
    Operator(caller): Operator,
) -> Result<JsonResponse<Vec<ReactorInfo>>, ApiError> {
    let runtime = app.state.runtime_of(&caller.person);
    Ok(JsonResponse(runtime.reactors()))
}

/// Frees the space of everybody's sessions; the search takes the server's time, so only the operator may.
pub(crate) async fn collect_garbage(
    app: HandlerState,
    Operator(caller): Operator,
) -> Result<JsonResponse<Freed>, ApiError> {
    let runtime = app.state.runtime_of(&caller.person);
    let freed_bytes = runtime.collect_garbage().await?;
    Ok(JsonResponse(Freed { freed_bytes }))
}

fn is_day(text: &str) -> bool {
    let is_right = |(at, byte): (usize, u8)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    };
    let number = |range: std::ops::Range<usize>| text.get(range).and_then(|digits| digits.parse::<u8>().ok());
    text.len() == 10
        && text.bytes().enumerate().all(is_right)
        && number(5..7).is_some_and(|month| (1..=12).contains(&month))
        && number(8..10).is_some_and(|day| (1..=31).contains(&day))
}

#[cfg(test)]
mod tests {
    use super::is_day;

    #[test]
    fn a_day_is_one_of_the_calendar() {
        assert!(is_day("2026-11-21") && is_day("0000-01-01") && is_day("2024-12-31"));
        for text in [
            "0000-00-00",
            "2026-13-01",
            "2026-00-10",
            "2026-01-32",
            "26-1-1",
            "2026-1-001",
            "２026-01-0",
        ] {
            assert!(!is_day(text), "{text}");
        }
    }
}
