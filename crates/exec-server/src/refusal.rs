//! The answer to a request that is not served: an HTTP status, a code for programs, and words.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// The reason why a request is not served. Nothing was done.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ExecRefusal {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    /// Words for people, where OpenHands' clients read them.
    pub(crate) detail: String,
}

impl ExecRefusal {
    pub(crate) fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        Self {
            status,
            code,
            detail: detail.into(),
        }
    }

    /// A request that is not valid.
    pub(crate) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", detail)
    }
}

impl IntoResponse for ExecRefusal {
    fn into_response(self) -> Response {
        let body = json!({ "detail": self.detail, "code": self.code });
        (self.status, Json(body)).into_response()
    }
}
