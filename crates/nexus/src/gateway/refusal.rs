//! Refusals of the API in NEXUS's form: `{detail}`, with the code of the API beside it.

use axum::extract::rejection::QueryRejection;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::json;

/// A request that was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ApiRefusal {
    pub(crate) status: StatusCode,
    pub(crate) code: String,
    pub(crate) detail: String,
    retry_after_ms: Option<u64>,
}

/// The fields of a problem that are passed on.
#[derive(Deserialize)]
struct ProblemFields {
    code: String,
    detail: String,
    #[serde(default)]
    retry_after_ms: Option<u64>,
}

impl ApiRefusal {
    pub(crate) fn new(status: StatusCode, code: &str, detail: impl Into<String>) -> Self {
        Self {
            status,
            code: code.to_owned(),
            detail: detail.into(),
            retry_after_ms: None,
        }
    }

    /// Returns the refusal of a request with a mistake.
    pub(crate) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", detail)
    }

    /// Returns the refusal of a visitor, who has to prove a key.
    pub(crate) fn of_visitor() -> Self {
        let what = "visitors have no conversation, settings or texts here; prove your key and send its token";
        Self::new(StatusCode::FORBIDDEN, "denied", what)
    }

    /// Reads the body of a problem.
    pub(crate) fn from_problem(status: StatusCode, body: &[u8]) -> Self {
        match serde_json::from_slice(body) {
            Ok(ProblemFields {
                code,
                detail,
                retry_after_ms,
            }) => Self {
                status,
                code,
                detail,
                retry_after_ms,
            },
            Err(_) => Self::new(status, "refused", format!("the request was refused ({status})")),
        }
    }
}

impl From<QueryRejection> for ApiRefusal {
    fn from(rejection: QueryRejection) -> Self {
        Self::bad_request(rejection.body_text())
    }
}

impl IntoResponse for ApiRefusal {
    fn into_response(self) -> Response {
        let body = json!({"detail": self.detail, "code": self.code}).to_string();
        let mut response = (self.status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(ms) = self.retry_after_ms {
            headers.insert(RETRY_AFTER, HeaderValue::from(ms.div_ceil(1000).max(1)));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
