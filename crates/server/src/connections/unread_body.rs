//! Handles the bodies of requests that were answered before the body arrived. The rest of such a body would
//! be taken for the next request, so the connection has to close. A client that is not warned would lose its
//! next request. So a short body is read to its end, and before a long one the answer says
//! `Connection: close` (RFC 9112, 9.3 and 9.6).

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::header::{CONNECTION, EXPECT};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use futures_util::StreamExt as _;
use hyper::body::{Frame, SizeHint};

use crate::connections::connection_limits::Permit;

/// The number of bytes of a body that are read and discarded. The sender may be unknown, and reading more
/// would cost a larger buffer for each connection.
const DISCARDED_BYTES: u64 = 4 * 1024;
/// The time limit of that.
const DISCARDING: Duration = Duration::from_secs(1);

/// A body that returns to this module when its reader drops it before its end.
struct LentBody {
    body: Option<Body>,
    back: Arc<Mutex<Option<Body>>>,
}

impl HttpBody for LentBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Some(body) = &mut self.body else {
            return Poll::Ready(None);
        };
        let frame = std::task::ready!(Pin::new(body).poll_frame(cx));
        if !matches!(frame, Some(Ok(_))) {
            self.body = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body
            .as_ref()
            .map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}

impl Drop for LentBody {
    fn drop(&mut self) {
        if let Some(body) = self.body.take().filter(|body| !body.is_end_stream()) {
            *self.back.lock().unwrap_or_else(PoisonError::into_inner) = Some(body);
        }
    }
}

/// Answers a request with `answer`, and ensures that its connection can continue, or that the client knows
/// that it does not.
pub(crate) async fn answered<F: Future<Output = Response>>(
    request: Request,
    answer: impl FnOnce(Request) -> F,
) -> Response {
    if request.body().is_end_stream() {
        return answer(request).await;
    }
    let permit = request.extensions().get::<Permit>().cloned();
    let asks_first = request.headers().contains_key(EXPECT);
    let back = Arc::new(Mutex::new(None));
    let lent = |body| {
        Body::new(LentBody {
            body: Some(body),
            back: back.clone(),
        })
    };
    let mut response = answer(request.map(lent)).await;
    let unread = back.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(unread) = unread else {
        return response;
    };
    // A client that asks before it sends a body gets no `100 Continue`, because the body would be discarded.
    if asks_first || !discarded(unread).await {
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            response
                .headers_mut()
                .insert(CONNECTION, HeaderValue::from_static("close"));
        }
        if let Some(permit) = permit {
            permit.linger();
        }
    }
    response
}

/// Reads a short body to its end. The length of a chunked body is unknown, and reading it would need a larger
/// buffer.
async fn discarded(body: Body) -> bool {
    if body
        .size_hint()
        .exact()
        .is_none_or(|bytes| bytes > DISCARDED_BYTES)
    {
        return false;
    }
    let mut pieces = body.into_data_stream();
    let reading = async {
        while let Some(piece) = pieces.next().await {
            if piece.is_err() {
                return false;
            }
        }
        true
    };
    tokio::time::timeout(DISCARDING, reading).await.unwrap_or(false)
}
