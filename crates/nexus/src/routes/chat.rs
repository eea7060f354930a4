//! `POST /chat`: sends a message, and streams the run that answers it until its end.

use std::convert::Infallible;

use agentx_types::RunId;
use agentx_types::wire::Person;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::HeaderName;
use axum::response::Response;
use futures_util::stream;

use super::bodies::json_body;
use super::streams::{KEEPALIVE, event_stream};
use crate::frames::requests::NexusMessage;
use crate::frames::ui_frames::NexusFrame;
use crate::gateway::Gateway;
use crate::gateway::event_stream::{NexusEventStream, StreamNews};
use crate::gateway::refusal::ApiRefusal;

/// The header with which a client says which event it had last.
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// The reason why no run answers a message.
const NOT_RUN: &str = "the message was taken back, or joined another run";

/// The run that answers one message.
struct AnsweringRun {
    run: RunId,
    events: NexusEventStream,
    has_ended: bool,
}

pub(super) async fn chat(State(gateway): State<Gateway>, request: Request) -> Result<Response, ApiRefusal> {
    let (parts, body) = request.into_parts();
    let caller = gateway.caller(&parts);
    let person = caller.person().await?;
    let message: NexusMessage = json_body(body, gateway.server().options().limits.body).await?;
    if person.visitor {
        return Ok(event_stream(Body::from(guided(&gateway, &person, &message))));
    }
    let (session, seq) = gateway.conversations().say(&caller, &person, &message).await?;
    let last = parts.headers.get(LAST_EVENT).and_then(|last| last.to_str().ok());
    let begin = seq.saturating_sub(1).to_string();
    let run = AnsweringRun {
        run: RunId::of_input(seq),
        events: caller
            .follow(&session, &person.person, last.unwrap_or(&begin))
            .await?,
        has_ended: false,
    };
    let pieces = stream::unfold(run, |mut run| async move {
        let piece = run.next_piece().await?;
        Some((Ok::<_, Infallible>(piece), run))
    });
    Ok(event_stream(Body::from_stream(pieces)))
}

/// Returns the stream for a visitor, whose message reaches no model.
fn guided(gateway: &Gateway, person: &Person, message: &NexusMessage) -> String {
    let run = gateway.frame_id("run_visitor");
    let frames = NexusFrame::guidance(&run, person.person.as_str(), &message.content);
    frames.iter().map(NexusFrame::to_sse).collect()
}

impl AnsweringRun {
    /// Returns the next piece of the stream; `None` at its end.
    async fn next_piece(&mut self) -> Option<Bytes> {
        if self.has_ended {
            return None;
        }
        loop {
            let piece = match self.events.next_news().await {
                StreamNews::Alive => Some(KEEPALIVE.to_owned()),
                StreamNews::TakenBack(run) => (run == self.run).then(|| self.end(NOT_RUN, "not_run")),
                StreamNews::Over(reason) => Some(self.end(&reason, "closed")),
                StreamNews::Frame(frame) => self.piece(&frame),
            };
            if let Some(piece) = piece {
                return Some(piece.into());
            }
        }
    }

    /// Returns a frame as it is sent, if it is of this run.
    fn piece(&mut self, frame: &NexusFrame) -> Option<String> {
        let is_end = frame.event == "run_finished";
        if frame.run_id == self.run.as_str() {
            self.has_ended = is_end;
            return Some(frame.to_sse());
        }
        // Inputs are answered in their order, so this one will not be answered any more.
        let is_later = RunId::new(&frame.run_id).input() > self.run.input();
        (is_end && is_later).then(|| self.end(NOT_RUN, "not_run"))
    }

    fn end(&mut self, reason: &str, code: &str) -> String {
        self.has_ended = true;
        NexusFrame::error(self.run.as_str(), reason, code).to_sse()
    }
}
