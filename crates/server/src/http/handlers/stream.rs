//! Events as a stream of server-sent events, for networks that break sockets: first the history, then live
//! events, without gaps or duplicates. A client that was cut off resumes with `Last-Event-ID`.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use agentx_runtime::EventCursor;
use agentx_types::wire::{Bye, CaughtUp, Heartbeat, Problem, Seen, ServerNotice, Unsubscribed, WireView};
use agentx_types::{SessionId, UiConnectionState, UiEvent, Vocabulary as _};
use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::IntoResponse as _;
use futures_util::stream;
use serde_json::json;
use tokio::time::{Interval, MissedTickBehavior, interval_at};

use crate::auth::caller::Caller;
use crate::connections::channel::ConnectionChannel;
use crate::feed::{FeedItem, Frame};
use crate::http::handlers::events_query::{EventsQuery, EventsResponse};
use crate::http::requests::event_id::write_id;
use crate::http::requests::extract::{ResumedStream, SessionAs, Watching};
use crate::http::{ApiError, HandlerState};
use crate::quotas::{ConnectionSlot, QuotaGuard};
use crate::state::{ServerState, SessionReaderSeat};

/// The number of frames, and about how many bytes, that are sent in one piece.
const AT_ONCE: (usize, usize) = (256, 64 << 10);
/// Minimum size of a frame that is sent without a copy: all streams send the same bytes.
const SHARED: usize = 16 << 10;
/// The delay before a browser reconnects.
const RETRY: &str = "retry: 1000\n\n";

/// Streams the events after a position.
pub(crate) async fn events(
    app: &HandlerState,
    at: SessionAs<Watching>,
    query: &EventsQuery,
    wanted: ResumedStream,
) -> Result<EventsResponse, ApiError> {
    let after = wanted.after.unwrap_or(EventCursor::after(query.after_seq));
    let state = &app.state;
    let who = ConnectionSlot {
        person: &at.caller.person,
        operator: at.caller.operator,
        visitor: at.caller.visitor,
        address: &wanted.address,
    };
    let counted = state.count_in(&who).ok_or_else(|| {
        let many = "you have too many connections and streams; close some";
        ApiError::new("too_many", many).retry_after(1000)
    })?;
    let following = state
        .follow(&at.caller, &at.session, (after, query.view, query.only()?), None)
        .await?;
    let mut begin = RETRY.to_owned();
    if query.view == WireView::Ui {
        begin.push_str(&connection_state(&at.session, at.caller.visitor));
    }
    let live = LiveStream::new(
        app,
        at.session,
        query.view,
        (following, counted),
        (wanted.headers, wanted.channel, wanted.address),
    );
    let first = stream::once(async { Ok::<_, std::io::Error>(Bytes::from(begin)) });
    let rest = stream::unfold(live, |mut live| async move {
        let bytes = live.next().await?;
        Some((Ok(bytes), live))
    });
    let mut response = Body::from_stream(futures_util::StreamExt::chain(first, rest)).into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Proxies that buffer would break the stream.
    headers.insert(
        HeaderName::from_static("x-accel-buffering"),
        HeaderValue::from_static("no"),
    );
    Ok(EventsResponse(response))
}

/// Returns the first event for simple clients.
fn connection_state(session: &SessionId, visitor: bool) -> String {
    let state = UiConnectionState { visitor };
    let tag = UiEvent::from(state.clone()).tag().to_owned();
    let frame = json!({"session_id": session, "event": tag, "payload": state});
    format!("event: {tag}\ndata: {frame}\n\n")
}

/// A live stream of one reader.
struct LiveStream {
    state: Arc<ServerState>,
    session: SessionId,
    view: WireView,
    following: SessionReaderSeat,
    _counted: QuotaGuard,
    caller: (HeaderMap, ConnectionChannel, String),
    heartbeat: Interval,
    frames: Vec<Frame>,
    /// Frames that are sent first.
    ready: VecDeque<Bytes>,
    /// The generation of the operator's trust list at the last access check.
    trust: u64,
    has_ended: bool,
}

