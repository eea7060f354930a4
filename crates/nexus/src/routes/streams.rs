//! `GET /stream/{public_key}`: says whether the client is a visitor, and stays open. On request it also has
//! all events of the conversation.

use std::convert::Infallible;
use std::time::Duration;

use agentx_server::CountedConnection;
use axum::body::{Body, Bytes};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use serde::Deserialize;
use tokio::time::{Interval, MissedTickBehavior, interval_at};

use super::paths::check_path;
use crate::frames::ui_frames::NexusFrame;
use crate::gateway::Gateway;
use crate::gateway::caller::NexusCaller;
use crate::gateway::event_stream::{NexusEventStream, StreamNews};
use crate::gateway::refusal::ApiRefusal;

/// The comment that keeps a stream open.
pub(super) const KEEPALIVE: &str = ": keepalive\n\n";

/// The query of the stream.
#[derive(Deserialize)]
pub(super) struct StreamQuery {
    /// Whether the stream has the events of the conversation, too. NEXUS's clients get those from `/chat`.
    #[serde(default)]
    follow: bool,
    /// The place after which to begin; with `Last-Event-ID`, that one counts.
    after: Option<String>,
}

/// An open stream.
struct LongStream {
    caller: NexusCaller,
    connection: String,
    events: Option<NexusEventStream>,
    heartbeat: Interval,
    has_ended: bool,
    _counted: CountedConnection,
}

pub(super) async fn stream(
    State(gateway): State<Gateway>,
    Path(public_key): Path<String>,
    query: Result<Query<StreamQuery>, QueryRejection>,
    parts: Parts,
) -> Result<Response, ApiRefusal> {
    let caller = gateway.caller(&parts);
    let person = caller.person().await?;
    check_path(&public_key, &person, None)?;
    let Query(query) = query?;
    let counted = caller.count()?;
    let events = if query.follow {
        let (session, head) = gateway.conversations().open_at_head(&caller, &person).await?;
        let after = place(&parts.headers, query.after).unwrap_or_else(|| head.to_string());
        Some(caller.follow(&session, &person.person, &after).await?)
    } else {
        None
    };
    let connection = gateway.frame_id("connect");
    let first = connection_state(&connection, person.visitor);
    let long = LongStream {
        heartbeat: heartbeat(gateway.server().options().limits.heartbeat),
        caller,
        connection,
        events,
        has_ended: false,
        _counted: counted,
    };
    let first = stream::once(async { Ok::<_, Infallible>(Bytes::from(first)) });
    let rest = stream::unfold(long, |mut long| async move {
        let piece = long.next_piece().await?;
        Some((Ok(piece), long))
    });
    let pieces = futures_util::StreamExt::chain(first, rest);
    Ok(event_stream(Body::from_stream(pieces)))
}

/// Returns the response of a stream of server-sent events.
pub(super) fn event_stream(body: Body) -> Response {
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Proxies that buffer would break the stream.
    headers.insert(
        HeaderName::from_static("x-accel-buffering"),
        HeaderValue::from_static("no"),
    );
    response
}

/// Returns the first event. NEXUS's code sends the bare payload, and its page about the protocol a whole
/// frame; readers of either find their field.
fn connection_state(connection: &str, visitor: bool) -> String {
    let frame = NexusFrame::connection_state(connection, visitor);
    let mut data = serde_json::to_value(&frame).unwrap_or_default();
    data["visitor"] = visitor.into();
    format!("event: connection_state\ndata: {data}\n\n")
}

/// Returns the place of the last event that the client has.
fn place(headers: &HeaderMap, after: Option<String>) -> Option<String> {
    let last = headers.get("last-event-id").and_then(|last| last.to_str().ok());
    last.map(str::to_owned).or(after)
}

pub(super) fn heartbeat(every: Duration) -> Interval {
    let every = every.max(Duration::from_millis(1));
    let mut heartbeat = interval_at(tokio::time::Instant::now() + every, every);
    heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    heartbeat
}

/// Returns the next news of a stream that may not be open; without one, never.
pub(super) async fn news_of(events: Option<&mut NexusEventStream>) -> StreamNews {
    match events {
        Some(events) => events.next_news().await,
        None => std::future::pending().await,
    }
}

impl LongStream {
    /// Returns the next piece of the stream; `None` at its end.
    async fn next_piece(&mut self) -> Option<Bytes> {
        if self.has_ended {
            return None;
        }
        let state = self.caller.state().clone();
        loop {
            tokio::select! {
                () = state.shutdown().cancelled() => return Some(self.end("the server ends")),
                _ = self.heartbeat.tick() => {
                    return Some(match self.caller.check_trust() {
                        Ok(()) => KEEPALIVE.into(),
                        Err(what) => self.end(&what),
                    });
                }
                news = news_of(self.events.as_mut()) => match news {
                    StreamNews::Alive | StreamNews::TakenBack(_) => {}
                    StreamNews::Over(reason) => return Some(self.end(&reason)),
                    StreamNews::Frame(frame) => return Some(frame.to_sse().into()),
                },
            }
        }
    }

    fn end(&mut self, reason: &str) -> Bytes {
        self.has_ended = true;
        NexusFrame::error(&self.connection, reason, "closed")
            .to_sse()
            .into()
    }
}
