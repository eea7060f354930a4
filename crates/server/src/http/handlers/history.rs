//! The history of a session: its events as a page or a stream, and its facts as an export.

use std::sync::Arc;

use agentx_node_runtime::NodeRuntime;
use agentx_runtime::{Fact, RuntimeError};
use agentx_types::{Envelope, EnvironmentEvent, SessionId};
use axum::body::{Body as HttpBody, Bytes};
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use schemars::SchemaGenerator;
use serde_json::json;

use crate::feed::{FrameEncoder, PageCache, SubscriptionFilter, ViewFold};
use crate::http::description::describe::{HandlerResponse, Operation};
use crate::http::handlers::events_query::{EventsQuery, EventsResponse};
use crate::http::handlers::stream as live;
use crate::http::requests::extract::{QueryParams, ResumedStream, SessionAs, Watching};
use crate::http::responses::permit_body::hold_turn;
use crate::http::{ApiError, HandlerState};
use crate::limits::fair_semaphore::FairQueue;

/// The number of facts that are read at once, if they are small.
const PAGE: usize = 512;
/// The number of facts of the first read: their sizes are not known yet, and one may have a megabyte.
const FIRST: usize = 16;
/// The target size of the frames of one read, in bytes.
const PAGE_BYTES: usize = 1 << 20;
/// Number of bytes at which a page of events ends.
const MOST_BYTES: usize = 8 << 20;

/// All facts, a line each.
pub(crate) struct Lines(Response);

pub(crate) async fn events(
    app: HandlerState,
    at: SessionAs<Watching>,
    QueryParams(query): QueryParams<EventsQuery>,
    stream: ResumedStream,
) -> Result<EventsResponse, ApiError> {
    if stream.is_wanted {
        return live::events(&app, at, &query, stream).await;
    }
    let answer = app.state.answer_turns().take(&at.caller.line).await;
    let mut response = hold_turn(page(&app, &at, &query).await?.into_response(), answer);
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    Ok(EventsResponse(response))
}

/// Returns a page of events, written as they are encoded, a turn at a time.
async fn page(
    app: &HandlerState,
    at: &SessionAs<Watching>,
    query: &EventsQuery,
) -> Result<Vec<u8>, ApiError> {
    let (runtime, session) = (&at.access.runtime, &at.session);
    let queue = app.state.history_turns().queue(&at.caller.line);
    let head = runtime.info(session).await?.last_seq;
    let after = query.after_seq.min(head);
    let known = app.folds.latest_up_to(session, query.view, after);
    let mut fold = known.unwrap_or_else(|| ViewFold::new(session, &at.access.owner, query.view));
    fold.skip_to(after);
    let mut page = EventPageWriter {
        fold,
        only: query.only()?,
        page_cache: app.state.page_cache().clone(),
        after: query.after_seq,
        head,
        most: query.limit.get(),
        encoder: FrameEncoder::default(),
        out: b"{\"items\":[".to_vec(),
        count: 0,
    };
    let mut at_once = FIRST;
    while !page.is_full() && page.fold.at() < head {
        let turn = queue.take().await;
        let facts = runtime.facts(session, page.fold.at(), at_once).await?;
        if facts.is_empty() {
            break;
        }
        let before = page.out.len();
        page = turn.run(move || page.take(&facts)).await?;
        at_once = next_page(at_once, page.out.len() - before);
    }
    let EventPageWriter { fold, mut out, .. } = page;
    out.push(b']');
    if fold.at() < head {
        out.extend_from_slice(format!(",\"next_after_seq\":{}", fold.at()).as_bytes());
    }
    out.push(b'}');
    app.folds.keep(session, fold);
    Ok(out)
}

/// A page of events that is being written.
struct EventPageWriter {
    fold: ViewFold,
    only: Option<SubscriptionFilter>,
    page_cache: Arc<PageCache>,
    after: u64,
    head: u64,
    most: usize,
    encoder: FrameEncoder,
    out: Vec<u8>,
    count: usize,
}

