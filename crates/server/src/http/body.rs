//! Bodies of JSON: how long they may be and take, and where they are wrong.

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Request};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use futures_util::StreamExt as _;
use schemars::{JsonSchema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde_json::json;

use super::describe::{Input, Operation};
use super::{Failure, Shared};
use crate::sizes::shortened;

/// Where bodies are read of people who have not said who they are.
const OPEN: &str = "/v1/auth/";
/// How long such a body may be: whoever connects could fill the memory with larger ones.
const OPEN_BYTES: usize = 4 << 10;

/// A body of JSON.
pub(crate) struct Json<T>(pub(crate) T);

/// A body of JSON that may be left out.
pub(crate) struct OptionalJson<T>(pub(crate) T);

async fn body(request: Request, front: &Shared) -> Result<(bool, Bytes), Failure> {
    let kind = request.headers().get(CONTENT_TYPE);
    let is_json = kind.is_some_and(|kind| is_json(kind.as_bytes()));
    let limit = if request.uri().path().starts_with(OPEN) {
        OPEN_BYTES
    } else {
        front.state.options().limits.body_bytes
    };
    let said = request.headers().get(CONTENT_LENGTH);
    let said = said.and_then(|said| said.to_str().ok()?.parse::<usize>().ok());
    if said.is_some_and(|said| said > limit) {
        // Nothing of it has to come for that.
        return Err(too_large(limit));
    }
    let read = tokio::time::timeout(
        front.state.options().limits.body,
        read(request.into_body(), limit),
    )
    .await;
    let late = |_| Failure::new("slow_body", "the body did not come in time");
    Ok((is_json, read.map_err(late)??))
}

/// Reads a body to its end, and no further than its limit.
async fn read(body: Body, limit: usize) -> Result<Bytes, Failure> {
    let mut pieces = body.into_data_stream();
    let mut bytes = Vec::new();
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|error| Failure::new("bad_request", error.to_string()))?;
        if bytes.len() + piece.len() > limit {
            return Err(too_large(limit));
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes.into())
}

fn too_large(limit: usize) -> Failure {
    Failure::new("too_large", format!("a body has at most {limit} bytes here")).with(json!({"limit": limit}))
}

fn is_json(kind: &[u8]) -> bool {
    let essence = kind.split(|byte| *byte == b';').next().unwrap_or_default();
    essence.trim_ascii().eq_ignore_ascii_case(b"application/json")
}

/// Reads JSON, and says where it is wrong.
fn parse<T: DeserializeOwned>(is_json: bool, bytes: &[u8]) -> Result<T, Failure> {
    if !is_json {
        return Err(Failure::new(
            "unsupported_media_type",
            "the body has to be JSON, and said to be: Content-Type: application/json",
        ));
    }
    // A list of values in the order of the fields would be taken for them.
    if bytes.trim_ascii_start().first().is_some_and(|byte| *byte == b'[') {
        return Err(Failure::new(
            "bad_json",
            "the body has to be an object, and is a list",
        ));
    }
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = shortened(error.path().to_string());
        let at = json!({"path": path, "line": error.inner().line(), "column": error.inner().column()});
        let place = if path == "." {
            String::new()
        } else {
            format!("{path}: ")
        };
        Failure::new("bad_json", format!("{place}{}", error.inner())).with(at)
    })?;
    let end = reader.end();
    end.map_err(|error| Failure::new("bad_json", error.to_string()))?;
    Ok(value)
}

impl<T: DeserializeOwned> FromRequest<Shared> for Json<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, front: &Shared) -> Result<Self, Failure> {
        let (is_json, bytes) = body(request, front).await?;
        parse(is_json, &bytes).map(Self)
    }
}

impl<T: JsonSchema> Input for Json<T> {
    fn describe(operation: &mut Operation, schemas: &mut SchemaGenerator) {
        operation.json_body::<T>(schemas, true);
    }
}

impl<T: DeserializeOwned + Default> FromRequest<Shared> for OptionalJson<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, front: &Shared) -> Result<Self, Failure> {
        let (is_json, bytes) = body(request, front).await?;
        if bytes.is_empty() {
            return Ok(Self(T::default()));
        }
        parse(is_json, &bytes).map(Self)
    }
}

impl<T: JsonSchema> Input for OptionalJson<T> {
    fn describe(operation: &mut Operation, schemas: &mut SchemaGenerator) {
        operation.json_body::<T>(schemas, false);
    }
}
