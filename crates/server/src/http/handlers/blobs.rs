//! The bytes of blobs, whole or in part, for those who may see a session that has them.

use std::sync::Arc;

use agentx_node_runtime::NodeRuntime;
use agentx_types::{BlobId, SessionId};
use axum::body::{Body, Bytes};
use axum::extract::FromRequestParts;
use axum::http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, IF_RANGE, RANGE,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use schemars::{JsonSchema, SchemaGenerator};
use serde::Deserialize;
use serde_json::json;

use crate::http::description::describe::{HandlerInput, HandlerResponse, Operation};
use crate::http::requests::extract::{PathId, QueryParams, TokenOrVisitor};
use crate::http::responses::describe_tag;
use crate::http::{ApiError, HandlerState};

/// The number of bytes that are read at once.
const PIECE: u64 = 256 << 10;

/// The session.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct BlobQuery {
    /// A session that has the blob and that the caller may see.
    session: SessionId,
}

/// The requested part of a blob, by the headers.
pub(crate) struct RequestedRange {
    range: Option<String>,
    /// The part is sent only if the blob still has this tag.
    if_range: Option<String>,
}

/// Bytes.
pub(crate) struct Bytestream(Response);

pub(crate) async fn get(
    app: HandlerState,
    TokenOrVisitor(caller): TokenOrVisitor,
    (PathId(id), wanted): (PathId, RequestedRange),
    QueryParams(query): QueryParams<BlobQuery>,
) -> Result<Bytestream, ApiError> {
    let blob = BlobId::new(id);
    let access = app.state.access(&caller, &query.session).await?;
    let size = access.runtime.blob_size(&query.session, &blob).await?;
    let tag = format!("\"{blob}\"");
    let is_same = wanted.if_range.as_deref().is_none_or(|asked| asked == tag);
    let part = match wanted.range.as_deref().filter(|_| is_same) {
        Some(range) => part_of(range, size),
        None => RangePart::Whole,
    };
    let (from, to, status) = match part {
        RangePart::Whole => (0, size, StatusCode::OK),
        RangePart::Range(from, to) => (from, to, StatusCode::PARTIAL_CONTENT),
        RangePart::Beyond => return Ok(Bytestream(bad_range(size))),
    };
    let mut response = (status, body(access.runtime, blob, from, to)).into_response();
    let headers = response.headers_mut();
    describe_bytes(headers, &tag, to - from);
    if status == StatusCode::PARTIAL_CONTENT {
        let range = format!("bytes {from}-{}/{size}", to.saturating_sub(1));
        insert(headers, CONTENT_RANGE, &range);
    }
    Ok(Bytestream(response))
}

fn describe_bytes(headers: &mut HeaderMap, tag: &str, length: u64) {
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    insert(headers, ETAG, tag);
}

