//! Bodies of requests: JSON within a bound of bytes and of time, read only after the caller is known.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::StatusCode;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use crate::gateway::refusal::ApiRefusal;

/// The largest body, in bytes. The longest ones have a person's texts.
pub(super) const BODY_BYTES: usize = 256 << 10;

/// Reads the body of a request.
pub(super) async fn json_body<T: DeserializeOwned>(body: Body, patience: Duration) -> Result<T, ApiRefusal> {
    let bytes = timeout(patience, to_bytes(body, BODY_BYTES)).await;
    let late = "the body did not arrive in time";
    let bytes = bytes.map_err(|_| ApiRefusal::new(StatusCode::REQUEST_TIMEOUT, "slow_body", late))?;
    let large = format!("a body has at most {BODY_BYTES} bytes here");
    let bytes = bytes.map_err(|_| ApiRefusal::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", large))?;
    serde_json::from_slice(&bytes).map_err(|error| {
        let what = format!("the body: {error}");
        ApiRefusal::new(StatusCode::UNPROCESSABLE_ENTITY, "bad_json", what)
    })
}
