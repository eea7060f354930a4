//! Holds the permit of a large answer until the answer is sent. The answer is in memory for that time, so
//! many requests of one person hold only one answer at a time.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::{Body as HttpBody, Bytes, HttpBody as _};
use axum::response::{IntoResponse, Response};
use hyper::body::{Frame, SizeHint};
use schemars::SchemaGenerator;

use crate::http::description::describe::{HandlerResponse, Operation};
use crate::limits::fair_semaphore::FairPermit;

/// Maximum size of an answer that ends the turn immediately.
const SMALL: u64 = 256 << 10;
/// The size of a piece. Each piece is copied, so that a queued piece does not keep the complete answer in
/// memory.
const PIECE: usize = 64 << 10;

/// An answer, and the permit with which it was built.
pub(crate) struct WithPermit<A>(pub(crate) A, pub(crate) FairPermit);

/// A body that keeps a permit until it is sent.
struct PermitBody {
    body: HttpBody,
    /// The part that is not sent yet.
    held: Bytes,
    _turn: FairPermit,
}

/// Returns the answer, which holds the permit while it is sent if it is large.
pub(crate) fn hold_turn(response: Response, turn: FairPermit) -> Response {
    let (parts, body) = response.into_parts();
    if body.size_hint().upper().is_some_and(|bytes| bytes <= SMALL) {
        return Response::from_parts(parts, body);
    }
    let pieces = PermitBody {
        body,
        held: Bytes::new(),
        _turn: turn.of_the_person(),
    };
    Response::from_parts(parts, HttpBody::new(pieces))
}

impl axum::body::HttpBody for PermitBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        while self.held.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.held = data,
                    Err(other) => return Poll::Ready(Some(Ok(other))),
                },
                end => return Poll::Ready(end),
            }
        }
        let many = self.held.len().min(PIECE);
        let piece = Bytes::copy_from_slice(&self.held.split_to(many));
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.held.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (rest, held) = (self.body.size_hint(), self.held.len() as u64);
        let mut hint = SizeHint::new();
        hint.set_lower(rest.lower().saturating_add(held));
        if let Some(upper) = rest.upper() {
            hint.set_upper(upper.saturating_add(held));
        }
        hint
    }
}

impl<A: IntoResponse> IntoResponse for WithPermit<A> {
    fn into_response(self) -> Response {
        let Self(answer, turn) = self;
        hold_turn(answer.into_response(), turn)
    }
}

impl<A: HandlerResponse> HandlerResponse for WithPermit<A> {
    fn describe(operation: &mut Operation, schemas: &mut SchemaGenerator) {
        A::describe(operation, schemas);
    }
}