impl LiveStream {
    fn new(
        app: &HandlerState,
        session: SessionId,
        view: WireView,
        (following, counted): (SessionReaderSeat, QuotaGuard),
        caller: (HeaderMap, ConnectionChannel, String),
    ) -> Self {
        let period = app.state.options().limits.heartbeat.max(Duration::from_millis(1));
        let mut heartbeat = interval_at(tokio::time::Instant::now() + period, period);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        app.state.counts().subscriptions.add(1);
        Self {
            state: app.state.clone(),
            session,
            view,
            following,
            _counted: counted,
            caller,
            heartbeat,
            frames: Vec::new(),
            ready: VecDeque::new(),
            trust: 0,
            has_ended: false,
        }
    }

    /// Returns the next piece; `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(piece) = self.ready.pop_front() {
            return Some(piece);
        }
        if self.has_ended {
            return None;
        }
        let state = self.state.clone();
        let out = tokio::select! {
            biased;
            () = state.shutdown().cancelled() => self.bye(1001, "the server ends"),
            _ = self.heartbeat.tick() => self.beat(),
            step = self.following.reader.next(AT_ONCE, &mut self.frames) => self.step(step),
        };
        self.ready.push_back(out.into());
        let bytes: usize = self.ready.iter().map(Bytes::len).sum();
        state.counts().sent_bytes.add(bytes as u64);
        self.ready.pop_front()
    }

    fn step(&mut self, step: FeedItem) -> String {
        let trust = self.state.auth().trust_generation();
        if std::mem::replace(&mut self.trust, trust) != trust
            && let Err(problem) = self.caller()
        {
            return self.end(*problem);
        }
        match step {
            FeedItem::Frames => self.take_frames(),
            FeedItem::CaughtUp(seq) => notice(
                &CaughtUp {
                    session_id: self.session.clone(),
                    seq,
                }
                .into(),
            ),
            FeedItem::Overrun => self.bye(
                1013,
                "too slow: the server's buffer for this reader is full; reconnect from the last event that you have",
            ),
            FeedItem::Ended(problem) => self.end(problem),
        }
    }

    /// Moves large frames, with all before them, into `ready`; returns the rest.
    fn take_frames(&mut self) -> String {
        let mut out = String::new();
        self.state.counts().sent.add(self.frames.len() as u64);
        for frame in self.frames.drain(..) {
            out.push_str("id: ");
            write_id(self.view, frame.place, &mut out);
            out.push_str("\nevent: ");
            out.push_str(frame.tag());
            out.push_str("\ndata: ");
            if frame.text.len() < SHARED {
                out.push_str(frame.text.as_str());
            } else {
                self.ready.push_back(std::mem::take(&mut out).into());
                self.ready.push_back(frame.text.into());
            }
            out.push_str("\n\n");
        }
        out
    }

    /// Authenticates the reader again.
    fn caller(&self) -> Result<Caller, Box<Problem>> {
        let (headers, channel, address) = &self.caller;
        self.state.caller_of(headers, channel, address)
    }

    /// Returns a heartbeat, after checking that the reader still has access.
    fn beat(&mut self) -> String {
        match self.caller() {
            Ok(_) => self.heartbeat(),
            Err(problem) => self.end(*problem),
        }
    }

    fn heartbeat(&self) -> String {
        let seen: Vec<Seen> = self.following.reader.seen().into_iter().collect();
        // A reader with a filter also resumes after events that they were not sent.
        let id = seen
            .first()
            .map(|seen| format!("id: {}\n", seen.seq))
            .unwrap_or_default();
        let at = self.state.now().0;
        id + &notice(&Heartbeat { at, seen }.into())
    }

    fn end(&mut self, problem: Problem) -> String {
        self.has_ended = true;
        notice(
            &Unsubscribed {
                session_id: self.session.clone(),
                problem,
            }
            .into(),
        )
    }

    fn bye(&mut self, code: u16, reason: &str) -> String {
        self.has_ended = true;
        let bye = Bye {
            code,
            reason: reason.to_owned(),
            retry_after_ms: Some(1000),
        };
        notice(&bye.into())
    }
}

impl Drop for LiveStream {
    fn drop(&mut self) {
        self.state.counts().subscriptions.sub(1);
    }
}

/// Formats a notice, which is not an event: it has no id, so no reader resumes from it.
fn notice(notice: &ServerNotice) -> String {
    let json = serde_json::to_string(notice).unwrap_or_default();
    format!("event: {}\ndata: {json}\n\n", notice.tag())
}
