//! Middleware of all routes: limits, conditional requests, compression, CORS, and common headers.

use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, HttpBody};
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG, IF_NONE_MATCH,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use tower_http::compression::{CompressionLayer, Predicate};
use tower_http::cors::{AllowOrigin, CorsLayer};

use super::openapi::NoCompression;
use super::{ApiError, HandlerState};

/// The time within which an answer has to begin. Actions that have begun in a session continue.
const ANSWER: Duration = Duration::from_secs(60);
/// Answers shorter than this are not compressed.
const WORTH_BYTES: u64 = 1024;

/// Wraps the router in all layers.
pub(crate) fn with_layers(router: Router<HandlerState>, app: &HandlerState) -> Router<HandlerState> {
    let limit = app.state.options().limits.body_bytes;
    router
        .layer(DefaultBodyLimit::max(limit))
        .layer(middleware::from_fn(conditional))
        .layer(middleware::from_fn_with_state(app.clone(), bounded))
        .layer(CompressionLayer::new().compress_when(CompressJson))
        .layer(cors(app))
        .layer(middleware::from_fn(headers))
}

/// Counts the request, and ends it if it takes too long.
async fn bounded(State(app): State<HandlerState>, request: Request, next: Next) -> Response {
    app.requests.fetch_add(1, Ordering::Relaxed);
    if app.state.shutdown().is_cancelled() {
        let ends = "the server is shutting down; try again in a moment";
        return ApiError::new("closing", ends).retry_after(1000).into_response();
    }
    match tokio::time::timeout(ANSWER, next.run(request)).await {
        Ok(response) => response,
        Err(_) => ApiError::new("timed_out", "the answer took too long").into_response(),
    }
}

/// Answers with `304 Not Modified` if the client already has the representation.
async fn conditional(request: Request, next: Next) -> Response {
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let known = request.headers().get(IF_NONE_MATCH).filter(|_| is_read).cloned();
    let mut response = next.run(request).await;
    let tag = response.headers().get(ETAG);
    let is_known = known
        .zip(tag)
        .is_some_and(|(known, tag)| has_tag(known.as_bytes(), tag.as_bytes()));
    if is_known && response.status() == StatusCode::OK {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response.headers_mut().remove(CONTENT_LENGTH);
        response.headers_mut().remove(CONTENT_ENCODING);
        response.headers_mut().remove(CONTENT_TYPE);
        *response.body_mut() = Body::empty();
    }
    response
}

/// Returns whether one of the tags is this one; whether they are weak does not matter here.
fn has_tag(known: &[u8], tag: &[u8]) -> bool {
    fn strong(tag: &[u8]) -> &[u8] {
        tag.strip_prefix(b"W/").unwrap_or(tag)
    }
    let mut tags = known.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    tags.any(|known| known == b"*" || strong(known) == strong(tag))
}

/// Adds the headers that all answers have, unless the handler sets them.
async fn headers(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers
        .entry(CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    response
}

/// Allows pages of the configured origins, and the server's own.
fn cors(app: &HandlerState) -> CorsLayer {
    let options = app.state.options();
    let own = app.state.auth().origin().to_owned();
    let origins = options.allow_origins.iter().chain([&own]);
    let origins: Vec<HeaderValue> = origins.filter_map(|origin| origin.parse().ok()).collect();
    let sent = [
        "authorization",
        "content-type",
        "agentx-client",
        "idempotency-key",
        "last-event-id",
        "if-none-match",
        "range",
        "mcp-protocol-version",
        "mcp-method",
        "mcp-name",
        "mcp-session-id",
    ];
    let seen = [
        "etag",
        "retry-after",
        "location",
        "content-range",
        "www-authenticate",
        "mcp-session-id",
    ];
    CorsLayer::new()
        .allow_origin(AllowOrigin::list(origins))
        .allow_methods([Method::GET, Method::POST, Method::PATCH, Method::DELETE])
        .allow_headers(sent.map(HeaderName::from_static))
        .expose_headers(seen.map(HeaderName::from_static))
        .max_age(Duration::from_secs(3600))
}

/// Compresses JSON that is not short. Compression would hold back streams, and a part of a blob is a part of
/// its bytes.
#[derive(Clone, Copy)]
struct CompressJson;

impl Predicate for CompressJson {
    fn should_compress<B: HttpBody>(&self, response: &axum::http::Response<B>) -> bool {
        let kind = response.headers().get(CONTENT_TYPE);
        let is_json = kind.is_some_and(|kind| {
            let kind = kind.as_bytes();
            kind.starts_with(b"application/json") || kind.starts_with(b"application/x-ndjson")
        });
        is_json
            && response.extensions().get::<NoCompression>().is_none()
            && response
                .body()
                .size_hint()
                .exact()
                .is_none_or(|bytes| bytes >= WORTH_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_found_in_lists() {
        assert!(has_tag(b"\"a\", W/\"b\"", b"W/\"b\""));
        assert!(has_tag(b"\"b\"", b"W/\"b\""));
        assert!(has_tag(b"*", b"\"b\""));
        assert!(!has_tag(b"\"a\"", b"\"b\"") && !has_tag(b"", b"\"b\""));
    }
}