impl EventPageWriter {
    fn is_full(&self) -> bool {
        self.count >= self.most || self.out.len() >= MOST_BYTES
    }

    /// Adds the frames of these facts, as long as there is room.
    fn take(mut self, facts: &[Fact]) -> Self {
        for fact in facts.iter().take_while(|fact| fact.seq <= self.head) {
            if fact.seq <= self.after {
                self.fold.pass(fact);
                continue;
            }
            let (only, out, count) = (self.only.as_ref(), &mut self.out, &mut self.count);
            self.fold
                .look_with((fact, &*self.page_cache), &mut self.encoder, |frame| {
                    if only.is_some_and(|only| !only.wants(&frame)) {
                        return;
                    }
                    if *count > 0 {
                        out.push(b',');
                    }
                    out.extend_from_slice(frame.text.as_bytes());
                    *count += 1;
                });
            if self.is_full() {
                break;
            }
        }
        self
    }
}

pub(crate) async fn export(app: HandlerState, at: SessionAs<Watching>) -> Result<Lines, ApiError> {
    let head = at.access.runtime.info(&at.session).await?.last_seq;
    let begin = Export {
        queue: app.state.history_turns().queue(&at.caller.line),
        runtime: at.access.runtime,
        session: at.session,
        at: 0,
        head,
        at_once: FIRST,
    };
    let pages = stream::try_unfold(begin, |mut export| async move {
        let lines = export.next().await?;
        Ok::<_, std::io::Error>(lines.map(|lines| (lines, export)))
    });
    let mut response = HttpBody::from_stream(pages).into_response();
    let kind = HeaderValue::from_static("application/x-ndjson");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    Ok(Lines(response))
}

/// Facts on their way out, as fast as they are taken.
struct Export {
    queue: FairQueue,
    runtime: Arc<NodeRuntime>,
    session: SessionId,
    at: u64,
    head: u64,
    at_once: usize,
}

/// Returns the number of facts to read next, given the bytes that the last ones became.
fn next_page(facts: usize, bytes: usize) -> usize {
    if bytes == 0 {
        return PAGE;
    }
    (facts.saturating_mul(PAGE_BYTES) / bytes).clamp(FIRST, PAGE)
}

impl Export {
    async fn next(&mut self) -> std::io::Result<Option<Bytes>> {
        if self.at >= self.head {
            return Ok(None);
        }
        let broken = |error: RuntimeError| std::io::Error::other(error.to_string());
        let turn = self.queue.take().await;
        let facts = self.runtime.facts(&self.session, self.at, self.at_once).await;
        let facts = facts.map_err(broken)?;
        let head = self.head;
        let written = turn.run(move || lines_of(&facts, head)).await;
        let (lines, last) = written.map_err(broken)?;
        self.at = last.unwrap_or(self.at);
        self.at_once = next_page(self.at_once, lines.len());
        if lines.is_empty() {
            return Err(std::io::Error::other("the session is shorter than it was"));
        }
        Ok(Some(lines.into()))
    }
}

/// Facts up to `head`, a line each, and the last of them.
fn lines_of(facts: &[Fact], head: u64) -> (Vec<u8>, Option<u64>) {
    let (mut encoder, mut lines, mut last) = (FrameEncoder::default(), Vec::new(), None);
    for fact in facts.iter().take_while(|fact| fact.seq <= head) {
        if let Some(frame) = encoder.frame(&**fact) {
            lines.extend_from_slice(frame.text.as_bytes());
            lines.push(b'\n');
        }
        last = Some(fact.seq);
    }
    (lines, last)
}

impl IntoResponse for Lines {
    fn into_response(self) -> Response {
        self.0
    }
}

impl HandlerResponse for Lines {
    fn describe(operation: &mut Operation, schemas: &mut SchemaGenerator) {
        let line = schemas.subschema_for::<Envelope<EnvironmentEvent>>();
        let what = "Every event, one per line. The schema is that of a line.";
        let content = json!({"application/x-ndjson": {"schema": {"type": "string"}, "x-line": line}});
        operation.answer(200, what, content);
    }
}
