//! Errors as `application/problem+json`: one status per code, and no detail that the caller may not learn.

use agentx_runtime::{LogError, RuntimeError};
use agentx_types::wire::Problem;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde_json::Value;

use crate::http::description::describe::{HandlerResponse, Operation};
use crate::limits::size_limits::shortened;

/// An error response.
#[derive(Debug)]
pub(crate) struct ApiError {
    problem: Box<Problem>,
}

/// The body of an error: RFC 9457, with a code for programs.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Problem")]
pub(crate) struct ProblemBody {
    /// `urn:agentx:problem:` and the code.
    #[serde(rename = "type")]
    kind: String,
    /// The code as text.
    title: String,
    /// The status of the answer.
    status: u16,
    /// The error, its place, and what to do about it.
    detail: String,
    /// Stable, for programs.
    code: String,
    /// The pause after which to retry, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
    /// More, by code.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    data: Value,
}

impl ApiError {
    /// Creates a failure that has only its code and message.
    pub(crate) fn new(code: &str, detail: impl Into<String>) -> Self {
        Self::from(Problem {
            code: code.to_owned(),
            detail: detail.into(),
            retry_after_ms: None,
            data: Value::Null,
        })
    }

    /// Adds data for programs.
    pub(crate) fn with(mut self, data: Value) -> Self {
        self.problem.data = data;
        self
    }

    /// Adds the pause after which to retry.
    pub(crate) fn retry_after(mut self, ms: u64) -> Self {
        self.problem.retry_after_ms = Some(ms);
        self
    }

    /// Returns the status of the answer.
    pub(crate) fn status(&self) -> StatusCode {
        status_of(&self.problem.code)
    }
}

impl From<Problem> for ApiError {
    fn from(problem: Problem) -> Self {
        Self {
            problem: Box::new(problem),
        }
    }
}

impl From<Box<Problem>> for ApiError {
    fn from(problem: Box<Problem>) -> Self {
        Self { problem }
    }
}

impl From<RuntimeError> for ApiError {
    fn from(error: RuntimeError) -> Self {
        crate::actions::session_actions::to_problem(&error).into()
    }
}

impl From<LogError> for ApiError {
    fn from(error: LogError) -> Self {
        RuntimeError::from(error).into()
    }
}

/// Returns the status of a code.
fn status_of(code: &str) -> StatusCode {
    match code {
        "bad_request" => StatusCode::BAD_REQUEST,
        "unauthenticated" | "bad_signature" | "stale_challenge" => StatusCode::UNAUTHORIZED,
        "denied" | "unknown_person" | "bad_origin" => StatusCode::FORBIDDEN,
        "no_session" | "no_blob" | "unknown_agent" | "not_found" => StatusCode::NOT_FOUND,
        "wrong_host" => StatusCode::MISDIRECTED_REQUEST,
        "method_not_allowed" => StatusCode::METHOD_NOT_ALLOWED,
        "slow_body" => StatusCode::REQUEST_TIMEOUT,
        "gone" => StatusCode::GONE,
        "too_large" => StatusCode::PAYLOAD_TOO_LARGE,
        "unsupported_media_type" => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "bad_range" => StatusCode::RANGE_NOT_SATISFIABLE,
        "bad_json" | "unknown_model" | "unknown_command" | "key_reused" => StatusCode::UNPROCESSABLE_ENTITY,
        "rate_limited" | "too_many" | "quota_usage" | "queue_full" => StatusCode::TOO_MANY_REQUESTS,
        "corrupt" | "newer" | "store" | "internal" => StatusCode::INTERNAL_SERVER_ERROR,
        "unreachable" => StatusCode::BAD_GATEWAY,
        "closing" | "timed_out" | "full" | "store_locked" | "store_lost" => StatusCode::SERVICE_UNAVAILABLE,
        "disk_full" | "quota_storage" => StatusCode::INSUFFICIENT_STORAGE,
        // The request cannot be done in the current state: refused, busy, exists, ambiguous, fenced,
        // unavailable, stale_epoch, …
        _ => StatusCode::CONFLICT,
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status = self.status();
        let Problem {
            code,
            detail,
            retry_after_ms,
            data,
        } = *self.problem;
        let body = ProblemBody {
            kind: format!("urn:agentx:problem:{code}"),
            title: title_of(&code),
            status: status.as_u16(),
            detail: shortened(detail),
            code,
            retry_after_ms,
            data,
        };
        let bytes = serde_json::to_vec(&body).unwrap_or_default();
        let mut response = (status, bytes).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(ms) = retry_after_ms {
            headers.insert(RETRY_AFTER, HeaderValue::from(ms.div_ceil(1000).max(1)));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl HandlerResponse for ApiError {
    fn describe(operation: &mut Operation, _: &mut SchemaGenerator) {
        operation.add_failures(&[409, 503]);
    }
}

fn title_of(code: &str) -> String {
    let mut words = code.replace('_', " ");
    if let Some(first) = words.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_has_words_and_a_status() {
        assert_eq!(title_of("no_session"), "No session");
        assert_eq!(status_of("no_session"), StatusCode::NOT_FOUND);
        assert_eq!(status_of("stale_epoch"), StatusCode::CONFLICT);
    }

    #[test]
    fn where_things_are_on_the_disk_is_not_told() {
        let failure = ApiError::from(LogError::Store {
            path: "/secret/place".into(),
            what: "broken".into(),
        });
        assert_eq!(failure.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert!(!failure.problem.detail.contains("secret"), "{failure:?}");
    }
}
