//! JSON bodies: their size and time limits, how many are held at once, and errors with their position.

use std::time::Duration;

use agentx_types::OwnerId;
use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::request::Parts;
use futures_util::StreamExt as _;
use schemars::{JsonSchema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::error::Elapsed;
use tokio::time::{Instant, timeout, timeout_at};

use crate::connections::connection_limits::address_of;
use crate::http::description::describe::{HandlerInput, Operation};
use crate::http::{ApiError, HandlerState};
use crate::known_fields::check_fields;
use crate::limits::fair_semaphore::{FairPermit, FairQueue};
use crate::limits::size_limits::shortened;

/// The path prefix of requests that unauthenticated callers may send a body to.
const OPEN: &str = "/v1/auth/";
/// The largest size of such a body: without a limit, any client could fill the memory.
const OPEN_BYTES: usize = 4 << 10;
/// The path prefix of deliveries of webhooks, whose senders only a signature over the body shows.
const SIGNED: &str = "/v1/hooks/";
/// The largest size of such a body.
const SIGNED_BYTES: usize = 256 << 10;

/// The number of bytes that are read without a permit. The rest of a longer body waits for the permit of its
/// sender, so that many unfinished bodies of one person do not fill the memory.
const AT_ONCE_BYTES: usize = 64 << 10;

/// The pause after which a client may retry whose body got no permit.
const TURN_PAUSE_MS: u64 = 5_000;

/// The person who sends a request, for the code that reads its body.
#[derive(Clone)]
pub(crate) struct BodyOwner(pub(crate) OwnerId);

/// A body that was read, and its permit, which lasts until the body is parsed.
struct BodyRead {
    is_json: bool,
    bytes: Bytes,
    _turn: FairPermit,
}

pub(crate) struct JsonBody<T>(pub(crate) T);

/// A body of JSON whose fields are settings: one that does not exist is refused by its name.
pub(crate) struct SettingsBody<T>(pub(crate) T);
/// The bytes of a body of any type, of which a signature is checked.
pub(crate) struct RawBody(pub(crate) Bytes);

/// A body of JSON that may be left out.
pub(crate) struct OptionalJson<T>(pub(crate) T);

/// A request whose body says nothing and is not read. One that announces more bytes than a body may have
/// there is refused, as it is where bodies are read.
pub(crate) struct UnreadBody;

async fn body(request: Request, app: &HandlerState) -> Result<BodyRead, ApiError> {
    let kind = request.headers().get(CONTENT_TYPE);
    let is_json = kind.is_some_and(|kind| is_json(kind.as_bytes()));
    let limit = announced(request.uri().path(), request.headers(), app)?;
    let turn = BodyTurn::of(&request, app);
    let (bytes, _turn) = read(request.into_body(), limit, turn).await?;
    Ok(BodyRead {
        is_json,
        bytes,
        _turn,
    })
}

/// Returns the largest size of a body at this path, or an error if the head announces a larger one: this is
/// known before the body arrives.
fn announced(path: &str, headers: &HeaderMap, app: &HandlerState) -> Result<usize, ApiError> {
    let limit = if path.starts_with(OPEN) {
        OPEN_BYTES
    } else if path.starts_with(SIGNED) {
        SIGNED_BYTES
    } else {
        app.state.options().limits.body_bytes
    };
    match content_length(headers).filter(|length| *length > limit) {
        Some(_) => Err(too_large(limit)),
        None => Ok(limit),
    }
}

fn content_length(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// The wait of a long body for its permit.
struct BodyTurn {
    queue: Option<FairQueue>,
    /// The number of bytes that are read without a permit. With 0, nothing is read before it is there.
    at_once: usize,
    /// The time in which the client has to send the body, and the longest wait for the permit.
    patience: Duration,
}

impl BodyTurn {
    fn of(request: &Request, app: &HandlerState) -> Self {
        let permits = app.state.body_turns();
        let (queue, at_once) = if request.uri().path().starts_with(SIGNED) {
            let address = OwnerId::new(address_of(request.extensions()));
            let length = content_length(request.headers());
            let is_short = length.is_some_and(|length| length <= OPEN_BYTES);
            let at_once = if is_short { OPEN_BYTES } else { 0 };
            (Some(permits.deliveries.queue(&address)), at_once)
        } else {
            let owner = request.extensions().get::<BodyOwner>();
            let queue = owner.map(|BodyOwner(person)| permits.people.queue(person));
            (queue, AT_ONCE_BYTES)
        };
        Self {
            queue,
            at_once,
            patience: app.state.options().limits.body,
        }
    }
}

/// Reads a body to its end, and no further than its limit. A longer one waits for its turn, if there is a
/// queue. The time of that wait does not count as the client's.
async fn read(body: Body, limit: usize, wait: BodyTurn) -> Result<(Bytes, FairPermit), ApiError> {
    let BodyTurn {
        queue,
        at_once,
        patience,
    } = wait;
    let mut pieces = body.into_data_stream();
    let mut bytes = Vec::new();
    let mut waits = queue;
    let mut turn = FairPermit::default();
    if at_once == 0
        && let Some(queue) = waits.take()
    {
        turn = timeout(patience, queue.take()).await.map_err(no_turn)?;
    }
    let mut until = Instant::now() + patience;
    while let Some(piece) = timeout_at(until, pieces.next()).await.map_err(late)? {
        let piece = piece.map_err(|error| ApiError::new("bad_request", error.to_string()))?;
        if bytes.len() + piece.len() > limit {
            return Err(too_large(limit));
        }
        bytes.extend_from_slice(&piece);
        if bytes.len() > at_once
            && let Some(queue) = waits.take()
        {
            let begin = Instant::now();
            turn = timeout(patience, queue.take()).await.map_err(no_turn)?;
            until += begin.elapsed();
        }
    }
    Ok((bytes.into(), turn))
}

/// Returns the error for a client that sends too slowly.
fn late(_: Elapsed) -> ApiError {
    ApiError::new("slow_body", "the body did not arrive in time")
}

/// Returns the error for a body that gets no permit in time.
fn no_turn(_: Elapsed) -> ApiError {
    let what = "the server is busy with other large bodies; send this one again in a moment";
    ApiError::new("timed_out", what).retry_after(TURN_PAUSE_MS)
}

fn too_large(limit: usize) -> ApiError {
    ApiError::new("too_large", format!("a body has at most {limit} bytes here")).with(json!({"limit": limit}))
}

fn is_json(kind: &[u8]) -> bool {
    let essence = kind.split(|byte| *byte == b';').next().unwrap_or_default();
    essence.trim_ascii().eq_ignore_ascii_case(b"application/json")
}

/// Parses JSON; an error names the position.
fn parse<T: DeserializeOwned>(is_json: bool, bytes: &[u8]) -> Result<T, ApiError> {
    if !is_json {
        return Err(ApiError::new(
            "unsupported_media_type",
            "the body must be JSON, with Content-Type: application/json",
        ));
    }
    // serde would accept a list of values in the order of the fields.
    if bytes.trim_ascii_start().first().is_some_and(|byte| *byte == b'[') {
        return Err(ApiError::new(
            "bad_json",
            "the body must be an object, not a list",
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
        ApiError::new("bad_json", format!("{place}{}", error.inner())).with(at)
    })?;
    let end = reader.end();
    end.map_err(|error| ApiError::new("bad_json", error.to_string()))?;
    Ok(value)
}

impl<T: DeserializeOwned> FromRequest<HandlerState> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &HandlerState) -> Result<Self, ApiError> {
        let read = body(request, app).await?;
        parse(read.is_json, &read.bytes).map(Self)
    }
}

/// Parses JSON, and refuses fields that its type does not have.
fn parse_settings<T: DeserializeOwned + JsonSchema>(is_json: bool, bytes: &[u8]) -> Result<T, ApiError> {
    let value = parse(is_json, bytes)?;
    let sent: Value = parse(is_json, bytes)?;
    check_fields::<T>(&sent).map_err(|unknown| {
        ApiError::new("bad_request", unknown.to_string()).with(json!({"path": unknown.place()}))
    })?;
    Ok(value)
}

impl<T: DeserializeOwned + JsonSchema> FromRequest<HandlerState> for SettingsBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &HandlerState) -> Result<Self, ApiError> {
        let read = body(request, app).await?;
        parse_settings(read.is_json, &read.bytes).map(Self)
    }
}

