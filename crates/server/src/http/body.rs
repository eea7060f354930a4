//! Bodies of JSON: how long they may be and take, how many are held at once, and where they are wrong.

use agentx_types::OwnerId;
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
use crate::turns::{Queue, Turn};

/// Where bodies are read of people who have not said who they are.
const OPEN: &str = "/v1/auth/";
/// How long such a body may be: whoever connects could fill the memory with larger ones.
const OPEN_BYTES: usize = 4 << 10;

/// How much of a body is read at once. The rest of a longer one is read in the turn of the person who sends it, so that many unfinished
/// bodies of one person do not fill the memory.
const AT_ONCE_BYTES: usize = 64 << 10;

/// The person who sends a request, for whoever reads its body.
#[derive(Clone)]
pub(crate) struct Sender(pub(crate) OwnerId);

/// A body that was read, and the turn in which that was done. It lasts until the body is understood.
struct Read {
    is_json: bool,
    bytes: Bytes,
    _turn: Turn,
}

/// A body of JSON.
pub(crate) struct Json<T>(pub(crate) T);

/// A body of JSON that may be left out.
pub(crate) struct OptionalJson<T>(pub(crate) T);

async fn body(request: Request, front: &Shared) -> Result<Read, Failure> {
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
    let sender = request.extensions().get::<Sender>();
    let queue = sender.map(|Sender(person)| front.state.bodies().queue(person));
    let read = tokio::time::timeout(
        front.state.options().limits.body,
        read(request.into_body(), limit, queue),
    )
    .await;
    let late = |_| Failure::new("slow_body", "the body did not come in time");
    let (bytes, _turn) = read.map_err(late)??;
    Ok(Read {
        is_json,
        bytes,
        _turn,
    })
}

/// Reads a body to its end, and no further than its limit. A body of more than [`AT_ONCE_BYTES`] waits for a turn in the queue, if there is one.
async fn read(body: Body, limit: usize, queue: Option<Queue>) -> Result<(Bytes, Turn), Failure> {
    let mut pieces = body.into_data_stream();
    let mut bytes = Vec::new();
    let mut waits = queue;
    let mut turn = Turn::default();
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|error| Failure::new("bad_request", error.to_string()))?;
        if bytes.len() + piece.len() > limit {
            return Err(too_large(limit));
        }
        bytes.extend_from_slice(&piece);
        if bytes.len() > AT_ONCE_BYTES
            && let Some(queue) = waits.take()
        {
            turn = queue.take().await;
        }
    }
    Ok((bytes.into(), turn))
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
        let read = body(request, front).await?;
        parse(read.is_json, &read.bytes).map(Self)
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
        let read = body(request, front).await?;
        if read.bytes.is_empty() {
            return Ok(Self(T::default()));
        }
        parse(read.is_json, &read.bytes).map(Self)
    }
}

impl<T: JsonSchema> Input for OptionalJson<T> {
    fn describe(operation: &mut Operation, schemas: &mut SchemaGenerator) {
        operation.json_body::<T>(schemas, false);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::{FutureExt as _, stream};

    use super::*;
    use crate::turns::Turns;

    const PIECE: usize = 16 << 10;

    /// A body of many pieces, and how many of them were taken.
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
        let turns = Turns::new(8);
        let ann = OwnerId::new("own_ann");
        let first = turns.take(&ann).await;
        let (large, taken) = counted(64);
        let mut waiting = Box::pin(read(large, 64 * PIECE, Some(turns.queue(&ann))));
        assert!(waiting.as_mut().now_or_never().is_none());
        assert_eq!(taken.load(Ordering::Relaxed), AT_ONCE_BYTES / PIECE + 1);
        let (small, _) = counted(AT_ONCE_BYTES / PIECE);
        let read_small = read(small, 64 * PIECE, Some(turns.queue(&ann)));
        assert!(read_small.now_or_never().is_some(), "a small one does not wait");
        let (of_bob, _) = counted(64);
        let bob = turns.queue(&OwnerId::new("own_bob"));
        assert!(read(of_bob, 64 * PIECE, Some(bob)).now_or_never().is_some());
        drop(first);
        let (bytes, _turn) = waiting.await.ok().unwrap();
        assert_eq!(bytes.len(), 64 * PIECE);
    }
}