fn insert(headers: &mut HeaderMap, name: axum::http::HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

fn bad_range(size: u64) -> Response {
    let failure =
        ApiError::new("bad_range", format!("the blob has {size} bytes")).with(json!({"bytes": size}));
    let mut response = failure.into_response();
    insert(response.headers_mut(), CONTENT_RANGE, &format!("bytes */{size}"));
    response
}

/// Returns the bytes as they are read, a piece at a time.
fn body(runtime: Arc<NodeRuntime>, blob: BlobId, from: u64, to: u64) -> Body {
    let pieces = stream::try_unfold((runtime, blob, from), move |(runtime, blob, at)| async move {
        if at >= to {
            return Ok(None);
        }
        let until = to.min(at + PIECE);
        let bytes = runtime
            .blob_part(&blob, at..until)
            .await
            .map_err(|error| std::io::Error::other(error.to_string()))?;
        if bytes.is_empty() {
            return Err(std::io::Error::other("the blob is shorter than it was"));
        }
        let next = at + bytes.len() as u64;
        Ok(Some((Bytes::from(bytes), (runtime, blob, next))))
    });
    Body::from_stream(pieces)
}

/// A part of a blob.
#[derive(Debug, PartialEq)]
enum RangePart {
    Whole,
    /// From this byte up to before that one.
    Range(u64, u64),
    /// A part beyond the end.
    Beyond,
}

/// Parses a `Range` header. An unreadable one, and one with several parts, means the whole blob.
fn part_of(range: &str, size: u64) -> RangePart {
    let Some((from, to)) = range
        .strip_prefix("bytes=")
        .and_then(|range| range.trim().split_once('-'))
    else {
        return RangePart::Whole;
    };
    match (from.parse::<u64>(), to.parse::<u64>()) {
        (Ok(from), Ok(to)) if from > to => RangePart::Whole,
        (Ok(from), Ok(to)) if from < size => RangePart::Range(from, size.min(to.saturating_add(1))),
        (Ok(from), Err(_)) if to.is_empty() && from < size => RangePart::Range(from, size),
        (Err(_), Ok(last)) if from.is_empty() && last > 0 && size > 0 => {
            RangePart::Range(size.saturating_sub(last), size)
        }
        (Ok(_), Ok(_)) => RangePart::Beyond,
        (Ok(_), Err(_)) if to.is_empty() => RangePart::Beyond,
        (Err(_), Ok(_)) if from.is_empty() => RangePart::Beyond,
        _ => RangePart::Whole,
    }
}

impl FromRequestParts<HandlerState> for (PathId, RequestedRange) {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &HandlerState) -> Result<Self, ApiError> {
        let id = PathId::from_request_parts(parts, app).await?;
        let text = |name| {
            let value = parts.headers.get(name)?;
            Some(value.to_str().unwrap_or_default().to_owned())
        };
        let wanted = RequestedRange {
            range: text(RANGE),
            if_range: text(IF_RANGE),
        };
        Ok((id, wanted))
    }
}

impl HandlerInput for (PathId, RequestedRange) {
    fn describe(operation: &mut Operation, schemas: &mut SchemaGenerator) {
        PathId::describe(operation, schemas);
        let what = "Which part: one range of bytes.";
        let schema = json!({"type": "string", "pattern": "^bytes=([0-9]+-[0-9]*|-[0-9]+)$"});
        operation.header("range", what, schema);
        operation.header(
            "if-range",
            "The part is wanted only if the whole has this tag.",
            json!({"type": "string"}),
        );
        operation.add_failures(&[416]);
    }
}

impl IntoResponse for Bytestream {
    fn into_response(self) -> Response {
        self.0
    }
}

impl HandlerResponse for Bytestream {
    fn describe(operation: &mut Operation, _: &mut SchemaGenerator) {
        let content = json!({"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}});
        operation.answer(200, "The whole blob.", content.clone());
        operation.answer(206, "The requested part.", content);
        describe_tag(operation);
        operation.answer_header(206, "Content-Range", "The requested range.");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_they_are_written() {
        let cases = [
            ("bytes=0-4", RangePart::Range(0, 5)),
            ("bytes=5-", RangePart::Range(5, 10)),
            ("bytes=-3", RangePart::Range(7, 10)),
            ("bytes=-30", RangePart::Range(0, 10)),
            ("bytes=9-900", RangePart::Range(9, 10)),
            ("bytes=10-", RangePart::Beyond),
            ("bytes=10-12", RangePart::Beyond),
            ("bytes=-0", RangePart::Beyond),
            ("bytes=4-2", RangePart::Whole),
            ("bytes=0-1,3-4", RangePart::Whole),
            ("bytes=a-b", RangePart::Whole),
            ("bytes=-", RangePart::Whole),
            ("lines=1-2", RangePart::Whole),
        ];
        for (range, part) in cases {
            assert_eq!(part_of(range, 10), part, "{range}");
        }
        assert_eq!(part_of("bytes=-1", 0), RangePart::Beyond);
        assert_eq!(part_of("bytes=0-", 0), RangePart::Beyond);
    }
}