impl<T: JsonSchema> HandlerInput for SettingsBody<T> {
    fn describe(operation: &mut Operation, schemas: &mut SchemaGenerator) {
        operation.json_body::<T>(schemas, true);
        operation.refuse_unknown_fields();
    }
}

impl<T: JsonSchema> HandlerInput for JsonBody<T> {
    fn describe(operation: &mut Operation, schemas: &mut SchemaGenerator) {
        operation.json_body::<T>(schemas, true);
    }
}

impl FromRequest<HandlerState> for RawBody {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &HandlerState) -> Result<Self, ApiError> {
        Ok(Self(body(request, app).await?.bytes))
    }
}

impl HandlerInput for RawBody {
    fn describe(operation: &mut Operation, _: &mut SchemaGenerator) {
        operation.body = Some(json!({"required": true, "content": {"application/json": {"schema": {}}}}));
        operation.add_failures(&[400, 408, 413]);
    }
}

impl<T: DeserializeOwned + Default> FromRequest<HandlerState> for OptionalJson<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &HandlerState) -> Result<Self, ApiError> {
        let read = body(request, app).await?;
        if read.bytes.is_empty() {
            return Ok(Self(T::default()));
        }
        parse(read.is_json, &read.bytes).map(Self)
    }
}

impl<T: JsonSchema> HandlerInput for OptionalJson<T> {
    fn describe(operation: &mut Operation, schemas: &mut SchemaGenerator) {
        operation.json_body::<T>(schemas, false);
    }
}

impl FromRequestParts<HandlerState> for UnreadBody {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &HandlerState) -> Result<Self, ApiError> {
        announced(parts.uri.path(), &parts.headers, app).map(|_| Self)
    }
}

impl HandlerInput for UnreadBody {
    fn describe(operation: &mut Operation, _: &mut SchemaGenerator) {
        operation.add_failures(&[413]);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use axum::http::StatusCode;
    use axum::http::header::RETRY_AFTER;
    use axum::response::IntoResponse as _;
    use futures_util::{FutureExt as _, stream};

    use super::*;
    use crate::limits::fair_semaphore::FairSemaphore;

    const PIECE: usize = 16 << 10;
    const PATIENCE: Duration = Duration::from_secs(30);

    fn waits(queue: FairQueue) -> BodyTurn {
        BodyTurn {
            queue: Some(queue),
            at_once: AT_ONCE_BYTES,
            patience: PATIENCE,
        }
    }

    /// Returns a body of many pieces, and the number of pieces that were taken.
    fn counted(many: usize) -> (Body, Arc<AtomicUsize>) {
        let taken = Arc::new(AtomicUsize::new(0));
        let count = taken.clone();
        let pieces = stream::iter(0..many).map(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
            Ok::<_, std::io::Error>(Bytes::from(vec![b' '; PIECE]))
        });
        (Body::from_stream(pieces), taken)
    }

    #[tokio::test]
    async fn a_person_has_one_large_body_read_at_a_time() {
        let turns = FairSemaphore::new(8);
        let ann = OwnerId::new("own_ann");
        let first = turns.take(&ann).await;
        let (large, taken) = counted(64);
        let mut waiting = Box::pin(read(large, 64 * PIECE, waits(turns.queue(&ann))));
        assert!(waiting.as_mut().now_or_never().is_none());
        assert_eq!(taken.load(Ordering::Relaxed), AT_ONCE_BYTES / PIECE + 1);
        let (small, _) = counted(AT_ONCE_BYTES / PIECE);
        let read_small = read(small, 64 * PIECE, waits(turns.queue(&ann)));
        assert!(read_small.now_or_never().is_some(), "a small one does not wait");
        let (of_bob, _) = counted(64);
        let bob = turns.queue(&OwnerId::new("own_bob"));
        assert!(read(of_bob, 64 * PIECE, waits(bob)).now_or_never().is_some());
        drop(first);
        let (bytes, _turn) = waiting.await.ok().unwrap();
        assert_eq!(bytes.len(), 64 * PIECE);
    }

    /// The clock is paused while tasks have work and advanced when all are idle: the test never really waits.
    #[tokio::test(start_paused = true)]
    async fn a_body_that_gets_no_turn_is_answered_as_busy_and_one_that_does_not_come_as_slow() {
        let turns = FairSemaphore::new(8);
        let ann = OwnerId::new("own_ann");
        let first = turns.take(&ann).await;
        let queue = || turns.queue(&ann);
        let (large, _) = counted(64);
        let busy = read(large, 64 * PIECE, waits(queue())).await.err().unwrap();
        assert_eq!(busy.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert!(busy.into_response().headers().contains_key(RETRY_AFTER));

        let never = Body::from_stream(stream::pending::<std::io::Result<Bytes>>());
        let slow = read(never, 64 * PIECE, waits(queue())).await.err().unwrap();
        assert_eq!(slow.status(), StatusCode::REQUEST_TIMEOUT);

        // One that waited for its turn has as long as any other to come.
        let (beginning, _) = counted(AT_ONCE_BYTES / PIECE + 1);
        let soon = PATIENCE - Duration::from_secs(1);
        let rest = stream::once(async move {
            tokio::time::advance(soon).await;
            Ok(Bytes::from(vec![b' '; PIECE]))
        });
        let body = Body::from_stream(beginning.into_data_stream().chain(rest));
        let late = read(body, 64 * PIECE, waits(queue()));
        let free = async {
            tokio::time::advance(soon).await;
            drop(first);
        };
        let (read, ()) = tokio::join!(late, free);
        assert_eq!(read.ok().unwrap().0.len(), AT_ONCE_BYTES + 2 * PIECE);
    }
}
